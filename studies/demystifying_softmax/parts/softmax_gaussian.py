"""Maximum likelihood in softmax-gated Gaussian mixtures of experts, with as many experts as the truth or more.

The truth is the one-dimensional two-component model of the published scripts (arXiv 2305.03288). Cells that differ in
the number of experts, the starts or the estimator share their data. An estimate is the best of several starts; where
they come from, and whether the likelihood was maximised or EM stopped when its steps became small, are settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from moestat.arrays import Device, backend, to_numpy
from moestat.experiment import Cell, SettingsModel
from moestat.fit.em import expectation_maximisation
from moestat.fit.likelihood import LikelihoodFit
from moestat.fit.softmax_global import ROUNDS, SURE, global_maximum
from moestat.losses.rescore import score
from moestat.models import gaussian
from moestat.models.softmax_gaussian import SoftmaxGaussian
from studies.demystifying_softmax.parts.gaussian_starts import near_starts, published_starts, random_starts
from studies.demystifying_softmax.parts.published import published_losses

VERSION = 1

DEVICES = ("cpu", "cuda")

MODEL = SoftmaxGaussian(1)

TRUTH = np.array([[-8.0, 25.0, -20.0, 15.0, 0.3**2], [0.0, 0.0, 20.0, -5.0, 0.4**2]])
"""Atoms ``[c, b, a, beta, v]``: gate -8 + 25 x against 0, means 15 - 20 x and -5 + 20 x, deviations 0.3 and 0.4."""

MOST = 4  # largest number of fitted experts

CONSTANT = 0.9
"""Where the weights' part of the published loss is larger than this, weights that should sum to one sum to two."""

AGAIN = 0.1  # log-likelihood units within which another start has come to the best point again

PER_ATOM = ("b", "a", "beta", "v")  # blocks whose errors are also given as means over atoms


class Settings(SettingsModel):
    """Settings of a cell."""

    n: int = Field(ge=50, description="sample size")
    experts: int = Field(2, ge=2, le=MOST, description="number of fitted experts, K; the truth has 2")
    inputs: Literal["uniform", "grid"] = Field("uniform", description="x drawn from U[0, 1], or evenly spaced on it")
    estimator: Literal["maximum_likelihood", "em"] = "maximum_likelihood"
    """Maximum likelihood in a box, or plain EM."""
    start_policy: Literal["near", "random", "published"] = Field(
        "near", description="see studies.demystifying_softmax.parts.gaussian_starts"
    )
    starts: int = Field(5, ge=1, description="starts per replicate; the best end point counts")
    start_radius: float = Field(0.1, gt=0, description="standard deviation per coordinate of starts near the truth")
    tolerance: float = Field(1e-6, gt=0, description="EM stops at this relative change of the log-likelihood")
    max_iterations: int = Field(2000, ge=1, description="of EM")
    box: float = Field(100.0, gt=25, description="bound on gates and means in maximum_likelihood")
    smallest_variance: float = Field(0.01, gt=0, lt=0.09, description="lower bound of the variances, likewise")
    largest_variance: float = Field(100.0, gt=1, description="upper bound of the variances, likewise")
    search_rounds: int = Field(ROUNDS, ge=0, description="most rounds of the search for the global maximum, likewise")
    kept: int = Field(4, ge=1, description="most distinct points that go on to more samples, likewise")
    evaluation_points: int = Field(256, ge=16, description="midpoints of [0, 1] that stand for the law of x in E_X h")

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.start_policy != "near" and self.start_radius != type(self).model_fields["start_radius"].default:
            raise ValueError("start_radius belongs to start_policy = 'near'")
        return self


def run(cell: Cell, replicates: Sequence[int], *, device: Device = "cpu") -> xr.Dataset:
    """Fit and score the replicates of one cell.

    The losses of :func:`moestat.losses.measures.softmax_losses`, ``hellinger`` and ``hellinger_squared``, the same at
    the start that won (``start_...``), the blocks as means over atoms (``a_over_atom``, ...); ``published_loss`` and
    its part in the weights ``published_mass`` as the published scripts compute them from gates pinned at the last
    atom's (see :mod:`.published`), ``published_constant``, whether that part is larger than 0.9;
    ``on_variance_bound``, whether a variance is on the edge of the parameter space; ``found_again``, how many other
    starts came to the best point; ``rounds_there``, how many rounds of the search did (see
    :mod:`moestat.fit.softmax_global`), and ``unsettled``, whether these were too few to say that it is the maximum
    (both NaN where there was no search); ``gain``, ``shortfall`` (how far the likelihood is below that of the truth, 0
    if it is not), solver diagnostics, and the fitted parameters ``theta`` (replicate, atom, coordinate).
    """
    s = Settings(**cell.settings)
    x, y = _draw(cell, s, replicates)
    starts = _starts(cell, s, x, y, replicates)
    xp = backend(device)
    arrays = (xp.asarray(a) for a in (x, y, starts))
    fit: LikelihoodFit
    if s.estimator == "em":
        fit = expectation_maximisation(
            *arrays, truth=xp.asarray(TRUTH), tolerance=s.tolerance, max_iterations=s.max_iterations
        )
    else:
        fit = global_maximum(
            *arrays,
            truth=xp.asarray(TRUTH),
            box=s.box,
            variances=(s.smallest_variance, s.largest_variance),
            kept=s.kept,
            rounds=s.search_rounds,
        )
    theta = to_numpy(fit.theta)
    chosen = starts[np.arange(len(replicates)), to_numpy(fit.start)]
    points = (np.arange(s.evaluation_points)[:, None] + 0.5) / s.evaluation_points
    variables: dict[str, tuple] = {}
    for prefix, parameters in (("", theta), ("start_", chosen)):
        losses = score(parameters, TRUTH, MODEL, x=points)
        losses |= _per_atom(losses, s.experts)
        del losses["usable"]
        variables |= {prefix + name: ("replicate", values) for name, values in losses.items()}
    pinned = theta.copy()
    pinned[..., MODEL.gate] -= theta[..., -1:, MODEL.gate]
    scripts = published_losses(pinned, TRUTH, MODEL)
    variables |= {f"published_{name}": ("replicate", values) for name, values in scripts.items()}
    variables["published_constant"] = ("replicate", scripts["mass"] > CONSTANT)
    variables["on_variance_bound"] = ("replicate", _on_bound(theta[..., -1], s))
    variables |= _diagnostics(fit, s)
    variables["theta"] = (("replicate", "atom", "coordinate"), _padded(theta))
    dataset = xr.Dataset(variables, coords={"replicate": np.asarray(replicates, dtype=np.int64)})
    dataset.attrs["start_policy"] = _policy(s)
    return dataset


