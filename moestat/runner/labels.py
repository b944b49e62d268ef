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
from typing import TYPE_CHECKING, Any

import numpy as np

from moestat.runner.difference import ANY
from moestat.runner.experiments import importable
from moestat.runner.results import RANGE
from moestat.study import seal
from moestat.study.spec import fits

if TYPE_CHECKING:
    import xarray as xr

    from moestat.runner.plan import PlannedCell

FILE = "variables.toml"
OURS = "moestat.runner"
"""The package whose table is of all experiments."""


def attach(dataset: xr.Dataset, module_name: str, cells: Sequence[PlannedCell]) -> xr.Dataset:
    """Return a dataset whose variables have ``long_name``, ``units`` and range, and whose atoms have named coordinates.

    Where all cells agree, the names of a dimension are its labels: ``ds["theta"].sel(coordinate="b1")``. Atoms are
    counted from 1. The dataset is as it was collected, ``module_name`` the import path of its experiment.
    """
    package, experiment = _place(module_name)
    if "atom" in dataset.dims and "atom" not in dataset.coords:
        dataset = dataset.assign_coords(atom=np.arange(1, dataset.sizes["atom"] + 1))
    if package.startswith("studies.") and importable(f"{package}.labels"):
        own = importlib.import_module(f"{package}.labels").own
        dataset = _named(dataset, [own(experiment, cell.cell.settings) for cell in cells])
    return described(dataset, module_name)


def described(dataset: xr.Dataset, module_name: str = "") -> xr.Dataset:
    """Return a dataset whose variables have ``long_name``, ``units`` and range, as far as today's tables know them.

    A record keeps what was known when it was made; read with this, it is shown as a run of today is. The experiment
    is the one that the dataset names, unless its import path is given.
    """
    module_name = module_name or str(dataset.attrs.get("experiment", ""))
    texts = texts_of(module_name)
    for name, variable in dataset.variables.items():
        if ends := _own(module_name, "ranges", str(name)):
            low, high = _end(ends[0], dataset.sizes, -math.inf), _end(ends[1], dataset.sizes, math.inf)
            least, most = variable.attrs.get(RANGE, (-math.inf, math.inf))
            variable.attrs[RANGE] = [max(low, float(least)), min(high, float(most))]
        if "long_name" not in variable.attrs:
            words = dict(zip(("long_name", "units"), meaning_of(str(name), texts), strict=True))
            variable.attrs |= {key: text for key, text in words.items() if text and key not in variable.attrs}
    return dataset


def meaning_of(name: str, texts: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Return long name and units of a variable; of patterns with ``*`` the most special one that fits counts.

    >>> meaning_of("start_L3", {"L3": ["loss L3"], "start_*": ["{}, at the start"]})
    ('loss L3, at the start', '')
    """
    if name in texts:
        return (*texts[name], "")[0], (*texts[name], "")[1]
    for pattern in sorted((p for p in texts if "*" in p and fits(name, [p])), key=len, reverse=True):
        head, _, tail = pattern.partition("*")
        part = name[len(head) : len(name) - len(tail)]
        meaning, units = meaning_of(part, texts) if part else ("", "")
        return texts[pattern][0].replace("{}", meaning or part), units
    return "", ""


def texts_of(module_name: str) -> Mapping[str, Sequence[str]]:
    """Return name or pattern -> long name and units of the variables that the tables know of an experiment."""
    package, experiment = _place(module_name)
    tables = _tables(package)
    ours = _tables(OURS)
    merged = ours["common"] | tables.get("common", {}) | (ours if package == "moestat" else tables).get(experiment, {})
    return {name: [text] if isinstance(text, str) else text for name, text in merged.items()}


def resolved(module_name: str, name: str) -> tuple[float, float] | None:
    """Return the smallest difference and the largest magnitude of a variable that are more than rounding.

    None stands for a variable that says how a computation went and not what it found.
    """
    common = _tables(OURS)["resolved"]
    ends = _own(module_name, "resolved", name) or next((common[p] for p in common if fits(name, [p])), ANY)
    return None if ends == "path" else (float(ends[0]), float(ends[1]))


def _own(module_name: str, kind: str, name: str) -> Any:
    """Return what a table of a package says of a variable, that of the experiment first; None if it says nothing."""
    package, experiment = _place(module_name)
    tables = _tables(package).get(kind, {})
    given = tables.get(experiment, {}) | {key: ends for key, ends in tables.items() if not isinstance(ends, dict)}
    return next((given[pattern] for pattern in given if fits(name, [pattern])), None)


def _place(module_name: str) -> tuple[str, str]:
    """Return the package of an experiment, and the name under which the package describes its variables."""
    package, _, experiment = seal.now(module_name).partition(":")[0].rpartition(".")
    return package, _tables(package).get("like", {}).get(experiment, experiment)


def _end(end: float | str, sizes: Mapping[Hashable, int], without: float) -> float:
    """Return the end of a range as a number; one that names a dimension which is not there is left open."""
    if not isinstance(end, str):
        return float(end)
    size = sizes.get(end.removeprefix("log "))
    if size is None:
        return without
    return math.log(size) if end.startswith("log ") else float(size)


@cache
def _tables(package: str) -> dict[str, dict[str, Any]]:
    """Return the tables of a package of ours; it may be one that a file of results names, so it is not imported."""
    first, *names = package.split(".")
    if first not in ("moestat", "studies") or not names or not all(map(str.isidentifier, names)):
        return {}
    file = importlib.resources.files(first).joinpath(*names, FILE)
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _named(dataset: xr.Dataset, names: Sequence[Mapping[str, Sequence[str]]]) -> xr.Dataset:
    """Name the entries along the dimensions of which all cells say the same."""
    for dim in dict.fromkeys(dim for own in names for dim in own):
        if dim in dataset.dims and dim not in dataset.coords:
            size = dataset.sizes[dim]
            first, *rest = ([*own.get(dim, []), *[""] * size][:size] for own in names)
            if all(row == first for row in rest):
                dataset = dataset.assign_coords({dim: np.asarray(first, dtype=object)})
    return dataset
