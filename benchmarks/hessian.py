"""One evaluation of loss, gradient and exact Hessian, beside J'J by SYRK, which Gauss-Newton needs.

    python benchmarks/hessian.py                     # about 1 CPU minute
    MOESTAT_KERNEL=256 python benchmarks/hessian.py  # vectors of another width

The Gauss-Newton side is written by hand: the dense Jacobian in float32 and one SYRK (BLAS), as in ``least_squares.py``.
Gflop/s are those of our products of weights and monomials alone, over the time of the whole evaluation; SGEMM is a
product of two 1024 x 1024 matrices in the same run. ReLU experts, nine atoms, products in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import turns, write
from least_squares import make_problem
from scipy.linalg import blas

from moestat.fit.moments import Problem, layout
from moestat.fit.newton import problem_of
from moestat.models.regression import Model

SIZES = (("softmax", 8, 1000), ("softmax", 8, 10_000), ("softmax", 8, 100_000), ("sigmoid", 8, 100_000))


def flops_per_row(model: Model, n_atoms: int) -> int:
    """Multiplications and additions of the three products, per sample."""
    gate, mixed, expert = layout(model, n_atoms).sizes
    pairs = n_atoms * (n_atoms + 1) // 2
    return 2 * (pairs * (gate + expert) + n_atoms**2 * mixed)


def row(gate: str, d: int, n: int) -> dict[str, Any]:
    """Time the sides at one size."""
    given = make_problem(gate, "relu", n, 0, d)
    model, theta, x, y = given.model, given.start[None], given.x[None], given.y[None]
    atoms, flat = theta.shape[1], given.start.reshape(-1)
    problems = [make(model, atoms, x, y, "mixed") for make in (problem_of, Problem)]
    square = np.random.default_rng(0).random((1024, 1024), dtype=np.float32)
    sides = {
        "ours": lambda: problems[0].hessian(theta, 0.01, 1.0),
        "plain": lambda: problems[1].hessian(theta, 0.01, 1.0),
        "syrk": lambda: blas.ssyrk(1.0, given.residuals(flat, True, np.float32)[1].T, trans=1),
        "sgemm": lambda: square @ square,
    }
    for side in sides.values():
        side()
    seconds, _ = turns(sides, 5)
    return {
        "gate": gate,
        "d": d,
        "n": n,
        "this package, us per sample": 1e6 * seconds["ours"] / n,
        "plain NumPy": seconds["plain"] / seconds["ours"],
        "J'J by SYRK": seconds["syrk"] / seconds["ours"],
        "Gflop/s, ours": flops_per_row(model, atoms) * n / seconds["ours"] / 1e9,
        "Gflop/s of SGEMM": 2 * 1024**3 / seconds["sgemm"] / 1e9,
    }


if __name__ == "__main__":
    write("hessian", [row(*size) for size in (*SIZES, ("softmax", 16, 10_000))])
