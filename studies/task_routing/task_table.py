"""Section 6.4 beside Table 1: is the router loss ahead where there are nine experts? (task-routing).

Nothing is run: the numbers are those of Table 1, each the mean of three runs, in per cent. The paper prints no errors,
so that the verdicts have no intervals. With one expert the three losses are one training. What the losses do in models
of this size is the matter of the study task_routing.
"""

from moestat import Study
from moestat.study.rules import function

LOSSES = ["CE", "CE + router", "CE + load balancing"]
TABLE = {  # tasks: a row for each loss, a column for 1, 3, 5, 7, 9 experts
    10: [[88.8, 89.7, 89.7, 87.5, 88.7], [88.8, 90.7, 90.0, 88.7, 90.1], [88.8, 89.4, 88.6, 88.4, 88.1]],
    20: [[87.6, 89.4, 88.7, 89.6, 86.9], [87.6, 90.2, 90.0, 91.2, 90.7], [87.6, 89.7, 88.5, 90.1, 87.5]],
    30: [[86.3, 88.5, 88.2, 88.6, 88.8], [86.3, 88.4, 88.6, 89.9, 90.8], [86.3, 87.0, 87.9, 88.9, 89.5]],
    40: [[88.8, 89.1, 90.8, 90.1, 90.9], [88.8, 89.6, 91.3, 89.7, 92.4], [88.8, 88.3, 90.2, 89.5, 90.9]],
}

study = Study(
    "Does Table 1 say what section 6.4 says of it?",
    paper="task-routing",
    source="TR section 6.4, Table 1",
    question="Section 6.4 compares three losses over tasks and experts, by pictures. Are its sentences true of "
    "the numbers that Table 1 prints?",
    experiment="moestat.printed",
    seed=20261202,
    scale="paper",
    settings=dict(
        rows=LOSSES, columns=["1 expert", "3 experts", "5 experts", "7 experts", "9 experts"], better="higher"
    ),
)
study.preset("quick", "The printed numbers.", expected="about 5 s", replicates=1)

for tasks, values in TABLE.items():
    study.arm(f"tasks-{tasks}", f"{tasks} tasks", values=values)

for tag, other, name in [("", "CE", "the cross-entropy alone"), ("-balance", "CE + load balancing", "load balancing")]:
    study.claim(
        f"higher-at-nine{tag}",
        f"When more experts are present, at nine, the router loss has a higher accuracy than {name}, "
        "whatever the number of tasks.",
        function(
            "moestat.claims.printed:lead",
            "printed",
            options=dict(lower=dict(row=other, column="9 experts"), higher=dict(row="CE + router", column="9 experts")),
        ).at_least(1e-06, predicted="> 0"),
        source="TR section 6.4, Table 1",
        because="the sentence compares three variants; more experts is read as the largest number, and typically as "
        "whatever the number of tasks",
    )

study.figure(
    kind="heatmap",
    title="By how much each loss is behind the best of its column",
    x="column",
    xlabel=" ",
    y="row",
    panels=[dict(arms=[f"tasks-{tasks}"], variable="behind", ylabel="behind the best, %") for tasks in TABLE],
    options=dict(at=dict(replicate=0), origin="upper", digits=2, ylabel="loss"),
    caption="Table 1: accuracy of each loss less the best of its column, in per cent of that.",
)
