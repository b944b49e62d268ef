"""Does a mixture without attention stop at a floor? (mixture-of-transformers, Lemma 1).

Stage III of both models from the ideal end state of Propositions 1 and 2 (M = N = 4, class-pure routing, W_n = v_n; for
the MoT KQ_n = 5 v_n v_n', for the rival no attention, f = sum_l W'X_l), by gradient descent. Data, routing and start
are shared, so that the two are compared in pairs. A sample has L - 3 noise tokens of expected squared length
sigma_xi^2. All sizes are ours.

At L sigma_xi > 1 the bound of the lemma diverges (argument `bound-without-attention`); *floor-exponent* tests it where
L sigma_xi is a half. Appendix G takes every noise token at its worst sign in every sample, and <W, xi> to grow like
<W, v_n>; neither has to be so. Where the test loss turns up again while the training loss falls, the sample is fitted
with the help of its noise: at sigma_xi = 2 in d = 32 the MoT has such a floor, too; `mot_noise_wide` has larger d.
"""

import itertools

from moestat import Study
from moestat.study.rules import function, other_draws_gave

RULES = "studies.mixture_of_transformers.parts.rules"
IDEAL = "From the ideal end state of Props. 1 and 2 (W = v_n),"

study = Study(
    "Does a mixture without attention stop at a noise floor?",
    paper="mixture-of-transformers",
    source="MT Lemma 1, Section 5.2",
    question="Lemma 1: without attention the expected loss stays above Theta(eps^(1 - L sigma_xi)) however long "
    "one trains, where the MoT reaches eps. Is there such a floor, and has the MoT none?",
    experiment="mot",
    seed=20261128,
    scale="reduced",
    settings=dict(
        start="ideal",
        classes=4,
        experts=4,
        dimension=32,
        samples=1200,
        test_samples=4000,
        specialise_steps=0,
        attention_steps=0,
        tuning_steps=8000,
        tuning_rate=1.0,
        expert_slots=4,
    ),
    grid=dict(token_noise=[0.1, 0.5, 1.0, 2.0], tokens=[5, 10]),
    summaries=["last_slope", "after_train_loss", "after_test_loss", "after_test_error"],
)
study.preset("quick", "4 replicates.", expected="60 s on 2 cores", replicates=4, block=1)
study.preset(
    "paper",
    "20 replicates, 4000 samples.",
    expected="5 minutes on 2 cores",
    replicates=20,
    block=1,
    settings=dict(samples=4000, test_samples=8000),
)
study.arm("mot", "MoT")
study.arm("flat", "no attention", model="no-attention")

study.claim(
    "floor-exponent",
    f"{IDEAL} under gradient descent, at sigma_xi = 0.1, L = 5, the loss without attention is at least of the order of "
    "the 1 - L sigma_xi = 0.5th power of the MoT's at equal iterations (exponent at most 0.75; last decade).",
    function(
        f"{RULES}:joint_slope", "tuning_test_loss", "flat", at=dict(token_noise=0.1, tokens=5), versus="mot"
    ).at_most(0.75, predicted="<= 0.5"),
    source="MT Lemma 1, Appendix G",
    hindsight=other_draws_gave("not supported"),
    because="the lemma has eps^(1 - L sigma_xi) after the Theta(log 1/eps) steps in which the MoT comes to eps",
)
study.claim(
    "loss-gain",
    f"{IDEAL} stage III lowers the ratio of the test loss with attention to the one without, at sigma_xi = 1, L = 10.",
    function(
        f"{RULES}:adds",
        "after_test_loss",
        "mot",
        at=dict(stage="III", token_noise=1.0, tokens=10),
        versus="flat",
        options=dict(since="II"),
    ).at_most(0.0, predicted="< 0"),
    dict(source="MT Lemma 1, Section 5.2"),
    hindsight=other_draws_gave("supported"),
    because="the loss with attention gets below every eps and the one without does not, so that training takes "
    "their ratio to 0",
)
study.finding(
    {"floor-exponent": "not supported"},
    "Under gradient descent the loss without attention falls like the MoT's: attention gives a constant factor.",
)

study.figure(
    "figure",
    kind="lines",
    title="Training loss with and without attention, by noise and tokens",
    x="tuning",
    xlabel="steps of stage III",
    logx=True,
    logy=True,
    columns=4,
    panels=[
        dict(
            title=f"noise {noise}",
            arms=["mot", "flat"],
            variable="tuning_train_loss",
            ylabel="training loss",
            at=dict(token_noise=noise, tokens=length),
            note=f"{length} tokens",
        )
        for length, noise in itertools.product([5, 10], [0.1, 0.5, 1.0, 2.0])
    ],
    caption="One panel per noise sigma_xi of a token and number L of tokens. Geometric means over replicates of the "
    "training loss in stage III from the ideal state, with 95 % intervals. Lines of slope -1 have no floor.",
)
study.figure(
    "error",
    kind="lines",
    title="Test loss at the end, by the noise",
    x="token_noise",
    xlabel="noise of a token sigma_xi",
    panels=[
        dict(title="test loss", variable="after_test_loss", ylabel="test loss"),
        dict(title="training loss", variable="after_train_loss", ylabel="training loss"),
    ],
    options=dict(at=dict(stage="III", tokens=10), share_y=False),
    caption="Geometric means with 95 % intervals, L = 10.",
)
