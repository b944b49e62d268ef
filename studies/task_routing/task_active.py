"""Fewer active parameters at the same accuracy? (task-routing, sections 6.4 and 7).

Section 6.4 concludes from Table 1 that routing by task can reduce the active parameters while the performance stays.
The table has no model in which as many parameters are all active; here is one. *Router*: five experts of 10 neurons
with the router loss, of which a token uses one. *Dense, 50*: one expert as large as all five. *Dense, 10*: one as large
as the active one. Attention, embeddings and output layer are active in every model and counted in none. All else is as
in the study task_routing: 10 tasks, paired data, starts and batches, synthetic knowledge in place of WikiData5M.

Where *dense, 10* is as good as *dense, 50*, fewer active neurons are due to the task being small, not to routing.
"""

from moestat import Study
from moestat.study.rules import difference

study = Study(
    "Does task routing do with fewer active parameters what a dense layer does with all?",
    paper="task-routing",
    source="TR sections 6.4 and 7",
    question="With the router loss a token uses one expert of five. Is the accuracy that of a layer in which "
    "all of these neurons are active?",
    experiment="task_training",
    seed=20261203,
    scale="stand-in",
    summaries=["accuracy", "mutual_information", "routed_as_asked", "train_loss"],
)

study.preset(
    "quick", "Smaller tables.", expected="about a minute on 2 cores", replicates=3, settings=dict(pairs=60), block=1
)
study.preset("paper", "Tables of 200 pairs, 8 seeds.", expected="about 20 minutes on 2 cores", replicates=8, block=1)

study.arm("router", "router, 10 of 50 active", experts=5, loss="router")
study.arm("dense-50", "dense, 50", experts=1, hidden=50)
study.arm("dense-10", "dense, 10", experts=1, hidden=10)

study.claim(
    "maintained",
    "With a fifth of the neurons active, by task-specific routing, the accuracy is that of a dense layer in "
    "which all are: within 3 points, or better.",
    difference("accuracy", "router", versus="dense-50").at_least(-0.03, predicted=">= 0"),
    source="TR section 6.4",
    because="the results 'suggest' that routing reduces the active parameter count at the same performance; "
    "Table 1 has no layer in which as many are all active",
)
study.claim(
    "better-than-small",
    "With as many active neurons, routing among five experts has a higher accuracy than one expert.",
    difference("accuracy", "router", versus="dense-10").at_least(0.0, predicted="+0.012"),
    source="TR Table 1: 10 tasks, five experts with the router loss against one",
    because="Table 1 prints 90.0 % against 88.8 %.",
)
study.ours(
    "room",
    "A dense layer of 50 neurons has a higher accuracy than one of 10, by more than 3 points.",
    difference("accuracy", "dense-50", versus="dense-10").at_least(0.03),
    source="ours: control of maintained: whether the task has use for more neurons",
)

study.figure(
    kind="lines",
    title="Accuracy by the neurons that a token can use",
    x="cut",
    xlabel="where the sentence was cut",
    logx=False,
    logy=False,
    panels=[dict(title="10 tasks", variable="accuracy_by_cut", ylabel="share of completions that are right")],
    options=dict(within=dict(accuracy_by_cut=[0, 1])),
    caption="start: before the subject; recall: the subject is shown and the object must be recalled; rest: "
    "after the object. Means and 95 % t-intervals over runs.",
)
