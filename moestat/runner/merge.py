"""Join the shards of several folders of one study, computed on other machines say, into a new folder.

A shard knows its cell, the version of what computed it and its replicates, so merging is copying: the listing is the
truth, and what two folders both hold is compared when it is collected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from moestat import files
from moestat.errors import InputError, UserError
from moestat.runner import manifest_file, shard, store
from moestat.runner import plan as plans
from moestat.runner.begin import version_of
from moestat.runner.overview import recorded
from moestat.runner.request import Request
from moestat.study import load, seal


def merge(study: str, folders: Sequence[Path], out: Path) -> tuple[Request, str]:
    """Copy the shards of several folders ``<outputs>/<study>/<preset>`` of one run below ``out``.

    A manifest names a study, a file and an experiment, too; they are compared and never imported, for the folders may
    be somebody else's. Raises InputError or UserError if the folders are not of one run of the study, a shard is
    damaged or stale, or there are results in the way; nothing was copied then. Returns what collects the merged
    results, and what was copied, in a sentence.
    """
    if Path(study).is_dir():
        raise InputError("merge takes the study before the folders: moestat merge STUDY A B --out C")
    requests = [_request(study, folder) for folder in folders]
    seals = [one for folder in folders if (one := seal.read(folder)) is not None]
    if any(one.claims != seals[0].claims for one in seals):
        raise InputError("the folders were run under other rules of claims; keep them apart")
    own_counts = any(one.replicates is not None for one in requests)
    replicates = max(plans.of(one).replicates for one in requests) if own_counts else None
    request = replace(requests[0], out=out, replicates=replicates, block=None)
    plan = plans.of(request)
    if store.listing(plan.root):
        raise InputError(f"{plan.root} holds results already; give another --out")
    code, paths = version_of(plan), []  # all of them before the first copy: what is refused leaves nothing behind
    for folder, own in zip(folders, requests, strict=True):
        for key in ("preset", "settings"):  # another seed is told below, as other code is
            if (one := getattr(request, key)) != (other := getattr(own, key)):
                raise InputError(f"{folders[0]} and {folder} are not one run: their {key}: {one!r} and {other!r}")
        scan = store.scan(folder, plan, code, move=False)
        scan.refuse_stale()
        if scan.quarantined:
            raise UserError(f"{folder} holds a damaged shard: {scan.quarantined[0]}; collect it again first")
        paths += [entry.path for entry in scan.used]
    for number, source in enumerate(paths):
        path = plan.root / "shards" / source.parent.name / source.name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = shard.contents(source)
        if path.exists() and path.read_bytes() != content:
            path = path.with_name(f"{path.name.removesuffix(shard.SUFFIX)}-{number}{shard.SUFFIX}")
        files.write(path, content)
    if seals:  # the earliest: the rules as they were before there were numbers
        seal.write(plan.root, min(seals, key=lambda one: one.date))
    return request, f"{len(paths)} shards of {len(folders)} folders are in {plan.root}"


def _request(study: str, folder: Path) -> Request:
    """Return what the run of a folder was asked for."""
    kept, study_file = manifest_file.read(folder), load.read(study)
    if not kept:
        raise InputError(f"{folder} holds no manifest.json; name the folder <outputs>/<study>/<preset> of a run")
    preset = kept.get("preset", "quick")
    if kept.get("study") != study_file.name:
        named = f"of the study {kept.get('study')!r}, by its manifest"
        raise InputError(f"{folder} holds results {named}, and not of {study_file.shown}")
    load.need_preset(study_file, preset)
    request = recorded(Request(study=study, preset=preset), folder)
    if seal.now(str(kept.get("experiment"))) != (wanted := plans.of(request).module_name):
        named = f"of the experiment {kept.get('experiment')!r}, by its manifest"
        raise InputError(f"{folder} holds results {named}; that of {study_file.shown} is {wanted!r}")
    return request
