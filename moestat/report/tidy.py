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
    grid = [str(dim) for dim in (ds["status"] if "status" in ds else _plainest(ds)).dims]
    if variables is None:
        chosen = [name for name in names if _is_loss(ds, name, grid)]
    else:
        chosen = [str(name) for name in variables]
        for name in chosen:
            if name not in names:
                raise InputError(f"the results hold no variable {name!r}{nearest(name, names) or ';'} {listed(names)}")
            if "replicate" not in ds[name].dims:
                raise InputError(f"the variable {name!r} has no dimension 'replicate': it is one number per cell")
    parts = [_rows(ds, name) for name in chosen]
    own = [dim for part in parts for dim in part.columns if dim not in (*grid, "status", "loss", "value")]
    columns = [*grid, *dict.fromkeys(own), *(["status"] if "status" in ds else []), "loss", "value"]
    if not parts:
        return pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True).reindex(columns=columns)


def _plainest(ds: xr.Dataset) -> xr.DataArray:
    arrays = [array for array in ds.data_vars.values() if "replicate" in array.dims]
    return min(arrays, key=lambda array: array.ndim, default=ds["replicate"])


def _is_loss(ds: xr.Dataset, name: str, grid: Sequence[str]) -> bool:
    array = ds[name]
    return name not in ABOUT_RUNS and array.dtype.kind in "fiub" and set(array.dims) == set(grid)


def _rows(ds: xr.Dataset, name: str) -> pd.DataFrame:
    """Return the rows of one variable, without its missing replicates."""
    dims = [str(dim) for dim in ds[name].dims]
    part = ds[[name]].reset_coords(drop=True)
    if "status" in ds:
        part = part.assign(status=ds["status"].reset_coords(drop=True))
    frame = part.to_dataframe(dim_order=dims).reset_index()
    if "status" in ds:
        frame = frame[frame["status"] >= 0]
    frame = frame.rename(columns={name: "value"})
    return frame.assign(loss=name, value=frame["value"].astype(np.float64))


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
        return dict.fromkeys(("bias", "empirical se", "rmse"), (np.nan, np.nan))
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
        return dict.fromkeys(("coverage", "width", "power"), (np.nan, np.nan))
    shares = {"coverage": np.mean((low <= truth) & (truth <= high)), "power": np.mean((null < low) | (high < null))}
    measured = {name: (float(p), float(np.sqrt(p * (1 - p) / count))) for name, p in shares.items()}
    width = high - low
    error = float(np.std(width, ddof=1) / np.sqrt(count)) if count > 1 else np.nan
    return {"coverage": measured["coverage"], "width": (float(np.mean(width)), error), "power": measured["power"]}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
