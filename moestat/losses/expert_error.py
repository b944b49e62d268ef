"""The error of fitted experts alone, to the nearest of all representations of the truth.

Orders such as those of Table 1 of "sigmoid-attention" are about experts. The distance from eta* to the nearest fitted
eta (:func:`moestat.losses.matching.nearest_expert`) is not zero where a fit represents the truth with an expert split
in two: each part is then away from eta*. Here fitted experts are compared with those of the representation that
equation (12) is least for.
"""

from __future__ import annotations

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.losses.minimisers import nearest_minimiser
from moestat.models.regression import Model


def expert_error(fitted: Array, truth: Array, model: Model) -> Array:
    """Return the eta block of equation (12), the sum over fitted atoms of ||deta||, to the nearest minimiser.

    It is 0 on every representation of the truth with N atoms, superfluous ones split off or vanished, and at most the
    whole equation (12), :func:`moestat.losses.minimisers.L3_infimum`.

    Parameters
    ----------
    fitted : array (..., N, P)
        Measures that are not finite get NaN.
    truth : array (N*, P), N* <= N

    Returns
    -------
    array (...)
    """
    xp = namespace(fitted, truth)
    target = to_numpy(truth)
    flat = to_numpy(fitted).reshape(-1, *fitted.shape[-2:])
    values = np.array([_one(atoms, target, model) for atoms in flat])
    return xp.asarray(values.reshape(fitted.shape[:-2]), dtype=fitted.dtype)


def _one(atoms: np.ndarray, truth: np.ndarray, model: Model) -> float:
    if not np.isfinite(atoms).all():
        return float("nan")
    _, measure = nearest_minimiser(atoms, truth, model)
    difference = atoms[:, None, :] - measure
    cell = np.argmin(np.sum(difference[..., 1:] ** 2, axis=-1), axis=1)
    own = difference[np.arange(len(atoms)), cell]
    return float(np.sum(np.linalg.norm(own[:, model.eta], axis=1)))
