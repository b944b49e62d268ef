"""Tables as papers print them: an experiment that runs nothing, so that sentences can be held against their tables.

An arm is one printed table, or a part of one. What a text says of it (this row is the lowest in every column, that mean
is the mean of its row) is judged by the rules of :mod:`moestat.claims.printed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from moestat.experiment import Cell, SettingsModel, assemble

VERSION = 1


class Settings(SettingsModel):
    """Settings of a cell."""

    rows: list[str] = Field(min_length=1, description="names of the rows, as printed")
    columns: list[str] = Field(min_length=1, description="names of the columns, as printed")
    values: list[list[float]] = Field(description="the printed numbers, row by row")
    better: Literal["lower", "higher"] = Field("lower", description="which numbers are the better ones")

    @model_validator(mode="after")
    def _full(self) -> Settings:
        for name, labels in (("rows", self.rows), ("columns", self.columns)):
            if len(set(labels)) < len(labels):
                raise ValueError(f"{name} names {', '.join(sorted({x for x in labels if labels.count(x) > 1}))} twice")
        if len(self.values) != len(self.rows):
            raise ValueError(f"values has {len(self.values)} rows, and rows names {len(self.rows)}")
        for row, numbers in zip(self.rows, self.values, strict=True):
            if len(numbers) != len(self.columns):
                raise ValueError(f"row {row!r} of values has {len(numbers)} numbers for {len(self.columns)} columns")
        return self


def run(cell: Cell, replicates: Sequence[int], *, device: str = "auto") -> xr.Dataset:
    """Return a printed table: over ``row`` and ``column`` stand ``printed``, and ``behind``.

    That is by how many per cent of the best number of its column a number is worse (NaN or infinite where it is 0).
    """
    s = Settings.model_validate(dict(cell.settings))
    printed = np.array(s.values)
    best = printed.min(axis=0) if s.better == "lower" else printed.max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        behind = 100.0 * np.abs(printed - best) / np.abs(best)
    return assemble(
        replicates,
        [{"printed": printed, "behind": behind}] * len(replicates),
        dims={"printed": ("row", "column"), "behind": ("row", "column")},
        coords={"row": s.rows, "column": s.columns},
        finished="The table was read.",
    )
