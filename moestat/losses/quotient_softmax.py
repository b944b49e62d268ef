"""The quotient loss of softmax gates; its definition is in :mod:`moestat.losses.quotient`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moestat.losses.rays import equal_rows, merge_cost, merging, norm, ray_distance, summed_by_group
from moestat.models.regression import Model

GAUGE_ROUNDS = 3  # of averaging that a gauge of the softmax is refined by
GAUGES_AT_A_TIME = 24  # whose atoms are merged together, the most promising first


def quotient_softmax(fitted: np.ndarray, truth: np.ndarray, model: Model) -> np.ndarray:
    """Return the loss (...) of fitted atoms (..., N, P) of a softmax gate to one true measure (N*, P)."""
    kind = merging(model)
    n, m = fitted.shape[-2], len(truth)
    if n < m:
        raise ValueError(f"{n} fitted atoms cannot represent {m} true atoms")
    masses = np.exp(truth[:, 0])
    group = equal_rows(truth[:, 1 : model.gate_size]) if kind != "none" else np.arange(m)
    target = masses[:, None] * truth[:, model.eta]
    group_of_cell = group
    if kind == "linear":
        first, target = summed_by_group(group, target)
        truth, group_of_cell = truth[first], np.arange(first.size)
    cells = _SoftmaxTruth(
        truth[:, 1 : model.gate_size],
        truth[:, model.eta],
        target,
        np.eye(group.max() + 1)[group_of_cell],
        np.bincount(group, weights=masses),
    )
    flat = fitted.reshape(-1, n, fitted.shape[-1])
    return np.array([_softmax_member(atoms, cells, model, kind) for atoms in flat]).reshape(fitted.shape[:-2])


@dataclass(frozen=True)
class _SoftmaxTruth:
    """True cells of a softmax gate: (A, b), eta, w* eta*, the group of each cell (one-hot), and the groups' masses."""

    gate: np.ndarray
    eta: np.ndarray
    target: np.ndarray
    group: np.ndarray
    mass: np.ndarray


def _softmax_member(atoms: np.ndarray, cells: _SoftmaxTruth, model: Model, kind: str) -> float:
    """Return the loss of one fitted measure in the best of the gauges reached from pairing one atom with one cell."""
    gate, eta = atoms[:, 1 : model.gate_size], atoms[:, model.eta]
    if kind == "linear":
        apart = np.zeros((len(atoms), len(cells.gate)))
    elif kind == "relu":
        apart = ray_distance(eta, cells.eta) ** 2
    else:
        apart = np.sum((eta[:, None, :] - cells.eta) ** 2, axis=-1)
    share = np.exp(atoms[:, 0] - np.max(atoms[:, 0]))
    share = share / np.sum(share)
    shifts = (cells.gate - gate[:, None, :]).reshape(-1, gate.shape[1])
    tried = [shifts]
    for _ in range(GAUGE_ROUNDS):
        moved = gate + shifts[:, None, :]
        distance = np.sum((moved[:, :, None, :] - cells.gate) ** 2, axis=-1) + apart
        step = cells.gate[np.argmin(distance, axis=-1)] - moved
        shifts = shifts + np.sum(share[:, None] * step, axis=1)
        tried.append(shifts)
    moved = gate + np.concatenate(tried)[:, None, :]
    difference = moved[:, :, None, :] - cells.gate
    near = np.argmin(np.sum(difference**2, axis=-1) + apart, axis=-1)
    member = near[..., None] == np.arange(len(cells.gate))
    # the gauge of c: masses of the occupied groups closest to the true ones, in logarithms
    mass = np.sum(share[:, None] * (member @ cells.group), axis=1)
    log_ratio = np.log(np.where(mass > 0, cells.mass / np.where(mass > 0, mass, 1.0), 1.0))
    scale = np.exp(np.sum(log_ratio, axis=1) / np.sum(mass > 0, axis=1))[:, None]
    w = share * scale
    split = (model.a_matrix, model.b)
    norms = sum(norm(difference[..., part.start - 1 : part.stop - 1]) for part in split)
    total = np.sum(np.abs(mass * scale - cells.mass), axis=1) + np.sum(w[..., None] * member * norms, axis=(1, 2))
    if kind == "none":
        return float(np.min(total + np.sum(w[..., None] * member * np.sqrt(apart), axis=(1, 2))))
    # an atom of weight 0, which an empty cell can move
    vectors = np.concatenate([w[..., None] * eta, np.zeros((len(w), 1, eta.shape[1]))], axis=1)
    least = np.inf
    for rows in np.array_split(np.argsort(total), -(-len(total) // GAUGES_AT_A_TIME)):
        rows = rows[~(total[rows] >= least)]  # merging only adds to the total: a gauge that is dear already cannot win
        if not rows.size:
            break
        cost = total[rows]
        used = np.concatenate([member[rows], np.ones((len(rows), 1, len(cells.target)), dtype=bool)], axis=1)
        used = np.moveaxis(used, -1, 0)
        merged = merge_cost(vectors[rows] * used[..., None], used * 1.0, used, cells.target[:, None, :], kind)
        for each in merged:
            cost = cost + each
        least = np.minimum(least, np.min(cost))
    return float(least)
