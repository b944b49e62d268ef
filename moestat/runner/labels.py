"""What the variables of results mean: long names, units, and names of the entries along own dimensions.

They are attached when shards are collected, from files that stand apart from the experiments: a word that changes in
``variables.toml``, or a name in the module ``labels`` of a paper's folder, makes no result stale. What an experiment
says itself goes first.
"""

from __future__ import annotations

import importlib
import importlib.resources
import math
import tomllib
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from moestat.runner.cells import PlannedCell
from moestat.runner.difference import ANY
from moestat.runner.experiments import importable
from moestat.runner.results import RANGE
from moestat.study.patterns import fits

FILE = "variables.toml"
COMMON = "common"
RANGES = "ranges"
RESOLVED = "resolved"
"""Table of what variables can tell apart: experiment -> pattern -> smallest difference, largest magnitude."""
PATH = "path"
"""Stands there for a variable that says how a computation went."""
LIKE = "like"
"""Table of experiments whose variables are those of another one: name -> name of the other."""
LOG = "log "


def attach(dataset: xr.Dataset, module_name: str, cells: Sequence[PlannedCell]) -> xr.Dataset:
    """Return a dataset whose variables have ``long_name``, ``units`` and range, and whose atoms have named coordinates.

    Where all cells agree, the names of a dimension are its labels: ``ds["theta"].sel(coordinate="b1")``. Where they do
    not (arms with different scores), a coordinate ``<dimension>_name`` along the arms holds them. Atoms are counted
    from 1.

    Parameters
    ----------
    dataset : xarray.Dataset
        As it was collected.
    module_name : str
        Import path of the experiment.
    cells : sequence of PlannedCell
    """
    package, experiment = _tables_of(module_name)
    dataset = described(dataset, module_name)
    if "atom" in dataset.dims and "atom" not in dataset.coords:
        dataset = dataset.assign_coords(atom=np.arange(1, dataset.sizes["atom"] + 1))
    module = f"{package}.labels"
    if package.startswith("moestat.") and importable(module):
        dataset = _named(dataset, cells, importlib.import_module(module), experiment)
    return dataset


def described(dataset: xr.Dataset, module_name: str = "") -> xr.Dataset:
    """Return a dataset whose variables have ``long_name``, ``units`` and range, as far as today's tables know them.

    A record keeps what was known when it was made; read with this, it is shown as a run of today is.

    Parameters
    ----------
    dataset : xarray.Dataset
    module_name : str
        Import path of the experiment; by default the one that the dataset names.
    """
    module_name = module_name or str(dataset.attrs.get("experiment", ""))
    package, experiment = _tables_of(module_name)
    texts = _texts(package, experiment)
    ranges = _ranges(package, experiment, dataset.sizes)
    for name, variable in dataset.variables.items():
        pattern = next((p for p in ranges if fits(str(name), [p])), None)
        if pattern is not None:
            (low, high), (least, most) = ranges[pattern], variable.attrs.get(RANGE, (-math.inf, math.inf))
            variable.attrs[RANGE] = [max(low, float(least)), min(high, float(most))]
        meaning, units = meaning_of(str(name), texts)
        variable.attrs |= {
            key: text
            for key, text in (("long_name", meaning), ("units", units))
            if text and key not in variable.attrs and "long_name" not in variable.attrs
        }
    return dataset


