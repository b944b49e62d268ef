"""Representation collapse, and one coin for all layers or one for each (compete-smoe, sections 1 and 3.3)."""

from moestat import Study
from moestat.study.rules import difference, mean

study = Study(
    "Do experts become alike, and does competition keep them apart?",
    paper="compete-smoe",
    source="CS sections 1 and 3.3",
    question="Representation collapse is what CompeteSMoE is for: all experts converge to similar "
    "representations. Do they, in SMoE, and less so with competition? And is a coin for each layer better than "
    "one for all?",
    experiment="compete_collapse",
    seed=20261205,
    scale="stand-in",
    summaries=["bpc", "likeness", "grown", "usage_entropy", "together"],
)

study.preset(
    "quick",
    "83 thousand weights on nineteen plays: 400 steps of 16 windows of 32 characters, 8 seeds.",
    expected="about a minute on 2 cores",
    replicates=8,
    settings=dict(blocks=2, width=32, length=32, batch=16, steps=400, every=80, validation=8192, test=32_768),
    block=1,
)

study.preset(
    "trained",
    "The model and the seeds of quick, ten times the steps: 4000 of 16 windows of 32 characters.",
    expected="about 10 minutes on 2 cores",
    replicates=8,
    settings=dict(blocks=2, width=32, length=32, batch=16, steps=4000, every=400, validation=8192, test=32_768),
    block=1,
)

study.preset(
    "long",
    "Half a million weights on nineteen plays: 3000 steps of 16 windows, 3 million characters, 8 seeds.",
    expected="estimated, from compete_significance, at an hour on 2 cores",
    replicates=8,
    settings=dict(size="micro", steps=3000, every=250),
    block=1,
)

study.preset(
    "paper",
    "The paper's size (tiny), windows of 512, batches of 48, 60 000 steps; on the plays unless `file` is enwik8.",
    expected="not measured; estimated at 4 to 8 hours on one GPU",
    replicates=5,
    settings=dict(size="tiny", steps=60_000, batch=48, rate=0.0007, warmup=0.05, every=1000, validation=0),
    block=1,
)

study.arm("smoe", "SMoE", router="smoe")
study.arm("compete-smoe", "CompeteSMoE", router="compete_smoe")
study.arm("compete-winners", "CompeteSMoE, winners' output", router="compete_smoe", competition_output="competition")
study.arm(
    "shared-winners", "the same, shared coin", router="compete_smoe", competition_output="competition", coin="shared"
)

# --- claims: the verdict says which rules were edited or added after the run ---
study.ours(
    "collapse",
    "The training of SMoE makes its experts more alike: the mean cosine of two experts' outputs is higher at "
    "its end than at its start.",
    mean("grown", "smoe").at_least(0.0),
    source="ours, on CS section 1: experts that were drawn independently begin at 0, and anything they share raises it",
)
# added after the runs of quick and trained, where experts had become more alike and were far from alike
study.ours(
    "collapsed",
    "The experts of SMoE end up alike: the mean cosine of two experts' outputs is at least 0.5.",
    mean("likeness", "smoe").at_least(0.5),
    source="ours, on CS section 1: how far",
)
study.claim(
    "less-alike",
    "The experts of CompeteSMoE are less alike than those of SMoE, where the router's output counts in a step "
    "that competes.",
    difference("likeness", "compete-smoe", versus="smoe").at_most(0.0, predicted="< 0"),
    dict(source="CS abstract, section 1: representation collapse", group="competition-keeps-experts-apart"),
    because="Competition is to address the collapse, which section 1 describes as experts that learn similar "
    "representations: they must be less alike than those of SMoE.",
)
study.ours(
    "less-alike-winners",
    "The experts of CompeteSMoE are less alike than those of SMoE, where the winners' output counts in a step "
    "that competes.",
    difference("likeness", "compete-winners", versus="smoe").at_most(0.0),
    source="ours, for CS abstract, section 1: representation collapse; section 3.1 for the output",
    group="competition-keeps-experts-apart",
)
study.ours(
    "own-coins-loss",
    "With a coin for each layer the loss is lower than with one coin for all.",
    difference("bpc", "compete-winners", versus="shared-winners").at_most(0.0),
    source="ours, for CS section 3.3: section 3.1 for the output",
)
study.ours(
    "own-coins-alike",
    "With a coin for each layer the experts are less alike than with one coin for all.",
    difference("likeness", "compete-winners", versus="shared-winners").at_most(0.0),
    source="ours, for CS section 3.3: section 3.1 for the output",
)
study.ours(
    "coins-matter-little",
    "Whether each layer has its coin or all share one changes the loss by at most 0.01 bits.",
    difference("bpc", "compete-winners", versus="shared-winners").equivalent(0.01),
    source="ours, for CS section 3.3",
)

study.finding(
    dict(collapse="supported", collapsed="not supported"),
    "Experts become more alike in the training, but stay far from alike.",
)
study.finding(
    {"collapse": "supported", "less-alike-winners": "supported"},
    "Experts become alike in the training, and less so with competition.",
)
study.finding(
    {"collapse": "supported", "less-alike-winners": "not supported"},
    "Experts become alike in the training, and more so with competition.",
)
study.finding(
    dict(collapse="not supported"),
    "The experts of SMoE do not become alike in this training: there is no collapse of that kind to address.",
)

# --- figures ---
study.figure(
    kind="lines",
    title="How alike the experts of a layer are",
    x="layer",
    xlabel="SMoE layer",
    logx=False,
    logy=False,
    panels=[dict(title="after the training", variable="alike", ylabel="mean cosine of two experts")],
    caption="Mean cosine of the outputs of two experts of a layer, over the test text. Means and 95 % "
    "t-intervals over seeds.",
)
