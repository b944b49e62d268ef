"""Competition gating near the truth: what a small change of the weights, or a copied expert, does to the density.

Nothing is fitted. A replicate is a random direction of norm 1 in the weights, followed from the truth over epsilon, and
an expert that moves to the place of another one, over t from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from pydantic import Field

from moestat import arrays
from moestat.experiment import Cell, SettingsModel, assemble
from moestat.losses.divergences import expected_hellinger
from moestat.losses.measures import competition_losses
from studies.compete_smoe.parts.competition_designs import Design, sobol_inputs, true_mixture
from studies.compete_smoe.parts.competition_errors import Routing

VERSION = 1

DEVICES = ("cpu", "cuda")

EPSILON = 10.0 ** (-np.arange(4, 13) / 4)  # Frobenius norms of the change of the weights: 0.1 to 0.001

T = np.arange(0, 21) / 20  # positions between an expert and its copy


class Settings(SettingsModel):
    """Settings of a cell."""

    design: Design = Field(description="the truth, see studies.compete_smoe.parts.competition_designs")
    pool_log2: int = Field(21, ge=12, le=22, description="misrouted inputs are sought among 2**this Sobol points")
    evaluation_points: int = Field(2048, ge=64, le=4096, description="points on which Hellinger distances are taken")


def run(cell: Cell, replicates: Sequence[int], *, device: str = "auto") -> xr.Dataset:
    """Follow one direction, and one copy, per replicate.

    Over ``epsilon``: ``misrouted``, the share of inputs whose winners change; ``hellinger_squared``
    (E h^2); ``density_change``, the largest change of p(y | x); ``D``, ``hellinger_per_D``. Over
    ``t``: ``copy_D``, ``copy_matched``, ``copy_hellinger``, ``copy_empty_cells``. Per replicate the same at t = 1:
    ``copied_D``, ``copied_matched``, ``copied_hellinger``.
    """
    s = Settings.model_validate(dict(cell.settings))
    xp = arrays.backend(arrays.resolve_device(device))
    model, truth = true_mixture(s.design)
    pool = sobol_inputs(model.d, s.pool_log2)
    routing = Routing(model, xp.asarray(truth), xp.asarray(pool), s.evaluation_points)
    points = xp.asarray(pool[: s.evaluation_points])
    rows: list[dict[str, Any]] = []
    for r in replicates:
        rng = cell.generator(r, "direction", design=s.design)
        direction = np.zeros_like(truth)
        direction[:, model.w] = rng.standard_normal(truth[:, model.w].shape)
        direction /= np.linalg.norm(direction)
        moved = truth + EPSILON[:, None, None] * direction
        at = routing.hellinger(xp.asarray(moved))
        losses = competition_losses(moved, truth, model)
        row: dict[str, Any] = {
            "misrouted": at.misrouted,
            "hellinger_squared": at.squared,
            "density_change": routing.largest_density_change(xp.asarray(moved)),
            "D": losses["D"],
            "hellinger_per_D": at.mean / losses["D"],
        }
        gone, copied = rng.choice(len(truth), 2, replace=False)
        path = np.repeat(truth[None], len(T), axis=0)
        path[:, gone] = (1.0 - T)[:, None] * truth[gone] + T[:, None] * truth[copied]
        losses = competition_losses(path, truth, model)
        h, _ = expected_hellinger(model, xp.asarray(path), xp.asarray(truth), points)
        row |= {f"copy_{name}": losses[name] for name in ("D", "matched", "empty_cells")}
        row["copy_hellinger"] = arrays.to_numpy(h)
        row |= {f"copied_{name}": row[f"copy_{name}"][-1] for name in ("D", "matched", "hellinger")}
        rows.append(row)
    lengths = {name: ("t" if name.startswith("copy_") else "epsilon",) for name in rows[0]}
    dims = {name: own for name, own in lengths.items() if np.ndim(rows[0][name])}
    coords = {"epsilon": EPSILON, "t": T}
    finished = "The distances were computed."
    return assemble(replicates, rows, dims=dims, coords=coords, finished=finished, iterations=len(EPSILON))
