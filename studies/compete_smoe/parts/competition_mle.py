"""Maximum likelihood in competition-gated Gaussian mixtures of experts, with as many experts as the truth.

The truths are designs of ``competition_designs``. Cells that differ in the starts share their data. An estimate is the
best of several starts, some near the truth (never at it) and some that know nothing of it; an estimate with less
likelihood than the truth is a failed fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from moestat import arrays
from moestat.experiment import Cell, SettingsModel, assemble
from moestat.fit.competition_mle import AGAIN, ENOUGH, maximum_likelihood
from moestat.fit.likelihood import LikelihoodFit
from moestat.losses.measures import competition_losses
from moestat.models import gaussian
from moestat.models.competition import Competition
from studies.compete_smoe.parts.competition_designs import (
    Degenerate,
    Design,
    near_starts,
    random_starts,
    sobol_inputs,
    true_mixture,
)
from studies.compete_smoe.parts.competition_errors import Routing, fisher_line, paired_with_truth, scale_and_shape

VERSION = 1

DEVICES = ("cpu", "cuda")

_FISHER_POINTS = 1024


class Settings(SettingsModel):
    """Settings of a cell."""

    design: Design = Field(description="the truth, see studies.compete_smoe.parts.competition_designs")
    active: int | None = Field(None, ge=1, le=4, description="number of winners, K; the design's own without it")
    n: int = Field(ge=50, description="sample size")
    experts: Literal[4] = Field(4, description="number of fitted experts, k = k*")
    near_starts: int = Field(2, ge=0, description="starts near the truth, per replicate")
    start_radius: float = Field(0.1, gt=0, description="standard deviation per coordinate of starts near the truth")
    random_starts: int = Field(2, ge=0, description="starts that know nothing of the truth, per replicate")
    kept: int = Field(2, ge=1, description="most distinct points that go on to all samples and to local search")
    hops: int = Field(0, ge=0, description="most rounds in which points thrown out from the best one are searched from")
    box: float = Field(10.0, gt=4, description="parameter space: bound on the weights")
    smallest_variance: float = Field(0.05, gt=0, lt=0.15, description="parameter space: lower bound of the variances")
    largest_variance: float = Field(10.0, gt=1, description="parameter space: upper bound of the variances")
    pool_log2: int = Field(18, ge=10, le=22, description="misrouted inputs are sought among 2**this Sobol points")
    evaluation_points: int = Field(2048, ge=64, description="of them, points on which Hellinger distances are taken")

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.near_starts + self.random_starts < 1:
            raise ValueError("near_starts and random_starts are both 0; at least one start is needed")
        if self.design == "tied":
            raise ValueError("design is 'tied', which has 2 experts; the others have 4, as is needed here")
        if self.evaluation_points > 2**self.pool_log2:
            raise ValueError(f"evaluation_points is {self.evaluation_points}; at most 2**pool_log2 are possible")
        return self


def run(cell: Cell, replicates: Sequence[int], *, device: str = "auto") -> xr.Dataset:
    """Fit and score the replicates of one cell.

    Per replicate the losses of :func:`moestat.losses.measures.competition_losses`; ``hellinger`` (E h),
    ``hellinger_squared`` and its root ``root_hellinger_squared``; ``hellinger_to_bound`` and ``D_to_bound``, divided by
    sqrt(log n / n); ``..._to_fisher``, losses divided by the Fisher line of ``competition_fisher`` (NaN where it has
    none); ``misrouted``, ``hellinger_squared_misrouted`` and the parts ``scale_error`` and ``shape_error`` of the
    weights' error. Of the fit: ``gain``, ``failed_fit`` (gain below 0), ``box_hits``, ``start``, ``hops_back`` (how
    many thrown-out points came back), ``found_again`` (that if they are enough for the hops to end, else 0; without
    hops how many other starts came within 0.1 of the best point).
    """
    s = Settings.model_validate(dict(cell.settings))
    xp = arrays.backend(arrays.resolve_device(device))
    model, truth = true_mixture(s.design, s.active)
    x, y = _draw(cell, s, model, truth, replicates)
    starts = _starts(cell, s, model, truth, x, y, replicates)
    fit = maximum_likelihood(
        model,
        xp.asarray(x),
        xp.asarray(y),
        xp.asarray(starts),
        truth=xp.asarray(truth),
        box=s.box,
        variances=(s.smallest_variance, s.largest_variance),
        kept=s.kept,
        hops=s.hops,
    )
    pool = sobol_inputs(model.d, s.pool_log2)
    out = _diagnostics(fit, s) | _measures(s, model, truth, arrays.to_numpy(fit.theta), pool, xp)
    return assemble(replicates, out)


def _draw(
    cell: Cell, s: Settings, model: Competition, truth: np.ndarray, replicates: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Draw inputs (B, n, d) and responses (B, n)."""
    xs, ys = [], []
    for r in replicates:
        rng = cell.generator(r, "data", design=s.design, n=s.n)
        xs.append(rng.uniform(-1.0, 1.0, (s.n, model.d)))
        ys.append(gaussian.sample(model, truth, xs[-1], rng))
    return np.stack(xs), np.stack(ys)


