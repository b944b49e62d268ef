"""Figures 1 and 2 of expert-count as a map: in which readings of n, sigma_0 and T each sentence on them holds.

The paper prints eta = 0.001, eta_r = 0.1 to 0.4 by M, J = 8, d = 50, K = 4, and neither n, sigma_0, T nor the
activation. A reading is a choice of the first three; neurons are cubes, and CNN experts and their router share their
parameters over the patches, which is our reading too (`tanh`: a bounded activation, which Lemma 16 speaks of).

A sentence holds in a reading, is open or is reversed by intervals that hold at once over all contrasts of the sentence
in all readings, with 95 % (Bonferroni, t). An estimate is the share of readings in which the sentence is true, its
interval that of what is not open. With ten runs and 24 contrasts a mean of 1.7 standard deviations of the paired runs
is seen with a probability of 0.8 (of 2.0 with 96, the peak): 7 points where they scatter by 4; less stays open.
"""

from moestat import Study
from moestat.study.rules import function
from studies.expert_count.parts.curve_words import COUNTS, KINDS, words

study = Study(
    "How many experts? A map of the readings of Figures 1 and 2",
    paper="expert-count",
    source="EC Numerical Experiments, Figs. 1 and 2",
    question="In which share of the readings of n, sigma_0 and T, which the paper does not print, is each of its "
    "sentences on the curves over M true?",
    experiment="expert_map",
    seed=20261127,
    scale="paper",
    settings=dict(clusters=4, dimension=50, expert_rate=0.001, horizons=[1000, 2000, 5000, 10_000]),
    grid=dict(n=[250, 500], start_scale=[0.01, 0.1, 0.3], experts=list(COUNTS)),
    summaries=["accuracy", "entropy", "train_accuracy"],
)

study.preset(
    "quick",
    "One n, two starts, short: the picture, not a decision.",
    expected="about a minute on 2 cores",
    replicates=3,
    arms=["mlp-4", "cnn-4"],
    grid=dict(n=[250], start_scale=[0.1, 0.3], experts=list(COUNTS)),
    settings=dict(horizons=[500, 1000], test_samples=2000),
    block=5,
)
study.preset(
    "paper",
    "P = 4, the paper's M, n = 250: three starts, four numbers of steps up to 10 / eta, ten runs.",
    expected="about 10 CPU minutes",
    replicates=10,
    arms=["mlp-4", "cnn-4"],
    grid=dict(n=[250], start_scale=[0.01, 0.1, 0.3], experts=list(COUNTS)),
    block=5,
)
study.preset(
    "eight",
    "P = 8 beside P = 4 at the two M where the paper has its peaks, n = 250, two starts, ten runs.",
    expected="about 5 minutes on one core",
    replicates=10,
    arms=["mlp-4", "cnn-4", "mlp-8", "cnn-8"],
    grid=dict(n=[250], start_scale=[0.1, 0.3], experts=[8, 16]),
    block=5,
    rank=0,
)
study.preset(
    "tanh",
    "Neurons that are tanh, MLP experts at P = 4, n = 250, one start, ten runs.",
    expected="about 3 CPU minutes",
    replicates=10,
    arms=["mlp-4"],
    grid=dict(n=[250], start_scale=[0.1], experts=list(COUNTS)),
    settings=dict(activation="tanh"),
    block=5,
    rank=0,
)

for key, name in KINDS.items():
    for p in [4, 8]:
        study.arm(f"{key}-{p}", f"{name}, P = {p}", expert=key, patches=p)


def half(sentence, kind):
    """Say that the sentence is true in at least half of the readings, and ask for it."""
    options = dict(sentence=sentence, kind=kind)
    said = f"In at least half of the readings {words(sentence, kind)}"
    rule = function("studies.expert_count.parts.readings:share", options=options).at_least(0.5, predicted="1")
    return said + ("." if sentence.startswith("patches") else ", P = 4."), rule


SEEN = "Curves of related readings (expert_count_printed) had been looked at."
BECAUSE = "the paper does not print n, sigma_0 and T, so that it may be any reading: half of them are asked for"
HALF = {"mlp": "Fig. 1a", "cnn": "Fig. 1b"}  # of Figure 1
SAID = {"few": "Fig. 1", "peak": "", "no-gain": "Fig. 1", "decline": "Fig. 1", "rise": "Fig. 2"}
for sentence, where in SAID.items():
    for kind in KINDS:
        study.claim(
            f"{sentence}-{kind}",
            *half(sentence, kind),
            source=f"EC {where or HALF[kind]}, Results",
            because=BECAUSE,
            hindsight=SEEN,
            presets=["paper", "tanh"] if kind == "mlp" else ["paper"],
        )
of = dict(because=BECAUSE, hindsight=SEEN, presets=["paper"])
for sentence, kind in [("varies", "mlp"), ("last-mean", "cnn"), ("last-variance", "cnn")]:
    study.claim(sentence, *half(sentence, kind), of, source="EC Fig. 1, Results")
study.ours(
    "tie-mlp",
    *half("tie", "mlp"),
    source="ours: control of EC Fig. 1a: whether a peak at M = 16 can be told from one at 32",
    presets=["paper"],
)
for kind in KINDS:
    study.claim(
        f"patches-{kind}",
        *half(f"patches-{kind}", kind),
        source=f"EC {HALF[kind]}, Results",
        because=BECAUSE,
        hindsight=SEEN,
        presets=["eight"],
    )

study.figure(
    kind="function",
    title="Sentences on Figures 1 and 2, by reading",
    function="studies.expert_count.parts.readings:picture",
    presets=["paper", "quick"],
    caption="P = 4. Each square is a reading. It holds, is open or is reversed by intervals with one error rate of 5 % "
    "for all squares of a map; in it the difference of means nearest to its bound, in points of accuracy (last maps: "
    "in nats).",
)
