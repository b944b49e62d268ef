"""How many samples halve the error? Table 1 of sigmoid-attention, and its Appendix C, measured.

Every row reads one arm of another study: the error of the experts' outputs, sup_x |E(x, eta) - E(x, eta*)| over the
cube (eq. (10)), summed over the fitted atoms, to the nearest representation of the truth. The samples that halve it are
2^(-1/slope) times those at hand: 4 for eps^-2, 16 for eps^-4.

The table of summaries has the slope that the printed order means (``predicted_slope``: -1/2, -1/4, 0 for an exponential
order) beside the measured one with its 95 % interval over replicates, and how many times the samples halve the error.

The orders are upper bounds: eps^-2 is supported below a slope of -0.40, eps^-4 below -0.15, and is about the order
between -0.35 and -0.15. Sparse rows with the sigmoid forgive what Theorem 1, which measures to the truth itself, does
not: over-experts-* of sigmoid_regimes judge these cells.

How to read the comparisons of the gates: the sum has one expert too many. With the sigmoid its output goes to 0, a
representation of the truth; with the softmax it leaves by its weight, and its output is far from every expert. By the
nearest expert to each true one, another loss, no lead is decided (sigmoid_regimes:gates-linear-nearest-d8), and errors
of functions are level. GELU experts are fitted with a = 0 allowed, which the examples leave out, by either gate. In 24
of the ninety small truths a ReLU has no kink on the cube; without them nob-gates-relu would be supported.
"""

from moestat import Study
from moestat.study.rules import function

EXPERTS = {"relu": "ReLU", "gelu": "GELU", "linear": "linear", "square": "squared"}
RULES = "studies.sigmoid_attention.parts.rules"
SLOPE = f"{RULES}:slope_of_row"
LIMIT = {"eps^-2": -0.4, "eps^-4": -0.15}

study = Study(
    "How many samples halve the error? Table 1, measured",
    paper="sigmoid-attention",
    source="SA Table 1, App. C",
    question="Are the orders of Table 1 (eps^-2, eps^-4, exponential) those that the simulations show?",
    reads="studies.sigmoid_attention.parts.sample_complexity:table",
    needs=["sigmoid_regimes", "partial_quadratic", "partial_gates"],
    seed=0,
    summaries=["predicted_slope", "slope", "slope_low", "slope_high", "halving", "error_first", "error_last"],
)
ONCE = dict(replicates=1, expected="about a minute, once its inputs are there")
study.preset(
    "quick",
    "From the quick presets of sigmoid_regimes and partial_quadratic: the rows that they have.",
    **dict(ONCE, arms=["sigmoid-sparse-gelu", "sigmoid-dense-*", "partial-sparse-gelu", "partial-dense-*"]),
)
study.preset("table", "From their presets table: all rows.", **dict(ONCE, arms=["sigmoid-*", "softmax-*", "partial-*"]))
study.preset(
    "many",
    "From their presets many: all rows, over ninety truths, and either gate without b.",
    **dict(ONCE, rank=2, arms=["sigmoid-*", "softmax-*", "partial-*", "nob-*"]),
)
study.preset(
    "theorems",
    "From their presets theorems: d = 8, N* = 8, N = 9, ten truths, from ten samples per parameter on.",
    **dict(ONCE, scale="paper", arms=["d8-sigmoid-*", "d8-partial-*"]),
)
study.preset(
    "gates",
    "From the presets gates of sigmoid_regimes and partial_gates: both gates, d = 8, from ten samples per parameter "
    "on.",
    **dict(ONCE, scale="paper"),
    arms=["d8-softmax-*", "d8-nob-*"]
    + [f"d8-sigmoid-{cell}" for cell in ("dense-relu", "dense-gelu", "dense-linear", "sparse-gelu")],
)


