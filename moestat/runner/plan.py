"""From a study file and the command line to the list of cells and of blocks of replicates.

A plan says what should be there; :mod:`moestat.runner.store` says what is there. Nothing here depends on what was
computed before, so every process of an array job makes the same plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from moestat.errors import InputError
from moestat.runner import experiments
from moestat.runner.cells import Builder, PlannedCell
from moestat.runner.request import LIMITS, Request
from moestat.sentences import listed, show
from moestat.study import presets
from moestat.study.checks import axis_problems
from moestat.study.load import StudyFile, need_preset
from moestat.study.spec import Arm, Preset

MOST_ROWS = 10**8
MOST_BLOCKS = 10**6


@dataclass(frozen=True)
class Block:
    """Replicates of one cell that are computed together and stored in one shard."""

    planned: PlannedCell
    replicates: Sequence[int]


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
        """Yield every block of the study, in an order that depends on the plan alone.

        The smallest of each arm come first, which show mistakes and times at once; then the largest cells, which
        should not be left for the end.
        """
        distinct = sorted((planned[0] for planned in self.by_digest.values()), key=lambda p: -p.size)
        blocks = [
            Block(planned, range(start, min(start + self.block, self.replicates)))
            for planned in distinct
            for start in range(0, self.replicates, self.block)
        ]
        smallest = {planned.cell.arm: planned.digest for planned in distinct}.values()
        yield from sorted(blocks, key=lambda b: b.planned.digest not in smallest or b.replicates[0] > 0)


def make(study_file: StudyFile, preset_name: str = "quick", request: Request | None = None) -> Plan:
    """Make the plan of a study at a preset, with what a request changes in it.

    Settings are merged in this order, the later ones winning: the experiment's defaults, the study's ``settings``,
    the preset's, the arm's, the grid point, ``--set``. An arm that sets an axis of the grid itself lives only at
    those values.

    Raises
    ------
    InputError
        If the preset does not exist, a count is none, or a cell's settings are not valid; the message names file, key
        and what is allowed.
    """
    request = request or Request(study_file.name)
    study, where = study_file.study, study_file.shown
    need_preset(study_file, preset_name)
    preset = study.presets[preset_name]
    replicates = preset.replicates if request.replicates is None else request.replicates
    if replicates > LIMITS["replicates"][1]:  # of the file; its least is in the schema, that of a request with it
        key, most = f"{where}: presets.{preset_name}.replicates", LIMITS["replicates"][1]
        raise InputError(f"{key} is {show(replicates)}; allowed are whole numbers from 1 to {most}")
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
    block = min(request.block or preset.block or replicates, replicates)
    points = math.prod(len(values) for values in axes.values())
    what = f"{where}: {len(arms)} arms x {points} grid points x {replicates} replicates"
    if len(arms) * points * math.ceil(replicates / block) > MOST_BLOCKS:
        raise InputError(
            f"{what} in blocks of {block} would make more than {MOST_BLOCKS} shards; raise "
            f"presets.{preset_name}.block or --block"
        )
    if len(arms) * points * replicates > MOST_ROWS:
        raise InputError(
            f"{what} are more than the {MOST_ROWS} rows that one dataset is made for; lower "
            f"presets.{preset_name}.replicates or --replicates"
        )
    seed = study.seed if request.seed is None else request.seed
    cells: tuple[PlannedCell, ...] = ()
    if module is not None:
        cells = tuple(Builder(study_file, preset_name, request, module, module_name, seed, axes).cells(arms))
        _refuse_equal_arms(study_file, preset_name, cells)
    return Plan(study_file, preset_name, request, module_name, module, seed, axes, arms, cells, replicates, block)


def _refuse_settings_of_arms(where: str, arms: Sequence[Arm], settings: Mapping[str, Any]) -> None:
    """Refuse ``--set`` of a setting in which arms differ: their names would lie, and claims compare equal arms."""
    for key in settings:
        if len({repr(arm.settings.get(key)) for arm in arms}) > 1:
            names = listed([arm.name for arm in arms if key in arm.settings])
            raise InputError(
                f"--set {key}: the arms of {where} differ in {key}, which {names} set themselves, so they cannot "
                "have one value; change the arms in a study file of your own, or choose a preset without them"
            )


def _refuse_equal_arms(study_file: StudyFile, preset_name: str, cells: Sequence[PlannedCell]) -> None:
    """Refuse arms that have all settings of another in every cell: two names of one thing, compared as two."""
    own: dict[str, tuple[str, ...]] = {}
    for planned in cells:
        own[planned.cell.arm] = (*own.get(planned.cell.arm, ()), planned.digest)
    at = {arm.name: index for index, arm in enumerate(study_file.study.arms)}
    first: dict[tuple[str, ...], str] = {}
    for arm, digests in own.items():
        if (other := first.setdefault(digests, arm)) != arm:
            raise InputError(
                f"{study_file.shown}: arms[{at[arm]}] ('{arm}') has the settings of arms[{at[other]}] ('{other}') in "
                f"every cell of preset {preset_name!r}, defaults included; allowed are arms that differ in a setting "
                "or their presets"
            )


def _axes(grid: Mapping[str, Sequence[Any]], settings: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
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
    more = {}
    for key, value in settings.items():
        field = model.model_fields.get(key)
        values = value.split(",") if isinstance(value, str) else value
        if field is None or key in axes or not isinstance(values, list) or len(values) < 2 or not _scalars(values):
            continue
        allowed: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, field])  # type: ignore[arg-type]
        if not _accepts(allowed, value) and all(_accepts(allowed, item) for item in values):
            if wrong := axis_problems(key, values):
                raise InputError(f"--set {key}: several values make the setting an axis of the grid, which {wrong[0]}")
            more[key] = tuple(values)
    return more


def _scalars(values: Sequence[Any]) -> bool:
    return all(isinstance(value, bool | int | float | str) for value in values)


def _accepts(allowed: TypeAdapter[Any], value: Any) -> bool:
    try:
        allowed.validate_python(value)
    except ValidationError:
        return False
    return True
