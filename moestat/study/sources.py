"""Claims by where a paper says them: a theorem, a figure, a section, an equation, or words of a claim's source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from moestat.sentences import listed as joined
from moestat.study import contents
from moestat.study.contents import Contents, Item, Place
from moestat.study.spec import Claim, Study

_IDLE = {"a", "and", "eq", "eqs", "equation", "equations", "in", "of", "on", "or", "paper", "the", "to"}
"""Words between places that a source need not have."""
_LETTERS = re.compile(r"[^\W\d_]{3}")
"""What a text must have to be looked for as it stands."""


class Sought:
    """What a reader asks for: places such as *Theorem 1*, of one paper or of all, with further words.

    Parameters
    ----------
    text : str
        ``"Theorem 1"``, ``"SA Thm. 1"``, ``"EC Theorem 1, statement 3"``, ``"abstract"``.
    papers : iterable of str
        Short names of the papers that there are. The name of one, or its key, before the rest is that paper alone.
    """

    def __init__(self, text: str, papers: Iterable[str]) -> None:
        self.contents: dict[str, Contents | None] = {paper: contents.read(paper) for paper in sorted(set(papers))}
        self.paper, self.text = "", " ".join(text.split())
        for paper in self.contents:
            for name in filter(None, (self.key(paper), paper)):
                if begun := re.match(rf"{re.escape(name)}(?![\w-])[\s:,]*", self.text, re.IGNORECASE):
                    self.paper, self.text = paper, self.text[begun.end() :]
                    break
        if not contents.places(self.text):  # theorem 1, THM 1, lemma a.4
            spelt = re.sub(r"\b(?!and\b)[^\W\d_]{3,}", lambda word: word[0].capitalize(), self.text)
            spelt = re.sub(r"\b[a-z](?=\.\d)", lambda letter: letter[0].upper(), spelt)
            self.text = spelt if contents.places(spelt) else self.text
        self.places = contents.places(self.text)
        self.words = set(_words(contents.without_places(self.text))) - _IDLE if self.places else set()

    def key(self, paper: str) -> str:
        """Return how sources of a paper begin, or an empty text."""
        listed = self.contents[paper]
        return listed.key if listed is not None else ""

    def names(self, paper: str) -> str:
        """Return the text that asks for the same of one paper alone."""
        return f"{self.key(paper) or paper} {self.text}"

    def claims(self, studies: Mapping[str, Study]) -> Iterator[tuple[str, Claim]]:
        """Yield the claims, each with the name of its study, whose source names what is sought or leads there."""
        if not self.text or not (self.places or _LETTERS.search(self.text)):
            return
        mine = {n: study for n, study in studies.items() if study.paper == (self.paper or study.paper)}
        found = [(n, c) for n, study in mine.items() for c in study.claims if self._is_at(c.source, study.paper)]
        if not found and self.places:  # Fig. 2b, where all sources say Fig. 2; an equation of a theorem
            found = [(n, c) for n, study in mine.items() for c in study.claims if self._is_near(c.source, study.paper)]
        yield from found

    def _is_at(self, source: str, paper: str) -> bool:
        item = self._item(source, paper)
        if not self.places:
            said = [source, *([item.name, *item.also] if item is not None else [])]
            return any(self._as_it_stands.search(" ".join(text.split())) for text in said)
        named = [*contents.places(source), *(contents.places(item.name) if item is not None else [])]
        return self._has_words(source, paper) and any(_within(place, asked) for asked in self.places for place in named)

    def _is_near(self, source: str, paper: str) -> bool:
        item, listed = self._item(source, paper), self.contents[paper]
        near = listed.items_of(self.text) if listed is not None else []
        return item is not None and item in near and self._has_words(source, paper)

    def _has_words(self, source: str, paper: str) -> bool:
        return self.words <= {*_words(source), *_words(paper)}

    def _item(self, source: str, paper: str) -> Item | None:
        """Return the item of the paper that a claim of a source belongs to."""
        listed = self.contents[paper]
        return next(iter(listed.items_of(source)), None) if listed is not None else None

    @cached_property
    def _as_it_stands(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w.]){re.escape(self.text)}(?!\w|\.\d)", re.IGNORECASE)

    def nothing(self, studies: Mapping[str, Study]) -> str:
        """Say what of the kind that is sought has claims, and what the paper's list says of an item that has none."""
        papers = [self.paper] if self.paper else list(self.contents)
        told = []
        for paper in papers:
            listed = self.contents[paper]
            for item in listed.items_of(self.text) if listed is not None else []:
                if item.unchecked:
                    told.append(f"{self.key(paper)} {item.name} is not checked: {item.unchecked.rstrip('.')}")
        kinds = {kind for kind, _ in self.places}
        there = []
        for paper in papers:
            mine = [claim for study in studies.values() if study.paper == paper for claim in study.claims]
            found = dict.fromkeys(place for claim in mine for place in contents.places(claim.source))
            labels = sorted((place for place in found if place[0] in kinds), key=_in_order)
            there += [f"{self.key(paper) or paper} {kind} {label}" for kind, label in labels]
        if there:
            told.append(f"there are claims on {joined(there, 24)}")
        return "; ".join(told)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _within(place: Place, asked: Place) -> bool:
    """Return whether a place is the one that is asked for, or lies in it: Figure 1a in Figure 1, 4.1 in Section 4.

    >>> _within(("Figure", "1a"), ("Figure", "1")), _within(("Section", "4.1"), ("Section", "4"))
    (True, True)
    >>> _within(("Theorem", "1.1"), ("Theorem", "1")), _within(("Theorem", "10"), ("Theorem", "1"))
    (False, False)
    """
    (kind, label), (wanted, of) = place, asked
    if kind != wanted:
        return False
    return label == of or (label.startswith(f"{of}.") if kind == "Section" else label.rstrip("abcd") == of)


def _in_order(place: Place) -> tuple[str, list[tuple[int, str]]]:
    return place[0], [(int(part) if part.isdigit() else -1, part) for part in re.findall(r"\d+|[^\W\d]+", place[1])]
