"""Either gate with the score without its linear part (sigmoid-attention, Appendix C.1.2 and C.1.3).

Truth: the partially quadratic score x'Ax + c, N* experts, parameters from N(0, 1/d), one for each replicate, the same
numbers for either gate; sparse sets (A, c) = 0 for the last two experts. Each gate is fitted to the truth of its own
gate with N* + 1 atoms. Appendix C.1.3 has eps^-2 samples for the sigmoid gate in the dense regime, where the softmax
takes eps^-4 (networks) or an exponential number (polynomials): orders of the experts' errors, which sample_complexity
judges from these fits.

With the sigmoid a superfluous expert vanishes, which is a form of the truth; with the softmax its weight does, and its
error then says nothing of the function. L5 counts it, the quotient loss does not: compare the two columns.
"""

import itertools

from moestat import Study

EXPERTS = {"relu": "ReLU", "gelu": "GELU", "linear": "linear"}
SMALL = dict(d=3, n_true=3, n_fitted=4, noise_variance=0.0001, evaluation_log2=13)
SMALL_SIZES = dict(n=[400, 860, 1850, 4000])

study = Study(
    "Without b: sigmoid against softmax gate",
    paper="sigmoid-attention",
    source="SA App. C.1.2, C.1.3",
    question="With the score without b, are experts of the sigmoid gate found from fewer samples than those of "
    "the softmax gate?",
    experiment="regression",
    seed=20260720,
    settings=dict(d=8, n_true=8, n_fitted=9, truth_score="partial", fitted_score="partial")
    | dict(noise_variance=0.01, box=5.0, start_radius=0.05),
    grid=dict(n=[1000, 1931, 3728, 7197, 13_895, 26_827, 51_795, 100_000]),
    summaries=["over_atom", "exact_atom", "empty_cells", "box_hits"],
)
study.preset(
    "quick",
    "d = 3, thirty truths, n at least 9 times the 44 parameters; the dense regime.",
    **dict(expected="about a minute on 2 cores", replicates=30, grid=SMALL_SIZES, settings=SMALL | dict(truths=30)),
    arms=["*-dense-*"],
)
study.preset(
    "many",
    "The same with ninety truths, and GELU and linear experts in the sparse regime.",
    **dict(expected="about 8 minutes on 2 cores", rank=2, replicates=90, block=30),
    grid=SMALL_SIZES,
    settings=SMALL | dict(truths=90),
)
study.preset(
    "gates",
    "The dense regime in the paper's setting: d = 8, N* = 8, N = 9, eight sizes from 1e3 to 1e5, ten truths.",
    **dict(scale="paper", expected="about 11 minutes on 2 cores", replicates=10, settings=dict(truths=10)),
    arms=["*-dense-*"],
)
for gate, (regime, experts) in itertools.product(
    ["sigmoid", "softmax"], {"dense": ["relu", "gelu", "linear"], "sparse": ["gelu", "linear"]}.items()
):
    for expert in experts:
        of = dict(regime=regime, expert=expert, truth_gate=gate, fitted_gate=gate)
        study.arm(f"{gate}-{regime}-{expert}", f"{EXPERTS[expert]}, {regime}, {gate} gate", **of)

study.rate("L5", arms=["*-dense-*"], bound=-0.5)
study.rate("quotient", bound=-0.5)
study.rate("nearest_expert")
study.rate("rmse", bound=-0.5)

study.figure(
    title="Either gate without b, fitted to truths of its own, in the dense regime",
    xlabel="sample size n",
    panels=[
        dict(title=f"{experts}: {ylabel}", variable=variable, ylabel=ylabel)
        | dict(arms=[f"sigmoid-dense-{expert}", f"softmax-dense-{expert}"])
        for (expert, experts), (variable, ylabel) in itertools.product(
            EXPERTS.items(), [("L5", "L5"), ("quotient", "quotient loss")]
        )
    ],
    caption="Left: L5 to the nearest representation of the truth with N atoms, in which the superfluous expert counts. "
    "Right: modulo splitting and null atoms, where it does not.",
)
