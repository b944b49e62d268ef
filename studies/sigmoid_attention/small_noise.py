"""Sigmoid gating with little noise: where the asymptotics have begun."""

from functools import partial

from moestat import Study
from moestat.study.rules import function, slope

PAPER_SAYS_STRONGLY = (
    "The paper says it of strongly identifiable experts, and counts ReLU networks among them (after Def 1)."
)
PAPER_SAYS_WEAKLY = "The paper says it of weakly identifiable experts, and counts polynomials among them (after Def 2)."
PAPER_SAYS_PARTIAL = (
    "The paper says it of partial-weakly identifiable experts, and counts polynomials among them (after Def 4)."
)
SLOPE_OF_SUM = "studies.sigmoid_attention.parts.sum_rules:slope_of_sum"
ORDERED_SERIES = "studies.sigmoid_attention.parts.order_rules:ordered_series"

study = Study(
    "Sigmoid gating with little noise: where the asymptotics have begun",
    paper="sigmoid-attention",
    source="SA §4, Thms 1 and 3; App. C, Thms 4 and 5",
    question="At the noise of the other studies the place of a surplus atom is not found at any size that can "
    "be run. With little noise, and experts kept from 0 as the paper's examples have them, does least squares "
    "have the rates of Theorems 1, 3, 4 and 5?",
    experiment="regression",
    seed=20260720,
    settings=dict(
        d=3,
        n_true=3,
        n_fitted=4,
        truth_gate="sigmoid",
        fitted_gate="sigmoid",
        noise_variance=1e-10,
        evaluation_log2=13,
        truths=30,
        box=5.0,
        start_radius=0.01,
    ),
    grid=dict(n=[1000, 2154, 4642, 10_000]),
    summaries=["over_atom", "exact_atom", "empty_cells", "box_hits"],
)

study.preset(
    "quick",
    "GELU experts in the sparse regime, ten truths.",
    expected="about 2 minutes on 2 cores",
    replicates=10,
    block=5,
    arms=["sparse-gelu-*"],
)

study.preset("many", "Every arm, thirty truths.", expected="about 20 minutes on 2 cores", replicates=30, block=10)

# the same fits and three times as many truths
# to 2000 steps, 57 of the 360 fits with GELU experts and b had not ended, and a verdict hung on them
study.preset(
    "ninety",
    "GELU experts in the sparse regime and linear ones in the dense regime without b, ninety truths, the thirty "
    "of `many` among them, and three times the steps.",
    expected="about 25 minutes on 2 cores",
    replicates=90,
    block=15,
    rank=2,
    arms=["sparse-gelu-*", "dense-linear-partial"],
    settings=dict(truths=90, max_iterations=6000),
)

study.arm(
    "sparse-gelu-full",
    "GELU, with b",
    regime="sparse",
    expert="gelu",
    starts=2,
    truth_score="full",
    fitted_score="full",
)
study.arm(
    "sparse-gelu-partial",
    "GELU, without b",
    regime="sparse",
    expert="gelu",
    starts=2,
    truth_score="partial",
    fitted_score="partial",
)
study.arm(
    "sparse-relu-full",
    "ReLU, with b",
    regime="sparse",
    expert="relu",
    starts=4,
    truth_score="full",
    fitted_score="full",
)
study.arm(
    "sparse-relu-partial",
    "ReLU, without b",
    regime="sparse",
    expert="relu",
    starts=4,
    truth_score="partial",
    fitted_score="partial",
)
study.arm(
    "dense-relu-full", "ReLU, with b", regime="dense", expert="relu", starts=4, truth_score="full", fitted_score="full"
)
study.arm(
    "dense-relu-partial",
    "ReLU, without b",
    regime="dense",
    expert="relu",
    starts=4,
    truth_score="partial",
    fitted_score="partial",
)
study.arm(
    "dense-linear-full",
    "linear, with b",
    regime="dense",
    expert="linear",
    starts=4,
    truth_score="full",
    fitted_score="full",
)
study.arm(
    "dense-linear-partial",
    "linear, without b",
    regime="dense",
    expert="linear",
    starts=4,
    truth_score="partial",
    fitted_score="partial",
)
study.arm(
    "dense-square-full",
    "p = 2, with b",
    regime="dense",
    expert="polynomial",
    starts=4,
    truth_score="full",
    fitted_score="full",
    power=2,
)
study.arm(
    "dense-square-partial",
    "p = 2, without b",
    regime="dense",
    expert="polynomial",
    starts=4,
    truth_score="partial",
    fitted_score="partial",
    power=2,
)

