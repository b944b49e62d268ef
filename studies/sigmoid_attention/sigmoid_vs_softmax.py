"""Sigmoid against softmax gating: convergence rates of the parameters (sigmoid-attention, section 5.1, Fig. 1)."""

import itertools
from functools import partial

from moestat import Study
from moestat.study.rules import function, slope

SHOWS_FITS_SGD = (
    "Fig. 1 shows fits by SGD, and section 5.1 offers it as a validation of the theorems, which are on least "
    "squares: the argmin."
)
COUNTED_PAPER_IF = (
    "Counted for the paper, if supported, until the plain reading of its protocol (preset quick) was run: the "
    "figure is of neither."
)
CALLS_SIGMOID_MORE = (
    "Section 1 calls the sigmoid the more sample-efficient one if its experts take fewer data to approximate a "
    "target function within a given margin of error; fewer data for the same error is a smaller error from the "
    "same data. Of the sizes of Fig. 1 the largest is taken, with its loss and the function error."
)
ARMS = ["softmax-relu", "sigmoid-relu", "softmax-linear", "sigmoid-linear"]
PRESETS = ["small", "truths", "paper", "argmin", "full"]
SIZES = [1000, 3162, 10_000, 31_623, 100_000]
SLOPE_BY_TRUTH = "moestat.papers.sigmoid_attention.truth_rules:slope_by_truth"
LEVEL_BY_TRUTH = "moestat.papers.sigmoid_attention.truth_rules:level_by_truth"

study = Study(
    "Sigmoid against softmax gating: how fast do the parameters converge?",
    paper="sigmoid-attention",
    source="SA §5.1, App. E.1, Fig. 1",
    question="Data come from a softmax-gated mixture of experts. Does the sigmoid-gated fit converge faster "
    "than the softmax-gated one, and at the rates that Figure 1 prints?",
    experiment="regression",
    seed=20260101,
    settings=dict(
        d=8,
        n_true=8,
        n_fitted=9,
        truth_gate="softmax",
        regime="dense",
        noise_variance=0.01,
        box=5.0,
        start_radius=0.05,
        batch_size=32,
    ),
    grid=dict(n=[1000, 1931, 3728, 7197, 13_895, 26_827, 51_795, 100_000]),
)

study.preset(
    "quick",
    "The printed protocol on the paper's problem, from three starts: ten full-batch steps of 0.1, five sizes "
    "from 1e3 to 1e5, one data set of each of ten truths. Least squares is the presets truths (drawn here from "
    "its record) and paper.",
    expected="about a minute on 2 idle cores",
    scale="paper",
    replicates=10,
    grid=dict(n=SIZES),
    arms=["*-printed", "*-split", "*-wide", "*-numbers"],
    block=5,
    settings=dict(
        truths=10,
        estimator="sgd",
        start_at="target",
        batch_size=0,
        scores="L3",
        evaluation_log2=12,
        pseudo_points_log2=13,
        pseudo_polish_log2=15,
        fisher_log2=15,
    ),
)

study.preset(
    "small",
    "A smaller problem: d = 3, three true experts, four fitted, n to 32 000; local fits.",
    expected="about 100 s on 2 idle cores",
    replicates=10,
    grid=dict(n=[1000, 2000, 4000, 8000, 16_000, 32_000]),
    arms=["softmax-*", "sigmoid-*"],
    settings=dict(d=3, n_true=3, n_fitted=4, pseudo_points_log2=13, pseudo_polish_log2=15),
)

# six truths and twelve data sets, where paper has four of one truth; the figure is that of paper
study.preset(
    "truths",
    "The paper's problem with six truths, two replicates of each, at five sizes: intervals over replicates are "
    "intervals over truths, too. Local fits and the protocol.",
    expected="about 20 minutes on 2 cores",
    scale="paper",
    rank=2,
    replicates=12,
    grid=dict(n=SIZES),
    arms=["softmax-*", "sigmoid-*"],
    settings=dict(truths=6),
)

study.preset(
    "paper",
    "The paper's problem: d = 8, N* = 8, N = 9, five sizes from 1e3 to 1e5, truth softmax; all estimators, four "
    "replicates.",
    expected="about 35 minutes on 2 cores",
    replicates=4,
    grid=dict(n=SIZES),
    arms=["softmax-*", "sigmoid-*", "argmin-*"],
    settings=dict(pseudo_search="global", search_effort=0.12),
)

study.preset(
    "argmin",
    "As paper, with eight times as large a search, ten replicates and eight sizes, and without the protocol.",
    scale="paper",
    expected="hours on 2 cores (not yet measured)",
    replicates=10,
    arms=["argmin-*", "softmax-relu", "sigmoid-relu", "softmax-linear", "sigmoid-linear"],
    settings=dict(pseudo_search="global"),
)

study.preset(
    "full",
    "The paper's problem with both true gates: eight local least-squares arms, and the protocol for each.",
    scale="paper",
    expected="about an hour on 2 cores",
    replicates=10,
    arms=["softmax-*", "sigmoid-*", "truth-*"],
)

