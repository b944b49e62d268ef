"""Time a model of the paper's size by its kernel of attention, on a GPU (sigmoid-attention paper, Table 2).

The model is Table 3's: a Llama with 24 blocks of width 2048, 32 heads, ALiBi, norms of queries and keys, 1.3 billion
weights. They are drawn and not trained, and the symbols drawn as well: neither has to do with the time. All kernels
attend with the same weights, and take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
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
    block, between its projections, over a batch of whole windows. Measurements of the machine, and the attribute
    ``measurement`` says so. A kernel in one pass needs a GPU, has forward passes over whole windows only, and is
    missing elsewhere.
    """
    require_torch()
    settings = Settings.model_validate(dict(cell.settings))
    rows: list[dict[str, Any]] = [{} for _ in replicates]
    shape = (len(settings.windows), len(KERNELS))
    names = [*(f"{task}_throughput" for task in TASKS), "attention_seconds"]
    for row in rows:
        row |= {name: np.full(shape, np.nan) for name in names}
        row |= {"status": int(Status.CONVERGED), "iterations": settings.rounds}
        row["message"] = f"Each kernel was timed {settings.rounds} times."
    model = _model(settings, device)
    for i, window in enumerate(settings.windows):
        timed = _passes(settings, model, window, device)
        for row in rows:
            for name, passes in timed.items():
                for kernel, (value, count) in _rounds(passes, settings.rounds, device).items():
                    j = KERNELS.index(kernel)
                    row[name][i, j] = count / value if name.endswith("throughput") else value
    attrs: dict[str, dict[str, Any]] = {name: {"measurement": 1, "units": "tokens per second"} for name in names}
    attrs["attention_seconds"]["units"] = "s"
    dims = dict.fromkeys(names, ("window", "kernel"))
    return assemble(replicates, rows, dims=dims, coords={"window": settings.windows, "kernel": KERNELS}, attrs=attrs)


def _model(settings: Settings, device: str) -> Any:
    import torch

    from studies.sigmoid_attention.parts.timed_attention import timed_decoder

    return timed_decoder(settings, dtype=getattr(torch, settings.precision), device=device)


def _passes(
    settings: Settings, model: Any, window: int, device: str
) -> dict[str, dict[Kernel, tuple[Callable[[], object], float]]]:
    """Return what is timed, by variable and kernel, with the symbols of a pass."""
    import torch

    from studies.sigmoid_attention.parts.timed_attention import set_length

    set_length(model, window)
    attention = [block.attention for block in model.blocks]
    symbols = torch.randint(settings.vocabulary, (settings.batch, window + 1), device=device)
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
            for place in range(settings.tokens):
                model.logits(given[:1, place % window, None])

    def training(kernel: Kernel) -> None:
        choose(kernel)
        model.loss(given, wanted).backward()
        optimiser.step()
        optimiser.zero_grad()

    heads = (settings.batch, settings.heads, window, settings.width // settings.heads)
    parts = [torch.randn(heads, device=device, dtype=model.embedding.dtype) for _ in range(3)]

    def alone(kernel: Kernel) -> None:
        choose(kernel)
        with torch.inference_mode():
            attention[0].attend(*parts)

    whole = [kernel for kernel in KERNELS if device == "cuda" or not kernel.endswith("one pass")]
    unfused = [kernel for kernel in whole if not kernel.endswith("one pass")]
    many, few = float(settings.batch * window), float(settings.tokens)
    return {
        "inference_throughput": {kernel: (_bound(inference, kernel), many) for kernel in whole},
        "decoding_throughput": {kernel: (_bound(decoding, kernel), few) for kernel in unfused},
        "training_throughput": {kernel: (_bound(training, kernel), many) for kernel in unfused},
        "attention_seconds": {kernel: (_bound(alone, kernel), 1.0) for kernel in whole if kernel != "none"},
    }


def _bound(call: Callable[[Kernel], None], kernel: Kernel) -> Callable[[], object]:
    return lambda: call(kernel)


def _rounds(
    passes: Mapping[Kernel, tuple[Callable[[], object], float]], rounds: int, device: str
) -> dict[Kernel, tuple[float, float]]:
    """Return the median seconds of each kernel, which take turns, and the symbols of a pass."""
    spent: dict[Kernel, list[float]] = {kernel: [] for kernel in passes}
    names = list(passes)
    for turn in range(1 + rounds):
        for kernel in [*names[turn % len(names) :], *names[: turn % len(names)]]:
            seconds = _seconds(passes[kernel][0], device)
            if turn:  # the first passes choose kernels and take memory
                spent[kernel].append(seconds)
    return {kernel: (float(np.median(spent[kernel])), passes[kernel][1]) for kernel in passes}


def _seconds(call: Callable[[], object], device: str) -> float:
    """Return the seconds on the clock, with the device waited for."""
    import torch

    wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    wait()
    begin = time.perf_counter()
    call()
    wait()
    return time.perf_counter() - begin
