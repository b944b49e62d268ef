"""Is a small language model as good with sigmoid as with softmax attention? (sigmoid-attention, section 5.2, Table 2).

The model is the paper's scaled down: a Llama whose attention weights are softmax(s) or sigmoid(s - log n), n the length
of the windows. Training is Table 3's; the text is nineteen plays of Shakespeare by characters, or one's own (``file``).
The test loss stands in for the paper's benchmarks. Both arms of a replicate share first weights and batches.

*Comparable* means worse by at most 0.05 bits per character, a margin of ours and a wide one: softmax attention loses
0.032 with half the window. How it hangs on the window, the study sigmoid_attention_window says.

The arm *throughput* times one batch through three kernels that take turns, in CPU seconds of one machine. Subnormal
weights in long windows slow softmax more; the study attention_speed sets them to 0.
"""

from moestat import Study
from moestat.study.rules import difference, log_ratio

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
study.arm("softmax", "softmax")
study.arm("sigmoid", "sigmoid", attention="sigmoid")
study.arm("throughput", "speed of the kernels", measure="throughput")

study.claim(
    "comparable",
    "With sigmoid attention the test loss is worse by at most 0.05 bits per character than with softmax "
    "attention, a margin of ours.",
    difference("test_bpc", "sigmoid", versus="softmax").at_most(0.05, predicted="<= 0"),
    source="SA §5.2, Table 2: comparable or superior performance",
    because="Table 2 says it of the accuracy on most of six benchmarks, for which the test loss stands in; the "
    "margin is ours.",
)
SPEED, BOTH = "SA Table 2: 486 against 441 tokens per second", "SA §1, contribution 2: accelerating both"
for id_, task, window, presets in [
    ("inference-short", "inference", 128, ["*"]),
    ("inference-long", "inference", 1024, ["quick", "long"]),
    ("training-short", "training", 128, ["*"]),
]:
    sigmoid, softmax = (dict(hardware="cpu", window=window, kernel=name) for name in ("sigmoid", "softmax"))
    study.claim(
        id_,
        f"With the same unfused kernel, {task} is faster with sigmoid attention (CPU, windows of {window}, log ratio).",
        log_ratio(f"{task}_throughput", "throughput", at=sigmoid, versus_at=softmax).at_least(0.0, predicted="> 0"),
        source=SPEED if task == "inference" else f"{BOTH} training and inference",
        because="Section 1 credits the gain on GPUs to the element-wise sigmoid, which then shows with equal kernels.",
        presets=presets,
    )

study.figure(
    kind="function",
    title="Validation loss of a small language model by its attention",
    x="step",
    logx=False,
    logy=False,
    function=PAIRED,
    options=dict(
        variables=dict(valid_bpc="bits per character"), baseline="softmax", others=["sigmoid"], region=[-10.0, 0.05]
    ),
    caption="Same first weights and batches in both arms of a replicate. Means and 95 % t-intervals over "
    "replicates, on the right of paired differences; shaded: the rule of the claim, which is judged on the test part.",
)