# --- least squares, truth softmax: the four curves of Fig. 1 ---
for expert, gate in itertools.product(["relu", "linear"], ["softmax", "sigmoid"]):
    study.arm(f"{gate}-{expert}", f"{gate} gate, least squares, local from the truth", fitted_gate=gate, expert=expert)

# --- the argmin of the theorems, by a global search ---
for expert, gate in itertools.product(["relu", "linear"], ["softmax", "sigmoid"]):
    study.arm(
        f"argmin-{gate}-{expert}",
        f"{gate} gate, least squares, global search",
        fitted_gate=gate,
        expert=expert,
        search="global",
    )

# --- the paper's protocol: SGD started near the truth, by a stated radius rule ---
for expert, gate, (rule, radius, settings) in itertools.product(
    ["relu", "linear"],
    ["softmax", "sigmoid"],
    [
        ("fixed", "0.1", dict(radius_scale=0.1, radius_exponent=0.0)),
        ("root", "n^(-1/2)", dict(radius_scale=1.0, radius_exponent=-0.5)),
    ],
):
    study.arm(
        f"{gate}-{expert}-sgd-{rule}",
        f"{gate} gate, SGD, start radius {radius}",
        fitted_gate=gate,
        expert=expert,
        estimator="sgd",
        **settings,
    )

# --- the printed protocol read literally, and what only another start makes of it (preset quick) ---
for expert, (start, words, settings) in itertools.product(
    ["relu", "linear"],
    [
        (
            "printed",
            "ninth atom a copy, radius 0.05 n^(-1/2)",
            dict(superfluous="copy", radius_scale=0.05, radius_exponent=-0.5),
        ),
        ("split", "ninth atom split off, radius 0.05 n^(-1/2)", dict(radius_scale=0.05, radius_exponent=-0.5)),
        ("wide", "ninth atom split off, radius 0.1", dict(radius_scale=0.1, radius_exponent=0.0)),
    ],
):
    study.arm(
        f"softmax-{expert}-{start}",
        f"softmax gate, {words}",
        fitted_gate="softmax",
        expert=expert,
        **settings,
        presets=["quick"],
    )

for expert, (start, words, settings) in itertools.product(
    ["relu", "linear"],
    [
        ("printed", "at its target, radius 0.05 n^(-1/2)", dict(radius_scale=0.05, radius_exponent=-0.5)),
        (
            "numbers",
            "at the softmax truth's numbers, radius 0.05 n^(-1/2)",
            dict(start_at="numbers", superfluous="copy", radius_scale=0.05, radius_exponent=-0.5),
        ),
        ("wide", "at its target, radius 0.1", dict(radius_scale=0.1, radius_exponent=0.0)),
    ],
):
    study.arm(
        f"sigmoid-{expert}-{start}",
        f"sigmoid gate, {words}",
        fitted_gate="sigmoid",
        expert=expert,
        **settings,
        presets=["quick"],
    )

# --- truth sigmoid: the other half of truth gate x fitted gate x expert (preset full) ---
common = dict(truth_gate="sigmoid")
study.arm(
    "truth-sigmoid-softmax-relu",
    "softmax gate, least squares, truth sigmoid",
    fitted_gate="softmax",
    expert="relu",
    **common,
)
study.arm(
    "truth-sigmoid-softmax-relu-sgd-fixed",
    "softmax gate, SGD, start radius 0.1, truth sigmoid",
    fitted_gate="softmax",
    expert="relu",
    estimator="sgd",
    radius_scale=0.1,
    radius_exponent=0.0,
    **common,
)
study.arm(
    "truth-sigmoid-sigmoid-relu",
    "sigmoid gate, least squares, truth sigmoid",
    fitted_gate="sigmoid",
    expert="relu",
    **common,
)
study.arm(
    "truth-sigmoid-sigmoid-relu-sgd-fixed",
    "sigmoid gate, SGD, start radius 0.1, truth sigmoid",
    fitted_gate="sigmoid",
    expert="relu",
    estimator="sgd",
    radius_scale=0.1,
    radius_exponent=0.0,
    **common,
)
study.arm(
    "truth-sigmoid-softmax-linear",
    "softmax gate, least squares, truth sigmoid",
    fitted_gate="softmax",
    expert="linear",
    **common,
)
study.arm(
    "truth-sigmoid-softmax-linear-sgd-fixed",
    "softmax gate, SGD, start radius 0.1, truth sigmoid",
    fitted_gate="softmax",
    expert="linear",
    estimator="sgd",
    radius_scale=0.1,
    radius_exponent=0.0,
    **common,
)
study.arm(
    "truth-sigmoid-sigmoid-linear",
    "sigmoid gate, least squares, truth sigmoid",
    fitted_gate="sigmoid",
    expert="linear",
    **common,
)
study.arm(
    "truth-sigmoid-sigmoid-linear-sgd-fixed",
    "sigmoid gate, SGD, start radius 0.1, truth sigmoid",
    fitted_gate="sigmoid",
    expert="linear",
    estimator="sgd",
    radius_scale=0.1,
    radius_exponent=0.0,
    **common,
)

