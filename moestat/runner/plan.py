"""From a study file and the command line to the list of cells and of blocks of replicates.

A plan says what should be there; :mod:`moestat.runner.store` says what is there. Nothing here depends on what was
computed before, so every process of an array job makes the same plan.
"""

from __future__ import annotations

import fnmatch
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from moestat.errors import InputError
from moestat.experiment import Cell
from moestat.runner import experiments
from moestat.sentences import listed, show
from moestat.study.load import StudyFile, axis_problems, need_preset
from moestat.study.problems import path_text, problems
from moestat.study.spec import Arm, Preset

MOST_REPLICATES = 2**32
MOST_ROWS = 10**8
MOST_BLOCKS = 10**6


@dataclass(frozen=True)
class Overrides:
    """What the command line changes in a study: its part of the request."""

    replicates: int | None = None
    seed: int | None = None
    block: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PlannedCell:
    """A cell, its digest, and its index on the dimensions (arm, *axes)."""

    cell: Cell
    digest: str
    position: tuple[int, ...]

    @property
    def slot(self) -> str:
        """The place of the cell in the study, whatever its settings are: arm and coordinates."""
        return slot_text(self.cell.arm, self.cell.coords)

    @property
    def size(self) -> float:
        """A guess of the cell's cost: the product of its numeric coordinates."""
        numbers = [v for v in self.cell.coords.values() if isinstance(v, int | float) and not isinstance(v, bool)]
        return math.prod(abs(float(v)) for v in numbers if v)

    @property
    def label(self) -> str:
        """The cell as it is printed: ``arm softmax, n = 1000``."""
        return ", ".join([f"arm {self.cell.arm}", *(f"{axis} = {v}" for axis, v in self.cell.coords.items())])


@dataclass(frozen=True)
class Block:
    """Replicates of one cell that are computed together and stored in one shard."""

    planned: PlannedCell
    replicates: Sequence[int]


@dataclass(frozen=True)
class Plan:
    """Everything that a run of a study at a preset comprises.

    A study that reads the results of others has neither an experiment nor cells; ``module_name`` is then its reader.
    """

    study_file: StudyFile
    preset_name: str
    preset: Preset
    overrides: Overrides
    module_name: str
    experiment: ModuleType | None
    seed: int
    axes: Mapping[str, tuple[Any, ...]]
    arms: tuple[Arm, ...]
    cells: tuple[PlannedCell, ...]
    replicates: int
    block: int

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

    def blocks(self) -> Iterator[Block]:
        """Yield every block of the study, largest cells first, in an order that depends on the plan alone."""
        distinct = [planned[0] for planned in self.by_digest.values()]
        for planned in sorted(distinct, key=lambda p: -p.size):
            for first in range(0, self.replicates, self.block):
                yield Block(planned, range(first, min(first + self.block, self.replicates)))


def slot_text(arm: str, coords: Mapping[str, Any]) -> str:
    """Return arm and coordinates as canonical text."""
    return json.dumps([arm, dict(coords)], sort_keys=True, separators=(",", ":"))


