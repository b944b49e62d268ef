"""Is the floor of the mixture one of the dimension? (mixture-of-transformers, Theorem 1, Lemma 1).

Stage III as in the study `mot_noise_floor`, at its noisiest point alone: sigma_xi = 2, L = 10, M = N = 4 experts with
class-pure routing, W_n = v_n. Along the signals a noise token has components of size sigma_xi / sqrt(d): 0.35, 0.18 and
0.11 at d = 32, 128 and 320; the theory sends them to 0.

*Ideal attention* is KQ_n = 5 v_n v_n', with which the query v_n alone looks for v_n. *Trained attention* starts from KQ
at random and has 2000 steps of stage II first: Proposition 2 is for the pair (v_n, v_n), but what stage II does lets
other queries look for v_n too.

That the expected loss has a floor in every d is proved (argument `expected-loss-floor`): measured is how high it is, by
the test loss. In d = 320 it is not reached in 8000 steps. Where the test loss rises while the training loss falls, the
samples are fitted with the help of their noise.
"""

from moestat import Study
from moestat.study.rules import mean, other_draws_gave

study = Study(
    "Is the floor of the mixture one of the dimension?",
    paper="mixture-of-transformers",
    source="MT Theorem 1, Lemma 1, Section 5.2",
    question="At d = 32 with much noise (sigma_xi = 2, L = 10) the MoT stops at a floor, as the mixture without "
    "attention does. The theory has a constant sigma_xi and sends the components of noise along the signals, "
    "sigma_xi / sqrt(d), to zero. Is there a floor in larger d, and with the attention that stage II finds?",
    experiment="mot",
    seed=20261129,
    scale="reduced",
    settings=dict(
        start="ideal",
        classes=4,
        experts=4,
        token_noise=2.0,
        tokens=10,
        samples=4000,
        test_samples=4000,
        specialise_steps=0,
        attention_steps=0,
        tuning_steps=8000,
        tuning_rate=1.0,
        expert_slots=4,
    ),
    grid=dict(dimension=[32, 128, 320]),
    summaries=["last_slope", "after_train_loss", "after_test_loss", "after_test_error"],
)
study.preset(
    "quick",
    "d = 32 and 128, K = 1000, 2000 steps, 3 replicates.",
    expected="20 s on 2 cores",
    replicates=3,
    arms=["mot", "flat"],
    grid=dict(dimension=[32, 128]),
    settings=dict(samples=1000, test_samples=1000, tuning_steps=2000),
    block=1,
)
study.preset(
    "paper",
    "d = 32, 128 and 320, K = 4000, 5 replicates.",
    scale="reduced",
    expected="4 minutes on 2 cores",
    replicates=5,
    arms=["mot", "flat"],
    block=1,
)
study.preset(
    "trained",
    "d = 32 with the attention that stage II finds, 5 replicates.",
    scale="reduced",
    expected="2 minutes on 2 cores",
    replicates=5,
    arms=["mot", "trained"],
    grid=dict(dimension=[32]),
    block=1,
    rank=0,
)
study.arm("mot", "MoT, ideal attention")
study.arm("trained", "MoT, trained attention", start="specialised", attention_steps=2000, attention_rate=20.0)
study.arm("flat", "no attention", model="no-attention")

GIVEN = "W = v_n and class-pure routing, as Prop. 1 has them, and with the attention of stage II"
IDEAL = "the ideal end state of Props. 1 and 2 (W = v_n)"
STEEP = "with much noise, sigma_xi = 2 and L = 10, the last decade of the MoT's test loss is steeper than t^-0.5"
BELOW_EVERY_EPS = "the expected loss of the MoT gets below every eps, for any constant sigma_xi"
SEEN = "The rule was written for d = 32 after the run, when its floor was known."
for id_, start, arm, presets, seen in [
    ("no-floor-ideal", IDEAL, "mot", ["paper"], SEEN),
    ("no-floor-trained", GIVEN, "trained", ["trained"], other_draws_gave("not supported")),
]:
    study.claim(
        id_,
        f"From {start}, {STEEP} in d = 32: there is no floor.",
        mean("test_last_slope", arm, at=dict(dimension=32)).at_most(-0.5, predicted="no floor"),
        source="MT Theorem 1, Section 5.2",
        because=BELOW_EVERY_EPS,
        presets=presets,
        hindsight=seen,
    )
study.ours(
    "no-floor",
    f"From {IDEAL}, {STEEP} in d = 320: no floor is reached in 8000 steps.",
    mean("test_last_slope", "mot", at=dict(dimension=320)).at_most(-0.5, predicted="< -0.5"),
    source="ours: control of no-floor-ideal, in a large dimension (MT Theorem 1)",
    presets=["paper"],
    hindsight=other_draws_gave("supported"),
)
study.figure(
    kind="lines",
    title="Stage III with much noise, by the dimension",
    x="dimension",
    xlabel="dimension d",
    logy=False,
    panels=[
        dict(title="slope of the training loss", variable="last_slope", ylabel="exponent over the last decade"),
        dict(title="test loss", variable="after_test_loss", ylabel="test loss", at=dict(stage="III")),
        dict(title="test error", variable="after_test_error", ylabel="test error", at=dict(stage="III")),
        dict(title="training loss", variable="after_train_loss", ylabel="training loss", at=dict(stage="III")),
    ],
    options=dict(within=dict(after_test_error=[0, 1])),
    caption="Means over replicates with 95 % intervals, after stage III. A slope of -1 is 1/t, one of 0 a floor.",
)