study.arm(
    "sparse-linear-partial",
    "linear, without b",
    regime="sparse",
    expert="linear",
    starts=4,
    truth_score="partial",
    fitted_score="partial",
)

study.rate("L1", arms=["sparse-*-full"], bound=-0.5, reference="fisher_L3")
study.rate("L4", arms=["sparse-*-partial"], bound=-0.5, reference="fisher_L3")
study.rate("L3", arms=["dense-*-full"], bound=-0.5, reference="fisher_L3")
study.rate("L5", arms=["dense-*-partial"], bound=-0.5, reference="fisher_L3")
study.rate("quotient")
study.rate("over_atom", arms=["sparse-*"], bound=-0.25)
study.rate("exact_atom", arms=["sparse-*"], bound=-0.5)
study.rate("rmse", bound=-0.5, reference="fisher_rmse")

claim = partial(
    study.claim,
    source="SA §4.1.1, (i) and (ii) after Thm 1",
    because="The paper says it of strongly identifiable experts, and counts GELU networks among them (after Def 1).",
    presets=["quick", "many", "ninety"],
)
# --- claims: the verdict says which rules were edited or added after the run ---
claim(
    "theorem-1-gelu",
    "Sparse regime, GELU experts, a kept from 0, score with b, noise variance 1e-10: L1 converges at the rate "
    "sqrt(log n / n).",
    slope("L1", "sparse-gelu-full").at_most(-0.4, predicted=-0.5),
    dict(source="SA Thm 1 with the example after Def 1", group="thm-1-gelu", level=0.983),
)
claim(
    "over-atoms-1-gelu",
    "Sparse regime, GELU experts, a kept from 0, score with b, noise variance 1e-10: over-specified atoms "
    "converge like n^(-1/4), up to logarithms, or faster.",
    function(SLOPE_OF_SUM, "over_atom", "sparse-gelu-full", options=dict(parts=["eta_over_atom"])).at_most(-0.15),
    dict(group="thm-1-over-specified-gelu", level=0.983),
)
claim(
    "over-experts-1-gelu",
    "Sparse regime, GELU experts, a kept from 0, score with b, noise variance 1e-10: the eta of over-specified "
    "atoms, whose error to that of the true atom bounds that of their experts (as in eq. 10), converges like "
    "n^(-1/4), up to logarithms, or faster.",
    slope("eta_over_atom", "sparse-gelu-full").at_most(-0.15, predicted="-0.25"),
    dict(group="thm-1-over-specified-experts-gelu", level=0.983),
)
claim(
    "exact-atoms-1-gelu",
    "Sparse regime, GELU experts, a kept from 0, score with b, noise variance 1e-10: exactly specified atoms "
    "converge like n^(-1/2), up to logarithms, or faster.",
    slope("exact_atom", "sparse-gelu-full").at_most(-0.4, predicted=-0.5),
    dict(group="thm-1-exactly-specified-gelu", level=0.983),
)
claim(
    "exact-faster-1-gelu",
    "Sparse regime, GELU experts, a kept from 0, score with b, noise variance 1e-10: exactly specified atoms "
    "converge faster than over-specified ones.",
    function(
        ORDERED_SERIES,
        "exact_atom",
        "sparse-gelu-full",
        versus_variable="over_atom",
        options=dict(slower_at_most=-0.15),
    ).at_most(0.0, predicted="-0.25"),
    dict(group="thm-1-faster-gelu", level=0.983),
)
claim(
    "theorem-1-relu",
    "Sparse regime, ReLU experts, score with b, noise variance 1e-10: L1 converges at the rate sqrt(log n / n).",
    slope("L1", "sparse-relu-full").at_most(-0.4, predicted=-0.5),
    dict(source="SA Thm 1 with the example after Def 1", because=PAPER_SAYS_STRONGLY, group="thm-1-relu"),
    presets=["many"],
)
claim(
    "over-atoms-1-relu",
    "Sparse regime, ReLU experts, score with b, noise variance 1e-10: over-specified atoms converge like "
    "n^(-1/4), up to logarithms, or faster.",
    function(SLOPE_OF_SUM, "over_atom", "sparse-relu-full", options=dict(parts=["eta_over_atom"])).at_most(-0.15),
    dict(because=PAPER_SAYS_STRONGLY, group="thm-1-over-specified-relu", presets=["many"]),
)
claim(
    "over-experts-1-relu",
    "Sparse regime, ReLU experts, score with b, noise variance 1e-10: the eta of over-specified atoms, whose "
    "error to that of the true atom bounds that of their experts (as in eq. 10), converges like n^(-1/4), up to "
    "logarithms, or faster.",
    slope("eta_over_atom", "sparse-relu-full").at_most(-0.15, predicted="-0.25"),
    dict(because=PAPER_SAYS_STRONGLY, group="thm-1-over-specified-experts-relu", presets=["many"]),
)
claim = partial(
    study.claim,
    because="The paper says it of partial-strongly identifiable experts, and counts GELU networks among them "
    "(after Def 3).",
    presets=["quick", "many", "ninety"],
)
claim(
    "exact-atoms-1-relu",
    "Sparse regime, ReLU experts, score with b, noise variance 1e-10: exactly specified atoms converge like "
    "n^(-1/2), up to logarithms, or faster.",
    slope("exact_atom", "sparse-relu-full").at_most(-0.4, predicted=-0.5),
    dict(source="SA §4.1.1, (i) and (ii) after Thm 1", because=PAPER_SAYS_STRONGLY),
    dict(group="thm-1-exactly-specified-relu", presets=["many"]),
)
claim(
    "exact-faster-1-relu",
    "Sparse regime, ReLU experts, score with b, noise variance 1e-10: exactly specified atoms converge faster "
    "than over-specified ones.",
    function(
        ORDERED_SERIES,
        "exact_atom",
        "sparse-relu-full",
        versus_variable="over_atom",
        options=dict(slower_at_most=-0.15),
    ).at_most(0.0, predicted="-0.25"),
    dict(source="SA §4.1.1, (i) and (ii) after Thm 1", because=PAPER_SAYS_STRONGLY, group="thm-1-faster-relu"),
    presets=["many"],
)
claim(
    "theorem-4-gelu",
    "Sparse regime, GELU experts, a kept from 0, score without b, noise variance 1e-10: L4 converges at the "
    "rate sqrt(log n / n).",
    slope("L4", "sparse-gelu-partial").at_most(-0.4, predicted=-0.5),
    dict(source="SA Thm 4 with the example after Def 3", group="thm-4-gelu", level=0.983),
)
claim(
    "over-atoms-4-gelu",
    "Sparse regime, GELU experts, a kept from 0, score without b, noise variance 1e-10: over-specified atoms "
    "converge like n^(-1/4), up to logarithms, or faster.",
    function(SLOPE_OF_SUM, "over_atom", "sparse-gelu-partial", options=dict(parts=["eta_over_atom"])).at_most(-0.15),
    dict(source="SA App. C.1.2, (i) and (ii) after Thm 4", group="thm-4-over-specified-gelu", level=0.983),
)
claim(
    "over-experts-4-gelu",
    "Sparse regime, GELU experts, a kept from 0, score without b, noise variance 1e-10: the eta of "
    "over-specified atoms, whose error to that of the true atom bounds that of their experts (as in eq. 10), "
    "converges like n^(-1/4), up to logarithms, or faster.",
    slope("eta_over_atom", "sparse-gelu-partial").at_most(-0.15, predicted="-0.25"),
    dict(source="SA App. C.1.2, (i) and (ii) after Thm 4", group="thm-4-over-specified-experts-gelu", level=0.983),
)
claim(
    "exact-atoms-4-gelu",
    "Sparse regime, GELU experts, a kept from 0, score without b, noise variance 1e-10: exactly specified atoms "
    "converge like n^(-1/2), up to logarithms, or faster.",
    slope("exact_atom", "sparse-gelu-partial").at_most(-0.4, predicted=-0.5),
    dict(source="SA App. C.1.2, (i) and (ii) after Thm 4", group="thm-4-exactly-specified-gelu", level=0.983),
)
claim(
    "exact-faster-4-gelu",
    "Sparse regime, GELU experts, a kept from 0, score without b, noise variance 1e-10: exactly specified atoms "
    "converge faster than over-specified ones.",
    function(
        ORDERED_SERIES,
        "exact_atom",
        "sparse-gelu-partial",
        versus_variable="over_atom",
        options=dict(slower_at_most=-0.15),
    ).at_most(0.0, predicted="-0.25"),
    dict(source="SA App. C.1.2, (i) and (ii) after Thm 4", group="thm-4-faster-gelu", level=0.983),
)
claim = partial(
    study.claim,
    source="SA App. C.1.2, (i) and (ii) after Thm 4",
    because="The paper says it of partial-strongly identifiable experts, and counts ReLU networks among them "
    "(after Def 3).",
    presets=["many"],
)
claim(
    "theorem-4-relu",
    "Sparse regime, ReLU experts, score without b, noise variance 1e-10: L4 converges at the rate sqrt(log n / n).",
    slope("L4", "sparse-relu-partial").at_most(-0.4, predicted=-0.5),
    dict(source="SA Thm 4 with the example after Def 3", group="thm-4-relu"),
)
claim(
    "over-atoms-4-relu",
    "Sparse regime, ReLU experts, score without b, noise variance 1e-10: over-specified atoms converge like "
    "n^(-1/4), up to logarithms, or faster.",
    function(SLOPE_OF_SUM, "over_atom", "sparse-relu-partial", options=dict(parts=["eta_over_atom"])).at_most(-0.15),
    group="thm-4-over-specified-relu",
)
claim(
    "over-experts-4-relu",
    "Sparse regime, ReLU experts, score without b, noise variance 1e-10: the eta of over-specified atoms, whose "
    "error to that of the true atom bounds that of their experts (as in eq. 10), converges like n^(-1/4), up to "
    "logarithms, or faster.",
    slope("eta_over_atom", "sparse-relu-partial").at_most(-0.15, predicted="-0.25"),
    group="thm-4-over-specified-experts-relu",
)
claim(
    "exact-atoms-4-relu",
    "Sparse regime, ReLU experts, score without b, noise variance 1e-10: exactly specified atoms converge like "
    "n^(-1/2), up to logarithms, or faster.",
    slope("exact_atom", "sparse-relu-partial").at_most(-0.4, predicted=-0.5),
    group="thm-4-exactly-specified-relu",
)
claim(
    "exact-faster-4-relu",
    "Sparse regime, ReLU experts, score without b, noise variance 1e-10: exactly specified atoms converge "
    "faster than over-specified ones.",
    function(
        ORDERED_SERIES,
        "exact_atom",
        "sparse-relu-partial",
        versus_variable="over_atom",
        options=dict(slower_at_most=-0.15),
    ).at_most(0.0, predicted="-0.25"),
    group="thm-4-faster-relu",
)
claim = partial(
    study.claim,
    because="The paper says it of partial-strongly identifiable experts, and counts polynomials among them "
    "(after Def 3).",
    presets=["many"],
)
claim(
    "theorem-4-linear",
    "Sparse regime, linear experts, score without b, noise variance 1e-10: L4 converges at the rate sqrt(log n / n).",
    slope("L4", "sparse-linear-partial").at_most(-0.4, predicted=-0.5),
    dict(source="SA Thm 4 with the example after Def 3", group="thm-4-linear"),
)
claim(
    "over-atoms-4-linear",
    "Sparse regime, linear experts, score without b, noise variance 1e-10: over-specified atoms converge like "
    "n^(-1/4), up to logarithms, or faster.",
    function(SLOPE_OF_SUM, "over_atom", "sparse-linear-partial", options=dict(parts=["eta_over_atom"])).at_most(-0.15),
    dict(source="SA App. C.1.2, (i) and (ii) after Thm 4", group="thm-4-over-specified-linear"),
)
claim(
    "over-experts-4-linear",
    "Sparse regime, linear experts, score without b, noise variance 1e-10: the eta of over-specified atoms, "
    "whose error to that of the true atom bounds that of their experts (as in eq. 10), converges like n^(-1/4), "
    "up to logarithms, or faster.",
    slope("eta_over_atom", "sparse-linear-partial").at_most(-0.15, predicted="-0.25"),
    dict(source="SA App. C.1.2, (i) and (ii) after Thm 4", group="thm-4-over-specified-experts-linear"),
)
claim(
    "exact-atoms-4-linear",
    "Sparse regime, linear experts, score without b, noise variance 1e-10: exactly specified atoms converge "
    "like n^(-1/2), up to logarithms, or faster.",
    slope("exact_atom", "sparse-linear-partial").at_most(-0.4, predicted=-0.5),
    dict(source="SA App. C.1.2, (i) and (ii) after Thm 4", group="thm-4-exactly-specified-linear"),
)
claim(
    "exact-faster-4-linear",
    "Sparse regime, linear experts, score without b, noise variance 1e-10: exactly specified atoms converge "
    "faster than over-specified ones.",
    function(
        ORDERED_SERIES,
        "exact_atom",
        "sparse-linear-partial",
        versus_variable="over_atom",
        options=dict(slower_at_most=-0.15),
    ).at_most(0.0, predicted="-0.25"),
    dict(source="SA App. C.1.2, (i) and (ii) after Thm 4", group="thm-4-faster-linear"),
)
claim(
    "theorem-3-relu",
    "Dense regime, ReLU experts, score with b, noise variance 1e-10: L3 converges at the rate sqrt(log n / n).",
    slope("L3", "dense-relu-full").at_most(-0.4, predicted=-0.5),
    dict(source="SA Thm 3 with the example after Def 2", group="thm-3"),
    because="The paper says it of weakly identifiable experts, and counts ReLU networks among them (after Def 2).",
)
claim(
    "theorem-3-linear",
    "Dense regime, linear experts, score with b, noise variance 1e-10: L3 converges at the rate sqrt(log n / n).",
    slope("L3", "dense-linear-full").at_most(-0.4, predicted=-0.5),
    dict(source="SA Thm 3 with the example after Def 2", because=PAPER_SAYS_WEAKLY, group="thm-3"),
)
claim = partial(study.claim, source="SA Thm 5 with the example after Def 4", group="thm-5", presets=["many"])
claim(
    "theorem-3-square",
    "Dense regime, squared experts, score with b, noise variance 1e-10: L3 converges at the rate sqrt(log n / n).",
    slope("L3", "dense-square-full").at_most(-0.4, predicted=-0.5),
    dict(source="SA Thm 3 with the example after Def 2", because=PAPER_SAYS_WEAKLY, group="thm-3"),
)
claim(
    "theorem-5-relu",
    "Dense regime, ReLU experts, score without b, noise variance 1e-10: L5 converges at the rate sqrt(log n / n).",
    slope("L5", "dense-relu-partial").at_most(-0.4, predicted=-0.5),
    because="The paper says it of partial-weakly identifiable experts, and counts ReLU networks among them "
    "(after Def 4).",
)
claim(
    "theorem-5-linear",
    "Dense regime, linear experts, score without b, noise variance 1e-10: L5 converges at the rate sqrt(log n / n).",
    slope("L5", "dense-linear-partial").at_most(-0.4, predicted=-0.5),
    dict(because=PAPER_SAYS_PARTIAL, level=0.975, presets=["many", "ninety"]),
)
claim(
    "theorem-5-square",
    "Dense regime, squared experts, score without b, noise variance 1e-10: L5 converges at the rate sqrt(log n / n).",
    slope("L5", "dense-square-partial").at_most(-0.4, predicted=-0.5),
    because=PAPER_SAYS_PARTIAL,
)
study.claim(
    "function-sparse-gelu-full",
    "Sparse regime, GELU experts, score with b, noise variance 1e-10: the function error falls at the rate "
    "sqrt(log n / n) or faster.",
    slope("rmse", "sparse-gelu-full").at_most(-0.4, predicted=-0.5),
    dict(source="SA Prop. 1", group="prop-1-small-noise", level=0.983, presets=["quick", "many", "ninety"]),
)
study.claim(
    "function-sparse-gelu-partial",
    "Sparse regime, GELU experts, score without b, noise variance 1e-10: the function error falls at the rate "
    "sqrt(log n / n) or faster.",
    slope("rmse", "sparse-gelu-partial").at_most(-0.4, predicted=-0.5),
    dict(source="SA Prop. 3", group="prop-3-small-noise", level=0.983, presets=["quick", "many", "ninety"]),
)

