"""What is said in and around the panels of a figure: names of lines, where a panel stands, caption and notes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from moestat import sentences
from moestat.claims.evidence import Evidence
from moestat.claims.selection import NoAnswerError, chosen, is_at
from moestat.claims.wording import AT_SCALE
from moestat.report.tables import label
from moestat.report.text import mathtext, minus
from moestat.study.spec import Figure, Panel

PART = re.compile(r"[,:]\s+")
LAST = "last"
"""Stands for the last value of an axis of numbers."""


@dataclass(frozen=True)
class Entry:
    """A line as the legend has it: what it looks like, its name, and what it comes to in its panel (a slope, say)."""

    handle: Any
    name: str
    value: str = ""


@dataclass
class Facts:
    """What a panel shows, in words: for the legend, the caption and the notes."""

    arms: list[str] = field(default_factory=list)
    notes: list[tuple[str, str, str]] = field(default_factory=list)
    """Kind, line and reason."""
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

    What a panel's title says already is left out of them, where that makes fewer: "sparse, ReLU" above "ReLU, N* + 1"
    leaves "N* + 1", which then is one method in all panels.
    """
    full = [_called(ds, chosen(ds, panel.arms)) for panel in panels]
    short = []
    for names, panel in zip(full, panels, strict=True):
        said = set(PART.split(panel.title))
        cut = {arm: ", ".join(part for part in PART.split(name) if part not in said) for arm, name in names.items()}
        short.append(cut if all(cut.values()) and len(set(cut.values())) == len(cut) else names)
    different = [len({name for names in these for name in names.values()}) for these in (short, full)]
    numbers: dict[str, int] = {}
    return [Names(names, numbers) for names in (short if different[0] < different[1] else full)]


def _called(ds: xr.Dataset, arms: Sequence[str]) -> dict[str, str]:
    """Return arm -> its label, or its name where two of the arms share a label."""
    called = [label(ds, arm) for arm in arms]
    return {arm: text if called.count(text) == 1 else arm for arm, text in zip(arms, called, strict=True)}


def wrapped(text: str, width: int) -> str:
    """Break a text into lines for matplotlib."""
    # textwrap also breaks at a no-break space, so it is hidden from it; what is equal stays beside its name
    text = text.replace(" = ", "\x00=\x00").replace("\N{NO-BREAK SPACE}", "\x00")
    lines = textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)
    return mathtext("\n".join(lines).replace("\x00", " "))


# --- where a panel stands --------------------------------------------------------------------------------------------


def point(ds: xr.Dataset, figure: Figure, panel: Panel) -> dict[str, Any] | None:
    """Return the coordinates at which a panel is taken: the figure's, then its own.

    Of several values the first one that was run counts. None: no such point was run, and the panel is left out.
    """
    found: dict[str, Any] = {}
    for axis, wanted in (figure.options.get("at", {}) | panel.at).items():
        values = wanted if isinstance(wanted, list) else [wanted]
        if axis in ds.coords and axis in ds.dims:
            labels = ds[axis]
            values = [labels.values.tolist()[-1] if v == LAST and labels.dtype.kind in "iuf" else v for v in values]
            values = [v for v in values if bool(np.any(is_at(labels, v)))]
        if not values:
            return None
        found[axis] = values[0]
    return found


class _Here(dict[str, Any]):
    """What the names in a note mean: coordinates of the panel's point, and means of variables there."""

    evidence: Evidence
    arm: str

    def __missing__(self, name: str) -> float:
        array = self.evidence.samples(name, self.arm)
        own = {axis: value for axis, value in self.items() if axis in array.dims}
        return float(self.evidence.samples(name, self.arm, own).mean())


def note(evidence: Evidence, panel: Panel, arm: str, at: Mapping[str, Any]) -> str:
    """Return the note of a panel, with the means of variables at its point in their places."""
    here = _Here(at)
    here.evidence, here.arm = evidence, arm
    try:
        return minus(panel.note.format_map(here))
    except NoAnswerError:
        raise
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise NoAnswerError(f"The note {panel.note!r} cannot be filled: {error}.") from None


