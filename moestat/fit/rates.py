"""Whether a GPU would fit faster than the processors, by recorded rates.

Source: ``benchmarks/results/gpu_fits.csv``, the row in which a GPU gains least (sigmoid gate, linear experts, a data
set for each of 1024 fits): an NVIDIA H200 beside one core of its machine. A round of a small batch takes ``ROUND``
seconds whatever its size, and work is counted as n p^2: sample size, and the square of the number of parameters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

CORE, GPU = 1.027, 105.1
"""Certified fits a second of one core and of the GPU."""
STEPS, N, P = 56.21, 10_000, 486
"""Steps, samples and parameters of these fits."""
ROUND = 0.008
"""Seconds of the shortest step of a batch (``docs/howto-gpu.md``)."""
SCORES = 0.05
"""Seconds in which one core scores a fit, wherever it was made (``benchmarks/results/scoring.csv``)."""
START = 20.0
"""Seconds until a process has compiled what it needs on a GPU."""
MARGIN = 2.0
"""A GPU is taken if it is faster by this factor: other cards are slower than the recorded one, other cores faster."""


@dataclass(frozen=True)
class Fits:
    """Least-squares fits that a block hands over at once: their number, samples n and parameters p of each."""

    at_once: int
    n: int
    p: int

    @property
    def size(self) -> float:
        """The work of a fit beside the recorded one."""
        return self.n * self.p**2 / (N * P**2)

    @property
    def on_core(self) -> float:
        """Fits a second of one core."""
        return CORE / self.size

    @property
    def on_gpu(self) -> float:
        """Fits a second of a GPU."""
        return self.at_once / (STEPS * max(ROUND, self.at_once * self.size / (STEPS * GPU)))


def seconds(blocks: Iterable[Fits], cores: int) -> tuple[float, float]:
    """Return how long the fits of all blocks take on so many cores, and on a GPU that computes one block at a time."""
    core, gpu = 0.0, START
    for fits in blocks:
        core += fits.at_once * (1.0 / fits.on_core + SCORES) / cores
        gpu += fits.at_once * (1.0 / fits.on_gpu + SCORES)
    return core, gpu


def faster(blocks: Iterable[Fits], cores: int) -> tuple[bool, str]:
    """Return whether a GPU is to be taken for the fits of these blocks, and why, in a sentence."""
    core, gpu = seconds(blocks, cores)
    told = f"by recorded rates the fits take {core:.3g} s on {cores} cores and {gpu:.3g} s on a GPU"
    return core > MARGIN * gpu, f"{told}, which is taken if it is {MARGIN:g} times as fast"
