"""One run's results, read once: samples of a variable, how the runs ended, and each series fitted a single time.

Verdicts, tables and figures of a report all ask the same :class:`Evidence`, so that they cannot disagree about a fit
window, and nothing is selected or fitted twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims import selection
from moestat.claims.selection import Counts, NoAnswerError
from moestat.rates.log_means import bootstrap
from moestat.rates.series import series
from moestat.runner.results import NOT_COMPUTED
from moestat.study import hub
from moestat.study.spec import Study

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


@dataclass(frozen=True)
class FittedSeries:
    """A loss over sizes and replicates, with its fit.

    Attributes
    ----------
    samples : DataArray (sizes, replicate)
        Repeated over two replicates if it is a property of the cell.
    over : str
    window : (low, high) or None
    exact : bool
        Whether it is a property of the cell, without a Monte Carlo error.
    fit : RateFit
        Without bootstrap.
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
    """Return the slope of one series minus that of another one, paired by replicate.

    Raises
    ------
    ValueError
        If their sizes are unusable.
    """
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

    Parameters
    ----------
    found : sequence of DataArray
        How often the best point of each data set was reached, NaN where nothing was searched.
    over : str
    window : (low, high) or None
        The sizes that count.
    """
    low, high = window or (-np.inf, np.inf)
    inside = [again.where((again[over] >= low) & (again[over] <= high)) for again in found]
    settled = sum(int((again >= AGAIN).sum()) for again in inside)
    searched = sum(int(again.notnull().sum()) for again in inside)
    if settled >= SETTLED * searched:
        return ""
    return (
        f"The search came back to its best point in {settled} of {searched} data sets; in the others a better one may "
        "be left."
    )


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
        """Count how the replicates of some arms ended; see :func:`moestat.claims.selection.count`."""
        arms = selection.chosen(self.ds, ["*"]) if arms is None else arms
        return selection.count(self.ds, self.planned, [(arm, at or {}) for arm in arms], window)

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
        """Return a variable as float64, with NaN where a replicate has no value.

        Parameters
        ----------
        variable : str
        arm : str, optional
            The arm to select; its grid is cut to the points that belong to the study.
        at : mapping, optional
            Coordinates to select. Dimensions of length one that are not mentioned are kept.
        converged_only : bool, default False
            Whether replicates that have values but did not converge become NaN too.

        Raises
        ------
        NoAnswerError
            If there is no such variable, arm or coordinate, or the variable is text.
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
        """Return the fitted series of a loss.

        Parameters
        ----------
        variable, over, arm : str
        at : mapping, optional
            Coordinates at which it is taken; axes of length one need not be named.
        window : (low, high), optional
            All sizes when None; :attr:`facts` knows the one that the study states.
        level : float, default 0.95
        converged_only : bool, default False

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

    def unsettled(self, over: str, arm: str, at: Mapping[str, Any] | None = None) -> str:
        """Name the sizes at which a global search did not come back to its best point, in a sentence."""
        array = self.found_again(over, arm, at)
        if array is None:
            return ""
        once = ((array < AGAIN) & np.isfinite(array)).sum("replicate")
        asked = array.notnull().sum("replicate")
        sizes = [
            f"{over} = {size:g} ({int(few)} of {int(runs)})"
            for size, few, runs in zip(array[over].values, once.values.ravel(), asked.values.ravel(), strict=True)
            if few
        ]
        return f"The search did not come back to its best point at {', '.join(sizes)}." if sizes else ""
