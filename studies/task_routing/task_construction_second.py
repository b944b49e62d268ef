"""The weights of Theorems 4.1 and 4.2 on a second generator of sentences (task-routing).

The datasets of the study task_construction have a word of the relation before the object in every template. Here
sentences are as those of Figure 4 (parts/knowledge_second.py): tasks share beginnings and many subjects, and the
relation may be named after the object. A prefix is *told* where template and first entity leave no tasks but its own;
after "*A* has *B* as its" the object alone may tell the task, which the head for the subject does not see.

The theorems say that weights exist. Where ours fail nothing is decided, for others may do; two heads and a linear
router cannot do it for all tables (``arguments.py``, two-heads-object).
"""

from moestat import Study
from moestat.study.rules import function

study = Study(
    "The weights of the theorems on a second generator of sentences",
    paper="task-routing",
    source="TR Theorems 4.1 and 4.2",
    question="Do the weights of the theorems exist where relations may be named after the object?",
    experiment="task_construction",
    seed=20261128,
    scale="paper",
    grid=dict(size=["second-5x3x20", "second-10x5x50", "second-20x5x200"]),
    summaries=["prefixes", "patterns", "untold", "misrouted", "low_mass", "failing_share", "worst_mass"]
    + ["dimension_ratio", "width_ratio"],
)

study.preset("quick", "Two datasets of each size.", expected="about 20 s on 2 cores", replicates=2)
study.preset("paper", "Ten datasets of each size.", expected="about 90 s on 2 cores", replicates=10)

study.arm("moe", "Theorem 4.2", router="argmax")
study.arm("dense", "Theorem 4.1", theorem="dense", router="none")


def none(variable, arm, witness="failure"):
    """No prefix of it on any dataset; the first one is named."""
    return function("studies.task_routing.parts.rules:built", variable, arm, options=dict(witness=witness)).at_most(
        0, predicted="0 prefixes"
    )


SEEN = "that these weights fail after an object was seen on other draws of the generator before the rule was written"
for id, variable, arm, says, source in [
    (
        "moe-routing",
        "misrouted",
        "moe",
        "every prefix that one task generates is routed to that task's expert",
        "TR Thm 4.2, second bullet",
    ),
    (
        "moe-mass",
        "low_mass",
        "moe",
        "the valid next tokens have a probability above 1 - epsilon after every prefix",
        "TR Thm 4.2, third bullet",
    ),
    (
        "dense-mass",
        "low_mass",
        "dense",
        "the dense model gives the valid next tokens a probability above 1 - epsilon after every prefix",
        "TR Thm 4.1, third bullet",
    ),
]:
    study.claim(
        id,
        f"On sentences that may name their relation after the object weights with two heads exist for which {says}.",
        none(variable, arm),
        source=source,
        hindsight=SEEN,
    )
    study.claim(
        f"{id}-told",
        "On sentences that may name their relation after the object, but whose template and first entity tell the task "
        f"weights with two heads exist for which {says}.",
        none(f"{variable}_told", arm, witness=""),
        source=source,
        hindsight=SEEN,
    )

study.figure(
    kind="lines",
    title="Prefixes on which our weights fail",
    x="size",
    xlabel="tasks x templates x pairs",
    logx=False,
    logy=False,
    panels=[dict(title="Failing prefixes", variable="failing_share", ylabel="share of the prefixes checked")],
    options=dict(within=dict(failing_share=[0, 1])),
    caption="Means over datasets; prefixes that break a bullet, all of them after an object that alone tells the task.",
)
