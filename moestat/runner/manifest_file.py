"""Reading and writing ``manifest.json``. What stands in it: :mod:`moestat.runner.manifest`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from moestat import bounded, files
from moestat.bounded import DataFileError
from moestat.errors import UserError
from moestat.study.problems import path_text, problems

NAME = "manifest.json"


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Request(_Table):
    replicates: int | None = None
    seed: int | None = None
    block: int | None = None
    settings: dict[str, Any] = {}


class _Cell(_Table):
    digest: str
    seconds: float


class _Verified(_Table):
    """When replicates of a record were last computed again, at which commit, and how many were equal bit for bit."""

    date: str
    commit: str
    replicates: int
    equal: int


class _Manifest(_Table):
    """The types of what is read of a manifest; any key may be missing."""

    study: str = ""
    file: str = ""
    preset: str = ""
    experiment: str = ""
    seed: int = 0
    request: _Request = _Request()
    command: str = ""
    versions: dict[str, str] = {}
    code: dict[str, str] = {}
    rules: str = ""
    origins: list[dict[str, Any]] = []
    tally: dict[str, int] = {}
    cells: list[_Cell] | dict[str, float] = []
    problem: list[str] = []
    notes: list[str] = []
    left_out: list[str] = []
    updated: str = ""
    results_sha256: str = ""
    run_sha256: str | None = None
    verified: _Verified | None = None


def write(root: Path, content: Mapping[str, Any]) -> None:
    """Put the manifest in place."""
    files.write_json(root / NAME, dict(content))


def read(root: Path) -> dict[str, Any]:
    """Return the manifest of a folder, empty if there is none.

    Raises
    ------
    UserError
        If there is one that cannot be read, or holds something else than a manifest does; the message names the key.
    """
    path = root / NAME
    if not path.exists():
        return {}
    try:
        content = json.loads(bounded.text(path))
    except DataFileError as error:
        raise UserError(f"{error}; {_ADVICE}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}); {_ADVICE}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} holds no table; {_ADVICE}")
    try:
        _Manifest.model_validate(content)
    except ValidationError as error:
        where, what = problems(error, _Manifest, content)[0]
        raise UserError(f"{path}: {path_text(where)} {what}; {_ADVICE}") from None
    return content


def cached(root: Path) -> dict[str, Any]:
    """Return the manifest of a folder, empty if there is none that can be read, where it is about to be made again."""
    try:
        return read(root)
    except UserError:
        return {}


_ADVICE = "of results of your own it is made again by the subcommand collect"
