"""Accuracy and dispatch entropy against the number of experts (expert-count, Figs. 1 and 2)."""

import itertools

from moestat import Study
from moestat.study.rules import difference, function

GAP = "moestat.claims.rules:gap"
SPREAD = "studies.expert_count.parts.variation:spread"

study = Study(
    "How many experts? Accuracy and dispatch entropy against M",
    paper="expert-count",
    source="EC Numerical Experiments, Figs. 1 and 2",
    question="Is there a number of experts that is best, and does the dispatch entropy show it?",
    experiment="expert_count",
    seed=20260601,
    scale="reduced",
    settings=dict(
        clusters=4,
        dimension=50,
        neurons=8,
        n=8000,
        steps=400,
        records=21,
        test_samples=4000,
        input_scale=10.0,
        start="equal",
        start_scale=0.01,
        expert_rate=0.001,
        router_rate="paper",
        router="auto",
        routing_noise=1.0,
        evaluation_noise=False,
    ),
    grid=dict(experts=[4, 8, 16, 32, 64]),
    summaries=[
        "last_accuracy",
        "best_accuracy",
        "last_entropy",
        "last_experts_used",
        "last_specialisation",
        "best_step",
    ],
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

study.preset(
    "full",
    "As paper, with 40 seeds: narrower intervals of claims that are all ours; those on the paper are judged "
    "with the printed rates, in expert_count_printed.",
    scale="reduced",
    expected="60 to 100 minutes on 2 cores",
    replicates=40,
    block=1,
)

study.arm("mlp-4", "MLP experts, P = 4", expert="mlp", patches=4)
study.arm("mlp-8", "MLP experts, P = 8", expert="mlp", patches=8)
study.arm("cnn-4", "CNN experts, P = 4", expert="cnn", patches=4)
study.arm("cnn-8", "CNN experts, P = 8", expert="cnn", patches=8)

# --- claims: the verdict says which rules were edited or added after the run ---
# judged at the paper's own steps by expert_count_printed, as all below
for (key, experts, m), (p, source) in itertools.product(
    [("mlp", "MLP experts", 16), ("cnn", "CNN experts", 8)],
    [(4, "ours, on EC Fig. 1, Results"), (8, "ours, on EC Results, which name a peak at P = 4 only")],
):
    study.ours(
        f"few-{key}-{p}",
        f"Under steps ten times the paper's, too few experts are worse: {experts} at P = {p} reach a higher "
        f"accuracy with M = {m} than with M = 4.",
        difference("last_accuracy", f"{key}-{p}", at=dict(experts=m), versus_at=dict(experts=4)).at_least(
            0.0, predicted="> 0"
        ),
        dict(source=source, group=f"too few experts are worse, P = {p}"),
    )

study.ours(
    "patches-mlp",
    "Under steps ten times the paper's, MLP experts do worse at P = 8 than at P = 4, averaged over M.",
    function(GAP, "last_accuracy", "mlp-8", versus="mlp-4").at_most(0.0, predicted="< 0"),
    source="ours, on EC Fig. 1a, Results",
)
study.ours(
    "patches-cnn",
    "Under steps ten times the paper's, CNN experts keep their accuracy at P = 8: they lose at most two points, "
    "averaged over M.",
    function(GAP, "last_accuracy", "cnn-8", versus="cnn-4").at_least(-0.02, predicted="about 0"),
    source="ours, on EC Fig. 1b, Results",
)

for (key, experts), p in itertools.product([("mlp", "MLP experts"), ("cnn", "CNN experts")], [4, 8]):
    study.ours(
        f"mirror-{key}-{p}",
        f"Under steps ten times the paper's, entropy mirrors accuracy along M for {experts} at P = {p}: "
        "Spearman's correlation of their means over seeds is at most -0.5, and M is seen to move both.",
        function(
            "studies.expert_count.parts.mirror:of_means",
            "last_accuracy",
            f"{key}-{p}",
            options=dict(other="last_entropy"),
        ).at_most(-0.5, predicted="-1"),
        dict(source="ours, on EC Fig. 2, Results", group="entropy mirrors accuracy"),
    )

for (key, experts), p in itertools.product([("mlp", "MLP experts"), ("cnn", "CNN experts")], [4, 8]):
    study.ours(
        f"runs-{key}-{p}",
        f"Under steps ten times the paper's, of the trainings of a seed, {experts} at P = {p}, those with the "
        "higher entropy are the less accurate: Spearman's correlation is at most -0.5.",
        function(
            "studies.expert_count.parts.mirror:within_seeds",
            "last_accuracy",
            f"{key}-{p}",
            options=dict(other="last_entropy", visible=0.001),
        ).at_most(-0.5, predicted="-1"),
        source="ours, on EC Fig. 2: between the trainings of a seed",
        group="runs with worse routing are less accurate",
    )

# judged at the paper's own steps by expert_count_printed
for (key, part, experts, m), (when, where) in itertools.product(
    [("mlp", "a", "MLP experts", 16), ("cnn", "b", "CNN experts", 8)],
    [("last", "after the last step"), ("best", "at its best on the way")],
):
    study.ours(
        f"peak-{key}-{when}",
        f"Under steps ten times the paper's, at P = 4, the accuracy of {experts} {where} is highest at M = {m}.",
        function("moestat.claims.rules:peak", f"{when}_accuracy", f"{key}-4", options=dict(value=m)).at_least(
            0.0, predicted="> 0"
        ),
        dict(source=f"ours, on EC Fig. 1{part}, Results", group=f"the peak of {experts}"),
    )

# the paper has no n and no T, and steps of a tenth, on which the decline depends
for key, experts, m in [("mlp", "MLP experts", 16), ("cnn", "CNN experts", 8)]:
    study.ours(
        f"decline-{key}",
        f"Under steps ten times the paper's, accuracy declines beyond the peak: after the last step {experts} at "
        f"P = 4 do worse with M = 64 than with M = {m}.",
        difference("last_accuracy", f"{key}-4", at=dict(experts=64), versus_at=dict(experts=m)).at_most(
            0.0, predicted="< 0"
        ),
        source="ours, on EC Fig. 1, Results",
    )

# "does not yield further gains": a plateau needs a rule of equivalence; one point
for (key, first, experts, options), (when, where) in itertools.product(
    [
        ("mlp", 16, "MLP experts", dict(over="experts", values=[16, 32, 64])),
        ("cnn", 8, "CNN experts", dict(over="experts", values=[8, 16, 32, 64])),
    ],
    [("last", "after the last step"), ("best", "at its best on the way")],
):
    study.ours(
        f"plateau-{key}-{when}",
        f"Under steps ten times the paper's, at P = 4 the accuracy of {experts} {where} is the same from M = "
        f"{first} on, up to one point between any two M.",
        function("moestat.claims.rules:widest", f"{when}_accuracy", f"{key}-4", options=options).equivalent(
            0.01, predicted=0
        ),
        dict(source="ours, on EC Fig. 1, Results", group=f"plateau of {experts}"),
    )

# judged at the paper's own steps by expert_count_printed
for p, m in itertools.product([4, 8], [4, 8, 16, 32, 64]):
    study.ours(
        f"variance-mlp-{p}-{m}",
        f"Under steps ten times the paper's, at P = {p} and M = {m} the accuracy of MLP experts varies more "
        "between runs than that of CNN experts.",
        function(
            SPREAD,
            "last_accuracy",
            f"mlp-{p}",
            at=dict(experts=m),
            versus=f"cnn-{p}",
            versus_at=dict(experts=m),
            options=dict(visible=0.001),
        ).at_least(0.0, predicted="> 0"),
        dict(source="ours, on EC Fig. 1, Results", group="MLP experts have the higher variance"),
    )

# the other reading of the same words: along the values of M, in place of between the runs at one M
# judged at the paper's own steps by expert_count_printed
for p, (tag, when, where) in itertools.product(
    [4, 8], [("", "last", "after the last step"), ("-best", "best", "at its best on the way")]
):
    study.ours(
        f"varies-along-{p}{tag}",
        f"Under steps ten times the paper's, at P = {p} the accuracy {where} varies more along M with MLP "
        "experts than with CNN experts.",
        function(
            "studies.expert_count.parts.variation:along",
            f"{when}_accuracy",
            f"mlp-{p}",
            versus=f"cnn-{p}",
            options=dict(visible=0.001),
        ).at_least(0.0, predicted="> 0"),
        dict(source="ours, on EC Fig. 1, Results", group="MLP experts have the higher variance"),
    )

# judged at the paper's own steps by expert_count_printed
study.ours(
    "variance-cnn-64",
    "Under steps ten times the paper's, CNN experts at P = 4 have a substantially greater variance with M = 64 "
    "than with M = 32.",
    function(
        SPREAD, "last_accuracy", "cnn-4", at=dict(experts=64), versus_at=dict(experts=32), options=dict(visible=0.001)
    ).at_least(0.0, predicted="> 0"),
    source="ours, on EC Fig. 1b, Results",
)
# judged at the paper's own steps by expert_count_printed
study.ours(
    "mean-cnn-64",
    "Under steps ten times the paper's, CNN experts at P = 4 have a higher mean accuracy with M = 64 than with M = 32.",
    difference("last_accuracy", "cnn-4", at=dict(experts=64), versus_at=dict(experts=32)).at_least(
        0.0, predicted="> 0"
    ),
    source="ours, on EC Fig. 1b, Results",
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"few-mlp-4": "supported"}, "MLP experts at P = 4: too few experts are worse, as the coverage argument has it."
)
study.finding(
    {"few-mlp-4": "not supported"},
    "MLP experts at P = 4: too few experts are not worse; coverage does not decide here.",
)
study.finding({"mirror-mlp-4": "supported"}, "MLP experts at P = 4: entropy mirrors accuracy along M.")
study.finding(
    {"few-mlp-8": "supported"}, "MLP experts at P = 8: too few experts are worse, as the coverage argument has it."
)
study.finding(
    {"few-mlp-8": "not supported"},
    "MLP experts at P = 8: too few experts are not worse; coverage does not decide here.",
)
study.finding({"mirror-mlp-8": "supported"}, "MLP experts at P = 8: entropy mirrors accuracy along M.")
study.finding(
    {"few-cnn-4": "supported"}, "CNN experts at P = 4: too few experts are worse, as the coverage argument has it."
)
study.finding(
    {"few-cnn-4": "not supported"},
    "CNN experts at P = 4: too few experts are not worse; coverage does not decide here.",
)
study.finding({"mirror-cnn-4": "supported"}, "CNN experts at P = 4: entropy mirrors accuracy along M.")
study.finding(
    {"few-cnn-8": "supported"}, "CNN experts at P = 8: too few experts are worse, as the coverage argument has it."
)
study.finding(
    {"few-cnn-8": "not supported"},
    "CNN experts at P = 8: too few experts are not worse; coverage does not decide here.",
)
study.finding({"mirror-cnn-8": "supported"}, "CNN experts at P = 8: entropy mirrors accuracy along M.")

