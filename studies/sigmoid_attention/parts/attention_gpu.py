"""Time a model of the paper's size by its kernel of attention, on a GPU (sigmoid-attention paper, Table 2).

The model is Table 3's: a Llama with 24 blocks of width 2048, 32 heads, ALiBi, norms of queries and keys, 1.3 billion
weights. They are drawn and not trained, and the symbols drawn as well: neither has to do with the time. All kernels
attend with the same weights, and take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field

from moestat.experiment import Cell, assemble, require_torch
from studies.sigmoid_attention.parts.attention_lm import Sizes

VERSION = 1

DEVICES = ("cuda",)
KERNELS = ("softmax", "sigmoid", "softmax in one pass", "sigmoid in one pass", "FlashAttention-2", "none")
"""Three operations that differ in the function between two products; one kernel of one source, which differs in the
function alone; PyTorch's fused softmax, without ALiBi, which it has not; the values themselves instead of attention."""
TASKS = ("inference", "decoding", "training")


class Settings(Sizes):
    """Settings of a cell; sizes are the paper's, *ours* where it has none."""

    blocks: int = Field(24, ge=1, description="of attention and feed-forward network")
    width: int = Field(2048, ge=1, description="of the model")
    heads: int = Field(32, ge=1, description="must divide width")
    hidden: int = Field(5504, ge=1, description="ours: 8/3 of the width, as in Llama 2")
    vocabulary: int = Field(32000, ge=2, description="ours: Llama 2's")
    windows: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        (512, 2048), min_length=1, description="lengths that are timed; 2048 is the paper's"
    )
    batch: int = Field(2, ge=1, description="ours: windows of a pass")
    precision: Literal["bfloat16", "float32"] = Field("bfloat16", description="ours: of weights and products")
    rounds: int = Field(3, ge=1, description="ours: timed passes of each kernel, of which the median counts")
    tokens: int = Field(16, ge=1, description="ours: symbols that are generated in a timed pass of decoding")


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Time the kernels once per replicate.

    ``inference_throughput`` (window, kernel): symbols per second of forward passes over whole windows, to the logits;
    ``decoding_throughput``: of passes over one symbol whose earlier keys and values are kept, one window at a time;
    ``training_throughput``: of forward pass, gradient and AdamW step. A kernel in one pass needs a GPU, has forward
    passes over whole windows only, and is missing elsewhere.
    """
    require_torch()
    import torch

    from studies.sigmoid_attention.parts.timed_attention import medians, timed_decoder

    s = Settings.model_validate(dict(cell.settings))
    names = [f"{task}_throughput" for task in TASKS]
    rows = [{name: np.full((len(s.windows), len(KERNELS)), np.nan) for name in names} for _ in replicates]
    model = timed_decoder(s, s.vocabulary, dtype=getattr(torch, s.precision), device=device)
    for i, window in enumerate(s.windows):
        timed = _passes(s, model, window, device)
        for row in rows:
            for name, (symbols, passes) in zip(names, timed, strict=True):
                for kernel, seconds in medians(passes, s.rounds, device).items():
                    row[name][i, KERNELS.index(kernel)] = symbols / seconds
    return assemble(
        replicates,
        rows,
        dims=dict.fromkeys(names, ("window", "kernel")),
        coords={"window": s.windows, "kernel": KERNELS},
        attrs=dict.fromkeys(names, {"measurement": 1, "units": "tokens per second"}),
        finished=f"Each kernel was timed {s.rounds} times.",
        iterations=s.rounds,
    )


def _passes(s: Settings, model: Any, window: int, device: str) -> list[tuple[int, dict[str, Callable[[], object]]]]:
    """Return for each of ``TASKS`` the symbols of a pass, and the passes of each kernel."""
    import torch

    from studies.sigmoid_attention.parts.timed_attention import set_length

    set_length(model, window)
    symbols = torch.randint(s.vocabulary, (s.batch, window + 1), device=device)
    given, wanted = symbols[:, :-1], symbols[:, 1:]
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-6)

    def choose(kernel: str, decoding: bool = False) -> None:
        for block in model.blocks:
            block.attention.kernel, block.attention.decoding = kernel, decoding

    def inference(kernel: str) -> None:
        choose(kernel)
        with torch.inference_mode():
            model.logits(given)

    def decoding(kernel: str) -> None:
        choose(kernel, decoding=True)
        with torch.inference_mode():
            for place in range(s.tokens):
                model.logits(given[:1, place % window, None])

    def training(kernel: str) -> None:
        choose(kernel)
        model.loss(given, wanted).backward()
        optimiser.step()
        optimiser.zero_grad()

    unfused = [kernel for kernel in KERNELS if not kernel.endswith("one pass")]
    return [
        (s.batch * window, {k: partial(inference, k) for k in (KERNELS if device == "cuda" else unfused)}),
        (s.tokens, {k: partial(decoding, k) for k in unfused}),
        (s.batch * window, {k: partial(training, k) for k in unfused}),
    ]
