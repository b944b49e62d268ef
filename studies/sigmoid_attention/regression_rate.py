"""How fast least squares finds the regression function (sigmoid-attention, Proposition 1 and Corollary 1)."""

import itertools

from moestat import Study
from moestat.study.rules import log_ratio, slope

WINDOW_TEN_SAMPLES = "The window, ten samples per parameter or more, was set after a run that had all sizes."
ATOM_SPLIT_MODEL = (
    "With an atom split the model has the true function, so the closest functions of Corollary 1 are f* itself."
)
BESIDE_COR_WHOSE = "ours: beside SA Cor. 1, whose closest function cannot be told from f* at this d"
FITS_SIGMOID_MODEL = (
    "Section 5.1 fits the sigmoid model to softmax data and measures the loss of Theorem 3, which rests on Corollary 1."
)
BESIDE_APP_SIZES = "ours: beside SA §3, App. C.1.1, at sizes that cannot tell its limit from f*"

study = Study(
    "Regression rate: distance of the fitted function to the true one",
    paper="sigmoid-attention",
    source="SA §3, Prop. 1, Cor. 1",
    question="Does the least-squares fit with one atom too many find the regression function at the rate "
    "sqrt(log n / n), in the sparse regime and in the dense one, and the pseudo-truth's function when the model "
    "does not contain the truth?",
    experiment="regression",
    seed=20260720,
    settings=dict(
        d=8,
        n_true=8,
        n_fitted=9,
        truth_gate="sigmoid",
        fitted_gate="sigmoid",
        noise_variance=0.01,
        box=5.0,
        start_radius=0.05,
    ),
    grid=dict(n=[1000, 1931, 3728, 7197, 13_895, 26_827, 51_795, 100_000]),
    summaries=["box_hits", "truth_loss", "train_loss"],
)

study.preset(
    "quick",
    "Three true experts, four fitted, d = 2, thirty truths, n = 14 to 139 times the 36 parameters.",
    expected="about 80 s on 2 cores (estimated)",
    replicates=30,
    grid=dict(n=[500, 1100, 2300, 5000]),
    arms=["sparse-*-d2", "dense-*-d2"],
    settings=dict(n_true=3, n_fitted=4, evaluation_log2=13, truths=30),
)

study.preset(
    "dimensions",
    "The same with d = 1 (n = 25 to 250 times the 20 parameters), and against softmax truths at d = 2.",
    expected="about 8 minutes on 2 cores",
    replicates=30,
    grid=dict(n=[500, 1100, 2300, 5000]),
    arms=["*-d1", "*-d2"],
    settings=dict(n_true=3, n_fitted=4, evaluation_log2=13, pseudo_points_log2=11, pseudo_polish_log2=13, truths=30),
)

study.preset(
    "paper",
    "The paper's own size: d = 8, N* = 8, N = 9, eight sizes from 1e3 to 1e5, ten truths.",
    expected="about 35 minutes on 2 cores",
    replicates=10,
    arms=["*-d8"],
    settings=dict(truths=10),
)

for (truth, settings), (expert, experts), d in itertools.product(
    [
        ("sparse", dict(regime="sparse")),
        ("dense", dict(regime="dense")),
        ("pseudo", dict(regime="dense", truth_gate="softmax")),
    ],
    [("relu", "ReLU"), ("linear", "linear")],
    [1, 2, 8],
):
    study.arm(f"{truth}-{expert}-d{d}", f"{experts}, d = {d}", d=d, expert=expert, **settings)

for loss, arms in [("rmse", ["sparse-*", "dense-*"]), ("rmse_pseudo", ["pseudo-*"])]:
    study.rate(loss, arms=arms, bound=-0.5, reference="bound_rmse")

