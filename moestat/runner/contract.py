"""What an experiment returned, checked against the contract of :mod:`moestat.experiment`.

What a results file would not give back bit for bit is refused when the experiment returns it, not when weeks of results
are collected: netCDF and its readers give a meaning to some attributes (``scale_factor`` multiplies the values) and
know no NUL in a text and no slash in a name; gaps among integers are NaN, which needs a float.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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


def check(dataset: object, cell: Cell, replicates: Sequence[int]) -> tuple[dict[str, Variable], dict[str, Any]]:
    """Return the variables and attributes of an experiment's dataset.

    Raises ContractError if it is no dataset, lacks ``status``, has other replicates than asked for, a name that is an
    axis of the grid, or names, values or attributes that a results file does not give back as they are.
    """
    if not isinstance(dataset, xr.Dataset):
        raise ContractError(f"run() returned a {type(dataset).__name__}; it must return an xarray.Dataset")
    if "replicate" not in dataset.dims or "replicate" not in dataset.coords:
        raise ContractError("run() returned a dataset without the dimension and coordinate 'replicate'")
    got = dataset["replicate"].values
    if not np.array_equal(got, np.asarray(replicates)):
        raise ContractError(f"run() returned the replicates {listed(got, 6)}, asked for were {listed(replicates, 6)}")
    if "status" not in dataset or dataset["status"].dims != ("replicate",):
        raise ContractError("run() returned a dataset without 'status' per replicate")
    known = [int(s) for s in Status if s is not Status.TIMED_OUT]  # which no experiment can say of itself
    if wrong := sorted({*dataset["status"].values.tolist()} - {*known}):
        raise ContractError(f"run() returned the status {wrong[0]!r}; allowed are {listed(known)}")
    variables = {
        str(name): _variable(name, array, cell, coord=name in dataset.coords)
        for name, array in dataset.variables.items()
        if name != "replicate"
    }
    variables["status"] = replace(variables["status"], values=variables["status"].values.astype(np.int64))
    message = variables.get("message")
    if message is not None and (message.dims != ("replicate",) or message.values.dtype.kind not in "OUT"):
        raise ContractError("run() returned a 'message' that is not one text per replicate")
    names = {*variables, *(str(dim) for dim in dataset.dims), *cell.coords, *OURS}
    attrs: dict[Any, Any] = {key: _plain(value) for key, value in dataset.attrs.items()}
    for key, value in attrs.items():
        problem = _name_problem(key)
        if not problem and (not isinstance(value, str | int | float) or key in names):
            problem = "is none of these: a new name, with text or a number"
        if problem := problem or _values_problem(as_array(value)):
            raise ContractError(f"run() returned the attribute {show(key)} of the dataset, which {problem}")
    return variables, attrs


def failed(replicates: Sequence[int], status: Status, message: str) -> dict[str, Variable]:
    """Return the variables of replicates that have no values: their status and message."""
    count = len(replicates)
    return {
        "status": Variable(("replicate",), np.full(count, int(status), dtype=np.int64)),
        "message": Variable(("replicate",), np.full(count, message, dtype=object)),
    }


def statuses(variables: Mapping[str, Variable]) -> list[int]:
    """Return the status of each replicate."""
    return [int(s) for s in variables["status"].values]


def as_array(value: object) -> np.ndarray:
    """Return an attribute of a dataset, which is a property of the cell, as an array."""
    return np.asarray(value, dtype=object if isinstance(value, str) else None)


def readable(text: str) -> str:
    """Return a text that can be kept: what cannot be is written as its escape."""
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def _variable(name: object, array: xr.Variable, cell: Cell, *, coord: bool) -> Variable:
    """Return one variable of an experiment's dataset, if it comes back from a results file as it is."""
    if problem := _name_problem(name):
        raise ContractError(f"run() returned a variable whose name {problem}")
    if problem := next((problem for dim in array.dims if (problem := _name_problem(dim))), ""):
        raise ContractError(f"run() returned {show(name)}, which has a dimension that {problem}")
    taken = {*cell.coords, *OURS}
    if name in taken or taken & {*array.dims} - {"replicate"}:
        raise ContractError(f"run() returned '{name}' with dimensions {array.dims}, which are names of the grid")
    if "replicate" in array.dims:
        array = array.transpose("replicate", ...)
    values = np.asarray(array.values)
    problem = _values_problem(values)
    if len(set(array.dims)) < values.ndim:
        problem = f"has a dimension twice: {array.dims}"
    elif not problem and coord and array.dims == (name,):
        problem = _labels_problem(values)
    attributes = {key: _plain(value) for key, value in array.attrs.items()}
    objections = (attribute_problem(key, value) for key, value in attributes.items())
    if problem := problem or next((f"has an attribute that {told}" for told in objections if told), ""):
        raise ContractError(f"run() returned '{name}', which {problem}")
    return Variable(dims=tuple(str(d) for d in array.dims), values=values, attrs=attributes, coord=coord)


