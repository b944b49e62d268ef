"""Does the decline at many experts survive longer training? (expert-count, Fig. 1, at other n and T)."""

from moestat import Study
from moestat.study.rules import difference

study = Study(
    "Many experts: slower, or worse for good?",
    paper="expert-count",
    source="EC Fig. 1, Results (at other budgets)",
    question="The paper finds that accuracy declines beyond M = 16. Does the decline survive more samples and "
    "more steps?",
    experiment="expert_count",
    seed=20260604,
    scale="reduced",
    settings=dict(expert="mlp", patches=4, steps=1000, records=21, test_samples=4000),
    grid=dict(experts=[4, 8, 16, 32, 64]),
    summaries=["last_accuracy", "best_accuracy", "best_step", "last_entropy"],
)

study.preset(
    "quick",
    "Two sample sizes, 500 steps, three values of M, 4 seeds.",
    expected="about 70 s on 2 cores",
    replicates=4,
    arms=["n2000", "n4000", "cnn-n4000"],
    grid=dict(experts=[4, 8, 64]),
    settings=dict(steps=500, records=11, test_samples=2000),
    block=1,
)

study.preset(
    "paper",
    "Four sample sizes, 1000 steps, 10 seeds.",
    scale="reduced",
    expected="about 20 minutes on 2 cores",
    replicates=10,
    block=1,
)

for name, label, settings in [
    ("n2000", "n = 2000", dict(n=2000)),
    ("n4000", "n = 4000", dict(n=4000)),
    ("n8000", "n = 8000", dict(n=8000)),
    ("n16000", "n = 16000", dict(n=16_000)),
    ("cnn-n4000", "CNN experts, n = 4000", dict(n=4000, expert="cnn")),
]:
    study.arm(name, label, **settings)

# --- claims: the verdict says which rules were edited or added after the run ---
study.ours(
    "decline-2000-short",
    "With MLP experts, n = 2000 and steps ten times the paper's, M = 64 is worse than M = 8 after 200 steps.",
    difference("accuracy", "n2000", at=dict(experts=64, step=200), versus_at=dict(experts=8, step=200)).at_most(
        0.0, predicted="< 0"
    ),
    dict(source="ours, on EC Fig. 1a, Results", group="decline of MLP experts, short budget"),
    presets=["quick", "paper"],
)
study.ours(
    "decline-2000-long",
    "With MLP experts, n = 2000 and steps ten times the paper's, M = 64 is worse than M = 8 after 1000 steps.",
    difference("accuracy", "n2000", at=dict(experts=64, step=1000), versus_at=dict(experts=8, step=1000)).at_most(
        0.0, predicted="< 0"
    ),
    dict(source="ours, on EC Fig. 1a, Results", group="decline of MLP experts, long budget", presets=["paper"]),
)
study.ours(
    "decline-4000-short",
    "With MLP experts, n = 4000 and steps ten times the paper's, M = 64 is worse than M = 8 after 200 steps.",
    difference("accuracy", "n4000", at=dict(experts=64, step=200), versus_at=dict(experts=8, step=200)).at_most(
        0.0, predicted="< 0"
    ),
    dict(source="ours, on EC Fig. 1a, Results", group="decline of MLP experts, short budget"),
    presets=["quick", "paper"],
)
study.ours(
    "decline-4000-long",
    "With MLP experts, n = 4000 and steps ten times the paper's, M = 64 is worse than M = 8 after 1000 steps.",
    difference("accuracy", "n4000", at=dict(experts=64, step=1000), versus_at=dict(experts=8, step=1000)).at_most(
        0.0, predicted="< 0"
    ),
    dict(source="ours, on EC Fig. 1a, Results", group="decline of MLP experts, long budget", presets=["paper"]),
)
study.ours(
    "decline-8000-short",
    "With MLP experts, n = 8000 and steps ten times the paper's, M = 64 is worse than M = 8 after 200 steps.",
    difference("accuracy", "n8000", at=dict(experts=64, step=200), versus_at=dict(experts=8, step=200)).at_most(
        0.0, predicted="< 0"
    ),
    dict(source="ours, on EC Fig. 1a, Results", group="decline of MLP experts, short budget", presets=["paper"]),
)
study.ours(
    "decline-8000-long",
    "With MLP experts, n = 8000 and steps ten times the paper's, M = 64 is worse than M = 8 after 1000 steps.",
    difference("accuracy", "n8000", at=dict(experts=64, step=1000), versus_at=dict(experts=8, step=1000)).at_most(
        0.0, predicted="< 0"
    ),
    dict(source="ours, on EC Fig. 1a, Results", group="decline of MLP experts, long budget", presets=["paper"]),
)
study.ours(
    "decline-16000-short",
    "With MLP experts, n = 16000 and steps ten times the paper's, M = 64 is worse than M = 8 after 200 steps.",
    difference("accuracy", "n16000", at=dict(experts=64, step=200), versus_at=dict(experts=8, step=200)).at_most(
        0.0, predicted="< 0"
    ),
    dict(source="ours, on EC Fig. 1a, Results", group="decline of MLP experts, short budget", presets=["paper"]),
)
study.ours(
    "decline-16000-long",
    "With MLP experts, n = 16000 and steps ten times the paper's, M = 64 is worse than M = 8 after 1000 steps.",
    difference("accuracy", "n16000", at=dict(experts=64, step=1000), versus_at=dict(experts=8, step=1000)).at_most(
        0.0, predicted="< 0"
    ),
    dict(source="ours, on EC Fig. 1a, Results", group="decline of MLP experts, long budget", presets=["paper"]),
)

