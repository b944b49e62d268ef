"""Results as a tidy table: one row for each replicate and loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from moestat.errors import InputError
from moestat.sentences import listed, nearest

ABOUT_RUNS = ("status", "message", "iterations")


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
