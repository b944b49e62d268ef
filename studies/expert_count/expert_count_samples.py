"""Figures 1 and 2 of expert-count with the printed learning rates, where samples are few enough for experts to err.

As `expert_count_printed`, preset `paper`, with 500 and 1000 samples at P = 4, 20 / eta steps and ten seeds. The router
has the printed rates for each M, tuned at the paper's own n: a comparison of M = 64 with fewer hangs on them, and is
ours. The accuracy after the last step is not the best on the way: steps of constant length throw single runs of CNN
experts back late, the more experts the more of them.

A run whose routing fails is inaccurate and has a high entropy whatever its M; that entropy mirrors accuracy along M is
decided only where exchanging the M within seeds does not do as much.
"""

from moestat import Study
from moestat.study.rules import difference, function, mean
from studies.expert_count.parts.curve import (
    BECAUSE,
    COUNTS,
    EXPERTS,
    HIGHER,
    LOWER,
    SETTINGS,
    SUMMARIES,
    VARIANCE,
    WHEN,
    over_experts,
)

RULES = "studies.expert_count.parts.rules"
GENERAL = "moestat.claims.rules"

study = Study(
    "How many experts? The printed learning rates with fewer samples",
    paper="expert-count",
    source="EC Numerical Experiments, Figs. 1 and 2",
    question="The paper does not print the number of samples. Is there one at which its curve over M shows, "
    "with the printed learning rates?",
    experiment="expert_count",
    seed=20261124,
    scale="reduced",
    settings=dict(SETTINGS, patches=4, steps=20_000, records=41, input_scale=1.0, start_scale=0.01),
    grid=dict(n=[500, 1000], experts=COUNTS),
    summaries=SUMMARIES,
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

for key, (experts, _, _) in EXPERTS.items():
    study.arm(key, experts, expert=key)

for n, presets in [(500, ["*"]), (1000, ["paper"])]:
    for key, (experts, part, peak) in EXPERTS.items():
        study.claim(
            f"few-{key}-{n}",
            f"Too few experts are worse: with n = {n}, {experts} at P = 4 reach a higher accuracy with M = {peak} than "
            "with M = 4.",
            difference("last_accuracy", key, at=dict(n=n, experts=peak), versus_at=dict(n=n, experts=4)) | HIGHER,
            source="EC Fig. 1, Results",
            because=BECAUSE["few"],
            group="too few experts are worse, P = 4",
            presets=presets,
        )
        study.claim(
            f"peak-{key}-{n}",
            f"At P = 4 with n = {n}, the accuracy of {experts} is highest at M = {peak}.",
            function(f"{GENERAL}:peak", "last_accuracy", key, at=dict(n=n), options=dict(value=peak)) | HIGHER,
            source=f"EC {part}, Results",
            group=f"the peak of {experts}",
            presets=presets,
        )
        beyond = dict(over="experts", values=[m for m in COUNTS if m >= peak])
        study.claim(
            f"plateau-{key}-{n}",
            f"At P = 4 with n = {n} the accuracy of {experts} is the same from M = {peak} on, up to one point "
            "between any two M.",
            function(f"{GENERAL}:widest", "last_accuracy", key, at=dict(n=n), options=beyond).equivalent(
                0.01, predicted=0
            ),
            source="EC Fig. 1, Results",
            because=BECAUSE["plateau"],
            group=f"plateau of {experts}",
            presets=["paper"],
        )
        study.ours(
            f"decline-{key}-{n}",
            f"At P = 4 with n = {n} {experts} do worse with M = 64 than with M = {peak}.",
            difference("last_accuracy", key, at=dict(n=n, experts=64), versus_at=dict(n=n, experts=peak)) | LOWER,
            source="ours: control of EC Fig. 1, the decline: the router's rates are tuned at the paper's n",
            group="more experts than at the peak reduce accuracy",
            presets=presets,
        )
        study.claim(
            f"mirror-{key}-{n}",
            f"Entropy mirrors accuracy along M for {experts} at P = 4 with n = {n}: Spearman's correlation of their "
            "means over seeds is negative, and M is seen to move both.",
            function(f"{RULES}:mirror", "last_accuracy", key, at=dict(n=n), options=dict(other="last_entropy")) | LOWER,
            source="EC Fig. 2, Results",
            group="entropy mirrors accuracy",
            presets=presets,
        )
    for end, variable, where in WHEN:
        study.claim(
            f"varies-along-{n}{end}",
            f"At P = 4 with n = {n} the accuracy {where} varies more along M with MLP experts than with CNN experts.",
            function(f"{RULES}:spread_along", variable, "mlp", at=dict(n=n), versus="cnn", options=dict(visible=0.001))
            | HIGHER,
            source="EC Fig. 1, Results",
            because=BECAUSE["along"],
            group="MLP experts have the higher variance",
            presets=["paper"],
        )
    for m in COUNTS:
        at = dict(n=n, experts=m)
        for name, variable, where, keys in VARIANCE:
            study.claim(
                f"{name}-mlp-{m}-{n}",
                f"At P = 4 and M = {m} with n = {n} the accuracy of MLP experts{where} varies more between runs than "
                "that of CNN experts.",
                function(
                    f"{RULES}:spread",
                    variable,
                    "mlp",
                    at=at,
                    versus="cnn",
                    versus_at=at,
                    options=dict(visible=0.001),
                )
                | HIGHER,
                keys,
                source="EC Fig. 1, Results",
                presets=["paper"],
            )
    for m in [16, 64]:
        study.ours(
            f"settled-mlp-{m}-{n}",
            f"MLP experts at P = 4, M = {m}, n = {n}: over the last quarter of the steps, 5 / eta, the test accuracy "
            "changes by at most one point.",
            mean("late_change", "mlp", at=dict(n=n, experts=m)).within(-0.01, 0.01),
            source="ours: manipulation check of EC Fig. 1, the peak and the decline: the training has ended",
            group=f"the training of MLP experts has settled, n = {n}",
            presets=["paper"],
        )

study.figure(**over_experts("{}", title="Accuracy and dispatch entropy after the last step, printed rates", hue="n"))
