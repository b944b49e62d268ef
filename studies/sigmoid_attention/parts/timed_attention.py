"""A decoder whose attention is computed by any of several kernels with the same weights, and how passes are timed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from moestat.training.decoder import CausalAttention, Decoder, alibi_slopes
from studies.sigmoid_attention.parts.attention_lm import Sizes, llama


def medians(passes: Mapping[str, Callable[[], object]], rounds: int, device: str) -> dict[str, float]:
    """Return the median seconds of the pass under each name; machines drift, so that they take turns.

    The first turn chooses kernels and takes memory, and does not count.
    """
    names = list(passes)
    spent: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(1 + rounds):
        for name in [*names[turn % len(names) :], *names[: turn % len(names)]]:
            spent[name].append(_seconds(passes[name], device))
    return {name: float(np.median(seconds[1:])) for name, seconds in spent.items()}


def _seconds(one_pass: Callable[[], object], device: str) -> float:
    """Return the seconds of this thread on a CPU, those on the clock on a GPU, with the device waited for."""
    if device == "cpu":
        begin = time.thread_time()
        one_pass()
        return time.thread_time() - begin
    torch.cuda.synchronize()
    begin = time.perf_counter()
    one_pass()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def timed_decoder(sizes: Sizes, vocabulary: int, *, dtype: torch.dtype, device: str) -> Decoder:
    """Return a Llama (sigmoid-attention paper, Table 3) with drawn weights, whose blocks have ``TimedAttention``."""
    zeros = SimpleNamespace(standard_normal=partial(np.zeros, dtype=np.float32))  # a billion numbers are drawn below
    model: Decoder = llama(sizes, vocabulary, zeros, length=1)
    for block in model.blocks:
        block.attention = TimedAttention(block.attention)  # type: ignore[arg-type]
    model.to(device=device, dtype=dtype)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.ndim == 2:
                weights.normal_(std=weights.shape[1] ** -0.5)
    return model


def set_length(model: Decoder, length: int) -> None:
    """Have all blocks of a timed decoder attend in windows of this length."""
    weights = model.embedding
    slopes = torch.from_numpy(alibi_slopes(model.shape.heads).astype(np.float32)).to(weights.device)
    place = torch.arange(length, device=weights.device)
    distance = place[:, None] - place
    bias = torch.where(distance < 0, -torch.inf, -slopes[:, None, None] * distance)
    shared = {
        "slopes": slopes,
        "softmax": bias.to(weights.dtype),
        "sigmoid": (bias - math.log(length)).to(weights.dtype),
    }
    for block in model.blocks:
        block.attention.shared, block.attention.kept = shared, None  # type: ignore[union-attr]


class TimedAttention(torch.nn.Module):
    """Attention by the kernel of the moment, with the projections and norms of a ``CausalAttention``.

    ``kernel``: one of :data:`studies.sigmoid_attention.parts.attention_gpu.KERNELS`; ``decoding``: whether the input
    is the last symbol of a window, whose earlier keys and values are kept.
    """

    def __init__(self, like: CausalAttention) -> None:
        super().__init__()
        self.heads = like.shape.heads
        self.into, self.out = like.into, like.out
        self.query_norm, self.key_norm = like.query_norm, like.key_norm
        self.kernel: Any = "softmax"
        self.decoding = False
        # of a length, and shared by all blocks: no buffers, of which each block would have its own
        self.shared: dict[str, torch.Tensor] = {}
        self.kept: tuple[torch.Tensor, torch.Tensor] | None = None

    @property
    def length(self) -> int:
        """Symbols of a window."""
        return self.shared["softmax"].shape[-1]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, length, width) to the same."""
        batch, length, width = x.shape
        q, k, v = F.linear(x, self.into).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        q, k = self.query_norm(q), self.key_norm(k)  # type: ignore[misc]
        if self.decoding and self.kernel != "none":
            k, v = self._extended(k, v)
        mixed = self.attend(q, k, v)
        return F.linear(mixed.transpose(1, 2).reshape(batch, length, width), self.out)

    def _extended(self, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Put the last symbol behind the kept ones, which are drawn at first."""
        if self.kept is None:
            shape = (*k.shape[:2], self.length, k.shape[-1])
            self.kept = torch.randn(shape, device=k.device, dtype=k.dtype), torch.randn_like(k.expand(shape))
        keys, values = self.kept
        keys[:, :, -1:], values[:, :, -1:] = k, v
        return keys, values

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Attend with queries (batch, heads, queries, size), to keys and values (batch, heads, length, size)."""
        if self.kernel == "none":
            return v
        if self.kernel == "FlashAttention-2":
            half = q.is_cuda and q.dtype == torch.bfloat16
            with sdpa_kernel([SDPBackend.FLASH_ATTENTION if half else SDPBackend.MATH]):
                return F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
        if self.kernel.endswith("one pass"):
            from studies.sigmoid_attention.parts import one_pass_attention

            function = self.kernel.split()[0]
            tile = one_pass_attention.tuned(function, tuple(q.shape), q.dtype)
            shift = -math.log(self.length) if function == "sigmoid" else 0.0
            return one_pass_attention.attend(q, k, v, self.shared["slopes"], function, shift=shift, tile=tile)
        batch, heads, queries, size = q.shape
        rows = batch * heads
        q, k, v = (part.reshape(rows, -1, size) for part in (q, k, v))
        scores = torch.baddbmm(self._bias(batch, queries), q, k.transpose(1, 2), alpha=size**-0.5)
        weights = scores.softmax(dim=-1) if self.kernel == "softmax" else scores.sigmoid()
        return torch.bmm(weights, v).view(batch, heads, queries, size)

    def _bias(self, batch: int, queries: int) -> torch.Tensor:
        """Return what is added to the scores of the last queries (batch * heads, queries, length), made once."""
        name = f"{self.kernel}, {batch} x {queries}"
        if name not in self.shared:
            bias = self.shared[self.kernel][:, -queries:]
            self.shared[name] = bias.expand(batch, *bias.shape).reshape(-1, queries, self.length)
        return self.shared[name]
