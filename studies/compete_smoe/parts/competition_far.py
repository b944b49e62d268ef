r"""Inequality (10) far from the truth: two sets of weights that are one expert, where every expert wins.

Nothing is fitted. k* = 2 experts of one input x, uniform on [-2, 2], with means g:

- ``scaled``: :math:`g = b \tanh(a x)`, W = (a, b). W and -W are the same expert.
- ``network``: :math:`g = b_1 \tanh(a_1 x) + b_2 \tanh(a_2 x)`, W = (a_1, b_1, a_2, b_2), a network whose two hidden
  units can change places.
- ``affine``, :math:`g = w x + b`, and ``tanh``, :math:`g = \tanh(w x + b)`: g determines W; -W is another expert.

All meet what section 4 asks of g: non-zero, differentiable, derivatives in W that are linearly independent. A measure
with the other weights of the same expert has the same density, E h = 0, and is far from the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from pydantic import Field

from moestat.experiment import SettingsModel
from moestat.replicates import Row, Streams, each

VERSION = 1

Expert = Literal["scaled", "network", "affine", "tanh"]

TRUTHS = {
    "scaled": [[2.5, 0.6], [0.7, 1.2]],
    "network": [[2.5, 0.8, 0.6, -0.3], [0.4, 1.2, 1.5, 0.2]],
    "affine": [[1.5, 0.3], [-0.6, 0.9]],
    "tanh": [[1.5, 0.3], [-0.6, 0.9]],
}
"""Weights about which truths are drawn."""

VARIANCES = [0.2, 0.4]  # variances about which they are drawn

SPREAD = 0.05  # half-width of what is drawn, in every coordinate

BOX, LEAST_VARIANCE, LARGEST_VARIANCE = 3.0, 0.1, 1.0
"""Measures of no symmetry are drawn from these weights and variances; all others lie within them."""

REACH = 2.0  # largest size of an input

X = REACH * ((np.arange(100) + 0.5) / 50.0 - 1.0)  # inputs, the midpoints of 100 intervals

Y = np.linspace(-12.0, 12.0, 801)  # responses at which densities are compared


class Settings(SettingsModel):
    """Settings of a cell."""

    expert: Expert = Field(description="the experts")
    active: int = Field(1, ge=1, le=2, description="K, winners at an input")
    others: int = Field(20, ge=1, description="measures that are drawn from the whole parameter space")


@each(finished="The distances were computed.", iterations=len(X))
def run(s: Settings, streams: Streams) -> Row:
    """Draw a truth per replicate, and compare it with measures that are far from it.

    ``least_ratio``, the least E h / D over all measures that are looked at: one expert, or both, with the other weights
    of :func:`image`, and ``others`` that are drawn; ``image_ratio``, the least of the images alone, and ``image_D``,
    the least D of them; ``least_wins``, the smallest share of inputs that a true expert wins; ``independence``, the
    smallest singular value of the derivatives of a true expert in its weights, each of them of norm 1.
    """
    centre = np.column_stack([TRUTHS[s.expert], VARIANCES])
    rng = streams("truth", expert=s.expert, active=s.active)
    truth = centre + rng.uniform(-SPREAD, SPREAD, centre.shape)
    images = [image(s.expert, truth, which) for which in ([0], [1], [0, 1])]
    drawn = rng.uniform(-BOX, BOX, (s.others, *truth.shape))
    drawn[..., -1] = rng.uniform(LEAST_VARIANCE, LARGEST_VARIANCE, drawn.shape[:-1])
    far = [*images, *drawn]
    loss = np.array([distance(measure, truth, s.active) for measure in far])
    ratio = np.array([hellinger(s.expert, measure, truth, s.active) for measure in far]) / loss
    wins = np.mean(winners(mean(s.expert, truth, X), s.active), axis=1)
    return {
        "least_ratio": ratio.min(),
        "image_ratio": ratio[: len(images)].min(),
        "image_D": loss[: len(images)].min(),
        "least_wins": wins.min(),
        "independence": min(independence(s.expert, atom) for atom in truth),
    }


def mean(expert: Expert, atoms: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return g of atoms (k, P) at inputs (N,), shape (k, N)."""
    w = atoms[:, :-1, None]
    if expert == "scaled":
        return np.asarray(w[:, 1] * np.tanh(w[:, 0] * x))
    if expert == "network":
        return np.asarray(w[:, 1] * np.tanh(w[:, 0] * x) + w[:, 3] * np.tanh(w[:, 2] * x))
    line = w[:, 0] * x + w[:, 1]
    return np.asarray(np.tanh(line) if expert == "tanh" else line)


def image(expert: Expert, atoms: np.ndarray, which: Sequence[int]) -> np.ndarray:
    """Return the atoms with other weights of some: -W, or the two hidden units of a network in each other's place."""
    out = atoms.copy()
    for i in which:
        out[i, :-1] = np.roll(atoms[i, :-1], 2) if expert == "network" else -atoms[i, :-1]
    return out


def winners(means: np.ndarray, active: int) -> np.ndarray:
    """Return which experts (k, N) are among the ``active`` largest in size; ties go to the lowest index."""
    order = np.argsort(-np.abs(means), axis=0, kind="stable")
    return np.argsort(order, axis=0, kind="stable") < active


def density(expert: Expert, atoms: np.ndarray, active: int) -> np.ndarray:
    """Return p(y | x) at all X and Y."""
    means = mean(expert, atoms, X)
    weights = np.where(winners(means, active), np.exp(np.abs(means)), 0.0)
    weights /= weights.sum(axis=0)
    variances = atoms[:, -1, None, None]
    normal = np.exp(-((Y - means[..., None]) ** 2) / (2.0 * variances)) / np.sqrt(2.0 * np.pi * variances)
    return np.asarray(np.sum(weights[..., None] * normal, axis=0))


def hellinger(expert: Expert, atoms: np.ndarray, truth: np.ndarray, active: int) -> float:
    """Return E h by quadrature."""
    roots = [np.sqrt(density(expert, measure, active)) for measure in (atoms, truth)]
    squared = 0.5 * np.sum((roots[0] - roots[1]) ** 2, axis=1) * (Y[1] - Y[0])
    return float(np.mean(np.sqrt(squared)))


def distance(atoms: np.ndarray, truth: np.ndarray, active: int) -> float:
    """Return D, the loss (9): the largest sum over ``active`` of the Voronoi cells."""
    gaps = atoms[:, None] - truth
    nearest = np.argmin(np.linalg.norm(gaps, axis=-1), axis=1)
    error = np.linalg.norm(gaps[..., :-1], axis=-1) + np.abs(gaps[..., -1])
    cells = [float(np.sum(error[nearest == j, j])) for j in range(len(truth))]
    return max(sum(cells[j] for j in chosen) for chosen in combinations(range(len(truth)), active))


def independence(expert: Expert, atom: np.ndarray, step: float = 1e-5) -> float:
    """Return the smallest singular value of the derivatives of g in W over inputs, each of norm 1."""
    derivatives = []
    for k in range(len(atom) - 1):
        up, down = atom.copy(), atom.copy()
        up[k], down[k] = atom[k] + step, atom[k] - step
        derivatives.append((mean(expert, up[None], X)[0] - mean(expert, down[None], X)[0]) / (2.0 * step))
    rows = np.stack(derivatives)
    return float(np.linalg.svd(rows / np.linalg.norm(rows, axis=1, keepdims=True), compute_uv=False)[-1])
