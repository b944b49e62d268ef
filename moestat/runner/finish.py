"""The end of a run: collect the shards, write ``results.nc`` and the manifest, and hand the results to the reporter."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moestat import versions as code_versions
from moestat.runner import collect, labels, manifest_file, needs, origin, results, store
from moestat.runner.plan import Plan
from moestat.runner.request import Request
from moestat.study import seal

if TYPE_CHECKING:
    import xarray as xr


@dataclass
class Result:
    """What a run left behind; ``dataset`` and ``report`` are None for one part of a study."""

    request: Request
    plan: Plan
    folder: Path
    tally: dict[str, int]
    dataset: xr.Dataset | None = None
    report: Any = None
    notes: list[str] = field(default_factory=list)


Reporter = Callable[[Result, Mapping[str, Any]], Any]
"""Writes the report of a result with its provenance, and returns what prints it."""


def finish(result: Result, scan: store.Scan, code: Mapping[str, str], report: Reporter | None = None) -> None:
    """Collect a scan into ``results.nc``, write the manifest, and let ``report`` (if the request wants one) report."""
    request, plan, root = result.request, result.plan, result.folder
    if plan.study_file.study.reads:
        dataset = needs.dataset(plan, request)
        result.tally = needs.tally(dataset)
    else:
        dataset, remarks = collect.collect(scan)
        result.notes.extend([*remarks, *origin.remarks(scan.used)])
        dataset = labels.attach(dataset, plan.module_name, plan.cells)
    provenance = describe(request, plan, scan, code, result)
    dataset.attrs = {k: "\n".join(value) if isinstance(value, list) else value for k, value in provenance.items()}
    extra: dict[str, Any] = {"results_sha256": results.write(root, dataset), "tally": result.tally}
    manifest_file.write_of(root, request, plan, scan, code, state="collected", notes=result.notes, **extra)
    result.dataset = dataset
    if request.report and report is not None:
        result.report = report(result, provenance)


def describe(request: Request, plan: Plan, scan: store.Scan, code: Mapping[str, str], result: Result) -> dict[str, Any]:
    """Return the provenance of a dataset: what it is, what made it, and what is to be said about it."""
    study = plan.study_file.study
    versions = origin.versions(scan.used)  # of what computed, wherever it is collected
    sealed = seal.read(result.folder)
    return {
        "title": study.title,
        "study": plan.study_file.name,
        "preset": plan.preset_name,
        "paper": study.paper,
        "source": study.source,
        "experiment": plan.module_name,
        "seed": plan.seed,
        "command": request.command(part=False),
        "settings": settings(plan),
        "set": [
            f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in request.settings.items()
        ],
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
        "moestat_version": versions["moestat"],
        "code": code_versions.text(code),
        "rules": sealed.digest if sealed is not None else "",
        "rules_sealed": sealed.date if sealed is not None else "",
        "problem": [f"{key}={text}" for key, text in seal.problem(study, plan.preset_name).items()],
        **{f"count_{key}": value for key, value in result.tally.items()},
        "notes": list(result.notes),
    }


def settings(plan: Plan) -> str:
    """Return every setting of each arm, but for the axes of the grid, as JSON: arm -> key -> value."""
    table: dict[str, dict[str, Any]] = {arm.name: dict(arm.settings) for arm in plan.arms}
    for planned in plan.cells:
        kept = planned.cell.settings.items()
        table[planned.cell.arm] = {key: value for key, value in kept if key not in plan.axes}
    return json.dumps(table)
