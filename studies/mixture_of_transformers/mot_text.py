"""Mixtures of transformers on texts (MT appendix B.3, Figs 10-12).

**The paper's texts, Amazon, Yahoo and YouTube, are not here.** With a CSV file of them the study trains on it: `moestat
mot_text --preset experts-90 --set data=FILE.csv --set text=COLUMN --set label=COLUMN`. Reviews drawn from a small
grammar stand in for them and decide nothing: *linear*, a linear model of the counts of the words, is not shown to be
behind a transformer. Is the review good (classification), and what is its score (regression, error over variance)?

Models, stages and losses are those of `mot_images`. The router reads counts of words less their means; the paper's sum
over one-hot tokens is the counts themselves, with which all texts went to one expert (arm *mot-counts*). The stages are
those of Figs 10 and 11, scaled to 90 epochs, and those of Fig. 12.

The lines are test errors over the epochs; the heat maps show which expert gets which topic.
"""

from moestat import Study
from moestat.study.rules import difference
from studies.mixture_of_transformers.parts.shared import ROUTING

FOUR = ["transformer", "mot", "mot-joint", "no-attention"]
FIG_10 = ["transformer", "transformer-staged", "mot", "mot-two", "mot-three", "mot-four", "mot-eight"]
VARIANTS = ["transformer*", "mot", "mot-joint", "mot-counts", "mot-three", "no-attention", "shared-attention"]
LARGE = dict(train=4000, test=2000, depth=2)
CLASSES, NUMBERS = dict(task=["classification"]), dict(task=["regression"])

study = Study(
    "Mixtures of transformers on texts",
    paper="mixture-of-transformers",
    source="MT appendix B.3, Figs 10-12",
    question="Does a mixture of transformers trained in three stages read texts better than one transformer?",
    experiment="mot_text",
    seed=20260722,
    scale="stand-in",
    settings=dict(width=32, depth=1, hidden=64, batch=64, rate=0.001, router_rate=0.001),
    grid=dict(task=["classification", "regression"]),
    summaries=["error", "experts_used", "mutual_information", "top_share"],
)

for name, about, minutes, replicates, arms, grid, settings, (one, two, end) in [
    ("quick", "2000 reviews, 24 epochs.", 7, 5, FOUR, {}, {}, (4, 20, 24)),
    ("experts-90", "Classification, M = 2, 3, 4, 5 and 8, 90 epochs.", 17, 15, FIG_10, CLASSES, {}, (15, 60, 90)),
    ("figure12-90", "Regression, M = 2, 3 and 5, as Fig. 12.", 15, 10, FIG_10[:5], NUMBERS, {}, (30, 60, 90)),
    ("linear", "One transformer and the linear model.", 5, 10, ["transformer", "linear"], {}, {}, (15, 60, 90)),
    ("paper", "4000 reviews, two blocks, variants.", 120, 10, VARIANTS, {}, LARGE, (15, 75, 90)),
]:
    study.preset(
        name,
        about,
        expected=f"about {minutes} minutes on 2 cores",
        replicates=replicates,
        block=1,
        arms=arms,
        grid=grid,
        settings=settings | dict(stage_one=one, stage_two=two, epochs=end),
        **{"figure12-90": dict(rank=2), "linear": dict(rank=0)}.get(name, {}),
    )

for name, label, settings in [
    ("transformer", "transformer", dict(model="transformer", schedule="joint")),
    ("transformer-staged", "transformer, staged", dict(model="transformer")),
    ("mot", "MoT, staged", {}),
    ("mot-joint", "MoT, joint", dict(schedule="joint")),
    ("no-attention", "MoE without attention", dict(model="no_attention", schedule="joint")),
    ("shared-attention", "MoE, shared attention", dict(model="shared_attention")),
    ("mot-counts", "MoT, router on counts", dict(router="counts")),
    ("mot-two", "MoT, staged, M = 2", dict(experts=2)),
    ("mot-three", "MoT, staged, M = 3", dict(experts=3)),
    ("mot-four", "MoT, staged, M = 4", dict(experts=4)),
    ("mot-eight", "MoT, staged, M = 8", dict(experts=8)),
]:
    study.arm(name, label, **settings)
study.arm("linear", "linear model", model="linear", schedule="joint", presets=["linear"])

# --- claims, all ours: the stand-in, with the number of experts of the paper's figures, and its control ---
for id_, task, preset, of in [
    ("fig10-two", "classification", "experts-90", "Figs 10, 11"),
    ("fig12-two", "regression", "figure12-90", "Fig. 12"),
]:
    study.ours(
        id_,
        f"Reviews of a grammar, {task}: a mixture of two trained in stages ends with a lower test error than one "
        "transformer.",
        difference("error", "mot-two", at=dict(task=task), versus="transformer").at_most(0, predicted="below 0"),
        source=f"ours: on MT B.3, {of}: on reviews",
        presets=[preset],
    )
for id_, task in [("linear-behind", "classification"), ("linear-behind-regression", "regression")]:
    study.ours(
        id_,
        f"Reviews of a grammar, {task}: a linear model of the counts of the words errs more than one transformer, by "
        "at least 0.02.",
        difference("error", "linear", at=dict(task=task), versus="transformer").at_least(0.02),
        source="ours: control of fig10-two and fig12-two (MT Figs 10, 12), whether a linear model is enough",
        presets=["linear"],
    )

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"linear-behind": "inconclusive", "linear-behind-regression": "inconclusive"},
    "On these reviews a linear model is not shown to be behind a transformer: they decide nothing about experts.",
)

study.figure(
    kind="lines",
    title="Test error over the epochs",
    x="epoch",
    logx=False,
    logy=False,
    panels=[
        dict(variable="test_error", title=title, ylabel=ylabel, at=dict(task=task))
        for title, ylabel, task in [
            ("classification (Figs 10, 11)", "share of wrong test texts", "classification"),
            ("regression (Fig. 12)", "squared error / variance", "regression"),
        ]
    ],
    options=dict(share_y=False),
    caption="Means over seeds with 95 % t-intervals.",
)
study.figure(
    "routing",
    kind="heatmap",
    title="Classification: which experts the topics go to at the last epoch",
    x="class",
    y="expert",
    columns=3,
    panels=ROUTING,
    options=dict(origin="upper", vmin=0, vmax=1, at=dict(task="classification")),
    caption="Two runs as examples. Classes: topics of the reviews; with data of your own the classes, or fifths of the "
    "target. In use: 2 to the entropy of the experts' loads. Bits: mutual information of class and expert.",
)