# printed: Fig. 1 has one curve per gate and expert, whatever fit of ours it is compared with
study.rate("L3", arms=["truth-*"], reference="fisher_L3", start="start_L3")
study.rate(
    "L3",
    printed={"*softmax-relu*": -0.24, "*sigmoid-relu*": -0.51, "*softmax-linear*": -0.07, "*sigmoid-linear*": -0.46},
    reference="fisher_L3",
    start="start_L3",
)
study.rate("quotient", reference="fisher_L3")
study.rate("rmse", bound=-0.5, reference="fisher_rmse")
study.rate("L3_to_truth", arms=["softmax-*-printed", "softmax-*-split", "softmax-*-wide"])
study.rate("moved", arms=["*-printed", "*-split", "*-wide", "*-numbers"])

# --- parameter rates: block by block, per atom ---
common = dict(arms=ARMS, predicted={"softmax-relu": -0.25}, atoms="over-specified")
study.parameter("A_over_atom", block="A", role="gate", **common)
study.parameter("b_over_atom", block="b", role="gate", **common)
study.parameter("eta_over_atom", block="eta", role="expert", **common)

common = dict(arms=ARMS, predicted={"softmax-relu": -0.5, "sigmoid-*": -0.5}, atoms="exactly specified")
study.parameter("A_exact_atom", block="A", role="gate", **common)
study.parameter("b_exact_atom", block="b", role="gate", **common)
study.parameter("c_exact_atom", block="c", role="gate", **common)
study.parameter("eta_exact_atom", block="eta", role="expert", **common)

# --- claims: rules written before the run ---
# The printed protocol (preset quick). A trial on other data sets of the same truths had been seen when these were
# written.
for part, gate, expert, experts, predicted, within in [
    ("1a", "softmax", "relu", "ReLU", "-0.24", [-0.34, -0.14]),
    ("1a", "sigmoid", "relu", "ReLU", "-0.51", [-0.61, -0.41]),
    ("1b", "softmax", "linear", "linear", "-0.07", [-0.17, 0.0]),
    ("1b", "sigmoid", "linear", "linear", "-0.46", [-0.56, -0.36]),
]:
    study.claim(
        f"printed-{gate}-{expert}",
        "Ten full-batch steps of 0.1 from near the ground truth, the superfluous atom a copy, give the slope "
        f"{predicted} with the {gate} gate and {experts} experts.",
        function(SLOPE_BY_TRUTH, "L3", f"{gate}-{expert}-printed").within(*within, predicted=predicted),
        dict(source=f"SA Fig. {part}, App. E.1.2", group=f"fig-1-{gate}-{expert}-by-the-printed-protocol"),
        dict(printed=True, presets=["quick"]),
        hindsight="Seen before: this reading, atom t mod 8 of truth t copied, on other data sets of these "
        "truths, and ten data sets with the last atom copied instead (-0.304 [-0.359, -0.249] for ReLU and "
        "-0.137 [-0.185, -0.088] for linear experts, both inconclusive). The region is that of the earlier "
        "claims on Fig. 1.",
    )

# The legend of Fig. 1 has L3 to the truth; L3 here is the infimum over its forms with nine atoms, as in Theorem 3.
for part, gate, expert, experts, predicted, within in [
    ("1a", "softmax", "relu", "ReLU", "-0.24", [-0.34, -0.14]),
    ("1b", "softmax", "linear", "linear", "-0.07", [-0.17, 0.0]),
]:
    study.ours(
        f"literal-{gate}-{expert}",
        "In L3 to the truth itself, as the legend of the figure has it, the printed protocol gives the slope "
        f"{predicted} with the {gate} gate and {experts} experts.",
        function(SLOPE_BY_TRUTH, "L3_to_truth", f"{gate}-{expert}-printed").within(*within, predicted=predicted),
        dict(source=f"ours: SA Fig. {part} in the loss to the truth itself", hindsight="As of the claim on L3."),
        dict(group=f"fig-1-{gate}-{expert}-by-the-printed-protocol", printed=True, presets=["quick"]),
    )

for expert, (which, other, gate, words) in itertools.product(
    ["relu", "linear"],
    [
        ("split", "split", "softmax", "a ninth atom that is split off, not copied,"),
        ("wide", "wide", "softmax", "a start of radius 0.1"),
        ("wide", "wide", "sigmoid", "a start of radius 0.1"),
        ("numbers", "numbers", "sigmoid", "a start at the numbers of the softmax truth"),
    ],
):
    study.ours(
        f"{which}-{gate}-{expert}",
        f"With the same data and steps {words} leaves the slope as it is ({gate} gate, {expert} experts).",
        function(SLOPE_BY_TRUTH, "L3", f"{gate}-{expert}-{other}", versus=f"{gate}-{expert}-printed").equivalent(
            0.1, predicted="no change"
        ),
        dict(source="ours: on SA Fig. 1", hindsight="As of the claims on the printed slopes."),
        dict(group="slope-not-of-the-start", presets=["quick"]),
    )

