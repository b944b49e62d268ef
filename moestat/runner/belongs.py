"""Whether results belong to a study file. Whether they are as they were written: :func:`results.altered`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import xarray as xr

from moestat.errors import StaleError
from moestat.runner import results
from moestat.runner.request import Request
from moestat.study import seal
from moestat.study.load import StudyFile
from moestat.study.spec import Study


def problem_of(lines: Iterable[str]) -> dict[str, str]:
    """Return what results are results of, from the lines KEY=TEXT in which a manifest or a dataset keeps it."""
    return dict(line.split("=", 1) for line in lines if "=" in line)


def differing(written: Mapping[str, str], study: Study, preset: str) -> list[str]:
    """Return in words what results are of that a study at a preset is not; what is not known does not differ."""
    other = [key for key, text in seal.problem(study, preset).items() if written.get(key, text) != text]
    return [f"other {key}" if key in ("settings", "arms") else f"another {key}" for key in other]


def refuse_foreign(dataset: xr.Dataset, study_file: StudyFile, request: Request, root: Path) -> None:
    """Refuse to read or report results under a study file that they are not results of.

    Raises
    ------
    StaleError
        The message says what differs, and what to run.
    """
    others = differing(problem_of(results.provenance(dataset)["problem"]), study_file.study, request.preset)
    if others:
        raise StaleError(
            f"{root / results.NAME} holds results of {', '.join(others)} than {study_file.shown} now asks for; give "
            f"these results their own folder (--out), or compute again with: {request.command()}"
        )
    sealed = seal.read(root)
    rules = str(dataset.attrs.get("rules", ""))
    if rules and (sealed is None or sealed.digest != rules):
        raise StaleError(
            f"{root / seal.NAME}, the rules as they were when the run started, was changed or removed; results judged "
            f"by rules that cannot be told must be computed again: {request.command()} --fresh"
        )