study.figure(
    kind="lines",
    title="Accuracy and dispatch entropy after the last step",
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
    "best",
    kind="lines",
    title="The best accuracy on the way",
    x="experts",
    xlabel="number of experts M",
    logy=False,
    panels=[
        dict(title="best test accuracy", variable="best_accuracy", ylabel="test accuracy"),
        dict(title="step of the best accuracy", variable="best_step", ylabel="step"),
    ],
    options=dict(within=dict(best_accuracy=[0, 1], best_step=[0, float("inf")])),
    caption="The same with an oracle's early stopping: the accuracy at the best step, and that step.",
)

study.figure(
    "accuracy-over-steps",
    kind="lines",
    title="Test accuracy over the steps",
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
    caption="Normalised gradient descent never stops: which M is ahead can depend on when one looks.",
)

study.figure(
    "entropy-over-steps",
    kind="lines",
    title="Dispatch entropy over the steps",
    x="step",
    xlabel="step",
    hue="experts",
    logx=False,
    logy=False,
    panels=[
        dict(title="MLP experts, P = 4", arms=["mlp-4"], variable="entropy", ylabel="dispatch entropy (nats)"),
        dict(title="CNN experts, P = 4", arms=["cnn-4"], variable="entropy", ylabel="dispatch entropy (nats)"),
        dict(title="MLP experts, P = 8", arms=["mlp-8"], variable="entropy", ylabel="dispatch entropy (nats)"),
        dict(title="CNN experts, P = 8", arms=["cnn-8"], variable="entropy", ylabel="dispatch entropy (nats)"),
    ],
    options=dict(within=dict(entropy=[0, float("inf")])),
)

study.figure(
    "recommendation",
    kind="function",
    title="How many experts? The range within one standard error of the best",
    function="studies.expert_count.parts.expert_range:study_figure",
    options=dict(variable="last_accuracy", clusters=4),
    caption="Shaded: every M whose mean accuracy after the last step is behind the best by at most the "
    "standard error of that difference (paired by seed), so that its bar reaches the dashed line. The same for "
    "other K, d, n and T: studies.expert_count.parts.recommend.",
)

study.figure(
    "dispatch",
    kind="heatmap",
    title="Which expert gets which cluster (first seed, last step)",
    x="expert",
    xlabel="expert",
    y="cluster",
    columns=2,
    panels=[
        dict(
            arms=["mlp-4", "cnn-4"],
            variable="dispatch",
            ylabel="share of the cluster",
            at=dict(experts=m),
            note=f"M = {m}, accuracy {{accuracy:.3f}}",
        )
        for m in [8, 16, 64]
    ],
    options=dict(at=dict(step="last", replicate=0), share="cluster", origin="upper", vmin=0, vmax=1, digits=2),
    caption="One run each, as an example: to which expert the test samples of each cluster are sent.",
)
