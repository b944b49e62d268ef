"""``status STUDY``: what is done, missing, failed and stale in a folder, and the command that completes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from moestat import files
from moestat.runner import lock, manifest, store
from moestat.runner.begin import folder_of, make_plan, version_of
from moestat.runner.plan import Plan
from moestat.runner.request import Request
from moestat.status import outcome


def recorded(request: Request, study_name: str) -> Request:
    """Fill in what the last run of the folder was asked for, where the request does not say otherwise."""
    return recorded_in(request, folder_of(request, study_name))


def recorded_in(request: Request, root: Path) -> Request:
    """Fill in what the manifest of a folder says that was asked for."""
    kept = manifest.read(root).get("request", {})
    changes: dict[str, Any] = {}
    if not isinstance(kept, dict):
        return request
    for key, least in (("replicates", 1), ("seed", 0), ("block", 1)):
        value = kept.get(key)
        if getattr(request, key) is None and type(value) is int and least <= value < 2**63:
            changes[key] = value
    if not request.settings and isinstance(kept.get("settings"), dict):
        changes["settings"] = kept["settings"]
    return replace(request, **changes)


def look(request: Request) -> tuple[Request, Plan, Path, store.Scan, dict[str, str]]:
    """Return the completed request, its plan, the folder, and what is in it."""
    from moestat.study import load

    path = load.find(request.study)
    request = recorded(request, path.stem)
    plan = make_plan(request)
    root = folder_of(request, plan.study_file.name)
    code = version_of(plan)
    return request, plan, root, store.scan(root, plan, code), code


def overview(plan: Plan, scan: store.Scan) -> list[dict[str, Any]]:
    """Return one row for each cell: arm, coordinates, and the number of replicates done, missing, failed, stale."""
    rows = []
    for planned in plan.cells:
        done = sum(scan.done(planned.digest))
        failures = scan.failures(planned.digest)
        stale = {r for entry in scan.stale.get(planned.digest, []) for r in entry.replicates if r < plan.replicates}
        rows.append(
            {
                "arm": planned.cell.arm,
                **planned.cell.coords,
                "done": done,
                "missing": plan.replicates - done,
                "failed": len(failures),
                "stale": len(stale),
                "how": ", ".join(_counted(failures)),
            }
        )
    return rows


def by_arm(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sum the rows of :func:`overview` up by arm, with the number of its cells."""
    arms: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        arms.setdefault(row["arm"], []).append(row)
    sums = []
    for arm, members in arms.items():
        counts = {key: sum(row[key] for row in members) for key in ("done", "missing", "failed", "stale")}
        kinds: dict[str, int] = {}
        for how in (part for row in members for part in row["how"].split(", ") if part):
            number, _, kind = how.partition(" ")
            kinds[kind] = kinds.get(kind, 0) + int(number)
        how = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
        sums.append({"arm": arm, "cells": len(members), **counts, "how": how})
    return sums


def _counted(failures: Mapping[int, int]) -> list[str]:
    kinds = [outcome(status).name for status in failures.values()]
    return [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]


def advice(request: Request, plan: Plan, root: Path, scan: store.Scan) -> str:
    """Return what to do next, as a command."""
    tally = scan.tally()
    plain = replace(request, part=None)
    if scan.stale:
        changes = "; ".join(list(store.reasons(scan))[:3])
        return f"Stale results ({changes}): compute them again with: {plain.command()} --replace-stale"
    if tally["missing"]:
        return f"Complete it with: {plain.command()}"
    if not (root / "results.nc").is_file():
        return f"All replicates are there; collect them with: {plain.command('collect')}"
    return f"Complete. Make the report again with: {plain.command('report')}"


def running(root: Path) -> list[str]:
    """Say who works in the folder."""
    lines = []
    for path in sorted((root / "locks").glob("*.json")):
        try:
            owner = json.loads(files.read_text(path))
        except (OSError, ValueError, RecursionError):  # it has just ended, or is just beginning
            continue
        if not isinstance(owner, dict) or lock.ended(owner):  # killed; the next run takes its lock over
            continue
        lines.append(f"{path.stem}: process {owner.get('pid')} on {owner.get('host')}, since {owner.get('since')}")
    return lines
