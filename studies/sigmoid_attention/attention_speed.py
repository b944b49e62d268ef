"""Is sigmoid attention faster with the same kernel?"""

from functools import partial

from moestat import Study
from moestat.study.rules import log_ratio

study = Study(
    "Is sigmoid attention faster with the same kernel?",
    paper="sigmoid-attention",
    source="SA section 5.2, Table 2",
    question="Table 2 has 486 tokens per second with sigmoid and 441 with softmax attention, by two fused GPU "
    "kernels. Is the formula the faster one where both have the same kernel?",
    experiment="attention_speed",
    seed=20261126,
    scale="stand-in",
)

study.preset(
    "quick",
    "3 blocks of width 64, windows of 128 and 1024.",
    expected="about 40 s on 2 cores",
    replicates=6,
    settings=dict(windows=[128, 1024], rounds=3),
    block=1,
)

study.preset(
    "paper",
    "4 blocks of width 128, windows of 128, 512 and the paper's 2048.",
    expected="about 8 minutes on 2 cores",
    replicates=10,
    settings=dict(blocks=4, width=128, hidden=344),
    block=1,
)

study.arm("flushed", "subnormal numbers are zero")
study.arm("kept", "subnormal numbers are kept", subnormals="kept")

claim = partial(
    study.claim,
    source="SA Table 2: 486 against 441 tokens per second",
    because="Section 1 credits the gain on GPUs to the element-wise sigmoid, which then shows with equal kernels.",
    group="table-2-inference",
)
# --- claims ---
claim(
    "inference-128",
    "With the same unfused kernel, inference is faster with sigmoid attention (CPU, windows of 128, log ratio).",
    log_ratio(
        "inference_throughput",
        "flushed",
        at=dict(hardware="cpu", window=128, kernel="sigmoid"),
        versus_at=dict(hardware="cpu", window=128, kernel="softmax"),
    ).at_least(0.0, predicted="> 0"),
)
claim(
    "inference-1024",
    "With the same unfused kernel, inference is faster with sigmoid attention (CPU, windows of 1024, log ratio).",
    log_ratio(
        "inference_throughput",
        "flushed",
        at=dict(hardware="cpu", window=1024, kernel="sigmoid"),
        versus_at=dict(hardware="cpu", window=1024, kernel="softmax"),
    ).at_least(0.0, predicted="> 0"),
    presets=["quick"],
)
claim(
    "inference-2048",
    "With the same unfused kernel, inference is faster with sigmoid attention (CPU, windows of 2048, log ratio).",
    log_ratio(
        "inference_throughput",
        "flushed",
        at=dict(hardware="cpu", window=2048, kernel="sigmoid"),
        versus_at=dict(hardware="cpu", window=2048, kernel="softmax"),
    ).at_least(0.0, predicted="> 0"),
    presets=["paper"],
)
claim(
    "training-2048",
    "With the same unfused kernel, training is faster with sigmoid attention (CPU, windows of 2048, log ratio).",
    log_ratio(
        "training_throughput",
        "flushed",
        at=dict(hardware="cpu", window=2048, kernel="sigmoid"),
        versus_at=dict(hardware="cpu", window=2048, kernel="softmax"),
    ).at_least(0.0, predicted="> 0"),
    dict(source="SA §1, contribution 2: accelerating both training and inference", group="table-2-training"),
    presets=["paper"],
)
study.ours(
    "kept-2048",
    "Inference with softmax attention is slower where subnormal numbers are kept (CPU, windows of 2048, log ratio).",
    log_ratio(
        "inference_throughput", "kept", at=dict(hardware="cpu", window=2048, kernel="softmax"), versus="flushed"
    ).at_most(0.0, predicted="< 0"),
    dict(source="ours: beside SA Table 2", presets=["paper"]),
)

# --- figures ---
study.figure(
    kind="function",
    title="Speed by kernel, on one thread of a CPU, subnormal numbers at zero",
    x="window",
    xlabel="characters in a window",
    function="moestat.report.paired_figure:paired",
    options=dict(
        variables=dict(
            inference_throughput="inference, characters / s", training_throughput="training, characters / s"
        ),
        over="kernel",
        baseline="softmax",
        others=["fused softmax", "sigmoid"],
        at=dict(arm="flushed", hardware="cpu"),
        ratio=True,
    ),
    caption="A measurement of the machine: characters per CPU second in inference (above) and training "
    "(below). The same model with three kernels that take turns; geometric means and 95 % intervals over "
    "replicates, on the right of paired ratios.",
)
