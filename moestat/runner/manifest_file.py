"""``manifest.json``: what a folder holds and how it came about. It can be made again from the shards at any time."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from moestat import bounded, files
from moestat.bounded import DataFileError
from moestat.errors import UserError
from moestat.runner import origin
from moestat.study import seal
from moestat.study.problems import path_text, problems

if TYPE_CHECKING:
    from moestat.runner.store import Scan

NAME = "manifest.json"


class _Manifest(BaseModel):
    """The types of what is read of a manifest; any key may be missing.

    ``cells`` has seconds by digest, ``verified`` when and how many replicates of a record were last computed again.
    """

    model_config = ConfigDict(strict=True, allow_inf_nan=False)
    study: str = ""
    preset: str = ""
    experiment: str = ""
    seed: int = 0
    request: dict[str, Any] = {}
    command: str = ""
    versions: dict[str, str] = {}
    code: dict[str, str] = {}
    rules: str = ""
    origins: list[dict[str, Any]] = []
    tally: dict[str, int] = {}
    cells: dict[str, float] = {}
    problem: list[str] = []
    notes: list[str] = []
    left_out: list[str] = []
    updated: str = ""
    results_sha256: str = ""
    run_sha256: str | None = None
    whole_sha256: str = ""
    verified: dict[str, str | int] | None = None


def read(root: Path) -> dict[str, Any]:
    """Return the manifest of a folder, empty if there is none.

    Raises UserError if there is one that cannot be read, or holds something else than a manifest does; the message
    names the key.
    """
    path, advice = root / NAME, "of results of your own it is made again by the subcommand collect"
    if not path.exists():
        return {}
    try:
        content = json.loads(bounded.text(path))
        _Manifest.model_validate(content)
        return dict(content)
    except DataFileError as error:
        raise UserError(f"{error}; {advice}") from None
    except ValidationError as error:
        where, what = problems(error, _Manifest, content)[0]
        raise UserError(f"{path}: {path_text(where)} {what}; {advice}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}); {advice}") from None


def cached(root: Path) -> dict[str, Any]:
    """Return the manifest of a folder, empty if there is none that can be read, where it is about to be made again."""
    try:
        return read(root)
    except UserError:
        return {}


def write_of(scan: Scan, **more: Any) -> None:
    """Put the manifest of the folder of a scan in place."""
    plan, sealed = scan.plan, seal.read(scan.root)
    content = {
        "study": plan.study_file.name,
        "file": plan.study_file.shown,
        "title": plan.study_file.study.title,
        "preset": plan.preset_name,
        "experiment": plan.module_name,
        "seed": plan.seed,
        "request": plan.request.recorded,
        "command": plan.request.command(),
        "versions": origin.versions(scan.used),
        "origins": [facts | {"replicates": count} for facts, count in origin.groups(scan.used)],
        "code": dict(scan.code),
        "rules": sealed.digest if sealed is not None else "",
        "quarantined": list(scan.quarantined),
        "cells": {
            digest[:16]: round(sum(entry.provenance["seconds"] for entry in scan.usable.get(digest, [])), 3)
            for digest in plan.by_digest
        },
        "updated": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    files.write_json(scan.root / NAME, content | more)
