"""``status STUDY``: what is done, missing, failed and stale in a folder, and the command that completes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import Any

from moestat.errors import InputError, UserError
from moestat.runner import begin, manifest_file, results, shard, store
from moestat.runner import plan as plans
from moestat.runner.plan import PlannedCell
from moestat.runner.request import Request, no_word
from moestat.sentences import show
from moestat.status import Status, lost
from moestat.study import load


def recorded(request: Request, root: Path | None = None) -> Request:
    """Fill in what the manifest of a folder (that of the request) says that its last run was asked for.

    Raises InputError if it asks for a setting that could name code or a file, which nobody but the user may.
    """
    root = request.folder(load.name_of(request.study)) if root is None else root
    kept = manifest_file.cached(root).get("request", {})
    changes: dict[str, Any] = {}
    for key, least in (("replicates", 1), ("seed", 0), ("block", 1)):
        value = kept.get(key)
        if getattr(request, key) is None and type(value) is int and least <= value < 2**63:
            changes[key] = value
    settings = kept.get("settings")
    if not request.settings and isinstance(settings, dict) and settings:
        changes["settings"] = settings
        for key, value in settings.items():
            if name := no_word(value):
                raise InputError(
                    f"{root / manifest_file.NAME} asks for --set {key} = {show(name)}, which can name code or a file; "
                    "if these results are yours, give it yourself, with --set"
                )
    return replace(request, **changes)


def look(request: Request) -> store.Scan:
    """Return what is in the folder of a request, once it is completed by what its last run was asked for."""
    plan = plans.of(recorded(request))
    return store.scan(plan.root, plan, begin.version_of(plan))


def overview(scan: store.Scan, *, by_arm: bool = False) -> list[dict[str, Any]]:
    """Return a row for each cell, or arm: the number of replicates done, missing, not well ended (and how), stale."""
    plan, groups = scan.plan, dict[str, list[PlannedCell]]()
    for planned in plan.cells:
        groups.setdefault(planned.cell.arm if by_arm else planned.slot, []).append(planned)
    rows = []
    for cells in groups.values():
        done = sum(len(scan.done(one.digest)) for one in cells)
        other = [status for one in cells for status in scan.failures(one.digest).values()]
        old = [{r for _, entry in scan.stale.get(one.digest, []) for r in entry.replicates} for one in cells]
        stale = sum(replicate < plan.replicates for replicates in old for replicate in replicates)
        place: Mapping[str, Any] = {"cells": len(cells)} if by_arm else cells[0].cell.coords
        counts = {"done": done, "missing": len(cells) * plan.replicates - done, **lost(other)}
        how = _how(Counter(Status(status).name for status in other))
        rows.append({"arm": cells[0].cell.arm, **place, **counts, "stale": stale, "how": how})
    return rows


def _how(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def advice(scan: store.Scan) -> str:
    """Return what to do next, as commands: one a line, what failed for good before what else is to be done."""
    plain = replace(scan.plan.request, part=None, retry_failed=False)
    if scan.stale:
        changes = "; ".join(list(scan.reasons())[:3])
        return f"Stale results ({changes}): compute them again with: {plain.command()} --replace-stale"
    failed = _failed(scan, replace(plain, retry_failed=True).command())
    if scan.tally()["missing"]:
        return f"{failed}Complete it with: {plain.command()}"
    if not (scan.root / results.NAME).is_file():
        return f"{failed}All replicates are there; collect them with: {plain.command('collect')}"
    return f"{failed}Complete{', but for those' * bool(failed)}. Make the report again with: {plain.command('report')}"


def _failed(scan: store.Scan, again: str) -> str:
    """Say how many replicates raised, died or timed out, why one of them did, and how they are tried again."""
    plan = scan.plan
    lost = {
        (digest, replicate): Status(status)
        for digest in plan.by_digest
        for replicate, status in sorted(scan.failures(digest).items())
        if status in store.FAILED_FOR_GOOD
    }
    if not lost:
        return ""
    (digest, first), status = next(iter(lost.items()))
    why = status.sentence
    entry = next(entry for entry in scan.usable[digest] if first in entry.replicates)
    with suppress(UserError, OSError, ValueError):  # set aside, or damaged, in the meantime
        message = shard.read(entry.path)[1].get("message")
        why = (str(message.values[entry.replicates.index(first)]) if message is not None else "") or why
    return (
        f"{len(lost)} of {plan.total} replicates ended with an error ({_how(Counter(s.name for s in lost.values()))}), "
        f"such as: {plan.by_digest[digest][0].cell.label}, replicate {first}: {shorten(why, 300)}\n"
        f"Compute them again, on the same data, with: {again}\n"
    )