# A copy doubles the weight of an atom: its function is not the true one, and ten steps move it by an amount that the
# gradient of the population fixes, whatever n.
for expert, (which, start, words, predicted, within) in itertools.product(
    ["relu", "linear"],
    [
        ("drift", "printed", "a copied atom does not depend on n", "0 in n", [-0.05, 0.05]),
        ("drift-split", "split", "a split atom falls like n^(-1/2): noise alone moves it", "-0.5", [-0.55, -0.45]),
    ],
):
    study.ours(
        f"{which}-{expert}",
        f"How far ten steps move the softmax fit from {words} (slope of the distance; {expert} experts).",
        function(SLOPE_BY_TRUTH, "moved", f"softmax-{expert}-{start}").within(*within, predicted=predicted),
        dict(hindsight="As of the claims on the printed slopes.", group=f"{which}-of-the-start"),
        source="ours: on SA Fig. 1, why the copy is slow",
        presets=["quick"],
    )

for part, expert, printed_loss, options in [
    ("1a", "relu", "1.003 n^(-0.24)", dict(scale=1.003, exponent=-0.24)),
    ("1b", "linear", "1.005 n^(-0.07)", dict(scale=1.005, exponent=-0.07)),
]:
    study.ours(
        f"bound-{expert}",
        f"The loss that Fig. {part} prints for the softmax gate at n = 1e5, {printed_loss}, lies, if it is of "
        "this L3, below the information bound: the asymptotic error of least squares that is told the number of "
        "experts.",
        function(
            "moestat.papers.sigmoid_attention.truth_rules:log_ratio_to",
            "line_L3",
            f"softmax-{expert}-printed",
            at=dict(n=100_000),
            options=options,
        ).at_most(0.0, predicted="below 0"),
        dict(group="fig-1-losses-below-the-bound", presets=["quick"]),
        source=f"ours: on SA Fig. {part}",
        hindsight="The bound had been computed for other truths of the same law.",
    )

