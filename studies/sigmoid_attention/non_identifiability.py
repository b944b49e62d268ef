"""How far can parameters move while the regression function stands still? (sigmoid-attention, Theorems 1, 3, 4, 5).

Nothing is fitted. For each family G(t) a truth is drawn as in App. E.1 and followed along t: the change of f, and the
losses L1 and L3 to the truth.

*Exact*: two atoms share an expert (split); an expert that is 0 has any gate (null); where the gate is constant, c
against the length of eta, even with N = N* (trade); sigma(s) + sigma(-s) = 1 (mirror). *Near*: b = ±t u, and A cancels
the term of order t^2, for every expert; A = ±t S without b is the control, which nothing can cancel. A superfluous atom
vanishes with eta = t v; the gates of two shares move apart. L3 is then to the nearest representation, as in eq. (12).

Theorems 1 and 3 rest on ||f_G - f*|| >= C L(G, G*). With ReLU and linear experts it fails outright, with GELU by a
power: f moves by t^4, L1 by t^2, so that n^(-1/2) for L1 is not available uniformly. The claims are of the paper's
examples; a truth is one case at 17 places of an identity, not evidence from a sample.
"""

from moestat import Study
from moestat.study.rules import function, slope

LARGEST = "moestat.claims.rules:largest"

study = Study(
    "How far can parameters move while the regression function stands still?",
    paper="sigmoid-attention",
    source="SA Thms 1, 3, 4 and 5, Props 2 and 4, Defs 1-4",
    question="The theorems bound a loss between parameters by the distance between regression functions. Are "
    "there measures at distance 0, or nearly 0, that the losses hold to be far apart?",
    experiment="non_identifiability",
    seed=20260704,
    scale="paper",
    settings=dict(d=3, n_true=3, points_log2=11),
)
study.preset("quick", "d = 3, three true experts, five truths.", expected="about 20 s on 2 cores", replicates=5)
study.preset(
    "paper",
    "The paper's size, d = 8 and eight true experts, ten truths.",
    expected="about 90 s on 2 cores",
    replicates=10,
    settings=dict(d=8, n_true=8),
)

RELU, LINEAR, GELU = (("relu", "ReLU", {}), ("linear", "linear", {}), ("gelu", "GELU", {}))
SQUARE, CUBE = ((name, f"polynomial p = {p}", dict(power=p)) for name, p in [("square", 2), ("cube", 3)])
SHARES = "shares with gates moved apart"
for name, family, label, experts, partial in [
    ("split", "split", "split", [RELU, LINEAR, SQUARE], False),
    ("null", "null atom", "null atom", [RELU, GELU], False),
    ("trade", "trade", "trade of c and eta", [RELU, LINEAR], False),
    ("mirror", "mirror", "mirror pair", [RELU], False),
    ("shift", "shift", "softmax shift", [GELU], False),
    ("antisymmetric", "antisymmetric", "antisymmetric A", [GELU], False),
    ("pair", "softmax pair", "softmax pair as three sigmoid atoms", [LINEAR], False),
    ("opposite", "opposite b", "b = ±t u", [GELU, RELU, LINEAR], False),
    ("split", "split", "split", [RELU, LINEAR], True),
    ("mirror", "mirror", "mirror pair", [RELU], True),
    ("vanishing", "vanishing atom", "vanishing atom", [SQUARE, CUBE, LINEAR, GELU], False),
    ("shares", "moved shares", SHARES, [RELU, LINEAR, SQUARE], False),
    ("shares", "moved shares", SHARES, [RELU, LINEAR], True),
    ("vanishing", "vanishing atom", "vanishing atom", [SQUARE], True),
    ("trade", "trade", "trade of c and eta", [RELU, LINEAR], True),
    ("control", "opposite A", "A = ±t S", [GELU], True),
]:
    for expert, words, power in experts:
        kind = "polynomial" if power else expert
        suffix = "-partial" if partial and name != "control" else ""
        score = dict(score="partial") if partial else {}
        told = ", partial score" if partial else ", full score" if name == "opposite" else ""
        study.arm(f"{name}-{expert}{suffix}", f"{label}, {words}{told}", family=family, expert=kind, **power, **score)

