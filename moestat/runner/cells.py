"""The cells of a plan: the layers of settings merged and checked, point by point of arms x grid."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from moestat.errors import InputError
from moestat.experiment import Cell
from moestat.sentences import listed, show
from moestat.study.load import StudyFile
from moestat.study.problems import path_text, problems
from moestat.study.spec import Arm, Preset


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


def slot_text(arm: str, coords: Mapping[str, Any]) -> str:
    """Return arm and coordinates as canonical text."""
    return json.dumps([arm, dict(coords)], sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Builder:
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
        """Yield the cells of some arms, in the order of the grid."""
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
