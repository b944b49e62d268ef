"""Readings of Figures 1 and 2 with n = 500 and 1000 from sigma_0 = 0.01, to 20 / eta steps, ten runs.

The router has the printed rates for each M, tuned at the paper's own n. Steps of constant length throw single runs of
CNN experts back late, the more experts the more of them. With ten runs and ten contrasts a mean of 1.5 standard
deviations of the paired runs is seen with a probability of 0.8, 6 points where they scatter by 4. The sentences are
those of `expert_count_map`, and so is how they are judged.
"""

from moestat import Study
from studies.expert_count.parts.curve_words import COUNTS, KINDS, PRINTED, add

study = Study(
    "How many experts? The printed learning rates with fewer samples",
    paper="expert-count",
    source="EC Numerical Experiments, Figs. 1 and 2",
    question="The paper does not print the number of samples. Is there one at which its curve over M shows, "
    "with the printed learning rates?",
    experiment="expert_count",
    seed=20261124,
    scale="reduced",
    settings=dict(PRINTED, patches=4, steps=20_000, records=41, start_scale=0.01),
    grid=dict(n=[500, 1000], experts=list(COUNTS)),
    summaries=["last_accuracy", "late_change", "last_train_accuracy", "last_entropy"],
)

study.preset(
    "quick",
    "One sample size, half as many steps, four values of M and 3 seeds: the picture, not a decision.",
    expected="about 3 minutes on 2 cores",
    replicates=3,
    grid=dict(n=[500], experts=[4, 8, 16, 64]),
    settings=dict(steps=10_000, records=21, test_samples=2000),
    block=1,
)
study.preset(
    "paper",
    "The paper's learning rates and grid of M at P = 4 for two numbers of samples, ten seeds; n, T and sigma_0 "
    "are ours.",
    scale="paper",
    expected="about 40 minutes on 2 cores",
    replicates=10,
    block=1,
)

for kind, name in KINDS.items():
    study.arm(kind, name, expert=kind)
    add(
        study,
        kind,
        at_steps=[1000, 2000, 5000, 10_000, 20_000],
        where="n = 500 and 1000, sigma_0 = 0.01, T from 1 to 20 / eta",
        presets=["paper"],
    )

study.figure(
    kind="lines",
    title="Accuracy and dispatch entropy after 20 / eta steps",
    x="experts",
    xlabel="number of experts M",
    hue="n",
    logy=False,
    panels=[
        dict(title=name, arms=[kind], variable=variable, ylabel=label)
        for variable, label in [("last_accuracy", "test accuracy"), ("last_entropy", "dispatch entropy (nats)")]
        for kind, name in KINDS.items()
    ],
    options=dict(within=dict(last_accuracy=[0, 1], last_entropy=[0, float("inf")])),
    caption="P = 4; means over runs with 95 % intervals. log K = 1.386 is the entropy of random routing.",
)
