"""Table 2 by arithmetic: are the printed differences within their errors? (sigmoid-attention, section 5.2).

Nothing is run. Accuracies have no printed errors; they get that of a share of right answers among the questions of the
public test set, asked independently. Both models answered the same questions: if they are right on the same ones, the
error of a difference is smaller, and the paper does not print the pairs, which would decide. The errors of the
throughputs, 441 +- 39 and 486 +- 53 tokens per second, are taken for standard errors; ``runs`` says how many runs would
be needed if they are standard deviations. The levels of PIQA, SciQ and WinoGrande are those that other models of this
size have on another of the three; ``ratio_elsewhere`` takes the largest of the three test sets for each.
"""

from moestat import Study
from moestat.study.rules import function

RULES = "studies.sigmoid_attention.parts.rules"

study = Study(
    "Are the printed differences of Table 2 more than their errors?",
    paper="sigmoid-attention",
    source="SA §5.2, Table 2",
    question="The paper prints six accuracies and a throughput of two language models with a billion weights. "
    "Do the printed numbers themselves tell the two models apart?",
    experiment="printed_table",
    seed=20260713,
    scale="paper",
    summaries=["difference", "error", "ratio", "ratio_elsewhere", "runs"],
)
study.preset("quick", "The printed numbers.", expected="about 5 s", replicates=1)

for name, label, softmax, sigmoid, questions in [
    ("arc-easy", "ARC Easy", 59.8, 60.1, [2376]),
    ("arc-challenge", "ARC Challenge", 24.3, 25.4, [1172]),
    ("hellaswag", "HellaSwag", 41.6, 41.8, [10_042]),
    ("piqa", "PIQA", 57.1, 55.0, [1838, 1000, 1267]),
    ("sciq", "SciQ", 70.1, 69.4, [1000, 1838, 1267]),
    ("winogrande", "WinoGrande", 84.4, 85.6, [1267, 1838, 1000]),
]:
    study.arm(name, label, softmax=softmax, sigmoid=sigmoid, questions=questions)
study.arm("throughput", "tokens per second", softmax=441.0, sigmoid=486.0, softmax_error=39.0, sigmoid_error=53.0)

# neutral: that a table agrees with its text is no evidence, and four of six come out so by one coin in three
TASKS = ["arc-easy", "arc-challenge", "hellaswag", "piqa", "sciq", "winogrande"]
study.claim(
    "most-tasks",
    "In the printed Table 2 sigmoid attention achieves comparable or superior performance across most tasks: "
    "more than half of the printed differences are not negative.",
    function(f"{RULES}:in_favour", options=dict(arms=TASKS)).at_least(0.51, predicted="most"),
    source="SA §5.2, Table 2",
    bearing="neutral",
)
study.claim(
    "throughput",
    "Sigmoid attention has a significantly higher throughput, by the printed errors.",
    function(f"{RULES}:printed_difference", arm="throughput").at_least(0.0, predicted="45 tokens per second"),
    source="SA §5.2, Table 2",
)
study.ours(
    "accuracies-within-errors",
    "No printed difference of accuracies is beyond 1.96 times its error.",
    function(
        "moestat.claims.rules:largest", "ratio", options=dict(arms=["arc-*", "hellaswag", "piqa", "sciq", "winogrande"])
    ).at_most(1.96, predicted="at most 1.96"),
    source="ours: control of most-tasks, arithmetic on SA Table 2",
)
