"""How many experts? The printed learning rates, trained to the end."""

import itertools
from functools import partial

from moestat import Study
from moestat.study.rules import difference, function, mean

ACCURACY_HIGHEST_MLP = (
    "the accuracy is highest at M = 16 with MLP experts and at M = 8 with CNN experts, so it is lower at M = 4"
)
PAPER_DOES_SAY = "the paper does not say whether its accuracies are those of the last step or the best on the way"
HIGHER_VARIANCE_MLP = "'the higher variance of the MLP-MoE across values of M' can also be read as variation along M"
RESULTS_TRAINING_OVER = "ours, on EC Fig. 1, Results: at P = 8 the training is not over"
GAP = "moestat.claims.rules:gap"
OF_MEANS = "studies.expert_count.parts.mirror:of_means"
ALONG = "studies.expert_count.parts.variation:along"
SPREAD = "studies.expert_count.parts.variation:spread"

study = Study(
    "How many experts? The printed learning rates, trained to the end",
    paper="expert-count",
    source="EC Numerical Experiments, Figs. 1 and 2",
    question="With the printed eta and eta_r on the inputs as Definition 1 has them, and trained until the "
    "accuracy has settled: is there a number of experts that is best, and does the dispatch entropy show it?",
    experiment="expert_count",
    seed=20261123,
    scale="reduced",
    settings=dict(
        clusters=4,
        dimension=50,
        neurons=8,
        n=2000,
        steps=4000,
        records=17,
        test_samples=4000,
        input_scale=1.0,
        start="equal",
        start_scale=0.01,
        expert_rate=0.001,
        router_rate="paper",
        router="auto",
        routing_noise=1.0,
        evaluation_noise=False,
    ),
    grid=dict(experts=[4, 8, 16, 32, 64]),
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

# a trial with MLP experts at P = 8, M = 8, needed 40 / eta steps for a training accuracy of 1
# at P = 4 the preset paper decides, whose training has settled; the claims on P = 8 are its alone
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

study.arm("mlp-4", "MLP experts, P = 4", expert="mlp", patches=4)
study.arm("mlp-8", "MLP experts, P = 8", expert="mlp", patches=8)
study.arm("cnn-4", "CNN experts, P = 4", expert="cnn", patches=4)
study.arm("cnn-8", "CNN experts, P = 8", expert="cnn", patches=8)

# --- claims: the verdict says which rules were edited or added after the run ---
for (key, experts), (m, presets) in itertools.product(
    [("mlp", "MLP experts"), ("cnn", "CNN experts")],
    [(4, ["*"]), (8, ["*"]), (16, ["*"]), (32, ["short", "paper", "eight"]), (64, ["*"])],
):
    study.ours(
        f"settled-{key}-{m}",
        f"{experts} at P = 4, M = {m}: over the last quarter of the steps the test accuracy changes by at most "
        "one point.",
        mean("late_change", f"{key}-4", at=dict(experts=m)).within(-0.01, 0.01),
        dict(source="ours: when the training has ended", group=f"the training of {experts} has settled"),
        presets=presets,
    )

# the rule of P = 4; where it is not supported, the claims on P = 8 speak of an accuracy that is on its way
for (key, experts), m in itertools.product([("mlp", "MLP experts"), ("cnn", "CNN experts")], [4, 8, 16, 32, 64]):
    study.ours(
        f"settled-{key}-8-{m}",
        f"{experts} at P = 8, M = {m}: over the last quarter of 40 / eta steps the test accuracy changes by at "
        "most one point.",
        mean("late_change", f"{key}-8", at=dict(experts=m)).within(-0.01, 0.01),
        dict(source="ours: when the training has ended", group=f"the training of {experts} at P = 8 has settled"),
        presets=["eight"],
    )

# *for* until it was seen that these runs have not settled
study.claim(
    "few-mlp-4",
    "Too few experts are worse: MLP experts at P = 4 reach a higher accuracy with M = 16 than with M = 4.",
    difference("last_accuracy", "mlp-4", at=dict(experts=16), versus_at=dict(experts=4)).at_least(0.0, predicted="> 0"),
    dict(source="EC Fig. 1, Results", because=ACCURACY_HIGHEST_MLP, group="too few experts are worse, P = 4"),
)
study.ours(
    "few-mlp-8",
    "Too few experts are worse: MLP experts at P = 8 reach a higher accuracy with M = 16 than with M = 4.",
    difference("last_accuracy", "mlp-8", at=dict(experts=16), versus_at=dict(experts=4)).at_least(0.0, predicted="> 0"),
    dict(source="ours, on EC Results, which name a peak at P = 4 only", group="too few experts are worse, P = 8"),
    presets=["short"],
)
study.claim(
    "few-cnn-4",
    "Too few experts are worse: CNN experts at P = 4 reach a higher accuracy with M = 8 than with M = 4.",
    difference("last_accuracy", "cnn-4", at=dict(experts=8), versus_at=dict(experts=4)).at_least(0.0, predicted="> 0"),
    dict(source="EC Fig. 1, Results", because=ACCURACY_HIGHEST_MLP, group="too few experts are worse, P = 4"),
)
study.ours(
    "few-cnn-8",
    "Too few experts are worse: CNN experts at P = 8 reach a higher accuracy with M = 8 than with M = 4.",
    difference("last_accuracy", "cnn-8", at=dict(experts=8), versus_at=dict(experts=4)).at_least(0.0, predicted="> 0"),
    dict(source="ours, on EC Results, which name a peak at P = 4 only", group="too few experts are worse, P = 8"),
    presets=["short"],
)

for key, part, experts, m in [("mlp", "a", "MLP experts", 16), ("cnn", "b", "CNN experts", 8)]:
    study.claim(
        f"peak-{key}",
        f"At P = 4, the accuracy of {experts} is highest at M = {m}.",
        function("moestat.claims.rules:peak", "last_accuracy", f"{key}-4", options=dict(value=m)).at_least(
            0.0, predicted="> 0"
        ),
        dict(source=f"EC Fig. 1{part}, Results", group=f"the peak of {experts}"),
    )

# "does not yield further gains and even reduce accuracy": the first half by equivalence, the second as a difference
for key, first, experts, options in [
    ("mlp", 16, "MLP experts", dict(over="experts", values=[16, 32, 64])),
    ("cnn", 8, "CNN experts", dict(over="experts", values=[8, 16, 32, 64])),
]:
    study.claim(
        f"plateau-{key}",
        f"At P = 4 the accuracy of {experts} is the same from M = {first} on, up to one point between any two M.",
        function("moestat.claims.rules:widest", "last_accuracy", f"{key}-4", options=options).equivalent(
            0.01, predicted=0
        ),
        dict(source="EC Fig. 1, Results", group=f"plateau of {experts}", presets=["short", "paper"]),
        because="more experts than at the peak do not yield further gains: the same up to one point between any two M",
    )

for key, experts, m in [("mlp", "MLP experts", 16), ("cnn", "CNN experts", 8)]:
    study.claim(
        f"decline-{key}",
        f"At P = 4 {experts} do worse with M = 64 than with M = {m}.",
        difference("last_accuracy", f"{key}-4", at=dict(experts=64), versus_at=dict(experts=m)).at_most(
            0.0, predicted="< 0"
        ),
        source="EC Fig. 1, Results",
        because="increasing M beyond the peak even reduces accuracy: read at the largest M",
        group="more experts than at the peak reduce accuracy",
    )

study.ours(
    "patches-mlp",
    "After 4 / eta steps MLP experts do worse at P = 8 than at P = 4, averaged over M.",
    function(GAP, "last_accuracy", "mlp-8", versus="mlp-4").at_most(0.0, predicted="< 0"),
    dict(source="ours, on EC Fig. 1a, Results: at P = 8 the training is not over", presets=["short"]),
)
study.ours(
    "patches-cnn",
    "After 4 / eta steps CNN experts keep their accuracy at P = 8: they lose at most two points, averaged over M.",
    function(GAP, "last_accuracy", "cnn-8", versus="cnn-4").at_least(-0.02, predicted="about 0"),
    dict(source="ours, on EC Fig. 1b, Results: at P = 8 the training is not over", presets=["short"]),
)
study.claim(
    "patches-long-mlp",
    "After 40 / eta steps MLP experts do worse at P = 8 than at P = 4, averaged over M.",
    function(GAP, "last_accuracy", "mlp-8", versus="mlp-4").at_most(0.0, predicted="< 0"),
    dict(source="EC Fig. 1a, Results", presets=["eight"]),
)
study.claim(
    "patches-long-cnn",
    "After 40 / eta steps CNN experts keep their accuracy at P = 8: they lose at most two points, averaged over M.",
    function(GAP, "last_accuracy", "cnn-8", versus="cnn-4").at_least(-0.02, predicted="about 0"),
    dict(source="EC Fig. 1b, Results", presets=["eight"]),
)
study.claim(
    "patches-best-mlp",
    "At their best within 40 / eta steps MLP experts do worse at P = 8 than at P = 4, averaged over M.",
    function(GAP, "best_accuracy", "mlp-8", versus="mlp-4").at_most(0.0, predicted="< 0"),
    dict(source="EC Fig. 1a, Results", because=PAPER_DOES_SAY, presets=["eight"]),
)
study.claim(
    "patches-best-cnn",
    "At their best within 40 / eta steps CNN experts keep their accuracy at P = 8: they lose at most two "
    "points, averaged over M.",
    function(GAP, "best_accuracy", "cnn-8", versus="cnn-4").at_least(-0.02, predicted="about 0"),
    dict(source="EC Fig. 1b, Results", because=PAPER_DOES_SAY, presets=["eight"]),
)
study.claim(
    "mirror-mlp-4",
    "Entropy mirrors accuracy along M for MLP experts at P = 4: Spearman's correlation of their means over "
    "seeds is at most -0.5, and M is seen to move both.",
    function(OF_MEANS, "last_accuracy", "mlp-4", options=dict(other="last_entropy")).at_most(-0.5, predicted="-1"),
    dict(source="EC Fig. 2, Results", group="entropy mirrors accuracy"),
)
study.ours(
    "mirror-mlp-8",
    "Entropy mirrors accuracy along M for MLP experts at P = 8, after 4 / eta steps: Spearman's correlation of "
    "their means over seeds is at most -0.5, and M is seen to move both.",
    function(OF_MEANS, "last_accuracy", "mlp-8", options=dict(other="last_entropy")).at_most(-0.5, predicted="-1"),
    dict(group="entropy mirrors accuracy", presets=["short"]),
    source="ours, on EC Fig. 2, Results: at P = 8 the training is not over",
)
study.claim(
    "mirror-cnn-4",
    "Entropy mirrors accuracy along M for CNN experts at P = 4: Spearman's correlation of their means over "
    "seeds is at most -0.5, and M is seen to move both.",
    function(OF_MEANS, "last_accuracy", "cnn-4", options=dict(other="last_entropy")).at_most(-0.5, predicted="-1"),
    dict(source="EC Fig. 2, Results", group="entropy mirrors accuracy"),
)
study.ours(
    "mirror-cnn-8",
    "Entropy mirrors accuracy along M for CNN experts at P = 8, after 4 / eta steps: Spearman's correlation of "
    "their means over seeds is at most -0.5, and M is seen to move both.",
    function(OF_MEANS, "last_accuracy", "cnn-8", options=dict(other="last_entropy")).at_most(-0.5, predicted="-1"),
    dict(group="entropy mirrors accuracy", presets=["short"]),
    source="ours, on EC Fig. 2, Results: at P = 8 the training is not over",
)

for (key, experts), (p, presets) in itertools.product(
    [("mlp", "MLP experts"), ("cnn", "CNN experts")], [(4, ["*"]), (8, ["short"])]
):
    study.ours(
        f"runs-{key}-{p}",
        f"Of the trainings of a seed, {experts} at P = {p}, those with the higher entropy are the less accurate: "
        "Spearman's correlation is at most -0.5.",
        function(
            "studies.expert_count.parts.mirror:within_seeds",
            "last_accuracy",
            f"{key}-{p}",
            options=dict(other="last_entropy", visible=0.001),
        ).at_most(-0.5, predicted="-1"),
        dict(group="runs with worse routing are less accurate", presets=presets),
        source="ours, on EC Fig. 2: between the trainings of a seed",
    )

study.claim(
    "varies-along-4",
    "At P = 4 the accuracy after the last step varies more along M with MLP experts than with CNN experts.",
    function(ALONG, "last_accuracy", "mlp-4", versus="cnn-4", options=dict(visible=0.001)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source="EC Fig. 1, Results", because=HIGHER_VARIANCE_MLP, group="MLP experts have the higher variance"),
)
study.claim(
    "varies-along-4-best",
    "At P = 4 the accuracy at its best on the way varies more along M with MLP experts than with CNN experts.",
    function(ALONG, "best_accuracy", "mlp-4", versus="cnn-4", options=dict(visible=0.001)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source="EC Fig. 1, Results", because=HIGHER_VARIANCE_MLP, group="MLP experts have the higher variance"),
)
study.ours(
    "varies-along-8",
    "At P = 8 the accuracy after the last step of 4 / eta varies more along M with MLP experts than with CNN experts.",
    function(ALONG, "last_accuracy", "mlp-8", versus="cnn-8", options=dict(visible=0.001)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source=RESULTS_TRAINING_OVER, group="MLP experts have the higher variance", presets=["short"]),
)
study.ours(
    "varies-along-8-best",
    "At P = 8 the accuracy at its best on the way of 4 / eta varies more along M with MLP experts than with CNN "
    "experts.",
    function(ALONG, "best_accuracy", "mlp-8", versus="cnn-8", options=dict(visible=0.001)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source=RESULTS_TRAINING_OVER, group="MLP experts have the higher variance", presets=["short"]),
)
claim = partial(
    study.claim,
    source="EC Fig. 1, Results",
    group="MLP experts have the higher variance",
    presets=["quick", "short", "paper"],
)
# "the higher variance of the MLP-MoE across values of M" is read as the standard deviation over runs (the error bars)
claim(
    "variance-mlp-4-4",
    "At P = 4 and M = 4 the accuracy of MLP experts varies more between runs than that of CNN experts.",
    function(
        SPREAD,
        "last_accuracy",
        "mlp-4",
        at=dict(experts=4),
        versus="cnn-4",
        versus_at=dict(experts=4),
        options=dict(visible=0.001),
    ).at_least(0.0, predicted="> 0"),
)
claim(
    "variance-mlp-4-8",
    "At P = 4 and M = 8 the accuracy of MLP experts varies more between runs than that of CNN experts.",
    function(
        SPREAD,
        "last_accuracy",
        "mlp-4",
        at=dict(experts=8),
        versus="cnn-4",
        versus_at=dict(experts=8),
        options=dict(visible=0.001),
    ).at_least(0.0, predicted="> 0"),
)
claim(
    "variance-mlp-4-16",
    "At P = 4 and M = 16 the accuracy of MLP experts varies more between runs than that of CNN experts.",
    function(
        SPREAD,
        "last_accuracy",
        "mlp-4",
        at=dict(experts=16),
        versus="cnn-4",
        versus_at=dict(experts=16),
        options=dict(visible=0.001),
    ).at_least(0.0, predicted="> 0"),
)
claim(
    "variance-mlp-4-32",
    "At P = 4 and M = 32 the accuracy of MLP experts varies more between runs than that of CNN experts.",
    function(
        SPREAD,
        "last_accuracy",
        "mlp-4",
        at=dict(experts=32),
        versus="cnn-4",
        versus_at=dict(experts=32),
        options=dict(visible=0.001),
    ).at_least(0.0, predicted="> 0"),
    presets=["short", "paper"],
)
claim(
    "variance-mlp-4-64",
    "At P = 4 and M = 64 the accuracy of MLP experts varies more between runs than that of CNN experts.",
    function(
        SPREAD,
        "last_accuracy",
        "mlp-4",
        at=dict(experts=64),
        versus="cnn-4",
        versus_at=dict(experts=64),
        options=dict(visible=0.001),
    ).at_least(0.0, predicted="> 0"),
)
ours = partial(
    study.ours, source=RESULTS_TRAINING_OVER, group="MLP experts have the higher variance", presets=["short"]
)
ours(
    "variance-mlp-8-4",
    "At P = 8 and M = 4, after 4 / eta steps, the accuracy of MLP experts varies more between runs than that of "
    "CNN experts.",
    function(
        SPREAD,
        "last_accuracy",
        "mlp-8",
        at=dict(experts=4),
        versus="cnn-8",
        versus_at=dict(experts=4),
        options=dict(visible=0.001),
    ).at_least(0.0, predicted="> 0"),
)
ours(
    "variance-mlp-8-8",
    "At P = 8 and M = 8, after 4 / eta steps, the accuracy of MLP experts varies more between runs than that of "
    "CNN experts.",
    function(
        SPREAD,
        "last_accuracy",
        "mlp-8",
        at=dict(experts=8),
        versus="cnn-8",
        versus_at=dict(experts=8),
        options=dict(visible=0.001),
    ).at_least(0.0, predicted="> 0"),
)
ours(
    "variance-mlp-8-16",
    "At P = 8 and M = 16, after 4 / eta steps, the accuracy of MLP experts varies more between runs than that "
    "of CNN experts.",
    function(
        SPREAD,
        "last_accuracy",
        "mlp-8",
        at=dict(experts=16),
        versus="cnn-8",
        versus_at=dict(experts=16),
        options=dict(visible=0.001),
    ).at_least(0.0, predicted="> 0"),
)
ours(
    "variance-mlp-8-32",
    "At P = 8 and M = 32, after 4 / eta steps, the accuracy of MLP experts varies more between runs than that "
    "of CNN experts.",
    function(
        SPREAD,
        "last_accuracy",
        "mlp-8",
        at=dict(experts=32),
        versus="cnn-8",
        versus_at=dict(experts=32),
        options=dict(visible=0.001),
    ).at_least(0.0, predicted="> 0"),
)
ours(
    "variance-mlp-8-64",
    "At P = 8 and M = 64, after 4 / eta steps, the accuracy of MLP experts varies more between runs than that "
    "of CNN experts.",
    function(
        SPREAD,
        "last_accuracy",
        "mlp-8",
        at=dict(experts=64),
        versus="cnn-8",
        versus_at=dict(experts=64),
        options=dict(visible=0.001),
    ).at_least(0.0, predicted="> 0"),
)
study.claim(
    "variance-cnn-64",
    "CNN experts at P = 4 have a substantially greater variance with M = 64 than with M = 32.",
    function(
        SPREAD, "last_accuracy", "cnn-4", at=dict(experts=64), versus_at=dict(experts=32), options=dict(visible=0.001)
    ).at_least(0.0, predicted="> 0"),
    dict(source="EC Fig. 1b, Results", presets=["short", "paper"]),
)
study.claim(
    "mean-cnn-64",
    "CNN experts at P = 4 have a higher mean accuracy with M = 64 than with M = 32.",
    difference("last_accuracy", "cnn-4", at=dict(experts=64), versus_at=dict(experts=32)).at_least(
        0.0, predicted="> 0"
    ),
    dict(source="EC Fig. 1b, Results", presets=["short", "paper"]),
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"few-mlp-4": "not supported"},
    "With the printed rates MLP experts at P = 4 are not worse with M = 4 than with M = 16, so that the rise of "
    "Figure 1a does not come from these rates on samples of this size.",
)
study.finding(
    {"few-mlp-4": "supported", "peak-mlp": "supported"},
    "With the printed rates MLP experts at P = 4 are best at M = 16, as in Figure 1a.",
)
study.finding(
    {"few-mlp-4": "supported", "decline-mlp": "not supported"},
    "With the printed rates MLP experts at P = 4 gain up to M = 16 and do not lose beyond.",
)
study.finding(
    {"few-cnn-4": "supported"},
    "With the printed rates CNN experts at P = 4 are worse with M = 4 than with M = 8, as in Figure 1b.",
)
study.finding(
    {"decline-cnn": "not supported"}, "With the printed rates the accuracy of CNN experts does not fall beyond M = 8."
)
study.finding({"settled-mlp-4": "not supported"}, "Four MLP experts at P = 4 are still learning after 4 / eta steps.")
study.finding(
    {"settled-mlp-4": "supported", "settled-mlp-64": "supported"},
    "MLP experts at P = 4 have settled: what is left between the numbers of experts is what lasts, not which of "
    "them is first.",
)
study.finding({"settled-mlp-64": "not supported"}, "64 MLP experts at P = 4 are still learning after 4 / eta steps.")

