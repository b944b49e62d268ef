r"""What goes wrong at the routing boundaries of competition-gated mixtures, beside the losses of the paper.

A small change of the weights moves the boundaries between the winners, so that a small share of the inputs is sent to
other experts. There the densities may differ by a constant, and that share may be all that a mean over a few thousand
inputs does not see. Means of the Hellinger distance are therefore taken apart: over inputs with the same winners on a
small sample, over the misrouted ones of a large sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from moestat.arrays import Array, namespace, to_numpy
from moestat.losses.divergences import squared_hellinger
from moestat.models.blocks import row_blocks
from moestat.models.competition import Competition
from moestat.models.gaussian import log_density

_ROWS = 2**15


def paired_with_truth(fitted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the fitted atoms (..., k*, P) in the order of the true ones, by the pairing that is closest in sum.

    Parameters
    ----------
    fitted : array (..., k, P), k >= k*
    truth : array (k*, P)

    Raises
    ------
    ValueError
        If there are fewer fitted than true atoms.
    """
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
    """Means over the law of x, arrays (...).

    Attributes
    ----------
    misrouted : array
        P(the winners are not the true ones).
    mean, squared : arrays
        E h and E h^2.
    squared_misrouted : array
        The part of E h^2 that misrouted inputs contribute.
    """

    misrouted: np.ndarray
    mean: np.ndarray
    squared: np.ndarray
    squared_misrouted: np.ndarray


def routed_hellinger(model: Competition, paired: Array, truth: Array, pool: Array, few: int) -> RoutedHellinger:
    """Return E h and E h^2 of fitted mixtures to the true one, misrouted inputs apart.

    Parameters
    ----------
    model : Competition
    paired : array (M, k*, P)
        Atoms in the order of the true ones, see :func:`paired_with_truth`.
    truth : array (k*, P)
    pool : array (N, d)
        A large sample from the law of x.
    few : int
        How many of the first points of the pool stand for inputs with the true winners, and how many misrouted ones
        are looked at, at most.
    """
    xp = namespace(paired, truth, pool)
    rows = [[], [], [], []]  # type: list[list[float]]
    for k in range(paired.shape[0]):
        wrong = to_numpy(_misrouted(model, paired[k, ...], truth, pool))
        share = float(np.mean(wrong))
        right = np.flatnonzero(~wrong[:few])
        there = np.flatnonzero(wrong)
        there = there[:: max(1, len(there) // few)][:few]
        means = []
        for index in (right, there):
            if len(index) == 0:
                means.append((0.0, 0.0))
                continue
            points = xp.take(pool, xp.asarray(index), axis=0)
            h2 = to_numpy(squared_hellinger(model, paired[k : k + 1, ...], truth, points))[0]
            means.append((float(np.mean(np.sqrt(h2))), float(np.mean(h2))))
        (h, h2), (h_wrong, h2_wrong) = means
        values = (share, (1 - share) * h + share * h_wrong, (1 - share) * h2 + share * h2_wrong, share * h2_wrong)
        for row, value in zip(rows, values, strict=True):
            row.append(value)
    return RoutedHellinger(*(np.asarray(row) for row in rows))


def misrouted(model: Competition, paired: Array, truth: Array, pool: Array) -> np.ndarray:
    """Return the shares (M,) of the pool whose winners are not the true ones."""
    return np.array([np.mean(to_numpy(_misrouted(model, atoms, truth, pool))) for atoms in paired])


def _misrouted(model: Competition, atoms: Array, truth: Array, pool: Array) -> Array:
    xp = namespace(atoms, truth, pool)
    parts = []
    for rows in row_blocks(pool.shape[0], _ROWS):
        x = pool[rows, :]
        parts.append(xp.any(model.winners(atoms, x) != model.winners(truth, x), axis=-2))
    return xp.concat(parts)


def largest_density_change(
    model: Competition, paired: np.ndarray, truth: np.ndarray, pool: np.ndarray, few: int
) -> np.ndarray:
    """Return the largest |p_fitted(y | x) - p_true(y | x)| over y and over inputs x of the pool, (M,).

    Looked at are misrouted inputs and the first points of the pool, ``few`` of each at most, and at each of them the
    means of all experts and of both mixtures, where the densities have their peaks.
    """
    largest = np.zeros(len(paired))
    for k, atoms in enumerate(paired):
        there = np.flatnonzero(_misrouted(model, atoms, truth, pool))
        x = np.concatenate([pool[:few], pool[there[:: max(1, len(there) // few)][:few]]])
        centres = np.concatenate([model.components(theta, x).mean for theta in (atoms, truth)])
        for y in centres:
            change = np.exp(log_density(model, atoms, x, y)) - np.exp(log_density(model, truth, x, y))
            largest[k] = max(largest[k], float(np.max(np.abs(change))))
    return largest
