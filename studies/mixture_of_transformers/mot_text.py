"""Mixtures of transformers on texts (MT appendix B.3, Figs 10-12).

Reviews drawn from a small grammar stand in for the paper's Amazon, Yahoo and YouTube texts: nouns tell the topic,
half of the adjectives have a sign that depends on it, one clause about another topic does not count, one is filler.
Is the review good (classification), and what is its score (regression, error over variance)? A perfect reader makes
no error. Models, stages and losses are those of `mot_images`; *linear* is the control, a linear model of the counts
of the words.

The router reads counts of words less their means. The paper's sum over one-hot tokens is the counts themselves, with
which all texts went to one expert (arm *mot-counts*). The stages are those of Figs 10 and 11, scaled to 90 epochs,
and those of Fig. 12. **No verdict here says anything of the paper's texts**: read any lead beside *transformer,
staged*, which has the stages without the experts. Texts of your own: `--set data=FILE.csv`.

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

# --- claims, all ours: the stand-in and its controls ---
FIG_10_TEXT, FIG_12_TEXT = "on MT B.3, Figs 10, 11: on reviews", "on MT B.3, Fig. 12: on reviews"
STAGES = "the experts without the stages"
for id_, task, arm, versus, statement, source, presets in [
    ("fig10-better", "classification", "mot", "transformer", "five", FIG_10_TEXT, ["quick", "experts-90"]),
    ("fig10-two", "classification", "mot-two", "transformer", "two", FIG_10_TEXT, ["experts-90"]),
    ("fig12-better", "regression", "mot", "transformer", "five", FIG_12_TEXT, ["quick", "figure12-90"]),
    ("fig12-two", "regression", "mot-two", "transformer", "two", FIG_12_TEXT, ["figure12-90"]),
    ("experts-alone", "classification", "mot", "transformer-staged", "five")
    + (f"control of fig10-better (MT Fig. 10), {STAGES}", ["experts-90"]),
    ("experts-alone-regression", "regression", "mot", "transformer-staged", "five")
    + (f"control of fig12-better (MT Fig. 12), {STAGES}", ["figure12-90"]),
]:
    staged = versus == "transformer-staged"
    study.ours(
        id_,
        f"Reviews of a grammar, {task}: a mixture of {statement} trained in stages ends with a lower test error than "
        f"one transformer{' trained in stages' if staged else ''}.",
        difference("error", arm, at=dict(task=task), versus=versus).at_most(0, predicted="" if staged else "below 0"),
        source=f"ours: {source}",
        presets=presets,
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
    {"fig12-two": "supported", "experts-alone-regression": "not supported"},
    "The lead in regression is the stages': one transformer trained in stages is ahead of five.",
)
study.finding(
    {"fig10-better": "inconclusive", "fig12-better": "inconclusive"},
    "One transformer and five trained in stages cannot be told apart, neither in classification nor in regression.",
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
