"""What a run begins with: its device, the version of its code, and what stands in its way."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from moestat import arrays, callables, extras, own_files
from moestat.errors import InputError, StaleError
from moestat.experiment import Cell, code_version
from moestat.fit import rates
from moestat.runner import experiments, worker
from moestat.runner import plan as plans
from moestat.runner.plan import Plan
from moestat.runner.request import Request
from moestat.sentences import listed
from moestat.study.load import StudyFile

OURS, WITHOUT = ("moestat.", "studies."), ("moestat.models.tangents",)
"""Modules that need what they import, and one of them that does without PyTorch where that is not installed."""
DATA = ("file", "data", "csv")
"""Settings that name the user's own data."""


def context_of(plan: Plan) -> worker.Context:
    """Return what every task of a plan needs; what cells share is kept where the user says, or beside the studies."""
    cache = os.environ.get("MOESTAT_CACHE") or str((plan.request.out / "cache").resolve())
    search_path = tuple(experiments.search_path(plan.study_file))
    device, code = resolve_device(plan.request.device, plan), version_of(plan)
    carried: Callable[..., list[dict[str, str]]] = getattr(plan.experiment, "carried", lambda settings: [])
    sent = callables.send((one for p in plan.cells for one in carried(p.cell.settings)), Path(cache))
    return worker.Context(plan.module_name, search_path, str(plan.root.resolve()), cache, device, code, sent)


def version_of(plan: Plan) -> dict[str, str]:
    """Return the version of what a plan computes with; StaleError if this process has imported another one."""
    try:
        code = code_version(plan.module_name.partition(":")[0])
    except ValueError as error:
        raise InputError(f"{plan.study_file.shown}: experiment {plan.module_name!r}: {error}") from None
    if changed := own_files.edited(name for name in code if name.endswith(".py")):
        raise StaleError(
            f"{listed(changed)} changed on the disk after this process had imported it, so old code would compute what "
            "is stored as the new code's; restart the process (Python, or the notebook's kernel) and run again"
        )
    return code


def resolve_device(asked: str, plan: Plan) -> str:
    """Return the device to compute on; ``auto`` is the first that the experiment's ``DEVICES`` name and is there."""
    able = getattr(plan.experiment, "DEVICES", ("cpu",) if asked == "auto" else arrays.DEVICES)
    if asked == "auto" and (able[0] == "cpu" or len(able) == 1):
        asked = able[0]
    if asked not in ("auto", *able):
        raise InputError(f"--device is {asked}; experiment {plan.module_name} computes on {', '.join(able)}")
    try:
        return arrays.resolve_device(asked)
    except (arrays.DeviceError, ValueError) as error:
        raise InputError(f"--device: {error}") from None


def auto_device(plan: Plan, cores: int) -> tuple[str, str]:
    """Return the device of a run that may choose, and why it was chosen where there is a choice.

    An experiment that computes on both and tells its ``fits`` takes a GPU if recorded rates say that it is faster.
    """
    device = resolve_device("auto", plan)
    fits = getattr(plan.experiment, "fits", None)
    if fits is None or device == "cuda" or arrays.resolve_device("auto") != "cuda":
        return device, ""
    blocks = [fits(planned.cell, replicates) for planned, replicates in plan.on("cuda").blocks()]
    if not all(blocks):
        return device, "for some of its cells no rate of a GPU is recorded"
    taken, why = rates.faster((one for block in blocks for one in block), cores)
    return ("cuda" if taken else "cpu"), why


def beyond(request: Request, study_file: StudyFile) -> str:
    """Say why a study cannot be run at a preset here; an empty text where it can."""
    known = study_file.study.presets
    if request.preset not in known:
        return f"it has no preset {request.preset!r}; it has {', '.join(known)}"
    plan = plans.of(request)
    if getattr(plan.experiment, "DEVICES", None) == ("cuda",):
        try:
            resolve_device("auto", plan)
        except InputError:
            return f"it computes on a GPU; its command: {request.command()}"
    return ""


def refuse_without_libraries(plan: Plan) -> None:
    """Refuse to compute with what is not installed: every replicate would be recorded as failed."""
    if importlib.util.find_spec("torch") is not None:
        return
    # of moestat's own experiments alone; a user's may do without, for some settings
    ours = own_files.closure([plan.module_name], lambda name: name.startswith(OURS) and name not in WITHOUT)
    if any("torch" in own_files.imports(name) for name in ours):
        raise InputError(
            f"the study {plan.study_file.name} needs PyTorch, which is not installed; install it with: "
            f"{extras.command('neural')}"
        )


def refuse_bad_data(plan: Plan) -> None:
    """Read the user's own data before the first replicate, each file once; InputError names file, row and column."""
    read = getattr(plan.experiment, "read_data", lambda settings: None)
    done: set[str] = set()
    for planned in plan.cells:
        settings = planned.cell.settings
        key = json.dumps({key: value for key, value in settings.items() if isinstance(value, str)}, sort_keys=True)
        if key not in done and any(settings.get(name) for name in DATA):
            done.add(key)
            try:
                read(settings)
            except (ValueError, OSError) as error:
                raise InputError(f"{plan.study_file.shown}, arm '{planned.cell.arm}': {error}") from None


def cautions(plan: Plan) -> list[str]:
    """Return what the experiment warns of in the cells of a plan, each sentence once."""
    found: Callable[..., list[str]] = getattr(plan.experiment, "cautions", lambda settings: [])
    return list(dict.fromkeys(text for planned in plan.cells for text in found(planned.cell.settings)))


def prerequisites(experiment: Any, cells: Iterable[Cell], note: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the work that cells share, each piece once; of a cell that cannot tell it, ``note`` says why."""
    wanted: Callable[..., list[dict[str, Any]]] = getattr(experiment, "prerequisites", lambda cell: [])
    unique: dict[str, dict[str, Any]] = {}
    for cell in cells:
        try:
            unique |= {json.dumps(piece, sort_keys=True, default=repr): piece for piece in wanted(cell)}
        except Exception as error:
            note(f"what {cell.arm} shares with other cells cannot be told: {worker.describe(error)}")
    return list(unique.values())
