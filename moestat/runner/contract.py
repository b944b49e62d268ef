"""What an experiment returned, checked against the contract of :mod:`moestat.experiment`.

What a results file would not give back bit for bit is refused when the experiment returns it, not when weeks of results
are collected: netCDF and its readers give a meaning to some attributes (``scale_factor`` multiplies the values) and
know no NUL in a text and no slash in a name; gaps among integers are NaN, which needs a float.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr

from moestat.experiment import Cell
from moestat.runner.shard import Variable
from moestat.sentences import listed, show
from moestat.status import Status

OURS = ("arm", "arm_label", "replicate")
"""Names that the results have for themselves."""
EXACT = 2**53
"""Integers up to this one are exact as floats, which they become where replicates are missing."""
MOST_ENTRIES = 20
"""Numbers or texts in one attribute."""
TAKEN = frozenset({"scale_factor", "add_offset", "missing_value", "coordinates", "dtype", "char_dim_name"})
TAKEN |= {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"}
"""Attributes by which readers of netCDF change values, which they take away, or which HDF5 writes itself."""


class ContractError(TypeError):
    """The experiment's dataset is not what the contract asks for."""


def check(dataset: object, cell: Cell, replicates: Sequence[int]) -> dict[str, Variable]:
    """Return the variables of an experiment's dataset; its attributes are properties of the cell, and become some.

    Raises ContractError if it is no dataset, lacks ``status``, has other replicates than asked for, a name that is an
    axis of the grid, or names, values or attributes that a results file does not give back as they are.
    """
    if not isinstance(dataset, xr.Dataset):
        raise ContractError(f"run() returned a {type(dataset).__name__}; it must return an xarray.Dataset")
    arrays, coords = dataset.variables, set(dataset.coords)  # an array of a dataset takes as long as a small replicate
    if "replicate" not in dataset.dims or "replicate" not in coords:
        raise ContractError("run() returned a dataset without the dimension and coordinate 'replicate'")
    got = arrays["replicate"].values
    if not np.array_equal(got, np.asarray(replicates)):
        raise ContractError(f"run() returned the replicates {listed(got, 6)}, asked for were {listed(replicates, 6)}")
    if "status" not in arrays or arrays["status"].dims != ("replicate",):
        raise ContractError("run() returned a dataset without 'status' per replicate")
    known = [int(s) for s in Status if s is not Status.TIMED_OUT]  # which no experiment can say of itself
    if wrong := sorted({*arrays["status"].values.tolist()} - {*known}):
        raise ContractError(f"run() returned the status {wrong[0]!r}; allowed are {listed(known)}")
    message = arrays.get("message")
    if message is not None and (message.dims != ("replicate",) or message.dtype.kind not in "OUT"):
        raise ContractError("run() returned a 'message' that is not one text per replicate")
    for name, value in dataset.attrs.items():
        if not isinstance(_plain(value), str | int | float) or name in {*arrays, *dataset.dims}:
            told = "is none of these: a new name, with text or a number"
            raise ContractError(f"run() returned the attribute {show(name)} of the dataset, which {told}")
    found = {name: _variable(array, name in coords) for name, array in arrays.items()}
    found |= {
        name: Variable((), np.asarray(_plain(value), object if isinstance(value, str) else None))
        for name, value in dataset.attrs.items()
    }
    del found["replicate"]
    for name, variable in found.items():
        if problem := next(_problems(name, variable, {*cell.coords, *OURS}), ""):
            raise ContractError(f"run() returned {show(name)}, which {problem}")
    status = Variable(("replicate",), arrays["status"].values.astype(np.int64))
    return {str(name): variable for name, variable in found.items()} | {"status": status}


def failed(replicates: Sequence[int], status: Status, message: str) -> dict[str, Variable]:
    """Return the variables of replicates that have no values: their status and message."""
    count = len(replicates)
    return {
        "status": Variable(("replicate",), np.full(count, int(status), dtype=np.int64)),
        "message": Variable(("replicate",), np.full(count, message, dtype=object)),
    }