for n in [4000, 16_000]:
    study.ours(
        f"few-{n}-long",
        f"With MLP experts, n = {n} and steps ten times the paper's, M = 4 is worse than M = 8 after 1000 steps.",
        difference("accuracy", f"n{n}", at=dict(experts=4, step=1000), versus_at=dict(experts=8, step=1000)).at_most(
            0.0, predicted="< 0"
        ),
        dict(source="ours, on EC Fig. 1a, Results", group="too few MLP experts, long budget", presets=["paper"]),
    )

for budget, step in [("short", 200), ("long", 1000)]:
    study.ours(
        f"decline-cnn-{budget}",
        f"With CNN experts, n = 4000 and steps ten times the paper's, M = 64 is worse than M = 8 after {step} steps.",
        difference(
            "accuracy", "cnn-n4000", at=dict(experts=64, step=step), versus_at=dict(experts=8, step=step)
        ).at_most(0.0, predicted="< 0"),
        dict(source="ours, on EC Fig. 1b, Results", presets=["paper"]),
    )

# these came after the first run at preset paper, whose figure has M = 64 fall back from where it was at step 600
for n in [2000, 4000, 8000, 16_000]:
    study.ours(
        f"best-{n}",
        f"With MLP experts, n = {n} and steps ten times the paper's, M = 64 is as good as M = 8 at its best step "
        "on the way, up to one point.",
        difference("best_accuracy", f"n{n}", at=dict(experts=64), versus_at=dict(experts=8)).equivalent(
            0.01, predicted=0
        ),
        dict(source="ours, on EC Fig. 1a, Results", group="no decline of MLP experts at the best step"),
        presets=["paper"],
    )

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"decline-2000-short": "supported", "decline-2000-long": "not supported"},
    "With n = 2000, many experts are behind after 200 steps and not after 1000: slower learning, not a limit.",
)
study.finding(
    {"decline-2000-short": "supported", "decline-2000-long": "supported"},
    "With n = 2000, many experts are behind after 200 and after 1000 steps.",
)
study.finding(
    {"decline-4000-short": "supported", "decline-4000-long": "not supported"},
    "With n = 4000, many experts are behind after 200 steps and not after 1000: slower learning, not a limit.",
)
study.finding(
    {"decline-4000-short": "supported", "decline-4000-long": "supported"},
    "With n = 4000, many experts are behind after 200 and after 1000 steps.",
)
study.finding(
    {"decline-8000-short": "supported", "decline-8000-long": "not supported"},
    "With n = 8000, many experts are behind after 200 steps and not after 1000: slower learning, not a limit.",
)
study.finding(
    {"decline-8000-short": "supported", "decline-8000-long": "supported"},
    "With n = 8000, many experts are behind after 200 and after 1000 steps.",
)
study.finding(
    {"decline-16000-short": "supported", "decline-16000-long": "not supported"},
    "With n = 16000, many experts are behind after 200 steps and not after 1000: slower learning, not a limit.",
)
study.finding(
    {"decline-16000-short": "supported", "decline-16000-long": "supported"},
    "With n = 16000, many experts are behind after 200 and after 1000 steps.",
)

for n in [2000, 4000, 8000, 16_000]:
    study.finding(
        {f"decline-{n}-long": "supported", f"best-{n}": "supported"},
        f"With n = {n}, many experts had been as good as few on the way, and fell back: with steps this long "
        "they do not stay where they came to, which is no limit of what they can learn.",
    )

study.figure(
    kind="lines",
    title="Test accuracy over the steps",
    x="step",
    xlabel="step",
    hue="experts",
    logx=False,
    logy=False,
    panels=[
        dict(title="n = 2000", arms=["n2000"], variable="accuracy", ylabel="test accuracy"),
        dict(title="n = 4000", arms=["n4000"], variable="accuracy", ylabel="test accuracy"),
        dict(title="n = 8000", arms=["n8000"], variable="accuracy", ylabel="test accuracy"),
        dict(title="n = 16000", arms=["n16000"], variable="accuracy", ylabel="test accuracy"),
    ],
    options=dict(within=dict(accuracy=[0, 1])),
    caption="Means over seeds with 95 % intervals.",
)

study.figure(
    "accuracy",
    kind="lines",
    title="Accuracy against M at the end, and at its best",
    x="experts",
    xlabel="number of experts M",
    logy=False,
    panels=[
        dict(title="after the last step", variable="last_accuracy", ylabel="test accuracy"),
        dict(title="at the best step", variable="best_accuracy", ylabel="test accuracy"),
    ],
    options=dict(within=dict(last_accuracy=[0, 1], best_accuracy=[0, 1])),
)

study.figure(
    "cnn",
    kind="lines",
    title="CNN experts, n = 4000",
    x="step",
    xlabel="step",
    hue="experts",
    logx=False,
    logy=False,
    panels=[
        dict(title="accuracy", arms=["cnn-n4000"], variable="accuracy", ylabel="test accuracy"),
        dict(title="entropy", arms=["cnn-n4000"], variable="entropy", ylabel="dispatch entropy"),
    ],
    options=dict(within=dict(accuracy=[0, 1], entropy=[0, float("inf")])),
)