# --- rows: the study and its arm, the cells of its small presets and those at d = 8
FOUR, THREE, TWO = "relu gelu linear square", "relu gelu linear", "relu linear"
AT_TEN = {"sigmoid_regimes": 4860, "partial_quadratic": 4140, "partial_gates": 4140}  # ten samples per parameter
for row, of_study, source_arm, small, large in [
    ("sigmoid", "sigmoid_regimes", "{}", dict(sparse=FOUR, dense=FOUR), dict(sparse=THREE, dense=FOUR)),
    ("softmax", "sigmoid_regimes", "softmax-{}", dict(sparse=THREE, dense=THREE), dict(sparse="gelu", dense=THREE)),
    ("partial", "partial_quadratic", "{}-partial", dict(sparse=THREE, dense=THREE), dict(sparse=TWO, dense=TWO)),
    ("nob-sigmoid", "partial_gates", "sigmoid-{}", dict(sparse="gelu linear", dense=THREE), dict(dense=THREE)),
    ("nob-softmax", "partial_gates", "softmax-{}", dict(sparse="gelu linear", dense=THREE), dict(dense=THREE)),
]:
    gate, b = "softmax" if "softmax" in row else "sigmoid", of_study == "sigmoid_regimes"
    window = dict(window=[AT_TEN[of_study], 100_000])
    for prefix, cells, sizes in [("", small, {}), ("d8-", large, window)]:
        for regime, expert in [(regime, expert) for regime, experts in cells.items() for expert in experts.split()]:
            order = "eps^-2" if (gate, regime) == ("sigmoid", "dense") else "eps^-4"
            if expert in ("linear", "square") and (gate == "softmax" or (b and regime == "sparse")):
                order = "exp(eps^(-1/tau))"
            label = f"{'' if b else 'no b, '}{gate}, {regime}, {EXPERTS[expert]}"
            of = dict(study=of_study, source_arm=source_arm.format(f"{regime}-{expert}"), order=order)
            study.arm(f"{prefix}{row}-{regime}-{expert}", label, **of, **sizes)
for loss, label, order in [
    ("eta", "  its eta", "eps^-2"),
    ("eta_vanished", "  its eta, vanished", "eps^-4"),
    ("eta_others", "  its eta, others", "eps^-2"),
]:
    of = dict(study="sigmoid_regimes", source_arm="dense-square", loss=loss, order=order)
    study.arm(f"sigmoid-dense-square-{loss.replace('eta_', '')}", label, **of)

# --- claims: the orders of the cells, small and at d = 8
AT_D8 = ", d = 8, at ten samples per parameter or more"
COMPARES = (
    "The paper compares the orders of the table, and calls the smaller one more sample-efficient: upper bounds alone "
    "give no comparison."
)
TABLE, WITHOUT_B = dict(source="SA Table 1"), dict(source="SA App. C.1.3")
REFERENCE = dict(source="SA Table 1, citing its reference [1]")
REFERENCE_WITHOUT_B = dict(source="SA App. C.1.3, citing its reference [1]")
CELLS = {
    "sigmoid-dense-relu": TABLE,
    "sigmoid-dense-gelu": TABLE,
    "sigmoid-dense-linear": TABLE,
    "sigmoid-dense-square": TABLE,
    "partial-dense-relu": WITHOUT_B,
    "partial-dense-linear": WITHOUT_B,
    "softmax-sparse-gelu": REFERENCE,
    "softmax-dense-gelu": REFERENCE,
    "nob-softmax-dense-gelu": REFERENCE_WITHOUT_B,
}
WORDS = {"sigmoid": "Sigmoid", "partial": "Score without b", "softmax": "Softmax", "nob-softmax": "Softmax without b"}
PRESETS = {  # the small ones, and that at d = 8
    "sigmoid": (["*"], ["theorems"]),
    "partial": (["*"], ["theorems"]),
    "softmax": (["table", "many"], ["gates"]),
    "nob-softmax": (["many"], ["gates"]),
}
for cell, of in CELLS.items():
    row, regime, expert = cell.rsplit("-", 2)
    order = "eps^-4" if "softmax" in row else "eps^-2"
    says = f"{WORDS[row]}, {regime}, {EXPERTS[expert]}{', a = 0 allowed' if cell == 'sigmoid-dense-gelu' else ''}"
    for prefix, where, presets in zip(("", "d8-"), ("", AT_D8), PRESETS[row], strict=True):
        study.claim(
            f"{prefix}{cell}",
            f"{says}{where}: an error eps takes no more than the order of {order} samples.",
            function(SLOPE, arm=f"{prefix}{cell}").at_most(LIMIT[order], predicted=order),
            dict(of, presets=presets),
        )
        if row == "softmax":
            study.claim(
                f"{prefix}{cell}-sharp",
                f"{says}{', d = 8' if prefix else ''}: the error of the experts falls like a power of n between "
                "n^(-0.35) and n^(-0.15), about n^(-1/4), the order eps^-4.",
                function(SLOPE, arm=f"{prefix}{cell}").within(-0.35, -0.15, predicted=order),
                dict(of, presets=presets, because=COMPARES),
            )

