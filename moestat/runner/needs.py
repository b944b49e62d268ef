"""What studies need of the results of others, in which order they run, and what they make of it; what claims need."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np
import xarray as xr
from pydantic import ValidationError

from moestat.errors import InputError
from moestat.experiment import Source
from moestat.runner import experiments, records, results
from moestat.runner.plan import Plan
from moestat.runner.request import Request
from moestat.sentences import nearest
from moestat.status import Status, lost
from moestat.study import load
from moestat.study.load import StudyFile
from moestat.study.presets import named, runs_arms
from moestat.study.problems import path_text
from moestat.study.spec import Study


def ordered(needs: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names of studies in an order in which none comes before those that it needs."""
    own = {name: [other for other in sorted(others) if other in needs] for name, others in sorted(needs.items())}
    try:
        return list(TopologicalSorter(own).static_order())
    except CycleError as error:
        raise InputError(f"studies need each other in a circle: {' -> '.join(error.args[1])}") from None


def requests(study_file: StudyFile, request: Request) -> list[Request]:
    """Return what makes the results that a study needs.

    A needed study is looked for at the preset that is asked for, or at ``quick`` if it has no preset of that name.
    """
    requested = []
    for name in study_file.study.needs:
        try:
            known = load.read(name).study.presets
        except InputError:  # a study of the user's own folder, say; its results may be there all the same
            known = {}
        preset = request.preset if request.preset in known or not known else "quick"
        requested.append(Request(name, preset, out=request.out, device=request.device, jobs=request.jobs))
    return requested


def readers(name: str, preset: str) -> list[tuple[StudyFile, str]]:
    """Return the known studies, each with a preset of its own, that read what a study has at a preset."""
    known = (load.read(path) for path in load.known_studies().values())
    return [
        (reader, own)
        for reader in known
        if name in reader.study.needs
        for own in reader.study.presets
        if (name, preset) in {(one.study, one.preset) for one in requests(reader, Request(reader.name, own))}
    ]


def refuse_missing(study_file: StudyFile, request: Request) -> None:
    """Refuse to go on without the results that a study needs, and say which commands make what is missing."""
    if commands := [one.command() for one in requests(study_file, request) if not _file(one).is_file()]:
        raise InputError(
            f"{study_file.shown} reads the results of other studies ({', '.join(study_file.study.needs)}), and not all "
            f"of them are there. Make them first with: {'; then '.join(commands)}"
        )


def dataset(plan: Plan) -> xr.Dataset:
    """Return the results of a study that reads others, one replicate per arm.

    Raises InputError if results are missing, or they or the settings of an arm are not what the reader wants.
    """
    where, arms, request = plan.study_file.shown, plan.arms, plan.request
    if request.settings:
        key = next(iter(request.settings))
        raise InputError(f"--set {key}: {where} reads the results of others and has no settings")
    refuse_missing(plan.study_file, request)
    sources = {}
    for needed in requests(plan.study_file, request):
        path = _file(needed)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        sources[needed.study] = Source(path, digest, results.read(path), needed.command())
    try:
        ds = experiments.reader(plan.study_file)(sources, arms)
    except ValidationError as error:
        problem = error.errors()[0]
        raise InputError(f"{where}: the settings of an arm: {path_text(problem['loc'])}: {problem['msg']}") from None
    shape, dims = (len(arms), 1), ("arm", "replicate")
    return ds.assign_coords(
        arm=("arm", np.array([arm.name for arm in arms], dtype=object)),
        arm_label=("arm", np.array([arm.label or arm.name for arm in arms], dtype=object)),
        replicate=np.arange(1, dtype=np.int64),
    ).assign(
        status=(dims, np.full(shape, int(Status.CONVERGED), dtype=np.int64)),
        iterations=(dims, np.zeros(shape, dtype=np.int64)),
        message=(dims, np.full(shape, "Read from the results of another study.", object)),
    )


def tally(ds: xr.Dataset) -> dict[str, int]:
    """Count the rows of such a study as the replicates of others are counted: all are there, none failed."""
    count = ds.sizes["arm"]
    none = dict.fromkeys([status.name.lower() for status in Status], 0)
    return {"replicates": count, "done": count, "missing": 0, **lost([])} | none | {"converged": count}


def _file(needed: Request) -> Path:
    return results.of(records.results_folder(needed.out, needed.study, needed.preset))


def absent(dataset: xr.Dataset, study: Study, preset: str) -> str:
    """Say which variables of the claims of a preset the results do not hold, or nothing.

    Where another study condenses these results, a claim may be about what that adds to a record.
    """
    held = [str(name) for name in dataset.data_vars]
    texts = [
        f"{name!r} of the claim '{claim.id}'{nearest(name, held)}"
        for claim in study.claims
        if claim.kind != "function" and named(preset, claim) and runs_arms(study, preset, claim)
        for name in dict.fromkeys((claim.variable, claim.versus_variable))
        if name and name not in held
    ]
    if not texts or any(experiments.condenser(reader) for reader, _ in readers(str(dataset.attrs["study"]), preset)):
        return ""
    return f"the results hold no variable {'; nor '.join(texts[:8])}"
