"""Causal attention with ALiBi in one pass over the keys on a GPU, by one kernel for the softmax and for the sigmoid.

What FlashAttention-2 (Dao 2024) and FlashSigmoid (Ramapuram et al. 2024) share: the scores of a tile of queries and
a tile of keys are made, used and forgotten in the multiprocessor, so that no matrix of length by length is written.
The softmax carries a maximum and a sum from tile to tile and rescales what it has when the maximum rises; the sigmoid
adds. Two fused kernels of different authors differ in much else, so here everything else is the same source.

Forward passes only. Importing the module needs Triton, which comes with PyTorch's builds for CUDA.
"""

import functools
import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
import triton
import triton.language as tl


class Tile(NamedTuple):
    """How the work is cut: queries and keys of a tile, warps of a program, loads in flight."""

    queries: int
    keys: int
    warps: int
    stages: int


TILES = (Tile(128, 64, 4, 3), Tile(128, 64, 8, 3), Tile(128, 128, 8, 2), Tile(64, 64, 4, 3), Tile(128, 32, 4, 4))
"""What :func:`tuned` tries for either function."""


@triton.jit
def _sigmoid(x, NATIVE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the sigmoid: of 2 x by the hardware's tanh, as FlashSigmoid has it, if ``NATIVE``, else of log(2) x."""
    if NATIVE:
        half = tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
        return 0.5 + 0.5 * half
    return 1.0 / (1.0 + tl.exp2(-x))


@triton.jit
def _add_keys(  # type: ignore[no-untyped-def]
    total, weight, top, q, queries, size, k_base, v_base, slope, scale, shift, begin, end,
    MASKED: tl.constexpr, SOFTMAX: tl.constexpr, NATIVE: tl.constexpr, SIZE: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Add what the keys from ``begin`` to ``end`` give to M queries."""
    for first in range(begin, end, N):
        keys = first + tl.arange(0, N)
        k = tl.load(k_base + keys[None, :] * SIZE + size[:, None])
        v = tl.load(v_base + keys[:, None] * SIZE + size[None, :])
        distance = queries[:, None] - keys[None, :]
        score = scale * tl.dot(q, k) - slope * distance.to(tl.float32) + shift
        if MASKED:
            score = tl.where(distance >= 0, score, -1e30)
        if SOFTMAX:
            higher = tl.maximum(top, tl.max(score, axis=1))
            kept = tl.exp2(top - higher)
            p = tl.exp2(score - higher[:, None])
            weight = weight * kept + tl.sum(p, axis=1)
            total = total * kept[:, None]
            top = higher
        else:
            p = _sigmoid(score, NATIVE)
        total = tl.dot(p.to(v.dtype), v, total)
    return total, weight, top


@triton.jit
def _forward(  # type: ignore[no-untyped-def]
    q_at, k_at, v_at, out_at, slope_at, scale, shift, length, heads,
    SOFTMAX: tl.constexpr, NATIVE: tl.constexpr, SIZE: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Compute a tile of M queries of one head; arrays are (rows, length, SIZE), contiguous, length a multiple of M."""
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * M  # the longest rows first
    row = tl.program_id(1)
    base = row.to(tl.int64) * length * SIZE
    slope = tl.load(slope_at + row % heads)
    size = tl.arange(0, SIZE)
    queries = first + tl.arange(0, M)
    q = tl.load(q_at + base + queries[:, None] * SIZE + size[None, :])
    total = tl.zeros([M, SIZE], dtype=tl.float32)
    weight = tl.zeros([M], dtype=tl.float32)
    top = tl.full([M], -1e30, dtype=tl.float32)
    seen = first // N * N  # keys before it are seen by all of these queries
    total, weight, top = _add_keys(
        total, weight, top, q, queries, size, k_at + base, v_at + base, slope, scale, shift, 0, seen,
        MASKED=False, SOFTMAX=SOFTMAX, NATIVE=NATIVE, SIZE=SIZE, N=N,
    )  # fmt: skip
    total, weight, top = _add_keys(
        total, weight, top, q, queries, size, k_at + base, v_at + base, slope, scale, shift, seen, first + M,
        MASKED=True, SOFTMAX=SOFTMAX, NATIVE=NATIVE, SIZE=SIZE, N=N,
    )  # fmt: skip
    if SOFTMAX:
        total = total / weight[:, None]
    tl.store(out_at + base + queries[:, None] * SIZE + size[None, :], total.to(q.dtype))


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    slopes: torch.Tensor,
    function: Literal["softmax", "sigmoid"],
    *,
    shift: float = 0.0,
    tile: Tile = TILES[0],
) -> torch.Tensor:
    """Attend to this and earlier positions.

    ``q``, ``k``, ``v`` (batch, heads, length, size): ``size`` is a power of two from 16 on, ``length`` a multiple of
    the tile's queries and keys. ``slopes`` (heads,): ALiBi's: the slope times the distance is taken from the score.
    ``function``: of the scores ``q k / sqrt(size)``. ``shift``: added to every score: -log(length) for the sigmoid
    (sigmoid-attention paper, eq. (85)). ``tile``: how the work is cut; the same numbers up to rounding.
    """
    batch, heads, length, size = q.shape
    if length % tile.queries or length % tile.keys:
        raise ValueError(f"the length is {length}; it must be a multiple of {tile.queries} and {tile.keys}")
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    out = torch.empty_like(q)
    grid = (length // tile.queries, batch * heads)
    # scores in the unit of the function that takes them: of exp2, or of tanh, whose argument is half the sigmoid's
    unit = 0.5 if function == "sigmoid" and q.is_cuda else math.log2(math.e)
    _forward[grid](
        q, k, v, out, unit * slopes, unit * size**-0.5, unit * shift, length, heads,
        SOFTMAX=function == "softmax", NATIVE=q.is_cuda, SIZE=size, M=tile.queries, N=tile.keys,
        num_warps=tile.warps, num_stages=tile.stages,
    )  # fmt: skip
    return out


@functools.cache
def tuned(function: Literal["softmax", "sigmoid"], shape: tuple[int, int, int, int], dtype: torch.dtype) -> Tile:
    """Return the fastest of ``TILES`` for a shape (batch, heads, length, size): each function gets its own best one."""
    q, k, v = (torch.randn(shape, device="cuda", dtype=dtype) for _ in range(3))
    slopes = torch.zeros(shape[1], device="cuda")
    fitting = [tile for tile in TILES if shape[2] % tile.queries == 0 and shape[2] % tile.keys == 0]
    return min(fitting, key=lambda tile: _milliseconds(lambda: attend(q, k, v, slopes, function, tile=tile)))


def _milliseconds(call: Callable[[], object], repeats: int = 10) -> float:
    call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(repeats):
        call()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / repeats