# --- claims: what the table compares, the two regimes and the two gates
for name, prefix, where, presets in [
    ("regimes-relu", "", "", ["table", "many"]),
    ("regimes-relu-d8", "d8-", AT_D8, ["theorems"]),
]:
    of = dict(versus=f"{prefix}sigmoid-dense-relu", options=dict(slower_at_most=LIMIT["eps^-4"]))
    study.claim(
        name,
        f"With the sigmoid gate ReLU experts converge more slowly in the sparse regime than in the dense one{where}.",
        function(SLOPE, arm=f"{prefix}sigmoid-sparse-relu", **of).at_least(0.0, predicted="0.25"),
        dict(TABLE, presets=presets),
        because="Table 1 has eps^(-4) in the sparse and eps^(-2) in the dense regime, read as orders.",
    )
EFFICIENT = "Section 4.2 calls the sigmoid more sample-efficient in the dense regime, {}."
BECAUSE = {
    "relu": EFFICIENT.format("by eps^(-2) against eps^(-4)"),
    "linear": EFFICIENT.format("where the order with the softmax is exponential"),
}
SEEN = (
    "Seen after the run: by the nearest expert to each true one no difference of the slopes is decided, and the "
    "function errors are level."
)
BECAUSE_WITHOUT_B = (
    "Appendix C.1.3 calls the sigmoid more sample-efficient in the dense regime, by eps^(-2) against eps^(-4) or an "
    "exponential order."
)
for name, prefix, on, where, presets in [
    ("gates-{}", "", "In the dense regime {}", "", ["table", "many"]),
    ("gates-{}-d8", "d8-", "In the dense regime {}", AT_D8, ["gates"]),
    ("nob-gates-{}", "nob-", "Without b, in the dense regime, {}", "", ["many"]),
    ("d8-nob-gates-{}", "d8-nob-", "Without b, in the dense regime, {}", AT_D8, ["gates"]),
]:
    for expert in ["relu", "linear"]:
        of = dict(source="SA §4.2, Table 1, dense regime", because=BECAUSE[expert])
        if "nob" in prefix:
            of = dict(WITHOUT_B, because=BECAUSE_WITHOUT_B)
        study.claim(
            name.format(expert),
            f"{on.format(EXPERTS[expert])} experts, the superfluous one counted, converge faster with the sigmoid gate "
            f"than with the softmax gate{where}.",
            function(SLOPE, arm=f"{prefix}sigmoid-dense-{expert}", versus=f"{prefix}softmax-dense-{expert}").at_most(
                0.0, predicted="-0.25" if (expert, "nob" in prefix) == ("relu", False) else "below 0"
            ),
            dict(of, presets=presets, hindsight=SEEN if name.format(expert) == "gates-linear-d8" else ""),
        )
study.claim(
    "gates-gelu-d8",
    f"In the dense regime GELU experts, a = 0 allowed and the superfluous one counted, converge faster with the "
    f"sigmoid gate than with the softmax gate{AT_D8}.",
    function(SLOPE, arm="d8-sigmoid-dense-gelu", versus="d8-softmax-dense-gelu").at_most(0.0, predicted="-0.25"),
    dict(source="SA §4.2, Table 1, dense regime", presets=["gates"]),
    because=BECAUSE["relu"],
)
