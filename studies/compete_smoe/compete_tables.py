"""The sentences of CompeteSMoE beside its own tables (compete-smoe, sections 6.2 to 6.4, appendices C.4 and C.5).

Nothing is run: the numbers are those of the paper. A sentence about every method, data set or architecture is held
against every pair of numbers that it speaks of; means, standard deviations and the p-value are computed again. That a
table is as its text says is no evidence for the method, and that it is not is none against it: all claims are neutral.

SMoE of the tiny size is printed in Table 9 alone, as five runs of the Switch Transformer (1.310 to 1.333, on average
1.320), where Tables 4 and 5 have one run for each setting. Which of them sections 6.4.1 and 6.4.2 compare with they do
not say: the claims take the average; against the largest, which four runs of SMoE itself beat, they are ours. Of the
32 leads of CompeteSMoE in bits in Table 2, 13 are below 0.0127, a standard deviation of the difference of two single
runs.
"""

from moestat import Study
from moestat.study.rules import function

METHODS = ["CompeteSMoE", "SMoE", "SMoE-Fixed", "XMoE", "StableMoE"]
RIVALS = METHODS[1:]
SETS = ["enwik8 small", "enwik8 medium", "text8 small", "text8 medium", "Wiki small", "Wiki medium"]
ARCHITECTURES = ["switch", "glam"]

study = Study(
    "Do the printed tables say what the text says of them?",
    paper="compete-smoe",
    source="CS sections 6.2 to 6.4, C.4 and C.5; Tables 2 to 5, 9 and 10",
    question="The text draws its conclusions from five tables of language models, one of fine-tuning and one of "
    "entropies. Are the sentences true of the printed numbers?",
    experiment="moestat.printed",
    seed=20261201,
    scale="paper",
)
study.preset("quick", "The printed numbers.", expected="about 5 s", replicates=1)

# --- the tables ---
SWITCH = [
    [1.177, 1.115, 1.289, 1.22, 83.75, 31.299],
    [1.191, 1.13, 1.291, 1.231, 85.061, 34.145],
    [1.202, 1.138, 1.308, 1.237, 86.656, 35.392],
    [1.198, 1.126, 1.291, 1.244, 84.686, 34.322],
    [1.194, 1.124, 1.3, 1.238, 85.267, 34.179],
]
GLAM = [
    [1.175, 1.081, 1.281, 1.211, 54.38, 34.233],
    [1.186, 1.139, 1.286, 1.235, 54.856, 34.672],
    [1.191, 1.123, 1.308, 1.238, 57.284, 35.64],
    [1.187, 1.111, 1.289, 1.219, 55.618, 34.613],
    [1.189, 1.109, 1.291, 1.217, 54.73, 35.32],
]
FINE_TUNING = [
    [79.8, 38.3, 84.8, 72.9],
    [77.1, 35.1, 84.4, 69.2],
    [78.6, 34.4, 83.5, 66.7],
    [76.7, 35.3, 83.3, 67.4],
    [77.7, 34.3, 83.9, 60.8],
]
SCHEDULE = [[1.733, 1.33, 1.303, 1.31, 1.309], [1.587, 1.366, 1.298, 1.3, 1.294]]
BALANCE = [[1.306, 1.307, 1.303, 1.321, 1.328], [1.28, 1.285, 1.298, 1.304, 1.319]]
RUNS = [[1.303, 1.303, 1.307, 1.315, 1.304], [1.333, 1.322, 1.315, 1.32, 1.31]]
SUMMARY = [[1.306, 0.005, 0.13], [1.32, 0.009, 0.11]]
ENTROPY = [
    [0.3441, 0.4015, 0.5946, 0.681, 0.6081, 1.3636],
    [0.1158, 0.6411, 0.4247, 0.8331, 0.9701, 1.3681],
    [2.2473, 2.5103, 2.2579, 2.3565, 2.3181, 2.3947],
    [0.7618, 0.6792, 1.1808, 0.9822, 0.8439, 1.4097],
    [0.7657, 1.2659, 1.1378, 1.2, 1.4161, 1.8161],
]
AVERAGES = [0.6655, 0.7255, 2.3942, 0.9763, 1.2669]

