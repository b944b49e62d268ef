"""Does every class have an expert by chance alone? (mixture-of-transformers, Lemmas 7 and 8).

Initial weights are Gaussian, so the class of an expert (Definition 2: the largest <W, v_n>) is uniform over the N
classes. A replicate draws 500 initialisations and counts in how many every class has an expert (Lemma 8), and in how
many all experts prefer their class by the factor 1 - delta / (3 M N^2) (Lemma 7), delta = 0.1. The exact probabilities
(occupancy by recursion; near ties by quadrature) stand beside them.

Arms: M = N, M = N log N (what Algorithm 1 asks for, with constant 1) and M = N log(N / delta) (what the proof uses,
with constant 1). Without the delta the probability tends to exp(-1) = 0.37. Lemma 7 passes for every M, also for those
that its condition excludes: its gap is that small. Both lemmas speak of the start, not of what training leaves.
"""

from moestat import Study
from moestat.study.rules import function, mean

SMALLEST = "moestat.claims.rules:smallest"

study = Study(
    "Does every class have an expert by initialisation alone?",
    paper="mixture-of-transformers",
    source="MT Lemmas 7 and 8",
    question="How many experts does it take until every class is the favourite of at least one of them at the "
    "start, and how clear are the favourites?",
    experiment="mot_initialisation",
    seed=20260701,
    scale="paper",
    settings=dict(delta=0.1, draws=500),
    grid=dict(classes=[2, 4, 8, 16, 32, 64]),
    summaries=["all_covered", "exact_all_covered", "gap_holds", "M"],
)
study.preset("quick", "500 initialisations in each of 20 replicates.", expected="15 s on 2 cores", replicates=20)
study.preset("paper", "500 initialisations in each of 40 replicates.", expected="1 minute on 2 cores", replicates=40)
study.arm("delta", "M = N log(N / δ)", rule="N log(N/delta)")
study.arm("log", "M = N log N", rule="N log N")
study.arm("equal", "M = N", rule="N")


def exact(variable, arm):
    """Return the smallest of the exact probabilities of all N."""
    return function(SMALLEST, variable, arm, options=dict(over=["classes"])).at_least(0.9, predicted=">= 0.9")


study.claim(
    "lemma8",
    "With M = N log(N / delta) experts, every class has one with probability at least 1 - delta = 0.9, for "
    "every N (exact).",
    exact("exact_all_covered", "delta"),
    dict(source="MT Lemma 8", group="lemma 8"),
)
study.claim(
    "lemma8-simulated",
    "With M = N log(N / delta) experts, every class has one with probability at least 1 - delta = 0.9 at N = 16 "
    "(simulated).",
    mean("all_covered", "delta", at=dict(classes=16)).at_least(0.9, predicted=">= 0.9"),
    dict(source="MT Lemma 8", group="lemma 8"),
)
study.claim(
    "lemma7",
    "With M = N log(N / delta) experts, all of them prefer their class by the lemma's factor with probability "
    "at least 0.9, for every N (exact).",
    exact("exact_gap_holds", "delta"),
    source="MT Lemma 7",
)
study.ours(
    "lemma7-any-m",
    "The condition on M is not needed: with M = N experts, all of them prefer their class by the lemma's factor "
    "with probability at least 0.9, for every N (exact).",
    exact("exact_gap_holds", "equal"),
    source="ours: control of lemma7, with an M that the lemma excludes",
)

study.figure(
    kind="lines",
    title="Every class has an expert, by initialisation alone",
    x="classes",
    xlabel="number of classes N",
    logy=False,
    panels=[
        dict(title="all classes covered", variable="all_covered", ylabel="probability"),
        dict(title="number of experts", variable="M", ylabel="M"),
    ],
    caption="Shares of simulated initialisations with t-intervals. (a) every class is the "
    "favourite of some expert (Lemma 8). (b) experts in the three rules.",
)
study.figure(
    "gap",
    kind="lines",
    title="All experts prefer their class by the factor of Lemma 7",
    x="classes",
    xlabel="number of classes N",
    logy=False,
    columns=1,
    panels=[dict(title="gap of Lemma 7", variable="gap_holds", ylabel="probability")],
    caption="Shares of simulated initialisations with t-intervals.",
)