def readable(text: str) -> str:
    """Return a text that can be kept: what cannot be is written as its escape."""
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def attribute_problem(name: object, value: object) -> str:
    """Say why an attribute of a variable cannot be kept, or return an empty text."""
    if problem := _name_problem(name):
        return problem
    if name in TAKEN:
        return f"is {show(name)}, which readers of netCDF interpret or write themselves; choose another name"
    entries: list[Any] = value if isinstance(value, list) else [value]
    few = 1 <= len(entries) <= MOST_ENTRIES
    if few and all(isinstance(entry, str) and readable(entry) == entry for entry in entries):
        if name == "units" and any("since" in entry for entry in entries):
            return f"'units' is {show(value)}, which readers of netCDF turn into dates; write it into 'long_name'"
        return ""
    if few and all(type(entry) is float or type(entry) is int and abs(entry) <= EXACT for entry in entries):
        return ""
    return f"'{name}' is {show(value)}; allowed are text, numbers, and lists of up to {MOST_ENTRIES} of one of them"


def _variable(array: xr.Variable, coord: bool) -> Variable:
    """Return a variable of a dataset as plain values, the replicates first."""
    if "replicate" in array.dims and len(set(array.dims)) == array.ndim:
        array = array.transpose("replicate", ...)
    attrs = {key: _plain(value) for key, value in array.attrs.items()}
    return Variable(tuple(map(str, array.dims)), np.asarray(array.values), attrs, coord)


def _problems(name: object, variable: Variable, ours: set[str]) -> Iterator[str]:
    """Say why a variable does not come back from a results file as it is."""
    yield from filter(None, map(_name_problem, (name, *variable.dims)))
    if name in ours or ours & {*variable.dims} - {"replicate"}:
        yield f"has the dimensions {variable.dims}; names of the grid are taken"
    if len(set(variable.dims)) < len(variable.dims):
        yield f"has a dimension twice: {variable.dims}"
    yield from filter(None, [_values_problem(variable.values)])
    if variable.coord and variable.dims == (name,):  # labels are looked up by their value
        labels = variable.values
        if labels.dtype.kind == "c" or labels.dtype.kind == "f" and not np.isfinite(labels).all():
            yield "has a label that is no finite number or text"
        if len(set(labels.tolist())) < labels.size:
            yield "has a label twice"
    for problem in (attribute_problem(key, value) for key, value in variable.attrs.items()):
        if problem:
            yield f"has an attribute that {problem}"


def _name_problem(name: object) -> str:
    """Say why a variable, dimension or attribute cannot be called so, or return an empty text."""
    if isinstance(name, str) and name.isidentifier() and not name.startswith("_"):
        return ""
    return f"is called {show(name)}; allowed are letters, digits and '_', a letter first"


def _values_problem(values: np.ndarray) -> str:
    """Say why the values of a variable cannot be kept, or return an empty text."""
    kind = values.dtype.kind
    if kind in "OUT":
        flat = values.ravel().tolist()
        if not all(isinstance(entry, str) for entry in flat):
            return "holds Python objects; allowed are numbers, truth values and text"
        odd = next((entry for entry in flat if readable(entry) != entry), None)
        return "" if odd is None else f"holds what is no character: {show(odd)}"
    if kind not in "biufc" or kind in "fc" and values.dtype.itemsize > 8 * (1 + (kind == "c")):
        return f"is of type {values.dtype}; allowed are numbers of at most 64 bits, truth values and text"
    if kind in "iu" and values.size and max(abs(int(values.min())), int(values.max())) > EXACT:
        return "holds an integer beyond 2**53, which is not exact where gaps make floats of integers; return it as text"
    return ""


def _plain(value: Any) -> Any:
    """Return an attribute's value without NumPy's types: scalars as numbers, arrays of one dimension as lists."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim <= 1):
        return value.tolist()
    return [_plain(entry) for entry in value] if isinstance(value, tuple | list) else value