models, pair = ["Switch Transformer", "GLaM"], METHODS[:2]
lambdas = [f"lambda = {value}" for value in (0.01, 0.03, 0.05, 0.07, 0.09)]
alphas = [f"alpha = {value}" for value in (0.1, 1, 5, 25, 250)]
tasks = ["SST-2", "SST-5", "IMDB", "BANKING77"]
study.arm("switch", "Table 2, Switch Transformer", rows=METHODS, columns=SETS, values=SWITCH)
study.arm("glam", "Table 2, GLaM", rows=METHODS, columns=SETS, values=GLAM)
study.arm("fine-tuning", "Table 3", better="higher", rows=METHODS, columns=tasks, values=FINE_TUNING)
study.arm("schedule", "Table 4", rows=models, columns=lambdas, values=SCHEDULE)
study.arm("balance", "Table 5", rows=models, columns=alphas, values=BALANCE)
study.arm("runs", "Table 9, runs", rows=pair, columns=[f"run {k}" for k in range(1, 6)], values=RUNS)
summary = ["average", "standard deviation", "hours per epoch"]
study.arm("runs-summary", "Table 9, summary", rows=pair, columns=summary, values=SUMMARY)
routers = [f"router {k}" for k in range(1, 7)]
study.arm("entropy", "Table 10, routers", rows=METHODS, columns=routers, values=ENTROPY)
column = [[value] for value in AVERAGES]
study.arm("entropy-average", "Table 10, average", rows=METHODS, columns=["average"], values=column)


def choice(arm, row=None, columns=None):
    """Numbers of a printed table: an arm or some, one row or some, one column or some."""
    return dict(arm=arm) | (dict(row=row) if row else {}) | (dict(column=columns) if columns else {})


# --- claims: some numbers are above all others ---
tiny, average, best = "Switch Transformer", choice("runs-summary", "SMoE", "average"), lambdas[2]
largest, both, others = choice("runs", "SMoE", "run 1"), summary[:2], lambdas[:2] + lambdas[3:]
LOWER_AND_HIGHER = {
    "best-everywhere": (choice(ARCHITECTURES, "CompeteSMoE"), choice(ARCHITECTURES, RIVALS), "section 6.2, Table 2"),
    "glam-everywhere": (choice("glam"), choice("switch"), "section 6.2, Table 2"),
    "best-fine-tuning": (choice("fine-tuning", RIVALS), choice("fine-tuning", "CompeteSMoE"), "section 6.3, Table 3"),
    "better-in-all-runs": (choice("runs", "CompeteSMoE"), choice("runs", "SMoE"), "appendix C.4, Table 9"),
    "smaller-deviation": (*(choice("runs-summary", row, both) for row in pair), "appendix C.4, Table 9"),
    "lowest-average-entropy": (
        *(choice("entropy-average", rows) for rows in (pair[0], RIVALS)),
        "appendix C.5, Table 10",
    ),
    "sparse-competition-degrades": (average, choice("schedule", tiny, lambdas[0]), "section 6.4.1, Tables 4 and 9"),
    "schedule-better-average": (choice("schedule", tiny, lambdas[1:]), average, "section 6.4.1, Tables 4 and 9"),
    "balance-better-average": (choice("balance", tiny), average, "section 6.4.2, Tables 5 and 9"),
    "schedule-best-switch": (
        *(choice("schedule", tiny, columns) for columns in (best, others)),
        "section 6.4.1, Table 4",
    ),
    "schedule-best-glam": (
        *(choice("schedule", "GLaM", columns) for columns in (best, others)),
        "section 6.4.1, Table 4",
    ),
    "schedule-better": (choice("schedule", tiny, lambdas[1:]), largest, "section 6.4.1, Tables 4 and 9"),
    "balance-better": (choice("balance", tiny), largest, "section 6.4.2, Tables 5 and 9"),
}
SAYS = {  # "In the printed ..."
    "best-everywhere": "Table 2 CompeteSMoE consistently outperforms the other competitors on all benchmarks and "
    "architectures.",
    "glam-everywhere": "Table 2, across all methods, the GLaM architecture offers better performances than the "
    "standard Switch Transformer on all datasets.",
    "best-fine-tuning": "Table 3 CompeteSMoE achieves the highest accuracy on all four fine-tuning data sets.",
    "better-in-all-runs": "Table 9 CompeteSMoE achieves better results than SMoE in all runs.",
    "smaller-deviation": "Table 9 CompeteSMoE has a better average and a smaller standard deviation than SMoE.",
    "lowest-average-entropy": "Table 10 CompeteSMoE has a lower average entropy of its routers than every other "
    "method.",
    "sparse-competition-degrades": "Tables 4 and 9 CompeteSMoE with lambda = 0.01 is worse than SMoE (Switch "
    "Transformer, against the average of five runs).",
    "schedule-better-average": "Tables 4 and 9, once the competition frequency is increased, CompeteSMoE consistently "
    "outperforms SMoE (Switch Transformer, lambda from 0.03 to 0.09, against the average of five runs).",
    "balance-better-average": "Tables 5 and 9 any alpha reported offers a better performance than SMoE (Switch "
    "Transformer, against the average of five runs).",
    "schedule-best-switch": "Table 4 lambda = 0.05 achieves the best performance, Switch Transformer.",
    "schedule-best-glam": "Table 4 lambda = 0.05 achieves the best performance, GLaM.",
    "schedule-better": "Tables 4 and 9 CompeteSMoE is better than the largest of five runs of SMoE at lambda from "
    "0.03 to 0.09 (Switch Transformer).",
    "balance-better": "Tables 5 and 9 CompeteSMoE is better than the largest of five runs of SMoE at every alpha "
    "reported (Switch Transformer).",
}
for claim, (lower, higher, where) in LOWER_AND_HIGHER.items():
    rule = function("moestat.claims.printed:lead", "printed", options=dict(lower=lower, higher=higher))
    whose = dict(source=f"CS {where}", bearing="neutral")
    if higher is largest:
        control = f"ours: control of {claim}-average, against the largest of five runs (CS {where})"
        whose = dict(source=control, origin="ours")
    predicted = {} if higher is largest else dict(predicted="> 0")
    study.claim(claim, f"In the printed {SAYS[claim]}", rule.at_least(1e-06, **predicted), whose)

