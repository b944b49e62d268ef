"""Whether results belong to a study file, and are as they were written."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import xarray as xr

from moestat.errors import StaleError
from moestat.runner import manifest, results
from moestat.runner.request import Request
from moestat.study import seal
from moestat.study.load import StudyFile

WHAT = {
    "experiment": "another experiment",
    "seed": "another seed",
    "settings": "other settings",
    "grid": "another grid",
    "arms": "other arms",
}


def refuse_foreign(dataset: xr.Dataset, study_file: StudyFile, request: Request, root: Path) -> None:
    """Refuse to report results under a study file that they are not results of, or that were edited.

    Raises
    ------
    StaleError
        The message says what differs, and what to run.
    """
    path = root / results.NAME
    written = dict(line.split("=", 1) for line in results.provenance(dataset)["problem"] if "=" in line)
    now = seal.problem(study_file.study, request.preset)
    plain = replace(request, accept_stale=False)
    differing = [WHAT[key] for key in now if key in written and written[key] != now[key]]
    if differing:
        accept = f", or use them as they are with: {request.command('collect')}" if request.accept_stale else ""
        raise StaleError(
            f"{path} holds results of {', '.join(differing)} than {study_file.shown} now asks for; give these results "
            f"their own folder (--out), or compute again with: {plain.command()}{accept}"
        )
    kept = manifest.read(root)
    wanted = kept.get("results_sha256")
    if wanted and wanted != hashlib.sha256(path.read_bytes()).hexdigest():
        raise StaleError(
            f"{path} was changed after it was written (its SHA-256 is not that of the manifest); make it again with: "
            f"{plain.command('collect')}"
        )
    sealed = seal.read(root)
    rules = str(dataset.attrs.get("rules", ""))
    if rules and (sealed is None or sealed.digest != rules):
        raise StaleError(
            f"{root / seal.NAME}, the rules as they were when the run started, was changed or removed; results judged "
            f"by rules that cannot be told must be computed again: {plain.command()} --fresh"
        )
