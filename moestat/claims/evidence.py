"""One run's results, read once, for verdicts, tables and figures: samples, how runs ended, each series fitted once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims import selection
from moestat.claims.selection import NoAnswerError, is_at
from moestat.rates.loglog import fit_array
from moestat.runner.results import NOT_COMPUTED
from moestat.status import Status
from moestat.study import presets
from moestat.study.spec import Claim, Study

Window = presets.Window
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
    """How the runs (replicates of cells) ended that were asked for: by status, not computed, and all of it in words."""

    by_status: Mapping[Status, int]
    replicates: int
    missing: int
    failed: int
    not_converged: int
    told: str

    def __str__(self) -> str:
        return self.told


@dataclass(frozen=True)
class FittedSeries:
    """A loss over sizes and replicates, with its fit.

    ``exact`` is a property of the cell, without a Monte Carlo error; its ``samples`` are repeated over two replicates.
    """

    samples: xr.DataArray
    over: str
    window: Window
    exact: bool
    fit: rates.RateFit


def difference(first: FittedSeries, second: FittedSeries) -> rates.Difference:
    """Return the slope of one series minus that of another one, paired by replicate."""
    one, other = first.samples, second.samples
    if first.exact != second.exact:  # what is exact is repeated over the replicates of the other one
        exact = (side.samples.isel(replicate=0, drop=True) if side.exact else side.samples for side in (first, second))
        one, other = xr.broadcast(*(array.reset_coords(drop=True) for array in exact))
    return rates.difference(one, other, over=first.over, window=first.window, level=first.fit.level)


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
    """The collected results of a study at a preset, over arm, the grid's axes, replicate and the experiment's own."""

    def __init__(self, ds: xr.Dataset, study: Study, preset: str) -> None:
        self.ds, self.study, self.preset = ds, study, preset
        self._kept: dict[Any, Any] = {}
        self.search = next((name for name in SEARCHES if name in ds), "")  # what counts how often a search came back
        # points of arms x grid that belong to the study, or were computed all the same: an arm that sets an axis of the
        # grid itself lives only at those values
        computed = (ds["status"] != NOT_COMPUTED).any("replicate")
        wanted = xr.ones_like(computed)
        for arm in study.arms:
            for axis in computed.dims:
                if axis != "arm" and (own := arm.settings.get(str(axis))) is not None:
                    inside = ds[axis].isin(own if isinstance(own, list) else [own])
                    wanted = wanted & ((ds["arm"] != arm.name) | inside)
        self.planned = (wanted | computed).transpose(*computed.dims)

    def count(
        self,
        places: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        window: tuple[str, Window] | None = None,
    ) -> Counts:
        """Count how the replicates of some arms at coordinates ended, each once, in a part of an axis of the grid."""
        points, ds = self.planned, self.ds
        mask = points if places is None else xr.zeros_like(points)
        for arm, at in places or ():
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
        told = f"{failed} failed, {not_converged} not converged" + f", {missing} missing" * bool(missing)
        by_status = {Status(code): runs for code, runs in tally.items()}
        return Counts(by_status, codes.size, missing, failed, not_converged, told)

    def usable(self, *, converged_only: bool = False) -> xr.Dataset:
        """Return the results with NaN in every number of a replicate that has no values (or did not converge)."""
        if converged_only not in self._kept:
            self._kept[converged_only] = selection.usable(self.ds, converged_only=converged_only)
        found: xr.Dataset = self._kept[converged_only]
        return found

    def facts(self, loss: str, over: str, arm: str) -> presets.SeriesFacts:
        """Return what the study says about a series."""
        return presets.facts(self.study, self.preset, loss, over, arm)

    def samples(
        self,
        variable: str,
        arm: str | None = None,
        at: Mapping[str, Any] | None = None,
        *,
        converged_only: bool = False,
    ) -> xr.DataArray:
        """Return a variable as float64, NaN where a replicate has no value, on the part of the grid that an arm has."""
        key = (variable, arm, converged_only)
        if key not in self._kept:
            ds = self.ds
            array = ds.data_vars.get(variable)
            if array is None or array.dtype != np.float64:  # converts it, or says why there is none
                array = selection.variable(ds, variable)
            valued = ds["status"].isin([int(Status.CONVERGED)] if converged_only else selection.WITH_VALUES)
            if set(valued.dims) <= set(array.dims) and not valued.values.all():
                array = array.where(valued)
            if arm is not None:
                place = np.flatnonzero(ds["arm"].values == arm)
                if not place.size:
                    raise NoAnswerError(f"The arm {arm!r} is not part of this run.")
                inside = self.planned.isel(arm=int(place[0]))
                array = array.isel(arm=int(place[0])) if "arm" in array.dims else array
                for axis in set(inside.dims) & set(array.dims):
                    kept = inside.any([d for d in inside.dims if d != axis]).values
                    array = array.isel({axis: np.flatnonzero(kept)})
            self._kept[key] = array
        array = self._kept[key]
        return selection.at_point(array, at) if at else array

    def values(self, variable: str, arm: str) -> np.ndarray:
        """Return all values of a variable in an arm, or none where the results hold no such number."""
        try:
            return np.asarray(self.samples(variable, arm).values)
        except NoAnswerError:
            return np.zeros(0)

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
        """Return the fitted series of a loss; NoAnswerError where there is none, ValueError for unusable sizes."""
        array = self.samples(variable, arm, at, converged_only=converged_only)
        # an axis of length one names nothing, so that a figure without it and a table with it share a fit
        sizes = self._kept[variable, arm, converged_only].sizes
        place = tuple(sorted((axis, str(value)) for axis, value in (at or {}).items() if sizes.get(axis, 1) > 1))
        key = (variable, over, arm, place, window, level, converged_only)
        if key not in self._kept:
            if set(array.dims) - {over, "replicate"}:
                array = selection.without_lengths_of_one(array, (over, "replicate"))
            if over not in array.dims:
                raise NoAnswerError(f"The variable {variable!r} has no axis {over!r}.")
            if exact := "replicate" not in array.dims:
                array = array.expand_dims(replicate=2)  # no Monte Carlo error, no width
            losses = array.transpose(over, "replicate").values
            fit = fit_array(losses, array[over].values.astype(np.float64), window, level)
            self._kept[key] = FittedSeries(array, over, window, exact, fit)
        found: FittedSeries = self._kept[key]
        return found

    def found_again(self, over: str, arm: str, at: Mapping[str, Any] | None = None) -> xr.DataArray | None:
        """Return how often a global search came to its best point, from starts or from points thrown out, or None."""
        if not self.search:
            return None
        array = self.samples(self.search, arm, at) + SEARCHES[self.search]
        return array if over in array.dims and np.isfinite(array).any() else None

    def unsettled_for(self, claim: Claim, places: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
        """Say where a rate of parameters is that of the best points found, and a search has not settled on them.

        That the argmin falls like n^a is a statement about it, and so is where the near-minimisers lie. A bound from
        above of the error of a function needs none of it.
        """
        name = next((claim.variable.removesuffix(u) for u in UNITS if claim.variable.endswith(u)), claim.variable)
        if claim.kind == "slope" and claim.at_most is not None and name in FUNCTIONS:
            return ""
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
