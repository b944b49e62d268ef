"""Time the kernels of attention with and without subnormal numbers (sigmoid-attention paper, section 5.2, Table 2).

In long windows the weights of far positions are smaller than the smallest normal number, of softmax attention at more
positions than of sigmoid attention, and a CPU's matrix products are several times slower with such numbers. That is a
trait of the processor and of ALiBi's slopes, not of the formula: a GPU has no such cost. So they are flushed to zero.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Literal

import xarray as xr
from pydantic import Field

from moestat.experiment import Cell, require_torch
from studies.sigmoid_attention.parts import attention_lm

VERSION = 1


class Settings(attention_lm.Settings):
    """Settings of a cell: those of ``attention_lm``, and what becomes of subnormal numbers."""

    measure: Literal["throughput"] = Field("throughput", description="time all three kernels")
    subnormals: Literal["flushed", "kept"] = Field(
        "flushed", description="ours: numbers below 1.2e-38 are zero, or are what they are, which a CPU is slow with"
    )


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Time the kernels once per replicate, see :func:`studies.sigmoid_attention.parts.attention_lm.run`."""
    require_torch()
    settings = dict(cell.settings)
    with flushed() if settings.pop("subnormals") == "flushed" else contextlib.nullcontext():
        return attention_lm.run(dataclasses.replace(cell, settings=settings), replicates, device=device)


@contextlib.contextmanager
def flushed() -> Iterator[None]:
    """Have this thread take subnormal numbers for zero."""
    import torch

    if not torch.set_flush_denormal(True):
        raise RuntimeError("this processor cannot flush subnormal numbers; set subnormals = 'kept'")
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
