"""Results as data frames: rates, means, claims, how the runs ended; and every number in one tidy table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from moestat.claims.estimates import proportion_interval
from moestat.claims.evidence import Evidence, FittedSeries
from moestat.claims.selection import NoAnswerError, chosen
from moestat.claims.wording import COLUMNS, Verdict
from moestat.errors import InputError
from moestat.rates import mean_interval
from moestat.rounding import number
from moestat.runner.results import BINARY, within_range
from moestat.sentences import listed, nearest
from moestat.status import Status
from moestat.study import presets
from moestat.study.spec import Rate

DIAGNOSTICS = (
    *("iterations", "gradient", "decrement", "min_eigenvalue", "box_hits", "empty_cells", "start_index", "gain"),
)
"""Variables that tell how the estimator did, where a study has them."""

MESSAGES = 30
"""So many kinds of message are told at most."""
RATE_HEAD = ("arm", "label", "loss", "over", "slope", "ci_low", "ci_high", "trusted", "why")
MEAN_HEAD = ("variable", "arm", "label")
MEANS = ("mean", "ci_low", "ci_high", "mcse", "sd", "median", "replicates", "lost")
METHODS = ("last_half", "curvature")


def rates(evidence: Evidence) -> pd.DataFrame:
    """Tabulate every rate of a study."""
    study, ds = evidence.study, evidence.ds
    rows = [row for rate in study.rates for arm in chosen(ds, rate.arms) for row in _rate_rows(evidence, rate, arm)]
    return _with_axes(rows, RATE_HEAD, ds)


def _with_axes(rows: list[dict[str, Any]], head: Sequence[str], ds: xr.Dataset) -> pd.DataFrame:
    table = pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(head))
    table.attrs["axes"] = [c for c in table.columns if c in set(map(str, ds.dims)) - {"arm"}]
    return table


def parameters(evidence: Evidence) -> pd.DataFrame:
    """Tabulate the rate of every block of the parameters that a study lists."""
    rows = []
    for entry in evidence.study.parameters:
        head = {"block": entry.block, "role": entry.role, "atoms": entry.atoms}
        for arm in chosen(evidence.ds, entry.arms):
            errors = evidence.values(entry.loss, arm)
            if (
                np.sum(np.isfinite(errors) & (errors > 0)) > errors.size / 2
            ):  # the error of atoms that are not there is NaN or 0
                rows += [head | row for row in _rate_rows(evidence, entry, arm, atoms=entry.atoms)]
    return _with_axes(rows, ("block", "role", "atoms", *RATE_HEAD), evidence.ds)


def label(ds: xr.Dataset, arm: str) -> str:
    """Return the label of an arm for people."""
    if "arm_label" not in ds.coords:
        return arm
    return str(ds["arm_label"].values[list(map(str, ds["arm"].values)).index(arm)]) or arm


def _rate_rows(evidence: Evidence, rate: Rate, arm: str, *, atoms: str = "all") -> list[dict[str, Any]]:
    facts = presets.facts_of(evidence.study, evidence.preset, rate, arm)
    head = {"arm": arm, "label": label(evidence.ds, arm), "loss": rate.loss, "over": rate.over}
    try:
        array = evidence.samples(rate.loss, arm)
        if rate.over not in array.dims:
            raise NoAnswerError(f"The variable {rate.loss!r} has no axis {rate.over!r}.")
    except NoAnswerError as error:
        return [head | {"slope": np.nan, "ci_low": np.nan, "ci_high": np.nan, "trusted": False, "why": str(error)}]
    predicted = facts.predicted if facts.printed is None else facts.printed
    extra = [str(d) for d in array.dims if d not in (rate.over, "replicate")]
    rows = []
    for point in _points(array, extra):
        counts = evidence.count([(arm, point)], (rate.over, facts.window))
        row = head | point
        try:
            series = evidence.series(rate.loss, rate.over, arm, point, window=facts.window)
        except ValueError as error:
            why, notes = [str(error)[:1].upper() + str(error)[1:]], ""
        else:
            fit = series.fit
            row |= {"slope": fit.slope, "ci_low": fit.low, "ci_high": fit.high, "se": fit.rate.se}
            row |= {"predicted": np.nan if predicted is None else predicted, "bound": facts.bound}
            row |= _companions(evidence, rate, arm, point, series)
            for method in METHODS:
                other = getattr(fit, method)
                row |= {method: other.value, f"{method}_low": other.low, f"{method}_high": other.high}
            row |= {"wider_low": fit.wider.low, "wider_high": fit.wider.high, "level": fit.level}
            row |= dict(zip(("window_low", "window_high"), facts.window or (np.nan, np.nan), strict=True))
            sizes = fit.sizes if fit.sizes.size else np.array([np.nan])
            row |= {"first": sizes[0], "last": sizes[-1], "sizes": fit.sizes.size}
            row |= {"replicates": array.sizes.get("replicate", 0), "complete": fit.complete}
            lost = int(np.isnan(series.samples.sel({rate.over: fit.sizes}).values).sum())
            why = list(fit.reasons)
            if (undefined := lost - counts.missing - counts.failed) > 0:  # in runs that have others
                absent = "" if atoms == "all" else f", as the fit has no {atoms} atom"
                why.append(f"{undefined} of these values are undefined{absent}.")
            notes = fit.bend
        row["search"] = evidence.unsettled(rate.over, arm, point)
        row |= {"failed": counts.failed, "not_converged": counts.not_converged, "missing": counts.missing}
        rows.append(row | {"trusted": not why, "why": " ".join(why), "notes": notes})
    return rows


def _companions(
    evidence: Evidence, rate: Rate, arm: str, point: Mapping[str, Any], series: FittedSeries
) -> dict[str, float]:
    """Slopes of the reference and of the loss at the start, and the loss relative to the reference at the last size."""
    out = {"reference_slope": np.nan, "ratio_to_reference": np.nan, "start_slope": np.nan}
    companions = {"reference": rate.reference or f"fisher_{rate.loss}", "start": rate.start or f"start_{rate.loss}"}
    for role, name in companions.items():
        try:
            array = evidence.samples(name, arm)
            if set(array.dims) - {rate.over, "replicate", *point}:
                continue
            place = {axis: value for axis, value in point.items() if axis in array.dims}
            companion = evidence.series(name, rate.over, arm, place, window=series.window)
        except NoAnswerError:
            continue
        out[f"{role}_slope"] = companion.fit.slope
        if role == "reference" and companion.fit.sizes.size:
            here = {rate.over: companion.fit.sizes[-1]}
            losses = series.samples.sel(here).values
            logs = np.log(losses[np.isfinite(losses) & (losses > 0)])
            level_there = float(companion.samples.sel(here).mean())
            if logs.size and level_there > 0:
                out["ratio_to_reference"] = float(np.exp(logs.mean())) / level_there
    return out


def _points(array: xr.DataArray, dims: Sequence[str]) -> list[dict[str, Any]]:
    """Return every point of some dimensions as a selection."""
    labels = [array[dim].values.tolist() if dim in array.coords else range(array.sizes[dim]) for dim in dims]
    return [dict(zip(dims, values, strict=True)) for values in product(*labels)]


def summaries(evidence: Evidence, *, level: float = 0.95) -> pd.DataFrame:
    """Return mean and interval of every summary variable per arm and point of the grid (and of its own dimensions).

    A number's interval is the t-interval over replicates; that of a truth value is the exact one of a proportion.
    ``mcse`` is the Monte Carlo standard error of the mean.
    """
    arms = chosen(evidence.ds, ["*"])
    rows = [row for name in evidence.study.summaries for arm in arms for row in _means(evidence, name, arm, level)]
    if not rows:
        return pd.DataFrame(columns=[*MEAN_HEAD, *MEANS])
    table = pd.DataFrame(rows)
    axes = [name for name in table.columns if name not in (*MEAN_HEAD, *MEANS)]
    table = table[[*MEAN_HEAD, *axes, *MEANS]]
    table.attrs["axes"] = axes
    return table


def numbers(ds: xr.Dataset) -> list[str]:
    """Return the variables that each replicate of a cell has one number of."""
    names = [str(name) for name in ds.data_vars if name not in ("status", "message", *DIAGNOSTICS)]
    return [name for name in names if set(ds[name].dims) == set(ds["status"].dims) and ds[name].dtype.kind in "fiub"]


def _means(evidence: Evidence, name: str, arm: str, level: float) -> Iterator[dict[str, Any]]:
    try:
        array = evidence.samples(name, arm)
    except NoAnswerError:
        return
    exact, binary = "replicate" not in array.dims, array.attrs.get(BINARY)
    array = array.expand_dims(replicate=[0]) if exact else array
    dims = [str(d) for d in array.dims if d != "replicate"]
    samples = array.transpose(*dims, "replicate").values.reshape(-1, array.sizes["replicate"])
    # a variable with dimensions of its own may be padded with NaN; only a point of the grid is missed when it is empty
    own = set(dims) - set(map(str, evidence.ds["status"].dims))
    head = {"variable": name, "arm": arm, "label": label(evidence.ds, arm)}
    for point, found in zip(_points(array, dims), samples, strict=True):
        kept = found[np.isfinite(found)]
        if own and not kept.size:
            continue
        mean, error, low, high = (float(v) for v in mean_interval(kept, level))
        low, high = (mean, mean) if exact else within_range(array, low, high)
        if binary:
            low, high = proportion_interval(int(kept.sum()), kept.size, level)
            error = np.sqrt(mean * (1 - mean) / kept.size) if kept.size else np.nan
        sd, median = kept.std(ddof=1) if kept.size > 1 else np.nan, np.median(kept) if kept.size else np.nan
        numbers = (mean, low, high, 0.0 if exact else error, sd, median, kept.size, found.size - kept.size)
        yield head | point | dict(zip(MEANS, numbers, strict=True))


def claims(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return the verdicts as a table with the columns of claims.csv."""
    return pd.DataFrame([verdict.row() for verdict in verdicts], columns=list(COLUMNS))


