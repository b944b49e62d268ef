"""Studies that summarise the results of others: a function makes their dataset from those, and nothing is computed."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import xarray as xr
from pydantic import ValidationError

from moestat.errors import InputError
from moestat.experiment import Source
from moestat.runner import experiments, needs, records, results
from moestat.runner.plan import Plan
from moestat.runner.request import Request
from moestat.status import Status
from moestat.study.load import StudyFile
from moestat.study.problems import path_text


def sources(study_file: StudyFile, request: Request) -> dict[str, Source]:
    """Read the results that a study needs.

    Raises
    ------
    InputError
        If some are missing; the message says which commands make them.
    """
    needs.refuse_missing(study_file, request)
    read = {}
    for needed in needs.requests(study_file, request):
        path = records.results_folder(needed.out, needed.study, needed.preset) / results.NAME
        dataset = results.read(path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        read[needed.study] = Source(path, digest, dataset, needed.command())
    return read


def dataset(plan: Plan, request: Request) -> xr.Dataset:
    """Return the results of a study that reads others, one replicate per arm.

    Raises
    ------
    InputError
        If results are missing, or they or the settings of an arm are not what the reader wants.
    """
    where, arms = plan.study_file.shown, plan.arms
    if request.settings:
        raise InputError(
            f"--set {next(iter(request.settings))}: {where} reads the results of others and has no settings"
        )
    try:
        ds = experiments.reader(plan.study_file)(sources(plan.study_file, request), arms)
    except ValidationError as error:
        problem = error.errors()[0]
        raise InputError(f"{where}: the settings of an arm: {path_text(problem['loc'])}: {problem['msg']}") from None
    names = {"arm": [arm.name for arm in arms], "arm_label": [arm.label or arm.name for arm in arms]}
    labels = {name: ("arm", np.array(texts, dtype=object)) for name, texts in names.items()}
    per_arm: dict[str, Any] = {"status": int(Status.CONVERGED), "iterations": 0}
    for name, value in per_arm.items():
        ds[name] = (("arm", "replicate"), np.full((len(arms), 1), value, dtype=np.int64))
    ds["message"] = (("arm", "replicate"), np.full((len(arms), 1), "Read from the results of another study.", object))
    return ds.assign_coords(labels | {"replicate": np.arange(1, dtype=np.int64)})


def tally(ds: xr.Dataset) -> dict[str, int]:
    """Count the rows of such a study as the replicates of others are counted: all are there, none failed."""
    count = ds.sizes["arm"]
    none = dict.fromkeys([status.name.lower() for status in Status], 0)
    return {"replicates": count, "done": count, "missing": 0, "failed": 0} | none | {"converged": count}
