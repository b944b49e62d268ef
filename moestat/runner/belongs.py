"""Whether results belong to a study file, and hold what its claims are about.

Whether they are as they were written: :func:`moestat.runner.results.altered`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import xarray as xr

from moestat.errors import StaleError
from moestat.runner import experiments, needs, results
from moestat.runner.request import Request
from moestat.sentences import counted, nearest
from moestat.status import Status
from moestat.study import seal
from moestat.study.load import StudyFile
from moestat.study.presets import named, runs_arms
from moestat.study.spec import Study

OWN_RULES = "moestat.claims.rules:"
"""Rules whose ``variable`` is one of the results; what it is to another function is that one's own affair."""


def problem_of(lines: Iterable[str]) -> dict[str, str]:
    """Return what results are results of, from the lines KEY=TEXT in which a manifest or a dataset keeps it."""
    return dict(line.split("=", 1) for line in lines if "=" in line)


def differing(written: Mapping[str, str], study: Study, preset: str) -> list[str]:
    """Return in words what results are of that a study at a preset is not; what is not known does not differ."""
    other = [key for key, text in seal.problem(study, preset).items() if written.get(key, text) != text]
    return [f"other {key}" if key in ("settings", "arms") else f"another {key}" for key in other]


def refuse_foreign(dataset: xr.Dataset, study_file: StudyFile, request: Request, root: Path) -> None:
    """Refuse to read or report results under a study file that they are not results of.

    Raises StaleError: the message says what differs, and what to run.
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


def absent(dataset: xr.Dataset, study: Study, preset: str) -> str:
    """Say which variables of the claims of a preset the results do not hold, in arms that have any values, or nothing.

    Where another study condenses these results, a claim may be about what that adds to a record.
    """
    held, texts = [str(name) for name in dataset.data_vars], []
    arms = [str(arm) for arm in dataset["arm"].values]
    alive = dataset["status"].isin([int(s) for s in Status if s.has_value])
    for index, claim in enumerate(study.claims):
        own = claim.kind != "function" or claim.function.startswith(OWN_RULES)
        if not (own and named(preset, claim) and runs_arms(study, preset, claim)):
            continue
        versus = claim.versus or claim.arm
        names = ("variable", claim.variable, claim.arm), ("versus_variable", claim.versus_variable, versus)
        for key, name, arm in names:
            there = alive.isel(arm=arms.index(arm)) if arm in arms else alive if not arm or "*" in arm else None
            if name and name not in held and there is not None and there.any():
                texts.append(f"claims[{index}].{key} ('{claim.id}') is {name!r}{nearest(name, held) or '.'}")
    study_name = str(dataset.attrs["study"])
    if not texts or any(experiments.condenser(reader) for reader, _ in needs.readers(study_name, preset)):
        return ""
    verb = "names a variable" if len(texts) == 1 else "name variables"
    return f"{counted(len(texts), 'claim')} {verb} that the results do not hold: {' '.join(texts[:8])}"