# --- claims: rules written before the run ---
study.claim(
    "bound-sparse-relu-d1",
    "Sparse regime: the function error of ReLU experts at d = 1 falls at the rate sqrt(log n / n) or faster.",
    slope("rmse", "sparse-relu-d1").at_most(-0.4, predicted=-0.5),
    dict(source="SA Prop. 1", origin="stated", group="prop-1", scale="reduced", presets=["dimensions"]),
)
study.ours(
    "root-sparse-relu-d1",
    "Sparse regime: the function error of ReLU experts at d = 1 falls like n^(-1/2), no faster.",
    slope("rmse", "sparse-relu-d1").within(-0.6, -0.4, predicted=-0.5),
    dict(source="ours: the asymptotic range of SA Prop. 1", group="prop-1-asymptotic-range", scale="reduced"),
    presets=["dimensions"],
)
study.claim(
    "bound-sparse-relu-d2",
    "Sparse regime: the function error of ReLU experts at d = 2 falls at the rate sqrt(log n / n) or faster.",
    slope("rmse", "sparse-relu-d2").at_most(-0.4, predicted=-0.5),
    dict(source="SA Prop. 1", origin="stated", group="prop-1", scale="reduced"),
)
study.ours(
    "root-sparse-relu-d2",
    "Sparse regime: the function error of ReLU experts at d = 2 falls like n^(-1/2), no faster.",
    slope("rmse", "sparse-relu-d2").within(-0.6, -0.4, predicted=-0.5),
    dict(source="ours: the asymptotic range of SA Prop. 1", group="prop-1-asymptotic-range", scale="reduced"),
)
study.claim(
    "bound-sparse-relu-d8",
    "Sparse regime: the function error of ReLU experts at d = 8 falls at the rate sqrt(log n / n) or faster.",
    slope("rmse", "sparse-relu-d8", window=[4860, 100_000]).at_most(-0.4, predicted=-0.5),
    dict(source="SA Prop. 1", origin="stated", hindsight=WINDOW_TEN_SAMPLES, group="prop-1", presets=["paper"]),
)
study.ours(
    "root-sparse-relu-d8",
    "Sparse regime: the function error of ReLU experts at d = 8 falls like n^(-1/2), no faster.",
    slope("rmse", "sparse-relu-d8", window=[4860, 100_000]).within(-0.6, -0.4, predicted=-0.5),
    dict(source="ours: the asymptotic range of SA Prop. 1", hindsight=WINDOW_TEN_SAMPLES),
    dict(group="prop-1-asymptotic-range", presets=["paper"]),
)
study.claim(
    "bound-sparse-linear-d1",
    "Sparse regime: the function error of linear experts at d = 1 falls at the rate sqrt(log n / n) or faster.",
    slope("rmse", "sparse-linear-d1").at_most(-0.4, predicted=-0.5),
    dict(source="SA Prop. 1", origin="stated", group="prop-1", scale="reduced", presets=["dimensions"]),
)
study.ours(
    "root-sparse-linear-d1",
    "Sparse regime: the function error of linear experts at d = 1 falls like n^(-1/2), no faster.",
    slope("rmse", "sparse-linear-d1").within(-0.6, -0.4, predicted=-0.5),
    dict(source="ours: the asymptotic range of SA Prop. 1", group="prop-1-asymptotic-range", scale="reduced"),
    presets=["dimensions"],
)
study.claim(
    "bound-sparse-linear-d2",
    "Sparse regime: the function error of linear experts at d = 2 falls at the rate sqrt(log n / n) or faster.",
    slope("rmse", "sparse-linear-d2").at_most(-0.4, predicted=-0.5),
    dict(source="SA Prop. 1", origin="stated", group="prop-1", scale="reduced"),
)
study.ours(
    "root-sparse-linear-d2",
    "Sparse regime: the function error of linear experts at d = 2 falls like n^(-1/2), no faster.",
    slope("rmse", "sparse-linear-d2").within(-0.6, -0.4, predicted=-0.5),
    dict(source="ours: the asymptotic range of SA Prop. 1", group="prop-1-asymptotic-range", scale="reduced"),
)
study.claim(
    "bound-sparse-linear-d8",
    "Sparse regime: the function error of linear experts at d = 8 falls at the rate sqrt(log n / n) or faster.",
    slope("rmse", "sparse-linear-d8", window=[4860, 100_000]).at_most(-0.4, predicted=-0.5),
    dict(source="SA Prop. 1", origin="stated", hindsight=WINDOW_TEN_SAMPLES, group="prop-1", presets=["paper"]),
)
study.ours(
    "root-sparse-linear-d8",
    "Sparse regime: the function error of linear experts at d = 8 falls like n^(-1/2), no faster.",
    slope("rmse", "sparse-linear-d8", window=[4860, 100_000]).within(-0.6, -0.4, predicted=-0.5),
    dict(source="ours: the asymptotic range of SA Prop. 1", hindsight=WINDOW_TEN_SAMPLES),
    dict(group="prop-1-asymptotic-range", presets=["paper"]),
)
study.claim(
    "bound-dense-relu-d1",
    "Dense regime: the function error of ReLU experts at d = 1 falls at the rate sqrt(log n / n) or faster.",
    slope("rmse", "dense-relu-d1").at_most(-0.4, predicted=-0.5),
    dict(source="SA Cor. 1", because=ATOM_SPLIT_MODEL, group="cor-1", scale="reduced", presets=["dimensions"]),
)
study.ours(
    "root-dense-relu-d1",
    "Dense regime: the function error of ReLU experts at d = 1 falls like n^(-1/2), no faster.",
    slope("rmse", "dense-relu-d1").within(-0.6, -0.4, predicted=-0.5),
    dict(source="ours: the asymptotic range of SA Cor. 1", group="cor-1-asymptotic-range", scale="reduced"),
    presets=["dimensions"],
)
study.claim(
    "bound-dense-relu-d2",
    "Dense regime: the function error of ReLU experts at d = 2 falls at the rate sqrt(log n / n) or faster.",
    slope("rmse", "dense-relu-d2").at_most(-0.4, predicted=-0.5),
    dict(source="SA Cor. 1", because=ATOM_SPLIT_MODEL, group="cor-1", scale="reduced"),
)
study.ours(
    "root-dense-relu-d2",
    "Dense regime: the function error of ReLU experts at d = 2 falls like n^(-1/2), no faster.",
    slope("rmse", "dense-relu-d2").within(-0.6, -0.4, predicted=-0.5),
    dict(source="ours: the asymptotic range of SA Cor. 1", group="cor-1-asymptotic-range", scale="reduced"),
)
study.claim(
    "bound-dense-relu-d8",
    "Dense regime: the function error of ReLU experts at d = 8 falls at the rate sqrt(log n / n) or faster.",
    slope("rmse", "dense-relu-d8", window=[4860, 100_000]).at_most(-0.4, predicted=-0.5),
    dict(source="SA Cor. 1", because=ATOM_SPLIT_MODEL, hindsight=WINDOW_TEN_SAMPLES, group="cor-1"),
    presets=["paper"],
)
study.ours(
    "root-dense-relu-d8",
    "Dense regime: the function error of ReLU experts at d = 8 falls like n^(-1/2), no faster.",
    slope("rmse", "dense-relu-d8", window=[4860, 100_000]).within(-0.6, -0.4, predicted=-0.5),
    dict(source="ours: the asymptotic range of SA Cor. 1", hindsight=WINDOW_TEN_SAMPLES),
    dict(group="cor-1-asymptotic-range", presets=["paper"]),
)
study.claim(
    "bound-dense-linear-d1",
    "Dense regime: the function error of linear experts at d = 1 falls at the rate sqrt(log n / n) or faster.",
    slope("rmse", "dense-linear-d1").at_most(-0.4, predicted=-0.5),
    dict(source="SA Cor. 1", because=ATOM_SPLIT_MODEL, group="cor-1", scale="reduced", presets=["dimensions"]),
)
study.ours(
    "root-dense-linear-d1",
    "Dense regime: the function error of linear experts at d = 1 falls like n^(-1/2), no faster.",
    slope("rmse", "dense-linear-d1").within(-0.6, -0.4, predicted=-0.5),
    dict(source="ours: the asymptotic range of SA Cor. 1", group="cor-1-asymptotic-range", scale="reduced"),
    presets=["dimensions"],
)
study.claim(
    "bound-dense-linear-d2",
    "Dense regime: the function error of linear experts at d = 2 falls at the rate sqrt(log n / n) or faster.",
    slope("rmse", "dense-linear-d2").at_most(-0.4, predicted=-0.5),
    dict(source="SA Cor. 1", because=ATOM_SPLIT_MODEL, group="cor-1", scale="reduced"),
)
study.ours(
    "root-dense-linear-d2",
    "Dense regime: the function error of linear experts at d = 2 falls like n^(-1/2), no faster.",
    slope("rmse", "dense-linear-d2").within(-0.6, -0.4, predicted=-0.5),
    dict(source="ours: the asymptotic range of SA Cor. 1", group="cor-1-asymptotic-range", scale="reduced"),
)
study.claim(
    "bound-dense-linear-d8",
    "Dense regime: the function error of linear experts at d = 8 falls at the rate sqrt(log n / n) or faster.",
    slope("rmse", "dense-linear-d8", window=[4860, 100_000]).at_most(-0.4, predicted=-0.5),
    dict(source="SA Cor. 1", because=ATOM_SPLIT_MODEL, hindsight=WINDOW_TEN_SAMPLES, group="cor-1"),
    presets=["paper"],
)
study.ours(
    "root-dense-linear-d8",
    "Dense regime: the function error of linear experts at d = 8 falls like n^(-1/2), no faster.",
    slope("rmse", "dense-linear-d8", window=[4860, 100_000]).within(-0.6, -0.4, predicted=-0.5),
    dict(source="ours: the asymptotic range of SA Cor. 1", hindsight=WINDOW_TEN_SAMPLES),
    dict(group="cor-1-asymptotic-range", presets=["paper"]),
)
# For d = 1 and 2 the pseudo-truth's function is so near to f* that its distance is no test of Corollary 1.
study.ours(
    "bound-pseudo-relu-d1",
    "Softmax truth: the distance to the pseudo-truth's function of ReLU experts at d = 1 falls at the rate "
    "sqrt(log n / n) or faster.",
    slope("rmse_pseudo", "pseudo-relu-d1").at_most(-0.4, predicted=-0.5),
    dict(source=BESIDE_COR_WHOSE, group="cor-1-outside-vacuous", scale="reduced", presets=["dimensions"]),
)
study.ours(
    "bound-pseudo-relu-d2",
    "Softmax truth: the distance to the pseudo-truth's function of ReLU experts at d = 2 falls at the rate "
    "sqrt(log n / n) or faster.",
    slope("rmse_pseudo", "pseudo-relu-d2").at_most(-0.4, predicted=-0.5),
    dict(source=BESIDE_COR_WHOSE, group="cor-1-outside-vacuous", scale="reduced", presets=["dimensions"]),
)
study.claim(
    "bound-pseudo-relu-d8",
    "Softmax truth: the distance to the pseudo-truth's function of ReLU experts at d = 8 falls at the rate "
    "sqrt(log n / n) or faster.",
    slope("rmse_pseudo", "pseudo-relu-d8", window=[4860, 100_000]).at_most(-0.4, predicted=-0.5),
    dict(source="SA Cor. 1, §5.1", because=FITS_SIGMOID_MODEL, hindsight=WINDOW_TEN_SAMPLES),
    dict(group="cor-1-outside", presets=["paper"]),
)
study.ours(
    "bound-pseudo-linear-d1",
    "Softmax truth: the distance to the pseudo-truth's function of linear experts at d = 1 falls at the rate "
    "sqrt(log n / n) or faster.",
    slope("rmse_pseudo", "pseudo-linear-d1").at_most(-0.4, predicted=-0.5),
    dict(source=BESIDE_COR_WHOSE, group="cor-1-outside-vacuous", scale="reduced", presets=["dimensions"]),
)
study.ours(
    "bound-pseudo-linear-d2",
    "Softmax truth: the distance to the pseudo-truth's function of linear experts at d = 2 falls at the rate "
    "sqrt(log n / n) or faster.",
    slope("rmse_pseudo", "pseudo-linear-d2").at_most(-0.4, predicted=-0.5),
    dict(source=BESIDE_COR_WHOSE, group="cor-1-outside-vacuous", scale="reduced", presets=["dimensions"]),
)
study.claim(
    "bound-pseudo-linear-d8",
    "Softmax truth: the distance to the pseudo-truth's function of linear experts at d = 8 falls at the rate "
    "sqrt(log n / n) or faster.",
    slope("rmse_pseudo", "pseudo-linear-d8", window=[4860, 100_000]).at_most(-0.4, predicted=-0.5),
    dict(source="SA Cor. 1, §5.1", because=FITS_SIGMOID_MODEL, hindsight=WINDOW_TEN_SAMPLES),
    dict(group="cor-1-outside", presets=["paper"]),
)

