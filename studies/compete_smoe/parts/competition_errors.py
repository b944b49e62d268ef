r"""What goes wrong at the routing boundaries of competition-gated mixtures, beside the losses of the paper.

A small change of the weights moves the boundaries between the winners, so that a small share of the inputs is sent to
other experts. There the densities may differ by a constant, and that share may be all that a mean over a few thousand
inputs does not see. Means of the Hellinger distance are therefore taken apart: over inputs with the same winners on a
small sample, over the misrouted ones of a large sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.losses.divergences import squared_hellinger
from moestat.losses.measures import competition_losses
from moestat.models.blocks import row_blocks
from moestat.models.competition import Competition
from moestat.models.gaussian import check_atoms, check_inputs

_ROWS = 2**15


@takes_float64("fitted", "truth", finite=True)
def paired_with_truth(fitted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the fitted atoms, (..., k*, P) of (..., k, P), in the order of the true ones (k*, P), closest in sum."""
    if fitted.shape[-2] < len(truth):
        raise ValueError(f"{fitted.shape[-2]} fitted atoms cannot be paired with {len(truth)} true atoms")
    flat = fitted.reshape(-1, *fitted.shape[-2:])
    out = np.empty((len(flat), *truth.shape))
    for k, atoms in enumerate(flat):
        cost = np.linalg.norm(atoms[:, None, :] - truth[None, :, :], axis=-1)
        own, true = linear_sum_assignment(cost)
        out[k, true] = atoms[own]
    return out.reshape(*fitted.shape[:-2], *truth.shape)


def scale_and_shape(paired: np.ndarray, truth: np.ndarray, model: Competition) -> tuple[np.ndarray, np.ndarray]:
    r"""Split the error of the weights into a common scale and the rest, both as Frobenius norms (...).

    The least-squares s in :math:`\hat W \approx (1 + s) W^*` gives :math:`|s| \|W^*\|` and
    :math:`\|\hat W - (1 + s) W^*\|`. A common scale moves no routing boundary.
    """
    fitted, true = paired[..., model.w], truth[:, model.w]
    square = np.sum(true**2)
    scale = np.sum(fitted * true, axis=(-2, -1)) / square
    rest = fitted - scale[..., None, None] * true
    return np.abs(scale - 1.0) * np.sqrt(square), np.sqrt(np.sum(rest**2, axis=(-2, -1)))


@dataclass(frozen=True)
class RoutedHellinger:
    """Means over the law of x, arrays (...)."""

    misrouted: np.ndarray  # P(the winners are not the true ones)
    mean: np.ndarray  # E h
    squared: np.ndarray  # E h^2
    squared_misrouted: np.ndarray  # the part of E h^2 that misrouted inputs contribute