def statuses(evidence: Evidence) -> pd.DataFrame:
    """Count how the runs of every arm ended, and in a last row of all; a column for each kind of failure there is."""
    rows: list[dict[str, Any]] = []
    for arms in [*([arm] for arm in chosen(evidence.ds, ["*"])), chosen(evidence.ds, ["*"])]:
        counts, alone = evidence.count((arm, {}) for arm in arms), len(rows) < evidence.ds.sizes["arm"]
        row: dict[str, Any] = {"arm": arms[0], "label": label(evidence.ds, arms[0])}
        row = row if alone else {"arm": "", "label": "all"}
        row |= {"runs": counts.replicates, "converged": counts.by_status.get(Status.CONVERGED, 0)}
        row |= {"failed": counts.failed, "not_converged": counts.not_converged, "missing": counts.missing}
        rows.append(row | {s.name.lower(): n for s, n in counts.by_status.items() if s is not Status.CONVERGED})
    return pd.DataFrame(rows).fillna(0).astype(dict.fromkeys(pd.DataFrame(rows).columns[2:], int))


def failures(evidence: Evidence) -> pd.DataFrame:
    """Return what the runs that did not converge said: per arm, status and message how many, and one of them."""
    columns, ds = ["arm", "label", "status", "message", "runs", "example"], evidence.ds
    named = ds.assign(message=ds["message"] if "message" in ds else xr.full_like(ds["status"], "", dtype=object))
    axes = [str(dim) for dim in ds["status"].dims if dim not in ("arm", "replicate")]
    frame = named[["status", "message"]].reset_coords(drop=True).to_dataframe().reset_index()
    frame = frame[~frame["status"].isin([-1, int(Status.CONVERGED)])].sort_values([*axes, "replicate"])
    rows = []
    for (arm, code, text), part in frame.groupby(["arm", "status", "message"], sort=False):
        first, status = part.iloc[0], Status(int(code))
        place = [f"{axis} = {number(first[axis])}" for axis in axes] + [f"replicate {first['replicate']}"]
        said = (status.name, text or status.sentence, len(part), ", ".join(place))
        rows.append((arm, label(ds, str(arm)), *said))
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values("runs", ascending=False, kind="stable", ignore_index=True).head(MESSAGES)