ours = partial(study.ours, printed=True, presets=["paper", "argmin"])
ours(
    "slope-softmax-relu-argmin",
    "On data from a softmax truth the least-squares (global search) fit with softmax gate and ReLU experts "
    "converges like n^(-0.24).",
    slope("L3", "argmin-softmax-relu").within(-0.34, -0.14, predicted=-0.24),
    dict(source="ours: on SA Fig. 1a, whose slopes are of SGD", group="fig-1-softmax-relu"),
)
ours(
    "slope-sigmoid-relu-argmin",
    "On data from a softmax truth the least-squares (global search) fit with sigmoid gate and ReLU experts "
    "converges like n^(-0.51).",
    slope("L3", "argmin-sigmoid-relu").within(-0.61, -0.41, predicted=-0.51),
    dict(source="ours: on SA Fig. 1a, whose slopes are of SGD", group="fig-1-sigmoid-relu"),
)
ours(
    "slope-softmax-linear-argmin",
    "On data from a softmax truth the least-squares (global search) fit with softmax gate and linear experts "
    "converges like n^(-0.07).",
    slope("L3", "argmin-softmax-linear").within(-0.17, 0.0, predicted=-0.07),
    dict(source="ours: on SA Fig. 1b, whose slopes are of SGD", group="fig-1-softmax-linear"),
)
ours(
    "slope-sigmoid-linear-argmin",
    "On data from a softmax truth the least-squares (global search) fit with sigmoid gate and linear experts "
    "converges like n^(-0.46).",
    slope("L3", "argmin-sigmoid-linear").within(-0.56, -0.36, predicted=-0.46),
    dict(source="ours: on SA Fig. 1b, whose slopes are of SGD", group="fig-1-sigmoid-linear"),
)
study.claim(
    "faster-relu-argmin",
    "On data from a softmax truth, with ReLU experts, the sigmoid-gated least-squares (global search) fit "
    "converges faster than the softmax-gated one.",
    slope("L3", "argmin-sigmoid-relu", versus="argmin-softmax-relu").at_most(0.0, predicted="-0.27"),
    dict(source="SA Fig. 1a", because=SHOWS_FITS_SGD, group="fig-1-faster-relu", presets=["paper", "argmin"]),
)
study.claim(
    "faster-linear-argmin",
    "On data from a softmax truth, with linear experts, the sigmoid-gated least-squares (global search) fit "
    "converges faster than the softmax-gated one.",
    slope("L3", "argmin-sigmoid-linear", versus="argmin-softmax-linear").at_most(0.0, predicted="-0.39"),
    dict(source="SA Fig. 1b", because=SHOWS_FITS_SGD, group="fig-1-faster-linear", presets=["paper", "argmin"]),
)
ours = partial(study.ours, presets=["small", "truths", "paper", "full"])
ours(
    "slope-softmax-relu-ls",
    "On data from a softmax truth the least-squares fit with softmax gate and ReLU experts converges like n^(-0.24).",
    slope("L3", "softmax-relu").within(-0.34, -0.14, predicted=-0.24),
    dict(source="ours: on SA Fig. 1a, whose slopes are of SGD", group="fig-1-softmax-relu", printed=True),
)
ours(
    "slope-sigmoid-relu-ls",
    "On data from a softmax truth the least-squares fit with sigmoid gate and ReLU experts converges like n^(-0.51).",
    slope("L3", "sigmoid-relu").within(-0.61, -0.41, predicted=-0.51),
    dict(source="ours: on SA Fig. 1a, whose slopes are of SGD", group="fig-1-sigmoid-relu", printed=True),
)
ours(
    "slope-softmax-linear-ls",
    "On data from a softmax truth the least-squares fit with softmax gate and linear experts converges like n^(-0.07).",
    slope("L3", "softmax-linear").within(-0.17, 0.0, predicted=-0.07),
    dict(source="ours: on SA Fig. 1b, whose slopes are of SGD", group="fig-1-softmax-linear", printed=True),
)
ours(
    "slope-sigmoid-linear-ls",
    "On data from a softmax truth the least-squares fit with sigmoid gate and linear experts converges like n^(-0.46).",
    slope("L3", "sigmoid-linear").within(-0.56, -0.36, predicted=-0.46),
    dict(source="ours: on SA Fig. 1b, whose slopes are of SGD", group="fig-1-sigmoid-linear", printed=True),
)
ours(
    "faster-relu-ls",
    "On data from a softmax truth, with ReLU experts, the sigmoid-gated least-squares fit converges faster than "
    "the softmax-gated one.",
    function(SLOPE_BY_TRUTH, "L3", "sigmoid-relu", versus="softmax-relu").at_most(0.0, predicted="-0.27"),
    dict(source="ours: on SA Fig. 1a, by local least squares in L3 alone", hindsight=COUNTED_PAPER_IF),
    group="fig-1-faster-relu-in-l3-by-local-least-squares",
)
ours(
    "faster-linear-ls",
    "On data from a softmax truth, with linear experts, the sigmoid-gated least-squares fit converges faster "
    "than the softmax-gated one.",
    function(SLOPE_BY_TRUTH, "L3", "sigmoid-linear", versus="softmax-linear").at_most(0.0, predicted="-0.39"),
    dict(source="ours: on SA Fig. 1b, by local least squares in L3 alone", hindsight=COUNTED_PAPER_IF),
    group="fig-1-faster-linear-in-l3-by-local-least-squares",
)
ours = partial(study.ours, printed=True, presets=["small", "truths", "paper", "full"])
ours(
    "slope-softmax-relu-sgd-fixed",
    "On data from a softmax truth the SGD (start radius 0.1 about the numbers of the truth) fit with softmax "
    "gate and ReLU experts converges like n^(-0.24).",
    slope("L3", "softmax-relu-sgd-fixed").within(-0.34, -0.14, predicted=-0.24),
    dict(source="ours: on SA Fig. 1a, one reading of App. E.1", group="fig-1-softmax-relu-of-one-reading"),
)
ours(
    "slope-sigmoid-relu-sgd-fixed",
    "On data from a softmax truth the SGD (start radius 0.1 about the numbers of the truth) fit with sigmoid "
    "gate and ReLU experts converges like n^(-0.51).",
    slope("L3", "sigmoid-relu-sgd-fixed").within(-0.61, -0.41, predicted=-0.51),
    dict(source="ours: on SA Fig. 1a, one reading of App. E.1", group="fig-1-sigmoid-relu-of-one-reading"),
)
ours(
    "slope-softmax-linear-sgd-fixed",
    "On data from a softmax truth the SGD (start radius 0.1 about the numbers of the truth) fit with softmax "
    "gate and linear experts converges like n^(-0.07).",
    slope("L3", "softmax-linear-sgd-fixed").within(-0.17, 0.0, predicted=-0.07),
    dict(source="ours: on SA Fig. 1b, one reading of App. E.1", group="fig-1-softmax-linear-of-one-reading"),
)
ours(
    "slope-sigmoid-linear-sgd-fixed",
    "On data from a softmax truth the SGD (start radius 0.1 about the numbers of the truth) fit with sigmoid "
    "gate and linear experts converges like n^(-0.46).",
    slope("L3", "sigmoid-linear-sgd-fixed").within(-0.56, -0.36, predicted=-0.46),
    dict(source="ours: on SA Fig. 1b, one reading of App. E.1", group="fig-1-sigmoid-linear-of-one-reading"),
)
study.ours(
    "faster-relu-sgd-fixed",
    "On data from a softmax truth, with ReLU experts, the sigmoid-gated SGD (start radius 0.1 about the numbers "
    "of the truth) fit converges faster than the softmax-gated one.",
    function(SLOPE_BY_TRUTH, "L3", "sigmoid-relu-sgd-fixed", versus="softmax-relu-sgd-fixed").at_most(
        0.0, predicted="-0.27"
    ),
    dict(source="ours: on SA Fig. 1a, one reading of App. E.1", hindsight=COUNTED_PAPER_IF),
    dict(group="fig-1-faster-relu-of-one-reading", presets=["small", "truths", "paper", "full"]),
)
study.ours(
    "faster-linear-sgd-fixed",
    "On data from a softmax truth, with linear experts, the sigmoid-gated SGD (start radius 0.1 about the "
    "numbers of the truth) fit converges faster than the softmax-gated one.",
    function(SLOPE_BY_TRUTH, "L3", "sigmoid-linear-sgd-fixed", versus="softmax-linear-sgd-fixed").at_most(
        0.0, predicted="-0.39"
    ),
    dict(source="ours: on SA Fig. 1b, one reading of App. E.1", hindsight=COUNTED_PAPER_IF),
    dict(group="fig-1-faster-linear-of-one-reading", presets=["small", "truths", "paper", "full"]),
)
ours = partial(study.ours, printed=True, presets=["small", "truths", "paper", "full"])
ours(
    "slope-softmax-relu-sgd-root",
    "On data from a softmax truth the SGD (start radius n^(-1/2) about the numbers of the truth) fit with "
    "softmax gate and ReLU experts converges like n^(-0.24).",
    slope("L3", "softmax-relu-sgd-root").within(-0.34, -0.14, predicted=-0.24),
    dict(source="ours: on SA Fig. 1a, one reading of App. E.1", group="fig-1-softmax-relu-of-one-reading"),
)
ours(
    "slope-sigmoid-relu-sgd-root",
    "On data from a softmax truth the SGD (start radius n^(-1/2) about the numbers of the truth) fit with "
    "sigmoid gate and ReLU experts converges like n^(-0.51).",
    slope("L3", "sigmoid-relu-sgd-root").within(-0.61, -0.41, predicted=-0.51),
    dict(source="ours: on SA Fig. 1a, one reading of App. E.1", group="fig-1-sigmoid-relu-of-one-reading"),
)
ours(
    "slope-softmax-linear-sgd-root",
    "On data from a softmax truth the SGD (start radius n^(-1/2) about the numbers of the truth) fit with "
    "softmax gate and linear experts converges like n^(-0.07).",
    slope("L3", "softmax-linear-sgd-root").within(-0.17, 0.0, predicted=-0.07),
    dict(source="ours: on SA Fig. 1b, one reading of App. E.1", group="fig-1-softmax-linear-of-one-reading"),
)
ours(
    "slope-sigmoid-linear-sgd-root",
    "On data from a softmax truth the SGD (start radius n^(-1/2) about the numbers of the truth) fit with "
    "sigmoid gate and linear experts converges like n^(-0.46).",
    slope("L3", "sigmoid-linear-sgd-root").within(-0.56, -0.36, predicted=-0.46),
    dict(source="ours: on SA Fig. 1b, one reading of App. E.1", group="fig-1-sigmoid-linear-of-one-reading"),
)
study.ours(
    "faster-relu-sgd-root",
    "On data from a softmax truth, with ReLU experts, the sigmoid-gated SGD (start radius n^(-1/2) about the "
    "numbers of the truth) fit converges faster than the softmax-gated one.",
    function(SLOPE_BY_TRUTH, "L3", "sigmoid-relu-sgd-root", versus="softmax-relu-sgd-root").at_most(
        0.0, predicted="-0.27"
    ),
    dict(source="ours: on SA Fig. 1a, one reading of App. E.1", hindsight=COUNTED_PAPER_IF),
    dict(group="fig-1-faster-relu-of-one-reading", presets=["small", "truths", "paper", "full"]),
)
study.ours(
    "faster-linear-sgd-root",
    "On data from a softmax truth, with linear experts, the sigmoid-gated SGD (start radius n^(-1/2) about the "
    "numbers of the truth) fit converges faster than the softmax-gated one.",
    function(SLOPE_BY_TRUTH, "L3", "sigmoid-linear-sgd-root", versus="softmax-linear-sgd-root").at_most(
        0.0, predicted="-0.39"
    ),
    dict(source="ours: on SA Fig. 1b, one reading of App. E.1", hindsight=COUNTED_PAPER_IF),
    dict(group="fig-1-faster-linear-of-one-reading", presets=["small", "truths", "paper", "full"]),
)