def make(study_file: StudyFile, preset_name: str = "quick", overrides: Overrides | None = None) -> Plan:
    """Make the plan of a study at a preset.

    Settings are merged in this order, the later ones winning: the experiment's defaults, the study's ``settings``,
    the preset's, the arm's, the grid point, ``--set``. An arm that sets an axis of the grid itself lives only at
    those values.

    Raises
    ------
    InputError
        If the preset does not exist or a cell's settings are not valid; the message names file, key and what is
        allowed.
    """
    overrides = overrides or Overrides()
    study, where = study_file.study, study_file.shown
    need_preset(study_file, preset_name)
    preset = study.presets[preset_name]
    replicates = preset.replicates if overrides.replicates is None else overrides.replicates
    if replicates > MOST_REPLICATES:
        key = f"{where}: presets.{preset_name}.replicates" if overrides.replicates is None else "--replicates"
        raise InputError(f"{key} is {show(replicates)}; allowed are 1 to {MOST_REPLICATES}")
    axes = _axes(study_file, preset_name, preset, overrides)
    arms = tuple(arm for arm in study.arms if any(fnmatch.fnmatchcase(arm.name, p) for p in preset.arms))
    _refuse_settings_of_arms(where, arms, overrides)
    module_name, module = study.reads, None
    if study.reads:
        experiments.reader(study_file)
    else:
        module_name = experiments.resolve(study_file)
        module = experiments.load(module_name, where)
        axes |= more_axes(module.Settings, axes, overrides.settings)
    block = min(overrides.block or preset.block or replicates, replicates)
    points = math.prod(len(values) for values in axes.values())
    if len(arms) * points * math.ceil(replicates / block) > MOST_BLOCKS:
        raise InputError(
            f"{where}: {len(arms)} arms x {points} grid points x {replicates} replicates in blocks of {block} would "
            f"make more than {MOST_BLOCKS} shards; raise presets.{preset_name}.block or --block"
        )
    if len(arms) * points * replicates > MOST_ROWS:
        raise InputError(
            f"{where}: {len(arms)} arms x {points} grid points x {replicates} replicates are more than the "
            f"{MOST_ROWS} rows that one dataset is made for; lower presets.{preset_name}.replicates or --replicates"
        )
    seed = study.seed if overrides.seed is None else overrides.seed
    cells: tuple[PlannedCell, ...] = ()
    if module is not None:
        builder = _Builder(study_file, preset_name, preset, overrides, module, module_name, seed, axes)
        cells = tuple(builder.cells(arms))
    return Plan(
        study_file=study_file,
        preset_name=preset_name,
        preset=preset,
        overrides=overrides,
        module_name=module_name,
        experiment=module,
        seed=seed,
        axes=axes,
        arms=arms,
        cells=cells,
        replicates=replicates,
        block=block,
    )


def _refuse_settings_of_arms(where: str, arms: Sequence[Arm], overrides: Overrides) -> None:
    """Refuse ``--set`` of a setting in which arms differ: their names would lie, and claims compare equal arms."""
    for key in overrides.settings:
        own = {json.dumps(arm.settings.get(key), sort_keys=True, default=str) for arm in arms}
        if len(own) > 1:
            names = listed([arm.name for arm in arms if key in arm.settings])
            raise InputError(
                f"--set {key}: the arms of {where} differ in {key}, which {names} set themselves, so they cannot "
                "have one value; change the arms in a study file of your own, or choose a preset without them"
            )


def _axes(study_file: StudyFile, preset_name: str, preset: Preset, overrides: Overrides) -> dict[str, tuple[Any, ...]]:
    axes = {axis: tuple(values) for axis, values in (study_file.study.grid | preset.grid).items()}
    for key, value in overrides.settings.items():
        if key in axes:
            values = list(value) if isinstance(value, list) else [value]
            scalars = all(isinstance(v, bool | int | float | str) for v in values)
            wrong = axis_problems(key, values) if scalars else [f"is {show(value)}; allowed are numbers and text"]
            if wrong:
                raise InputError(f"--set {key}: the axis {key} of the grid {wrong[0]}")
            axes[key] = tuple(values)
    return axes


def more_axes(
    model: type[BaseModel], axes: Mapping[str, tuple[Any, ...]], settings: Mapping[str, Any]
) -> dict[str, tuple[Any, ...]]:
    """Return the axes that ``--set KEY=A,B,C`` adds to the grid: several values of a setting that takes one.

    Parameters
    ----------
    model : type of BaseModel
        The settings of the experiment.
    axes : mapping
        The axes of the study.
    settings : mapping
        What the command line sets. A list that the setting takes as it is stays its value.
    """
    more = {}
    for key, value in settings.items():
        values = value.split(",") if isinstance(value, str) else value
        if key in axes or key not in model.model_fields or not isinstance(values, list) or len(values) < 2:
            continue
        field = model.model_fields[key]
        allowed: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, field])
        scalars = all(isinstance(item, bool | int | float | str) for item in values)
        if scalars and not _accepts(allowed, value) and all(_accepts(allowed, item) for item in values):
            if wrong := axis_problems(key, values):
                raise InputError(f"--set {key}: several values make the setting an axis of the grid, which {wrong[0]}")
            more[key] = tuple(values)
    return more


def _accepts(allowed: TypeAdapter[Any], value: Any) -> bool:
    try:
        allowed.validate_python(value)
    except ValidationError:
        return False
    return True