def meaning_of(name: str, texts: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Return long name and units of a variable; of patterns with ``*`` the most special one that fits counts.

    >>> meaning_of("start_L3", {"L3": ["loss L3"], "start_*": ["{}, at the start"]})
    ('loss L3, at the start', '')
    """
    if name in texts:
        return (*texts[name], "")[0], (*texts[name], "")[1]
    for pattern in sorted((p for p in texts if "*" in p), key=len, reverse=True):
        if not fits(name, [pattern]):
            continue
        head, _, tail = pattern.partition("*")
        part = name[len(head) : len(name) - len(tail)]
        meaning, units = meaning_of(part, texts) if part else ("", "")
        return texts[pattern][0].replace("{}", meaning or part), units
    return "", ""


def texts_of(module_name: str) -> Mapping[str, Sequence[str]]:
    """Return name or pattern -> long name and units of the variables that the tables know of an experiment."""
    return _texts(*_tables_of(module_name))


def resolved(module_name: str, name: str) -> tuple[float, float] | None:
    """Return the smallest difference and the largest magnitude of a variable that are more than rounding.

    Parameters
    ----------
    module_name : str
        Import path of the experiment.
    name : str
        Of the variable.

    Returns
    -------
    (float, float), or None
        None where the variable says how a computation went and not what it found.
    """
    package, experiment = _tables_of(module_name)
    own = _tables(package).get(RESOLVED, {}) if package.startswith("moestat.") else {}
    given = _tables("moestat.runner")[RESOLVED] | own.get(experiment, {})
    ends = next((ends for pattern, ends in given.items() if fits(name, [pattern])), ANY)
    return None if ends == PATH else (float(ends[0]), float(ends[1]))


def _tables_of(module_name: str) -> tuple[str, str]:
    """Return the package of an experiment, and the name under which the package describes its variables."""
    package, _, experiment = module_name.partition(":")[0].rpartition(".")
    tables = _tables(package) if package.startswith("moestat.") else {}
    return package, tables.get(LIKE, {}).get(experiment, experiment)


@cache
def _texts(package: str, experiment: str) -> dict[str, list[str]]:
    """Return name -> [long name, units] for an experiment: its own table, its paper's, that of all."""
    tables = _tables("moestat.runner")[COMMON]
    if package.startswith("moestat."):
        own = _tables(package)
        tables = tables | own.get(COMMON, {}) | own.get(experiment, {})
    return {name: [text] if isinstance(text, str) else text for name, text in tables.items()}


def _ranges(package: str, experiment: str, sizes: Mapping[Hashable, int]) -> dict[str, tuple[float, float]]:
    """Return pattern -> ends, an experiment's own first."""
    tables = _tables(package).get(RANGES, {}) if package.startswith("moestat.") else {}
    given = tables.get(experiment, {}) | {name: ends for name, ends in tables.items() if not isinstance(ends, dict)}
    return {name: (_end(low, sizes, -math.inf), _end(high, sizes, math.inf)) for name, (low, high) in given.items()}


def _end(end: float | str, sizes: Mapping[Hashable, int], without: float) -> float:
    """Return the end of a range as a number; one that names a dimension which is not there is left open."""
    if not isinstance(end, str):
        return float(end)
    size = sizes.get(end.removeprefix(LOG))
    if size is None:
        return without
    return math.log(size) if end.startswith(LOG) else float(size)


@cache
def _tables(package: str) -> dict[str, dict[str, Any]]:
    """Return the tables of a package of ours; it may be one that a file of results names, so it is not imported."""
    names = package.split(".")[1:]
    if not all(map(str.isidentifier, names)):
        return {}
    file = importlib.resources.files("moestat").joinpath(*names, FILE)
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _named(dataset: xr.Dataset, cells: Sequence[PlannedCell], module: Any, experiment: str) -> xr.Dataset:
    names = {cell.position: module.own(experiment, cell.cell.settings) for cell in cells}
    for dim in dict.fromkeys(dim for own in names.values() for dim in own):
        if dim not in dataset.dims or dim in dataset.coords:
            continue
        size = dataset.sizes[dim]
        rows = {at: [*own.get(dim, []), *[""] * size][:size] for at, own in names.items()}
        first = next(iter(rows.values()))
        if all(row == first for row in rows.values()):
            dataset = dataset.assign_coords({dim: np.asarray(first, dtype=object)})
            continue
        grid = [str(d) for d in dataset["status"].dims if d != "replicate"]
        table = np.full((*(dataset.sizes[d] for d in grid), size), "", dtype=object)
        for at, row in rows.items():
            table[at] = row
        for axis in reversed(range(1, len(grid))):  # an axis along which nothing changes, n say
            if np.all(table == np.take(table, [0], axis=axis)):
                table = np.take(table, 0, axis=axis)
                del grid[axis]
        dataset = dataset.assign_coords({f"{dim}_name": ((*grid, dim), table)})
    return dataset
