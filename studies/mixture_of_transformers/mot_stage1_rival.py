"""Stage I of the MoT against a multi-head transformer that is trained throughout (mixture-of-transformers, Fig. 2)."""

from moestat import Study
from moestat.study.rules import function

study = Study(
    "Is the mixture behind a multi-head transformer in stage I?",
    paper="mixture-of-transformers",
    source="MT Section 6, Fig. 2",
    question="Section 6 reads off Fig. 2 that the MoT converges more slowly than the multi-head transformer in "
    "stage I. Is it so on the data of the theory?",
    experiment="mot",
    seed=20260708,
    scale="stand-in",
    settings=dict(specialise_steps=2000, attention_steps=0, tuning_steps=0, records_per_decade=8, expert_slots=16),
    grid=dict(tuning_rate=[0.1, 1.0, 10.0]),
    summaries=["after_test_loss", "after_train_loss", "after_test_error"],
    notes="A rival at its best rate of few is a lower bound of what it can do: if the MoT is behind it, it is "
    "behind a better tuned one as well, and ahead of none by this study.",
)

study.preset("quick", "Three rates, 6 replicates.", expected="about 9 minutes on 2 cores", replicates=6, block=1)

study.arm("mot", "MoT, stage I")
study.arm("multi-head", "multi-head, trained throughout", model="multi-head", training="joint")

# --- claims ---
study.ours(
    "fig2-start",
    "After T1 steps the MoT, at the one rate eta = 0.001, is behind the multi-head transformer that is trained "
    "throughout at the best rate of a sweep (test loss).",
    function(
        "studies.mixture_of_transformers.parts.rules:tuned_log_ratio",
        "after_test_loss",
        "mot",
        at=dict(stage="I"),
        versus="multi-head",
    ).at_least(0.0, predicted="> 0"),
    source="ours, on MT Section 6, Fig. 2: on the data of Definition 1",
    group="slower in stage I, on the data of the theory",
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    {"fig2-start": "supported"},
    "In stage I the MoT at its one rate is behind the multi-head transformer at its best of three, as in Fig. 2.",
)
study.finding(
    {"fig2-start": "not supported"},
    "In stage I the MoT is ahead of the multi-head transformer at its best rate of three.",
)

study.figure(
    "figure",
    kind="lines",
    title="Test loss during the first T1 steps, by the rival's rate",
    x="epoch",
    xlabel="steps",
    hue="arm",
    logx=True,
    logy=True,
    columns=3,
    panels=[
        dict(title=f"rate {rate}", variable="test_loss", ylabel="test loss", at=dict(tuning_rate=rate))
        for rate in [0.1, 1.0, 10.0]
    ],
    caption="Geometric means over replicates with 95 % intervals. The rate is the rival's; the MoT has eta = 0.001.",
)
