"""One run's results, read once: samples of a variable, how the runs ended, and each series fitted a single time.

Verdicts, tables and figures of a report all ask the same :class:`Evidence`, so that they cannot disagree about a fit
window, and nothing is selected or fitted twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims import selection
from moestat.claims.selection import NoAnswerError, is_at, sides
from moestat.rates.log_means import bootstrap
from moestat.rates.series import series
from moestat.runner.results import NOT_COMPUTED
from moestat.status import Status
from moestat.study import hub
from moestat.study.spec import Claim, Study

Window = hub.Window
DRAWS = 2000
"""Bootstrap draws of the rate table."""
AGAIN = 2
"""How often a global search must have come to its best point: then it has settled."""
SETTLED = 0.95
"""Share of the data sets in which a search must have settled, for a verdict on the point that it looks for."""
SEARCHES = {"search_found": 0, "rounds_there": 0, "found_again": 1}
"""What counts them, and how many it leaves out: of least squares, by starts; of likelihoods, by rounds that begin anew,
or by the starts other than the one that led to the best point."""
FUNCTIONS = ("hellinger", "hellinger_squared", "root_hellinger_squared", "rmse")
"""Errors of a density or function: a bound from above holds for every fit that is as good as the truth, found again or
not. A bound from below, or a comparison, is about the best point."""
UNITS = ("_to_bound", "_to_fisher")
"""Endings of losses in units of a bound or line."""


@dataclass(frozen=True)
class Counts:
    """How the runs (replicates of cells) ended that were asked for: by status, and those that were not computed."""

    by_status: Mapping[Status, int]
    replicates: int
    missing: int
    failed: int
    not_converged: int

    def __str__(self) -> str:
        text = f"{self.failed} failed, {self.not_converged} not converged"
        return f"{text}, {self.missing} missing" if self.missing else text


@dataclass(frozen=True)
class FittedSeries:
    """A loss over sizes and replicates, with its fit, which has no bootstrap.

    ``exact`` is a property of the cell, without a Monte Carlo error; its ``samples`` are repeated over two replicates.
    """

    samples: xr.DataArray
    over: str
    window: Window
    exact: bool
    fit: rates.RateFit

    @cached_property
    def bootstrap(self) -> tuple[float, float]:
        """Percentile interval of the slope of the log mean loss, whole replicates drawn again."""
        array = self.samples.transpose(self.over, "replicate")
        data = series(array.values, array[self.over].values, self.window)
        return bootstrap(data, self.fit.level, DRAWS, 0)


def difference(first: FittedSeries, second: FittedSeries) -> rates.Difference:
    """Return the slope of one series minus that of another one, paired by replicate."""
    one, other = first.samples, second.samples
    if first.exact and not second.exact:
        one = selection.with_replicates(one.isel(replicate=0, drop=True), other)
    elif second.exact and not first.exact:
        other = selection.with_replicates(other.isel(replicate=0, drop=True), one)
    return rates.difference(one, other, over=first.over, window=first.window, level=first.fit.level)


def counted(ds: xr.Dataset) -> str:
    """Return the variable that counts how often a search reached its best point; an empty text without one."""
    return next((name for name in SEARCHES if name in ds), "")


def unsettled(found: Sequence[xr.DataArray], over: str, window: Window) -> str:
    """Say where best points were reached too seldom; an empty text where searches have settled.

    ``found`` is how often that of each data set was reached, NaN where nothing was searched; sizes in the window count.
    """
    low, high = window or (-np.inf, np.inf)
    inside = [again.where((again[over] >= low) & (again[over] <= high)) for again in found]
    settled = sum(int((again >= AGAIN).sum()) for again in inside)
    searched = sum(int(again.notnull().sum()) for again in inside)
    if settled >= SETTLED * searched:
        return ""
    text = f"The search came back to its best point in {settled} of {searched} data sets"
    return f"{text}; in the others a better one may be left."


class Evidence:
    """The collected results of a study at a preset.

    Parameters
    ----------
    ds : xarray.Dataset
        With the dimensions arm, the grid's axes, replicate and the experiment's own. It must not change afterwards.
    study : Study
    preset : str
    """

    def __init__(self, ds: xr.Dataset, study: Study, preset: str) -> None:
        self.ds, self.study, self.preset = ds, study, preset
        self._kept: dict[Any, Any] = {}

    @cached_property
    def planned(self) -> xr.DataArray:
        """Which points of arms x grid belong to the study, or were computed all the same.

        An arm that sets an axis of the grid itself lives only at those values.
        """
        ds = self.ds
        computed = (ds["status"] != NOT_COMPUTED).any("replicate")
        wanted = xr.ones_like(computed)
        for arm in self.study.arms:
            for axis in computed.dims:
                if axis != "arm" and (own := arm.settings.get(str(axis))) is not None:
                    inside = ds[axis].isin(own if isinstance(own, list) else [own])
                    wanted = wanted & ((ds["arm"] != arm.name) | inside)
        return (wanted | computed).transpose(*computed.dims)

    def count(
        self,
        arms: Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
        window: tuple[str, Window] | None = None,
    ) -> Counts:
        """Count how the replicates of some arms ended, at coordinates and in a part of an axis (of the grid)."""
        arms = selection.chosen(self.ds, ["*"]) if arms is None else arms
        return self._count([(arm, at or {}) for arm in arms], window)

    def count_of(self, claim: Claim) -> Counts:
        """Count how the replicates ended that a claim rests on, each once."""
        if claim.kind == "function":
            names = [name for name in (claim.arm, claim.versus) if name] if claim.arm else ["*"]
            return self.count(selection.chosen(self.ds, names), claim.at)
        window = (claim.over, claim.window) if claim.kind.startswith("slope") else None
        return self._count([(arm, at) for _, arm, at in sides(claim)], window)

    def _count(self, places: Iterable[tuple[str, Mapping[str, Any]]], window: tuple[str, Window] | None) -> Counts:
        points, ds = self.planned, self.ds
        mask = xr.zeros_like(points)
        for arm, at in places:
            here = points & (ds["arm"] == arm)
            for axis, value in at.items():
                here = here & is_at(ds[axis], value) if axis in points.dims else here
            mask = mask | here
        if window is not None and window[1] is not None and window[0] in mask.dims:
            low, high = window[1]
            mask = mask & (ds[window[0]] >= low) & (ds[window[0]] <= high)
        codes = ds["status"].transpose(*points.dims, "replicate").values[mask.transpose(*points.dims).values]
        tally = {int(code): int(runs) for code, runs in zip(*np.unique(codes, return_counts=True), strict=True)}
        missing = tally.pop(NOT_COMPUTED, 0)
        failed = sum(runs for code, runs in tally.items() if code not in selection.WITH_VALUES)
        not_converged = codes.size - missing - failed - tally.get(int(Status.CONVERGED), 0)
        by_status = {Status(code): runs for code, runs in tally.items()}
        return Counts(by_status, codes.size, missing, failed, not_converged)

    def usable(self, *, converged_only: bool = False) -> xr.Dataset:
        """Return the results with NaN in every number of a replicate that has no values (or did not converge)."""
        if converged_only not in self._kept:
            self._kept[converged_only] = selection.usable(self.ds, converged_only=converged_only)
        found: xr.Dataset = self._kept[converged_only]
        return found

    def facts(self, loss: str, over: str, arm: str) -> hub.SeriesFacts:
        """Return what the study says about a series."""
        return hub.facts(self.study, self.preset, loss, over, arm)

    def samples(
        self,
        variable: str,
        arm: str | None = None,
        at: Mapping[str, Any] | None = None,
        *,
        converged_only: bool = False,
    ) -> xr.DataArray:
        """Return a variable as float64, with NaN where a replicate has no value (or did not converge).

        The grid of an arm is cut to the points that belong to the study. Dimensions of length one that are not in
        ``at`` are kept.
        """
        key = (variable, arm, converged_only)
        if key not in self._kept:
            array = selection.variable(self.usable(converged_only=converged_only), variable)
            if arm is not None:
                inside = selection.at_point(self.planned, {"arm": arm})
                array = selection.at_point(array, {"arm": arm}) if "arm" in array.dims else array
                for axis in set(inside.dims) & set(array.dims):
                    kept = inside.any([d for d in inside.dims if d != axis]).values
                    array = array.isel({axis: np.flatnonzero(kept)})
            self._kept[key] = array
        return selection.at_point(self._kept[key], at or {})

    def series(
        self,
        variable: str,
        over: str,
        arm: str,
        at: Mapping[str, Any] | None = None,
        *,
        window: Window = None,
        level: float = 0.95,
        converged_only: bool = False,
    ) -> FittedSeries:
        """Return the fitted series of a loss; without a window (:attr:`facts` knows the study's) of all sizes.

        Raises
        ------
        NoAnswerError
            If the results hold no such series.
        ValueError
            If its sizes are unusable.
        """
        array = self.samples(variable, arm, at, converged_only=converged_only)
        array = selection.without_lengths_of_one(array, (over, "replicate"))
        if over not in array.dims:
            raise NoAnswerError(f"The variable {variable!r} has no axis {over!r}.")
        # an axis of length one names nothing, so that a figure without it and a table with it share a fit
        sizes = self._kept[variable, arm, converged_only].sizes
        place = tuple(sorted((axis, str(value)) for axis, value in (at or {}).items() if sizes.get(axis, 1) > 1))
        key = (variable, over, arm, place, window, level, converged_only)
        if key not in self._kept:
            exact = "replicate" not in array.dims
            samples = selection.with_replicates(array, None) if exact else array
            fit = rates.fit(samples, over=over, window=window, level=level, draws=0)
            self._kept[key] = FittedSeries(samples, over, window, exact, fit)
        found: FittedSeries = self._kept[key]
        return found

    def found_again(self, over: str, arm: str, at: Mapping[str, Any] | None = None) -> xr.DataArray | None:
        """Return how often a global search came to its best point, from starts or from points thrown out, or None."""
        if not (name := counted(self.ds)):
            return None
        array = self.samples(name, arm, at) + SEARCHES[name]
        return array if over in array.dims and np.isfinite(array).any() else None

    def unsettled_for(self, claim: Claim) -> str:
        """Say where a rate of parameters is that of the best points found, and a search has not settled on them.

        That the argmin falls like n^a is a statement about it, and so is where the near-minimisers lie. A bound from
        above of the error of a function needs none of it.
        """
        name = next((claim.variable.removesuffix(u) for u in UNITS if claim.variable.endswith(u)), claim.variable)
        bound = claim.kind == "slope" and claim.at_most is not None and name in FUNCTIONS
        if bound or not claim.kind.startswith("slope") or not counted(self.ds):
            return ""
        places = [(arm, at) for _, arm, at in sides(claim)]
        places = places[:1] if places[0] == places[-1] else places
        found = [self.found_again(claim.over, arm, at) for arm, at in places]
        return unsettled([again for again in found if again is not None], claim.over, claim.window)

    def unsettled(self, over: str, arm: str, at: Mapping[str, Any] | None = None) -> str:
        """Name the sizes at which a global search did not come back to its best point, in a sentence."""
        array = self.found_again(over, arm, at)
        if array is None:
            return ""
        once = ((array < AGAIN) & np.isfinite(array)).sum("replicate").values.ravel()
        asked = array.notnull().sum("replicate").values.ravel()
        sizes = [
            f"{over} = {size:g} ({few} of {runs})"
            for size, few, runs in zip(array[over].values, once.tolist(), asked.tolist(), strict=True)
            if few
        ]
        return f"The search did not come back to its best point at {', '.join(sizes)}." if sizes else ""