# The theorems hold for every near-minimiser, so a rate of the argmin has to be one of both ends of their band, too.
for (end, word), (part, gate, expert, experts, predicted, within) in itertools.product(
    [("low", "lowest"), ("high", "highest")],
    [
        ("1a", "softmax", "relu", "ReLU", -0.24, [-0.34, -0.14]),
        ("1a", "sigmoid", "relu", "ReLU", -0.51, [-0.61, -0.41]),
        ("1b", "softmax", "linear", "linear", -0.07, [-0.17, 0.0]),
        ("1b", "sigmoid", "linear", "linear", -0.46, [-0.56, -0.36]),
    ],
):
    study.ours(
        f"band-{gate}-{expert}-{end}",
        f"The {word} L3 among the near-minimisers (within v p of the least residual sum of squares) of the "
        f"{gate}-gated fit with {experts} experts converges like n^({predicted}).",
        slope(f"L3_wide_{end}", f"argmin-{gate}-{expert}").within(*within, predicted=predicted),
        dict(source=f"ours: on SA Fig. {part}, whose slopes are of SGD", group=f"fig-1-{gate}-{expert}"),
        dict(printed=True, presets=["paper", "argmin"]),
    )

for (expert, experts, source), gate in itertools.product(
    [("relu", "ReLU", "ours: on SA Fig. 1a"), ("linear", "linear", "ours: on SA Fig. 1b")], ["softmax", "sigmoid"]
):
    study.ours(
        f"start-{gate}-{expert}",
        f"The slope of the protocol is a property of the fit, not of its start radius rule ({gate} gate, "
        f"{experts} experts): fixed and shrinking radius give the same slope.",
        slope("L3", f"{gate}-{expert}-sgd-root", versus=f"{gate}-{expert}-sgd-fixed").within(-0.1, 0.1, predicted="0"),
        dict(source=source, group="slope-not-of-the-start-rule", presets=["small", "truths", "paper", "full"]),
    )