def _starts(
    cell: Cell,
    s: Settings,
    model: Competition,
    truth: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    replicates: Sequence[int],
) -> np.ndarray:
    """Draw starts (B, S, k, P), those near the truth first."""
    out = []
    for i, r in enumerate(replicates):
        identity: dict[str, Any] = {"design": s.design, "n": s.n, "experts": s.experts}
        near = near_starts(truth, s.experts, s.near_starts, s.start_radius, cell.generator(r, "near", **identity))
        far = random_starts(model, x[i], y[i], s.experts, s.random_starts, cell.generator(r, "random", **identity))
        out.append(np.concatenate([near, far]))
    return np.stack(out)


def _diagnostics(fit: LikelihoodFit, s: Settings) -> dict[str, Any]:
    names = ("status", "iterations", "gain", "box_hits", "start")
    out: dict[str, Any] = {name: arrays.to_numpy(getattr(fit, name)) for name in names}
    # NaN: a start that fell behind and was not continued; it did not reach the best point
    behind = arrays.to_numpy(fit.log_likelihood)[:, None] - arrays.to_numpy(fit.start_log_likelihood)
    out["failed_fit"] = (out["gain"] < 0).astype(float)
    assert fit.hops_back is not None
    out["hops_back"] = back = arrays.to_numpy(fit.hops_back).astype(float)
    # starts that agree show little where the likelihood jumps: each ends on a peak of its own place
    out["found_again"] = np.where(back >= ENOUGH, back, 0.0) if s.hops else np.sum(behind <= AGAIN, axis=1) - 1.0
    out["message"] = np.asarray(fit.message())
    return out


def _measures(
    s: Settings, model: Competition, truth: np.ndarray, theta: np.ndarray, pool: np.ndarray, xp: Any
) -> dict[str, np.ndarray]:
    out = competition_losses(theta, truth, model)
    out["empty_cells"] = out["empty_cells"].astype(float)
    paired = paired_with_truth(theta, truth)
    routed = Routing(model, xp.asarray(truth), xp.asarray(pool), s.evaluation_points).hellinger(xp.asarray(paired))
    out |= {"hellinger": routed.mean, "hellinger_squared": routed.squared, "misrouted": routed.misrouted}
    out["hellinger_squared_misrouted"] = routed.squared_misrouted
    out["scale_error"], out["shape_error"] = scale_and_shape(paired, truth, model)
    out["root_hellinger_squared"] = np.sqrt(out["hellinger_squared"])
    bound = np.sqrt(np.log(s.n) / s.n)
    out |= {f"{name}_to_bound": out[name] / bound for name in ("hellinger", "D")}
    regular = s.design not in get_args(Degenerate)
    line = fisher_line(model, truth, pool[:_FISHER_POINTS]) if regular else None
    for name in ("root_hellinger_squared", "hellinger", "D"):
        expected = np.nan if line is None else getattr(line, name)
        out[f"{name}_to_fisher"] = out[name] * np.sqrt(s.n) / expected
    return out
