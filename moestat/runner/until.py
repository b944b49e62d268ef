r"""Run a study until the slopes of its rates have intervals of a wanted half-width: Stein's procedure in two stages.

The replicates of the first stage give the variance :math:`s^2` of one replicate's slope. Then

.. math::
    N = \max\big(n_0, \lceil t_{n_0 - 1}^2 s^2 / h^2 \rceil\big)

replicates are computed in all, the first ones included, and the interval is
:math:`\bar b_N \pm t_{n_0 - 1} s / \sqrt N`. Its coverage is exact for normal slopes, since N depends on the first
stage through its variance alone, which tells nothing of the mean; an interval with the variance of all N would be too
short. Of several rates the largest N is taken. (Stein 1945, Annals of Mathematical Statistics 16, 243.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from scipy.special import stdtrit  # scipy.stats takes half a second to import

from moestat.errors import InputError, UserError
from moestat.rates.data import series
from moestat.rates.loglog import fit_array
from moestat.rounding import estimate, number
from moestat.runner.plan import Plan
from moestat.runner.request import Request
from moestat.runner.run import Reporter, Result, run
from moestat.study.spec import Rate, fits

MOST = 10
"""The replicates are at most so many times those of the first stage."""
LEVEL = 0.95


@dataclass(frozen=True)
class Stage:
    """What the first stage says of one slope: from how many replicates, and the standard deviation of one."""

    replicates: int
    sd: float

    @classmethod
    def of(cls, slopes: np.ndarray) -> Stage:
        """Return the stage of the slopes of its replicates (R,), two or more."""
        return cls(slopes.size, float(slopes.std(ddof=1)))

    def half_width(self, replicates: int) -> float:
        """Return the half-width of the interval for a mean over so many replicates."""
        return float(stdtrit(self.replicates - 1, 0.5 + LEVEL / 2)) * self.sd / math.sqrt(replicates)

    def needed(self, half_width: float) -> int:
        """Return how many replicates give a half-width of at most that."""
        return max(self.replicates, math.ceil((self.half_width(1) / half_width) ** 2))


def run_until(request: Request, report: Reporter | None = None) -> Result:
    """Run the first stage, and what it says is needed; the sentences about it are among the notes of the result.

    Raises InputError if the study has no slope, UserError if the first stage has too few replicates without failures.
    """
    assert request.until is not None
    if request.part is not None:
        raise InputError("--until decides from all replicates, so it cannot be given to one part of a study (--part)")
    first = run(replace(request, report=False))
    if first.dataset is None or first.plan.study_file.study.reads:
        raise InputError("--until needs replicates; this study reads the results of others")
    stages = {}
    for name, slopes in _slopes(first.plan, first.dataset):
        if slopes.size < 2:
            raise UserError(f"--until: {name} has {slopes.size} complete replicates in the first stage; it needs 2")
        stages[name] = Stage.of(slopes)
    if not stages:
        raise InputError("--until needs the slope of a loss over an axis of the grid, and there is none")
    needed, count = max(stage.needed(request.until) for stage in stages.values()), first.plan.replicates
    extended = min(needed, MOST * count)

    def told(dataset: xr.Dataset) -> list[str]:
        lines = [_line(name, slopes, stages[name], needed, extended) for name, slopes in _slopes(first.plan, dataset)]
        if not request.quiet:
            print("\n".join(lines))
        return lines

    return run(replace(request, extended=extended), report, told)


def _slopes(plan: Plan, dataset: xr.Dataset) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the slopes of the complete replicates of each rate and arm, with a name."""
    study = plan.study_file.study
    rates = study.rates or [Rate.model_validate({"loss": "", "over": axis}) for axis in list(plan.axes)[:1]]
    for rate in rates:
        for arm in map(str, dataset["arm"].values):
            if fits(arm, rate.arms):
                found, *_ = series(dataset.sel(arm=[arm]), rate.over, loss=rate.loss or None)
                for name, one in found.items():
                    fitted = fit_array(one.losses, one.sizes, plan.preset.window or rate.window, LEVEL)
                    yield f"{name}, {arm}", fitted.slopes


def _line(name: str, slopes: np.ndarray, stage: Stage, needed: int, extended: int) -> str:
    mean, half = float(slopes.mean()), stage.half_width(slopes.size)
    slope, interval = estimate(mean, mean - half, mean + half)
    short = f", and {extended}, {MOST} times the first stage, is the most" if needed > extended else ""
    return (
        f"Stein, {name}: slope {slope} {interval} ({LEVEL:.0%}), half-width {number(half)}, {slopes.size} replicates; "
        f"the first stage of {stage.replicates} has a standard deviation of {number(stage.sd)}, {needed} are needed in "
        f"all{short}"
    )
