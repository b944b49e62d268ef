"""Mixtures of transformers on texts."""

from functools import partial

from moestat import Study
from moestat.study.rules import difference, function, mean

FIGS_REVIEWS_GRAMMAR = "ours, on MT B.3, Figs 10, 11: on reviews of a grammar"
REVIEWS_GRAMMAR = "ours, on MT B.3, Fig. 12: on reviews of a grammar"
BETTER_TRANSFORMER_REVIEWS = "figure 12: better than one transformer, on reviews"
REVIEWS_GRAMMAR_2 = "ours, on MT B.3, Fig. 10: on reviews of a grammar"
REVIEWS_GRAMMAR_3 = "ours, on MT B.3, Fig. 11: on reviews of a grammar"
REVIEWS_GRAMMAR_4 = "ours, on MT B.3, Fig. 5: on reviews of a grammar"
PRESETS = ["quick", "experts", "experts-90", "paper"]
ARMS = ["transformer", "mot", "mot-joint", "no-attention"]
ARMS_2 = ["transformer", "transformer-staged", "mot", "mot-two", "mot-three", "mot-four", "mot-eight"]
ARMS_3 = ["transformer", "transformer-staged", "mot", "mot-two", "mot-three"]
AT_CHOSEN_EPOCH = "studies.mixture_of_transformers.parts.rules_epochs:at_chosen_epoch"

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

study.preset(
    "quick",
    "2000 reviews, experts of one block, 24 epochs.",
    expected="about 7 minutes on 2 cores",
    replicates=5,
    block=1,
    arms=ARMS,
    settings=dict(stage_one=4, stage_two=20, epochs=24),
)

study.preset(
    "counts",
    "The texts and stages of quick, classification: a router on the counts themselves, 20 seeds.",
    expected="about 60 s on 2 cores",
    replicates=20,
    block=1,
    rank=0,
    arms=["mot-counts"],
    grid=dict(task=["classification"]),
    settings=dict(stage_one=4, stage_two=20, epochs=24),
)

# other stages and numbers of experts than the others: its verdicts stand beside those of preset paper
# the figure's own length of training
study.preset(
    "experts",
    "2000 reviews, M = 2, 3, 4, 5 and 8, the stages of Figs 10 and 11 scaled to 24 epochs.",
    expected="about 14 minutes on 2 cores",
    replicates=15,
    block=1,
    rank=0,
    arms=ARMS_2,
    settings=dict(stage_one=4, stage_two=16, epochs=24),
)

study.preset(
    "experts-90",
    "As experts, classification, with the stages of Figs 10 and 11 scaled to 90 epochs, as many as in Fig. 12.",
    expected="about 17 minutes on 2 cores",
    replicates=15,
    block=1,
    arms=ARMS_2,
    grid=dict(task=["classification"]),
    settings=dict(stage_one=15, stage_two=60, epochs=90),
)

study.preset(
    "figure12",
    "2000 reviews, regression, M = 2, 3 and 5, the stages of Fig. 12 (thirds) scaled to 24 epochs.",
    expected="about 23 minutes on 2 cores",
    replicates=10,
    block=1,
    arms=ARMS_3,
    grid=dict(task=["regression"]),
    settings=dict(stage_one=8, stage_two=16, epochs=24),
)

study.preset(
    "figure12-90",
    "As figure12, with the 90 epochs of Fig. 12 themselves: stages of 30, 30 and 30.",
    expected="about 15 minutes on 2 busy cores",
    rank=2,
    replicates=10,
    block=1,
    arms=ARMS_3,
    grid=dict(task=["regression"]),
    settings=dict(stage_one=30, stage_two=60, epochs=90),
)

study.preset(
    "figure5",
    "2000 reviews, classification, experts of one block, the stages of Figs 5 and 6 scaled to 90 epochs.",
    expected="about 15 minutes on 2 cores",
    replicates=20,
    block=1,
    arms=ARMS,
    grid=dict(task=["classification"]),
    settings=dict(stage_one=20, stage_two=60, epochs=90),
)

