"""Join the shards of several folders of one study, computed on other machines say, into a new folder.

A shard knows its cell, the version of what computed it and its replicates, so merging is copying: the listing is the
truth, and what two folders both hold is compared when it is collected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from moestat import files
from moestat.errors import InputError, UserError
from moestat.runner import manifest_file, shard, store
from moestat.runner.begin import folder_of, make_plan, version_of
from moestat.runner.overview import recorded_in
from moestat.runner.plan import Plan
from moestat.runner.request import Request
from moestat.study import load, seal
from moestat.study.load import StudyFile


class Part(NamedTuple):
    """A folder ``<outputs>/<study>/<preset>``, and the plan that its run was asked for."""

    folder: Path
    request: Request
    plan: Plan


def merge(study: str, folders: Sequence[Path], out: Path) -> tuple[Request, str]:
    """Copy the shards of several folders ``<outputs>/<study>/<preset>`` of one run below ``out``.

    A manifest names a study, a file and an experiment, too; they are compared and never imported, for the folders may
    be somebody else's.

    Returns
    -------
    request : Request
        What collects the merged results.
    said : str
        What was copied, in a sentence.

    Raises
    ------
    InputError, UserError
        If the folders are not of one run of the study, a shard is damaged or stale, or there are results in the way;
        nothing was copied then.
    """
    if Path(study).is_dir():
        raise InputError("merge takes the study before the folders: moestat merge STUDY A B --out C")
    study_file = load.read(study)
    parts = [_read(study_file, study, folder) for folder in folders]
    seals = [one for part in parts if (one := seal.read(part.folder)) is not None]
    if any(one.claims != seals[0].claims for one in seals):
        raise InputError("the folders were run under other rules of claims; keep them apart")
    request = _joined(parts, out)
    plan = make_plan(request)
    root = folder_of(request, plan.study_file.name)
    if any(store.listing(root)):
        raise InputError(f"{root} holds results already; give another --out")
    code = version_of(plan)
    entries = []  # all of them before the first copy: what is refused leaves nothing behind
    for part in parts:
        scan = store.scan(part.folder, plan, code, move=False)
        if scan.stale:
            changes = "; ".join(store.reasons(scan))
            raise UserError(f"{part.folder} holds other results than {plan.study_file.shown} asks for: {changes}")
        if scan.quarantined:
            raise UserError(f"{part.folder} holds a damaged shard: {scan.quarantined[0]}; collect it again first")
        entries += scan.used
    for number, entry in enumerate(entries):
        path = shard.folder(root, entry.digest) / entry.path.name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = shard.contents(entry.path)
        if path.exists() and path.read_bytes() != content:
            path = path.with_name(f"{path.name.removesuffix(shard.SUFFIX)}-{number}{shard.SUFFIX}")
        files.write(path, content)
    if seals:  # the earliest: the rules as they were before there were numbers
        seal.write(root, min(seals, key=lambda one: one.date))
    return request, f"{len(entries)} shards of {len(parts)} folders are in {root}"


def _read(study_file: StudyFile, study: str, folder: Path) -> Part:
    kept = manifest_file.read(folder)
    if not kept:
        raise InputError(f"{folder} holds no manifest.json; name the folder <outputs>/<study>/<preset> of a run")
    preset = kept.get("preset", "quick")
    if kept.get("study") != study_file.name:
        named = f"of the study {kept.get('study')!r}, by its manifest"
        raise InputError(f"{folder} holds results {named}, and not of {study_file.shown}")
    load.need_preset(study_file, preset)
    request = recorded_in(Request(study=study, preset=preset), folder)
    plan = make_plan(request)
    if kept.get("experiment") != plan.module_name:
        raise InputError(
            f"{folder} holds results of the experiment {kept.get('experiment')!r}, by its manifest; that of "
            f"{study_file.shown} is {plan.module_name!r}"
        )
    return Part(folder, request, plan)


def _joined(parts: Sequence[Part], out: Path) -> Request:
    """Return the request for all that the parts hold: the most replicates, and all values of each axis."""
    first = parts[0]
    for part in parts[1:]:
        for called, a, b in (
            ("preset", first.request.preset, part.request.preset),
            ("seed", first.plan.seed, part.plan.seed),
        ):
            if a != b:
                raise InputError(f"{first.folder} and {part.folder} are not one run: their {called} is {a!r} and {b!r}")
    settings: dict[str, Any] = {}
    for axis in {axis: None for part in parts for axis in part.plan.axes}:
        values = list(dict.fromkeys(value for part in parts for value in part.plan.axes.get(axis, ())))
        if any(list(part.plan.axes.get(axis, ())) != values for part in parts) or axis in first.request.settings:
            settings[axis] = values if any(isinstance(value, str) for value in values) else sorted(values)
    for key in {key: None for part in parts for key in part.request.settings if key not in settings}:
        given = [part.request.settings.get(key) for part in parts]
        if any(value != given[0] for value in given):
            raise InputError(f"the folders were computed with --set {key} = {' and '.join(map(str, given))}")
        settings[key] = given[0]
    more = any(part.request.replicates is not None for part in parts)
    replicates = max(part.plan.replicates for part in parts) if more else None
    return replace(first.request, out=out, settings=settings, replicates=replicates, block=None)
