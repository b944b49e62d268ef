"""Which expert recall hangs on: recall with single experts silent (task-routing, sections 6.3 and 7).

The paper concludes that "task-level routing encourages specialized experts to store knowledge". The models are those of
the study task_routing: 10 tasks, 5 experts, synthetic knowledge in place of WikiData5M. Test sentences are cut just
before the object, the subject shown. Then one expert is silenced, its routing left as it is: the *own* one of a task,
to which most of these cuts go, each of the *others* in turn, or *all*.

A silent expert also takes away what it adds to every token of the task, a constant that is no fact: what is lost is an
upper bound on what that expert alone stores. So it is also put *at its mean* over the training cuts of the task. With
every loss recall hangs on the own expert; the claims compare by how much. A part of the difference is that with the
router loss more of a task goes to one expert (*own_share*); the controls divide by it.
"""

from moestat import Study
from moestat.study.rules import difference, function

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

for tag, arm, other in [("ce", "ce", "the cross-entropy alone"), ("balance", "load-balance", "load balancing")]:
    for suffix, variable, what, because in [
        (
            "",
            "own_loss",
            "silencing the own expert costs more than silencing another",
            "where task-level routing makes experts store facts, more recall hangs on one",
        ),
        (
            "-by-mean",
            "own_loss_mean",
            "putting the own expert at its mean costs more than another",
            "an expert that stores facts adds something of each subject, which its mean over the task does not hold",
        ),
    ]:
        study.claim(
            f"more-than-{tag}{suffix}",
            f"What {what} is more with the router loss than with {other}.",
            difference(variable, "router", versus=arm).at_least(0.0, predicted="> 0"),
            source="TR section 7, section 6.3",
            because=f"{because}; part of the difference is that more of a task goes to one expert",
        )
    study.ours(
        f"more-for-its-share-than-{tag}",
        "For the share of a task's cuts that its own expert gets, silencing it costs more with the router loss than "
        f"with {other}.",
        function(
            "studies.task_routing.parts.rules:gap_for_its_share",
            "own_loss",
            "router",
            versus=arm,
            options=dict(share="own_share"),
        ).at_least(0.0),
        source=f"ours: control of more-than-{tag}: over the share of the task that its own expert gets",
    )

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
    "other: each of the others in turn; all: attention and output layer alone. Means and 95 % t-intervals over runs.",
)
