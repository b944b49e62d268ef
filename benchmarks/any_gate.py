"""A gate of the user's own: this package's generic path beside a plain loop over SciPy's least_squares.

    python benchmarks/any_gate.py              # about four CPU minutes
    python benchmarks/any_gate.py --n 4000

Both sides get the same functions, data (two sets, tanh experts, at most one atom too many), starts. A *fit* of SciPy's
(two-point derivatives, its default tolerances) goes from one start to its end; so does one of ours, and the best of a
data set is certified with the exact Hessian. In the *race* 128 random starts compete for one data set; SciPy runs all
of them to the end (measured on 16 of them, times eight), and so does our own descent. *Apart*: by how much the residual
sum of squares of our best end exceeds the best of the others, in noise variances; below zero ours is lower.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from common import timed, write
from scipy.optimize import least_squares as scipy_least_squares

import moestat
from moestat import fit, streams
from moestat.arrays import namespace
from moestat.fit.general import Problem, descend
from moestat.fit.general_search import BUDGET, random_starts, search

ATOMS = {"hierarchical": 4}  # 3 of the others
NOISE = 0.01


def normalised(s: np.ndarray) -> np.ndarray:
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def cosine(x: np.ndarray, p: np.ndarray) -> np.ndarray:
    angle = x @ p[:, :2].T / (np.linalg.norm(p[:, :2], axis=1) * np.linalg.norm(x, axis=1, keepdims=True))
    return normalised(4 * angle + p[:, 2])


def temperature(x: np.ndarray, p: np.ndarray) -> np.ndarray:
    return normalised((x @ p[:, :2].T) / (0.5 + np.exp(p[:, 2].mean())))


def hierarchical(x: Any, p: Any) -> Any:
    xp = namespace(x)  # runs on PyTorch's tensors, too
    s = xp.reshape(x @ p[:, :2].T + p[:, 2], (x.shape[0], -1, 2))
    inner, outer = xp.exp(s - xp.max(s, axis=2, keepdims=True)), xp.exp(xp.mean(s, axis=2))
    share = (outer / xp.sum(outer, axis=1, keepdims=True))[:, :, None] / xp.sum(inner, axis=2, keepdims=True)
    return xp.reshape(share * inner, (x.shape[0], -1))


def tanh(x: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.tanh(x @ p[:, :2].T + p[:, 2])


def compare(gate: Callable[[Any, Any], Any], n: int) -> dict[str, float | str]:
    """Measure one gate."""
    model: Any = moestat.Model(gate, tanh, d=2, gate_size=3, expert_size=3)
    atoms, rng = ATOMS.get(gate.__name__, 3), np.random.default_rng(0)
    truth = np.array([[1.5, -0.5, 0.2, 1.0, 0.5, 0.3], [-1.0, 1.0, -0.3, -1.0, 0.8, -0.4]])
    truth = truth if atoms == 3 else np.concatenate([truth, truth[:, [1, 0, 2, 4, 3, 5]]])  # as many as are fitted
    x = rng.uniform(-1, 1, (2, n, 2))
    y = model.predict(truth, x) + np.sqrt(NOISE) * rng.standard_normal((2, n))
    starts = truth[np.arange(atoms) % len(truth)] + 0.5 * rng.standard_normal((2, 4, atoms, 6))

    def scipy(b: int, start: np.ndarray) -> float:
        def residuals(flat: np.ndarray) -> np.ndarray:
            theta = flat.reshape(atoms, 6)
            return np.sum(gate(x[b], theta[:, :3]) * tanh(x[b], theta[:, 3:]), axis=1) - y[b]

        return float(scipy_least_squares(residuals, start.ravel(), bounds=(-5, 5)).cost / n)

    inside = np.clip(starts, -4.9, 4.9)
    ours, found = timed(lambda: fit.least_squares(model, x, y, inside))
    loop, theirs = timed(lambda: np.array([[scipy(b, start) for start in inside[b]] for b in range(2)]))
    known, drawn = inside[0, :1], random_starts(model, x[0], y[0], atoms, 128, np.random.default_rng(1))
    stream = lambda purpose: streams.generator(0, "benchmark", 0, purpose)  # noqa: E731
    budget = replace(BUDGET, near=0, random=128, rounds=0)
    race, best = timed(
        lambda: search(model, x[0], y[0], local=known, known=known, stream=stream, budget=budget).fit.loss[0]
    )
    problem = Problem(model, atoms, x[:1], y[:1], np.zeros(128, dtype=int))
    flat = np.clip(drawn, -5, 5).reshape(128, -1)
    every, ends = timed(lambda: descend(problem, flat, np.arange(128), 5.0, 400, 1e-9))
    part, many = timed(lambda: [scipy(0, np.clip(start, -4.9, 4.9)) for start in drawn[:16]])
    return {
        "gate": gate.__name__,
        "derivatives": model.derivatives["gate"],
        "ms a fit": 1e3 * ours / 8,
        "SciPy": loop / ours,
        "apart, noise variances": float(np.mean(2 * n * (found.loss - theirs.min(axis=1)) / NOISE)),
        "race of 128, s": race,
        "ours, all to the end": every / race,
        "SciPy, all to the end": 8 * part / race,
        "race apart, noise variances": 2 * n * (best - min(float(np.min(ends.loss)), *many)) / NOISE,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000)
    n = parser.parse_args().n
    write("any_gate", [compare(gate, n) for gate in (cosine, temperature, hierarchical)])


if __name__ == "__main__":
    main()
