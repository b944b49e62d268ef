"""A cell: one point of arms x grid, and the contract that every experiment fulfils.

An experiment is a module (one in ``studies/<paper>/parts``, or a user's own by import path) with

``Settings``
    a frozen pydantic model (``SettingsModel`` below) of every setting of a cell, the grid's coordinates among them;
``run(cell, replicates, *, device) -> xarray.Dataset``
    the computation: a dataset with the dimension ``replicate`` (coordinate: the replicates asked for, in that order).

and, where useful,

``VERSION``
    a whole number from 1 (1 if left out), raised when the experiment's numbers change; results of two are never mixed;
``prerequisites(cell) -> list[dict]`` and ``prepare(prerequisite, *, device) -> None``
    work that several cells share, done once, before the cells; it lands in the cache (``moestat.cache``);
``read_data(settings) -> None``
    reads the user's own data (setting ``file``, ``data`` or ``csv``) once, before the first replicate; raises a
    ``ValueError`` that names file, row and column;
``carried(settings) -> list[dict]``
    the code of functions that travel to workers (:mod:`moestat.callables`), of which a study file knows no name;
``cautions(settings) -> list[str]``
    what a dry run should warn of, one sentence each;
``DEVICES``
    the devices it computes on, e.g. ``("cpu", "cuda")``; ``--device auto`` takes the first that is there,
``fits(cell, replicates) -> list[Fits]``
    or a GPU if recorded rates say that it makes these fits sooner (:mod:`moestat.fit.rates`); none: that is not known.
    A GPU is then handed all replicates of a cell at once.

The dataset holds ``status`` (int, :class:`moestat.status.Status`), ``message`` (str) and ``iterations`` per replicate.
Names are words of letters, digits and ``_``. A variable without the dimension ``replicate`` is a property of the cell
(a Fisher line, say), the same whatever the replicates are; so are the dataset's attributes (text or numbers). Every
number depends on (study seed, settings, replicate) alone, but for measurements of the machine: a variable of seconds,
say, carries the attribute ``measurement = 1`` and is compared by nobody.

A study that only reads the results of others has a reader in place of an experiment,

``read(sources, arms) -> xarray.Dataset``
    gets a mapping from study to :class:`Source` and the arms of the study file, and returns a dataset with the
    dimension ``arm`` in their order; beside it may stand
``condensed(source, arms) -> xarray.Dataset``
    which adds to the results of a source what the reader makes of their bulky variables, each with the attribute
    ``derived``, so that a record of the source can do without them.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationInfo, ValidatorFunctionWrapHandler, field_validator
from pydantic.fields import FieldInfo

from moestat import extras, own_files, streams
from moestat.status import Status

if TYPE_CHECKING:
    import xarray as xr

LIMITS = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}


def truth_values(
    given: Any, made: Any, loc: tuple[int | str, ...] = (), of: FieldInfo | None = None
) -> Iterator[tuple[tuple[int | str, ...], FieldInfo | None]]:
    """Yield where pydantic took a truth value for the number 1 or 0, and the innermost field that it stands in.

    >>> list(truth_values({"n": [True, 2], "flat": True}, {"n": (1, 2), "flat": True}))
    [(('n', 0), None)]
    """
    if isinstance(given, bool):
        if isinstance(made, int | float) and not isinstance(made, bool):
            yield loc, of
    elif isinstance(given, Mapping) and isinstance(made, Mapping | BaseModel):
        fields = type(made).model_fields if isinstance(made, BaseModel) else {}
        parts = {name: getattr(made, name) for name in fields} if isinstance(made, BaseModel) else made
        for key, value in given.items():
            if key in parts:
                yield from truth_values(value, parts[key], (*loc, key), fields.get(key, of))
    elif isinstance(given, list | tuple) and isinstance(made, list | tuple):
        for at, (value, part) in enumerate(zip(given, made, strict=False)):
            yield from truth_values(value, part, (*loc, at), of)


def no_truth_value(field: FieldInfo | None) -> str:
    """Say that a truth value is no number, and which numbers a field takes: ``allowed are whole numbers from 1``."""
    kind = "whole numbers" if field is not None and "float" not in str(field.annotation) else "numbers"
    rules = field.metadata if field is not None else []
    found = [(word, getattr(rule, name, None)) for rule in rules for name, word in LIMITS.items()]
    allowed = " ".join([kind, *(f"{word} {limit}" for word, limit in found if limit is not None)])
    return f"a truth value is no number; allowed are {allowed}"


class SettingsModel(BaseModel):
    """Base of every experiment's ``Settings``: immutable; it refuses unknown keys, NaN, and true for a number."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", protected_namespaces=(), use_attribute_docstrings=True, allow_inf_nan=False
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Keep the hashes of the files that are being imported: an edit later is an edit of other code."""
        own_files.remember()

    @field_validator("*", mode="wrap")
    @classmethod
    def _numbers(cls, given: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        """Refuse true and false for a number, which pydantic takes for 1 and 0."""
        made = handler(given)
        field = cls.model_fields.get(info.field_name or "")
        for _, of in truth_values(given, made, of=field):
            raise ValueError(no_truth_value(of))
        return made


@dataclass(frozen=True)
class Cell:
    """One point of arms x grid.

    ``experiment`` is the import path of a module, ``coords`` the grid point, e.g. ``{"n": 1000}``; ``settings`` holds
    every setting as JSON-like values, defaults resolved and ``coords`` included. The arm's name is a label only.
    """

    experiment: str
    study_seed: int
    arm: str
    coords: Mapping[str, Any]
    settings: Mapping[str, Any] = field(hash=False)

    @cached_property
    def canonical(self) -> str:
        """The identity of the cell as canonical JSON: seed and settings. What computes it has a version of its own."""
        identity = {"seed": self.study_seed, "settings": dict(self.settings)}
        return json.dumps(identity, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of :attr:`canonical` in hexadecimal."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @property
    def label(self) -> str:
        """The cell as it is printed: ``arm softmax, n = 1000``."""
        return ", ".join([f"arm {self.arm}", *(f"{axis} = {value}" for axis, value in self.coords.items())])

    def generator(self, replicate: int, purpose: str, **identity: object) -> np.random.Generator:
        """Return the stream of ``purpose`` in ``replicate`` for draws identified by ``identity``.

        Cells that pass the same identity share their draws, which pairs their comparisons.
        """
        return streams.generator(self.study_seed, streams.key(**identity), replicate, purpose)


@dataclass(frozen=True)
class Source:
    """Results that another study reads: their file and its SHA-256, and the command that makes them."""

    path: Path
    sha256: str
    dataset: xr.Dataset
    command: str


def assemble(
    replicates: Sequence[int],
    values: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    dims: Mapping[str, tuple[str, ...]] | None = None,
    coords: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Mapping[str, Any]] | None = None,
    finished: str = "",
    iterations: int = 0,
) -> xr.Dataset:
    """Return the dataset of an experiment from what it computed per replicate.

    Parameters
    ----------
    replicates : sequence of int
    values : mapping of arrays, or one mapping per replicate
        Name -> values, the replicate axis first; or what each replicate gave, with the same names.
    dims, attrs : mapping, optional
        Name -> the dimensions after ``replicate``, and attributes (``long_name``, ``units``, ``measurement``).
    coords : mapping, optional
        Labels of the experiment's own dimensions; texts become objects, as netCDF wants them.
    finished, iterations : str and int, optional
        The sentence of replicates that cannot fail, which all get the status ``CONVERGED``, and what was done in each.
    """
    import xarray as xr

    own, about = dims or {}, attrs or {}
    if not isinstance(values, Mapping):
        values = {name: np.array([row[name] for row in values]) for name in values[0]}
    if finished:
        same = {"status": int(Status.CONVERGED), "message": finished, "iterations": iterations}
        values = {**values, **{name: np.full(len(replicates), value) for name, value in same.items()}}
    variables = {
        name: (("replicate", *own.get(name, ())), array, dict(about.get(name, {}))) for name, array in values.items()
    }
    labels = {name: np.asarray(value) for name, value in (coords or {}).items()}
    labels = {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in labels.items()}
    return xr.Dataset(variables, coords={"replicate": np.asarray(replicates, dtype=np.int64), **labels})


def require_torch() -> None:
    """Import PyTorch, or raise an ImportError that says how to get it."""
    try:
        importlib.import_module("torch")
    except ImportError as error:
        install = extras.command("neural")
        raise ImportError(f"this experiment needs PyTorch ({error}); install it with: {install}") from error


def code_version(module_name: str) -> dict[str, str]:
    """Return the version of what computes an experiment's numbers; see :mod:`moestat.versions`.

    Raises ValueError if a file of the user's own cannot be read, or ``VERSION`` is no whole number from 1.
    """
    found = own_files.hashes(module_name)
    version = getattr(importlib.import_module(module_name), "VERSION", 1)
    if type(version) is not int or version < 1:
        raise ValueError(f"VERSION of {module_name} is {version!r}; allowed are whole numbers from 1")
    ours = module_name.startswith(f"{__name__.partition('.')[0]}.")
    return {module_name.rpartition(".")[2] if ours else module_name: str(version), **found}
