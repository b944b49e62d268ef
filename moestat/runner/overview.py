"""``status STUDY``: what is done, missing, failed and stale in a folder, and the command that completes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import Any

from moestat.errors import InputError, UserError
from moestat.runner import lock, manifest_file, shard, store
from moestat.runner.begin import folder_of, make_plan, version_of
from moestat.runner.plan import Plan
from moestat.runner.request import Request, no_word
from moestat.sentences import show
from moestat.status import Status


def recorded(request: Request, study_name: str) -> Request:
    """Fill in what the last run of the folder was asked for, where the request does not say otherwise."""
    return recorded_in(request, folder_of(request, study_name))


def recorded_in(request: Request, root: Path) -> Request:
    """Fill in what the manifest of a folder says that was asked for.

    Raises
    ------
    InputError
        If it asks for a setting that could name code or a file, which nobody but the user may.
    """
    kept = manifest_file.cached(root).get("request", {})
    changes: dict[str, Any] = {}
    for key, least in (("replicates", 1), ("seed", 0), ("block", 1)):
        value = kept.get(key)
        if getattr(request, key) is None and type(value) is int and least <= value < 2**63:
            changes[key] = value
    if not request.settings and kept.get("settings"):
        for key, value in kept["settings"].items():
            if name := no_word(value):
                raise InputError(
                    f"{root / manifest_file.NAME} asks for --set {key} = {show(name)}, which can name code or a file; "
                    "if these results are yours, give it yourself, with --set"
                )
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
        kinds = Counter(Status(status).name for status in scan.failures(planned.digest).values())
        stale = {r for entry in scan.stale.get(planned.digest, []) for r in entry.replicates if r < plan.replicates}
        counts = {"done": done, "missing": plan.replicates - done, "failed": kinds.total(), "stale": len(stale)}
        rows.append({"arm": planned.cell.arm, **planned.cell.coords, **counts, "how": _how(kinds)})
    return rows


def by_arm(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sum the rows of :func:`overview` up by arm, with the number of its cells."""
    sums = []
    for arm in dict.fromkeys(row["arm"] for row in rows):
        members = [row for row in rows if row["arm"] == arm]
        counts = {key: sum(row[key] for row in members) for key in ("done", "missing", "failed", "stale")}
        kinds: Counter[str] = Counter()
        for number, kind in (part.split() for row in members for part in row["how"].split(", ") if part):
            kinds[kind] += int(number)
        sums.append({"arm": arm, "cells": len(members), **counts, "how": _how(kinds)})
    return sums


def _how(kinds: Mapping[Any, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def advice(request: Request, plan: Plan, root: Path, scan: store.Scan) -> str:
    """Return what to do next, as commands: one a line, what failed for good before what else is to be done."""
    tally = scan.tally()
    plain = replace(request, part=None, retry_failed=False)
    if scan.stale:
        changes = "; ".join(list(store.reasons(scan))[:3])
        return f"Stale results ({changes}): compute them again with: {plain.command()} --replace-stale"
    failed = _failed(plain, plan, scan)
    if tally["missing"]:
        return f"{failed}Complete it with: {plain.command()}"
    if not (root / "results.nc").is_file():
        return f"{failed}All replicates are there; collect them with: {plain.command('collect')}"
    return f"{failed}Complete{', but for those' * bool(failed)}. Make the report again with: {plain.command('report')}"


def _failed(plain: Request, plan: Plan, scan: store.Scan) -> str:
    """Say how many replicates raised, died or timed out, why one of them did, and how they are tried again."""
    lost = {
        (digest, replicate): status
        for digest in plan.by_digest
        for replicate, status in sorted(scan.failures(digest).items())
        if status in store.FAILED_FOR_GOOD
    }
    if not lost:
        return ""
    (digest, first), status = next(iter(lost.items()))
    why, kinds = Status(status).sentence, _how(Counter(Status(one).name for one in lost.values()))
    entry = next(entry for entry in store.in_order(scan.usable[digest]) if first in entry.replicates)
    with suppress(UserError, OSError, ValueError):  # set aside, or damaged, in the meantime
        message = shard.read(entry.path)[1].get("message")
        why = (str(message.values[entry.replicates.index(first)]) if message is not None else "") or why
    return (
        f"{len(lost)} of {plan.total} replicates ended with an error ({kinds}), such as: "
        f"{plan.by_digest[digest][0].label}, replicate {first}: {shorten(why, 300)}\n"
        f"Compute them again, on the same data, with: {replace(plain, retry_failed=True).command()}\n"
    )


def running(root: Path) -> list[str]:
    """Say who works in the folder."""
    return [f"{part}: {owner}" for part, owner in lock.owners(root).items()]
