"""What a paper contains: its theorems, lemmas, tables and figures in its own order, and where a source points to.

The list is ``contents.toml`` in the room of the paper, ``moestat/papers/<paper>/``. A claim belongs to the item that
its source names first; results, tables and figures count before sections.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from moestat.errors import InputError
from moestat.study import load
from moestat.study.spec import Strict, Study

ROOM = Path(__file__).resolve().parents[1] / "papers"
NAME = "contents.toml"

KINDS = {
    "Theorem": r"Theorems?|Thms?\.?",
    "Lemma": r"Lemmas?",
    "Proposition": r"Propositions?|Props?\.?",
    "Corollary": r"Corollar(?:y|ies)|Cors?\.?",
    "Definition": r"Definitions?|Defs?\.?",
    "Algorithm": r"Algorithms?",
    "Table": r"Tables?",
    "Figure": r"Figures?|Figs?\.?",
    "Equation": r"[Ee]quations?|[Ee]qs?\.",
    "Section": r"[Ss]ections?|\N{SECTION SIGN}|[Aa]ppendix|[Aa]ppendices|Apps?\.",
}
"""How a source names a kind of item."""

_LABEL = r"(?:[A-Z]?\.?\d+(?:\.\d+)*[a-d]?(?![\w^])|[A-Z](?:\.\d+)*(?!\w))"
_NEXT = r"(?:,\s*|\s+and\s+|\s+to\s+|-)"
_NOUN = r"\s+(?:tasks|experts|patches|seeds|samples)\b"
"""What follows a number that is no label: Table 1, 10 tasks."""
_PLACE = re.compile(
    rf"(?:(?P<kind>{'|'.join(KINDS.values())})\s*(?P<labels>{_LABEL}(?:{_NEXT}{_LABEL}(?!{_NOUN}))*))"
    r"|(?<!\w)\((?P<equation>\d+)\)"
)
Place = tuple[str, str]
"""Kind and label: ``("Figure", "1a")``."""


def places(source: str) -> list[Place]:
    """Return the items of a paper that a source names: results, tables and figures first, then sections.

    >>> places("TR section 6.4; Table 1, 10 tasks"), places("SA Thms 1, 3 and 4")
    ([('Table', '1'), ('Section', '6.4')], [('Theorem', '1'), ('Theorem', '3'), ('Theorem', '4')])
    """
    named: list[Place] = []
    for match in _PLACE.finditer(source):
        if match["equation"]:
            named.append(("Equation", match["equation"]))
            continue
        kind = next(kind for kind, words in KINDS.items() if re.fullmatch(words, match["kind"]))
        named += [(kind, label) for label in _labels(match["labels"])]
    return sorted(dict.fromkeys(named), key=lambda place: place[0] == "Section")


def without_places(text: str) -> str:
    """Return what a text says beside the items that it names.

    >>> without_places("Theorem 1, statement 3")
    ' , statement 3'
    """
    return _PLACE.sub(" ", text)


def _labels(text: str) -> list[str]:
    """Return labels one by one: ``1 to 3`` and ``1-3`` are three."""
    labels: list[str] = []
    for part in re.split(r",\s*|\s+and\s+", text):
        ends = re.split(r"\s+to\s+|-", part)
        if len(ends) == 2 and all(end.isdecimal() for end in ends):
            labels += map(str, range(int(ends[0]), int(ends[1]) + 1))
        else:
            labels += ends
    return labels


class Repair(Strict):
    """What of an item was repaired; shown where the verdicts are as it says."""

    when: dict[str, str] = Field(
        min_length=1, description="STUDY:ID, a name or a pattern -> the verdict that all of them must have"
    )
    text: str = Field(description="what was repaired, in a sentence")


class Item(Strict):
    """One theorem, lemma, table, figure or section of a paper."""

    name: str = Field(description="as the paper names it: 'Theorem 1', 'Figure 2', 'Section 6.4', 'Appendix A.3'")
    says: str = Field(description="what it says, in a sentence or two")
    also: list[str] = Field([], description="other places that mean it: equations, remarks, a phrase of a source")
    unchecked: str = Field("", description="what of it is not checked, and why; needed where no claim belongs to it")
    conclusion: list[str] = Field(
        [], description="STUDY:CLAIM patterns of what it concludes, where what follows from that has claims as well"
    )
    figures: list[str] = Field([], description="STUDY or STUDY:FIGURE that stands beside it")
    repairs: list[Repair] = Field([], description="what was repaired")

    @property
    def anchor(self) -> str:
        """The anchor of the item in a page."""
        return re.sub(r"\W+", "-", self.name).strip("-").lower()


class Contents(Strict):
    """The items of a paper, in its own order."""

    paper: str = Field(description="short name, as in the study files")
    key: str = Field(description="how sources begin, e.g. SA")
    title: str = Field(description="what the paper is called")
    problem: str = Field(description="what the paper's own problem is, by which the scale of a run is told")
    items: list[Item] = Field(min_length=1, description="in the order of the paper")

    @model_validator(mode="after")
    def _different(self) -> Contents:
        names = [item.name for item in self.items]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"items must have different names; given twice: {', '.join(twice)}")
        return self

    @cached_property
    def _by_place(self) -> dict[Place, Item]:
        by_place: dict[Place, Item] = {}
        for item in self.items:
            for text in (item.name, *item.also):
                for place in places(text):
                    by_place.setdefault(place, item)
        return by_place

    def items_of(self, source: str) -> list[Item]:
        """Return the items that the source of a claim names, the one that it belongs to first."""
        named = [self._at(place) for place in places(source)]
        named += [i for i in self.items for text in i.also if not places(text) and text in source]
        return list({item.name: item for item in named if item is not None}.values())

    def _at(self, place: Place) -> Item | None:
        """Return the item at a place, or the one that holds it: Figure 1 holds 1a, Section 6 holds 6.4."""
        kind, label = place
        while (kind, label) not in self._by_place:
            shorter = label.rpartition(".")[0] if kind == "Section" else label.rstrip("abcd")
            if shorter in ("", label):
                return None
            label = shorter
        return self._by_place[kind, label]


def path_of(paper: str, room: Path = ROOM) -> Path:
    """Return where the list of a paper is."""
    return room / paper.replace("-", "_") / NAME


def read(paper: str, room: Path = ROOM) -> Contents | None:
    """Read the list of a paper; None where there is none.

    Raises
    ------
    InputError
        If the file is not such a list.
    """
    path = path_of(paper, room)
    if not path.is_file():
        return None
    try:
        return Contents.model_validate(tomllib.loads(load.source(path)))
    except ValidationError as error:
        from moestat.study.problems import path_text, problems

        lines = [f"{path}: {path_text(loc)} {what}" for loc, what in problems(error, Contents, tomllib.loads(load.source(path)))]
        raise InputError("\n".join(lines[:8])) from None


def of_sources(paper: str, studies: Mapping[str, Study]) -> Contents:
    """Return a list made from the sources of the claims, for a paper that has none: an item for every place named."""
    claims = [claim for study in studies.values() for claim in study.claims]
    named = dict.fromkeys(place for claim in claims for place in places(claim.source)[:1])
    names = [f"{kind} {label}" for kind, label in named]
    items: list[dict[str, object]] = [{"name": name, "says": ""} for name in names]
    whole = {"paper": paper, "key": "", "title": paper, "problem": "It is told by the presets of the studies."}
    return Contents.model_validate({**whole, "items": items or [{"name": "Claims", "says": "", "also": [""]}]})
