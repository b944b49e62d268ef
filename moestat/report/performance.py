r"""Performance of an estimator: bias, spread, root mean squared error, coverage and power, with Monte Carlo errors.

An experiment says what a variable estimates by attributes of the variable (:func:`moestat.experiment.assemble` takes
them as ``attrs``): ``reference``, the true value, a number or the name of a variable; ``low`` and ``high``, the names
of the variables that hold its interval; ``null``, the value that the interval is a test of, 0 if it is not given.

The measures and their Monte Carlo standard errors are those of Morris, White and Crowther (2019), table 6; that of the
root mean squared error follows from that of its square.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from moestat.errors import InputError
from moestat.report.views import View
from moestat.rounding import estimate
from moestat.sentences import nearest

MEASURES = ("bias", "empirical se", "rmse", "coverage", "width", "power")
COLUMNS = ("variable", "measure", "value", "mcse", "replicates")


def performance(ds: xr.Dataset) -> pd.DataFrame:
    """Tabulate how the estimates of a dataset perform, per arm and point of the grid.

    Parameters
    ----------
    ds : xarray.Dataset
        Results. Variables without the attribute ``reference`` are passed over.

    Returns
    -------
    DataFrame
        One row per variable, point and measure (bias, empirical se, rmse; with an interval coverage, width and power):
        ``value``, its Monte Carlo standard error ``mcse``, and the ``replicates`` that it rests on. Replicates whose
        estimate is missing are left out.

    Raises
    ------
    moestat.errors.InputError
        If a reference or an end of an interval is no variable of the results.

    Examples
    --------
    >>> x = xr.DataArray([[0.9, 1.2, 1.2]], dims=("arm", "replicate"), attrs={"reference": 1.0})
    >>> performance(xr.Dataset({"x": x}, {"arm": ["a"]}))[["measure", "value"]].round(3).to_dict("list")
    {'measure': ['bias', 'empirical se', 'rmse'], 'value': [0.1, 0.173, 0.173]}
    """
    rows = [row for name in ds.data_vars if "reference" in ds[name].attrs for row in _variable(ds, str(name))]
    axes = list(dict.fromkeys(key for row in rows for key in row if key not in COLUMNS))
    table = pd.DataFrame(rows, columns=["variable", *axes, *COLUMNS[1:]])
    table.attrs["axes"] = axes
    return table


def view(table: pd.DataFrame) -> View:
    """Return the table for people: one group of rows per variable, one column per measure, errors in brackets."""
    axes = list(table.attrs.get("axes", []))
    rows, groups = [], []
    for keys, part in table.groupby(["variable", *axes], sort=False):
        shown = {row["measure"]: _with_error(row["value"], row["mcse"]) for row in part.to_dict("records")}
        place = [str(key) for key in keys[1:]]
        rows.append((*place, *(shown.get(m, "") for m in MEASURES), str(int(part["replicates"].min()))))
        groups.append(str(keys[0]))
    columns = (*axes, *MEASURES, "replicates")
    note = ["In brackets the Monte Carlo standard error."] if rows else []
    numeric = frozenset((*MEASURES, "replicates"))
    counts = {row[-1] for row in rows}
    if len(counts) == 1:  # one number for all takes no column
        columns, rows = columns[:-1], [row[:-1] for row in rows]
        note = [f"{note[0]} {counts.pop()} replicates at every point."]
    return View("Performance", columns, rows, groups, note, numeric).without_empty_columns()


def _with_error(value: float, error: float) -> str:
    shown = estimate(value, value - error, value + error)[0]
    return shown if np.isnan(error) else f"{shown} ({error:.2g})"


def _variable(ds: xr.Dataset, name: str) -> list[dict[str, Any]]:
    array, attrs = ds[name], ds[name].attrs
    dims = [str(dim) for dim in array.dims if dim != "replicate"]
    if "replicate" not in array.dims:
        raise InputError(f"the variable {name!r} has a reference, but no dimension 'replicate'")

    def beside(value: Any) -> np.ndarray:
        """Return a number, or the variable of that name, with the shape of the estimates."""
        if isinstance(value, str):
            if value not in ds:
                raise InputError(f"{name!r} names {value!r}, which is no variable{nearest(value, map(str, ds))}")
            return xr.broadcast(ds[value], array)[0].transpose(*dims, "replicate").values.astype(float)
        return np.full([array.sizes[dim] for dim in (*dims, "replicate")], float(value))

    values = array.transpose(*dims, "replicate").values.astype(float)
    if "status" in ds:
        values = np.where(xr.broadcast(ds["status"], array)[0].transpose(*dims, "replicate") >= 0, values, np.nan)
    truth = beside(attrs["reference"])
    interval = "low" in attrs and "high" in attrs
    low, high = (beside(attrs[end]) for end in ("low", "high")) if interval else (values, values)
    null = float(attrs.get("null", 0.0))
    rows = []
    for at in np.ndindex(values.shape[:-1]):
        place = {dim: _plain(ds[dim].values[i]) if dim in ds.coords else i for dim, i in zip(dims, at, strict=True)}
        known = np.isfinite(values[at]) & np.isfinite(truth[at])
        measured = errors(values[at][known], truth[at][known])
        if interval:
            known &= np.isfinite(low[at]) & np.isfinite(high[at])
            measured |= intervals(low[at][known], high[at][known], truth[at][known], null)
        head = {"variable": name, **place}
        rows += [
            head | {"measure": measure, "value": value, "mcse": error, "replicates": int(known.sum())}
            for measure, (value, error) in measured.items()
        ]
    return rows


def errors(x: np.ndarray, truth: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return bias, empirical standard error and root mean squared error of estimates (R,), with Monte Carlo errors."""
    count = x.size
    if count == 0:
        return dict.fromkeys(MEASURES[:3], (np.nan, np.nan))
    off = x - truth
    bias, square = float(np.mean(off)), float(np.mean(off**2))
    root = float(np.sqrt(square))
    if count == 1:
        return {"bias": (bias, np.nan), "empirical se": (np.nan, np.nan), "rmse": (root, np.nan)}
    spread = float(np.std(off, ddof=1))
    of_square = float(np.std(off**2, ddof=1) / np.sqrt(count))
    return {
        "bias": (bias, spread / np.sqrt(count)),
        "empirical se": (float(np.std(x, ddof=1)), float(np.std(x, ddof=1) / np.sqrt(2 * (count - 1)))),
        "rmse": (root, of_square / (2 * root) if root else 0.0),
    }


def intervals(
    low: np.ndarray, high: np.ndarray, truth: np.ndarray, null: float = 0.0
) -> dict[str, tuple[float, float]]:
    """Return coverage, mean width and power of intervals (R,), with Monte Carlo errors."""
    count = low.size
    if count == 0:
        return dict.fromkeys(MEASURES[3:], (np.nan, np.nan))
    shares = {"coverage": np.mean((low <= truth) & (truth <= high)), "power": np.mean((null < low) | (high < null))}
    measured = {name: (float(p), float(np.sqrt(p * (1 - p) / count))) for name, p in shares.items()}
    width = high - low
    error = float(np.std(width, ddof=1) / np.sqrt(count)) if count > 1 else np.nan
    return {"coverage": measured["coverage"], "width": (float(np.mean(width)), error), "power": measured["power"]}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
