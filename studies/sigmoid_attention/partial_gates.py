"""Either gate with the score without its linear part (sigmoid-attention, Appendix C.1.2 and C.1.3)."""

import itertools
from functools import partial

from moestat import Study
from moestat.study.rules import slope

APP_NEAREST_EXPERT = "ours: on SA App. C.1.3, by the nearest expert"
APP_MODULO_REPRESENTATIONS = "ours: on SA App. C.1.3, modulo representations of the same function"

study = Study(
    "Without b: sigmoid against softmax gate",
    paper="sigmoid-attention",
    source="SA App. C.1.2, C.1.3",
    question="With the score without b, are experts of the sigmoid gate found from fewer samples than those of "
    "the softmax gate?",
    experiment="regression",
    seed=20260720,
    settings=dict(
        d=8,
        n_true=8,
        n_fitted=9,
        truth_score="partial",
        fitted_score="partial",
        noise_variance=0.01,
        box=5.0,
        start_radius=0.05,
    ),
    grid=dict(n=[1000, 1931, 3728, 7197, 13_895, 26_827, 51_795, 100_000]),
    summaries=["over_atom", "exact_atom", "empty_cells", "box_hits"],
)

study.preset(
    "quick",
    "d = 3, three true experts, noise 0.01, thirty truths, n at least 9 times the 44 parameters; the dense regime.",
    expected="about a minute on 2 cores",
    replicates=30,
    grid=dict(n=[400, 860, 1850, 4000]),
    arms=["*-dense-*"],
    settings=dict(d=3, n_true=3, n_fitted=4, noise_variance=0.0001, evaluation_log2=13, truths=30),
)

study.preset(
    "many",
    "The same with ninety truths, and GELU and linear experts in the sparse regime.",
    expected="about 8 minutes on 2 cores",
    rank=2,
    replicates=90,
    block=30,
    grid=dict(n=[400, 860, 1850, 4000]),
    settings=dict(d=3, n_true=3, n_fitted=4, noise_variance=0.0001, evaluation_log2=13, truths=90),
)

study.preset(
    "gates",
    "The dense regime in the paper's setting: d = 8, N* = 8, N = 9, eight sizes from 1e3 to 1e5 (2 to 242 times "
    "the 414 parameters), ten truths; rates from ten samples per parameter on.",
    scale="paper",
    expected="about 11 minutes on 2 cores",
    replicates=10,
    arms=["*-dense-*"],
    settings=dict(truths=10),
)

for gate, (expert, experts) in itertools.product(
    ["sigmoid", "softmax"], [("relu", "ReLU"), ("gelu", "GELU"), ("linear", "linear")]
):
    study.arm(
        f"{gate}-dense-{expert}",
        f"{experts}, {gate} gate",
        regime="dense",
        expert=expert,
        truth_gate=gate,
        fitted_gate=gate,
    )

for gate, (expert, experts) in itertools.product(["sigmoid", "softmax"], [("gelu", "GELU"), ("linear", "linear")]):
    study.arm(
        f"{gate}-sparse-{expert}",
        f"{experts}, sparse, {gate} gate",
        regime="sparse",
        expert=expert,
        truth_gate=gate,
        fitted_gate=gate,
    )

study.rate("L5", arms=["*-dense-*"], bound=-0.5)
study.rate("quotient", bound=-0.5)
study.rate("nearest_expert")
study.rate("rmse", bound=-0.5)

