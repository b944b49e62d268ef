"""The argmin of least squares, by two searches that draw everything apart (sigmoid-attention, section 5.1).

Per data set a local fit, two searches of equal length, and, where these end further apart than v log n in the residual
sum of squares (v: noise variance), a third with ten times the evaluations. Truths, data and targets are those of the
experiment ``regression`` with the same settings and seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from pydantic import Field

from moestat.arrays import Device, backend, to_numpy
from moestat.experiment import Cell, assemble
from moestat.fit import end_points
from moestat.fit.newton import least_squares
from moestat.fit.settle import Found, search, settle
from studies.sigmoid_attention.parts import regression, regression_problem
from studies.sigmoid_attention.parts.regression_scores import score
from studies.sigmoid_attention.parts.settled_rules import LOCAL, TENFOLD

VERSION = 1
DEVICES = ("cpu", "cuda")
LOSSES = ("L1", "L3", "quotient", "rmse")
TIMES = 10  #: So many times the evaluations of one search has the third one.


class Settings(regression_problem.Settings):
    """Every setting of ``regression``, and the length of a search; start and SGD belong to the local fit alone."""

    evaluations: int = Field(8000, ge=1, description="Newton evaluations of each of the two searches")


def prerequisites(cell: Cell) -> list[dict]:
    """Return the lists of pseudo-truths that this cell is scored against, those of ``regression``."""
    shared = {name: value for name, value in cell.settings.items() if name != "evaluations"}
    return regression.prerequisites(replace(cell, settings=shared))


def prepare(prerequisite: dict, *, device: Device) -> None:
    """Compute a list of pseudo-truths and leave it in the cache."""
    regression.prepare(prerequisite, device=device)


def run(cell: Cell, replicates: Sequence[int], *, device: Device = "cpu") -> xr.Dataset:
    """Search the least-squares fits of the replicates of one cell.

    Per replicate ``settled`` and ``same_minimum`` (0 or 1), ``apart`` (of the two searches), ``gain`` (of the lower one
    over the local fit) and ``tenfold_gain`` (of ten times the search over it), differences of residual sums of squares
    in noise variances. A data set counts as settled only if the local fit is not lower by more than v log n either.

    The losses ``L1``, ``L3``, ``quotient`` and ``rmse`` at the lower minimiser, and ``<loss>_near``, the highest over
    all end points within v log n of it; the same with the ending ``_tenfold`` (NaN on settled data sets), and with
    ``_local`` at the local fit.
    """
    settings = Settings(**cell.settings)
    rows: dict[int, dict[str, Any]] = {}
    groups: dict[int, list[regression.Batch]] = {}  # by the number of points around which a search starts
    for draw in range(settings.truths):
        if own := [r for r in replicates if r % settings.truths == draw]:
            batch = regression.Batch.of(cell, settings, draw, own, device)
            groups.setdefault(len(batch.target.minimisers), []).append(batch)
    for batches in groups.values():
        own = [r for batch in batches for r in batch.replicates]
        rows |= dict(zip(own, _searched(batches, settings, device), strict=True))
    return assemble(replicates, [rows[r] | {"truth": r % settings.truths} for r in replicates])


def _searched(batches: Sequence[regression.Batch], settings: Settings, device: Device) -> list[dict[str, Any]]:
    """Return the variables of the replicates of some truths, replicate by replicate."""
    model, size, v, n = batches[0].problem.fitted, settings.n_fitted, settings.noise_variance, settings.n
    xp = backend(device)
    drawn = zip(*((*batch.data(), batch.starts()) for batch in batches), strict=True)
    x, y, starts = (xp.asarray(np.concatenate(part)) for part in drawn)
    each = [(batch, r) for batch in batches for r in batch.replicates]
    how: dict[str, Any] = dict(box=settings.box, precision=settings.precision)
    local = least_squares(model, x, y, starts, max_iterations=settings.max_iterations, **how)
    first, second, third = ([batch.stream(r, f"settle {k}") for batch, r in each] for k in ("first", "second", "third"))
    known = np.stack([batch.target.minimisers for batch, _ in each])
    of: dict[str, Any] = dict(noise_variance=v, **how)
    both = settle(model, x, y, size, streams=(first, second), budget=settings.evaluations, known=known, **of)
    near_truth = 2.0 * n * to_numpy(local.loss) / v
    lowest = both.rss.min(axis=0) / v
    settled = both.settled & (near_truth >= lowest - np.log(n))
    left = np.flatnonzero(~settled)
    longer: Mapping[int, Found] = {}
    if left.size:
        of |= dict(streams=[third[k] for k in left], known=known[left])
        more = search(model, x[left, ...], y[left, ...], size, budget=TIMES * settings.evaluations, **of)
        longer = dict(zip(left.tolist(), more, strict=True))
    rows = []
    for k, two in enumerate(zip(both.first, both.second, strict=True)):
        best, every = min(two, key=lambda one: one.loss[0]), [*two, *([longer[k]] if k in longer else [])]
        row = {
            **{"settled": int(settled[k]), "same_minimum": int(both.same_minimum[k]), "apart": both.apart[k]},
            **{"gain": near_truth[k] - lowest[k], "tenfold_gain": np.nan},
            **{"status": int(best.fit.status[0]), "message": best.fit.message()[0]},
            **{"iterations": int(sum(one.evaluations for one in every)), "box_hits": int(best.fit.box_hits[0])},
        }
        ends = {"": _together(two), f"_{LOCAL}": (to_numpy(local.theta)[k][None], to_numpy(local.loss)[k][None])}
        if k in longer:
            ends[f"_{TENFOLD}"] = _together(every)
            row["tenfold_gain"] = lowest[k] - 2.0 * n * longer[k].loss[0] / v
        for end, (theta, loss) in ends.items():
            row |= {f"{name}{end}": value for name, value in _losses(each[k][0], settings, theta, loss).items()}
        for name in LOSSES:
            for near in ("", "_near"):
                row.setdefault(f"{name}{near}_{TENFOLD}", np.nan)
        rows.append(row)
    return rows


def _together(found: Sequence[Found]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([one.ends for one in found]), np.concatenate([one.loss for one in found])


def _losses(batch: regression.Batch, settings: Settings, ends: np.ndarray, loss: np.ndarray) -> dict[str, float]:
    """Return the losses at the lowest end point, and the highest of each over those within v log n of it."""
    width = end_points.excesses(settings.noise_variance, settings.n, 0)["log"]
    close = end_points.near(loss, settings.n, width)
    found = score(batch.problem, batch.target, ends[close], settings.evaluation_log2)
    lowest = int(np.argmin(loss[close]))
    return {
        key: value
        for name in LOSSES
        for key, value in ((name, float(found[name][lowest])), (f"{name}_near", float(np.max(found[name]))))
    }
