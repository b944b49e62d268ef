"""Every loss of a fitted regression mixture, for studies and for parameters that somebody has saved."""

from __future__ import annotations

import numpy as np

from moestat.doors import takes_float64
from moestat.losses import matching, minimisers, quotient, voronoi
from moestat.models.regression import Model


@takes_float64("fitted", "truth")
def regression_losses(fitted: np.ndarray, truth: np.ndarray, model: Model) -> dict[str, np.ndarray]:
    """Return the losses (...) of regression fits (..., N, P) that apply to a model, to a truth or a list of measures.

    ``L1``, ``L2_1``, ``L2_2`` (L2r with r = 1, 2), ``L3``, ``quotient``, ``matched``, and where they apply ``Lsm``,
    ``L4``, ``L5``. ``L3`` and ``L5`` are infima over all minimisers with N atoms that a truth (N*, P) has; to a list
    (K, N*, P) they are taken to these measures themselves.
    """
    weak = minimisers.L3_infimum if truth.ndim == 2 else voronoi.L3
    losses = {
        "L1": voronoi.L1(fitted, truth, model),
        "L2_1": voronoi.L2r(fitted, truth, model, r=1.0),
        "L2_2": voronoi.L2r(fitted, truth, model, r=2.0),
        "L3": weak(fitted, truth, model),
        "quotient": quotient.quotient(fitted, truth, model),
        "matched": matching.matched_sum(fitted, truth, model),
    }
    if model.gate == "softmax":
        losses["Lsm"] = voronoi.Lsm(fitted, truth, model)
    if model.score == "partial":
        losses |= {"L4": voronoi.L4(fitted, truth, model), "L5": losses["L3"]}
    return losses
