"""Three-stage MoT and its rivals on Definition 1 (mixture-of-transformers, Figs. 2, 4, 5, 13 on synthetic data)."""

from moestat import Study
from moestat.study.rules import difference, log_ratio, mean

DATA_DEFINITION = "ours, on MT Section 6, Fig. 2: on the data of Definition 1"
STAGE_LENGTHS_HARDLY = "stage lengths hardly matter, on the data of the theory"
ARMS = ["mot", "mot-16", "no-attention", "multi-head", "shared-attention", "joint"]

study = Study(
    "Does the three-stage MoT beat its rivals?",
    paper="mixture-of-transformers",
    source="MT Figs. 2, 4, 5 and 13, Section 6",
    question="The paper's real-data figures show the three-stage MoT ahead of a mixture without attention, a "
    "multi-head transformer, an FFN-level mixture and joint training. Does that hold on the data of its theory?",
    experiment="mot",
    seed=20260708,
    scale="stand-in",
    settings=dict(
        specialise_steps=2000,
        attention_steps=400,
        tuning_steps=2000,
        tuning_rate=1.0,
        records_per_decade=8,
        expert_slots=16,
    ),
    summaries=["after_test_error", "after_test_loss", "after_train_loss", "after_experts_used", "after_entropy"],
)

study.preset("quick", "8 replicates.", expected="2 to 4 minutes on 2 cores, idle to busy", replicates=8, block=1)

study.preset(
    "paper",
    "60 replicates: 20 left it open whether attention lowers the test loss.",
    expected="about 20 minutes on 2 cores",
    replicates=60,
    block=1,
)

for name, label, settings in [
    ("mot", "MoT, M = 8, rate 1", {}),
    ("mot-16", "MoT, M = 16, rate 1", dict(experts=16)),
    ("no-attention", "no attention, rate 1", dict(model="no-attention")),
    ("mot-fast", "MoT, rate 10", dict(tuning_rate=10.0)),
    ("no-attention-fast", "no attention, rate 10", dict(model="no-attention", tuning_rate=10.0)),
    ("multi-head", "multi-head, rate 1", dict(model="multi-head")),
    ("shared-attention", "shared attention, rate 1", dict(model="shared-attention")),
    ("joint", "joint training, rate 1", dict(training="joint")),
    ("long-stage1", "MoT, T1 doubled", dict(specialise_steps=4000)),
    ("short-stage1", "MoT, T1 halved", dict(specialise_steps=1000)),
    ("long-stage2", "MoT, T2 - T1 doubled", dict(attention_steps=800)),
]:
    study.arm(name, label, **settings)