study.figure(
    kind="lines",
    title="Accuracy and dispatch entropy after the last step, printed rates",
    x="experts",
    xlabel="number of experts M",
    logy=False,
    panels=[
        dict(title="MLP experts", arms=["mlp-*"], variable="last_accuracy", ylabel="test accuracy"),
        dict(title="CNN experts", arms=["cnn-*"], variable="last_accuracy", ylabel="test accuracy"),
        dict(title="MLP experts", arms=["mlp-*"], variable="last_entropy", ylabel="dispatch entropy (nats)"),
        dict(title="CNN experts", arms=["cnn-*"], variable="last_entropy", ylabel="dispatch entropy (nats)"),
    ],
    options=dict(
        within=dict(last_accuracy=[0, 1], last_entropy=[0, float("inf")]),
        marks={
            "MLP experts": {"K log K": 5.5, "best in the paper": 16},
            "CNN experts": {"K log K": 5.5, "best in the paper": 8},
        },
        levels=dict(last_entropy={"log K": 1.386}),
    ),
    caption="Figs. 1 and 2 of the paper, whose bars are standard deviations of five runs. log K is the entropy "
    "of random routing; below K log K experts some cluster is likely to have none at the start.",
)

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
        dict(title="MLP experts, P = 4", arms=["mlp-4"], variable="accuracy", ylabel="test accuracy"),
        dict(title="CNN experts, P = 4", arms=["cnn-4"], variable="accuracy", ylabel="test accuracy"),
        dict(title="MLP experts, P = 8", arms=["mlp-8"], variable="accuracy", ylabel="test accuracy"),
        dict(title="CNN experts, P = 8", arms=["cnn-8"], variable="accuracy", ylabel="test accuracy"),
    ],
    options=dict(within=dict(accuracy=[0, 1])),
    caption="Whether the training has settled where it ends; P = 8 in the presets short and eight.",
)