# --- below the figure ------------------------------------------------------------------------------------------------


def origin(evidence: Evidence) -> str:
    """Return what a figure is of, in few words: study, preset, version."""
    ds = evidence.ds
    version = f"moestat {ds.attrs['moestat_version']}" if ds.attrs.get("moestat_version") else ""
    return ", ".join(part for part in (str(ds.attrs.get("study", "")), f"preset {evidence.preset}", version) if part)


def caption(evidence: Evidence, figure: Figure, facts: Sequence[Facts]) -> str:
    """Return the caption of a figure: the author's, then what the marks mean and how many runs it rests on."""
    study, preset = evidence.study, evidence.preset
    shown = set().union(*(fact.parts for fact in facts))
    said = [text for text in (figure.title.rstrip("."), figure.caption.rstrip(".")) if text]
    told = figure.caption.lower()  # what the author says is not said again
    if figure.kind == "rates":
        points = "" if "geometric mean" in told else "points: geometric means over replicates with 95 % t-intervals; "
        said.append(f"{points}numbers: mean slopes \N{PLUS-MINUS SIGN} half their 95 % t-intervals".capitalize())
    elif figure.kind == "lines" and "95 %" not in told:
        said.append(f"{'Geometric means' if 'geometric' in shown else 'Means'} over replicates with 95 % intervals")
    elif figure.kind == "heatmap":
        said.append("Cells: means over replicates, \N{PLUS-MINUS SIGN} half the 95 % t-interval where there is room")
    if "predicted" in shown and "dashed: " not in told:
        scale = study.scale_of(preset)
        own = f" for its own problem (this run is{AT_SCALE[scale]})" if scale != "paper" else ""
        said.append(f"Dashed: the slope printed in the paper{own}")
    if "band" in shown:
        said.append("Shaded: lowest to highest loss of the near-minimisers")
    if "deviations" in shown:
        said.append("Thin bars with caps: one standard deviation over replicates")
    if "coincide" in shown:
        said.append("Dashes over a line: two lines coincide")
    arms = list(dict.fromkeys(arm for fact in facts for arm in fact.arms)) or [
        str(a) for a in evidence.ds["arm"].values
    ]
    counts, number = evidence.count((arm, {}) for arm in arms), evidence.ds.sizes["replicate"]
    said.append(f"{counts.replicates} runs ({sentences.counted(number, 'replicate')} per point): {counts}")
    return ". ".join([*said, origin(evidence)]) + "."


def notes(facts: Sequence[Facts]) -> list[str]:
    """Return what the report says below the caption: what is not trusted, bent or left out; of one reason once."""
    lines: dict[tuple[str, str], list[str]] = {}
    for number, fact in enumerate(facts):
        at = f"({chr(97 + number)}) " if len(facts) > 1 else ""
        for head, name, reason in fact.notes:
            lines.setdefault((head, reason.rstrip(".")), []).append(at + name)
    return [f"{head}: {'; '.join(names)}: {reason}." for (head, reason), names in lines.items()]


def statements(ds: xr.Dataset, name: str, arms: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Return the texts of the cells under ``name``, each with the arms that share it, in order."""
    if name not in ds:
        text = str(ds.attrs.get(name, "") or "")
        return {text: []} if text else {}
    texts: dict[str, list[str]] = {}
    for arm in map(str, ds["arm"].values):
        if arms is None or arm in arms:
            here = ds[name].sel(arm=arm) if "arm" in ds[name].dims else ds[name]
            for text in dict.fromkeys(t for t in here.values.ravel().tolist() if isinstance(t, str) and t):
                texts.setdefault(re.sub(r"\b(\d+) ([\w-]+)\(s\)", _noun, text), []).append(arm)
    return {text: list(dict.fromkeys(of_arms)) for text, of_arms in texts.items()}


def _noun(match: re.Match[str]) -> str:
    return sentences.counted(int(match[1]), match[2])