for expert, experts, source in [
    ("relu", "ReLU", "ours: SA Fig. 1a modulo representations of the same function"),
    ("linear", "linear", "ours: SA Fig. 1b modulo representations of the same function"),
]:
    study.ours(
        f"faster-{expert}-quotient",
        f"On data from a softmax truth, with {experts} experts, the sigmoid-gated least-squares fit converges "
        "faster than the softmax-gated one, in the loss modulo splitting and null atoms.",
        function(SLOPE_BY_TRUTH, "quotient", f"sigmoid-{expert}", versus=f"softmax-{expert}").at_most(
            0.0, predicted="below 0"
        ),
        dict(source=source, group=f"fig-1-faster-{expert}-modulo-splits", presets=PRESETS),
        hindsight="Counted for the paper, if supported, until the loss L3 alone became neutral to it, too.",
    )

# L3 asks where a superfluous atom went, which the softmax gate alone has; the quotient loss does not. The paper's is
# both: where they part it is open. Added after the runs, whose parts had been seen.
for expert, experts, part in [("relu", "ReLU", "1a"), ("linear", "linear", "1b")]:
    study.claim(
        f"faster-{expert}-both",
        f"On data from a softmax truth, with {experts} experts, the sigmoid-gated least-squares fit converges "
        "faster than the softmax-gated one, in L3 and in the loss modulo splitting and null atoms (local least "
        "squares, six truths).",
        function(
            SLOPE_BY_TRUTH, "L3", f"sigmoid-{expert}", versus=f"softmax-{expert}", options=dict(together=["quotient"])
        ).at_most(0.0, predicted="below 0"),
        dict(source=f"SA Fig. {part}, section 5.1", group=f"fig-1-faster-{expert}-both-losses"),
        presets=["truths"],
        because="Section 5.1 offers Fig. 1 as a validation of the theorems, which are on least squares and "
        "take the infimum of L3 over all best measures: that one gate converges faster should show in L3 and in "
        "the loss modulo exact representations.",
    )

study.claim(
    "level-relu-both",
    "On 1e5 data from a softmax truth, with ReLU experts, both the loss of Fig. 1 and the function error are "
    "smaller with the sigmoid gate than with the softmax gate (local least squares, six truths).",
    function(
        LEVEL_BY_TRUTH, "L3", "sigmoid-relu", at=dict(n=100_000), versus="softmax-relu", options=dict(together=["rmse"])
    ).at_most(0.0, predicted="< 0"),
    dict(source="SA Fig. 1a, section 1", because=CALLS_SIGMOID_MORE, group="less-data-relu", presets=["truths"]),
)
study.claim(
    "level-linear-both",
    "On 1e5 data from a softmax truth, with linear experts, both the loss of Fig. 1 and the function error are "
    "smaller with the sigmoid gate than with the softmax gate (local least squares, six truths).",
    function(
        LEVEL_BY_TRUTH,
        "L3",
        "sigmoid-linear",
        at=dict(n=100_000),
        versus="softmax-linear",
        options=dict(together=["rmse"]),
    ).at_most(0.0, predicted="< 0"),
    dict(source="SA Fig. 1b, section 1", because=CALLS_SIGMOID_MORE, group="less-data-linear", presets=["truths"]),
)
study.ours(
    "level-relu-ls",
    "On 1e5 data from a softmax truth, with ReLU experts, the loss of Fig. 1 is smaller with the sigmoid gate "
    "than with the softmax gate (local least squares, six truths).",
    function(LEVEL_BY_TRUTH, "L3", "sigmoid-relu", at=dict(n=100_000), versus="softmax-relu").at_most(
        0.0, predicted="< 0"
    ),
    dict(source="ours: on SA Fig. 1a, section 1, in L3 alone", group="less-data-relu-in-l3", presets=["truths"]),
)
study.ours(
    "level-linear-ls",
    "On 1e5 data from a softmax truth, with linear experts, the loss of Fig. 1 is smaller with the sigmoid gate "
    "than with the softmax gate (local least squares, six truths).",
    function(LEVEL_BY_TRUTH, "L3", "sigmoid-linear", at=dict(n=100_000), versus="softmax-linear").at_most(
        0.0, predicted="< 0"
    ),
    dict(source="ours: on SA Fig. 1b, section 1, in L3 alone", group="less-data-linear-in-l3", presets=["truths"]),
)
study.ours(
    "level-relu-ls-quotient",
    "On 1e5 data from a softmax truth, with ReLU experts, the loss modulo splitting and null atoms is smaller "
    "with the sigmoid gate than with the softmax gate (local least squares, six truths).",
    function(LEVEL_BY_TRUTH, "quotient", "sigmoid-relu", at=dict(n=100_000), versus="softmax-relu").at_most(
        0.0, predicted="< 0"
    ),
    dict(group="less-data-relu-modulo-splits", presets=["truths"]),
    source="ours: on SA Fig. 1a, section 1, modulo representations of the same function",
)
study.ours(
    "level-linear-ls-quotient",
    "On 1e5 data from a softmax truth, with linear experts, the loss modulo splitting and null atoms is smaller "
    "with the sigmoid gate than with the softmax gate (local least squares, six truths).",
    function(LEVEL_BY_TRUTH, "quotient", "sigmoid-linear", at=dict(n=100_000), versus="softmax-linear").at_most(
        0.0, predicted="< 0"
    ),
    dict(group="less-data-linear-modulo-splits", presets=["truths"]),
    source="ours: on SA Fig. 1b, section 1, modulo representations of the same function",
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {
        "printed-softmax-relu": "supported",
        "printed-softmax-linear": "supported",
        "printed-sigmoid-relu": "supported",
        "printed-sigmoid-linear": "supported",
    },
    "The protocol as printed gives all four slopes of Figure 1 to within 0.1, if the superfluous ninth atom of "
    "the softmax fit starts as a copy of a true one.",
)

