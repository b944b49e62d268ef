"""Softmax against sigmoid attention in a small language model (sigmoid-attention, section 5.2, Table 2)."""

from moestat import Study
from moestat.study.rules import difference, log_ratio

CREDITS_GAIN_GPUS = (
    "Section 1 credits the gain on GPUs to the element-wise sigmoid, which then shows with equal kernels."
)
PAIRED = "moestat.report.paired_figure:paired"

study = Study(
    "Sigmoid or softmax attention in a language model?",
    paper="sigmoid-attention",
    source="SA section 5.2, Table 2, Appendix E.2",
    question="Is a language model with sigmoid attention as good as one with softmax attention, and is it faster?",
    experiment="attention_lm",
    seed=20260801,
    scale="stand-in",
    summaries=["test_bpc", "parameters"],
)

study.preset(
    "quick",
    "3 blocks of width 64, 300 steps of 8 windows of 128 characters; speed at 128 and 1024.",
    expected="90 s to 3 minutes on 2 cores, idle to busy",
    replicates=6,
    settings=dict(steps=300, every=50, validation=16_384, windows=[128, 1024], rounds=3),
    block=1,
)

study.preset(
    "long",
    "The model of quick, 3000 steps of 8 windows of 128 characters.",
    expected="about 17 minutes on 2 cores",
    replicates=6,
    settings=dict(steps=3000, every=250, windows=[128, 1024], rounds=3),
    block=1,
)

study.preset(
    "paper",
    "4 blocks of width 128, 3000 steps of 16 windows of 256 characters; speed at 128, 512 and the paper's 2048.",
    expected="about 4 hours on 2 cores",
    replicates=6,
    settings=dict(blocks=4, width=128, hidden=344, length=256, batch=16, steps=3000, every=250),
    block=1,
)

study.preset(
    "gpu",
    "6 blocks of width 256, windows of 512, 20 times the text of paper, for --device cuda. Speed on a GPU: "
    "study attention_gpu.",
    expected="not measured; estimated at 2 to 8 hours on one GPU",
    replicates=6,
    settings=dict(
        blocks=6,
        width=256,
        heads=8,
        hidden=688,
        length=512,
        batch=48,
        steps=10_000,
        every=500,
        tokens=16_384,
        rounds=21,
    ),
    block=1,
)

study.arm("softmax", "softmax")
study.arm("sigmoid", "sigmoid", attention="sigmoid")
study.arm("throughput", "speed of the kernels", measure="throughput")

# --- claims: rules written before the run ---
# The paper gives *comparable* no margin. That of 0.05 is ours, and wide: at this size it is more than softmax
# attention loses with half the window (study sigmoid_attention_window). Since that was seen the statement names it.
study.claim(
    "comparable",
    "With sigmoid attention the test loss is worse by at most 0.05 bits per character than with softmax "
    "attention, a margin of ours.",
    difference("test_bpc", "sigmoid", versus="softmax").at_most(0.05, predicted="<= 0"),
    source="SA §5.2, Table 2: comparable or superior performance",
    because="Table 2 says it of the accuracy on most of six benchmarks, for which the test loss stands in; the "
    "margin is ours.",
)
study.claim(
    "inference-short",
    "With the same unfused kernel, inference is faster with sigmoid attention (CPU, windows of 128, log ratio).",
    log_ratio(
        "inference_throughput",
        "throughput",
        at=dict(hardware="cpu", window=128, kernel="sigmoid"),
        versus_at=dict(hardware="cpu", window=128, kernel="softmax"),
    ).at_least(0.0, predicted="> 0"),
    dict(source="SA Table 2: 486 against 441 tokens per second", because=CREDITS_GAIN_GPUS),
    group="table-2-inference",
)
study.claim(
    "inference-long",
    "With the same unfused kernel, inference is faster with sigmoid attention (CPU, windows of 1024, log ratio).",
    log_ratio(
        "inference_throughput",
        "throughput",
        at=dict(hardware="cpu", window=1024, kernel="sigmoid"),
        versus_at=dict(hardware="cpu", window=1024, kernel="softmax"),
    ).at_least(0.0, predicted="> 0"),
    dict(source="SA Table 2: 486 against 441 tokens per second", because=CREDITS_GAIN_GPUS),
    dict(group="table-2-inference", presets=["quick", "long"]),
)
study.claim(
    "training-short",
    "With the same unfused kernel, training is faster with sigmoid attention (CPU, windows of 128, log ratio).",
    log_ratio(
        "training_throughput",
        "throughput",
        at=dict(hardware="cpu", window=128, kernel="sigmoid"),
        versus_at=dict(hardware="cpu", window=128, kernel="softmax"),
    ).at_least(0.0, predicted="> 0"),
    dict(source="SA §1, contribution 2: accelerating both training and inference", because=CREDITS_GAIN_GPUS),
    group="table-2-training",
)
study.ours(
    "inference-fused",
    "Inference with sigmoid attention is faster than with PyTorch's fused softmax (CPU, windows of 128, log ratio).",
    log_ratio(
        "inference_throughput",
        "throughput",
        at=dict(hardware="cpu", window=128, kernel="sigmoid"),
        versus_at=dict(hardware="cpu", window=128, kernel="fused softmax"),
    ).at_least(0.0, predicted="> 0"),
    source="ours: beside SA Table 2, each attention with the best kernel there is",
)

# --- what the verdicts say: each text is shown only where they are so ---
study.finding(
    dict(comparable="not supported"),
    "By the rule the two kinds of attention are not comparable: the loss with sigmoid attention is the higher "
    "one. The sentence of the paper is not refuted by that, but *comparable or superior* is no property of the "
    "formula alone.",
)
study.finding(
    dict(comparable="supported"),
    "By the rule the two kinds of attention are comparable: sigmoid attention is worse by at most 0.05 bits per "
    "character. The margin is ours.",
)
study.finding(
    {"inference-short": "supported", "inference-long": "supported"},
    "With the same unfused kernel, inference on this CPU is faster with sigmoid attention.",
)
study.finding(
    {"inference-fused": "supported"},
    "PyTorch's fused softmax, which with ALiBi still reads the whole bias, is the slower one at 128 characters.",
)

# --- figures ---
study.figure(
    kind="function",
    title="Validation loss of a small language model by its attention",
    x="step",
    xlabel="step",
    logx=False,
    logy=False,
    function=PAIRED,
    options=dict(
        variables=dict(valid_bpc="bits per character"), baseline="softmax", others=["sigmoid"], region=[-10.0, 0.05]
    ),
    caption="Same first weights and batches in both arms of a replicate. Means and 95 % t-intervals over "
    "replicates, on the right of paired differences; shaded: at most 0.05 more, the rule of the claim, which is "
    "judged on the test part.",
)

study.figure(
    "throughput",
    kind="function",
    title="Speed by kernel, on one thread of a CPU",
    x="window",
    xlabel="characters in a window",
    function=PAIRED,
    options=dict(
        variables=dict(
            inference_throughput="inference, characters / s", training_throughput="training, characters / s"
        ),
        over="kernel",
        baseline="softmax",
        others=["fused softmax", "sigmoid"],
        at=dict(arm="throughput", hardware="cpu"),
        ratio=True,
    ),
    caption="A measurement of the machine: characters per CPU second in inference (above) and training "
    "(below). The same model with three kernels that take turns; geometric means and 95 % intervals over "
    "replicates, on the right of paired ratios.",
)
