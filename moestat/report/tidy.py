"""Results of any kind as tables: one row for each replicate and loss, and how an estimator performs.

An experiment says what a variable estimates by attributes of the variable (:func:`moestat.experiment.assemble` takes
them as ``attrs``): ``reference``, the true value, a number or the name of a variable; ``low`` and ``high``, the names
of the variables that hold its interval; ``null``, the value that the interval is a test of, 0 if it is not given. The
measures and their Monte Carlo standard errors are those of Morris, White and Crowther (2019), table 6; that of the
root mean squared error follows from that of its square.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from moestat.errors import InputError
from moestat.sentences import listed, nearest

ABOUT_RUNS = ("status", "message", "iterations")
COLUMNS = ("variable", "measure", "value", "mcse", "replicates")


def tidy(ds: xr.Dataset, variables: Sequence[str] | None = None) -> pd.DataFrame:
    """Return results as one row per replicate and loss, for any tool that reads tables.

    Parameters
    ----------
    ds : xarray.Dataset
        Results of a study, of :func:`moestat.load` say, or any dataset with a dimension ``replicate``.
    variables : sequence of str, optional
        Which variables; if absent, every number that each replicate has one of. Those with dimensions of their own
        (an atom, an epoch) are to be named; the dimensions become columns.

    Returns
    -------
    DataFrame
        Columns: ``arm`` and the axes of the grid, ``replicate``, dimensions of the variables' own, ``status`` (of the
        replicate: 0 for converged), ``loss`` (the variable's name) and ``value``. Replicates that nothing was computed
        for have no row.

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
    grid = [str(dim) for dim in plainest.dims]
    if variables is None:
        plain = [name for name in names if ds[name].dtype.kind in "fiub" and set(ds[name].dims) == set(grid)]
        variables = [name for name in plain if name not in ABOUT_RUNS]
    parts = []
    for name in map(str, variables):
        if name not in names:
            raise InputError(f"the results hold no variable {name!r}{nearest(name, names) or ';'} {listed(names)}")
        if "replicate" not in ds[name].dims:
            raise InputError(f"the variable {name!r} has no dimension 'replicate': it is one number per cell")
        status = {"status": ds["status"].reset_coords(drop=True)} if "status" in ds else {}
        part = ds[[name]].reset_coords(drop=True).assign(status)
        frame = part.to_dataframe(dim_order=[str(dim) for dim in ds[name].dims]).reset_index()
        frame = frame[frame["status"] >= 0] if status else frame
        parts.append(frame.rename(columns={name: "value"}).assign(loss=name, value=frame[name].astype(np.float64)))
    own = [dim for part in parts for dim in part.columns if dim not in (*grid, "status", "loss", "value")]
    columns = [*grid, *dict.fromkeys(own), *(["status"] if "status" in ds else []), "loss", "value"]
    if not parts:
        return pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True).reindex(columns=columns)


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
    rows = [row for name in ds.data_vars if "reference" in ds[name].attrs for row in _performance(ds, str(name))]
    axes = list(dict.fromkeys(key for row in rows for key in row if key not in COLUMNS))
    table = pd.DataFrame(rows, columns=["variable", *axes, *COLUMNS[1:]])
    table.attrs["axes"] = axes
    return table


def _performance(ds: xr.Dataset, name: str) -> list[dict[str, Any]]:
    array, attrs = ds[name], ds[name].attrs
    if "replicate" not in array.dims:
        raise InputError(f"the variable {name!r} has a reference, but no dimension 'replicate'")
    dims = [str(dim) for dim in array.dims if dim != "replicate"]

    def beside(value: Any) -> np.ndarray:
        """Return a number, or the variable of that name, with the shape of the estimates."""
        if isinstance(value, str) and value not in ds:
            raise InputError(f"{name!r} names {value!r}, which is no variable{nearest(value, map(str, ds))}")
        other = ds[value] if isinstance(value, str) else xr.full_like(array, float(value), dtype=float)
        return other.broadcast_like(array).transpose(*dims, "replicate").values.astype(float)

    values = beside(name)
    if "status" in ds:
        values = np.where(beside("status") >= 0, values, np.nan)
    truth, (low, high) = beside(attrs["reference"]), (beside(attrs.get(end, name)) for end in ("low", "high"))
    rows = []
    for at in np.ndindex(values.shape[:-1]):
        known = np.isfinite(values[at]) & np.isfinite(truth[at])
        measured = errors(values[at][known], truth[at][known])
        if "low" in attrs and "high" in attrs:
            known &= np.isfinite(low[at]) & np.isfinite(high[at])
            measured |= intervals(low[at][known], high[at][known], truth[at][known], float(attrs.get("null", 0.0)))
        place = {dim: ds[dim].values[i] if dim in ds.coords else i for dim, i in zip(dims, at, strict=True)}
        head = {"variable": name} | {dim: getattr(value, "item", lambda v=value: v)() for dim, value in place.items()}
        for measure, (value, error) in measured.items():
            rows.append(head | {"measure": measure, "value": value, "mcse": error, "replicates": int(known.sum())})
    return rows


def errors(x: np.ndarray, truth: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return bias, empirical standard error and root mean squared error of estimates (R,), with Monte Carlo errors."""
    count, off = x.size, x - truth
    if count == 0:
        return dict.fromkeys(("bias", "empirical se", "rmse"), (np.nan, np.nan))
    root = float(np.sqrt(np.mean(off**2)))
    if count == 1:
        return {"bias": (float(off[0]), np.nan), "empirical se": (np.nan, np.nan), "rmse": (root, np.nan)}
    se, of_square = float(np.std(x, ddof=1)), float(np.std(off**2, ddof=1) / np.sqrt(count))
    return {
        "bias": (float(np.mean(off)), float(np.std(off, ddof=1)) / np.sqrt(count)),
        "empirical se": (se, se / np.sqrt(2 * (count - 1))),
        "rmse": (root, of_square / (2 * root) if root else 0.0),
    }


def intervals(
    low: np.ndarray, high: np.ndarray, truth: np.ndarray, null: float = 0.0
) -> dict[str, tuple[float, float]]:
    """Return coverage, mean width and power of intervals (R,), with Monte Carlo errors."""
    count = low.size
    if count == 0:
        return dict.fromkeys(("coverage", "width", "power"), (np.nan, np.nan))
    cover, reject = np.mean((low <= truth) & (truth <= high)), np.mean((null < low) | (high < null))
    error = float(np.std(high - low, ddof=1) / np.sqrt(count)) if count > 1 else np.nan
    return {
        "coverage": (float(cover), float(np.sqrt(cover * (1 - cover) / count))),
        "width": (float(np.mean(high - low)), error),
        "power": (float(reject), float(np.sqrt(reject * (1 - reject) / count))),
    }
