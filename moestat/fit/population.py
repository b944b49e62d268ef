r"""Pseudo-truths: the population least-squares minima of a model that does not contain the truth.

:math:`\bar G \in \arg\min_G \|f_G - f^*\|_{L_2(\mu)}` over N-atom measures in a box, mu uniform on [-1, 1]^d
("sigmoid-attention", the set :math:`\overline{M}_N` of section 4.2). The minimum is not unique in practice and not well
separated: every start tends to find another one. What is returned is therefore a *list*, the minima within ``keep`` of
the best one that was found, and the box and the starts belong to its definition.

Minima are searched on a coarse scrambled Sobol sample, and those that can still be kept are polished on a fine one:
few points overfit, so the coarse ranking is not the last word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from moestat.arrays import Device, backend, to_numpy
from moestat.fit.newton import Fit, least_squares
from moestat.models.regression import Model

_SLACK = 3.0
"""Minima within this multiple of ``keep`` on the coarse sample are polished: the fine sample may reorder them."""
_SAME = 1e-3
"""Minima nearer than this in the largest coordinate, atoms sorted, count as one."""


@dataclass(frozen=True)
class PseudoTruths:
    """The minima that were kept, best first, and what happened to the rest.

    Attributes
    ----------
    theta : array (K, N, P)
    rmse : array (K,)
        ||f_G - f*|| on the fine sample.
    gradient, min_eigenvalue : arrays (K,)
        Certificate of each minimum, see :class:`moestat.fit.newton.Fit`.
    status : int array (K,)
    searched : array (S,)
        ||f_G - f*|| on the coarse sample at the end of every start, in the order of the starts.
    """

    theta: np.ndarray
    rmse: np.ndarray
    gradient: np.ndarray
    min_eigenvalue: np.ndarray
    status: np.ndarray
    searched: np.ndarray


def pseudo_truths(
    model: Model,
    target: Callable[[np.ndarray], np.ndarray],
    starts: np.ndarray,
    *,
    box: float = 5.0,
    points_log2: int = 15,
    polish_log2: int = 17,
    keep: float = 0.01,
    max_iterations: int = 400,
    seed: int = 0,
    device: Device = "cpu",
) -> PseudoTruths:
    """Find population minima of ||f_G - f*|| from a list of starts.

    Parameters
    ----------
    model : Model
    target : callable
        f*: points (m, d) -> values (m,).
    starts : array (S, N, P)
        Where the search starts.
    box : float
        Bound on the absolute value of every coordinate.
    points_log2, polish_log2 : int
        The search uses 2**points_log2 Sobol points, the polish 2**polish_log2 others.
    keep : float
        Minima within this share of the smallest ||f_G - f*|| are kept.
    max_iterations : int
        Steps per start and sample.
    seed : int
        Of the scrambling of the Sobol points.

    Returns
    -------
    PseudoTruths

    Raises
    ------
    ValueError
        If ``starts`` is not (S, N, P) with S >= 1, or ``keep`` is negative.
    """
    if starts.ndim != 3 or not len(starts) or starts.shape[-1] != model.atom_size:
        raise ValueError(f"starts has shape {starts.shape}; it must be (S, N, {model.atom_size}) with S >= 1")
    if keep < 0:
        raise ValueError(f"keep is {keep}; it must be at least 0")
    coarse = _fit(model, target, starts, points_log2, seed, box, max_iterations, device)
    searched = np.sqrt(2.0 * to_numpy(coarse.loss))
    good = np.flatnonzero(searched <= (1.0 + _SLACK * keep) * np.nanmin(searched))
    good = good[np.argsort(searched[good], kind="stable")]
    candidates = _distinct(model, to_numpy(coarse.theta)[good])
    fine = _fit(model, target, candidates, polish_log2, seed + 1, box, max_iterations, device)
    rmse = np.sqrt(2.0 * to_numpy(fine.loss))
    order = np.argsort(rmse, kind="stable")
    order = order[rmse[order] <= (1.0 + keep) * rmse[order[0]]]
    theta = to_numpy(fine.theta)[order]
    first = _first_of_each(model, theta)
    rows = order[first]
    return PseudoTruths(
        theta=theta[first],
        rmse=rmse[rows],
        gradient=to_numpy(fine.gradient)[rows],
        min_eigenvalue=to_numpy(fine.min_eigenvalue)[rows],
        status=to_numpy(fine.status)[rows],
        searched=searched,
    )


def sobol(d: int, log2: int, seed: int) -> np.ndarray:
    """Return 2**log2 scrambled Sobol points on [-1, 1]^d."""
    return 2.0 * qmc.Sobol(d, scramble=True, rng=np.random.default_rng(seed)).random_base2(log2) - 1.0


def _fit(
    model: Model,
    target: Callable[[np.ndarray], np.ndarray],
    starts: np.ndarray,
    log2: int,
    seed: int,
    box: float,
    max_iterations: int,
    device: Device,
) -> Fit:
    """Fit from every start on its own: each is a replicate of the same noiseless data."""
    xp = backend(device)
    points = sobol(model.d, log2, seed)
    x = xp.asarray(np.broadcast_to(points, (len(starts), *points.shape)))
    y = xp.asarray(np.broadcast_to(target(points), (len(starts), len(points))))
    return least_squares(model, x, y, xp.asarray(starts[:, None]), box=box, max_iterations=max_iterations)


def _distinct(model: Model, theta: np.ndarray) -> np.ndarray:
    return theta[_first_of_each(model, theta)]


def _first_of_each(model: Model, theta: np.ndarray) -> np.ndarray:
    """Return the indices of the minima that are no copy, up to the order of the atoms, of an earlier one."""
    kept: list[int] = []
    for k, atoms in enumerate(theta):
        if not any(_same(model, atoms, theta[j]) for j in kept):
            kept.append(k)
    return np.asarray(kept, dtype=np.int64)


def _same(model: Model, one: np.ndarray, other: np.ndarray) -> bool:
    aligned = model.align(one, other)
    gap = np.abs(aligned[:, None, :] - other[None, :, :]).max(axis=-1)
    return bool((gap.min(axis=1) < _SAME).all() and len(np.unique(gap.argmin(axis=1))) == len(one))