# --- claims: shares and ratios; a mean over the columns of Table 2, bits and perplexities, is of per cents behind ---
for arm, architecture in zip(ARCHITECTURES, models, strict=True):
    study.claim(
        f"fixed-worst-mean-{arm}",
        "In the printed Table 2 SMoE-Fixed performs worst among all methods considered, on average over the columns, "
        f"{architecture} (in per cent behind the best of each column).",
        function(
            "studies.compete_smoe.parts.rules:lead_of_means", "behind", arm, options=dict(row="SMoE-Fixed")
        ).at_least(1e-06, predicted="> 0"),
        dict(source="CS section 6.2, Table 2", bearing="neutral"),
        because="The text says that it performs the worse among all methods considered; on average over the columns "
        "is our reading.",
    )
for claim, columns, said in [
    ("each-rival-medium", SETS[1::2], "of medium size"),
    ("each-rival-more-data", SETS[4:], "of WikiText-103, the larger set of data"),
]:
    options = dict(
        lower=choice(ARCHITECTURES, ["XMoE", "StableMoE"], columns), higher=choice(ARCHITECTURES, "SMoE", columns)
    )
    study.claim(
        claim,
        "In the printed Table 2 XMoE and StableMoE, each counted by itself, outperform SMoE in more than half of the "
        f"columns {said}.",
        function("moestat.claims.printed:share", "printed", options=options).at_least(0.501, predicted="> 0.5"),
        dict(source="CS section 6.2, Table 2", bearing="neutral"),
        because="The text says that they tend to; more than half of the pairs is our reading.",
    )
for claim, task, second in [("gain-sst5", "SST-5", "XMoE"), ("gain-banking77", "BANKING77", "SMoE")]:
    options = dict(of=choice("fine-tuning", "CompeteSMoE", task), to=choice("fine-tuning", second, task), unit=0.1)
    study.claim(
        claim,
        f"In the printed Table 3, on {task}, CompeteSMoE improves on the second best method by over 3 % (of its "
        "accuracy).",
        function("moestat.claims.printed:ratio", "printed", options=options).at_least(1.03, predicted="> 1.03"),
        dict(source="CS section 6.3, Table 3", bearing="neutral"),
        because="The text says over 3 %; of the second best accuracy is our reading.",
    )
