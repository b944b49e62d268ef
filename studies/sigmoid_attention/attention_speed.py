"""Is sigmoid attention faster with the same kernel, on a CPU? (sigmoid-attention, Table 2).

Nothing is trained: one batch goes through the model of the study sigmoid_attention_lm with three kernels, which take
turns. Softmax and sigmoid are the same three operations but for the function in the middle; the third is PyTorch's
fused softmax, which has no sigmoid counterpart. A replicate is the median of some passes, in CPU seconds of one thread.

By ALiBi's slopes the weights of far positions are subnormal numbers: in windows of 2048 at 1.6 % of the positions with
softmax and at 0.2 % with sigmoid attention. A CPU's products are several times slower with them, which says nothing
about the formula. In the arm *flushed*, which the claims are of, they are zero; in *kept* they are what they are.

Expect a few per cent in favour of the sigmoid in long windows. These numbers are of one machine, and differ from run to
run.
"""

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

SPEED, BOTH = "SA Table 2: 486 against 441 tokens per second", "SA §1, contribution 2: accelerating both"
for task, window, presets in [
    ("inference", 128, ["*"]),
    ("inference", 1024, ["quick"]),
    ("inference", 2048, ["paper"]),
    ("training", 2048, ["paper"]),
]:
    sigmoid, softmax = (dict(hardware="cpu", window=window, kernel=name) for name in ("sigmoid", "softmax"))
    study.claim(
        f"{task}-{window}",
        f"With the same unfused kernel, {task} is faster with sigmoid attention (CPU, windows of {window}, log ratio).",
        log_ratio(f"{task}_throughput", "flushed", at=sigmoid, versus_at=softmax).at_least(0.0, predicted="> 0"),
        source=SPEED if task == "inference" else f"{BOTH} training and inference",
        because="Section 1 credits the gain on GPUs to the element-wise sigmoid, which then shows with equal kernels.",
        presets=presets,
    )

study.figure(
    kind="function",
    title="Speed by kernel, on one thread of a CPU, subnormal numbers at zero",
    x="window",
    xlabel="characters in a window",
    function="moestat.report.paired_figure:paired",
    options=dict(
        variables={f"{task}_throughput": f"{task}, characters / s" for task in ("inference", "training")},
        over="kernel",
        baseline="softmax",
        others=["fused softmax", "sigmoid"],
        at=dict(arm="flushed", hardware="cpu"),
        ratio=True,
    ),
    caption="A measurement of the machine, per CPU second. The same model with three kernels that take turns; "
    "geometric means and 95 % intervals over replicates, on the right of paired ratios.",
)
