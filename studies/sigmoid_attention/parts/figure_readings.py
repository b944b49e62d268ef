"""Readings of the protocol behind Figures 1 and 2 of sigmoid-attention, a continuum of starts on the same data.

Ten epochs of gradient descent with a step of 0.1 from parameters "near their ground-truth values" (App. E.1.2): how
near, how that depends on n, where the superfluous ninth atom starts, the batch, and whether the step is that of the
mean square or of half of it, are not printed. A replicate is a truth, drawn as in App. E.1.1, with one data set; all
radii and exponents start in one direction, and the steps from all of them are taken together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field

from moestat.arrays import Device
from moestat.experiment import Cell, SettingsModel, assemble
from moestat.fit.gradient import perturb, sgd
from moestat.losses import minimisers, voronoi
from moestat.models import truths
from moestat.status import Status
from studies.sigmoid_attention.parts import regression_problem
from studies.sigmoid_attention.parts.regression_problem import Problem, draw_truth, embed
from studies.sigmoid_attention.parts.regression_targets import (
    Target,
    compute_pseudo_truths,
    near_truth,
    prerequisite,
    target_of,
)

VERSION = 1

RADII = (0.0005, 0.00158, 0.005, 0.0158, 0.05)
"""Radii of the start at n = 1000, standard deviations of a coordinate, half decades; the second is 0.05 n^(-1/2)."""
EXPONENTS = (-0.5, -0.25, 0.0)
"""Powers of n with which the radius falls."""


class Settings(SettingsModel):
    """Settings of a cell."""

    n: int = Field(ge=2, description="sample size")
    truth_gate: Literal["sigmoid", "softmax"] = Field("sigmoid", description="gate of the truth")
    fitted_gate: Literal["sigmoid", "softmax"] = Field("sigmoid", description="gate of the fit")
    expert: Literal["relu", "linear"] = Field("relu", description="experts of both")
    regime: Literal["dense", "sparse"] = "dense"
    """Sparse: the gates of the last two true atoms vanish."""
    ninth: Literal["copy", "split", "elsewhere", "target"] = "copy"
    """The superfluous atom starts as a copy of a true one, its mass counted twice; split off the last one; at a draw
    from the law of the atoms; or all atoms start beside the best pseudo-truth, which has nine."""
    batch_size: int = Field(0, ge=0, description="0: all samples")
    step: float = Field(
        0.1, gt=0, description="times the gradient of the mean square; 0.05: 0.1 times that of half of it"
    )
    epochs: int = Field(10, ge=0, description="passes over the samples")
    d: int = Field(8, ge=1, description="input dimension")
    n_true: int = Field(8, ge=3, description="number of true experts; one more is fitted")
    truths: int = Field(10, ge=1, description="replicate r has truth number r modulo this")

    def problem_of(self, draw: int) -> Problem:
        """Return the problem with the truth of this number."""
        shared = {
            name: getattr(self, name) for name in ("truth_gate", "fitted_gate", "expert", "regime", "d", "n_true")
        }
        shared |= dict(pseudo_points_log2=13, pseudo_polish_log2=15, fisher_log2=15)  # the lists that come with us
        settings = regression_problem.Settings(n=self.n, n_fitted=self.n_true + 1, **shared)
        return settings.problem_of(draw)


def prerequisites(cell: Cell) -> list[dict]:
    """Return the lists of pseudo-truths of the ten truths that a softmax truth and a sigmoid fit need."""
    settings = Settings(**cell.settings)
    wanted = [prerequisite(settings.problem_of(draw), cell.study_seed) for draw in range(settings.truths)]
    return [one for one in wanted if one is not None]


def prepare(prerequisite: dict, *, device: Device) -> None:
    """Compute a list of pseudo-truths and leave it in the cache."""
    compute_pseudo_truths(prerequisite, device=device)


def run(cell: Cell, replicates: Sequence[int], *, device: Device = "cpu") -> xr.Dataset:
    """Run every start of the cell on the data of each truth.

    ``to_best`` (replicate, exponent, radius): the loss of the theorem, L3 to the set of best measures in the dense
    regime, L1 in the sparse one; ``to_truth``: L3 to the truth itself (to pseudo-truths the same as ``to_best``);
    ``line`` (replicate): the information bound of the first, the asymptotic error of least squares that is told N*, or,
    beside a pseudo-truth, of least squares.
    """
    settings = Settings(**cell.settings)
    rows = [_of_truth(cell, settings, replicate) for replicate in replicates]
    dims = dict.fromkeys(("to_best", "to_truth"), ("exponent", "radius"))
    return assemble(replicates, rows, dims=dims, coords=dict(exponent=EXPONENTS, radius=RADII))


def _of_truth(cell: Cell, settings: Settings, replicate: int) -> dict[str, object]:
    problem = settings.problem_of(replicate % settings.truths)
    target = target_of(problem, cell.study_seed)
    identity = problem.data_identity | {"what": "data of the figures", "n": settings.n}
    x, y = truths.sample(problem.truth, target.truth, settings.n, 0.01, cell.generator(replicate, "data", **identity))
    near, direction = _near(settings, problem, target, cell.study_seed, replicate), cell.generator(replicate, "start")
    unit = perturb(np.zeros_like(near), 1.0, direction)
    at_1000 = RADII[0] * 10 ** (np.arange(len(RADII)) / 2)
    radii = at_1000 * (settings.n / 1000) ** np.array(EXPONENTS)[:, None]
    different, reading = np.unique(np.round(np.log10(radii), 9), return_inverse=True)  # many readings share a start
    starts = near + 10 ** different[:, None, None] * unit
    batch = min(settings.batch_size or settings.n, settings.n)
    order = [cell.generator(replicate, "order", n=settings.n)]
    how: dict[str, Any] = dict(batch_size=batch, order=order, epochs=settings.epochs, step=settings.step)
    ends = sgd(problem.fitted, x[None], y[None], starts[None], **how)[0]
    losses = [_losses(settings, problem, target, theta) for theta in ends]
    to_best, to_truth = (np.array(values)[reading.reshape(radii.shape)] for values in zip(*losses, strict=True))
    finite = bool(np.isfinite(ends).all())
    line = target.lines(settings.n)["fisher_L1" if settings.regime == "sparse" else "fisher_L3"]
    status = Status.CONVERGED if finite else Status.NOT_FINITE
    message = f"SGD ran its {settings.epochs} epochs from every start." if finite else status.sentence
    known = dict(status=int(status), message=message, iterations=settings.epochs)
    return dict(to_best=to_best, to_truth=to_truth, line=line) | known


def _near(settings: Settings, problem: Problem, target: Target, seed: int, replicate: int) -> np.ndarray:
    """Return the atoms (N, P) beside which the fit starts; which one is copied is not printed: the replicate's own."""
    if settings.ninth == "target":
        return target.minimisers[0]
    atoms = embed(target.truth, problem.truth, problem.fitted)
    if settings.ninth == "copy":
        return np.concatenate([atoms, atoms[replicate % len(atoms)][None]])
    if settings.ninth == "split":
        return near_truth(problem.truth, target.truth, problem.fitted, len(atoms) + 1)
    drawn = draw_truth(problem.fitted, len(atoms) + 1, "dense", seed, replicate)
    return np.concatenate([atoms, drawn[-1:]])


def _losses(settings: Settings, problem: Problem, target: Target, theta: np.ndarray) -> tuple[float, float]:
    """Return the two losses of a fit (N, P), NaN where it is not finite."""
    if not np.isfinite(theta).all():
        return np.nan, np.nan
    if target.is_pseudo:
        loss = float(voronoi.L3(theta, target.measures, problem.fitted))
        return loss, loss
    truth = target.measures[0]
    literal = minimisers.eq12(theta, truth, problem.fitted)
    if settings.regime == "sparse":
        return float(voronoi.L1(theta, truth, problem.fitted)), literal
    return float(minimisers.L3_infimum(theta, truth, problem.fitted)), literal