# --- claims: the verdict says which rules were edited or added after the run ---
study.ours(
    "fig2-no-attention",
    "The MoT ends with a lower test error than the mixture without attention.",
    difference("after_test_error", "mot", at=dict(stage="III"), versus="no-attention").at_most(0.0, predicted="< 0"),
    dict(source=DATA_DEFINITION, group="better than without attention, on the data of the theory", level=0.9833),
)
study.ours(
    "fig2-no-attention-loss",
    "The MoT ends with a lower test loss than the mixture without attention.",
    log_ratio("after_test_loss", "mot", at=dict(stage="III"), versus="no-attention").at_most(0.0, predicted="< 0"),
    dict(group="attention helps a mixture, after the stages I and II reached here", scale="reduced", level=0.9833),
    source="ours, on MT Lemma 1, Section 5.2: sigma_0 = 3, eta_r = 10^5 eta",
)
study.ours(
    "fig2-no-attention-fast",
    "The MoT ends with a lower test loss than the mixture without attention with both at rate 10, where neither "
    "is stopped too early.",
    log_ratio("after_test_loss", "mot-fast", at=dict(stage="III"), versus="no-attention-fast").at_most(
        0.0, predicted="< 0"
    ),
    dict(group="attention helps a mixture, after the stages I and II reached here", scale="reduced", level=0.9833),
    source="ours, on MT Lemma 1, Section 5.2: sigma_0 = 3, eta_r = 10^5 eta",
)
study.ours(
    "fig2-multi-head",
    "The MoT ends with a lower test error than the multi-head transformer.",
    difference("after_test_error", "mot", at=dict(stage="III"), versus="multi-head").at_most(0.0, predicted="< 0"),
    dict(source=DATA_DEFINITION, group="better than one transformer, on the data of the theory", level=0.9833),
)
study.ours(
    "fig2-multi-head-loss",
    "The MoT with the stage I reached here ends with a lower test loss than the multi-head transformer.",
    log_ratio("after_test_loss", "mot", at=dict(stage="III"), versus="multi-head").at_most(0.0, predicted="< 0"),
    dict(group="ahead of the multi-head transformer, after the stages I and II reached here", scale="reduced"),
    source="ours, on MT Section 5.2: sigma_0 = 3, eta_r = 10^5 eta",
    level=0.9833,
)
study.ours(
    "fig2-fewer-experts",
    "Fewer experts learn faster: M = 8 has a lower test loss than M = 16 at the end.",
    log_ratio("after_test_loss", "mot", at=dict(stage="III"), versus="mot-16").at_most(0.0, predicted="< 0"),
    dict(group="fewer experts are faster, on the data of the theory", level=0.9833),
    source="ours, on MT Section 6, Fig. 2b: on the data of Definition 1",
)
study.ours(
    "fig4",
    "The MoT ends with a lower test error than experts behind one shared attention.",
    difference("after_test_error", "mot", at=dict(stage="III"), versus="shared-attention").at_most(
        0.0, predicted="< 0"
    ),
    dict(group="better than shared attention, on the data of the theory", level=0.9833),
    source="ours, on MT B.3, Fig. 4: on the data of Definition 1",
)
study.ours(
    "fig5",
    "Three-stage training ends with a lower test error than joint training.",
    difference("after_test_error", "mot", at=dict(stage="III"), versus="joint").at_most(0.0, predicted="< 0"),
    dict(group="stages help, on the data of the theory", level=0.9833),
    source="ours, on MT B.3, Fig. 5: on the data of Definition 1",
)
# This was the paper's, "test errors within 0.01 of each other"; with errors of 0.0075 and 0.0001 it could hardly
# fail. By the test loss it can, but Fig. 5 prints errors, of images: the paper's statement is judged in mot_images.
study.ours(
    "fig5-multi-head",
    "Joint training ends where the multi-head transformer does: test losses within a factor of 1.5.",
    log_ratio("after_test_loss", "joint", at=dict(stage="III"), versus="multi-head").equivalent(0.405, predicted=0),
    dict(group="joint training is one transformer, by the test loss", level=0.9833),
    source="ours, on MT B.3, Fig. 5: by the test loss",
)
study.ours(
    "fig2-stage-two",
    "The MoT is ahead of the multi-head transformer from the middle of stage II on: its test error is lower at T2.",
    difference("after_test_error", "mot", at=dict(stage="II"), versus="multi-head").at_most(0.0, predicted="< 0"),
    dict(source=DATA_DEFINITION, group="ahead in stage II, on the data of the theory", level=0.9833),
)
study.ours(
    "fig6",
    "Three-stage training routes more purely than joint training: more samples of the commonest class at their expert.",
    difference("after_purity", "mot", at=dict(stage="III"), versus="joint").at_least(0.0, predicted="> 0"),
    dict(group="stages specialise, on the data of the theory", level=0.9833),
    source="ours, on MT B.3, Fig. 6: on the data of Definition 1",
)
# B.3 explains Fig. 5 by a router that stays random; chance is 0.25 with four classes. Came after the run, its mean
# known
study.ours(
    "fig5-random",
    "After joint training the routing is near random: at most 0.35 of an expert's samples are of its commonest "
    "class, by chance 0.25.",
    mean("after_purity", "joint", at=dict(stage="III")).at_most(0.35, predicted="near 0.25"),
    dict(group="joint training leaves the routing random, on the data of the theory", level=0.9833),
    source="ours, on MT B.3, Fig. 5: on the data of Definition 1",
)
# came after the run, its mean known
study.ours(
    "routing-alike",
    "After stage I the mixture without attention routes as the MoT does: the shares of samples at an expert of "
    "their class are within 0.02 of each other.",
    difference("after_matched", "no-attention", at=dict(stage="I"), versus="mot").equivalent(0.02, predicted=0),
    dict(source="ours, on MT Appendix G: sigma_0 = 3, eta_r = 10^5 eta", scale="reduced", level=0.9833),
)
# the rule was "changes the test error by at most 0.01" until after the run: the errors themselves are no larger.
# Halving T1 (5.1: "a broad range of choices") was run from the first and had no claim
study.ours(
    "fig13-t1",
    "Doubling T1 changes the final test loss by at most a factor of 1.5.",
    log_ratio("after_test_loss", "long-stage1", at=dict(stage="III"), versus="mot").equivalent(
        0.405, predicted="marginal"
    ),
    dict(source="ours, on MT B.3, Fig. 13: on the data of Definition 1", group=STAGE_LENGTHS_HARDLY, level=0.9833),
)
study.ours(
    "fig13-t1-half",
    "Halving T1 changes the final test loss by at most a factor of 1.5.",
    log_ratio("after_test_loss", "short-stage1", at=dict(stage="III"), versus="mot").equivalent(
        0.405, predicted="marginal"
    ),
    dict(group=STAGE_LENGTHS_HARDLY, level=0.9833),
    source="ours, on MT Section 5.1 (after Prop. 2), B.3: on the data of Definition 1",
)
study.ours(
    "fig13-t2",
    "Doubling T2 - T1 changes the final test loss by at most a factor of 1.5.",
    log_ratio("after_test_loss", "long-stage2", at=dict(stage="III"), versus="mot").equivalent(
        0.405, predicted="marginal"
    ),
    dict(source="ours, on MT B.3, Fig. 13: on the data of Definition 1", group=STAGE_LENGTHS_HARDLY, level=0.9833),
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"fig13-t1": "supported", "fig13-t2": "supported"},
    "Doubling a stage length changes the final test loss by less than a factor of 1.5, as Fig. 13 says of the error.",
)
study.finding({"fig2-no-attention-loss": "inconclusive"}, "Whether attention lowers the test loss is not decided.")
study.finding(
    {"fig2-no-attention-loss": "supported", "fig2-no-attention-fast": "inconclusive"},
    "The mixture without attention ends with the higher test loss, but whether it was stopped too early is not "
    "decided.",
)
study.finding(
    {"fig5-multi-head": "not supported"},
    "By the test loss joint training does not end where the multi-head transformer does.",
)
study.finding(
    {"fig2-multi-head-loss": "not supported"},
    "The multi-head transformer without a router ends with the lower test loss.",
)
study.finding(
    dict(fig4="inconclusive", fig5="inconclusive"),
    "Shared attention and joint training do not differ from the three-stage MoT beyond the spread of the replicates.",
)