study.finding(
    {"wide-*": "not supported", "split-*": "not supported", "numbers-*": "not supported"},
    "Ten steps are too few to leave the start: with the same data and steps, other starts have other slopes. So "
    "the figure shows the rate of a start; on the theorems, which are about least squares, it says nothing.",
)

study.finding(
    {"bound-*": "supported"},
    "The softmax losses that are printed, if of this loss, lie below the asymptotic error of least squares that "
    "is told the number of experts.",
)

study.finding(
    {"faster-*-ls": "supported"},
    "In L3, of local least squares, the sigmoid fit converges faster than the softmax fit, with ReLU and with "
    "linear experts.",
)

study.finding(
    {"faster-relu-quotient": "supported"},
    "In the quotient loss the sigmoid fit with ReLU experts converges faster: that difference is not one of the "
    "surplus atom.",
)
study.finding(
    {"faster-relu-ls": "supported", "faster-relu-quotient": "not supported"},
    "In the quotient loss the sigmoid fit with ReLU experts does not converge faster: the difference in L3 is "
    "one of the surplus atom.",
)
study.finding(
    {"faster-linear-quotient": "supported"},
    "In the quotient loss the sigmoid fit with linear experts converges faster: that difference is not one of "
    "the surplus atom.",
)
study.finding(
    {"faster-linear-ls": "supported", "faster-linear-quotient": "not supported"},
    "In the quotient loss the sigmoid fit with linear experts does not converge faster: the difference in L3 is "
    "one of the surplus atom.",
)

for expert, experts in [("relu", "ReLU"), ("linear", "linear")]:
    study.finding(
        {f"level-{expert}-ls-quotient": "not supported"},
        f"At 1e5 data the sigmoid fit with {experts} experts has the larger quotient loss: its model does not "
        "hold the truth, and needs all its atoms.",
    )

# --- figures ---
study.figure(
    "starts",
    kind="function",
    title="Same data, same optimiser: the rate is that of the start",
    function="moestat.papers.sigmoid_attention.starts_figure:starts",
    caption="Voronoi loss L3 after ten full-batch steps of 0.1, from three starts of each gate; geometric "
    "means over ten truths with 95 % intervals, and their slopes. Dashed: the power of n that Figure 1 prints. "
    "Squares, other data: local least squares, from the record of the preset truths (six truths). Grey: the "
    "information bound, what least squares that is told the number of experts can reach (median truth, and the "
    "range of the ten).",
    presets=["quick"],
)

study.figure(
    "estimators",
    kind="rates",
    title="Truth softmax: parameter error of the fitted mixing measure",
    xlabel="sample size n",
    per="theta",
    columns=2,
    panels=[
        dict(
            title=f"{gate} gate, {experts} experts",
            arms=[
                f"argmin-{gate}-{expert}*",
                f"{gate}-{expert}",
                f"{gate}-{expert}-sgd-fixed",
                f"{gate}-{expert}-sgd-root",
            ],
            variable="L3",
            ylabel="Voronoi loss L3",
        )
        for (expert, experts), gate in itertools.product(
            [("relu", "ReLU"), ("linear", "linear")], ["softmax", "sigmoid"]
        )
    ],
    caption="Voronoi loss L3 to the truth (softmax gate) or to the nearest pseudo-truth (sigmoid gate).",
    presets=PRESETS,
)

study.figure(
    "quotient_and_function",
    kind="rates",
    title="Truth softmax: the same fits, in losses that do not depend on where an extra atom goes",
    xlabel="sample size n",
    per="theta",
    columns=2,
    panels=[
        dict(
            title=f"{experts} experts",
            arms=[f"argmin-*-{expert}", f"softmax-{expert}", f"sigmoid-{expert}"],
            variable=variable,
            ylabel=ylabel,
        )
        for (variable, ylabel), (expert, experts) in itertools.product(
            [("quotient", "quotient loss"), ("rmse", "function error (RMSE)")], [("relu", "ReLU"), ("linear", "linear")]
        )
    ],
    caption="Quotient loss (modulo splitting and null atoms) and L2 distance of the fitted function to the true one; "
    "the sigmoid gate's function error has a floor at the distance of its pseudo-truth.",
    presets=PRESETS,
)
