"""A user's errors, whatever they are in, as named series: losses (sizes, replicates) and their sizes.

What could be read in two ways is refused, with a sentence that names it and says how it is told apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from moestat import bounded
from moestat.bounded import DataFileError
from moestat.doors import as_float64
from moestat.errors import InputError
from moestat.rounding import number
from moestat.sentences import listed, nearest

TAKES = (
    "rates.table takes an xarray Dataset or DataArray, a DataFrame, an array (sizes, replicates), a dictionary of such "
    "arrays by arm, or the path of a CSV file"
)
ALIKE = ("rep", "run", "seed")  #: Columns that are taken as the replicate, unasked, where they look like it.
LOSS = {"role": "loss"}
"""Attributes of a variable that is a loss, in results in which others are none."""
SQUARE = 'xarray.DataArray(a, dims=("n", "replicate"), coords={"n": sizes})'


@dataclass(frozen=True)
class Series:
    """Losses (S, R), NaN where there is none, at sizes (S,), of which one may be there twice."""

    losses: np.ndarray
    sizes: np.ndarray


def series(
    data: Any, over: Any, *, loss: str | Sequence[str] | None = None, replicate: Hashable = "replicate"
) -> tuple[dict[str, Series], str, Hashable]:
    """Return the series of any data by their names, the name of the sizes, and that of the replicates.

    ``over`` names the dimension or column of the sizes, or has the sizes themselves. Raises InputError for what is no
    loss, or could be read in two ways.
    """
    axis = over if isinstance(over, str) else "n"
    wanted = [loss] if isinstance(loss, str) and loss else list(loss or [])
    if isinstance(data, str | Path):
        data = _read(Path(data).expanduser(), over if isinstance(over, str) else None)
    if isinstance(data, pd.DataFrame) and not isinstance(over, str):
        if (names := [name for name in data if isinstance(name, str)]) and np.size(over) not in data.shape:
            told = f"the table has {data.shape[0]} rows and {data.shape[1]} columns, and over {np.size(over)} sizes"
            raise InputError(f"{told}; name the column of the sizes instead, one of {listed(names, 12)}")
        data = data.to_numpy()
    if isinstance(data, xr.DataArray | xr.Dataset | pd.DataFrame):
        if not isinstance(over, str):
            raise InputError("over is no name; of labelled data it names the dimension of the sizes, over='n' say")
        if isinstance(data, pd.DataFrame):
            replicate = _replicate(data, over, wanted, replicate)
        labelled = _of_frame if isinstance(data, pd.DataFrame) else _of_labelled
        found = labelled(data, over, wanted, replicate)
    elif isinstance(over, str):
        raise InputError(f"{TAKES}; over={over!r} is a name, which needs labels: give the sizes themselves")
    else:
        sizes = np.atleast_1d(as_float64(over, "over"))
        arms = data if isinstance(data, Mapping) else {"": data}
        found = {str(name): Series(_oriented(values, sizes, str(name)), sizes) for name, values in arms.items()}
    if not found:
        raise InputError(f"there is no loss in the data; {TAKES}")
    for name, one in found.items():
        _refuse(name, one, axis)
    alone = wanted[0] if len(wanted) == 1 else "error"
    return {name or alone: one for name, one in found.items()}, axis, replicate


def _read(path: Path, column: str | None) -> pd.DataFrame:
    """Read a CSV file; its first row has names where one of them is no number."""
    if path.suffix in (".nc", ".xz"):
        raise InputError(f"{path} holds results of a study: give moestat.load({str(path)!r})")
    try:
        content = bounded.read(path)
        top = pd.read_csv(BytesIO(content), header=None, nrows=1, dtype=str, skipinitialspace=True)
        names = pd.to_numeric(top.iloc[0], errors="coerce").isna().any()
        if column and not names:
            raise InputError(f"{path} has no row of names, so no column {column!r}; give the sizes as over")
        frame = pd.read_csv(BytesIO(content), header=0 if names else None, skipinitialspace=True)
    except DataFileError as error:
        raise InputError(str(error)) from None
    except (ValueError, UnicodeDecodeError) as error:  # pandas' ParserError and EmptyDataError are ValueErrors
        raise InputError(f"{path}: it is no CSV table ({str(error).splitlines()[0]})") from None
    # a column without a name is the index that pandas writes
    return frame.loc[:, [not str(name).startswith("Unnamed:") for name in frame.columns]]


def _oriented(values: Any, sizes: np.ndarray, name: str) -> np.ndarray:
    """Return an array as (sizes, replicates), turned where its shape says so."""
    array, of = np.asarray(as_float64(values, name or "data")), f"the array {name!r}" if name else "the array"
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or sizes.ndim != 1 or sizes.size not in array.shape:
        raise InputError(f"{of} has the shape {array.shape}; one axis is to be that of the {sizes.size} sizes")
    if array.shape[0] == array.shape[1] and sizes.size > 1:
        raise InputError(f"{of} is square: nobody can tell sizes from replicates. Name its axes: {SQUARE}")
    return array if array.shape[0] == sizes.size else array.T


def _of_labelled(
    data: xr.DataArray | xr.Dataset, over: str, wanted: Sequence[str], replicate: Hashable
) -> dict[str, Series]:
    """Return the series of an xarray object: one for each variable, and for each point of the other dimensions."""
    arrays = {"": data} if isinstance(data, xr.DataArray) else {str(name): data[name] for name in data.data_vars}
    if wanted and isinstance(data, xr.Dataset):
        for name in wanted:
            if name not in arrays:
                near = nearest(name, arrays) or ";"
                raise InputError(f"the data have no variable {name!r}{near} {listed(arrays, 12)}")
        arrays = {name: arrays[name] for name in wanted}
    elif told := {name: array for name, array in arrays.items() if array.attrs.get("role") == LOSS["role"]}:
        arrays = told
    fit = {name: array for name, array in arrays.items() if over in array.dims and array.dtype.kind == "f"}
    if not fit:
        dims = {str(dim) for array in arrays.values() for dim in array.dims}
        raise InputError(f"no loss in the data has the dimension {over!r}; there are {listed(sorted(dims))}")
    found = {}
    for variable, array in fit.items():
        if over not in array.coords:
            raise InputError(f"the dimension {over!r} has no coordinate, so its sizes are unknown")
        array = array if replicate in array.dims else array.expand_dims({replicate: 1})
        array = array.isel({dim: 0 for dim in array.dims if dim not in (over, replicate) and array.sizes[dim] == 1})
        rest = [dim for dim in array.dims if dim not in (over, replicate)]
        sizes = np.asarray(as_float64(array[over].values, over))
        flat = array.transpose(*rest, over, replicate).values.reshape(-1, sizes.size, array.sizes[replicate])
        names = pd.MultiIndex.from_product([array[dim].values for dim in rest]) if rest else [()]
        for labels, losses in zip(names, flat, strict=True):
            if np.isfinite(losses).any():
                kept = np.isfinite(losses).any(axis=1)
                words = [variable] * (len(fit) > 1 or not rest) + [str(label) for label in labels]
                found[", ".join(words)] = Series(losses[kept], sizes[kept])
    return found


def _replicate(frame: pd.DataFrame, over: str, wanted: Sequence[str], replicate: Hashable) -> Hashable:
    """Return the column of the replicates: the one that is named, or else the only one of ALIKE that looks like it."""
    alike = [name for name in ALIKE if name in frame and name not in (over, *wanted)]
    if replicate != "replicate" or replicate in frame or over not in frame or len(alike) != 1:
        return replicate
    name = alike[0]
    words = [c for c in frame if not pd.api.types.is_numeric_dtype(frame[c]) or frame[c].dtype == bool]
    cell = [over, *words]
    # the runs at one size, of which no two are the same, and none of which is at another size alone
    most = frame.groupby(cell, dropna=False).size().max()
    whole = name not in cell and frame[name].nunique() == most > 1 and not frame.duplicated([*cell, name]).any()
    return name if whole else replicate


def _of_frame(frame: pd.DataFrame, over: str, wanted: Sequence[str], replicate: Hashable) -> dict[str, Series]:
    """Return the series of a table, long (a row for each run) or wide (a column for each replicate)."""
    columns = [str(column) for column in frame.columns]
    frame = frame.set_axis(columns, axis=1)
    for name in (over, *wanted):
        if name not in columns:
            hint = nearest(name, columns) or ";"
            if len(columns) == 1 and (mark := next((m for m in ";\t|" if m in columns[0]), "")):
                hint = f": the only column has {mark!r} in its name, and commas are what columns are told apart by;"
            raise InputError(f"there is no column {name!r}{hint} {listed(columns, 12)}")
    number_like = [c for c in columns if pd.api.types.is_numeric_dtype(frame[c]) and frame[c].dtype != bool]
    if over not in number_like:
        raise InputError(f"the column {over!r} has entries that are no numbers, so they are no sizes")
    losses = list(wanted) or [c for c in number_like if c not in (over, replicate)]
    arms = [c for c in columns if c not in (over, replicate, *number_like)]
    if not losses:
        raise InputError(f"beside {over!r} there is no column of numbers, so no loss; there are {listed(columns, 12)}")
    for name in losses:
        if np.array_equal(frame[name], frame[over]):
            raise InputError(f"the column {name!r} is equal to the sizes {over!r}, and no loss: leave it out")
    named = replicate in columns
    for name in losses if named else (c for c in number_like if c != over):
        values = frame.groupby([over, *arms], dropna=False)[name].agg(lambda column: tuple(sorted(column)))
        if values.nunique() == 1 and len(set(values.iloc[0])) > 1:
            told = f"the column {name!r} has the same numbers at each size, and is no loss"
            way = f"say replicate={name!r} (in a shell --replicate {name}) if they are replicates"
            raise InputError(f"{told}: {'name the loss' if named else way}, make them words if they are arms")
    parts = (
        {", ".join(map(str, key)): part for key, part in frame.groupby(arms, sort=False, dropna=False)}
        if arms
        else {"": frame}
    )
    found = {}
    for arm, part in parts.items():
        sizes = part[over].to_numpy(np.float64)
        times = part.groupby(over, sort=False).cumcount().to_numpy()
        count = np.bincount(times)
        twice = part.groupby([over, str(replicate)]).cumcount().to_numpy() if named else 0 * times
        long = named or (count[0] == count[-1] and count.size > 1)
        if (not long and 2 * count[1:2].sum() > count[0]) or 2 * np.sum(twice == 1) > np.sum(twice == 0):
            needed = "another column of words" if named else f"a column {replicate!r}"
            raise InputError(f"a size {over!r} has several rows, which nobody can tell apart: {needed} is needed")
        if not long:  # a row for each size, of which one may be there twice; the columns are replicates
            found[arm] = Series(part[losses].to_numpy(np.float64), sizes)
            continue
        keys = part[str(replicate)] if named else times
        for name in losses:
            table = part.assign(_key=keys, _twice=twice).pivot(index=[over, "_twice"], columns="_key", values=name)
            told = ", ".join(filter(None, (name if len(losses) > 1 or not arms else "", arm)))
            found[told] = Series(table.to_numpy(np.float64), table.index.get_level_values(0).to_numpy(np.float64))
    return found


def _refuse(name: str, one: Series, axis: str) -> None:
    """Refuse what has no logarithm, and a column of sizes that was left in."""
    of = f" of {name!r}" if name else ""
    if not np.all(np.isfinite(one.sizes) & (one.sizes > 0)):
        raise InputError(f"the sizes {axis!r}{of} are to be positive and finite")
    for column in np.flatnonzero([np.array_equal(column, one.sizes) for column in one.losses.T]):
        raise InputError(f"the column {column}{of} is equal to the sizes, and no replicate: leave it out")
    bad = np.argwhere(one.losses <= 0)
    if bad.size:
        row, column = bad[0]
        kinds = f"{int(np.sum(one.losses == 0))} zero, {int(np.sum(one.losses < 0))} negative"
        first = f"{axis} = {number(one.sizes[row])}, replicate {column}; NaN marks a missing one"
        told = f"1 loss{of} has" if len(bad) == 1 else f"{len(bad)} losses{of} have"
        raise InputError(f"{told} no logarithm ({kinds}), the first at {first}")


def arm_of(name: str | None, names: Sequence[str], where: str = "") -> str:
    """Return the row that is meant: its name or a part of it that no other has, left out if it is the only one.

    Raises InputError that names the nearest, or those that have the part.
    """
    found = [one for one in names if name in (None, one)] or [one for one in names if name in one.split(", ")]
    if len(found) == 1:
        return found[0]
    there = f"{where} has {name!r}, and the table no such row" if where else f"there is no row {name!r}"
    told = "name one of" if found else f"{there}{nearest(str(name), names) or ';'}"
    raise InputError(f"{told} {listed(map(repr, found or names), 12)}")
