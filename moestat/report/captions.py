"""What is said in and around the panels of a figure: names of lines, where a panel stands, its note, the caption."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter
from typing import Any

import numpy as np
import xarray as xr

from moestat import sentences
from moestat.claims.evidence import Evidence
from moestat.claims.selection import chosen, is_at
from moestat.claims.wording import AT_SCALE
from moestat.report.tables import label
from moestat.report.text import mathtext, minus
from moestat.study.spec import Figure, Panel

PART = re.compile(r"[,:]\s+")
MEANS = {
    "rates": "Points: geometric means over replicates with 95 % t-intervals; numbers: mean slopes ± half of theirs",
    "lines": "Means over replicates with 95 % intervals",
    "heatmap": "Cells: means over replicates",
}
MARKS = {
    "untrusted": "In brackets: a slope that is not trusted",
    "bent": "*: the line is bent, so that the slope depends on the window",
    "unsettled": "\N{DOUBLE DAGGER}: searches did not come back to their best points",
}
"""What is said of a number by a mark; why, is told in the table of rates."""


@dataclass(frozen=True)
class Entry:
    """A line as the legend has it: what it looks like, its name, and what it comes to in its panel (a slope, say)."""

    handle: Any
    name: str
    value: str = ""


@dataclass
class Facts:
    """What a panel shows, in words: for the legend and the caption."""

    arms: list[str] = field(default_factory=list)
    remarks: list[tuple[str, str]] = field(default_factory=list)
    """What is left out or incomplete, and the line."""
    parts: set[str] = field(default_factory=set)
    references: list[str] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    bar: tuple[Any, str] | None = None
    """The image of a heat map and what its colours mean."""


@dataclass
class Names:
    """The names of the arms of one panel, and the numbers of all names of the figure."""

    of_arm: Mapping[str, str]
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """Return the number of a line by its name, which decides colour and marker; a new name gets the next one."""
        return self.numbers.setdefault(name, len(self.numbers))


def names_of(ds: xr.Dataset, panels: Sequence[Panel]) -> list[Names]:
    """Return the names of the lines of each panel; one name has one number, and so one colour, in all of them.

    What a panel's title says already is left out: "sparse, ReLU" above "ReLU, N* + 1" leaves "N* + 1", which then is
    one method in all panels.
    """
    numbers: dict[str, int] = {}
    found = []
    for panel in panels:
        arms = chosen(ds, panel.arms)
        labels = [label(ds, arm) for arm in arms]
        said = set(PART.split(panel.title)) if len(panels) > 1 else set()
        short = [", ".join(part for part in PART.split(text) if part not in said) for text in labels]
        names = next((names for names in (short, labels) if all(names) and len(set(names)) == len(names)), arms)
        found.append(Names(dict(zip(arms, names, strict=True)), numbers))
    return found


def wrapped(text: str, width: int) -> str:
    """Break a text into lines for matplotlib."""
    return mathtext("\n".join(textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)))


def point(ds: xr.Dataset, figure: Figure, panel: Panel) -> dict[str, Any] | None:
    """Return the coordinates at which a panel is taken: the figure's, then its own; of several the first that was run.

    None: no such point was run, and the panel is left out.
    """
    found: dict[str, Any] = {}
    for axis, wanted in (figure.options.get("at", {}) | panel.at).items():
        values = wanted if isinstance(wanted, list) else [wanted]
        if axis in ds.coords and axis in ds.dims:
            values = [v for v in values if bool(np.any(is_at(ds[axis], v)))]
        if not values:
            return None
        found[axis] = values[0]
    return found


def note(evidence: Evidence, panel: Panel, arm: str, at: Mapping[str, Any]) -> str:
    """Return the note of a panel, with coordinates of its point and means of variables there in their places."""
    values = dict(at)
    for _, name, *_ in Formatter().parse(panel.note):
        if name and name not in values:
            array = evidence.samples(name, arm)
            here = {axis: at[axis] for axis in at if axis in array.dims}
            values[name] = float(evidence.samples(name, arm, here).mean())
    return minus(panel.note.format_map(values))


def origin(evidence: Evidence) -> str:
    """Return what a figure is of, in few words: study, preset, version."""
    attrs = evidence.ds.attrs
    version = f"moestat {attrs['moestat_version']}" if attrs.get("moestat_version") else ""
    return ", ".join(filter(None, (str(attrs.get("study", "")), f"preset {evidence.preset}", version)))


def caption(evidence: Evidence, figure: Figure, facts: Sequence[Facts]) -> str:
    """Return the caption of a figure: the author's, what marks mean, what is left out, on how many runs it rests."""
    shown = set().union(*(fact.parts for fact in facts))
    said = [figure.title.rstrip("."), figure.caption.rstrip(".")]
    if "95 %" not in figure.caption:  # else the author has said it
        means = MEANS.get(figure.kind, "")
        said.append(means.replace("Means", "Geometric means", 1) if "geometric" in shown else means)
    if "predicted" in shown:
        scale = evidence.study.scale_of(evidence.preset)
        own = f" for its own problem (this run is{AT_SCALE[scale]})" if scale != "paper" else ""
        said.append(f"Dashed: the slope printed in the paper{own}")
    said += [text for mark, text in MARKS.items() if mark in shown]
    lines: dict[str, list[str]] = {}
    for number, fact in enumerate(facts):
        for reason, name in fact.remarks:
            lines.setdefault(reason, []).append(f"({chr(97 + number)}) {name}" if len(facts) > 1 else name)
    said += [f"{reason}: {'; '.join(names)}" for reason, names in lines.items()]
    arms = list(dict.fromkeys(arm for fact in facts for arm in fact.arms)) or chosen(evidence.ds, ["*"])
    counts, number = evidence.count((arm, {}) for arm in arms), evidence.ds.sizes["replicate"]
    said.append(f"{counts.replicates} runs ({sentences.counted(number, 'replicate')} per point): {counts}")
    return ". ".join(filter(None, [*said, origin(evidence)])) + "."