study.claim(
    "gain-larger",
    "In the printed Table 3 CompeteSMoE gains more over the second best method on the more challenging SST-5 and "
    "BANKING77 than on SST-2 and IMDB (points).",
    function(
        "studies.compete_smoe.parts.rules:larger_gains",
        "printed",
        "fine-tuning",
        options=dict(row="CompeteSMoE", larger=["SST-5", "BANKING77"], smaller=["SST-2", "IMDB"]),
    ).at_least(1e-06, predicted="> 0"),
    dict(source="CS section 6.3, Table 3", bearing="neutral"),
)

# --- claims: Tables 9 and 10 again ---
for tag, row, mean, deviation in [("compete", "CompeteSMoE", 1.306, 0.005), ("smoe", "SMoE", 1.32, 0.009)]:
    for claim, what, path, value in [
        ("average", "average", "average", mean),
        ("deviation", "standard deviation", "deviation", deviation),
    ]:
        study.claim(
            f"{claim}-{tag}",
            f"In the printed Table 9 the five runs of {row} have the {what} {value:.3f}.",
            function(f"moestat.claims.printed:{path}", "printed", options=dict(of=choice("runs", row))).within(
                round(value - 0.0005, 4), round(value + 0.0005, 4), predicted=f"{value:.3f}"
            ),
            dict(source="CS appendix C.4, Table 9", bearing="neutral"),
        )
study.claim(
    "p-value",
    "In the printed Table 9 the two-sided t-test of the five runs returns the p-value 0.016.",
    function(
        "moestat.claims.printed:t_test",
        "printed",
        options=dict(first=choice("runs", "CompeteSMoE"), second=choice("runs", "SMoE")),
    ).within(0.0155, 0.0165, predicted="0.016"),
    dict(source="CS appendix C.4, Table 9", bearing="neutral"),
)
hours = [choice("runs-summary", row, "hours per epoch") for row in pair]
study.claim(
    "training-overhead",
    "In the printed Table 9 training takes around 10 % longer with CompeteSMoE (5 to 15 %).",
    function("moestat.claims.printed:ratio", "printed", options=dict(of=hours[0], to=hours[1], unit=0.01)).within(
        1.05, 1.15, predicted="1.1"
    ),
    dict(source="CS appendix C.4, Table 9", bearing="neutral"),
    because="The text says around 10 %; 5 to 15 is our reading.",
)
study.claim(
    "four-of-six",
    "In the printed Table 10 CompeteSMoE achieves a lower entropy than SMoE in four out of six routers.",
    function(
        "moestat.claims.printed:share",
        "printed",
        options=dict(lower=choice("entropy", "CompeteSMoE"), higher=choice("entropy", "SMoE")),
    ).within(0.66, 0.67, predicted="4 of 6"),
    dict(source="CS appendix C.5, Table 10", bearing="neutral"),
)
for tag, row, value in zip(("compete", "smoe", "fixed", "xmoe", "stable"), METHODS, AVERAGES, strict=True):
    study.claim(
        f"average-entropy-{tag}",
        f"In the printed Table 10 the average entropy of {row} is the mean of its six routers.",
        function("moestat.claims.printed:average", "printed", options=dict(of=choice("entropy", row))).within(
            round(value - 0.00005, 5), round(value + 0.00005, 5), predicted=str(value)
        ),
        dict(source="CS appendix C.5, Table 10", bearing="neutral", because="The last column is headed Average."),
    )

study.figure(
    kind="heatmap",
    title="By how much each method is behind the best of its column",
    x="column",
    xlabel=" ",
    y="row",
    columns=1,
    panels=[
        dict(title=name, arms=[arm], variable="behind", ylabel="behind the best, %")
        for arm, name in zip(ARCHITECTURES, models, strict=True)
    ],
    options=dict(at=dict(replicate=0), origin="upper", digits=2, ylabel="method"),
    caption="Table 2: bits per character on enwik8 and text8, perplexity on WikiText-103 (Wiki), each less the best "
    "number of its column, in per cent of that.",
)
