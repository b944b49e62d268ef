"""Which experts are strongly, weakly or not at all identifiable? (sigmoid-attention, Definitions 1 to 4).

The derivatives of F = sigma(x'Ax + b'x + c) E(x, eta) are evaluated at 2048 quasi-random points and drawn parameters
(two atoms, d = 2). Exact dependencies are singular values at rounding level. The verdict is *strong* if the first
derivatives are independent and no relation of the family of Definition 1 (3) does harm, *weak* if the first derivatives
are independent, else *neither*. A relation does harm if its part of second order is positive semidefinite: then atoms
of one cell can use it up. ``moestat.identify`` does the same for your own expert.

The definitions are read as they are meant, at generic parameters; to the letter no expert meets any (study
definitions_as_printed). What passes at generic parameters has that word in its statement. F_bb(0) is proportional to
F_A(0) for every expert: the first equation of (8) belongs to the gate. An outer scale lambda does what the weight does.
"""

from moestat import Study
from moestat.study.rules import function

LARGEST = "moestat.claims.rules:largest"

study = Study(
    "Which experts are strongly, weakly or not at all identifiable?",
    paper="sigmoid-attention",
    source="SA Defs 1-4, eq. (8)",
    question="The rates of the theorems hang on whether derivatives of gate times expert are linearly "
    "independent. For which experts and scores are they, and which equations stand in the way?",
    experiment="identifiability",
    seed=20260707,
    scale="paper",
    settings=dict(d=2, atoms=2),
    grid=dict(score=["full", "partial"], outer_scale=[False, True]),
    summaries=["verdict", "functions", "rank", "gap", "rate", "fails", "missing_8"],
)
study.preset(
    "quick",
    "One draw of the parameters per expert and score (each is the best of three).",
    expected="about 30 s on 2 cores",
    replicates=1,
)
study.preset("paper", "Five draws of the parameters.", expected="about 2 minutes on 2 cores", replicates=5)

for name, label in dict(relu="ReLU", gelu="GELU", tanh="tanh").items():
    study.arm(name, label, expert=name)
study.arm("linear", "linear, p = 1", expert="linear")
for power in (2, 3):
    study.arm(f"polynomial-{power}", f"polynomial, p = {power}", expert="polynomial", power=power)

# --- what the paper says of its examples; 2 less the verdict is 0 if strong, 1 if weak
RELU, GELU = (f"{name} experts lambda phi(a'x + beta)" for name in ("ReLU", "GELU"))
HOW = {1: "strongly", 2: "weakly", 3: "partial-strongly", 4: "partial-weakly"}
PLAIN = "Without lambda the family of Definition 1 is a part of the one with lambda, at lambda = 1."
ANY = "Definition {k} asks for independence at any distinct parameters, generic ones among them."
for id_, definition, arm, outer_scale, experts, why in [
    ("relu-strong", 1, "relu", True, f"Two-layer {RELU}", ""),
    ("gelu-strong", 1, "gelu", True, f"Two-layer {GELU}", ""),
    ("relu-strong-plain", 1, "relu", False, "ReLU experts as simulated, phi(a'x + beta),", PLAIN),
    ("gelu-strong-plain", 1, "gelu", False, "GELU experts phi(a'x + beta)", PLAIN),
    ("polynomial-weak", 2, "", False, "At generic parameters polynomial experts, p = 1, 2, 3,", ANY),
    ("relu-weak", 2, "relu", True, f"Two-layer {RELU}", ""),
    ("gelu-weak", 2, "gelu", True, f"At generic parameters two-layer {GELU}", ANY),
    ("relu-partial-strong", 3, "relu", True, f"Two-layer {RELU}", ""),
    ("relu-partial-weak", 4, "relu", True, f"Two-layer {RELU}", ""),
    ("gelu-partial-strong", 3, "gelu", True, f"Two-layer {GELU}", ""),
    ("gelu-partial-weak", 4, "gelu", True, f"At generic parameters two-layer {GELU}", ANY),
    ("polynomial-partial-weak", 4, "", False, "At generic parameters polynomial experts, p = 1, 2, 3,", ANY),
    ("polynomial-partial-strong", 3, "", False, "Polynomial experts, p = 1, 2, 3,", ""),
]:
    at = dict(score="full" if definition in (1, 2) else "partial", outer_scale=outer_scale)
    which = dict(arm=arm) if arm else dict(options=dict(arms=["linear", "polynomial-*"]))
    limit, word = (0.0, "strong") if definition in (1, 3) else (1.0, "weak")
    study.claim(
        id_,
        f"{experts} are {HOW[definition]} identifiable.",
        function(LARGEST, "short_of_strong", at=at, **which).at_most(limit, predicted=word),
        dict(because=why.format(k=definition)) if why else {},
        source=f"SA after Def {definition}" + (", eq. (84)" if id_ == "relu-strong-plain" else ""),
    )
