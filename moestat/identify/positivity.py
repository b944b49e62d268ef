r"""Whether a linear relation among derivatives can hide a second-order error.

Expand the atoms of one over-specified cell to second order about their true atom. The error of f is a weight error
times E, plus first-order coefficients u of either sign, plus :math:`\frac12 \sum S : \partial^2 F` where
:math:`S = \sum_i \sigma_i \Delta_i \Delta_i'` is positive semidefinite. So a relation among the derivatives does harm
exactly when its second-order part is positive semidefinite (zero included): then errors of size t in the direction of S
change f by less than t^2, and no n^(-1/4) follows. A relation with an indefinite second-order part, such as
F_{b beta} = F_a, cannot be used up by any atoms and is harmless.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from moestat.identify.families import Label


def distance_to_harm(null: np.ndarray, labels: list[Label], parameters: tuple[str, ...], lengths: np.ndarray) -> float:
    """Return how far the relations are from one whose second-order part is positive semidefinite.

    It is 0 if there is such a relation; otherwise the least Frobenius norm of the negative part among relations whose
    second-order parts, in the ``parameters``, have trace 1 (infinite if there is none). ``null`` (r, k) is a basis of
    the relations among k functions; those that are not taken at (A, b) = 0 count through their first-order coefficients
    alone. Their root mean squares, ``lengths`` (k,), set the units of the parameters.
    """
    if not len(null):
        return np.inf
    maps = _second_order_parts(null, labels, parameters, lengths)
    r, atoms, size, _ = maps.shape
    # relations in coordinates z for which the second-order part is an isometry
    _, values, rows = np.linalg.svd(maps.reshape(r, -1).T, full_matrices=False)
    if values[0] == 0 or np.sum(values > 1e-9 * values[0]) < r:
        return 0.0
    basis = np.einsum("zr,rijk->zijk", rows / values[:, None], maps)
    trace = np.einsum("zijj->z", basis)
    norm = float(np.linalg.norm(trace))
    if norm < 1e-9:
        return np.inf
    centre = trace / norm**2
    free = np.linalg.svd(trace[None, :])[2][1:]

    def negative(w: np.ndarray) -> tuple[float, np.ndarray]:
        s = np.einsum("z,zijk->ijk", centre + w @ free, basis)
        values, vectors = np.linalg.eigh(s)
        below = np.minimum(values, 0.0)
        part = np.einsum("ijk,ik,ilk->ijl", vectors, below, vectors)
        return float(np.sum(below**2)), 2.0 * free @ np.einsum("zijk,ijk->z", basis, part)

    if not len(free):
        return float(np.sqrt(negative(np.zeros(0))[0]))
    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-18, "gtol": 1e-12}
    minimum = minimize(negative, np.zeros(len(free)), jac=True, method="L-BFGS-B", options=options)
    return float(np.sqrt(minimum.fun))


def _second_order_parts(
    null: np.ndarray, labels: list[Label], parameters: tuple[str, ...], lengths: np.ndarray
) -> np.ndarray:
    """Return the symmetric matrices S (r, atoms, p, p) of relations, 1/2 S : second derivatives."""
    atoms = 1 + max(label.atom for label in labels)
    position = {name: k for k, name in enumerate(parameters)}
    out = np.zeros((len(null), atoms, len(parameters), len(parameters)))
    unit = np.ones((atoms, len(parameters)))
    for k, label in enumerate(labels):
        if label.at_zero and len(label.derivative) == 2:
            i, j = (position[name] for name in label.derivative)
            out[:, label.atom, i, j] += null[:, k]
            out[:, label.atom, j, i] += null[:, k]
            if i == j and lengths[k] > 0:
                unit[label.atom, i] = np.sqrt(lengths[k])
    return out * unit[:, :, None] * unit[:, None, :]