study.preset(
    "paper",
    "4000 reviews, experts of two blocks, 90 epochs, all models in one run; the other presets have them one "
    "figure at a time, and decide all claims.",
    expected="about 2 hours on 2 cores",
    replicates=10,
    block=1,
    arms=["transformer*", "mot", "mot-joint", "mot-counts", "mot-three", "no-attention", "shared-attention"],
    settings=dict(train=4000, test=2000, depth=2, stage_one=15, stage_two=75, epochs=90),
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

# --- claims: the verdict says which rules were edited or added after the run ---
study.ours(
    "fig10-better",
    "Reviews of a grammar, classification: the mixture of five trained in stages ends with a lower test error "
    "than one transformer.",
    difference("error", "mot", at=dict(task="classification"), versus="transformer").at_most(0, predicted="below 0"),
    dict(source=FIGS_REVIEWS_GRAMMAR, group="figures 10 and 11: a mixture of five, on reviews", presets=PRESETS),
)
study.ours(
    "fig10-ahead-in-stage-two",
    "Reviews of a grammar, classification: the mixture of five trained in stages has a lower test error than "
    "one transformer at the end of stage II already.",
    difference("error_by_stage", "mot", at=dict(task="classification", stage="II"), versus="transformer").at_most(
        0, predicted="below 0"
    ),
    dict(source=FIGS_REVIEWS_GRAMMAR, group="figures 10 and 11: a mixture of five in stage II, on reviews"),
    presets=PRESETS,
)
study.ours(
    "fig12-better",
    "Reviews of a grammar, regression: the mixture of five trained in stages ends with a lower test error than "
    "one transformer.",
    difference("error", "mot", at=dict(task="regression"), versus="transformer").at_most(0, predicted="below 0"),
    dict(source=REVIEWS_GRAMMAR, group=BETTER_TRANSFORMER_REVIEWS, presets=["quick", "figure12", "figure12-90"]),
)
ours = partial(study.ours, presets=["experts", "experts-90"])
ours(
    "fig12-ahead-in-stage-two",
    "Reviews of a grammar, regression: the mixture of five trained in stages has a lower test error than one "
    "transformer at the end of stage II already.",
    difference("error_by_stage", "mot", at=dict(task="regression", stage="II"), versus="transformer").at_most(
        0, predicted="below 0"
    ),
    dict(source=REVIEWS_GRAMMAR, presets=["quick", "figure12", "figure12-90"]),
)
ours(
    "fig12-three",
    "Reviews of a grammar, regression: a mixture of three trained in stages ends with a lower test error than "
    "one transformer.",
    difference("error", "mot-three", at=dict(task="regression"), versus="transformer").at_most(0, predicted="below 0"),
    dict(source=REVIEWS_GRAMMAR, group=BETTER_TRANSFORMER_REVIEWS, presets=["figure12", "figure12-90"]),
)
# the figures' own numbers of experts and stages, on texts that stand in for theirs
ours(
    "fig10-two",
    "Reviews of a grammar, classification: with the stages of the figure a mixture of two ends with a lower "
    "test error than one transformer.",
    difference("error", "mot-two", at=dict(task="classification"), versus="transformer").at_most(
        0, predicted="below 0"
    ),
    dict(source=REVIEWS_GRAMMAR_2, group="figure 10: better than one transformer, on reviews"),
)
ours(
    "fig10-three",
    "Reviews of a grammar, classification: with the stages of the figure a mixture of three ends with a lower "
    "test error than one transformer.",
    difference("error", "mot-three", at=dict(task="classification"), versus="transformer").at_most(
        0, predicted="below 0"
    ),
    dict(source=REVIEWS_GRAMMAR_2, group="figure 10: better than one transformer, on reviews"),
)
ours(
    "fig11-four",
    "Reviews of a grammar, classification: with the stages of the figure a mixture of four ends with a lower "
    "test error than one transformer.",
    difference("error", "mot-four", at=dict(task="classification"), versus="transformer").at_most(
        0, predicted="below 0"
    ),
    dict(source=REVIEWS_GRAMMAR_3, group="figure 11: better than one transformer, on reviews"),
)
ours(
    "fig11-eight",
    "Reviews of a grammar, classification: with the stages of the figure a mixture of eight ends with a lower "
    "test error than one transformer.",
    difference("error", "mot-eight", at=dict(task="classification"), versus="transformer").at_most(
        0, predicted="below 0"
    ),
    dict(source=REVIEWS_GRAMMAR_3, group="figure 11: better than one transformer, on reviews"),
)
study.ours(
    "fig12-two",
    "Reviews of a grammar, regression: with the stages of the figure a mixture of two ends with a lower test "
    "error than one transformer.",
    difference("error", "mot-two", at=dict(task="regression"), versus="transformer").at_most(0, predicted="below 0"),
    dict(source=REVIEWS_GRAMMAR, group=BETTER_TRANSFORMER_REVIEWS, presets=["figure12", "figure12-90"]),
)
# Figs 5 and 6 are of CIFAR-100: texts stand in for its images here; figure5, with their stages, more epochs and more
# seeds, came after the run of quick, whose stages are not theirs
study.ours(
    "stages-help",
    "Reviews of a grammar, classification: stages lower the error of the mixture.",
    difference("error", "mot", at=dict(task="classification"), versus="mot-joint").at_most(0, predicted="below 0"),
    dict(source=REVIEWS_GRAMMAR_4, group="stages help, on reviews", presets=["quick", "figure5", "paper"]),
)
study.ours(
    "joint-is-one",
    "Reviews of a grammar, classification: trained jointly, the mixture ends within 2 points of one transformer.",
    difference("error", "mot-joint", at=dict(task="classification"), versus="transformer").equivalent(
        0.02, predicted="0"
    ),
    dict(source=REVIEWS_GRAMMAR_4, group="joint training is one transformer, on reviews"),
    presets=["quick", "figure5", "paper"],
)
# Written after the run of figure5, its numbers known: the figure has the staged mixture below one transformer, too.
study.ours(
    "fig5-better",
    "Reviews of a grammar, classification: with the stages of Fig. 5 the mixture trained in stages ends with a "
    "lower test error than one transformer.",
    difference("error", "mot", at=dict(task="classification"), versus="transformer").at_most(0, predicted="below 0"),
    dict(source=REVIEWS_GRAMMAR_4, presets=["figure5"]),
)
study.ours(
    "attention-classification",
    "Classification: where all parameters are trained throughout, attention lowers the error of a mixture.",
    difference("error", "no-attention", at=dict(task="classification"), versus="mot-joint").at_least(
        0, predicted="above 0"
    ),
    dict(source="ours, for MT Lemma 1", bearing="for"),
    dict(group="attention helps a mixture that is trained throughout", presets=["quick", "figure5", "paper"]),
)
study.ours(
    "attention-regression",
    "Regression: where all parameters are trained throughout, attention lowers the error of a mixture.",
    difference("error", "no-attention", at=dict(task="regression"), versus="mot-joint").at_least(
        0, predicted="above 0"
    ),
    dict(source="ours, for MT Lemma 1", bearing="for"),
    dict(group="attention helps a mixture that is trained throughout", presets=["quick", "paper"]),
)
study.ours(
    "topics-classification",
    "Reviews of a grammar, classification: experts specialise in topics: the routing tells at least half a bit "
    "of the two bits of the topic.",
    mean("mutual_information", "mot", at=dict(task="classification")).at_least(0.5, predicted="clear specialisation"),
    dict(source="ours, on MT Section 6, Figs 3 and 6: on reviews of a grammar", presets=PRESETS),
)
study.ours(
    "stages-specialise",
    "Reviews of a grammar, classification: after training in stages the routing tells more about the topic than "
    "after joint training, by at least 0.05 bits.",
    difference("mutual_information", "mot", at=dict(task="classification"), versus="mot-joint").at_least(
        0.05, predicted="above 0"
    ),
    dict(source="ours, on MT B.3, Fig. 6: on reviews of a grammar", group="stages specialise, on reviews"),
    presets=["quick", "figure5", "paper"],
)
# a mean, until the run, in which all replicates have exactly one
study.ours(
    "counts-collapse",
    "Classification: a router on the counts themselves sends the texts to one expert: in no run are more than "
    "1.1 in use.",
    function("moestat.claims.rules:largest", "experts_used", "mot-counts", at=dict(task="classification")).at_most(1.1),
    dict(source="ours, on MT equation (1)", presets=["counts", "paper"]),
)
study.ours(
    "experts-alone",
    "Classification: where all are trained in stages, five transformers are better than one.",
    difference("error", "mot", at=dict(task="classification"), versus="transformer-staged").at_most(0),
    dict(source="ours, on MT Figs 10, 11", presets=["paper", "experts", "experts-90"]),
)
study.ours(
    "experts-alone-regression",
    "Regression: with the stages of Fig. 12, where all are trained in stages, five transformers are better than one.",
    difference("error", "mot", at=dict(task="regression"), versus="transformer-staged").at_most(0),
    dict(source="ours, on MT Fig. 12", presets=["figure12", "figure12-90"]),
)
ours = partial(
    study.ours,
    hindsight="Written after the records had shown that test errors rise again long before the 90th epoch.",
    group="better than one transformer, each at its best epoch, on reviews",
)
# After 90 epochs one transformer is trained too long; these ask what is left of a lead if no side is. For every
# replicate and each side the epoch is the one at which the other replicates err least
ours(
    "chosen-fig10-two",
    "Reviews of a grammar, classification: each at the epoch that is best for the other replicates, a mixture "
    "of two trained in stages has a lower test error than one transformer.",
    function(AT_CHOSEN_EPOCH, "test_error", "mot-two", at=dict(task="classification"), versus="transformer").at_most(0),
    dict(source=REVIEWS_GRAMMAR_2, presets=["experts-90"]),
)
ours(
    "chosen-fig10-three",
    "Reviews of a grammar, classification: each at the epoch that is best for the other replicates, a mixture "
    "of three trained in stages has a lower test error than one transformer.",
    function(AT_CHOSEN_EPOCH, "test_error", "mot-three", at=dict(task="classification"), versus="transformer").at_most(
        0
    ),
    dict(source=REVIEWS_GRAMMAR_2, presets=["experts-90"]),
)
ours(
    "chosen-fig11-four",
    "Reviews of a grammar, classification: each at the epoch that is best for the other replicates, a mixture "
    "of four trained in stages has a lower test error than one transformer.",
    function(AT_CHOSEN_EPOCH, "test_error", "mot-four", at=dict(task="classification"), versus="transformer").at_most(
        0
    ),
    dict(source=REVIEWS_GRAMMAR_3, presets=["experts-90"]),
)
ours(
    "chosen-fig10-better",
    "Reviews of a grammar, classification: each at the epoch that is best for the other replicates, a mixture "
    "of five trained in stages has a lower test error than one transformer.",
    function(AT_CHOSEN_EPOCH, "test_error", "mot", at=dict(task="classification"), versus="transformer").at_most(0),
    dict(source=FIGS_REVIEWS_GRAMMAR, presets=["experts-90"]),
)
ours(
    "chosen-fig11-eight",
    "Reviews of a grammar, classification: each at the epoch that is best for the other replicates, a mixture "
    "of eight trained in stages has a lower test error than one transformer.",
    function(AT_CHOSEN_EPOCH, "test_error", "mot-eight", at=dict(task="classification"), versus="transformer").at_most(
        0
    ),
    dict(source=REVIEWS_GRAMMAR_3, presets=["experts-90"]),
)
ours(
    "chosen-fig10-two-staged",
    "Reviews of a grammar, classification: each at the epoch that is best for the other replicates, a mixture "
    "of two trained in stages has a lower test error than one transformer trained in stages.",
    function(
        AT_CHOSEN_EPOCH, "test_error", "mot-two", at=dict(task="classification"), versus="transformer-staged"
    ).at_most(0),
    source=REVIEWS_GRAMMAR_2,
    group="better than one transformer in stages, each at its best epoch, on reviews",
    presets=["experts-90"],
)
ours(
    "chosen-fig12-two",
    "Reviews of a grammar, regression: each at the epoch that is best for the other replicates, a mixture of "
    "two trained in stages has a lower test error than one transformer.",
    function(AT_CHOSEN_EPOCH, "test_error", "mot-two", at=dict(task="regression"), versus="transformer").at_most(0),
    dict(source=REVIEWS_GRAMMAR, presets=["figure12-90"]),
)
ours(
    "chosen-fig12-three",
    "Reviews of a grammar, regression: each at the epoch that is best for the other replicates, a mixture of "
    "three trained in stages has a lower test error than one transformer.",
    function(AT_CHOSEN_EPOCH, "test_error", "mot-three", at=dict(task="regression"), versus="transformer").at_most(0),
    dict(source=REVIEWS_GRAMMAR, presets=["figure12-90"]),
)
ours(
    "chosen-fig12-better",
    "Reviews of a grammar, regression: each at the epoch that is best for the other replicates, a mixture of "
    "five trained in stages has a lower test error than one transformer.",
    function(AT_CHOSEN_EPOCH, "test_error", "mot", at=dict(task="regression"), versus="transformer").at_most(0),
    dict(source=REVIEWS_GRAMMAR, presets=["figure12-90"]),
)
ours(
    "chosen-fig12-two-staged",
    "Reviews of a grammar, regression: each at the epoch that is best for the other replicates, a mixture of "
    "two trained in stages has a lower test error than one transformer trained in stages.",
    function(AT_CHOSEN_EPOCH, "test_error", "mot-two", at=dict(task="regression"), versus="transformer-staged").at_most(
        0
    ),
    source=REVIEWS_GRAMMAR,
    group="better than one transformer in stages, each at its best epoch, on reviews",
    presets=["figure12-90"],
)
ours(
    "chosen-stages-help",
    "Reviews of a grammar, classification: each at the epoch that is best for the other replicates, the mixture "
    "of five trained in stages has a lower test error than the same trained jointly.",
    function(AT_CHOSEN_EPOCH, "test_error", "mot", at=dict(task="classification"), versus="mot-joint").at_most(0),
    dict(source=REVIEWS_GRAMMAR_4, group="stages help, each at its best epoch, on reviews", presets=["figure5"]),
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"fig10-better": "inconclusive", "fig12-better": "inconclusive"},
    "One transformer and five trained in stages cannot be told apart, neither in classification nor in regression.",
)
study.finding(
    {"stages-help": "not supported"}, "Stages do not help the mixture: the staged one ends above the joint one."
)
study.finding({"stages-help": "supported"}, "Stages help the mixture: the staged one ends below the joint one.")
study.finding(
    {"topics-classification": "supported"}, "The experts specialise in topics, without having been told them."
)
study.finding(
    {"topics-classification": "supported", "stages-specialise": "not supported"}, "It does not take stages for that."
)
study.finding(
    {"fig12-three": "supported", "chosen-fig12-three": "inconclusive"},
    "The lead that three experts have at the end is not to be seen where each side is judged at its best epoch: "
    "one transformer is trained too long by then.",
)
study.finding({"counts-collapse": "no counterexample"}, "A router on plain counts sends the texts to one expert.")

