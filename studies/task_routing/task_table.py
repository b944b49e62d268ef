"""The sentences of section 6.4 beside Table 1 (task-routing)."""

from moestat import Study
from moestat.study.rules import function

READ_MORE_HALF = (
    "ours: TR section 6.4 read as of more than half of the cells of Table 1, which a random deal of it passes, too"
)
DEALT = "studies.task_routing.parts.rules:dealt"
NEARER_IN_CELLS = "studies.task_routing.parts.rules:nearer_in_cells"
GAIN = "moestat.claims.printed:gain"

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
        rows=["CE", "CE + router", "CE + load balancing"],
        columns=["1 expert", "3 experts", "5 experts", "7 experts", "9 experts"],
        better="higher",
    ),
)

study.preset("quick", "The printed numbers.", expected="about 5 s", replicates=1)

study.arm(
    "tasks-10",
    "10 tasks",
    values=[[88.8, 89.7, 89.7, 87.5, 88.7], [88.8, 90.7, 90.0, 88.7, 90.1], [88.8, 89.4, 88.6, 88.4, 88.1]],
)
study.arm(
    "tasks-20",
    "20 tasks",
    values=[[87.6, 89.4, 88.7, 89.6, 86.9], [87.6, 90.2, 90.0, 91.2, 90.7], [87.6, 89.7, 88.5, 90.1, 87.5]],
)
study.arm(
    "tasks-30",
    "30 tasks",
    values=[[86.3, 88.5, 88.2, 88.6, 88.8], [86.3, 88.4, 88.6, 89.9, 90.8], [86.3, 87.0, 87.9, 88.9, 89.5]],
)
study.arm(
    "tasks-40",
    "40 tasks",
    values=[[88.8, 89.1, 90.8, 90.1, 90.9], [88.8, 89.6, 91.3, 89.7, 92.4], [88.8, 88.3, 90.2, 89.5, 90.9]],
)

