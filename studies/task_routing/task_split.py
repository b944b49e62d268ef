"""What is held out decides the accuracy: sentences or facts (task-routing, section 6.1)."""

from functools import partial

from moestat import Study
from moestat.study.rules import difference, mean

study = Study(
    "Held-out sentences or held-out facts?",
    paper="task-routing",
    source="TR section 6.1 (train-test split), Table 1",
    question="Does the accuracy of the paper measure recall of facts that were seen in other words, or of new ones?",
    experiment="task_training",
    seed=20260617,
    scale="stand-in",
    summaries=["accuracy", "mutual_information", "routed_as_asked", "train_loss"],
)

study.preset(
    "quick", "Smaller tables.", expected="about 70 s on 2 cores", replicates=3, settings=dict(pairs=60), block=1
)

study.preset("paper", "Tables of 200 pairs.", expected="about 8 minutes on 2 cores", replicates=5, block=1)

study.arm("sentences-ce", "sentences, CE")
study.arm("sentences-router", "sentences, CE + router", loss="router")
study.arm("pairs-ce", "pairs, CE", split="pairs")
study.arm("pairs-router", "pairs, CE + router", split="pairs", loss="router")

# --- claims: rules written before the run ---
study.claim(
    "sentences-level",
    "With held-out sentences at least 85 % of the completions are right.",
    mean("accuracy", "sentences-ce").at_least(0.85, predicted="0.897"),
    dict(source="TR Table 1, 10 tasks, 5 experts", group="table 1: accuracy at 10 tasks and 5 experts"),
    dict(printed=True, presets=["paper"]),
    because="Table 1 prints 89.7 %; 85 % leaves room for other seeds, and section 6.1 does not say what is held out",
)
ours = partial(study.ours, source="ours, for TR section 6.1")
ours(
    "pairs-level",
    "With held-out pairs the accuracy of the paper (86 to 92 %) is out of reach: at most 55 %.",
    mean("accuracy", "pairs-ce").at_most(0.55),
)
ours(
    "gap",
    "Held-out sentences are completed more often than held-out pairs, by 20 points or more.",
    difference("accuracy", "sentences-ce", versus="pairs-ce").at_least(0.2),
)
ours(
    "recall-seen",
    "An object that was seen in other words is recalled more often than not.",
    mean("accuracy_by_cut", "sentences-ce", at=dict(cut="recall")).at_least(0.5),
)
ours(
    "recall-new",
    "An object of a held-out pair is recalled at most one time in five.",
    mean("accuracy_by_cut", "pairs-ce", at=dict(cut="recall")).at_most(0.2),
)
study.ours(
    "router-sentences",
    "With held-out sentences the router loss is within 3 points of the cross-entropy, or better.",
    difference("accuracy", "sentences-router", versus="sentences-ce").at_least(-0.03),
    source="ours: TR section 6.4 at the cell that task_routing judges with more seeds, with other ones",
)
# It was implied by section 6.4 at first; since the runs it is ours: either loss recalls one object of twenty there,
# so that the accuracy is that of the cuts where no fact is needed, and says nothing of what routing costs.
study.ours(
    "router-pairs",
    "With held-out pairs the router loss is within 3 points of the cross-entropy, or better.",
    difference("accuracy", "pairs-router", versus="pairs-ce").at_least(-0.03),
    source="ours, on TR section 6.4: held-out pairs, whose objects no model recalls",
)
study.ours(
    "routing-new-facts",
    "With held-out pairs the router sends a token to the expert it was asked for, where the prefix tells the "
    "task, be it by a subject that was never seen.",
    mean("routed_as_asked", "pairs-router").at_least(0.9, predicted="1"),
    source="ours, on TR section 6.2, router loss: subjects that were never seen included",
    group="section 6.2: the router loss enforces routing of new facts",
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"gap": "supported", "recall-seen": "supported", "recall-new": "supported"},
    "The accuracy is one of facts that were seen in other words. Objects of held-out pairs are rarely recalled; "
    "what remains right are the cuts where no fact is needed.",
)
study.finding(
    {"gap": "supported", "pairs-level": "supported"},
    "With held-out pairs of this synthetic knowledge the accuracies that the paper prints are out of reach, "
    "which speaks for held-out sentences.",
)
study.finding(
    {"pairs-level": "inconclusive"},
    "How far held-out pairs stay below the accuracies of the paper is not decided by so few runs.",
)
study.finding(
    {"routing-new-facts": "supported"},
    "Routing carries over to facts that were never seen, since the template tells the task.",
)
study.finding(
    {"routing-new-facts": "not supported"},
    "Routing carries over to new facts as far as the template tells the task: a subject that was never seen "
    "says nothing about it, and some templates begin alike.",
)

# --- figures ---
study.figure(
    kind="lines",
    title="Accuracy by what is held out and where the sentence is cut",
    x="cut",
    xlabel="where the sentence was cut",
    logx=False,
    logy=False,
    panels=[
        dict(title="10 tasks, 5 experts", variable="accuracy_by_cut", ylabel="share of completions that are right")
    ],
    options=dict(within=dict(accuracy_by_cut=[0, 1])),
    caption="start: before the subject; recall: the subject is shown and the object must be recalled; rest: "
    "after the object. Means and 95 % t-intervals over runs.",
)
