"""Which expert recall hangs on: recall with single experts silent (task-routing, sections 6.3 and 7)."""

from functools import partial

from moestat import Study
from moestat.study.rules import difference, function, log_ratio, mean

WHERE_TASK_LEVEL = (
    "where task-level routing makes experts store facts, more recall hangs on one; part of the difference is "
    "that more of a task goes to one expert"
)
EXPERT_STORES_FACTS = (
    "an expert that stores facts adds something else for each subject, which its mean over the task does not "
    "hold; part of the difference is that more of a task goes to one expert"
)
GAP_FOR_ITS_SHARE = "studies.task_routing.parts.rules:gap_for_its_share"

study = Study(
    "Do specialised experts store the knowledge of their tasks?",
    paper="task-routing",
    source="TR sections 6.3 and 7",
    question="With the router loss, are the facts of a task lost where its own expert is silent, and with the "
    "cross-entropy less so?",
    experiment="task_knockout",
    seed=20261126,
    scale="stand-in",
    summaries=["recall", "recall_mean", "own_loss", "own_loss_mean", "own_share", "train_loss"],
)

study.preset(
    "quick", "Smaller tables.", expected="about 80 s on 2 cores", replicates=3, settings=dict(pairs=60), block=1
)

study.preset("paper", "Tables of 200 pairs.", expected="about 14 minutes on 2 cores", replicates=5, block=1)

study.arm("ce", "CE")
study.arm("load-balance", "CE + load balance", loss="load_balance")
study.arm("router", "CE + router", loss="router")

