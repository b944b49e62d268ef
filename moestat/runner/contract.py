"""What an experiment returned, checked against the contract of :mod:`moestat.experiment`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from moestat.experiment import Cell
from moestat.runner import storable
from moestat.runner.shard import Variable
from moestat.sentences import listed, show
from moestat.status import Status

OURS = ("arm", "arm_label", "replicate")
"""Names that the results have for themselves."""


class ContractError(TypeError):
    """The experiment's dataset is not what the contract asks for."""


def check(dataset: object, cell: Cell, replicates: Sequence[int]) -> tuple[dict[str, Variable], dict[str, Any]]:
    """Return the variables and attributes of an experiment's dataset.

    Raises
    ------
    ContractError
        If it is no dataset, lacks ``status``, has other replicates than asked for, a name that is an axis of the
        grid, or names, values or attributes that a results file does not give back as they are.
    """
    if not isinstance(dataset, xr.Dataset):
        raise ContractError(f"run() returned a {type(dataset).__name__}; it must return an xarray.Dataset")
    if "replicate" not in dataset.dims or "replicate" not in dataset.coords:
        raise ContractError("run() returned a dataset without the dimension and coordinate 'replicate'")
    got = np.asarray(dataset["replicate"].values)
    if not np.array_equal(got, np.asarray(replicates)):
        raise ContractError(f"run() returned the replicates {listed(got, 6)}, asked for were {listed(replicates, 6)}")
    if "status" not in dataset or dataset["status"].dims != ("replicate",):
        raise ContractError("run() returned a dataset without 'status' per replicate")
    known = [int(s) for s in Status if s is not Status.TIMED_OUT]  # which no experiment can say of itself
    wrong = sorted(set(np.asarray(dataset["status"].values).tolist()) - set(known))
    if wrong:
        raise ContractError(f"run() returned the status {wrong[0]!r}; allowed are {listed(known)}")
    variables = {
        str(name): _variable(name, array, cell, coord=name in dataset.coords)
        for name, array in dataset.variables.items()
        if name != "replicate"
    }
    for name, variable in variables.items():
        if name in dataset.dims and variable.dims != (name,):
            raise ContractError(f"run() returned '{name}' with dimensions {variable.dims}, which is also a dimension")
    variables["status"] = replace(variables["status"], values=variables["status"].values.astype(np.int64))
    message = variables.get("message")
    if message is not None and (message.dims != ("replicate",) or message.values.dtype.kind not in "OUT"):
        raise ContractError("run() returned a 'message' that is not one text per replicate")
    names = {*variables, *(str(dim) for dim in dataset.dims), *cell.coords, *OURS}
    attrs = {}
    for key, given in dataset.attrs.items():
        value = storable.plain(given)
        problem = storable.name_problem(key)
        if not problem and (not isinstance(value, str | int | float) or key in names):
            problem = "is none of these: a new name, with text or a number"
        if problem := problem or storable.values_problem(_array(value)):
            raise ContractError(f"run() returned the attribute {show(key)} of the dataset, which {problem}")
        attrs[str(key)] = value
    return variables, attrs


def _variable(name: object, array: xr.Variable, cell: Cell, *, coord: bool) -> Variable:
    """Return one variable of an experiment's dataset, if it comes back from a results file as it is."""
    problem = storable.name_problem(name)
    for dim in array.dims:
        if not problem and (objection := storable.name_problem(dim)):
            problem = f"has a dimension that {objection}"
    if problem:
        raise ContractError(f"run() returned a variable whose name {problem}")
    taken = {*cell.coords, *OURS}
    if name in taken or taken & {*array.dims} - {"replicate"}:
        raise ContractError(f"run() returned '{name}' with dimensions {array.dims}, which are names of the grid")
    if "replicate" in array.dims:
        array = array.transpose("replicate", ...)
    values = np.asarray(array.values)
    problem = storable.values_problem(values)
    if not problem and len(set(array.dims)) < values.ndim:
        problem = f"has a dimension twice: {array.dims}"
    if not problem and coord and array.dims == (name,):
        problem = storable.labels_problem(values)
    attributes = {key: storable.plain(value) for key, value in array.attrs.items()}
    for key, value in attributes.items():
        objection = storable.attribute_problem(key, value)
        problem = problem or (f"has an attribute that {objection}" if objection else "")
    if problem:
        raise ContractError(f"run() returned '{name}', which {problem}")
    return Variable(dims=tuple(str(d) for d in array.dims), values=values, attrs=attributes, coord=coord)


def _array(value: object) -> np.ndarray:
    return np.asarray(value, dtype=object if isinstance(value, str) else None)


def failed(replicates: Sequence[int], status: Status, message: str) -> dict[str, Variable]:
    """Return the variables of replicates that have no values: their status and message."""
    count = len(replicates)
    messages = np.empty(count, dtype=object)
    messages[:] = message
    return {
        "status": Variable(("replicate",), np.full(count, int(status), dtype=np.int64)),
        "message": Variable(("replicate",), messages),
    }


def statuses(variables: Mapping[str, Variable]) -> list[int]:
    """Return the status of each replicate."""
    return [int(s) for s in variables["status"].values]
