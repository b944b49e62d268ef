"""From a study file and the command line to the list of cells and of blocks of replicates.

A plan says what should be there; :mod:`moestat.runner.store` says what is there. Nothing here depends on what was
computed before, so every process of an array job makes the same plan.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from moestat.errors import InputError
from moestat.experiment import Cell
from moestat.runner import experiments
from moestat.runner.request import Request
from moestat.sentences import listed, show
from moestat.study import load, presets
from moestat.study.checks import axis_problems
from moestat.study.load import StudyFile
from moestat.study.problems import path_text, problems
from moestat.study.spec import Arm, Preset

MOST_ROWS = 10**8


@dataclass(frozen=True)
class PlannedCell:
    """A cell, and its index on the dimensions (arm, *axes)."""

    cell: Cell
    position: tuple[int, ...]

    @property
    def digest(self) -> str:
        """That of the cell."""
        return self.cell.digest

    @property
    def slot(self) -> str:
        """The place of the cell in the study, whatever its settings are: arm and coordinates."""
        return slot_text(self.cell.arm, self.cell.coords)

    @property
    def size(self) -> float:
        """A guess of the cell's cost: the product of its numeric coordinates."""
        numbers = [v for v in self.cell.coords.values() if isinstance(v, int | float) and not isinstance(v, bool)]
        return math.prod(abs(float(v)) for v in numbers if v)


