"""Is sigmoid attention faster on a GPU? (sigmoid-attention, Table 2).

The model is Table 3's: 24 blocks of width 2048, 32 heads, ALiBi, norms of queries and keys. Weights and symbols are
drawn: neither has to do with the time. Six kernels attend with the same weights and take turns. *In one pass* is one
source in Triton, tiled as FlashAttention-2 and FlashSigmoid are, which differs in the function alone. *softmax* and
*sigmoid* are three operations, of which the middle one differs. *FlashAttention-2* is PyTorch's, without ALiBi. *none*
takes the values instead of attention, as fast as no kernel can be. *Decoding* is over one symbol behind kept keys and
values, *training* forward pass, gradient and AdamW step.

Both records are of one NVIDIA H100 and one process each: intervals are over repetitions seconds apart, and another
card or day is not in them. What the authors of the paper's kernels did differently is not here. The printed speeds have
a log ratio of 0.10, with errors as large as itself.
"""

from moestat import Study
from moestat.study.rules import log_ratio

study = Study(
    "Is sigmoid attention faster on a GPU?",
    paper="sigmoid-attention",
    source="SA section 5.2, Table 2, Table 3, Appendix E.2",
    question="Table 2 has 486 tokens per second with sigmoid and 441 with softmax attention, in a model of a "
    "billion weights, by two fused kernels of different authors. Which is faster in such a model, if the two "
    "kernels differ in the function alone?",
    experiment="attention_gpu",
    seed=20261126,
    scale="stand-in",
)
study.preset(
    "quick",
    "4 blocks of width 512, windows of 512 and 2048: a model in which attention has a larger share.",
    expected="about 20 s on one GPU (H100)",
    replicates=6,
    settings=dict(blocks=4, width=512, heads=8, hidden=1376),
    block=6,
)
study.preset(
    "paper",
    "Table 3's model, 1.3 billion weights, windows of 512 and 2048.",
    expected="about 70 s on one GPU (H100)",
    replicates=6,
    block=6,
)
study.arm("model", "a model of the size in Table 3")


def gain(task, suffix=""):
    """Return the log ratio of the speeds with sigmoid and softmax, in windows of 2048."""
    sigmoid, softmax = (dict(window=2048, kernel=f"{name}{suffix}") for name in ("sigmoid", "softmax"))
    return log_ratio(f"{task}_throughput", "model", at=sigmoid, versus_at=softmax)


ELEMENTWISE = (
    "Section 1 credits the gain to the element-wise sigmoid; our reading is that it then shows with equal "
    "kernels, also with one that the paper does not use."
)
ONE_PASS = (
    "Section 1 has the element-wise sigmoid enable faster implementations on GPUs; our reading is that it then "
    "shows with one kernel for both."
)
DECODING = (
    "A token per forward pass is one reading of its throughput, and section 1 credits the gain to the element-wise "
    "sigmoid."
)
SPEED, BOTH = "SA Table 2: 486 against 441 tokens per second", "SA §1, contribution 2: accelerating both"
for id_, task, suffix, what, why in [
    ("inference-one-pass", "inference", " in one pass", "kernel in one pass, inference over windows of", ONE_PASS),
    ("inference-unfused", "inference", "", "unfused kernel, inference over windows of", ELEMENTWISE),
    ("decoding-unfused", "decoding", "", "unfused kernel, generation behind", DECODING),
    ("training-unfused", "training", "", "unfused kernel, training on windows of", ELEMENTWISE),
]:
    length = "2047 symbols" if task == "decoding" else "2048"
    study.claim(
        id_,
        f"With the same {what} {length} is faster with sigmoid attention (GPU, log ratio).",
        gain(task, suffix).at_least(0.0, predicted="> 0"),
        source=f"{BOTH} training and inference" if task == "training" else SPEED,
        because=why,
    )

study.figure(
    kind="function",
    title="Speed by kernel, on a GPU",
    x="window",
    xlabel="symbols in a window",
    function="moestat.report.paired_figure:paired",
    options=dict(
        variables={f"{task}_throughput": f"{task}, symbols / s" for task in ("inference", "decoding", "training")},
        over="kernel",
        baseline="softmax",
        others=["sigmoid", "softmax in one pass", "sigmoid in one pass", "FlashAttention-2", "none"],
        at=dict(arm="model"),
        ratio=True,
    ),
    caption="A measurement of the machine. The same model with kernels that take turns; geometric means and 95 % "
    "intervals over replicates, on the right of paired ratios.",
)