# Whether rmse_pseudo is another statement than rmse: the pseudo-truth must be further from f* than a fit is from it.
for (expert, experts), (d, n, presets) in itertools.product(
    [("relu", "ReLU"), ("linear", "linear")], [(2, 5000, ["dimensions"]), (8, 100_000, ["paper"])]
):
    study.ours(
        f"pseudo-visible-{expert}-d{d}",
        f"Softmax truth, {experts} experts, d = {d}, n = {n}: the fit is nearer to the pseudo-truth than the "
        "pseudo-truth is to f* (log ratio).",
        log_ratio("rmse_pseudo", f"pseudo-{expert}-d{d}", at=dict(n=n), versus_variable="pseudo_rmse").at_most(
            0.0, predicted="< 0"
        ),
        dict(source="check: whether Corollary 1 can be told from Proposition 1", group="pseudo-truth-visible"),
        presets=presets,
    )

study.ours(
    "no-convergence-relu-d1",
    "Dense regime, ReLU experts, d = 1: the error of the fitted function has stopped falling at these sizes.",
    slope("rmse", "dense-relu-d1").at_least(-0.1, predicted="does not fall"),
    dict(source=BESIDE_APP_SIZES, group="section-3-gap-fits", scale="reduced", presets=["dimensions"]),
)
study.ours(
    "no-convergence-relu-d2",
    "Dense regime, ReLU experts, d = 2: the error of the fitted function has stopped falling at these sizes.",
    slope("rmse", "dense-relu-d2").at_least(-0.1, predicted="does not fall"),
    dict(source=BESIDE_APP_SIZES, group="section-3-gap-fits", scale="reduced"),
)
study.ours(
    "no-convergence-relu-d8",
    "Dense regime, ReLU experts, d = 8: the error of the fitted function has stopped falling at these sizes.",
    slope("rmse", "dense-relu-d8").at_least(-0.1, predicted="does not fall"),
    dict(source=BESIDE_APP_SIZES, group="section-3-gap-fits", presets=["paper"]),
)
study.ours(
    "no-convergence-linear-d1",
    "Dense regime, linear experts, d = 1: the error of the fitted function has stopped falling at these sizes.",
    slope("rmse", "dense-linear-d1").at_least(-0.1, predicted="does not fall"),
    dict(source=BESIDE_APP_SIZES, group="section-3-gap-fits", scale="reduced", presets=["dimensions"]),
)
study.ours(
    "no-convergence-linear-d2",
    "Dense regime, linear experts, d = 2: the error of the fitted function has stopped falling at these sizes.",
    slope("rmse", "dense-linear-d2").at_least(-0.1, predicted="does not fall"),
    dict(source=BESIDE_APP_SIZES, group="section-3-gap-fits", scale="reduced"),
)
study.ours(
    "no-convergence-linear-d8",
    "Dense regime, linear experts, d = 8: the error of the fitted function has stopped falling at these sizes.",
    slope("rmse", "dense-linear-d8").at_least(-0.1, predicted="does not fall"),
    dict(source=BESIDE_APP_SIZES, group="section-3-gap-fits", presets=["paper"]),
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"bound-sparse-*-d8": "supported"},
    "The bound holds in the sparse regime, at every d that is judged and with both experts.",
)
study.finding({"root-sparse-*-d8": "supported"}, "In the sparse regime the rate is n^(-1/2), and no faster.")
study.finding(
    {"bound-sparse-*-d[12]": "supported"},
    "The bound holds in the sparse regime, at every d that is judged and with both experts.",
)
study.finding({"root-sparse-*-d[12]": "supported"}, "In the sparse regime the rate is n^(-1/2), and no faster.")
study.finding(
    {"bound-dense-*-d8": "supported"},
    "The bound holds in the dense regime, at every d that is judged and with both experts.",
)
study.finding({"root-dense-*-d8": "supported"}, "In the dense regime the rate is n^(-1/2), and no faster.")
study.finding(
    {"bound-dense-*-d[12]": "supported"},
    "The bound holds in the dense regime, at every d that is judged and with both experts.",
)
study.finding({"root-dense-*-d[12]": "supported"}, "In the dense regime the rate is n^(-1/2), and no faster.")

# --- figures ---
study.figure(
    "figure",
    kind="rates",
    title="Distance of the fitted function to the true one",
    xlabel="sample size n",
    columns=3,
    panels=[
        dict(title=title, arms=arms, variable=variable, ylabel="function error (RMSE)")
        for title, arms, variable in [
            ("sparse, ReLU", ["sparse-relu-*"], "rmse"),
            ("dense, ReLU", ["dense-relu-*"], "rmse"),
            ("softmax truth, ReLU", ["pseudo-relu-*"], "rmse_pseudo"),
            ("sparse, linear", ["sparse-linear-*"], "rmse"),
            ("dense, linear", ["dense-linear-*"], "rmse"),
            ("softmax truth, linear", ["pseudo-linear-*"], "rmse_pseudo"),
        ]
    ],
    caption="Root mean square distance ||f_G - f*||, in the last column to the nearest pseudo-truth's function. Grey: "
    "sqrt(v p log n / n), one line per dimension. Geometric means over replicates, 95 % t-intervals.",
)
