"""A cell: one point of arms x grid, and the contract that every experiment fulfils.

An experiment is a module (one in a folder of ``moestat.papers``, or a user's own by import path) with

``Settings``
    a frozen pydantic model (``SettingsModel`` below), extra keys forbidden, that holds every setting of a cell,
    the grid's coordinates among them;
``run(cell, replicates, *, device) -> xarray.Dataset``
    the computation: a dataset with the dimension ``replicate`` (coordinate: the replicates asked for, in that
    order) and any dimensions of its own.

and, where useful,

``prerequisites(cell) -> list[dict]`` and ``prepare(prerequisite, *, device) -> None``
    work that several cells share (a pseudo-truth, say), as JSON-like dicts; it is done once, before the cells, and
    lands in the cache (``moestat.cache``).

``DEVICES``
    the devices it computes on, e.g. ``("cpu", "cuda")``; ``--device auto`` takes a GPU only if it is named here.

The dataset holds ``status`` (int, :class:`moestat.status.Status`), ``message`` (str) and ``iterations`` per
replicate. A variable without the dimension ``replicate`` is a property of the cell (a Fisher line, say) and must be
the same whatever the replicates are; so must the dataset's attributes (text or numbers), which become such variables.
Every number depends on (study seed, settings, replicate) alone, but for measurements of the machine: a variable of
seconds, say, carries the attribute ``measurement = 1`` and is compared by nobody.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from moestat import streams


class SettingsModel(BaseModel):
    """Base of every experiment's ``Settings``: immutable, and refusing keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


@dataclass(frozen=True)
class Cell:
    """One point of arms x grid.

    Parameters
    ----------
    experiment : str
        Import path of the experiment's module.
    study_seed : int
        Seed of the study.
    arm : str
        Name of the arm; a label only, not part of the identity.
    coords : mapping
        The grid point, e.g. ``{"n": 1000}``.
    settings : mapping
        Every setting, defaults resolved and ``coords`` included, as JSON-like values.
    """

    experiment: str
    study_seed: int
    arm: str
    coords: Mapping[str, Any]
    settings: Mapping[str, Any] = field(hash=False)

    @property
    def canonical(self) -> str:
        """The identity of the cell as canonical JSON: experiment, seed and settings."""
        identity = {"experiment": self.experiment, "seed": self.study_seed, "settings": dict(self.settings)}
        return json.dumps(identity, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @property
    def digest(self) -> str:
        """SHA-256 of :attr:`canonical` in hexadecimal."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    def generator(self, replicate: int, purpose: str, **identity: object) -> np.random.Generator:
        """Return the stream of ``purpose`` in ``replicate`` for draws identified by ``identity``.

        Cells that pass the same identity share their draws, which pairs their comparisons.
        """
        return streams.generator(self.study_seed, streams.key(**identity), replicate, purpose)


def require_torch() -> None:
    """Import PyTorch, which only some experiments need; a study file can be read and checked without it.

    Raises
    ------
    ImportError
        If it is not installed; the sentence says how to get it.
    """
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise ImportError(
            f'this experiment needs PyTorch ({error}); install it: pip install "moestat[neural]"'
        ) from error
