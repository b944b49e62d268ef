"""From a study file and the command line to the list of cells and of blocks of replicates.

A plan says what should be there; :mod:`moestat.runner.store` says what is there. Nothing here depends on what was
computed before, so every process of an array job makes the same plan.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from moestat.errors import InputError
from moestat.runner import experiments
from moestat.runner.cells import Builder, Overrides, PlannedCell
from moestat.sentences import listed, show
from moestat.study import presets
from moestat.study.checks import axis_problems
from moestat.study.load import StudyFile, need_preset
from moestat.study.spec import Arm, Preset

__all__ = ["Overrides", "Plan", "PlannedCell", "make", "more_axes"]

MOST_REPLICATES = 2**32
MOST_ROWS = 10**8
MOST_BLOCKS = 10**6


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


def make(study_file: StudyFile, preset_name: str = "quick", overrides: Overrides | None = None) -> Plan:
    """Make the plan of a study at a preset.

    Settings are merged in this order, the later ones winning: the experiment's defaults, the study's ``settings``,
    the preset's, the arm's, the grid point, ``--set``. An arm that sets an axis of the grid itself lives only at
    those values.

    Raises
    ------
    InputError
        If the preset does not exist, a count is none, or a cell's settings are not valid; the message names file, key
        and what is allowed.
    """
    overrides = overrides or Overrides()
    _refuse_other_counts(overrides)
    study, where = study_file.study, study_file.shown
    need_preset(study_file, preset_name)
    preset = study.presets[preset_name]
    replicates = preset.replicates if overrides.replicates is None else overrides.replicates
    if replicates > MOST_REPLICATES:  # the least is in the schema of the file
        key = f"{where}: presets.{preset_name}.replicates"
        raise InputError(f"{key} is {show(replicates)}; allowed are whole numbers from 1 to {MOST_REPLICATES}")
    axes = _axes(study_file, preset_name, preset, overrides)
    arms = tuple(arm for arm in study.arms if presets.runs(study, preset_name, arm))
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
        builder = Builder(study_file, preset_name, preset, overrides, module, module_name, seed, axes)
        cells = tuple(builder.cells(arms))
        _refuse_equal_arms(study_file, preset_name, cells)
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


def _refuse_other_counts(overrides: Overrides) -> None:
    """Refuse what is given in place of the file's own counts, and is no count; from Python it comes unread."""
    counts = {
        "--replicates": (overrides.replicates, 1, MOST_REPLICATES),
        "--block": (overrides.block, 1, 2**63 - 1),
        "--seed": (overrides.seed, 0, 2**63 - 1),
    }
    for option, (value, least, most) in counts.items():
        if value is not None and (type(value) is not int or not least <= value <= most):
            raise InputError(f"{option} is {show(value)}; allowed are whole numbers from {least} to {most}")


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


def _refuse_equal_arms(study_file: StudyFile, preset_name: str, cells: Sequence[PlannedCell]) -> None:
    """Refuse arms that have all settings of another in every cell: two names of one thing, compared as two."""
    own: dict[str, list[str]] = {}
    for planned in cells:
        own.setdefault(planned.cell.arm, []).append(planned.digest)
    at = {arm.name: index for index, arm in enumerate(study_file.study.arms)}
    first: dict[tuple[str, ...], str] = {}
    for arm, digests in own.items():
        other = first.setdefault(tuple(digests), arm)
        if other != arm:
            raise InputError(
                f"{study_file.shown}: arms[{at[arm]}] ('{arm}') has the settings of arms[{at[other]}] ('{other}') in "
                f"every cell of preset {preset_name!r}, defaults included; allowed are arms that differ in a setting "
                "or their presets"
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
        allowed: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, field])  # type: ignore[arg-type]
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