WINDOW = [0.01, 0.2]
B, NEAREST = ["opposite-*", "control-*"], ["vanishing-*", "shares-*"]
study.rate("change", over="t", arms=B, window=WINDOW, bound=2.0, predicted={"opposite-gelu": 4.0})
study.rate("L1", over="t", arms=B, window=WINDOW, predicted={"opposite-gelu": 2.0})
study.rate("ratio", over="t", arms=B, window=WINDOW, bound=0.0)
SQUARES = {"vanishing-square": 2.0, "vanishing-cube": 3.0, "shares-relu": 2.0, "shares-linear": 2.0}
study.rate("change", over="t", arms=NEAREST, window=WINDOW, predicted=SQUARES)
FIRST = {"vanishing-square": 1.0, "shares-relu": 1.0, "shares-linear": 1.0}
study.rate("L3_nearest", over="t", arms=NEAREST, window=WINDOW, predicted=FIRST)
study.rate("ratio_nearest", over="t", arms=NEAREST, window=WINDOW, bound=0.0)


NAMED = dict(ReLU="ReLU networks", GELU="GELU networks") | dict.fromkeys(["Linear", "Squared", "Cubic"], "polynomials")


def example(theorem, definition, experts):
    """Return source and reason of a claim on what a theorem says of an example of its experts."""
    how = {1: "strongly", 2: "weakly", 3: "partial-strongly", 4: "partial-weakly"}[definition]
    why = f"Theorem {theorem} says it of {how} identifiable experts, and the examples after Definition {definition} "
    source = f"SA Thm {theorem} with the example after Def {definition}"
    return dict(source=source, because=f"{why}count {experts} among them.")


# --- equal functions: a bound with a constant above 1e-6 would keep loss / distance below 1e6
TRADE, PARTIAL = "the trade of c and eta, N = N*", "sparse regime, partially quadratic score"
for id_, arm, theorem, definition, experts, where, along in [
    ("thm1-relu-trade", "trade-relu", 1, 1, "ReLU", "sparse regime", TRADE),
    ("thm1-relu-mirror", "mirror-relu", 1, 1, "ReLU", "sparse regime", "mirror pairs"),
    ("thm4-relu-trade", "trade-relu-partial", 4, 3, "ReLU", PARTIAL, TRADE),
    ("thm4-linear-trade", "trade-linear-partial", 4, 3, "Linear", PARTIAL, TRADE),
]:
    study.claim(
        id_,
        f"{experts} experts, {where}: L{theorem} is bounded by the distance of the functions (along {along}).",
        function(LARGEST, "L1_over_change", arm).at_most(1000000.0, predicted="bounded"),
        example(theorem, definition, NAMED[experts]),
        group=f"thm-{theorem}-bound-{experts.lower()}",
    )
for id_, arm, proposition, appendix, definition, experts, where, along in [
    ("unique-relu-split", "split-relu", 2, "B.4", 2, "ReLU", "dense regime", "splits"),
    ("prop-2-mirror", "mirror-relu", 2, "B.2", 1, "ReLU", "sparse regime", "mirror pairs"),
    ("prop-4-split", "split-relu-partial", 4, "C.2", 4, "ReLU", "score without b", "splits"),
    ("prop-4-split-linear", "split-linear-partial", 4, "C.2", 4, "Linear", "score without b", "splits"),
    ("prop-4-mirror", "mirror-relu-partial", 4, "C.2", 3, "ReLU", "sparse regime, score without b", "mirror pairs"),
]:
    of, whom = (" for identifiable experts", "them") if proposition == 2 else ("", "the identifiable experts")
    study.claim(
        id_,
        f"{experts} experts, {where}: L3 between two measures is 0 where their functions are equal (along {along}).",
        function(LARGEST, "L3", arm).at_most(1e-06, predicted="0"),
        source=f"SA Prop. {proposition}, App. {appendix}",
        because=f"Proposition {proposition} concludes G = G* from f_G = f*{of}, and the examples after Definition "
        f"{definition} count {NAMED[experts]} among {whom}.",
        group=f"prop-{proposition}",
    )

