"""Distances that pair atoms one to one, and the distance to the nearest expert."""

from __future__ import annotations

import numpy as np
import scipy  # its submodules are imported when they are used

from moestat.arrays import Array, namespace, to_numpy
from moestat.losses.voronoi import infimum
from moestat.models.regression import Model


def paired(cost: Array) -> Array:
    """Return the least sums (...) over one-to-one pairings of true with fitted atoms, of costs (..., N, N*)."""
    flat = to_numpy(cost).reshape(-1, *cost.shape[-2:])
    if flat.shape[1] < flat.shape[2]:
        raise ValueError(f"{flat.shape[1]} fitted atoms cannot be paired with {flat.shape[2]} true atoms")
    totals = [member[scipy.optimize.linear_sum_assignment(member)].sum() for member in flat]
    return namespace(cost).asarray(np.array(totals).reshape(cost.shape[:-2]), dtype=cost.dtype)


def matched_sum(fitted: Array, truth: Array, model: Model) -> Array:
    """Return the least sum over paired atoms of ||dA|| + ||db|| + |dc| + ||deta||, (...).

    It is the loss L3 with a one-to-one pairing in place of the cells: every true atom is paired with a fitted atom of
    its own, softmax gates in the gauge of :meth:`moestat.models.regression.Model.align`. The N - N* fitted atoms left
    over cost nothing. ``fitted`` is (..., N, P), ``truth`` (N*, P) or a list (K, N*, P), over which it is the infimum.
    """
    return infimum(_matched_sum, fitted, truth, model)


def _matched_sum(fitted: Array, truth: Array, model: Model) -> Array:
    xp = namespace(fitted, truth)
    known = xp.all(xp.isfinite(fitted), axis=(-2, -1)) & xp.all(xp.isfinite(truth))
    if not bool(xp.all(known)):  # nothing can be paired with what is not finite
        fitted = xp.where(known[..., None, None], fitted, xp.zeros_like(fitted))
        truth = xp.where(xp.isfinite(truth), truth, xp.zeros_like(truth))
    difference = to_numpy(model.align(fitted, truth))[..., :, None, :] - to_numpy(truth)
    parts = (model.a_matrix, model.b, model.c, model.eta)
    cost = sum(np.sqrt(np.sum(difference[..., part] ** 2, axis=-1)) for part in parts)
    return xp.where(known, xp.asarray(paired(cost), dtype=fitted.dtype), xp.asarray(xp.nan, dtype=fitted.dtype))


def nearest_expert(fitted: Array, truth: Array, model: Model) -> Array:
    """Return the sum over true atoms of the distance from eta* to the nearest fitted eta; see :func:`matched_sum`.

    It looks at the experts alone: not at the gates, and not at fitted atoms that are near no true one.
    """
    return infimum(_nearest_expert, fitted, truth, model)


def _nearest_expert(fitted: Array, truth: Array, model: Model) -> Array:
    xp = namespace(fitted, truth)
    difference = fitted[..., :, None, model.eta] - truth[:, model.eta]
    return xp.sum(xp.min(xp.sqrt(xp.sum(difference**2, axis=-1)), axis=-2), axis=-1)
