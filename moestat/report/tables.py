"""The tables of a study as data frames: rates, summaries, claims, and how the runs ended."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from moestat import rates as log_log
from moestat.claims.counts import chosen, count
from moestat.claims.estimates import proportion_interval, with_replicates
from moestat.claims.selection import NoAnswerError, values
from moestat.claims.verdicts import COLUMNS, Verdict, judged
from moestat.rounding import number
from moestat.runner.results import BINARY
from moestat.status import Status
from moestat.study.spec import Rate, Study

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


def rates(ds: xr.Dataset, study: Study, preset: str, *, level: float = 0.95) -> pd.DataFrame:
    """Fit every rate of a study.

    Returns
    -------
    DataFrame
        One row per rate, arm and, where the loss has further dimensions, point of those: slope with interval, what
        was predicted, the other estimates of it, how many runs it rests on, whether it can be trusted and why not.
    """
    rows = [
        row
        for rate in study.rates
        for arm in chosen(ds, rate.arms)
        for row in _rate_rows(ds, study, preset, rate, arm, level)
    ]
    table = pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(RATE_HEAD))
    table.attrs["axes"] = [c for c in table.columns if c in set(map(str, ds.dims)) - {"arm"}]
    return table


def parameters(ds: xr.Dataset, study: Study, preset: str, *, level: float = 0.95) -> pd.DataFrame:
    """Fit the rate of every block of the parameters that a study lists.

    Returns
    -------
    DataFrame
        The columns of :func:`rates`, and before them ``block``, ``role`` (gate, expert, variance, weight) and
        ``atoms`` (over-specified, exactly specified, all). An arm has no row for a kind of atom that most of its fits
        do not have.
    """
    rows = []
    for entry in study.parameters:
        rate = Rate(loss=entry.loss, over=entry.over, arms=entry.arms, window=entry.window, bound=None)
        head = {"block": entry.block, "role": entry.role, "atoms": entry.atoms}
        for arm in chosen(ds, entry.arms):
            if not _has_atoms(ds, study, entry.loss, arm):
                continue
            exponent = next((v for k, v in entry.predicted.items() if fnmatch.fnmatchcase(arm, k)), np.nan)
            rows += [head | row | {"predicted": exponent} for row in _rate_rows(ds, study, preset, rate, arm, level)]
    table = pd.DataFrame(rows) if rows else pd.DataFrame(columns=["block", "role", "atoms", *RATE_HEAD])
    table.attrs["axes"] = [c for c in table.columns if c in set(map(str, ds.dims)) - {"arm"}]
    return table


def _has_atoms(ds: xr.Dataset, study: Study, loss: str, arm: str) -> bool:
    """Tell whether most fits of an arm have atoms of a kind: the error of the others is NaN or zero."""
    try:
        found = values(ds, study, loss, arm).values
    except NoAnswerError:
        return False
    return bool(np.mean(np.isfinite(found) & (found > 0)) > 0.5)


def rate_window(study: Study, preset: str, rate: Rate) -> tuple[float, float] | None:
    """Return the fit window of a rate: the preset's replaces the rate's own."""
    replaced = study.presets[preset].window if preset in study.presets else None
    return rate.window if replaced is None else replaced


def label(ds: xr.Dataset, arm: str) -> str:
    """Return the label of an arm for people."""
    if "arm_label" not in ds.coords:
        return arm
    return str(ds["arm_label"].values[list(map(str, ds["arm"].values)).index(arm)]) or arm


def _rate_rows(ds: xr.Dataset, study: Study, preset: str, rate: Rate, arm: str, level: float) -> list[dict[str, Any]]:
    window = rate_window(study, preset, rate)
    head = {"arm": arm, "label": label(ds, arm), "loss": rate.loss, "over": rate.over}
    try:
        array = values(ds, study, rate.loss, arm)
        if rate.over not in array.dims:
            raise NoAnswerError(f"The variable {rate.loss!r} has no axis {rate.over!r}.")
    except NoAnswerError as error:
        return [head | {"slope": np.nan, "ci_low": np.nan, "ci_high": np.nan, "trusted": False, "why": str(error)}]
    extra = [str(d) for d in array.dims if d not in (rate.over, "replicate")]
    rows = []
    for point in _points(array, extra):
        one = array.sel(point)
        counts = count(ds, study, [arm], point, (rate.over, window))
        row = head | point
        try:
            fit = log_log.fit(with_replicates(one, None), over=rate.over, window=window, level=level)
        except ValueError as error:
            fit, why = None, [str(error)[:1].upper() + str(error)[1:]]
        if fit is not None:
            row |= {"slope": fit.slope, "ci_low": fit.low, "ci_high": fit.high, "se": fit.rate.se}
            row |= {"predicted": predicted(study, preset, rate, arm), "bound": rate.bound}
            row |= _companions(ds, study, rate, arm, point, window, one, level)
            for method in METHODS:
                found = getattr(fit, method)
                row |= {method: found.value, f"{method}_low": found.low, f"{method}_high": found.high}
            row |= {"bootstrap_low": fit.bootstrap[0], "bootstrap_high": fit.bootstrap[1], "level": level}
            row |= {"window_low": np.nan, "window_high": np.nan}
            if window is not None:
                row |= {"window_low": window[0], "window_high": window[1]}
            sizes = fit.sizes if fit.sizes.size else np.array([np.nan])
            row |= {"first": sizes[0], "last": sizes[-1], "sizes": fit.sizes.size}
            row |= {"replicates": array.sizes.get("replicate", 0), "complete": fit.complete}
            why = list(fit.reasons)
        row |= {"failed": counts.failed, "not_converged": counts.not_converged, "missing": counts.missing}
        row |= {"trusted": not why, "why": " ".join(why), "notes": " ".join(fit.notes) if fit is not None else ""}
        rows.append(row)
    return rows


def predicted(study: Study, preset: str, rate: Rate, arm: str) -> float:
    """Return the slope that the paper gives for a rate, from the claims or else from the figures; NaN if none."""
    for claim in judged(study, preset):
        if (claim.kind, claim.variable, claim.over, claim.arm) == ("slope", rate.loss, rate.over, arm):
            try:
                return float(claim.predicted)
            except ValueError:  # the prediction is a text
                continue
    for figure in study.figures:
        for panel in figure.panels:
            if figure.kind == "rates" and panel.variable == rate.loss and arm in panel.predicted:
                return panel.predicted[arm]
    return float("nan")


def companions(study: Study, loss: str) -> dict[str, str]:
    """Return the variables that are drawn beside a loss: its reference and its value at the start."""
    found = {"reference": f"fisher_{loss}", "start": f"start_{loss}"}
    for figure in study.figures:
        for panel in figure.panels:
            if panel.variable == loss:
                found |= {k: v for k, v in (("reference", panel.reference), ("start", panel.start)) if v}
    return found


def _companions(
    ds: xr.Dataset,
    study: Study,
    rate: Rate,
    arm: str,
    point: Mapping[str, Any],
    window: tuple[float, float] | None,
    loss: xr.DataArray,
    level: float,
) -> dict[str, float]:
    """Slopes of the reference and of the loss at the start, and the loss relative to the reference at the last size."""
    out = {"reference_slope": np.nan, "ratio_to_reference": np.nan, "start_slope": np.nan}
    for role, name in companions(study, rate.loss).items():
        try:
            array = values(ds, study, name, arm)
        except NoAnswerError:
            continue
        array = array.sel({k: v for k, v in point.items() if k in array.dims})
        if set(array.dims) - {rate.over, "replicate"} or rate.over not in array.dims:
            continue
        fit = log_log.fit(with_replicates(array, None), over=rate.over, window=window, level=level, draws=0)
        out[f"{role}_slope"] = fit.slope
        if role == "reference" and fit.sizes.size:
            here = {rate.over: fit.sizes[-1]}
            there = loss.sel(here).values
            logs = np.log(there[np.isfinite(there) & (there > 0)])
            level_there = float(array.sel(here).mean())
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


def summaries(ds: xr.Dataset, study: Study, *, level: float = 0.95) -> pd.DataFrame:
    """Return mean and interval of every summary variable per arm and point of the grid (and of its own dimensions).

    A number's interval is the t-interval over replicates; that of a truth value is the exact one of a proportion.
    """
    tables = [_summary(ds, study, name, arm, level) for name in study.summaries for arm in chosen(ds, ["*"])]
    tables = [table for table in tables if len(table)]
    columns = ["variable", "arm", "label", "mean", "ci_low", "ci_high", "sd", "median", "replicates", "lost"]
    if not tables:
        return pd.DataFrame(columns=columns)
    table = pd.concat(tables, ignore_index=True)
    axes = [name for name in table.columns if name not in columns]
    table = table[[*columns[:3], *axes, *columns[3:]]]
    table.attrs["axes"] = axes
    return table


def _summary(ds: xr.Dataset, study: Study, name: str, arm: str, level: float) -> pd.DataFrame:
    try:
        array = values(ds, study, name, arm)
    except NoAnswerError:
        return pd.DataFrame()
    exact = "replicate" not in array.dims
    array = array.expand_dims(replicate=[0]) if exact else array
    dims = [str(d) for d in array.dims if d != "replicate"]
    array = array.transpose(*dims, "replicate")
    samples = array.values.reshape(-1, array.sizes["replicate"])
    kept = np.isfinite(samples)
    numbers = kept.sum(axis=1)
    filled = np.where(kept, samples, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(numbers > 0, filled.sum(axis=1) / numbers, np.nan)
        squares = np.where(kept, (samples - mean[:, None]) ** 2, 0.0).sum(axis=1)
        sd = np.where(numbers > 1, np.sqrt(squares / (numbers - 1)), np.nan)
        half = stats.t.ppf(0.5 + level / 2, np.maximum(numbers - 1, 1)) * sd / np.sqrt(numbers)
    low, high = (mean, mean) if exact else (mean - half, mean + half)
    if array.attrs.get(BINARY):
        ends = [proportion_interval(int(k), int(n), level) for k, n in zip(filled.sum(axis=1), numbers, strict=True)]
        low, high = np.array(ends).reshape(-1, 2).T
    median = [float(np.median(row[ok])) if ok.any() else np.nan for row, ok in zip(samples, kept, strict=True)]
    table = pd.DataFrame(_points(array, dims))
    if not dims:
        table = pd.DataFrame(index=range(1))
    table = table.assign(variable=name, arm=arm, label=label(ds, arm), mean=mean, ci_low=low, ci_high=high, sd=sd)
    table = table.assign(median=median, replicates=numbers, lost=samples.shape[1] - numbers)
    # a variable with dimensions of its own may be padded with NaN; only a point of the grid is missed when it is empty
    own = set(dims) - set(map(str, ds["status"].dims))
    return table[numbers > 0] if own else table


def claims(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return the verdicts as a table with the columns of claims.csv."""
    return pd.DataFrame([verdict.row() for verdict in verdicts], columns=list(COLUMNS))