ours = partial(study.ours, bearing="for")
# --- claims: rules written before the run ---
ours(
    "faster-relu-nearest",
    "Score without b, dense regime: the distance of the true experts to the nearest fitted ones converges "
    "faster with the sigmoid gate than with the softmax gate for ReLU experts.",
    slope("nearest_expert", "sigmoid-dense-relu", versus="softmax-dense-relu").at_most(0.0, predicted="below 0"),
    dict(source=APP_NEAREST_EXPERT, group="without-b-faster-nearest", presets=["quick", "many"]),
)
ours(
    "faster-relu-nearest-d8",
    "Score without b, dense regime, d = 8, at ten samples per parameter or more: the distance of the true "
    "experts to the nearest fitted ones converges faster with the sigmoid gate than with the softmax gate for "
    "ReLU experts.",
    slope("nearest_expert", "sigmoid-dense-relu", versus="softmax-dense-relu", window=[4140, 100_000]).at_most(
        0.0, predicted="below 0"
    ),
    dict(source=APP_NEAREST_EXPERT, group="without-b-faster-nearest", presets=["gates"]),
)
ours(
    "faster-relu-quotient",
    "Score without b, dense regime: the loss modulo splitting and null atoms converges faster with the sigmoid "
    "gate than with the softmax gate for ReLU experts.",
    slope("quotient", "sigmoid-dense-relu", versus="softmax-dense-relu").at_most(0.0, predicted="below 0"),
    dict(source=APP_MODULO_REPRESENTATIONS, group="without-b-faster-quotient", presets=["quick", "many"]),
)
ours(
    "faster-relu-quotient-d8",
    "Score without b, dense regime, d = 8, at ten samples per parameter or more: the loss modulo splitting and "
    "null atoms converges faster with the sigmoid gate than with the softmax gate for ReLU experts.",
    slope("quotient", "sigmoid-dense-relu", versus="softmax-dense-relu", window=[4140, 100_000]).at_most(
        0.0, predicted="below 0"
    ),
    dict(source=APP_MODULO_REPRESENTATIONS, group="without-b-faster-quotient", presets=["gates"]),
)
ours(
    "faster-gelu-nearest",
    "Score without b, dense regime: the distance of the true experts to the nearest fitted ones converges "
    "faster with the sigmoid gate than with the softmax gate for GELU experts.",
    slope("nearest_expert", "sigmoid-dense-gelu", versus="softmax-dense-gelu").at_most(0.0, predicted="below 0"),
    dict(source=APP_NEAREST_EXPERT, group="without-b-faster-nearest", presets=["quick", "many"]),
)
ours(
    "faster-gelu-nearest-d8",
    "Score without b, dense regime, d = 8, at ten samples per parameter or more: the distance of the true "
    "experts to the nearest fitted ones converges faster with the sigmoid gate than with the softmax gate for "
    "GELU experts.",
    slope("nearest_expert", "sigmoid-dense-gelu", versus="softmax-dense-gelu", window=[4140, 100_000]).at_most(
        0.0, predicted="below 0"
    ),
    dict(source=APP_NEAREST_EXPERT, group="without-b-faster-nearest", presets=["gates"]),
)
ours(
    "faster-gelu-quotient",
    "Score without b, dense regime: the loss modulo splitting and null atoms converges faster with the sigmoid "
    "gate than with the softmax gate for GELU experts.",
    slope("quotient", "sigmoid-dense-gelu", versus="softmax-dense-gelu").at_most(0.0, predicted="below 0"),
    dict(source=APP_MODULO_REPRESENTATIONS, group="without-b-faster-quotient", presets=["quick", "many"]),
)
ours(
    "faster-gelu-quotient-d8",
    "Score without b, dense regime, d = 8, at ten samples per parameter or more: the loss modulo splitting and "
    "null atoms converges faster with the sigmoid gate than with the softmax gate for GELU experts.",
    slope("quotient", "sigmoid-dense-gelu", versus="softmax-dense-gelu", window=[4140, 100_000]).at_most(
        0.0, predicted="below 0"
    ),
    dict(source=APP_MODULO_REPRESENTATIONS, group="without-b-faster-quotient", presets=["gates"]),
)
ours(
    "faster-linear-nearest",
    "Score without b, dense regime: the distance of the true experts to the nearest fitted ones converges "
    "faster with the sigmoid gate than with the softmax gate for linear experts.",
    slope("nearest_expert", "sigmoid-dense-linear", versus="softmax-dense-linear").at_most(0.0, predicted="below 0"),
    dict(source=APP_NEAREST_EXPERT, group="without-b-faster-nearest", presets=["quick", "many"]),
)
ours(
    "faster-linear-nearest-d8",
    "Score without b, dense regime, d = 8, at ten samples per parameter or more: the distance of the true "
    "experts to the nearest fitted ones converges faster with the sigmoid gate than with the softmax gate for "
    "linear experts.",
    slope("nearest_expert", "sigmoid-dense-linear", versus="softmax-dense-linear", window=[4140, 100_000]).at_most(
        0.0, predicted="below 0"
    ),
    dict(source=APP_NEAREST_EXPERT, group="without-b-faster-nearest", presets=["gates"]),
)
ours(
    "faster-linear-quotient",
    "Score without b, dense regime: the loss modulo splitting and null atoms converges faster with the sigmoid "
    "gate than with the softmax gate for linear experts.",
    slope("quotient", "sigmoid-dense-linear", versus="softmax-dense-linear").at_most(0.0, predicted="below 0"),
    dict(source=APP_MODULO_REPRESENTATIONS, group="without-b-faster-quotient", presets=["quick", "many"]),
)
ours = partial(study.ours, source="ours: beside SA Cor. 2, for sigmoid gates", group="without-b-function-sigmoid")
ours(
    "faster-linear-quotient-d8",
    "Score without b, dense regime, d = 8, at ten samples per parameter or more: the loss modulo splitting and "
    "null atoms converges faster with the sigmoid gate than with the softmax gate for linear experts.",
    slope("quotient", "sigmoid-dense-linear", versus="softmax-dense-linear", window=[4140, 100_000]).at_most(
        0.0, predicted="below 0"
    ),
    dict(source=APP_MODULO_REPRESENTATIONS, bearing="for", group="without-b-faster-quotient", presets=["gates"]),
)
ours(
    "function-sigmoid-relu",
    "Score without b, dense regime, sigmoid gate, ReLU experts: the function error falls like n^(-1/2), up to "
    "logarithms, or faster.",
    slope("rmse", "sigmoid-dense-relu").at_most(-0.4, predicted="-0.5"),
    presets=["quick", "many"],
)
ours(
    "function-sigmoid-relu-d8",
    "Score without b, dense regime, d = 8, at ten samples per parameter or more, sigmoid gate, ReLU experts: "
    "the function error falls like n^(-1/2), up to logarithms, or faster.",
    slope("rmse", "sigmoid-dense-relu", window=[4140, 100_000]).at_most(-0.4, predicted="-0.5"),
    presets=["gates"],
)
ours(
    "function-sigmoid-gelu",
    "Score without b, dense regime, sigmoid gate, GELU experts: the function error falls like n^(-1/2), up to "
    "logarithms, or faster.",
    slope("rmse", "sigmoid-dense-gelu").at_most(-0.4, predicted="-0.5"),
    presets=["quick", "many"],
)
ours(
    "function-sigmoid-gelu-d8",
    "Score without b, dense regime, d = 8, at ten samples per parameter or more, sigmoid gate, GELU experts: "
    "the function error falls like n^(-1/2), up to logarithms, or faster.",
    slope("rmse", "sigmoid-dense-gelu", window=[4140, 100_000]).at_most(-0.4, predicted="-0.5"),
    presets=["gates"],
)
ours(
    "function-sigmoid-linear",
    "Score without b, dense regime, sigmoid gate, linear experts: the function error falls like n^(-1/2), up to "
    "logarithms, or faster.",
    slope("rmse", "sigmoid-dense-linear").at_most(-0.4, predicted="-0.5"),
    presets=["quick", "many"],
)
ours(
    "function-sigmoid-linear-d8",
    "Score without b, dense regime, d = 8, at ten samples per parameter or more, sigmoid gate, linear experts: "
    "the function error falls like n^(-1/2), up to logarithms, or faster.",
    slope("rmse", "sigmoid-dense-linear", window=[4140, 100_000]).at_most(-0.4, predicted="-0.5"),
    presets=["gates"],
)
ours = partial(study.ours, source="ours: beside SA Cor. 2, for softmax gates", group="without-b-function-softmax")
ours(
    "function-softmax-relu",
    "Score without b, dense regime, softmax gate, ReLU experts: the function error falls like n^(-1/2), up to "
    "logarithms, or faster.",
    slope("rmse", "softmax-dense-relu").at_most(-0.4, predicted="-0.5"),
    presets=["quick", "many"],
)
ours(
    "function-softmax-relu-d8",
    "Score without b, dense regime, d = 8, at ten samples per parameter or more, softmax gate, ReLU experts: "
    "the function error falls like n^(-1/2), up to logarithms, or faster.",
    slope("rmse", "softmax-dense-relu", window=[4140, 100_000]).at_most(-0.4, predicted="-0.5"),
    presets=["gates"],
)
ours(
    "function-softmax-gelu",
    "Score without b, dense regime, softmax gate, GELU experts: the function error falls like n^(-1/2), up to "
    "logarithms, or faster.",
    slope("rmse", "softmax-dense-gelu").at_most(-0.4, predicted="-0.5"),
    presets=["quick", "many"],
)
ours(
    "function-softmax-gelu-d8",
    "Score without b, dense regime, d = 8, at ten samples per parameter or more, softmax gate, GELU experts: "
    "the function error falls like n^(-1/2), up to logarithms, or faster.",
    slope("rmse", "softmax-dense-gelu", window=[4140, 100_000]).at_most(-0.4, predicted="-0.5"),
    presets=["gates"],
)
ours(
    "function-softmax-linear",
    "Score without b, dense regime, softmax gate, linear experts: the function error falls like n^(-1/2), up to "
    "logarithms, or faster.",
    slope("rmse", "softmax-dense-linear").at_most(-0.4, predicted="-0.5"),
    presets=["quick", "many"],
)
ours(
    "function-softmax-linear-d8",
    "Score without b, dense regime, d = 8, at ten samples per parameter or more, softmax gate, linear experts: "
    "the function error falls like n^(-1/2), up to logarithms, or faster.",
    slope("rmse", "softmax-dense-linear", window=[4140, 100_000]).at_most(-0.4, predicted="-0.5"),
    presets=["gates"],
)

# --- figures ---
study.figure(
    "figure",
    kind="rates",
    title="Either gate without b, fitted to truths of its own, in the dense regime",
    xlabel="sample size n",
    columns=2,
    panels=[
        dict(
            title=f"{experts}: {ylabel}",
            arms=[f"sigmoid-dense-{expert}", f"softmax-dense-{expert}"],
            variable=variable,
            ylabel=ylabel,
        )
        for (expert, experts), (variable, ylabel) in itertools.product(
            [("relu", "ReLU"), ("gelu", "GELU"), ("linear", "linear")], [("L5", "L5"), ("quotient", "quotient loss")]
        )
    ],
    caption="Left: L5 to the nearest representation of the truth with N atoms, in which the superfluous expert counts. "
    "Right: modulo splitting and null atoms, where it does not.",
)
