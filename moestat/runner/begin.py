"""What a run begins with: its folder, its plan, the version of its code, and the work that its cells share."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from moestat import extras, own_files
from moestat.errors import InputError, StaleError
from moestat.experiment import Cell, code_version
from moestat.runner import plan as plans
from moestat.runner import pool, worker
from moestat.runner.cells import Overrides
from moestat.runner.devices import default_jobs, visible_gpus
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


def make_plan(request: Request) -> plans.Plan:
    """Read the study file and make the plan that a request asks for."""
    overrides = Overrides(request.replicates, request.seed, request.block, request.settings)
    return plans.make(load.read(request.study), request.preset, overrides)


def version_of(plan: plans.Plan) -> dict[str, str]:
    """Return the version of what a plan computes with; see :mod:`moestat.versions`.

    Raises
    ------
    InputError
        If the code cannot be read, or the version is none.
    StaleError
        If this process has imported another version of it than the one on the disk.
    """
    try:
        code = code_version(plan.module_name.partition(":")[0])
    except own_files.NoCodeError as error:
        raise InputError(
            f"{plan.study_file.shown}: experiment {plan.module_name!r}: {error}, so results could not be told from "
            "those of other code; allowed is a module with a file"
        ) from None
    except ValueError as error:
        raise InputError(f"{plan.study_file.shown}: {error}") from None
    changed = own_files.edited(name for name in code if name.endswith(".py"))
    if changed:
        raise StaleError(
            f"{listed(changed)} changed on the disk after this process had imported it, so old code would compute what "
            "is stored as the new code's; restart the process (Python, or the notebook's kernel) and run again"
        )
    return code


def refuse_without_libraries(plan: plans.Plan) -> None:
    """Refuse to compute with what is not installed: every replicate would be recorded as failed.

    Raises
    ------
    InputError
        It says how to install what is missing.
    """
    if _needs_torch(plan.module_name) and importlib.util.find_spec("torch") is None:
        raise InputError(
            f"the study {plan.study_file.name} needs PyTorch, which is not installed; install it with: "
            f"{extras.command('neural')}"
        )


def _needs_torch(module: str) -> bool:
    """Whether an experiment of moestat imports PyTorch; a user's own may do without, for some settings."""
    ours = own_files.closure([module], lambda name: name.startswith("moestat."))
    return any("torch" in own_files.imports(name) for name in ours)


def refuse_bad_data(plan: plans.Plan) -> None:
    """Read the user's own data before the first replicate, each file once, where the experiment can.

    Raises
    ------
    InputError
        It names the file, and the row and the column where there is one.
    """
    read = getattr(plan.experiment, "read_data", None)
    done: set[str] = set()
    if read is None:
        return
    for planned in plan.cells:
        settings = planned.cell.settings
        if not any(settings.get(key) for key in DATA):
            continue
        texts = {key: value for key, value in settings.items() if isinstance(value, str)}
        key = json.dumps(texts, sort_keys=True)
        if key not in done:
            done.add(key)
            try:
                read(settings)
            except (ValueError, OSError) as error:
                raise InputError(f"{plan.study_file.shown}, arm '{planned.cell.arm}': {error}") from None


def cautions(plan: plans.Plan) -> list[str]:
    """Return what the experiment warns of in the cells of a plan, each sentence once."""
    found = getattr(plan.experiment, "cautions", None)
    if found is None:
        return []
    return list(dict.fromkeys(text for planned in plan.cells for text in found(planned.cell.settings)))


def prerequisites(
    wanted: Callable[[Cell], Iterable[dict[str, Any]]], cells: Iterable[Cell], note: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Return the work that cells share, each piece once; of a cell that cannot tell it, ``note`` says why."""
    unique: dict[str, dict[str, Any]] = {}
    for cell in cells:
        try:
            shared = wanted(cell)
        except Exception as error:
            note(f"what {cell.arm} shares with other cells cannot be told: {worker.describe(error)}")
            continue
        for prerequisite in shared:
            unique.setdefault(key_of(prerequisite), prerequisite)
    return unique


def key_of(prerequisite: Mapping[str, Any]) -> str:
    """Return what tells one piece of shared work from another."""
    return json.dumps(prerequisite, sort_keys=True, default=repr)


def place(request: Request, device: str, tasks: int) -> pool.Place:
    """Return where a number of tasks is computed: in this process, in processes of its own, or on a cluster."""
    here = pool.Place("here", 1)
    if request.backend == "dask":
        return pool.Place("dask", -1, scheduler=request.scheduler)
    if device == "cuda":
        gpus = visible_gpus()
        jobs = request.jobs or len(gpus)  # more than there are share them: one scores while another one fits
        devices = tuple(gpus[k % len(gpus)] for k in range(jobs))
        many = jobs > 1 or request.timeout is not None
        return pool.Place("gpus", jobs, devices=devices, timeout=request.timeout) if many else here
    jobs = request.jobs or default_jobs()
    if not tasks or (jobs == 1 and request.timeout is None):  # the main process cannot end itself in time
        return here
    return pool.Place("loky", jobs, timeout=request.timeout)