def _draw(cell: Cell, s: Settings, replicates: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Draw inputs (B, n, 1) and responses (B, n)."""
    xs, ys = [], []
    for r in replicates:
        rng = cell.generator(r, "data", inputs=s.inputs, n=s.n)
        x = np.linspace(0.0, 1.0, s.n) if s.inputs == "grid" else rng.uniform(size=s.n)
        xs.append(x[:, None])
        ys.append(gaussian.sample(MODEL, TRUTH, x[:, None], rng))
    return np.stack(xs), np.stack(ys)


def _starts(cell: Cell, s: Settings, x: np.ndarray, y: np.ndarray, replicates: Sequence[int]) -> np.ndarray:
    """Return starts (B, S, K, P) by the declared policy."""
    out = []
    for k, r in enumerate(replicates):
        rng = cell.generator(r, f"{s.start_policy} starts", inputs=s.inputs, n=s.n, experts=s.experts)
        if s.start_policy == "near":
            out.append(near_starts(TRUTH, s.experts, s.starts, s.start_radius, rng))
        elif s.start_policy == "published":
            out.append(published_starts(TRUTH, s.experts, s.starts, s.n, rng))
        else:
            out.append(random_starts(x[k], y[k], s.experts, s.starts, rng))
    return np.stack(out)


def _per_atom(losses: dict[str, np.ndarray], experts: int) -> dict[str, np.ndarray]:
    """Return the blocks as means over the atoms in cells of a kind, since the number of these differs by replicate."""
    exact = losses["cells_exact"]
    count = {"exact": exact, "over": experts - exact}
    return {
        f"{block}_{kind}_atom": losses[f"{block}_{kind}"] / np.maximum(count[kind], 1)
        for block in PER_ATOM
        for kind in count
    }


def _on_bound(variance: np.ndarray, s: Settings) -> np.ndarray:
    low, high = s.smallest_variance * (1 + 1e-9), s.largest_variance * (1 - 1e-9)
    out: np.ndarray = np.any((variance <= low) | (variance >= high), axis=-1)
    return out


def _padded(theta: np.ndarray) -> np.ndarray:
    """Fill up to MOST atoms with NaN, so that arms with fewer fit into one dataset."""
    missing = MOST - theta.shape[1]
    return np.pad(theta, ((0, 0), (0, missing), (0, 0)), constant_values=np.nan)


def _diagnostics(fit: LikelihoodFit, s: Settings) -> dict[str, tuple]:
    names = ("status", "iterations", "log_likelihood", "gain", "gradient", "decrement", "box_hits")
    out: dict[str, tuple] = {name: ("replicate", to_numpy(getattr(fit, name))) for name in names}
    behind = to_numpy(fit.log_likelihood)[:, None] - to_numpy(fit.start_log_likelihood)
    # NaN: a start that fell behind, or came to another's point before the last rung
    out["found_again"] = ("replicate", np.sum(behind <= AGAIN, axis=1) - 1.0)
    there = np.full(len(behind), np.nan)
    if fit.rounds_there is not None and s.experts > len(TRUTH) and s.search_rounds > 0:
        there = to_numpy(fit.rounds_there).astype(float)
    out["rounds_there"] = ("replicate", there)
    out["unsettled"] = ("replicate", np.where(np.isnan(there), np.nan, there < SURE))
    out["shortfall"] = ("replicate", np.maximum(-to_numpy(fit.gain), 0.0))
    out["start_index"] = ("replicate", to_numpy(fit.start))
    out["message"] = ("replicate", np.asarray(fit.message()))
    return out


def _policy(s: Settings) -> str:
    """Say in one sentence what was done."""
    where = {
        "near": f"the truth's atoms plus noise of standard deviation {s.start_radius:g}",
        "random": "lines through random samples, which know nothing of the truth",
        "published": "the truth's atoms plus noise that shrinks with n, as in the published scripts",
    }[s.start_policy]
    how = {
        "maximum_likelihood": "the likelihood is maximised",
        "em": f"EM stops at a relative change of {s.tolerance:g}",
    }[s.estimator]
    return f"{s.starts} start(s): {where}; {how}; the best end point counts."