def _name_problem(name: object) -> str:
    """Say why a name of a variable, dimension or attribute cannot be kept, or return an empty text."""
    odd = ("", ".", "..")
    if isinstance(name, str) and name.isprintable() and "/" not in name and name.strip() == name and name not in odd:
        return "is '_nc4_non_coord_...', a name of netCDF's own" * name.startswith("_nc4_non_coord_")
    return f"is {show(name)}; allowed are printable characters without '/', and without spaces around them"


def attribute_problem(name: object, value: object) -> str:
    """Say why an attribute of a variable cannot be kept, or return an empty text."""
    if problem := _name_problem(name):
        return problem
    if name in TAKEN or str(name).startswith("_"):
        return f"is {show(name)}, which readers of netCDF interpret or write themselves; choose another name"
    entries: list[Any] = value if isinstance(value, list) else [value]
    if all(isinstance(entry, str) for entry in entries) and 1 <= len(entries) <= MOST_ENTRIES:
        if name == "units" and any("since" in entry for entry in entries):
            return f"'units' is {show(value)}, which readers of netCDF turn into dates; write it into 'long_name'"
        problem = next((text for entry in entries if (text := _text_problem(entry))), "")
        return f"'{name}' {problem}" if problem else ""
    numbers = all(type(entry) is float or type(entry) is int and abs(entry) <= EXACT for entry in entries)
    if numbers and 1 <= len(entries) <= MOST_ENTRIES:
        return ""
    return f"'{name}' is {show(value)}; allowed are text, numbers, and lists of up to {MOST_ENTRIES} of one of them"


def _text_problem(text: str) -> str:
    return "" if readable(text) == text else f"holds what is no character: {show(text)}"


def _values_problem(values: np.ndarray) -> str:
    """Say why the values of a variable cannot be kept, or return an empty text."""
    kind = values.dtype.kind
    if kind in "OUT":
        flat = values.ravel().tolist()
        if not all(isinstance(entry, str) for entry in flat):
            return "holds Python objects; allowed are numbers, truth values and text"
        return next((problem for entry in flat if (problem := _text_problem(entry))), "")
    if kind not in "biufc" or kind in "fc" and values.dtype.itemsize > 8 * (1 + (kind == "c")):
        return f"is of type {values.dtype}; allowed are numbers of at most 64 bits, truth values and text"
    if kind in "iu" and values.size and max(abs(int(values.min())), int(values.max())) > EXACT:
        return "holds an integer beyond 2**53, which is not exact where gaps make floats of integers; return it as text"
    return ""


def _labels_problem(labels: np.ndarray) -> str:
    """Say why values cannot label a dimension, or return an empty text: labels are looked up by their value."""
    if labels.dtype.kind == "c" or labels.dtype.kind == "f" and not np.isfinite(labels).all():
        return "has a label that is no finite number or text"
    return "has a label twice" if len(set(labels.tolist())) < labels.size else ""


def _plain(value: Any) -> Any:
    """Return an attribute's value without NumPy's types: scalars as numbers, arrays of one dimension as lists."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim <= 1):
        return value.tolist()
    return [_plain(entry) for entry in value] if isinstance(value, tuple | list) else value
