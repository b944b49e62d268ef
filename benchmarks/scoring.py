"""The losses of fitted mixing measures: CPU time of a measure beside that of one fit, and a plain computation.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/scoring.py        # about 40 CPU seconds

d = 8, nine atoms for eight, fully quadratic score. Measures are truths with an atom split or copied, disturbed by 0.05
or 0.2 per coordinate; the fit is local, from such a start, to n samples with noise variance 0.01. Times are CPU seconds
of one thread, the least of ``--turns`` turns of all measures. *Apart*: the largest relative difference of L3 from
equation (12), read atom by atom, to the minimiser that it is taken to, and of that minimiser's function from the truth.
``MOESTAT_KERNEL`` says what computes the fit (:mod:`moestat.fit.kernel`).
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from moestat.fit.newton import least_squares
from moestat.losses.minimisers import L3_infimum, nearest_minimiser
from moestat.losses.quotient import quotient
from moestat.losses.regression import regression_losses
from moestat.models import truths
from moestat.models.regression import Model

RESULTS = Path(__file__).parent / "results" / "scoring.json"
ATOMS = 8


def measures(model: Model, count: int, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return truths (8, P) and measures (9, P) beside them."""
    out = []
    for k in range(count):
        truth = truths.ground_truth(model, ATOMS, "dense", rng)
        copied = np.concatenate([truth, truth[k % ATOMS][None]])
        at = copied if k % 2 else truths.split(model, truth, ATOMS + 1)
        out.append((truth, at + (0.05, 0.2)[k // 2 % 2] * rng.standard_normal(at.shape)))
    return out


def plain(fitted: np.ndarray, measure: np.ndarray, model: Model) -> float:
    """Return equation (12) atom by atom; of places that rounding alone tells apart the cheapest counts."""
    total = 0.0
    for atom in fitted:
        square = [np.sum((atom[1:] - other[1:]) ** 2) for other in measure]
        near = [other for other, s in zip(measure, square, strict=True) if s <= min(square) * (1 + 1e-12)]
        parts = (model.a_matrix, model.b, model.c, model.eta)
        total += min(sum(np.linalg.norm(atom[part] - other[part]) for part in parts) for other in near)
    return float(total)


def apart(truth: np.ndarray, fitted: np.ndarray, model: Model, x: np.ndarray) -> float:
    """Return what the module's text calls so, of one measure."""
    loss, measure = nearest_minimiser(fitted, truth, model)
    f, true = model.predict(measure, x), model.predict(truth, x)
    return max(abs(loss / plain(fitted, measure, model) - 1), float(np.max(np.abs(f - true)) / np.max(np.abs(true))))


def timed(loss: Callable[..., object], each: list[tuple[np.ndarray, np.ndarray]], model: Model, turns: int) -> float:
    """Return the CPU milliseconds of a measure; every turn moves the measures a little, so that nothing is known."""
    times = []
    for _ in range(turns):
        moved = [(truth, fitted[None] + 1e-9 * time.process_time()) for truth, fitted in each]
        start = time.process_time()
        for truth, fitted in moved:
            loss(fitted, truth, model)
        times.append(time.process_time() - start)
    return 1e3 * min(times) / len(each)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000, help="samples of the fit (default: 10000)")
    parser.add_argument("--count", type=int, default=12, help="measures (default: 12)")
    parser.add_argument("--turns", type=int, default=3, help="turns, of which the fastest counts (default: 3)")
    arguments = parser.parse_args()
    columns = ("L3, ms", "quotient, ms", "all, ms", "fit, ms", "fit / L3", "fit / all", "apart")
    print(f"{'gate':9}{'experts':9}" + "".join(f"{name:>14}" for name in columns))
    rows = []
    for gate in ("softmax", "sigmoid"):
        for expert in ("linear", "relu"):
            model, rng = Model(gate, "full", expert, 8), np.random.default_rng(3)
            each = measures(model, arguments.count, rng)
            ms = [timed(loss, each, model, arguments.turns) for loss in (L3_infimum, quotient, regression_losses)]
            truth, start = each[0]
            x, y = truths.sample(model, truth, arguments.n, 0.01, rng)
            fits = []
            for _ in range(1 + arguments.turns):  # the first one compiles
                begin = time.process_time()
                least_squares(model, x[None], y[None], start[None, None], box=5.0)
                fits.append(1e3 * (time.process_time() - begin))
            fit, points = min(fits[1:]), rng.uniform(-1, 1, (1000, 8))
            numbers = [*ms, fit, fit / ms[0], fit / ms[2], max(apart(*one, model, points) for one in each)]
            rows.append({"gate": gate, "experts": expert, **dict(zip(columns, numbers, strict=True))})
            print(f"{gate:9}{expert:9}" + "".join(f"{number:14.3g}" for number in numbers), flush=True)
    RESULTS.write_text(json.dumps({"machine": platform.processor(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