class Routing:
    """The true routing on a large sample from the law of x, with which the routing of other mixtures is compared.

    ``truth`` (k*, P); ``pool`` (N, d): the sample; ``few``: how many of its first points stand for all inputs with the
    true winners, and how many misrouted ones are looked at, at most.
    """

    def __init__(self, model: Competition, truth: Array, pool: Array, few: int) -> None:
        check_atoms(truth, model.atom_size, name="truth")
        check_inputs(pool, model.d)
        xp = namespace(truth, pool)
        self.model, self.truth, self.pool, self.few = model, truth, pool, few
        features = model.features(pool)
        size = xp.sort(xp.abs(model.outputs(truth[:, model.w], features)[0]), axis=0, descending=True)
        every = model.active >= truth.shape[0]  # nobody can change places
        gap = xp.full_like(size[0, :], xp.inf) if every else size[model.active - 1, :] - size[model.active, :]
        self._reach = xp.max(xp.abs(features), axis=-1)
        self._order = xp.argsort(gap, stable=True)
        self._gap = to_numpy(xp.take(gap, self._order))

    def misrouted(self, atoms: Array) -> Array:
        """Return the points, as indices, at which the winners of atoms (k*, P), in true order, are not the true ones.

        Two experts change places only where their distance in size is less than twice what either can have moved.
        """
        xp = namespace(atoms)
        moved = float(xp.max(xp.abs(atoms[:, self.model.w] - self.truth[:, self.model.w]) @ self._reach))
        near = self._order[: int(np.searchsorted(self._gap, 2.0 * moved, side="right"))]
        wrong = [xp.zeros(0, dtype=self._order.dtype)]
        for rows in row_blocks(near.shape[0], _ROWS):
            x = xp.take(self.pool, near[rows], axis=0)
            other = xp.any(self.model.winners(atoms, x) != self.model.winners(self.truth, x), axis=0)
            wrong.append(near[rows][other])
        return xp.sort(xp.concat(wrong))

    def _some(self, wrong: Array) -> Array:
        return wrong[:: max(1, -(-wrong.shape[0] // self.few))]

    def hellinger(self, paired: Array) -> RoutedHellinger:
        """Return E h and E h^2 of mixtures (M, k*, P) to the true one, atoms in the order of the true ones."""
        xp = namespace(paired)
        rows = []
        for k in range(paired.shape[0]):
            wrong = self.misrouted(paired[k, ...])
            share, means = wrong.shape[0] / self.pool.shape[0], []
            right = np.setdiff1d(np.arange(self.few), to_numpy(wrong))
            for index in (xp.asarray(right), self._some(wrong)):
                h2 = np.zeros(1)
                if index.shape[0]:
                    points = xp.take(self.pool, index, axis=0)
                    h2 = to_numpy(squared_hellinger(self.model, paired[k, ...], self.truth, points))
                means.append((float(np.mean(np.sqrt(h2))), float(np.mean(h2))))
            (h, h2_right), (h_wrong, h2_wrong) = means
            part = share * h2_wrong
            rows.append((share, (1 - share) * h + share * h_wrong, (1 - share) * h2_right + part, part))
        return RoutedHellinger(*np.reshape(rows, (-1, 4)).T)


_NODES = 24
_DRAWS = 512


class FisherLine(NamedTuple):
    """Expected losses at n = 1, to be divided by sqrt(n)."""

    root_hellinger_squared: float
    hellinger: float
    D: float


def information(model: Competition, truth: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the information matrix at each input, (N, k P, k P), by Gauss-Hermite rules for every expert's responses.

    ``truth`` (k, P); ``x`` (N, d).
    """
    check_atoms(truth, model.atom_size, name="truth")
    check_inputs(x, model.d)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    at = model.components(truth, x)
    total = np.zeros((len(x), truth.size, truth.size))
    for i in range(len(truth)):
        used = np.nonzero(np.exp(at.log_weight[i]) > 0)[0]
        if not used.size:
            continue
        y = at.mean[i, used, None] + math.sqrt(at.variance[i, 0]) * nodes
        points = np.repeat(x[used], _NODES, axis=0)
        score = model.score(truth, points, y.reshape(-1)).reshape(truth.size, len(used), _NODES)
        mass = np.exp(at.log_weight[i, used, None]) * weights / math.sqrt(2.0 * math.pi)
        total[used] += np.einsum("pxq,rxq,xq->xpr", score, score, mass, optimize=True)
    return total


def fisher_line(model: Competition, truth: np.ndarray, x: np.ndarray) -> FisherLine:
    """Return the line of a truth with inputs x (N, d) that stand for their law."""
    local = information(model, truth, x)
    values, vectors = np.linalg.eigh(local.mean(axis=0))
    if values[0] < 1e-10 * values[-1]:
        raise ValueError("The information matrix is singular: there is a direction that does not change the density.")
    p = truth.size
    noise = np.random.default_rng(20240304).standard_normal((_DRAWS, p))
    error = noise / np.sqrt(values) @ vectors.T
    small = 1e-4  # so small that every atom stays in its cell
    d = competition_losses(truth + small * error.reshape(-1, *truth.shape), truth, model)["D"] / small
    h = np.sqrt(np.maximum(np.einsum("sp,xpr,sr->sx", error, local, error, optimize=True), 0.0) / 8.0)
    chi = math.exp(math.lgamma((p + 1) / 2) - math.lgamma(p / 2)) * math.sqrt(2.0)
    return FisherLine(chi / math.sqrt(8.0), float(h.mean()), float(np.mean(d)))