def statuses(ds: xr.Dataset, study: Study) -> pd.DataFrame:
    """Count how the runs of every arm ended; one column per status, zeros included, and a last row with the sums."""
    rows = []
    for arm in chosen(ds, ["*"]):
        counts = count(ds, study, [arm])
        row: dict[str, Any] = {"arm": arm, "label": label(ds, arm), "runs": counts.replicates}
        row |= {status.name.lower(): counts.by_status.get(status, 0) for status in Status}
        rows.append(row | {"missing": counts.missing, "failed": counts.failed, "not_converged": counts.not_converged})
    table = pd.DataFrame(rows)
    total = {"arm": "", "label": "all"} | {name: int(table[name].sum()) for name in table.columns[2:]}
    return pd.concat([table, pd.DataFrame([total])], ignore_index=True)


def failures(ds: xr.Dataset, study: Study) -> pd.DataFrame:
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


def diagnostics(ds: xr.Dataset, study: Study) -> pd.DataFrame:
    """Return median and range of the diagnostics that the results hold, per arm, over the runs that have values."""
    rows = []
    for name, about in DIAGNOSTICS.items():
        for arm in chosen(ds, ["*"]):
            try:
                array = values(ds, study, name, arm).values
            except NoAnswerError:
                continue
            array = array[np.isfinite(array)]
            if array.size:
                row = {"arm": arm, "label": label(ds, arm), "diagnostic": about, "median": float(np.median(array))}
                rows.append(row | {"smallest": float(array.min()), "largest": float(array.max())})
    return pd.DataFrame(rows, columns=["arm", "label", "diagnostic", "median", "smallest", "largest"])
