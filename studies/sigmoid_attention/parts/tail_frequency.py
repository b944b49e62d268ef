r"""Lemma 1 of "sigmoid-attention": how often least squares is further from f* than delta.

.. math:: P(\|f_{\hat G_n} - f_{G_*}\| > \delta) \le c \exp(-n \delta^2 / c^2) \quad\text{for all } \delta \ge \delta_n,

with delta_n of the order sqrt(log n / n) and c the same for all n. A replicate is a batch of data sets of one size; the
frequencies of the batch stand for the probability, and the least c for which they obey the inequality is its result.
The lemma holds if that c does not grow with n. Noise of variance 1 makes delta_n a size that errors have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field

from moestat.experiment import Cell, SettingsModel, assemble
from moestat.fit.newton import least_squares
from moestat.losses.function import rmse
from moestat.models import truths
from moestat.models.regression import Model
from moestat.status import Status

VERSION = 1

GRID = np.linspace(-1.0, 1.0, 513)[:, None]  # the function error is taken on this grid
START_RADIUS = 0.3  # standard deviation per coordinate of two starts near the truth with its atom split


class Settings(SettingsModel):
    """Settings of a cell."""

    n: int = Field(ge=20, description="sample size")
    data_sets: int = Field(100, ge=10, description="of one replicate")
    regime: Literal["sparse", "dense"] = Field("sparse", description="sparse: the only true atom has (A, b, c) = 0")


def smallest_constant(errors: np.ndarray, n: int) -> float:
    """Return the least c for which the frequencies of some errors (K,) obey the inequality beyond sqrt(log n / n).

    The frequency of errors above delta falls at the errors only, so that it is checked at delta_n and just below each
    error.
    """
    beyond = np.sort(errors)[::-1]
    delta_n = np.sqrt(np.log(n) / n)
    delta = np.append(beyond[beyond > delta_n], delta_n)
    frequency = np.append(np.arange(1, len(delta)), np.sum(beyond > delta_n)) / len(errors)
    low, high = 1e-3, 1e3
    for _ in range(80):
        middle = np.sqrt(low * high)
        obeys = np.all(frequency <= middle * np.exp(-n * delta**2 / middle**2))
        low, high = (low, middle) if obeys else (middle, high)
    return float(high)


def run(cell: Cell, replicates: Sequence[int], *, device: str = "auto") -> xr.Dataset:
    """Fit one atom too many to every data set of a batch and find the constant of Lemma 1.

    Per replicate ``constant``, see :func:`smallest_constant`; ``beyond``, the share of data sets beyond sqrt(log n /
    n); ``mean_error``, the root of the mean squared error, and ``unconverged``, the share of fits that did not
    converge. A replicate has converged if every fit has.
    """
    s = Settings.model_validate(dict(cell.settings))
    model = Model("sigmoid", "full", "linear", 1)
    truth = truths.ground_truth(model, 1, "dense", cell.generator(0, "truth"))
    if s.regime == "sparse":
        truth[0, : model.gate_size] = 0.0
    two = truths.split(model, truth, 2)
    values = model.predict(truth, GRID)

    def batch(replicate: int) -> dict[str, Any]:
        rng = cell.generator(replicate, "data", n=s.n, regime=s.regime)
        drawn = [truths.sample(model, truth, s.n, 1.0, rng) for _ in range(s.data_sets)]
        x, y = (np.stack(part) for part in zip(*drawn, strict=True))
        starts = two + START_RADIUS * rng.standard_normal((s.data_sets, 2, *two.shape))
        fit = least_squares(model, x, y, starts, box=5.0, max_iterations=2000)
        errors = rmse(model, fit.theta, values, GRID)
        lost = np.mean(np.asarray(fit.status) != int(Status.CONVERGED))
        return {
            "constant": smallest_constant(errors, s.n),
            "beyond": np.mean(errors > np.sqrt(np.log(s.n) / s.n)),
            "mean_error": np.sqrt(np.mean(errors**2)),
            "unconverged": lost,
            "status": int(Status.CONVERGED if lost == 0 else Status.LIMIT),
            "message": f"{s.data_sets} data sets were fitted.",
            "iterations": s.data_sets,
        }

    return assemble(replicates, [batch(replicate) for replicate in replicates])
