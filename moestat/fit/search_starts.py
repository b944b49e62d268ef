"""Where a global search starts: beside known minimisers, at random, and with one atom taken out or put in.

Every start has a kind and an index, and its random numbers come from a stream of that name: a larger budget begins
with the same starts, and no number depends on which of them are computed together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from moestat.arrays import Array
from moestat.fit.gradient import perturb
from moestat.fit.screening import candidates, screen
from moestat.models import truths
from moestat.models.regression import Model

Stream = Callable[[str], np.random.Generator]
"""Returns the random generator of a purpose; different purposes are independent."""

RADII = (0.05, 0.3, 1.0)
"""Standard deviations per coordinate of the starts near a known minimiser, in turn: a basin is about 0.5 wide."""
KINDS = ("local", "near", "random", "insert", "replace")
"""Kinds of starts: the local estimator's own, beside a known minimiser, drawn from the law of truths, a smaller fit
with one atom more, and the best fit with one atom replaced."""


def near(known: np.ndarray, count: int, stream: Stream, *, box: float) -> np.ndarray:
    """Return ``count`` starts around the known minimisers (K, N, P): all of them at the first radius, then the next."""
    out = []
    for k in range(count):
        radius = RADII[k // len(known) % len(RADII)]
        out.append(perturb(known[k % len(known)], radius, stream(f"search near {k}")))
    return np.clip(_stack(out, known.shape[1:]), -box, box)


def random(model: Model, n_atoms: int, count: int, stream: Stream, *, box: float) -> np.ndarray:
    """Return ``count`` draws from the law of truths."""
    drawn = [truths.ground_truth(model, n_atoms, "dense", stream(f"search random {k}")) for k in range(count)]
    return np.clip(_stack(drawn, (n_atoms, model.atom_size)), -box, box)


def without_one(theta: np.ndarray) -> np.ndarray:
    """Return the measures (..., N, N - 1, P) that lack one atom of ``theta`` (..., N, P), in the order of atoms."""
    return np.stack([np.delete(theta, k, axis=-2) for k in range(theta.shape[-2])], axis=-3)


def inserted(
    model: Model,
    x: Array,
    y: Array,
    bases: np.ndarray,
    count: int,
    screened: int,
    purpose: str,
    stream: Stream,
    *,
    box: float,
) -> np.ndarray:
    """Return ``count`` starts that put one atom into smaller fits: the candidates with the largest first-order gains.

    The fits (B, N - 1, P) get equal shares of the starts, and of the ``screened`` candidates that they are chosen from.
    """
    law = np.full(model.atom_size, model.d**-0.5)
    best = []
    for b, base in enumerate(bases):
        share = len(range(b, count, len(bases)))
        number = max(screened // len(bases), share)
        drawn = candidates(model, x, base, number, law, stream(f"{purpose} {b}"), box=box)
        promise = screen(model, x, y, base, drawn, box=box)
        chosen = np.argsort(-promise.gain, kind="stable")[:share]
        best.append([np.concatenate([base, promise.atom[k][None]]) for k in chosen])
    # in turn, so that a smaller number of starts still sees every base
    ordered = [group[k] for k in range(max(map(len, best), default=0)) for group in best if k < len(group)]
    return _stack(ordered, (bases.shape[1] + 1, model.atom_size))


def _stack(measures: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    return np.stack(measures) if measures else np.empty((0, *shape))