study.figure(
    kind="lines",
    title="Test error and test loss of the MoT and its rivals",
    x="epoch",
    xlabel="steps",
    logy=False,
    panels=[
        dict(title="test error", arms=ARMS, variable="test_error", ylabel="test error"),
        dict(title="test loss", arms=ARMS, variable="test_loss", ylabel="test loss"),
    ],
    options=dict(share_y=False),
    caption="As Figs. 2, 4 and 5 of the paper, on the data of its theory. Means over replicates with 95 % "
    "intervals; stage I ends at 2000 steps, stage II at 2400.",
)

study.figure(
    "log",
    kind="lines",
    title="Losses on logarithmic axes",
    x="epoch",
    xlabel="steps",
    panels=[
        dict(title="test loss", arms=ARMS, variable="test_loss", ylabel="test loss"),
        dict(title="training loss", arms=ARMS, variable="train_loss", ylabel="training loss"),
    ],
    options=dict(share_y=False),
    caption="Geometric means over replicates with 95 % intervals.",
)

study.figure(
    "lengths",
    kind="lines",
    title="Lengths of the stages (Fig. 13)",
    x="epoch",
    xlabel="steps",
    logx=False,
    columns=1,
    panels=[
        dict(
            title="test loss",
            arms=["mot", "long-stage1", "short-stage1", "long-stage2"],
            variable="test_loss",
            ylabel="test loss",
        )
    ],
    caption="Geometric means over replicates with 95 % intervals.",
)

study.figure(
    "routing",
    kind="heatmap",
    title="Who gets which class at the end (first replicate; Fig. 6)",
    x="expert",
    xlabel="expert",
    y="class",
    columns=3,
    panels=[
        dict(arms=["mot", "mot-16", "joint"], variable=variable, ylabel=ylabel, note=note)
        for variable, ylabel, note in [
            ("after_dispatch", "share of the class", "own class: {after_matched:.0%}"),
            ("after_on_labels", "<W, v_n>", ""),
        ]
    ],
    options=dict(
        at=dict(stage="III", replicate=0),
        origin="upper",
        after_dispatch=dict(share="class", vmin=0, vmax=1),
    ),
    caption="One run each, as an example. Above: shares of each class's test samples at the experts; below: <W, v_n>.",
)
