"""What a paper contains: its theorems, lemmas, tables and figures in its own order, and where a source points to.

The list is ``items.py`` in the folder of the paper, ``studies/<paper>/``, a module with a variable ``paper``. A claim
belongs to the item that its source names first; results, tables and figures count before sections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from pydantic import Field

from moestat.errors import InputError
from moestat.study import arguments, load
from moestat.study.arguments import Argument
from moestat.study.cells import CELLS, Cell
from moestat.study.spec import Finding, Patterns, Strict, Study

KINDS = {
    "Theorem": r"Theorems?|Thms?\.?",
    "Lemma": r"Lemmas?",
    "Proposition": r"Propositions?|Props?\.?",
    "Corollary": r"Corollar(?:y|ies)|Cors?\.?",
    "Definition": r"Definitions?|Defs?\.?",
    "Algorithm": r"Algorithms?",
    "Table": r"Tables?",
    "Figure": r"Figures?|Figs?\.?",
    "Equation": r"Equations?|Eqs?\.",
    "Section": r"Sections?|\N{SECTION SIGN}|Appendix|Appendices|Apps?\.",
}
"""How a source names a kind of item, in any case."""

_LABEL = r"(?:[A-Z]?\.?\d+(?:\.\d+)*[a-d]?(?![\w^])|[A-Z](?:\.\d+)*(?!\w))"
_NEXT = r"(?:,\s*|\s+and\s+|\s+to\s+|-)"
_NOUN = r"\s+(?:tasks|experts|patches|seeds|samples)\b"  # what follows a number that is no label: Table 1, 10 tasks
_KIND = "|".join(f"(?P<{kind}>{words})" for kind, words in KINDS.items())
_PLACE = re.compile(
    rf"(?<![^\W\d_])(?i:{_KIND})\s*(?P<labels>{_LABEL}(?:{_NEXT}{_LABEL}(?!{_NOUN}))*)|(?<!\w)\((?P<equation>\d+)\)"
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
        kind = next((kind for kind in KINDS if match[kind]), "Equation")
        named += [(kind, label) for label in _labels(match["labels"] or match["equation"])]
    return sorted(dict.fromkeys(named), key=lambda place: place[0] == "Section")


def without_places(text: str) -> str:
    """Return what a text says beside the items that it names."""
    return _PLACE.sub(" ", text)


def _labels(text: str) -> list[str]:
    """Return labels one by one: ``1 to 3`` and ``1-3`` are three."""
    labels: list[str] = []
    for part in re.split(r",\s*|\s+and\s+", text):
        ends = re.split(r"\s+to\s+|-", part)
        span = len(ends) == 2 and all(end.isdecimal() for end in ends)
        labels += map(str, range(int(ends[0]), int(ends[1]) + 1)) if span else ends
    return labels


class Item(Strict):
    """One theorem, lemma, table, figure or section of a paper, by the name that it has there.

    ``also`` are other places that mean it: equations, remarks, a phrase of a source. ``statement``, ``example``,
    ``proof`` and ``experiment`` are its cells, patterns STUDY:CLAIM of the claims that count for each; ``conclusion``
    names the one by which it stands, if that is not the first that is not empty (:mod:`moestat.study.cells`).
    ``unchecked`` says what of it is not checked, and why; it is needed where no claim belongs to it. ``findings`` are
    told where the verdicts are as they say, by STUDY:CLAIM. ``objection`` is what an author would answer, with whether
    it was tested, in a sentence.
    """

    name: str
    says: str
    also: list[str] = []
    statement: Patterns = []
    example: Patterns = []
    proof: Patterns = []
    experiment: Patterns = []
    conclusion: Cell | None = None
    unchecked: str = ""
    findings: list[Finding] = []
    objection: str = ""

    @property
    def lists(self) -> bool:
        """Whether any of its cells lists claims."""
        return any(getattr(self, cell) for cell in CELLS)

    @property
    def usual(self) -> Cell:
        """The cell of its claims where none lists any."""
        return "experiment" if places(self.name)[:1] and places(self.name)[0][0] in ("Table", "Figure") else "statement"


class Paper(Strict):
    """The items of a paper, in its own order.

    ``key`` is how sources begin (SA), and ``problem`` the paper's own one, by which the scale of a run is told.
    ``arguments`` are those of the file beside it.
    """

    name: str
    key: str
    title: str
    problem: str
    items: list[Item] = Field(min_length=1)
    arguments: list[Argument] = []

    @cached_property
    def _by_place(self) -> dict[Place, Item]:
        found = [(place, item) for item in self.items for text in (item.name, *item.also) for place in places(text)]
        return dict(reversed(found))  # of two items at a place the first counts

    def items_of(self, source: str) -> list[Item]:
        """Return the items that the source of a claim names, the one that it belongs to first."""
        named = [self._at(place) for place in places(source)]
        named += [i for i in self.items for text in i.also if not places(text) and text in source]
        return list({item.name: item for item in named if item is not None}.values())

    def _at(self, place: Place) -> Item | None:
        """Return the item at a place, or the one that holds it: Figure 1 holds 1a, Section 6 holds 6.4."""
        found, (kind, label) = self._by_place.get(place), place
        wider = label.rpartition(".")[0] if kind == "Section" else label.rstrip("abcd")
        return found or (self._at((kind, wider)) if wider not in ("", label) else None)


def read(paper: str) -> Paper | None:
    """Read the list of a paper, with its arguments; None where there is none.

    Raises
    ------
    InputError
        If it is broken; the message names file and line.
    """
    for folder in load.study_folders():
        if (path := folder / paper.replace("-", "_") / "items.py").is_file():
            found = load.executed(path).get("paper")
            if not isinstance(found, Paper) or found.name != paper:
                told = f"has the name {found.name!r}" if isinstance(found, Paper) else "is not there"
                raise InputError(
                    f"{load.shown_path(path)}: its variable paper {told}; it must be a Paper named {paper!r}"
                )
            beside = path.with_name("arguments.py")
            names = [item.name for item in found.items]
            of_it = arguments.checked(arguments.read(beside), names, load.shown_path(beside))
            return found.model_copy(update={"arguments": of_it})
    return None


def every() -> list[Paper]:
    """Read the lists of all papers, in the order of their names."""
    names = {
        path.parent.name.replace("_", "-") for folder in load.study_folders() for path in folder.glob("*/items.py")
    }
    return [made for made in map(read, sorted(names)) if made]


def of_sources(paper: str, studies: Mapping[str, Study]) -> Paper:
    """Return a list made from the sources of the claims, for a paper that has none: an item for every place named."""
    sources = [claim.source for study in studies.values() for claim in study.claims]
    named = dict.fromkeys(f"{kind} {label}" for source in sources for kind, label in places(source)[:1])
    items = [Item(name=name, says="") for name in named]
    items += [] if items and all(map(places, sources)) else [Item(name="Claims", says="", also=[""])]
    return Paper(name=paper, key="", title=paper, problem="It is told by the presets of the studies.", items=items)
