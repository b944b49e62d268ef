"""The error of fitted experts alone, to the nearest of all representations of the truth.

Orders such as those of Table 1 of "sigmoid-attention" are about experts. The distance from eta* to the nearest fitted
eta (:func:`moestat.losses.matching.nearest_expert`) is not zero where a fit represents the truth with an expert split
in two: each part is then away from eta*. Here fitted experts are compared with those of the representation that
equation (12) is least for: their parameters, and, as in equation (10), their outputs. For the order of a rate the two
are one where E(x, eta) has a derivative in eta that is not 0. A squared expert that vanishes has none at eta = 0, and
its output is of second order there.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from moestat.arrays import Array, namespace, to_numpy
from moestat.losses.minimisers import nearest_minimiser
from moestat.models.experts import activation, expert_features
from moestat.models.regression import Model

SUP_LOG2 = 9  # a supremum over the cube is taken over its corners and 2**SUP_LOG2 Sobol points
PARTS = ("output", "eta", "eta_vanished", "eta_others")


def expert_errors(fitted: Array, truth: Array, model: Model) -> dict[str, Array]:
    """Return the errors of the fitted experts to the nearest minimiser, sums over fitted atoms.

    All are 0 on every representation of the truth with N atoms, superfluous ones split off or vanished; that of the
    parameters is at most the whole equation (12), :func:`moestat.losses.minimisers.L3_infimum`.

    ``fitted`` (..., N, P): measures that are not finite get NaN; ``truth`` (N*, P).

    Name -> array (...): ``output``, the sum of sup_x |E(x, eta) - E(x, eta*)| over the cube [-1, 1]^d, equation
    (10); ``eta``, the eta block of equation (12), the sum of ||deta||, and its two parts: of the atoms whose expert
    vanishes in the minimiser (``eta_vanished``, 0 where none does) and of the others.
    """
    xp = namespace(fitted, truth)
    target, points = to_numpy(truth), _points(model.d)
    flat = to_numpy(fitted).reshape(-1, *fitted.shape[-2:])
    values = np.array([_one(atoms, target, model, points) for atoms in flat]).T
    shape = fitted.shape[:-2]
    return {name: xp.asarray(v.reshape(shape), dtype=fitted.dtype) for name, v in zip(PARTS, values, strict=True)}


def _one(atoms: np.ndarray, truth: np.ndarray, model: Model, points: np.ndarray) -> list[float]:
    if not (np.isfinite(atoms).all() and np.isfinite(truth).all()):
        return [float("nan")] * len(PARTS)
    _, measure = nearest_minimiser(atoms, truth, model)
    difference = atoms[:, None, :] - measure
    cell = np.argmin(np.sum(difference[..., 1:] ** 2, axis=-1), axis=1)
    own = np.linalg.norm(difference[np.arange(len(atoms)), cell][:, model.eta], axis=1)
    vanished = np.abs(measure[cell][:, model.eta]).max(axis=1) == 0
    outputs = _outputs(atoms, model, points) - _outputs(measure[cell], model, points)
    sums = (np.abs(outputs).max(axis=0).sum(), own.sum(), own[vanished].sum(), own[~vanished].sum())
    return [float(one) for one in sums]


def _outputs(atoms: np.ndarray, model: Model, points: np.ndarray) -> np.ndarray:
    """Return E(x, eta) for every atom at points given by their features (d + 1, K), as (K, N)."""
    return to_numpy(activation(model.expert, points.T @ atoms[:, model.eta].T, power=model.power)[0])


def _points(d: int) -> np.ndarray:
    """Return the features (d + 1, K) of the corners of the cube and of Sobol points in it."""
    corners = 2.0 * ((np.arange(2**d)[:, None] >> np.arange(d)) & 1) - 1.0
    inside = 2.0 * qmc.Sobol(d, scramble=False).random_base2(SUP_LOG2) - 1.0
    return to_numpy(expert_features(np.concatenate([corners, inside])))