def slot_text(arm: str, coords: Mapping[str, Any]) -> str:
    """Return arm and coordinates as canonical text."""
    return json.dumps([arm, dict(coords)], sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Plan:
    """Everything that a run of a study at a preset comprises; ``request`` is what it was asked for.

    A study that reads the results of others has neither an experiment nor cells; ``module_name`` is then its reader.
    """

    study_file: StudyFile
    preset_name: str
    request: Request
    module_name: str
    experiment: ModuleType | None
    seed: int
    axes: Mapping[str, tuple[Any, ...]]
    arms: tuple[Arm, ...]
    cells: tuple[PlannedCell, ...]
    replicates: int
    block: int

    @property
    def preset(self) -> Preset:
        """The preset as it stands in the study."""
        return self.study_file.study.presets[self.preset_name]

    @property
    def root(self) -> Path:
        """The folder of its results."""
        return self.request.folder(self.study_file.name)

    @cached_property
    def by_digest(self) -> dict[str, list[PlannedCell]]:
        """The cells by digest; arms with equal settings share one."""
        table: dict[str, list[PlannedCell]] = {}
        for planned in self.cells:
            table.setdefault(planned.digest, []).append(planned)
        return table

    @cached_property
    def by_slot(self) -> dict[str, PlannedCell]:
        """The cells by arm and coordinates."""
        return {planned.slot: planned for planned in self.cells}

    @property
    def total(self) -> int:
        """The number of replicates of all cells that differ."""
        return len(self.by_digest) * self.replicates

    def on(self, device: str) -> Plan:
        """Return the plan for a device: a GPU fits all replicates of a cell at once, unless blocks were asked for."""
        if device != "cuda" or self.request.block is not None or not hasattr(self.experiment, "fits"):
            return self
        return replace(self, block=self.replicates)

    def blocks(self) -> Iterator[tuple[PlannedCell, range]]:
        """Yield every cell with the replicates of one shard, in an order that depends on the plan alone.

        The largest cells come first, which should not be left for the end; the arms of one size follow each other with
        the same replicates, for they share in a process their draws and what they are measured to.
        """
        cells = sorted((planned[0] for planned in self.by_digest.values()), key=lambda p: -p.size)
        for _, equal in itertools.groupby(cells, key=lambda p: p.size):
            group = list(equal)
            for first in range(0, self.replicates, self.block):
                for planned in group:
                    yield planned, range(first, min(first + self.block, self.replicates))


def of(request: Request) -> Plan:
    """Read the study file and make the plan that a request asks for."""
    return make(load.read(request.study), request.preset, request)


def make(study_file: StudyFile, preset_name: str = "quick", request: Request | None = None) -> Plan:
    """Make the plan of a study at a preset, with what a request changes in it.

    Settings are merged in this order, the later ones winning: the experiment's defaults, the study's ``settings``, the
    preset's, the arm's, ``--set``, the grid point. An arm that sets an axis of the grid itself lives only at those
    values. Raises InputError if the preset does not exist, a count is none, or a cell's settings are not valid; the
    message names file, key and what is allowed.
    """
    request = request or Request(study_file.name, preset_name)
    study, where = study_file.study, study_file.shown
    load.need_preset(study_file, preset_name)
    preset = study.presets[preset_name]
    replicates = request.extended or request.replicates or preset.replicates
    axes = _axes(study.grid | preset.grid, request.settings)
    arms = tuple(arm for arm in study.arms if presets.runs(study, preset_name, arm))
    _refuse_settings_of_arms(where, arms, request.settings)
    module_name, module = study.reads, None
    if study.reads:
        experiments.reader(study_file)
    else:
        module_name = experiments.resolve(study_file)
        module = experiments.load(module_name, where)
        axes |= _more_axes(module.Settings, axes, request.settings)
    points = math.prod(len(values) for values in axes.values())
    if len(arms) * points * replicates > MOST_ROWS:
        raise InputError(
            f"{where}: {len(arms)} arms x {points} grid points x {replicates} replicates are more than the {MOST_ROWS} "
            f"rows that one dataset is made for; lower presets.{preset_name}.replicates or --replicates"
        )
    block = min(request.block or preset.block or replicates, replicates)
    seed = study.seed if request.seed is None else request.seed
    made = Plan(study_file, preset_name, request, module_name, module, seed, axes, arms, (), replicates, block)
    if module is not None:
        made = replace(made, cells=tuple(_cells(made, module.Settings)))
        _refuse_equal_arms(where, made.cells)
    return made


# -- the grid ---------------------------------------------------------------------------------------------------------


def _axes(grid: Mapping[str, Sequence[Any]], settings: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return the axes of a grid, with the values that ``--set`` gives them."""
    axes = {axis: tuple(values) for axis, values in grid.items()}
    for key in axes.keys() & settings.keys():
        values = settings[key] if isinstance(settings[key], list) else [settings[key]]
        wrong = axis_problems(key, values) if _scalars(values) else [f"is {show(values)}; allowed are numbers and text"]
        if wrong:
            raise InputError(f"--set {key}: the axis {key} of the grid {wrong[0]}")
        axes[key] = tuple(values)
    return axes


def _more_axes(
    model: type[BaseModel], axes: Mapping[str, tuple[Any, ...]], settings: Mapping[str, Any]
) -> dict[str, tuple[Any, ...]]:
    """Return the axes that ``--set KEY=A,B,C`` adds: several values of a setting that takes one, and not the list."""
    several = {key: text.split(",") if isinstance(text, str) else text for key, text in settings.items()}
    more: dict[str, tuple[Any, ...]] = {}
    for key in model.model_fields.keys() & several.keys() - axes.keys():
        values, field = several[key], model.model_fields[key]
        if isinstance(values, list) and len(values) > 1 and _scalars(values):
            allowed: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, field])  # type: ignore[arg-type]
            if not _accepts(allowed, settings[key]) and all(_accepts(allowed, item) for item in values):
                more |= _axes({key: ()}, {key: values})
    return {key: more[key] for key in settings if key in more}


def _scalars(values: Sequence[Any]) -> bool:
    return all(isinstance(value, bool | int | float | str) for value in values)


def _accepts(allowed: TypeAdapter[Any], value: Any) -> bool:
    try:
        allowed.validate_python(value)
    except ValidationError:
        return False
    return True


# -- the cells --------------------------------------------------------------------------------------------------------


def _cells(plan: Plan, model: type[BaseModel]) -> Iterator[PlannedCell]:
    """Yield the cells of a plan, arm by arm, the last axis fastest."""
    index = {arm.name: at for at, arm in enumerate(plan.study_file.study.arms)}
    for arm_at, arm in enumerate(plan.arms):
        place = f"{plan.study_file.shown}: arms[{index[arm.name]}].settings"
        own = _own_values(plan, arm, place)
        for point in itertools.product(*(enumerate(values) for values in plan.axes.values())):
            coords = {axis: value for axis, (_, value) in zip(plan.axes, point, strict=True)}
            if all(coords[axis] in values for axis, values in own.items()):
                cell = Cell(plan.module_name, plan.seed, arm.name, coords, _settings(plan, model, arm, place, coords))
                yield PlannedCell(cell, (arm_at, *(at for at, _ in point)))


def _own_values(plan: Plan, arm: Arm, place: str) -> dict[str, list[Any]]:
    """Return the values of the grid's axes that an arm restricts itself to."""
    own = {}
    for axis in (plan.axes.keys() & arm.settings.keys()) - plan.request.settings.keys():
        given, values = arm.settings[axis], plan.axes[axis]
        own[axis] = given if isinstance(given, list) else [given]
        if not any(value in values for value in own[axis]):
            raise InputError(
                f"{place}.{axis} ('{arm.name}') is {show(given)}, which is not on the grid of preset "
                f"{plan.preset_name!r}; allowed are {listed(values)}"
            )
    return own


def _settings(plan: Plan, model: type[BaseModel], arm: Arm, place: str, coords: Mapping[str, Any]) -> dict[str, Any]:
    """Return every setting of a cell as JSON-like values; InputError names the layer that a wrong one came from."""
    where = plan.study_file.shown
    layers: dict[str, Mapping[str, Any]] = {  # later ones win
        f"{where}: settings": plan.study_file.study.settings,
        f"{where}: presets.{plan.preset_name}.settings": plan.preset.settings,
        place: arm.settings,
        "--set": plan.request.settings,
        f"{where}: grid": coords,
    }
    merged: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for layer, values in layers.items():
        merged |= values
        origin |= dict.fromkeys(values, layer)
    wrong: list[tuple[tuple[int | str, ...], str]] = []
    try:
        settings = model.model_validate(merged).model_dump(mode="json")
        json.dumps(settings, allow_nan=False)
    except ValidationError as error:
        wrong = problems(error, model, merged)[:8]
    except ValueError:  # of a model that takes them
        wrong = [((), "hold a number that is not finite")]
    except RecursionError:
        wrong = [((), "are nested too deeply")]
    lines = []
    for loc, what in wrong:
        layer = origin.get(str(loc[0]) if loc else "", place)  # of what is missing: it can be set there
        name = f" ('{arm.name}')" if layer == place else ""
        key = f"{layer}{'.' * bool(loc)}{path_text(loc)}{name}"
        lines.append(f"--set {path_text(loc)}: the setting {what}" if layer == "--set" else f"{key} {what}")
    if lines:
        raise InputError("\n".join(lines))
    return settings


def _refuse_settings_of_arms(where: str, arms: Sequence[Arm], settings: Mapping[str, Any]) -> None:
    """Refuse ``--set`` of a setting in which arms differ: their names would lie, and claims compare equal arms."""
    for key in settings:
        if len({repr(arm.settings.get(key)) for arm in arms}) > 1:
            names = listed([arm.name for arm in arms if key in arm.settings])
            raise InputError(
                f"--set {key}: the arms of {where} differ in {key}, which {names} set themselves, so they cannot "
                "have one value; change the arms in a study file of your own, or choose a preset without them"
            )


def _refuse_equal_arms(where: str, cells: Sequence[PlannedCell]) -> None:
    """Refuse arms that have all settings of another in every cell: two names of one thing, compared as two."""
    own: dict[str, list[str]] = {}
    for planned in cells:
        own.setdefault(planned.cell.arm, []).append(planned.digest)
    first: dict[tuple[str, ...], str] = {}
    for arm, digests in own.items():
        if (other := first.setdefault(tuple(digests), arm)) != arm:
            raise InputError(
                f"{where}: arm '{arm}' has the settings of arm '{other}' in every cell, defaults included; allowed are "
                "arms that differ in a setting or their presets"
            )