def diagnostics(evidence: Evidence) -> pd.DataFrame:
    """Return median and range of the diagnostics that the results hold, per arm, over the runs that have values."""
    rows = []
    for name, arm in product(DIAGNOSTICS, chosen(evidence.ds, ["*"])):
        values = evidence.values(name, arm)
        if (values := values[np.isfinite(values)]).size:
            about = evidence.ds[name].attrs.get("long_name", name)
            ends = (float(np.median(values)), float(values.min()), float(values.max()))
            rows.append((arm, label(evidence.ds, arm), about, *ends))
    return pd.DataFrame(rows, columns=["arm", "label", "diagnostic", "median", "smallest", "largest"])


def tidy(ds: xr.Dataset, variables: Sequence[str] | None = None) -> pd.DataFrame:
    """Return results as one row per replicate and loss, for any tool that reads tables.

    ``variables`` are those wanted; if absent, every number that each replicate has one of. Those with dimensions of
    their own (an atom, an epoch) are to be named; the dimensions become columns. The columns are ``arm`` and the axes
    of the grid, ``replicate``, ``status`` (0 for converged), ``loss`` (the variable's name) and ``value``. Replicates
    that nothing was computed for have no row.

    Raises
    ------
    moestat.errors.InputError
        If there is no such variable, or it has no dimension ``replicate``.

    Examples
    --------
    >>> ds = xr.Dataset({"L1": (("n", "replicate"), [[0.2, 0.4]])}, {"n": [100], "replicate": [0, 1]})
    >>> tidy(ds)
         n  replicate loss  value
    0  100          0   L1    0.2
    1  100          1   L1    0.4
    """
    if "replicate" not in ds.dims:
        raise InputError(f"tidy takes results with the dimension 'replicate'; these have {listed(ds.dims)}")
    names = [str(name) for name in ds.data_vars]
    drawn = [array for array in ds.data_vars.values() if "replicate" in array.dims]
    plainest = ds["status"] if "status" in ds else min(drawn, key=lambda a: a.ndim, default=ds["replicate"])
    grid, status = [str(dim) for dim in plainest.dims], ["status"] if "status" in ds else []
    if variables is None:
        plain = [name for name in names if ds[name].dtype.kind in "fiub" and set(ds[name].dims) == set(grid)]
        variables = [name for name in plain if name not in ("status", "message", "iterations")]
    parts: list[pd.DataFrame] = []
    own: list[str] = []
    for name in map(str, variables):
        if name not in names:
            meant = nearest(name, names) or ";"
            raise InputError(f"the results hold no variable {name!r}{meant} they hold {listed(names, 8)}")
        if "replicate" not in ds[name].dims:
            raise InputError(f"the variable {name!r} has no dimension 'replicate': it is one number per cell")
        dims = [str(dim) for dim in ds[name].dims]
        frame = ds[[name, *status]].reset_coords(drop=True).to_dataframe(dim_order=dims).reset_index()
        frame = frame[frame["status"] >= 0] if status else frame
        parts.append(frame.rename(columns={name: "value"}).assign(loss=name, value=frame[name].astype(np.float64)))
        own += [dim for dim in dims if dim not in (*grid, *own)]
    columns = [*grid, *own, *status, "loss", "value"]
    return pd.concat(parts, ignore_index=True).reindex(columns=columns) if parts else pd.DataFrame(columns=columns)