# --- claims: rules written before the run, after one trial of one seed with tables of 60 pairs ---
study.ours(
    "own-expert",
    "With the router loss recall of a task's objects hangs on its own expert: it is lower where that is silent "
    "than where another one is.",
    mean("own_loss", "router").at_least(0.0),
    source="ours, on TR section 7: what the other losses have, too",
)
study.ours(
    "own-expert-ce",
    "With the cross-entropy alone recall of a task's objects is lower, too, where its own expert is silent than "
    "where another one is.",
    mean("own_loss", "ce").at_least(0.0),
    source="ours, on TR section 7: that the other losses have it, too",
)
study.ours(
    "own-expert-balance",
    "With load balancing recall of a task's objects is lower, too, where its own expert is silent than where "
    "another one is.",
    mean("own_loss", "load-balance").at_least(0.0),
    source="ours, on TR section 7: that the other losses have it, too",
)
claim = partial(study.claim, source="TR section 7, section 6.3")
claim(
    "more-than-ce",
    "What silencing the own expert costs more than silencing another is more with the router loss than with the "
    "cross-entropy alone.",
    difference("own_loss", "router", versus="ce").at_least(0.0, predicted="> 0"),
    dict(because=WHERE_TASK_LEVEL, group="section 7: task-level routing encourages it"),
)
claim(
    "more-than-balance",
    "What silencing the own expert costs more than silencing another is more with the router loss than with "
    "load balancing.",
    difference("own_loss", "router", versus="load-balance").at_least(0.0, predicted="> 0"),
    dict(because=WHERE_TASK_LEVEL, group="section 7: task-level routing encourages it"),
)
# By the mean: written before any run that has it, with the numbers of silencing known.
claim(
    "more-than-ce-by-mean",
    "What putting the own expert at its mean costs more than another is more with the router loss than with the "
    "cross-entropy alone.",
    difference("own_loss_mean", "router", versus="ce").at_least(0.0, predicted="> 0"),
    dict(because=EXPERT_STORES_FACTS, group="section 7: task-level routing encourages it, by the mean"),
)
claim(
    "more-than-balance-by-mean",
    "What putting the own expert at its mean costs more than another is more with the router loss than with "
    "load balancing.",
    difference("own_loss_mean", "router", versus="load-balance").at_least(0.0, predicted="> 0"),
    dict(because=EXPERT_STORES_FACTS, group="section 7: task-level routing encourages it, by the mean"),
)
ours = partial(study.ours, source="ours, on TR section 7: what an expert stores beside a constant")
ours(
    "own-expert-by-mean",
    "With the router loss recall of a task's objects is lower where its own expert is at its mean over the task "
    "than where another one is.",
    mean("own_loss_mean", "router").at_least(0.0),
)
ours(
    "half-by-mean",
    "With the router loss at least half of the recall is gone where the own expert is at its mean over the task "
    "(log ratio).",
    log_ratio("recall_mean", "router", at=dict(silent="own"), versus_at=dict(silent="none")).at_most(-0.693147),
)
ours(
    "constant",
    "With the router loss silencing the own expert costs more recall than putting it at its mean over the task: "
    "a part of it is a constant.",
    difference(
        "recall_mean", "router", at=dict(silent="own"), versus_variable="recall", versus_at=dict(silent="own")
    ).at_least(0.0),
)
# How much of that difference is concentration: added after the runs.
study.ours(
    "more-for-its-share-than-ce",
    "For the share of a task's cuts that its own expert gets, silencing it costs more with the router loss than "
    "with the cross-entropy alone.",
    function(GAP_FOR_ITS_SHARE, "own_loss", "router", versus="ce", options=dict(share="own_share")).at_least(0.0),
    source="ours, on TR section 7: what is lost over the share of the task that its own expert gets",
)
study.ours(
    "more-for-its-share-than-balance",
    "For the share of a task's cuts that its own expert gets, silencing it costs more with the router loss than "
    "with load balancing.",
    function(GAP_FOR_ITS_SHARE, "own_loss", "router", versus="load-balance", options=dict(share="own_share")).at_least(
        0.0
    ),
    source="ours, on TR section 7: what is lost over the share of the task that its own expert gets",
)
study.ours(
    "half",
    "With the router loss at least half of the recall is gone where the own expert is silent (log ratio).",
    log_ratio("recall", "router", at=dict(silent="own"), versus_at=dict(silent="none")).at_most(-0.693147),
    source="ours, on TR section 7",
)
study.ours(
    "others-idle",
    "With the router loss silencing another expert than the own one costs at most two points of recall.",
    difference("recall", "router", at=dict(silent="other"), versus_at=dict(silent="none")).at_least(-0.02),
    source="ours, on TR section 7",
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"own-expert": "supported", "more-than-ce": "supported"},
    "With the router loss recall of a task hangs on its own expert, more than with the cross-entropy alone: at "
    "most that much is stored there.",
)
study.finding(
    {"own-expert-ce": "supported", "own-expert-balance": "supported"},
    "That recall hangs on the own expert at all is so with every loss; the difference between the losses is "
    "what task-level routing adds.",
)
study.finding(
    {"more-than-ce-by-mean": "supported", "more-than-balance-by-mean": "supported"},
    "So it is where experts are put at their mean over the task, which takes away what differs from subject to "
    "subject and nothing else.",
)
study.finding(
    dict(half="not supported"),
    "More than half of the recall is left without the own expert: much of what the model knows is in its "
    "attention and output layer.",
)
study.finding(
    dict(half="supported"),
    "More than half of the recall goes with the own expert, so that at most that is stored there; what is left "
    "is stored elsewhere.",
)

# --- figures ---
study.figure(
    kind="lines",
    title="Objects that are recalled without experts: 10 tasks, 5 experts",
    x="silent",
    xlabel="which experts",
    logx=False,
    logy=False,
    panels=[
        dict(title="silent", variable="recall", ylabel="share of objects named"),
        dict(title="at their mean over the task", variable="recall_mean", ylabel="share of objects named"),
    ],
    options=dict(within=dict(recall=[0, 1], recall_mean=[0, 1])),
    caption="Test sentences cut just before the object. own: the expert that most cuts of the task go to; "
    "other: each of the others in turn; all: attention and output layer alone. Left: experts silenced; right: "
    "put at their mean over the training cuts of the task. Means and 95 % t-intervals over runs.",
)
