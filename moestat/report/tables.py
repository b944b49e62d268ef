"""The tables of a study as data frames: rates, summaries, claims, and how the runs ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from moestat.claims.estimates import proportion_interval
from moestat.claims.evidence import Evidence, FittedSeries
from moestat.claims.selection import NoAnswerError, chosen
from moestat.claims.verdicts import COLUMNS, Verdict
from moestat.rounding import number
from moestat.runner.results import BINARY, within_range
from moestat.status import Status
from moestat.study import hub
from moestat.study.spec import Rate

DIAGNOSTICS = {
    "iterations": "iterations",
    "gradient": "projected gradient",
    "decrement": "Newton decrement",
    "min_eigenvalue": "smallest free eigenvalue",
    "box_hits": "parameters at the box",
    "empty_cells": "empty Voronoi cells",
    "start_index": "start that won",
    "gain": "log-likelihood gain over the truth",
}
"""Variables that tell how the estimator did, where a study has them, and how they are called."""

RATE_HEAD = ("arm", "label", "loss", "over", "slope", "ci_low", "ci_high", "trusted", "why")
METHODS = ("ols", "wls", "last_half", "curvature")


def rates(evidence: Evidence) -> pd.DataFrame:
    """Tabulate every rate of a study.

    Returns
    -------
    DataFrame
        One row per rate, arm and, where the loss has further dimensions, point of those: slope with interval, what
        was predicted, the other estimates of it, how many runs it rests on, whether it can be trusted and why not.
    """
    rows = [
        row
        for rate in evidence.study.rates
        for arm in chosen(evidence.ds, rate.arms)
        for row in _rate_rows(evidence, rate, arm)
    ]
    table = pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(RATE_HEAD))
    table.attrs["axes"] = [c for c in table.columns if c in set(map(str, evidence.ds.dims)) - {"arm"}]
    return table


def parameters(evidence: Evidence) -> pd.DataFrame:
    """Tabulate the rate of every block of the parameters that a study lists.

    Returns
    -------
    DataFrame
        The columns of :func:`rates`, and before them ``block``, ``role`` (gate, expert, variance, weight) and
        ``atoms`` (over-specified, exactly specified, all). An arm has no row for a kind of atom that most of its fits
        do not have.
    """
    rows = []
    for entry in evidence.study.parameters:
        head = {"block": entry.block, "role": entry.role, "atoms": entry.atoms}
        for arm in chosen(evidence.ds, entry.arms):
            if not _has_atoms(evidence, entry.loss, arm):
                continue
            rows += [head | row for row in _rate_rows(evidence, entry, arm, atoms=entry.atoms)]
    table = pd.DataFrame(rows) if rows else pd.DataFrame(columns=["block", "role", "atoms", *RATE_HEAD])
    table.attrs["axes"] = [c for c in table.columns if c in set(map(str, evidence.ds.dims)) - {"arm"}]
    return table


def _has_atoms(evidence: Evidence, loss: str, arm: str) -> bool:
    """Tell whether most fits of an arm have atoms of a kind: the error of the others is NaN or zero."""
    try:
        errors = evidence.samples(loss, arm).values
    except NoAnswerError:
        return False
    return bool(np.mean(np.isfinite(errors) & (errors > 0)) > 0.5)


def label(ds: xr.Dataset, arm: str) -> str:
    """Return the label of an arm for people."""
    if "arm_label" not in ds.coords:
        return arm
    return str(ds["arm_label"].values[list(map(str, ds["arm"].values)).index(arm)]) or arm


def _rate_rows(evidence: Evidence, rate: Rate, arm: str, *, atoms: str = "all") -> list[dict[str, Any]]:
    facts = hub.facts_of(evidence.study, evidence.preset, rate, arm)
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
        counts = evidence.count([arm], point, (rate.over, facts.window))
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
            low, high = series.bootstrap
            row |= {"bootstrap_low": low, "bootstrap_high": high, "level": fit.level}
            row |= {"window_low": np.nan, "window_high": np.nan}
            if facts.window is not None:
                row |= {"window_low": facts.window[0], "window_high": facts.window[1]}
            sizes = fit.sizes if fit.sizes.size else np.array([np.nan])
            row |= {"first": sizes[0], "last": sizes[-1], "sizes": fit.sizes.size}
            row |= {"replicates": array.sizes.get("replicate", 0), "complete": fit.complete}
            lost = int(np.isnan(series.samples.sel({rate.over: fit.sizes}).values).sum())
            why = [*fit.reasons, *_undefined(lost - counts.missing - counts.failed, atoms)]
            notes = " ".join(fit.notes)
        row["search"] = evidence.unsettled(rate.over, arm, point)
        row |= {"failed": counts.failed, "not_converged": counts.not_converged, "missing": counts.missing}
        rows.append(row | {"trusted": not why, "why": " ".join(why), "notes": notes})
    return rows


def _undefined(values: int, atoms: str) -> list[str]:
    """Say how many values are undefined in runs that have others."""
    absent = "" if atoms == "all" else f", as the fit has no {atoms} atom"
    return [f"{values} of these values are undefined{absent}."] if values > 0 else []


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
    points: list[dict[str, Any]] = [{}]
    for dim in dims:
        labels = array[dim].values.tolist() if dim in array.coords else list(range(array.sizes[dim]))
        points = [point | {dim: value} for point in points for value in labels]
    return points


def summaries(evidence: Evidence, *, level: float = 0.95) -> pd.DataFrame:
    """Return mean and interval of every summary variable per arm and point of the grid (and of its own dimensions).

    A number's interval is the t-interval over replicates; that of a truth value is the exact one of a proportion.
    ``mcse`` is the Monte Carlo standard error of the mean.
    """
    arms = chosen(evidence.ds, ["*"])
    tables = [_summary(evidence, name, arm, level) for name in evidence.study.summaries for arm in arms]
    tables = [table for table in tables if len(table)]
    columns = ["variable", "arm", "label", "mean", "ci_low", "ci_high", "mcse", "sd", "median"]
    columns += ["replicates", "lost"]
    if not tables:
        return pd.DataFrame(columns=columns)
    table = pd.concat(tables, ignore_index=True)
    axes = [name for name in table.columns if name not in columns]
    table = table[[*columns[:3], *axes, *columns[3:]]]
    table.attrs["axes"] = axes
    return table


def _summary(evidence: Evidence, name: str, arm: str, level: float) -> pd.DataFrame:
    ds = evidence.ds
    try:
        array = evidence.samples(name, arm)
    except NoAnswerError:
        return pd.DataFrame()
    exact = "replicate" not in array.dims
    array = array.expand_dims(replicate=[0]) if exact else array
    dims = [str(d) for d in array.dims if d != "replicate"]
    array = array.transpose(*dims, "replicate")
    samples = array.values.reshape(-1, array.sizes["replicate"])
    kept = np.isfinite(samples)
    used = kept.sum(axis=1)
    filled = np.where(kept, samples, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(used > 0, filled.sum(axis=1) / used, np.nan)
        squares = np.where(kept, (samples - mean[:, None]) ** 2, 0.0).sum(axis=1)
        sd = np.where(used > 1, np.sqrt(squares / (used - 1)), np.nan)
        half = stats.t.ppf(0.5 + level / 2, np.maximum(used - 1, 1)) * sd / np.sqrt(used)
    low, high = (mean, mean) if exact else within_range(array, mean - half, mean + half)
    if array.attrs.get(BINARY):
        ends = [proportion_interval(int(k), int(n), level) for k, n in zip(filled.sum(axis=1), used, strict=True)]
        low, high = np.array(ends).reshape(-1, 2).T
    median = [float(np.median(row[ok])) if ok.any() else np.nan for row, ok in zip(samples, kept, strict=True)]
    table = pd.DataFrame(_points(array, dims))
    if not dims:
        table = pd.DataFrame(index=range(1))
    table = table.assign(variable=name, arm=arm, label=label(ds, arm), mean=mean, ci_low=low, ci_high=high, sd=sd)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(used > 1, sd / np.sqrt(used), np.nan)
        if array.attrs.get(BINARY):
            error = np.sqrt(mean * (1 - mean) / used)
    table = table.assign(mcse=np.zeros(len(used)) if exact else error)
    table = table.assign(median=median, replicates=used, lost=samples.shape[1] - used)
    # a variable with dimensions of its own may be padded with NaN; only a point of the grid is missed when it is empty
    own = set(dims) - set(map(str, ds["status"].dims))
    return table[used > 0] if own else table


def claims(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return the verdicts as a table with the columns of claims.csv."""
    return pd.DataFrame([verdict.row() for verdict in verdicts], columns=list(COLUMNS))