study.finding(
    {"theorem-1-gelu": "supported", "exact-atoms-1-gelu": "supported", "over-atoms-1-gelu": "supported"},
    "The rate of Theorem 1 and both of its orders show at drawn truths for GELU experts that are kept from 0, "
    "once the asymptotics have begun.",
)
study.finding(
    {"theorem-4-gelu": "supported", "exact-atoms-4-gelu": "supported", "over-atoms-4-gelu": "supported"},
    "The rate of Theorem 4 and both of its orders show at drawn truths for GELU experts that are kept from 0, "
    "once the asymptotics have begun.",
)
study.finding(
    {"theorem-3-linear": "not supported"},
    "With linear experts L3 does not have the rate of Theorem 3 once the asymptotics have begun, though it does "
    "with more noise (`sigmoid_regimes`): the gates of two shares of an expert are found at n^(-1/4).",
)
study.finding(
    {"theorem-1-relu": "not supported"},
    "With ReLU experts L1 does not have the rate of Theorem 1 with little noise either: they can be split in "
    "any proportion.",
)
study.finding(
    {"theorem-4-relu": "not supported"},
    "With ReLU experts L4 does not have the rate of Theorem 4 with little noise either: they can be split in "
    "any proportion.",
)

study.figure(
    kind="rates",
    title="Little noise: losses of Theorems 1, 3, 4 and 5",
    xlabel="sample size n",
    columns=2,
    panels=[
        dict(title=title, arms=arms, variable=variable, ylabel=ylabel)
        for title, arms, variable, ylabel in [
            ("sparse, with b (Theorem 1)", ["sparse-*-full"], "L1", "L1"),
            ("sparse, without b (Theorem 4)", ["sparse-*-partial"], "L4", "L4"),
            ("over-specified atoms", ["sparse-*"], "over_atom", "error per atom"),
            ("exactly specified atoms", ["sparse-*"], "exact_atom", "error per atom"),
            ("dense, with b (Theorem 3)", ["dense-*-full"], "L3", "L3"),
            ("dense, without b (Theorem 5)", ["dense-*-partial"], "L5", "L5"),
        ]
    ],
    caption="Noise of variance 1e-10, d = 3, three true and four fitted atoms, a truth of its own for each replicate. "
    "Geometric means, 95 % t-intervals. GELU experts are kept from 0.",
)
