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
from moestat.claims import counts, selection
from moestat.claims.counts import Counts
from moestat.claims.selection import NoAnswerError
from moestat.rates.difference import of_fits
from moestat.rates.estimate import over_replicates
from moestat.rates.log_means import bootstrap
from moestat.rates.series import series
from moestat.study import hub
from moestat.study.spec import Study

Window = hub.Window
DRAWS = 2000
"""Bootstrap draws of the rate table."""
AGAIN = 2
"""How often a global search must have come to its best point: then it has settled."""
SEARCHES = {"search_found": 0, "rounds_there": 0, "found_again": 1}
"""What counts them, and how many it leaves out: of least squares, by starts; of likelihoods, by rounds that begin anew,
or by the starts other than the one that led to the best point."""


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

    The slopes are those of the two fits. They are fitted again only where a replicate is complete in one of them alone,
    since it counts in neither then, or where one is a property of the cell.

    Raises
    ------
    ValueError
        If their sizes are unusable.
    """
    one, other = (side.samples.transpose(side.over, "replicate") for side in (first, second))
    if first.exact == second.exact and _alike(one, other, first.over):
        estimate = over_replicates(first.fit.slopes - second.fit.slopes, first.fit.level)
        return of_fits(estimate, first.fit, second.fit, paired=True)
    if first.exact != second.exact:
        one, other = (
            selection.with_replicates(a.isel(replicate=0, drop=True), b) if side.exact else a
            for side, a, b in ((first, one, other), (second, other, one))
        )
    return rates.difference(one, other, over=first.over, window=first.window, level=first.fit.level)


def counted(ds: xr.Dataset) -> str:
    """Return the variable that counts how often a search reached its best point; an empty text without one."""
    return next((name for name in SEARCHES if name in ds), "")


def _alike(one: xr.DataArray, other: xr.DataArray, over: str) -> bool:
    """Whether two series have values at the same sizes and in the same replicates."""
    known = [np.isfinite(a.values) & (a.values > 0) for a in (one, other)]
    labels = all(np.array_equal(one[axis].values, other[axis].values) for axis in (over, "replicate"))
    return labels and np.array_equal(*known)


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
        self._samples: dict[tuple[Any, ...], xr.DataArray] = {}
        self._series: dict[tuple[Any, ...], FittedSeries] = {}
        self._facts: dict[tuple[str, str, str], hub.SeriesFacts] = {}
        self._usable: dict[bool, xr.Dataset] = {}
        self._mask: dict[bool, xr.DataArray] = {}

    @cached_property
    def planned(self) -> xr.DataArray:
        """Which points of arms x grid belong to the study."""
        return counts.planned(self.ds, self.study)

    def count(
        self,
        arms: Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
        window: tuple[str, Window] | None = None,
    ) -> Counts:
        """Count how the replicates of some cells ended; see :func:`moestat.claims.counts.count`."""
        return counts.count(self.ds, self.study, arms, at, window, planned_points=self.planned)

    def usable(self, *, converged_only: bool = False) -> xr.Dataset:
        """Return the results with NaN in every number of a replicate that has no values (or did not converge)."""
        if converged_only not in self._usable:
            self._usable[converged_only] = selection.usable(self.ds, converged_only=converged_only)
        return self._usable[converged_only]

    def facts(self, loss: str, over: str, arm: str) -> hub.SeriesFacts:
        """Return what the study says about a series."""
        key = (loss, over, arm)
        if key not in self._facts:
            self._facts[key] = hub.facts(self.study, self.preset, *key)
        return self._facts[key]

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
            A variable of the results.
        arm : str, optional
            The arm to select; its grid is cut to the points that belong to the study.
        at : mapping, optional
            Coordinates to select. Dimensions of length one that are not mentioned are kept.
        converged_only : bool, default False
            Whether replicates that have values but did not converge become NaN too.

        Returns
        -------
        DataArray
            Without the dimension ``arm`` when one is given; attribute ``binary`` if the variable holds truth values.

        Raises
        ------
        NoAnswerError
            If there is no such variable, arm or coordinate, or the variable is text.
        """
        key = (variable, arm, converged_only)
        if key not in self._samples:
            self._samples[key] = self._cut(variable, arm, converged_only)
        return selection.at_point(self._samples[key], at or {})

    def _cut(self, variable: str, arm: str | None, converged_only: bool) -> xr.DataArray:
        whole = (variable, None, converged_only)
        if whole not in self._samples:
            array = selection.variable(self.ds, variable)
            if set(self.ds["status"].dims) <= set(array.dims):
                if converged_only not in self._mask:
                    self._mask[converged_only] = selection.with_values(self.ds, converged_only=converged_only)
                array = array.where(self._mask[converged_only])
            self._samples[whole] = array
        array = self._samples[whole]
        if arm is None:
            return array
        inside = selection.at_point(self.planned, {"arm": arm})
        array = selection.at_point(array, {"arm": arm}) if "arm" in array.dims else array
        for axis in inside.dims:
            if axis in array.dims:
                array = array.isel({axis: np.flatnonzero(inside.any([d for d in inside.dims if d != axis]).values)})
        return array

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
        sizes = self._samples[(variable, arm, converged_only)].sizes
        place = tuple(sorted((axis, str(value)) for axis, value in (at or {}).items() if sizes.get(axis, 1) > 1))
        key = (variable, over, arm, place, window, level, converged_only)
        if key not in self._series:
            samples = selection.with_replicates(array, None)
            fit = rates.fit(samples, over=over, window=window, level=level, draws=0)
            self._series[key] = FittedSeries(samples, over, window, "replicate" not in array.dims, fit)
        return self._series[key]

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
        if not sizes:
            return ""
        return f"The search did not come back to its best point at {', '.join(sizes)}."