def statuses(evidence: Evidence) -> pd.DataFrame:
    """Count how the runs of every arm ended; one column per status, zeros included, and a last row with the sums."""
    rows = []
    for arm in chosen(evidence.ds, ["*"]):
        counts = evidence.count([arm])
        row: dict[str, Any] = {"arm": arm, "label": label(evidence.ds, arm), "runs": counts.replicates}
        row |= {status.name.lower(): counts.by_status.get(status, 0) for status in Status}
        rows.append(row | {"missing": counts.missing, "failed": counts.failed, "not_converged": counts.not_converged})
    table = pd.DataFrame(rows)
    total = {"arm": "", "label": "all"} | {name: int(table[name].sum()) for name in table.columns[2:]}
    return pd.concat([table, pd.DataFrame([total])], ignore_index=True)


def failures(ds: xr.Dataset) -> pd.DataFrame:
    """Return what the runs that did not converge said: per arm, status and message how many, and one of them."""
    columns = ["arm", "label", "status", "message", "runs", "example"]
    status = ds["status"].transpose("arm", ..., "replicate")
    axes = [str(d) for d in status.dims[1:-1]]
    rows: dict[tuple[str, int, str], dict[str, Any]] = {}
    messages = ds["message"].transpose(*status.dims).values if "message" in ds else None
    for index in np.argwhere(~np.isin(status.values, [-1, int(Status.CONVERGED)])):
        place = tuple(index)
        code, arm = Status(int(status.values[place])), str(ds["arm"].values[place[0]])
        text = (str(messages[place]) if messages is not None else "") or code.sentence
        where = [f"{axis} = {number(ds[axis].values[i])}" for axis, i in zip(axes, place[1:-1], strict=True)]
        where.append(f"replicate {ds['replicate'].values[place[-1]]}")
        row = rows.setdefault(
            (arm, int(code), text),
            {"arm": arm, "label": label(ds, arm), "status": code.name, "message": text, "runs": 0}
            | {"example": ", ".join(where)},
        )
        row["runs"] += 1
    table = pd.DataFrame(list(rows.values()), columns=columns)
    return table.sort_values("runs", ascending=False, kind="stable", ignore_index=True)


def diagnostics(evidence: Evidence) -> pd.DataFrame:
    """Return median and range of the diagnostics that the results hold, per arm, over the runs that have values."""
    rows = []
    for name, about in DIAGNOSTICS.items():
        for arm in chosen(evidence.ds, ["*"]):
            try:
                array = evidence.samples(name, arm).values
            except NoAnswerError:
                continue
            array = array[np.isfinite(array)]
            if array.size:
                row = {
                    "arm": arm,
                    "label": label(evidence.ds, arm),
                    "diagnostic": about,
                    "median": float(np.median(array)),
                }
                rows.append(row | {"smallest": float(array.min()), "largest": float(array.max())})
    return pd.DataFrame(rows, columns=["arm", "label", "diagnostic", "median", "smallest", "largest"])