# --- section 6.4 ---
study.ours(
    "no-degradation",
    "Enforcing task-specific routing does not degrade the accuracy: it is nowhere more than 3 points behind the "
    "cross-entropy.",
    function(
        DEALT,
        "printed",
        options=dict(
            rule="lead",
            cells=["3 experts", "5 experts", "7 experts", "9 experts"],
            lower=dict(row="CE", column=["3 experts", "5 experts", "7 experts", "9 experts"]),
            higher=dict(row="CE + router", column=["3 experts", "5 experts", "7 experts", "9 experts"]),
        ),
    ).at_least(-3.0),
    source="ours: TR section 6.4 read as three points in Table 1, which a random deal of it passes, too",
)
study.ours(
    "comparable",
    "As the number of tasks and experts varies, the three variants achieve comparable accuracy in most settings "
    "(share of cells in which they are within 3 points).",
    function(
        DEALT,
        "printed",
        options=dict(
            rule="spread",
            cells=["3 experts", "5 experts", "7 experts", "9 experts"],
            columns=["3 experts", "5 experts", "7 experts", "9 experts"],
            limit=3.0,
        ),
    ).at_least(0.501),
    source="ours: TR section 6.4 and Fig. 3, caption, read as three points in most cells of Table 1, which a "
    "random deal of it passes, too",
)
study.ours(
    "comparable-everywhere",
    "In every cell the three variants are within 3 points (largest spread).",
    function(
        "studies.task_routing.parts.rules:printed_spread",
        "printed",
        options=dict(columns=["3 experts", "5 experts", "7 experts", "9 experts"]),
    ).at_most(3.0),
    source="ours: TR section 6.4 read as of every cell of Table 1",
)
study.ours(
    "nearer-in-cell",
    "The three variants of a cell are nearer to each other than those of unlike cells (p-value of the mean spread).",
    function(
        NEARER_IN_CELLS, "printed", options=dict(cells=["3 experts", "5 experts", "7 experts", "9 experts"], of="mean")
    ).at_most(0.05),
    source="ours: TR section 6.4 read as of the cells of Table 1 against each other, by their mean",
)
study.ours(
    "nearer-in-cell-largest",
    "The three variants of a cell are nearer to each other than those of unlike cells (p-value of the largest spread).",
    function(
        NEARER_IN_CELLS,
        "printed",
        options=dict(cells=["3 experts", "5 experts", "7 experts", "9 experts"], of="largest"),
    ).at_most(0.05),
    source="ours: TR section 6.4 read as of the cells of Table 1 against each other, by their largest",
)
study.ours(
    "typically-higher",
    "When more experts than one are present, the router loss typically has a higher accuracy than the "
    "cross-entropy alone.",
    function(
        DEALT,
        "printed",
        options=dict(
            rule="share",
            cells=["3 experts", "5 experts", "7 experts", "9 experts"],
            lower=dict(row="CE", column=["3 experts", "5 experts", "7 experts", "9 experts"]),
            higher=dict(row="CE + router", column=["3 experts", "5 experts", "7 experts", "9 experts"]),
        ),
    ).at_least(0.501),
    source=READ_MORE_HALF,
)
study.ours(
    "typically-higher-balance",
    "When more experts than one are present, the router loss typically has a higher accuracy than the load balancing.",
    function(
        DEALT,
        "printed",
        options=dict(
            rule="share",
            cells=["3 experts", "5 experts", "7 experts", "9 experts"],
            lower=dict(row="CE + load balancing", column=["3 experts", "5 experts", "7 experts", "9 experts"]),
            higher=dict(row="CE + router", column=["3 experts", "5 experts", "7 experts", "9 experts"]),
        ),
    ).at_least(0.501),
    source=READ_MORE_HALF,
)
study.claim(
    "higher-at-nine",
    "When more experts are present, at nine, the router loss has a higher accuracy than the cross-entropy "
    "alone, whatever the number of tasks.",
    function(
        DEALT,
        "printed",
        options=dict(
            rule="lead",
            cells=["3 experts", "5 experts", "7 experts", "9 experts"],
            lower=dict(row="CE", column="9 experts"),
            higher=dict(row="CE + router", column="9 experts"),
        ),
    ).at_least(1e-06, predicted="> 0"),
    source="TR section 6.4, Table 1",
    because="More experts is read as the largest number, and typically as whatever the number of tasks.",
)
study.claim(
    "higher-at-nine-balance",
    "When more experts are present, at nine, the router loss has a higher accuracy than the load balancing, "
    "whatever the number of tasks.",
    function(
        DEALT,
        "printed",
        options=dict(
            rule="lead",
            cells=["3 experts", "5 experts", "7 experts", "9 experts"],
            lower=dict(row="CE + load balancing", column="9 experts"),
            higher=dict(row="CE + router", column="9 experts"),
        ),
    ).at_least(1e-06, predicted="> 0"),
    source="TR section 6.4, Table 1",
    because="The sentence compares three variants; more experts is read as the largest number, and typically "
    "as whatever the number of tasks.",
)
study.ours(
    "mean-gain",
    "Averaged over all tasks and 3 to 9 experts the router loss is ahead of the cross-entropy alone.",
    function(
        GAIN,
        "printed",
        options=dict(
            lower=dict(row="CE", column=["3 experts", "5 experts", "7 experts", "9 experts"]),
            higher=dict(row="CE + router", column=["3 experts", "5 experts", "7 experts", "9 experts"]),
        ),
    ).at_least(0.0, predicted="> 0"),
    source="ours: the mean gap of TR Table 1",
)
study.ours(
    "mean-gain-balance",
    "Averaged over all tasks and 3 to 9 experts load balancing is not ahead of the cross-entropy alone.",
    function(
        GAIN,
        "printed",
        options=dict(
            lower=dict(row="CE", column=["3 experts", "5 experts", "7 experts", "9 experts"]),
            higher=dict(row="CE + load balancing", column=["3 experts", "5 experts", "7 experts", "9 experts"]),
        ),
    ).at_most(0.0),
    source="ours: the mean gap of TR Table 1",
)
study.ours(
    "one-expert",
    "With one expert and 10 tasks the three printed accuracies are equal.",
    function(
        "moestat.claims.printed:spread", "printed", options=dict(of=dict(arm="tasks-10", column="1 expert"))
    ).at_most(0.0, predicted="0"),
    source="check: with one expert the losses are one training",
)

study.figure(
    kind="heatmap",
    title="By how much each loss is behind the best of its column",
    x="column",
    xlabel=" ",
    y="row",
    panels=[
        dict(arms=["tasks-10"], variable="behind", ylabel="behind the best, %"),
        dict(arms=["tasks-20"], variable="behind", ylabel="behind the best, %"),
        dict(arms=["tasks-30"], variable="behind", ylabel="behind the best, %"),
        dict(arms=["tasks-40"], variable="behind", ylabel="behind the best, %"),
    ],
    options=dict(at=dict(replicate=0), origin="upper", digits=2, ylabel="loss"),
    caption="Table 1: accuracy of each loss less the best of its column, in per cent of that.",
)