# --- nearly equal functions: the exponent of distance / loss in t is not positive where the bound holds
MEET = "two atoms with opposite {} meet"
SHARES_MEET, VANISHES = "the gates of two shares of an expert meet", "the expert of a superfluous atom vanishes"
FULL, DENSE, NO_B = "sparse regime, fully quadratic score", "dense regime", "dense regime, score without b"
for id_, arm, theorem, definition, experts, where, as_, group in [
    ("thm1-gelu-b", "opposite-gelu", 1, 1, "GELU", FULL, MEET.format("b"), "thm-1-bound-gelu"),
    ("thm1-relu-b", "opposite-relu", 1, 1, "ReLU", FULL, MEET.format("b"), "thm-1-bound-relu"),
    ("thm4-gelu", "control-gelu", 4, 3, "GELU", "partially quadratic score", MEET.format("A"), "thm-4-bound"),
    ("thm3-linear-vanishing", "vanishing-linear", 3, 2, "Linear", DENSE, VANISHES, "thm-3-bound"),
    ("thm3-square-vanishing", "vanishing-square", 3, 2, "Squared", DENSE, VANISHES, "thm-3-bound"),
    ("thm3-cube-vanishing", "vanishing-cube", 3, 2, "Cubic", DENSE, VANISHES, "thm-3-bound"),
    ("thm5-square-vanishing", "vanishing-square-partial", 5, 4, "Squared", NO_B, VANISHES, "thm-5-bound"),
    ("thm3-relu-shares", "shares-relu", 3, 2, "ReLU", DENSE, SHARES_MEET, "thm-3-bound-shares"),
    ("thm3-linear-shares", "shares-linear", 3, 2, "Linear", DENSE, SHARES_MEET, "thm-3-bound-shares"),
    ("thm3-square-shares", "shares-square", 3, 2, "Squared", DENSE, SHARES_MEET, "thm-3-bound-shares"),
    ("thm5-relu-shares", "shares-relu-partial", 5, 4, "ReLU", NO_B, SHARES_MEET, "thm-5-bound-shares"),
    ("thm5-linear-shares", "shares-linear-partial", 5, 4, "Linear", NO_B, SHARES_MEET, "thm-5-bound-shares"),
]:
    identity = ", which is an identity: f and L3 are both proportional to t" if id_ == "thm3-linear-vanishing" else ""
    study.claim(
        id_,
        f"{experts} experts, {where}: ||f_G - f*|| / L{theorem} stays away from 0 as {as_}{identity}.",
        slope("ratio" if theorem in (1, 4) else "ratio_nearest", arm, over="t").at_most(0.1, predicted=0.0),
        example(theorem, definition, NAMED[experts] + (" of every degree" if as_ == VANISHES else "")),
        group=group,
    )
study.ours(
    "exact",
    "f changes by at most 1e-12 at any point along every exact family.",
    function(
        LARGEST,
        "largest_change",
        options=dict(arms=["split-*", "null-*", "trade-*", "mirror-*", "shift-*", "antisymmetric-*", "pair-*"]),
    ).at_most(1e-12, predicted="<= 1e-12"),
    source="ours: control of the claims on families with equal functions (SA Thms 1 and 4, Props 2 and 4)",
)

EXACT = ["split-relu", "trade-relu", "mirror-relu", "null-gelu"]
study.figure(
    kind="lines",
    title="Losses along families of measures",
    x="t",
    columns=3,
    panels=[
        dict(title="Equal functions", arms=EXACT, variable="L3", ylabel="L3 to the truth"),
        dict(title="Opposite b", arms=B, variable="change", ylabel="change of f"),
        dict(title="Opposite b", arms=B, variable="L1", ylabel="L1 to the truth"),
    ],
    options=dict(share_y=False),
    caption="(a) f does not move along these families, and L3 does. (b, c) Along b = ±t u the function moves by the "
    "square of L1; Theorem 1 asks for equal slopes, which the control with the partially quadratic score has.",
)