@dataclass(frozen=True)
class _Builder:
    """Merges the layers of settings of each cell, and knows which layer a wrong setting came from."""

    study_file: StudyFile
    preset_name: str
    preset: Preset
    overrides: Overrides
    module: ModuleType
    module_name: str
    seed: int
    axes: Mapping[str, tuple[Any, ...]]

    def cells(self, arms: tuple[Arm, ...]) -> Iterator[PlannedCell]:
        index = {arm.name: i for i, arm in enumerate(self.study_file.study.arms)}
        for arm_at, arm in enumerate(arms):
            allowed = self._own_values(arm, index[arm.name])
            for position, coords in _points(self.axes):
                if all(coords[axis] in values for axis, values in allowed.items()):
                    cell = self._cell(arm, index[arm.name], coords)
                    yield PlannedCell(cell=cell, digest=cell.digest, position=(arm_at, *position))

    def _own_values(self, arm: Arm, at: int) -> dict[str, list[Any]]:
        """The values of the grid's axes that an arm restricts itself to."""
        own = {}
        for axis, values in self.axes.items():
            if axis not in arm.settings or axis in self.overrides.settings:
                continue
            given = arm.settings[axis]
            own[axis] = given if isinstance(given, list) else [given]
            if not any(value in values for value in own[axis]):
                raise InputError(
                    f"{self.study_file.shown}: arms[{at}].settings.{axis} ('{arm.name}') is {show(given)}, which is "
                    f"not on the grid of preset {self.preset_name!r}; allowed are {listed(values)}"
                )
        return own

    def _cell(self, arm: Arm, at: int, coords: Mapping[str, Any]) -> Cell:
        study, name = self.study_file.study, f"arms[{at}].settings ('{arm.name}')"
        free = {key: value for key, value in self.overrides.settings.items() if key not in self.axes}
        layers: list[tuple[str, Mapping[str, Any]]] = [
            ("settings", study.settings),
            (f"presets.{self.preset_name}.settings", self.preset.settings),
            (name, {key: value for key, value in arm.settings.items() if key not in self.axes}),
            ("grid", coords),
            ("--set", free),
        ]
        merged: dict[str, Any] = {}
        origin: dict[str, str] = {}
        for layer, values in layers:
            merged |= values
            origin |= dict.fromkeys(values, layer)
        try:
            settings = self.module.Settings.model_validate(merged).model_dump(mode="json")
        except ValidationError as error:
            complaints = problems(error, self.module.Settings, merged)
            raise InputError("\n".join(self._line(loc, what, origin, arm) for loc, what in complaints[:8])) from None
        except RecursionError:
            raise InputError(
                f"{self.study_file.shown}: the settings of arm '{arm.name}' are nested too deeply"
            ) from None
        cell = Cell(
            experiment=self.module_name, study_seed=self.seed, arm=arm.name, coords=dict(coords), settings=settings
        )
        for key, value in settings.items():
            if not _is_plain(value):
                what = f"is {show(value)}; allowed are finite numbers of 64 bits, truth values, text, and lists of them"
                raise InputError(self._line((key,), what, origin, arm))
        return cell

    def _line(self, loc: tuple[int | str, ...], what: str, origin: Mapping[str, str], arm: Arm) -> str:
        where = self.study_file.shown
        if not loc:
            return f"{where}: settings of arm '{arm.name}': {what}"
        key = str(loc[0])
        layer = origin.get(key)
        if layer is None:
            return f"{where}: settings.{path_text(loc)} {what} (experiment {self.module_name}, arm '{arm.name}')"
        if layer == "--set":
            return f"--set {path_text(loc)}: the setting {what}"
        if layer.startswith("arms"):
            place, _, name = layer.partition(" ")
            return f"{where}: {place}.{path_text(loc)} {name} {what}"
        return f"{where}: {layer}.{path_text(loc)} {what}"


def _is_plain(value: Any) -> bool:
    """Whether a setting has one canonical JSON text that every reader understands."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool | str) or (isinstance(value, int) and abs(value) < 2**63)


def _points(axes: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """Yield (index, coordinates) of every point of the grid, the last axis fastest."""
    if not axes:
        yield (), {}
        return
    *rest, last = axes
    for index, coords in _points({axis: axes[axis] for axis in rest}):
        for at, value in enumerate(axes[last]):
            yield (*index, at), {**coords, last: value}
