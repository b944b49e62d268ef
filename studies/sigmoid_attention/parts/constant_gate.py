"""Cells of constant gate: how fast f moves as two atoms hide b, and whether atoms without b can hide A.

A replicate is a truth drawn as in "sigmoid-attention", App. E.1, whose last atom has a constant gate of a given weight.
Nothing is fitted; see :mod:`studies.sigmoid_attention.parts.gate_pairs`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from moestat.experiment import SettingsModel
from moestat.losses.voronoi import L1
from moestat.models.experts import Expert
from moestat.models.regression import Model
from moestat.models.truths import ground_truth
from moestat.replicates import Row, Streams, each
from studies.sigmoid_attention.parts.gate_pairs import flat_share, hidden_pair, smallest_curvature

VERSION = 1

T = 2.0 ** (-np.arange(12, -1, -1) / 2)  # the grid of t, from 1/64 to 1


class Settings(SettingsModel):
    """Settings of a cell."""

    weight: float = Field(0.5, gt=0, lt=1, description="sigma(c*), the weight of the true atom of constant gate")
    shares: Literal["equal", "flat"] = Field(
        "equal", description="of the two atoms: equal, or such that the term of order t^4 vanishes too"
    )
    expert: Expert = Field("gelu", description="form of the experts")
    d: int = Field(3, ge=1, description="input dimension")
    n_true: int = Field(3, ge=2, description="N*, atoms of the truth, the one of constant gate among them")
    points_log2: int = Field(11, ge=8, description="log2 of the number of points, uniform on the cube")
    cells: int = Field(1000, ge=1, description="draws of the weights of m atoms without b, m = 2, 3, 4")


@each(dims={"change": ("t",), "L1": ("t",)}, coords={"t": T}, finished="The pair was followed.", iterations=len(T))
def run(s: Settings, streams: Streams) -> Row:
    """Follow the hidden pair along t for one truth per replicate, and look for cells whose A are hidden.

    Per replicate and t: ``change``, the root mean squared change of f, and ``L1`` to the truth. Per replicate:
    ``share`` of the first atom, and ``curvature``, the smallest over the draws of
    :func:`studies.sigmoid_attention.parts.gate_pairs.smallest_curvature`, divided by 1 - w*.
    """
    model = Model("sigmoid", "full", s.expert, s.d)
    share = flat_share(s.weight) if s.shares == "flat" else 0.5
    if np.isnan(share):
        raise ValueError(f"weight is {s.weight}; shares 'flat' exist for weights above 1 - 1/sqrt(3) = 0.4226")
    rng = streams("truth", d=s.d, n_true=s.n_true)
    truth = ground_truth(model, s.n_true, "sparse", rng, n_sparse=1)
    truth[-1, 0] = np.log(s.weight) - np.log1p(-s.weight)
    x = rng.uniform(-1.0, 1.0, (2**s.points_log2, s.d))
    direction = rng.standard_normal(s.d)
    measures = hidden_pair(model, truth, direction / np.linalg.norm(direction), share, T)
    change = model.predict(measures, x) - model.predict(truth, x)
    weights = [s.weight * rng.dirichlet(np.full(m, 0.5), s.cells) for m in (2, 3, 4)]
    # a weight that is 0 to rounding is no atom
    least = min(float(np.min(smallest_curvature(np.clip(g, 1e-9, None)))) for g in weights)
    return {
        "change": np.sqrt(np.mean(change**2, axis=1)),
        "L1": L1(measures, truth, model),
        "share": share,
        "curvature": least / (1.0 - s.weight),
    }