FULL = dict(score="full", outer_scale=False)
study.claim(
    "polynomial-not-strong",
    "No polynomial expert, p = 1, 2, 3, is strongly identifiable.",
    function(
        "moestat.claims.rules:smallest", "short_of_strong", at=FULL, options=dict(arms=["linear", "polynomial-*"])
    ).at_least(1.0, predicted="not strong"),
    source="SA after Def 1",
)
study.claim(
    "any-distinct",
    "The first derivatives are independent at any distinct parameters, opposite gates included, for every "
    "expert studied.",
    function(LARGEST, "opposite", at=dict(score="partial", outer_scale=False), options=dict(arms=["*"])).at_most(
        0.0, predicted="0"
    ),
    source="SA Defs 2 and 4",
    because="Definitions 2 and 4 ask for it, and the paper names ReLU, GELU and polynomial experts that satisfy them.",
)
study.claim(
    "pde-8",
    "The three equations (8) hold for linear experts.",
    function(LARGEST, "missing_8", "linear", at=FULL).at_most(0.0, predicted="0 missing"),
    source="SA eq. (8)",
)
study.claim(
    "pde-8-only",
    "Some of the equations (8) do not hold for GELU experts.",
    function(LARGEST, "missing_8", "gelu", at=FULL).at_least(1.0, predicted="> 0 missing"),
    source="SA after Def 1",
    because="Equations (8) are the reason given why linear experts fail Definition 1, which GELU experts are "
    "said to satisfy.",
)
study.claim(
    "some-strong",
    "Some expert studied is strongly identifiable under the fully quadratic score, so that Theorem 1 applies to it.",
    function(LARGEST, "verdict", at=FULL, options=dict(arms=["*"])).at_least(2.0, predicted="2"),
    source="SA Thm 1, after Def 1",
    because="Theorem 1 is about strongly identifiable experts, and the paper names ReLU and GELU networks as such.",
)
study.ours(
    "smooth-partial-strong",
    "At generic parameters GELU and tanh, phi(a'x + beta), are partial-strongly identifiable.",
    function(
        LARGEST, "short_of_strong", at=dict(score="partial", outer_scale=False), options=dict(arms=["gelu", "tanh"])
    ).at_most(0.0, predicted="strong"),
    source="ours: control of gelu-partial-strong, experts to which SA Thm 4 applies",
    bearing="for",
)

study.figure(
    kind="lines",
    title="Identifiability of experts under a sigmoid gate",
    x="score",
    logx=False,
    logy=False,
    panels=[
        dict(title=title, variable="verdict", ylabel="0 neither, 1 weak, 2 strong", at=dict(outer_scale=scale))
        for title, scale in [("phi(h)", False), ("lambda phi(h)", True)]
    ],
    caption="The verdict per expert and score, without and with an outer scale lambda; means over draws. With the "
    "partially quadratic score read partial-strong and partial-weak.",
)