# --- figures ---
study.figure(
    "figure",
    kind="lines",
    title="Test error over the epochs",
    x="epoch",
    xlabel="epoch",
    logx=False,
    logy=False,
    columns=2,
    panels=[
        dict(
            variable="test_error",
            title="classification (Figs 5, 10, 11)",
            ylabel="share of wrong test texts",
            arms=ARMS,
            at=dict(task="classification"),
        ),
        dict(
            variable="test_error",
            title="regression (Fig. 12)",
            ylabel="squared error / variance",
            arms=["transformer", "mot", "mot-joint", "no-attention", "mot-three"],
            at=dict(task="regression"),
        ),
    ],
    options=dict(share_y=False),
    caption="Means over seeds with 95 % t-intervals.",
)

study.figure(
    "routing",
    kind="heatmap",
    title="Classification: which experts the topics go to at the last epoch (Figs 3, 6)",
    x="class",
    xlabel="class",
    y="expert",
    columns=3,
    panels=[
        dict(
            arms=["mot", "mot-joint", "no-attention"],
            variable="routing",
            ylabel="share of the class's samples",
            at=dict(replicate=run),
            note=f"run {run}: {{experts_used:.1f}} in use, {{mutual_information:.2f}} bits",
        )
        for run in [0, 1]
    ],
    options=dict(origin="upper", vmin=0, vmax=1, at=dict(task="classification")),
    caption="Two runs as examples. Classes: topics of the reviews; with data of your own the classes, or fifths of the "
    "target. In use: 2 to the entropy of the experts' loads. Bits: mutual information of class and expert.",
)
