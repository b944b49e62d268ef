"""What atoms of a constant gate hide: b to the order t^4 and beyond, A never (sigmoid-attention, Theorems 1 and 4).

The last true atom has (A, b) = 0 and weight sigma(c*) = w*, 1/2 in App. E.1. Two atoms share its weight and expert,
with b of order t and A of order t^2 such that the terms of order t^2 and t^3 of f vanish. At *flat* shares, which exist
for w* > 1 - 1/sqrt(3), that of order t^4 vanishes, too. Theorem 1 asks that f moves like L1, by t^2, for every expert:
it moves by t^4, at flat shares by t^5. So a fourth power of b in L1 would not mend the theorem at the paper's own
truth; dropping b from the score does.

Without b the term of order t^2 is a form of mixed signs, which the proof of Theorem 4 takes for definite. *curvature*
is its least value over drawn weights of two to four atoms, divided by 1 - w*: at least 1, as ``parts/constant_gate.py``
proves.
"""

from moestat import Study
from moestat.study.rules import function, slope

SMALLEST = "moestat.claims.rules:smallest"

study = Study(
    "What two atoms of a nearly constant gate can hide from the data",
    paper="sigmoid-attention",
    source="SA Thms 1 and 4, Defs 1 and 3, App. E.1",
    question="In the sparse regime two fitted atoms stand for one of constant gate. How far can their b, or "
    "their A, go while the function stands nearly still, and would another power of b in the loss of Theorem 1 "
    "mend it?",
    experiment="constant_gate",
    seed=20260712,
    scale="paper",
    settings=dict(d=3, n_true=3),
    summaries=["share", "curvature"],
)
study.preset("quick", "d = 3, three true experts, five truths.", expected="about 5 s on 2 cores", replicates=5)
study.preset(
    "paper",
    "The paper's size, d = 8 and eight true experts, ten truths.",
    expected="about 10 s on 2 cores",
    replicates=10,
    settings=dict(d=8, n_true=8),
)
for name, weight, shares in [
    ("equal", 0.5, "equal"),
    ("flat", 0.5, "flat"),
    ("critical", 0.4226497308103742, "equal"),
    ("small", 0.2, "equal"),
    ("large", 0.8, "flat"),
]:
    written = "1/2" if weight == 0.5 else f"{weight:.4g}"
    study.arm(name, f"w* = {written}, {shares} shares", weight=weight, shares=shares)

# a decade; below it the change reaches rounding for critical shares, above it higher orders show
WINDOW = [0.015, 0.2]
ORDERS = dict(equal=4.0, small=4.0, flat=5.0, large=5.0, critical=6.0)
study.rate("change", over="t", window=WINDOW, bound=2.0, predicted=ORDERS)
study.rate("L1", over="t", window=WINDOW, predicted={"*": 2.0})

study.claim(
    "proper-loss",
    "GELU experts at the weight of App. E.1: f moves by no higher power of t than L1, as the bound of Theorem 1 asks.",
    slope("change", "flat", over="t", versus="flat", versus_variable="L1", window=WINDOW).at_most(0.1, predicted="0"),
    source="SA Thm 1 with the example after Def 1, App. E.1",
    because="Theorem 1 says it of strongly identifiable experts, and the examples after Definition 1 count "
    "GELU networks among them.",
    group="thm-1-bound-gelu",
)
study.claim(
    "theorem-4-cells",
    "Atoms of one cell without b cannot cancel each other's A: the form of second order is positive.",
    function(SMALLEST, "curvature", options=dict(arms=["*"])).at_least(1e-06, predicted="> 0"),
    source="SA Thm 4, App. C.2.2, steps 2 and 3",
    because="The proof takes the functions of the atoms of a cell for linearly independent, so that each "
    "coefficient tends to 0.",
    group="thm-4-cells",
)
for arm, where in [("equal", "w* = 1/2, equal shares"), ("flat", "w* = 1/2, the weight of App. E.1, flat shares")]:
    order = ORDERS[arm]
    study.ours(
        f"order-{arm}",
        f"{where}: two atoms with b of order t move f by t^{order:.0f}.",
        slope("change", arm, over="t", window=WINDOW).within(order - 0.1, order + 0.1, predicted=order),
        source="ours: against SA Thm 1, and against the fourth power of b as its repair",
        bearing="against",
        group="orders-of-b",
    )
study.ours(
    "sharp-curvature",
    "The form of second order without b is at least 1 - w*, per sum of sigma'(c_i) a_i^2.",
    function(SMALLEST, "curvature", options=dict(arms=["*"])).at_least(0.999999, predicted="1"),
    source="ours: the lemma that mends the proof of SA Thm 4",
    bearing="for",
)

study.figure(
    title="How fast f moves, and L1",
    x="t",
    xlabel="t, the size of b",
    panels=[
        dict(title="Change of the function", variable="change", ylabel="change of f"),
        dict(title="Loss of Theorem 1", variable="L1", ylabel="L1"),
    ],
    caption="Two atoms stand for one of constant gate and weight w*. Theorem 1 asks that both panels have the "
    "same slope.",
)
