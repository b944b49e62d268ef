"""Accuracy and dispatch entropy against the number of experts (expert-count, Figs. 1 and 2).

A top-1 mixture of M networks with J = 8 neurons is trained by Algorithm 1 on the data of Definition 1: d = 50, K = 4
clusters, P = 4 or 8 patches. The paper prints neither n nor T nor sigma_0, nor the activation; here they are 8000
samples, 400 steps, 0.01 and the cube, and the inputs are multiplied by 10, as in the code on which the paper builds:
on the paper's inputs that is eta = 0.01, ten times the printed one, and sigma_0 = 0.1.

`expert_count_printed`, `expert_count_samples` and `expert_count_start` have the printed rates, other n and other
sigma_0; where two of them disagree the paper's settings would decide, and are not known.
"""

from moestat import Study
from moestat.study.rules import difference
from studies.expert_count.parts.curve import COUNTS, EXPERTS, HIGHER, SETTINGS, over_experts

study = Study(
    "How many experts? Accuracy and dispatch entropy against M",
    paper="expert-count",
    source="EC Numerical Experiments, Figs. 1 and 2",
    question="Is there a number of experts that is best, and does the dispatch entropy show it?",
    experiment="expert_count",
    seed=20260601,
    scale="reduced",
    settings=dict(SETTINGS, n=8000, steps=400, records=21, input_scale=10.0, start_scale=0.01),
    grid=dict(experts=COUNTS),
    summaries=["last_accuracy", "best_accuracy", "last_entropy", "last_experts_used", "best_step"],
)

study.preset(
    "quick",
    "A smaller sample, fewer steps and seeds: the picture, not a decision.",
    expected="about 90 s on 2 cores",
    replicates=4,
    settings=dict(n=2000, steps=300, records=16, test_samples=2000),
    block=1,
)
study.preset(
    "paper",
    "The paper's grid of M and P, with 10 seeds instead of 5; n, T and the steps are ours.",
    scale="reduced",
    expected="about 15 minutes on 2 cores",
    replicates=10,
    block=1,
)

for key, (experts, _, peak) in EXPERTS.items():
    for p in [4, 8]:
        study.arm(f"{key}-{p}", f"{experts}, P = {p}", expert=key, patches=p)
    study.ours(
        f"few-{key}-4",
        f"Under steps ten times the paper's, too few experts are worse: {experts} at P = 4 reach a higher accuracy "
        f"with M = {peak} than with M = 4.",
        difference("last_accuracy", f"{key}-4", at=dict(experts=peak), versus_at=dict(experts=4)) | HIGHER,
        source="ours: control of EC Fig. 1, Results: other n, T and steps",
        group="too few experts are worse, P = 4",
    )

study.figure(**over_experts("{}-*", title="Accuracy and dispatch entropy after the last step"))
