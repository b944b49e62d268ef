"""The losses of fitted mixing measures: CPU time of a measure beside that of one fit, and a plain computation.

    python benchmarks/scoring.py        # about 30 CPU seconds

d = 8, nine atoms for eight, fully quadratic score. Measures are truths with an atom split or copied, disturbed by 0.05
or 0.2 per coordinate; the fit is local, from such a start, to n samples with noise variance 0.01. Times are the
least of three turns of all measures. *Apart*: the largest relative difference of L3 from
equation (12), read atom by atom, to the minimiser that it is taken to, and of that minimiser's function from the truth.
``MOESTAT_KERNEL`` says what computes the fit (:mod:`moestat.fit.kernel`).
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
from common import turns, write

from moestat.fit.newton import least_squares
from moestat.losses.minimisers import L3_infimum, nearest_minimiser
from moestat.losses.quotient import quotient
from moestat.losses.regression import regression_losses
from moestat.models import truths
from moestat.models.regression import Model

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


def milliseconds(loss: Callable[..., object], each: list[tuple[np.ndarray, np.ndarray]], model: Model) -> float:
    """Return the CPU milliseconds of a measure; every turn moves the measures a little, so that nothing is known."""
    shift = itertools.count()

    def all_of_them() -> None:
        k = next(shift)
        for truth, fitted in each:
            loss(fitted[None] + 1e-9 * k, truth, model)

    return 1e3 * turns({"loss": all_of_them})[0]["loss"] / len(each)


def row(gate: str, expert: str, n: int, count: int) -> dict[str, object]:
    model, rng = Model(gate, "full", expert, 8), np.random.default_rng(3)
    each = measures(model, count, rng)
    ms = {loss.__name__: milliseconds(loss, each, model) for loss in (L3_infimum, quotient, regression_losses)}
    truth, start = each[0]
    x, y = truths.sample(model, truth, n, 0.01, rng)
    fit = partial(least_squares, model, x[None], y[None], start[None, None], box=5.0)
    fit()  # compiles
    fitted, points = 1e3 * turns({"fit": fit})[0]["fit"], rng.uniform(-1, 1, (1000, 8))
    found = {"L3, ms": ms["L3_infimum"], "all losses, ms": ms["regression_losses"], "a fit, ms": fitted}
    found |= {"_quotient, ms": ms["quotient"], "all losses in a fit's time": fitted / ms["regression_losses"]}
    apart_most = max(apart(*one, model, points) for one in each)
    return {"gate": gate, "experts": expert, **found, "apart": f"{apart_most:.0e}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000, help="samples of the fit (default: 10000)")
    parser.add_argument("--count", type=int, default=8, help="measures (default: 8)")
    asked = parser.parse_args()
    pairs = [(gate, expert) for gate in ("softmax", "sigmoid") for expert in ("linear", "relu")]
    write("scoring", [row(*pair, asked.n, asked.count) for pair in pairs])


if __name__ == "__main__":
    main()
