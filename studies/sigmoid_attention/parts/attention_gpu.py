"""Time a model of the paper's size by its kernel of attention, on a GPU (sigmoid-attention paper, Table 2).

The model is Table 3's: a Llama with 24 blocks of width 2048, 32 heads, ALiBi, norms of queries and keys, 1.3 billion
weights. They are drawn and not trained, and the symbols drawn as well: neither has to do with the time. All kernels
attend with the same weights, and take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr
from pydantic import Field, field_validator, model_validator

from moestat.experiment import Cell, SettingsModel, assemble, require_torch
from moestat.status import Status

VERSION = 1

DEVICES = ("cuda",)
Kernel = Literal["softmax", "sigmoid", "softmax in one pass", "sigmoid in one pass", "FlashAttention-2", "none"]
KERNELS: tuple[Kernel, ...] = get_args(Kernel)
"""Three operations that differ in the function between two products; one kernel of one source, which differs in the
function alone; PyTorch's fused softmax, without ALiBi, which it has not; the values themselves instead of attention."""
TASKS = ("inference", "decoding", "training")


class Settings(SettingsModel):
    """Settings of a cell; sizes are the paper's, *ours* where it has none."""

    blocks: int = Field(24, ge=1, description="of attention and feed-forward network")
    width: int = Field(2048, ge=1, description="of the model")
    heads: int = Field(32, ge=1, description="must divide width")
    hidden: int = Field(5504, ge=1, description="ours: 8/3 of the width, as in Llama 2")
    vocabulary: int = Field(32000, ge=2, description="ours: Llama 2's")
    windows: tuple[int, ...] = Field((512, 2048), description="lengths that are timed; 2048 is the paper's")
    batch: int = Field(2, ge=1, description="ours: windows of a pass")
    precision: Literal["bfloat16", "float32"] = Field("bfloat16", description="ours: of weights and products")
    rounds: int = Field(3, ge=1, description="ours: timed passes of each kernel, of which the median counts")
    tokens: int = Field(16, ge=1, description="ours: symbols that are generated in a timed pass of decoding")

    @field_validator("windows")
    @classmethod
    def _windows(cls, windows: tuple[int, ...]) -> tuple[int, ...]:
        if not windows or min(windows) < 2:
            raise ValueError(f"windows is {windows}; each must be 2 or more")
        return windows

    @model_validator(mode="after")
    def _heads(self) -> Settings:
        if self.width % self.heads:
            raise ValueError(f"heads is {self.heads}; it must divide width, which is {self.width}")
        return self


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Time the kernels once per replicate.

    ``inference_throughput`` (window, kernel): symbols per second of forward passes over whole windows, to the logits;
    ``decoding_throughput``: of passes over one symbol whose earlier keys and values are kept, one window at a time;
    ``training_throughput``: of forward pass, gradient and AdamW step. ``attention_seconds``: of attention alone in one
    block, between its projections, over a batch of whole windows. A kernel in one pass needs a GPU, has forward passes
    over whole windows only, and is missing elsewhere.
    """
    require_torch()
    import torch

    from studies.sigmoid_attention.parts.throughput import medians
    from studies.sigmoid_attention.parts.timed_attention import timed_decoder

    s = Settings.model_validate(dict(cell.settings))
    names = [*(f"{task}_throughput" for task in TASKS), "attention_seconds"]
    said = f"Each kernel was timed {s.rounds} times."
    done: dict[str, Any] = {"status": int(Status.CONVERGED), "iterations": s.rounds, "message": said}
    rows = [done | {name: np.full((len(s.windows), len(KERNELS)), np.nan) for name in names} for _ in replicates]
    model = timed_decoder(s, dtype=getattr(torch, s.precision), device=device)
    for i, window in enumerate(s.windows):
        timed = _passes(s, model, window, device)
        for row in rows:
            for name, (symbols, passes) in timed.items():
                for kernel, (seconds,) in medians(passes, s.rounds, device).items():
                    row[name][i, KERNELS.index(kernel)] = symbols / seconds if symbols else seconds
    attrs: dict[str, dict[str, Any]] = {name: {"measurement": 1, "units": "tokens per second"} for name in names}
    attrs["attention_seconds"]["units"] = "s"
    dims = dict.fromkeys(names, ("window", "kernel"))
    return assemble(replicates, rows, dims=dims, coords={"window": s.windows, "kernel": KERNELS}, attrs=attrs)


def _passes(
    s: Settings, model: Any, window: int, device: str
) -> dict[str, tuple[float, dict[Kernel, list[Callable[[], object]]]]]:
    """Return by variable the symbols of a pass, 0 where seconds are asked for, and the passes of each kernel."""
    import torch

    from studies.sigmoid_attention.parts.timed_attention import set_length

    set_length(model, window)
    attention = [block.attention for block in model.blocks]
    symbols = torch.randint(s.vocabulary, (s.batch, window + 1), device=device)
    given, wanted = symbols[:, :-1], symbols[:, 1:]
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-6)

    def choose(kernel: Kernel, decoding: bool = False) -> None:
        for part in attention:
            part.kernel, part.decoding = kernel, decoding

    def inference(kernel: Kernel) -> None:
        choose(kernel)
        with torch.inference_mode():
            model.logits(given)

    def decoding(kernel: Kernel) -> None:
        choose(kernel, decoding=True)
        with torch.inference_mode():
            for place in range(s.tokens):
                model.logits(given[:1, place % window, None])

    def training(kernel: Kernel) -> None:
        choose(kernel)
        model.loss(given, wanted).backward()
        optimiser.step()
        optimiser.zero_grad()

    heads = (s.batch, s.heads, window, s.width // s.heads)
    parts = [torch.randn(heads, device=device, dtype=model.embedding.dtype) for _ in range(3)]

    def alone(kernel: Kernel) -> None:
        choose(kernel)
        with torch.inference_mode():
            attention[0].attend(*parts)

    unfused: list[Kernel] = [kernel for kernel in KERNELS if not kernel.endswith("one pass")]
    whole = list(KERNELS) if device == "cuda" else unfused
    return {
        "inference_throughput": (s.batch * window, {k: [partial(inference, k)] for k in whole}),
        "decoding_throughput": (s.tokens, {k: [partial(decoding, k)] for k in unfused}),
        "training_throughput": (s.batch * window, {k: [partial(training, k)] for k in unfused}),
        "attention_seconds": (0, {k: [partial(alone, k)] for k in whole if k != "none"}),
    }
