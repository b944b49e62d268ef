"""``manifest.json``: what a folder holds and how it came about. It can be made again from the shards at any time."""

from __future__ import annotations

import functools
import platform
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from moestat import __version__
from moestat.runner import origin
from moestat.runner.plan import Plan
from moestat.runner.request import Request
from moestat.runner.store import Scan
from moestat.study import seal


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of what computes."""
    known = {
        "moestat": __version__,
        "commit": origin.commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for name in ("numpy", "scipy", "numba", "statsmodels", "xarray", "torch"):
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            continue
    return known


def describe(
    root: Path, request: Request, plan: Plan, scan: Scan, code: Mapping[str, str], extra: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the manifest of the folder ``root``."""
    cells = []
    sealed = seal.read(root)
    for planned in plan.cells:
        entries = scan.usable.get(planned.digest, [])
        cells.append(
            {
                "arm": planned.cell.arm,
                "coords": dict(planned.cell.coords),
                "digest": planned.digest,
                "replicates": sum(scan.done(planned.digest)),
                "failed": len(scan.failures(planned.digest)),
                "seconds": round(sum(entry.seconds for entry in entries), 3),
                "devices": sorted({str(entry.provenance["device"]) for entry in entries}),
                "kernels": kernels(entries),
                "shards": sorted(f"{entry.path.parent.name}/{entry.path.name}" for entry in entries),
            }
        )
    return {
        "study": plan.study_file.name,
        "file": plan.study_file.shown,
        "title": plan.study_file.study.title,
        "preset": plan.preset_name,
        "experiment": plan.module_name,
        "seed": plan.seed,
        "request": request.recorded,
        "command": request.command(),
        "versions": versions() | origin.versions(scan.used),
        "collected_by": versions(),
        "origins": [of_shards | {"replicates": count} for of_shards, count in origin.groups(scan.used)],
        "executable": sys.executable,
        "code": dict(code),
        "rules": sealed.digest if sealed is not None else "",
        "accepted_stale": list(scan.accepted),
        "quarantined": list(scan.quarantined),
        "cells": cells,
        **extra,
    }


def kernels(entries: Iterable[Any]) -> list[str]:
    """Return which codes computed the least-squares fits of some shards; see :mod:`moestat.fit.kernel`."""
    return sorted({str(entry.provenance["kernel"]) for entry in entries if entry.provenance.get("kernel")})
