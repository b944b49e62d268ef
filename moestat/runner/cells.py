"""The cells of a plan: the layers of settings merged and checked, point by point of arms x grid."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from moestat.errors import InputError
from moestat.experiment import Cell
from moestat.runner.request import Request
from moestat.sentences import listed, show
from moestat.study.load import StudyFile
from moestat.study.problems import path_text, problems
from moestat.study.spec import Arm


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
    preset: str
    request: Request
    module: ModuleType
    module_name: str
    seed: int
    axes: Mapping[str, tuple[Any, ...]]

    def cells(self, arms: tuple[Arm, ...]) -> Iterator[PlannedCell]:
        """Yield the cells of some arms, in the order of the grid, the last axis fastest."""
        index = {arm.name: i for i, arm in enumerate(self.study_file.study.arms)}
        for arm_at, arm in enumerate(arms):
            own = self._own_values(arm, index[arm.name])
            for point in itertools.product(*(enumerate(values) for values in self.axes.values())):
                coords = {axis: value for axis, (_, value) in zip(self.axes, point, strict=True)}
                if all(coords[axis] in values for axis, values in own.items()):
                    cell = self._cell(arm, index[arm.name], coords)
                    yield PlannedCell(cell, cell.digest, (arm_at, *(at for at, _ in point)))

    def _own_values(self, arm: Arm, at: int) -> dict[str, list[Any]]:
        """The values of the grid's axes that an arm restricts itself to."""
        own = {}
        for axis in (self.axes.keys() & arm.settings.keys()) - self.request.settings.keys():
            given, values = arm.settings[axis], self.axes[axis]
            own[axis] = given if isinstance(given, list) else [given]
            if not any(value in values for value in own[axis]):
                raise InputError(
                    f"{self.study_file.shown}: arms[{at}].settings.{axis} ('{arm.name}') is {show(given)}, which is "
                    f"not on the grid of preset {self.preset!r}; allowed are {listed(values)}"
                )
        return own

    def _cell(self, arm: Arm, at: int, coords: Mapping[str, Any]) -> Cell:
        study, where = self.study_file.study, self.study_file.shown
        own = f"{where}: arms[{at}].settings"
        layers: dict[str, Mapping[str, Any]] = {  # later ones win
            f"{where}: settings": study.settings,
            f"{where}: presets.{self.preset}.settings": study.presets[self.preset].settings,
            own: arm.settings,
            "--set": self.request.settings,
            f"{where}: grid": coords,
        }
        merged: dict[str, Any] = {}
        origin: dict[str, str] = {}
        wrong: list[tuple[tuple[int | str, ...], str]]
        for layer, values in layers.items():
            merged |= values
            origin |= dict.fromkeys(values, layer)
        try:
            settings = self.module.Settings.model_validate(merged).model_dump(mode="json")
            wrong = [((key,), f"is {show(value)}; {_PLAIN}") for key, value in settings.items() if not _is_plain(value)]
        except ValidationError as error:
            wrong = problems(error, self.module.Settings, merged)[:8]
        except RecursionError:
            wrong = [((), "are nested too deeply")]
        lines = []
        for loc, what in wrong:
            layer = origin.get(str(loc[0]) if loc else "", own)  # of what is missing: it can be set there
            name = f" ('{arm.name}')" if layer == own else ""
            key = f"{layer}{'.' * bool(loc)}{path_text(loc)}{name}"
            lines.append(f"--set {path_text(loc)}: the setting {what}" if layer == "--set" else f"{key} {what}")
        if lines:
            raise InputError("\n".join(lines))
        return Cell(self.module_name, self.seed, arm.name, dict(coords), settings)


_PLAIN = "allowed are finite numbers of 64 bits, truth values, text, and lists of them"


def _is_plain(value: Any) -> bool:
    """Whether a setting has one canonical JSON text that every reader understands."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool | str) or (isinstance(value, int) and abs(value) < 2**63)
