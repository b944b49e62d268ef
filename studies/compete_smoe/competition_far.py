"""Inequality (10) of compete-smoe, E h >= c D, far from the truth: two sets of weights that are one expert.

Theorem 4.2 states (10) for any measure with k* atoms. The end of its proof (App. B.2, (16)) concludes from p = p* that
G = G*, which needs an expert function g that determines its weights; section 4 asks for independent derivatives alone.

k* = 2 experts of one input, K = 1 or 2, every one winning at a tenth of the inputs or more. `scaled`, g = b tanh(a x),
is the same for (a, b) and (-a, -b); the two hidden units of `network` can change places; `affine` and `tanh(w x + b)`
determine their weights. Each replicate draws a truth and compares it with the measures that have the other weights,
and with twenty drawn from the whole parameter space. Nothing is fitted.

Expect the ratio 0 where g does not determine its weights. Either repair will do: g(., W) = g(., W') only for W = W',
or a D that takes the least over the weights of one expert. A connected parameter space excludes such experts, since
their derivatives are dependent somewhere in it; two boxes, around a truth and its image, do not.
"""

from moestat import Study
from moestat.study.rules import function

study = Study(
    "Competition routing: does the density control the parameters far from the truth?",
    paper="compete-smoe",
    source="CS (10), Theorem 4.2, far part (16)",
    question="Is E h at least a multiple of D for every mixture, and not only for those near the truth, if every "
    "expert wins?",
    experiment="competition_far",
    seed=20260812,
    scale="paper",
    summaries=["least_ratio", "image_ratio", "image_D", "least_wins", "independence"],
)

study.preset("quick", "10 truths per arm.", expected="about 15 s on 2 cores", replicates=10, block=5)
study.preset("paper", "100 truths per arm.", expected="about 30 s on 2 cores", replicates=100, block=25)

SAID_ANY_MIXING = dict(
    because="(10) is said of any mixing measure with k* atoms, and of any expert function with linearly independent "
    "derivatives; section 4 does not ask that the function determines the weights."
)
for expert, experts, label, whose in [
    ("scaled", "Experts b tanh(a x)", "b tanh(a x)", SAID_ANY_MIXING),
    ("network", "Experts with two hidden units", "two hidden units", SAID_ANY_MIXING),
    ("affine", "Affine experts", "affine", {}),
    ("tanh", "Experts tanh(w x + b)", "tanh", {}),
]:
    for active, winners in [(1, "1"), (2, "k*")]:
        study.arm(f"{expert}-{active}", f"{label}, K = {winners}", expert=expert, active=active)
        study.claim(
            f"far-{expert}-{active}",
            f"{experts}, K = {winners}, every expert winning: E_X h is at least a positive multiple of D for the "
            "measures with k* atoms that are tried far from the true one.",
            function(
                "moestat.claims.rules:smallest", "least_ratio", f"{expert}-{active}", options=dict(over=[])
            ).at_least(0.001, predicted="> 0"),
            whose,
            source="CS (10), Theorem 4.2: its far part, (16)",
        )

for claim, statement, variable, least in [
    ("all-win", "Every expert of every truth wins at a tenth of the inputs or more.", "least_wins", 0.1),
    (
        "independent",
        "The derivatives of every expert in its weights are linearly independent: their smallest singular value, "
        "each of norm 1, is at least 0.001.",
        "independence",
        0.001,
    ),
]:
    study.ours(
        claim,
        statement,
        function("moestat.claims.rules:smallest", variable, options=dict(arms=["*"], over=[])).at_least(
            least, predicted="> 0"
        ),
        source="ours: control of far-scaled and far-network, the conditions of CS Theorem 4.2",
    )

study.finding(
    {
        "far-scaled-*": "not supported",
        "far-network-*": "not supported",
        "all-win": "supported",
        "independent": "supported",
    },
    "**(10) is false far from the truth, too, where every expert wins.** b tanh(a x) is the same expert with (-a, "
    "-b), and a network with hidden units the same with the units in another order: E h = 0, and D is of the order "
    "one. The derivatives are linearly independent all the same.",
)
