"""What the lines of a figure are called, and their colours: one name has one colour in all panels.

What a panel's title says already is left out of the names of its lines, where that makes fewer of them: "sparse, ReLU"
above "ReLU, N* + 1" leaves "N* + 1", which then is one method in all panels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import xarray as xr

from moestat.claims.selection import chosen
from moestat.report.tables import label
from moestat.study.spec import Panel

PART = re.compile(r"[,:]\s+")


@dataclass
class Names:
    """The names of the arms of one panel, and the numbers of all names of the figure."""

    of_arm: Mapping[str, str]
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """Return the number of a line by its name, which decides colour and marker; a new name gets the next one."""
        return self.numbers.setdefault(name, len(self.numbers))


def of_panels(ds: xr.Dataset, panels: Sequence[Panel]) -> list[Names]:
    """Return the names of each panel; the numbers are shared."""
    full = [of_arms(ds, chosen(ds, panel.arms)) for panel in panels]
    short = [_shortened(names, panel.title) for names, panel in zip(full, panels, strict=True)]
    if _different(short) < _different(full):
        full = short
    numbers: dict[str, int] = {}
    return [Names(names, numbers) for names in full]


def of_arms(ds: xr.Dataset, arms: Sequence[str]) -> dict[str, str]:
    """Return arm -> its label, or its name where two of the arms share a label."""
    called = [label(ds, arm) for arm in arms]
    return {arm: text if called.count(text) == 1 else arm for arm, text in zip(arms, called, strict=True)}


def _shortened(names: Mapping[str, str], title: str) -> dict[str, str]:
    said = set(PART.split(title))
    short = {arm: ", ".join(p for p in PART.split(name) if p not in said) for arm, name in names.items()}
    told_apart = all(short.values()) and len(set(short.values())) == len(short)
    return short if told_apart else dict(names)


def _different(names: Sequence[Mapping[str, str]]) -> int:
    return len({name for panel in names for name in panel.values()})
