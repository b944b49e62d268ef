"""Whether results belong to a study file. Whether they are as they were written: :func:`results.altered`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import xarray as xr

from moestat.errors import StaleError
from moestat.runner import results
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
    """Refuse to read or report results under a study file that they are not results of.

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
    sealed = seal.read(root)
    rules = str(dataset.attrs.get("rules", ""))
    if rules and (sealed is None or sealed.digest != rules):
        raise StaleError(
            f"{root / seal.NAME}, the rules as they were when the run started, was changed or removed; results judged "
            f"by rules that cannot be told must be computed again: {plain.command()} --fresh"
        )
