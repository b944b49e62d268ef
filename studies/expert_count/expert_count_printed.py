"""Figures 1 and 2 of expert-count with the printed learning rates and 2000 samples.

As `expert_count`, on the inputs as Definition 1 has them, eta = 0.001 and eta_r = 0.1 to 0.4, for 4 / eta steps
(`short`), 20 / eta at P = 4 (`paper`) and 40 / eta at P = 4 and 8 (`eight`). n, T, sigma_0 = 0.01 and the cubic
activation are ours, as the paper prints none of them.

After 4 / eta steps MLP experts are still learning, so that the order of the M is one of speed; after 20 / eta they have
settled and are right on nearly everything at every M, so that n leaves no room for a curve. At P = 8 they are still
learning after 40 / eta (`settled-mlp-8-8`), and single CNN experts fall back under steps of constant length.
"""

from moestat import Study
from moestat.study.rules import difference, function, mean
from studies.expert_count.parts.curve import BECAUSE, COUNTS, EXPERTS, HIGHER, LOWER, SETTINGS, WHEN, over_experts

RULES = "studies.expert_count.parts.rules"
GENERAL = "moestat.claims.rules"

study = Study(
    "How many experts? The printed learning rates, trained to the end",
    paper="expert-count",
    source="EC Numerical Experiments, Figs. 1 and 2",
    question="With the printed eta and eta_r on the inputs as Definition 1 has them, and trained until the "
    "accuracy has settled: is there a number of experts that is best, and does the dispatch entropy show it?",
    experiment="expert_count",
    seed=20261123,
    scale="reduced",
    settings=dict(SETTINGS, n=2000, steps=4000, records=17, input_scale=1.0, start_scale=0.01),
    grid=dict(experts=COUNTS),
    summaries=["last_accuracy", "best_accuracy", "late_change", "last_entropy", "last_experts_used", "best_step"],
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
    "short",
    "The paper's grid of M and P and its learning rates for 4 / eta steps, 10 seeds: MLP experts are still learning.",
    expected="about 20 minutes on 2 cores",
    replicates=10,
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

KEPT = {
    "mlp": ("MLP experts do worse at P = 8 than at P = 4, averaged over M", LOWER),
    "cnn": (
        "CNN experts keep their accuracy at P = 8: they lose at most two points, averaged over M",
        dict(at_least=-0.02, predicted="about 0"),
    ),
}

for key, (experts, part, peak) in EXPERTS.items():
    arm = f"{key}-4"
    for p in [4, 8]:
        study.arm(f"{key}-{p}", f"{experts}, P = {p}", expert=key, patches=p)
    study.claim(
        f"few-{key}-4",
        f"Too few experts are worse: {experts} at P = 4 reach a higher accuracy with M = {peak} than with M = 4.",
        difference("last_accuracy", arm, at=dict(experts=peak), versus_at=dict(experts=4)) | HIGHER,
        source="EC Fig. 1, Results",
        because=BECAUSE["few"],
        group="too few experts are worse, P = 4",
    )
    study.claim(
        f"peak-{key}",
        f"At P = 4, the accuracy of {experts} is highest at M = {peak}.",
        function(f"{GENERAL}:peak", "last_accuracy", arm, options=dict(value=peak)) | HIGHER,
        source=f"EC {part}, Results",
        group=f"the peak of {experts}",
    )
    beyond = dict(over="experts", values=[m for m in COUNTS if m >= peak])
    study.claim(
        f"plateau-{key}",
        f"At P = 4 the accuracy of {experts} is the same from M = {peak} on, up to one point between any two M.",
        function(f"{GENERAL}:widest", "last_accuracy", arm, options=beyond).equivalent(0.01, predicted=0),
        source="EC Fig. 1, Results",
        because=BECAUSE["plateau"],
        group=f"plateau of {experts}",
        presets=["short", "paper"],
    )
    study.claim(
        f"decline-{key}",
        f"At P = 4 {experts} do worse with M = 64 than with M = {peak}.",
        difference("last_accuracy", arm, at=dict(experts=64), versus_at=dict(experts=peak)) | LOWER,
        source="EC Fig. 1, Results",
        because=BECAUSE["decline"],
        group="more experts than at the peak reduce accuracy",
    )
    says, region = KEPT[key]
    for name, variable, begins, because in [
        ("long", "last_accuracy", "After 40 / eta steps", {}),
        ("best", "best_accuracy", "At their best within 40 / eta steps", dict(because=BECAUSE["best"])),
    ]:
        study.claim(
            f"patches-{name}-{key}",
            f"{begins} {says}.",
            function(f"{GENERAL}:gap", variable, f"{key}-8", versus=arm) | region,
            because,
            source=f"EC {part}, Results",
            presets=["eight"],
        )
    study.claim(
        f"mirror-{key}-4",
        f"Entropy mirrors accuracy along M for {experts} at P = 4: Spearman's correlation of their means over "
        "seeds is at most -0.5, and M is seen to move both.",
        function(f"{RULES}:mirror", "last_accuracy", arm, options=dict(other="last_entropy")).at_most(
            -0.5, predicted="-1"
        ),
        source="EC Fig. 2, Results",
        group="entropy mirrors accuracy",
    )

for end, variable, where in WHEN:
    study.claim(
        f"varies-along-4{end}",
        f"At P = 4 the accuracy {where} varies more along M with MLP experts than with CNN experts.",
        function(f"{RULES}:spread_along", variable, "mlp-4", versus="cnn-4", options=dict(visible=0.001)) | HIGHER,
        source="EC Fig. 1, Results",
        because=BECAUSE["along"],
        group="MLP experts have the higher variance",
    )
# "the higher variance of the MLP-MoE across values of M" is read as the standard deviation over runs (the error bars)
for m in COUNTS:
    study.claim(
        f"variance-mlp-4-{m}",
        f"At P = 4 and M = {m} the accuracy of MLP experts varies more between runs than that of CNN experts.",
        function(
            f"{RULES}:spread",
            "last_accuracy",
            "mlp-4",
            at=dict(experts=m),
            versus="cnn-4",
            versus_at=dict(experts=m),
            options=dict(visible=0.001),
        )
        | HIGHER,
        source="EC Fig. 1, Results",
        group="MLP experts have the higher variance",
        presets=["short", "paper"] if m == 32 else ["quick", "short", "paper"],
    )
MORE = dict(at=dict(experts=64), versus_at=dict(experts=32))
study.claim(
    "variance-cnn-64",
    "CNN experts at P = 4 have a substantially greater variance with M = 64 than with M = 32.",
    function(f"{RULES}:spread", "last_accuracy", "cnn-4", options=dict(visible=0.001), **MORE) | HIGHER,
    source="EC Fig. 1b, Results",
    presets=["short", "paper"],
)
study.claim(
    "mean-cnn-64",
    "CNN experts at P = 4 have a higher mean accuracy with M = 64 than with M = 32.",
    difference("last_accuracy", "cnn-4", **MORE) | HIGHER,
    source="EC Fig. 1b, Results",
    presets=["short", "paper"],
)

for m in [16, 64]:
    study.ours(
        f"settled-mlp-{m}",
        f"MLP experts at P = 4, M = {m}: over the last quarter of the steps the test accuracy changes by at most one "
        "point.",
        mean("late_change", "mlp-4", at=dict(experts=m)).within(-0.01, 0.01),
        source="ours: manipulation check of EC Fig. 1, the peak and the decline: the training has ended",
        group="the training of MLP experts has settled",
    )
study.ours(
    "settled-mlp-8-8",
    "MLP experts at P = 8, M = 8: over the last quarter of 40 / eta steps the test accuracy changes by at most one "
    "point.",
    mean("late_change", "mlp-8", at=dict(experts=8)).within(-0.01, 0.01),
    source="ours: manipulation check of EC Fig. 1a, P = 8: the training has ended",
    group="the training of MLP experts at P = 8 has settled",
    presets=["eight"],
)

study.figure(**over_experts("{}-*", title="Accuracy and dispatch entropy after the last step, printed rates"))
study.figure(
    "accuracy-over-steps",
    kind="lines",
    title="Test accuracy over the steps, printed rates",
    x="step",
    xlabel="step",
    hue="experts",
    logx=False,
    logy=False,
    panels=[
        dict(title=f"{name}, P = {p}", arms=[f"{key}-{p}"], variable="accuracy", ylabel="test accuracy")
        for p in [4, 8]
        for key, (name, _, _) in EXPERTS.items()
    ],
    options=dict(within=dict(accuracy=[0, 1])),
    caption="Whether the training has settled where it ends; P = 8 in the presets short and eight.",
)
