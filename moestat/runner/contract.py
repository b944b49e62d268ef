"""What an experiment returned, checked against the contract of :mod:`moestat.experiment`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from moestat.experiment import Cell
from moestat.runner.shard import Variable
from moestat.sentences import listed
from moestat.status import Status


class ContractError(TypeError):
    """The experiment's dataset is not what the contract asks for."""


def check(dataset: object, cell: Cell, replicates: Sequence[int]) -> tuple[dict[str, Variable], dict[str, Any]]:
    """Return the variables and attributes of an experiment's dataset.

    Raises
    ------
    ContractError
        If it is no dataset, lacks ``status``, has other replicates than asked for, a name that is an axis of the
        grid, or values that cannot be stored.
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
    known = [int(s) for s in Status]
    wrong = sorted(set(np.asarray(dataset["status"].values).tolist()) - set(known))
    if wrong:
        raise ContractError(f"run() returned the status {wrong[0]!r}; allowed are {listed(known)}")
    variables = {}
    for name, array in dataset.variables.items():
        text = str(name)
        if text == "replicate":
            continue
        if (
            text in cell.coords
            or text in ("arm", "arm_label")
            or any(d in cell.coords or d == "arm" for d in array.dims)
        ):
            raise ContractError(f"run() returned '{text}' with dimensions {array.dims}, which are names of the grid")
        if "replicate" in array.dims:
            array = array.transpose("replicate", ...)
        variables[text] = Variable(
            dims=tuple(str(d) for d in array.dims),
            values=_storable(text, np.asarray(array.values)),
            attrs={str(k): v for k, v in array.attrs.items() if _is_json(v)},
            coord=name in dataset.coords,
        )
    attrs = {str(key): value for key, value in dataset.attrs.items()}
    for key, value in attrs.items():
        if not isinstance(value, str | int | float) or key in variables:
            raise ContractError(f"run() returned the attribute '{key}'; allowed are new names with text or a number")
    return variables, attrs


def failed(replicates: Sequence[int], status: Status, message: str) -> dict[str, Variable]:
    """Return the variables of replicates that have no values: their status and message."""
    count = len(replicates)
    messages = np.empty(count, dtype=object)
    messages[:] = message
    return {
        "status": Variable(("replicate",), np.full(count, int(status), dtype=np.int64)),
        "message": Variable(("replicate",), messages),
    }


def _storable(name: str, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "O" and not all(isinstance(v, str) for v in values.ravel()):
        raise ContractError(f"run() returned '{name}' with Python objects; allowed are numbers, truth values and text")
    if values.dtype.kind not in "biufcOUT":
        raise ContractError(
            f"run() returned '{name}' of type {values.dtype}; allowed are numbers, truth values and text"
        )
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        return values.astype(np.float64)
    return values


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def statuses(variables: Mapping[str, Variable]) -> list[int]:
    """Return the status of each replicate."""
    return [int(s) for s in variables["status"].values]
