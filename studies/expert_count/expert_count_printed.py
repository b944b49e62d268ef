"""Readings of Figures 1 and 2 with n = 2000 from sigma_0 = 0.01: five runs to 20 / eta at P = 4, to 40 / eta at P = 8.

With so many samples MLP experts are right on nearly everything at every M once they have settled, which at P = 8 they
have not after 40 / eta. With five runs and five contrasts a mean of 2.7 standard deviations of the paired runs is seen
with a probability of 0.8. The sentences are those of `expert_count_map`, and so is how they are judged.
"""

from moestat import Study
from moestat.study.rules import function, mean
from studies.expert_count.parts.curve_words import BECAUSE, COUNTS, HALF, KINDS, PRINTED, add, words

study = Study(
    "How many experts? The printed learning rates, trained to the end",
    paper="expert-count",
    source="EC Numerical Experiments, Figs. 1 and 2",
    question="With the printed eta and eta_r on the inputs as Definition 1 has them, and trained until the "
    "accuracy has settled: is there a number of experts that is best, and does the dispatch entropy show it?",
    experiment="expert_count",
    seed=20261123,
    scale="reduced",
    settings=dict(PRINTED, n=2000, steps=4000, records=17, start_scale=0.01),
    grid=dict(experts=list(COUNTS)),
    summaries=["last_accuracy", "late_change", "last_entropy"],
)

study.preset(
    "quick",
    "A smaller sample, P = 4, four values of M and 3 seeds: the picture, not a decision.",
    expected="about 70 s on 2 cores",
    replicates=3,
    arms=["mlp-4", "cnn-4"],
    grid=dict(experts=[4, 8, 16, 64]),
    settings=dict(n=1000, test_samples=2000),
    block=1,
)
study.preset(
    "paper",
    "P = 4 and the paper's grid of M, learning rates and five seeds, for 20 / eta steps; n, T and sigma_0 are ours.",
    scale="paper",
    expected="about 20 minutes on 2 cores",
    replicates=5,
    arms=["mlp-4", "cnn-4"],
    settings=dict(steps=20_000, records=41),
    block=1,
)
study.preset(
    "eight",
    "P = 8 beside P = 4, the paper's grid of M, learning rates and five seeds, for 40 / eta steps; n, T and "
    "sigma_0 are ours.",
    scale="paper",
    expected="about 3 hours on 2 cores",
    replicates=5,
    arms=["mlp-4", "mlp-8", "cnn-4", "cnn-8"],
    settings=dict(steps=40_000, records=41),
    block=1,
    rank=0,
)

T = [1000, 2000, 5000, 10_000, 20_000]
for kind, name in KINDS.items():
    for p in [4, 8]:
        study.arm(f"{kind}-{p}", f"{name}, P = {p}", expert=kind, patches=p)
    add(study, kind, at_steps=T, where="n = 2000, sigma_0 = 0.01, T from 1 to 20 / eta", presets=["paper"])
    options = dict(sentence=f"patches-{kind}", kind=kind, at_steps=[*T, 40_000])
    study.claim(
        f"patches-{kind}",
        f"In at least half of the readings {words(f'patches-{kind}', kind)}; n = 2000, sigma_0 = 0.01, T from 1 to "
        "40 / eta.",
        function("studies.expert_count.parts.readings:share", options=options).at_least(0.5, predicted="1"),
        source=f"EC Fig. 1{HALF[kind]}, Results",
        because=BECAUSE,
        hindsight="The words are those of expert_count_map, written after this run had been looked at.",
        presets=["eight"],
    )
study.ours(
    "settled-mlp-8-8",
    "MLP experts at P = 8, M = 8: over the last quarter of 40 / eta steps the test accuracy changes by at most one "
    "point.",
    mean("late_change", "mlp-8", at=dict(experts=8)).within(-0.01, 0.01),
    source="ours: manipulation check of EC Fig. 1a, P = 8: the training has ended",
    presets=["eight"],
)

study.figure(
    kind="lines",
    title="Test accuracy over the steps, n = 2000",
    x="step",
    xlabel="step",
    hue="experts",
    logx=False,
    logy=False,
    panels=[
        dict(title=f"{name}, P = {p}", arms=[f"{kind}-{p}"], variable="accuracy", ylabel="test accuracy")
        for p in [4, 8]
        for kind, name in KINDS.items()
    ],
    options=dict(within=dict(accuracy=[0, 1])),
    caption="Whether the training has settled where it ends; P = 8 in the preset eight.",
)
