"""Results of any kind as one table: a row for each replicate and loss."""

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
