"""What a run begins with: its folder, its plan, the version of its code, and what stands in its way."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from moestat import extras, own_files
from moestat.errors import InputError, StaleError
from moestat.experiment import Cell, code_version
from moestat.runner import experiments, worker
from moestat.runner import plan as plans
from moestat.runner.request import Request
from moestat.sentences import listed
from moestat.study import load

DATA = ("file", "data", "csv")
"""Settings that name the user's own data."""


def folder_of(request: Request, study_name: str) -> Path:
    """Return the folder of a study's preset."""
    return request.out / study_name / request.preset


def cache_of(out: Path) -> str:
    """Return the folder of what cells share: the user's, or ``cache`` beside the studies."""
    return os.environ.get("MOESTAT_CACHE") or str((out / "cache").resolve())


def context_of(request: Request, plan: plans.Plan, root: Path, device: str) -> worker.Context:
    """Return what every task of a plan needs."""
    search_path = tuple(experiments.search_path(plan.study_file))
    return worker.Context(plan.module_name, search_path, str(root.resolve()), cache_of(request.out), device)


def make_plan(request: Request) -> plans.Plan:
    """Read the study file and make the plan that a request asks for."""
    return plans.make(load.read(request.study), request.preset, request)


def version_of(plan: plans.Plan) -> dict[str, str]:
    """Return the version of what a plan computes with; StaleError if this process has imported another one."""
    try:
        code = code_version(plan.module_name.partition(":")[0])
    except own_files.NoCodeError as error:
        raise InputError(
            f"{plan.study_file.shown}: experiment {plan.module_name!r}: {error}, so results could not be told from "
            "those of other code; allowed is a module with a file"
        ) from None
    except ValueError as error:
        raise InputError(f"{plan.study_file.shown}: {error}") from None
    if changed := own_files.edited(name for name in code if name.endswith(".py")):
        raise StaleError(
            f"{listed(changed)} changed on the disk after this process had imported it, so old code would compute what "
            "is stored as the new code's; restart the process (Python, or the notebook's kernel) and run again"
        )
    return code


def refuse_without_libraries(plan: plans.Plan) -> None:
    """Refuse to compute with what is not installed: every replicate would be recorded as failed."""
    if importlib.util.find_spec("torch") is not None:
        return
    # of moestat's own experiments alone; a user's may do without, for some settings
    ours = own_files.closure([plan.module_name], lambda name: name.startswith("moestat."))
    if any("torch" in own_files.imports(name) for name in ours):
        raise InputError(
            f"the study {plan.study_file.name} needs PyTorch, which is not installed; install it with: "
            f"{extras.command('neural')}"
        )


def refuse_bad_data(plan: plans.Plan) -> None:
    """Read the user's own data before the first replicate, each file once; InputError names file, row and column."""
    read = getattr(plan.experiment, "read_data", lambda settings: None)
    done: set[str] = set()
    for planned in plan.cells:
        settings = planned.cell.settings
        key = json.dumps({key: value for key, value in settings.items() if isinstance(value, str)}, sort_keys=True)
        if key in done or not any(settings.get(name) for name in DATA):
            continue
        done.add(key)
        try:
            read(settings)
        except (ValueError, OSError) as error:
            raise InputError(f"{plan.study_file.shown}, arm '{planned.cell.arm}': {error}") from None


def cautions(plan: plans.Plan) -> list[str]:
    """Return what the experiment warns of in the cells of a plan, each sentence once."""
    found = getattr(plan.experiment, "cautions", lambda settings: [])
    return list(dict.fromkeys(text for planned in plan.cells for text in found(planned.cell.settings)))


def prerequisites(experiment: Any, cells: Iterable[Cell], note: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the work that cells share, each piece once; of a cell that cannot tell it, ``note`` says why."""
    wanted = getattr(experiment, "prerequisites", lambda cell: [])
    unique: dict[str, dict[str, Any]] = {}
    for cell in cells:
        try:
            for piece in wanted(cell):
                unique.setdefault(json.dumps(piece, sort_keys=True, default=repr), piece)
        except Exception as error:
            note(f"what {cell.arm} shares with other cells cannot be told: {worker.describe(error)}")
    return list(unique.values())
