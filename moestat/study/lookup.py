"""Find claims by what a reader types: a study, a path, a paper, the id of a claim, or where a paper says it."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from moestat.errors import InputError
from moestat.sentences import listed, nearest
from moestat.study import contents, load
from moestat.study.arguments import Argument, on
from moestat.study.spec import Claim, Study

_IDLE = {"a", "and", "eq", "eqs", "equation", "equations", "in", "of", "on", "or", "paper", "the", "to"}
"""Words between places that a source need not have."""
_LETTERS = re.compile(r"[^\W\d_]{3}")
"""What a text must have to be looked for as it stands."""


class _Place(NamedTuple):
    """A claim, the study that states it, and the item of the paper that it belongs to."""

    name: str
    study: Study
    claim: Claim
    item: contents.Item | None

    @property
    def places(self) -> list[contents.Place]:
        return [at for text in (self.claim.source, self.item.name if self.item else "") for at in contents.places(text)]

    @property
    def texts(self) -> list[str]:
        return [self.claim.source, *((self.item.name, *self.item.also) if self.item else ())]


def readable(known: Mapping[str, Path]) -> dict[str, Study]:
    """Return the studies whose files can be read; a broken file is told when it is run."""
    studies = {}
    for name, path in known.items():
        with contextlib.suppress(InputError):
            studies[name] = load.read(path).study
    return studies


def of_paper(known: Mapping[str, Path], paper: str) -> dict[str, Path]:
    """Return the studies of one paper, which is meant by its name or by its key: ``sigmoid-attention``, ``SA``."""
    papers: dict[str, dict[str, Path]] = {}
    for name, path in known.items():
        with contextlib.suppress(InputError):  # a file that cannot be read belongs to no paper
            papers.setdefault(str(load.module(path).tables["paper"]), {})[name] = path
    word = paper.lower().replace("_", "-")
    if word not in papers:
        made = [found for found in map(contents.read, papers) if found]
        word = {name.lower(): one.name for one in made for name in _names(one.name, one.key)}.get(word, word)
    if word not in papers:
        hint = nearest(word, papers)
        raise InputError(f"there is no study of the paper {paper!r}{hint}; papers are {listed(sorted(papers))}")
    return papers[word]


def chosen(word: str, known: Mapping[str, Path]) -> dict[str, Study]:
    """Return studies with the claims that ``word`` means: of a study, a file, a paper, an id, or a place of a paper.

    An id may be a glob pattern, and may follow the study: ``sigmoid_regimes:over-*``. A place is a theorem, a figure, a
    section (``Theorem 1``, ``SA Fig. 2b``) or words of a source; the key or the name of a paper before it, or a study
    and a colon, narrows it. If it means nothing, the ``InputError`` names what is near.
    """
    if word in known or load.is_path(word) and ":" not in word:
        return {word: load.read(word).study}
    name, colon, text = word.rpartition(":")
    if colon and (name in known or load.is_path(name) or " " not in text):
        studies = {name: load.read(name).study}
        return matching(text, studies) or _at(word, text, studies)
    studies = readable(known)  # a colon in words of a source is none of a study: "ours: on SA Fig. 1a"
    mine = {name: study for name, study in studies.items() if study.paper == word}
    return mine or matching(word, studies) or _at(word, word, studies)


def item(word: str) -> tuple[contents.Paper, contents.Item | None]:
    """Return the paper that a text begins with, and the item of it that the rest means; None where there is no rest.

    ``SA Fig. 1``, ``mot thm1`` and ``task-routing Table 2`` are understood; of an unknown paper or item the
    ``InputError`` names the nearest.
    """
    made = {paper.name: paper for paper in contents.every()}
    name, rest = _of_paper(word, {paper.name: paper.key for paper in made.values()})
    if not name:
        told = listed(f"{paper.key} ({paper.name})" for paper in made.values())
        first = (word.lower().split() or [""])[0]
        known = {one.lower(): one for paper in made.values() for one in _names(paper.name, paper.key)}
        raise InputError(f"{word!r} begins with no paper{nearest(first, known)}; papers are {told}")
    paper = made[name]
    if not rest:
        return paper, None
    said = " ".join(rest.lower().split())
    found = [one for one in paper.items if one.name.lower() == said] or paper.items_of(rest)
    if not found:
        kinds = {kind for kind, _ in contents.places(rest)}
        kinds = kinds or {kind for kind, words in contents.KINDS.items() if re.fullmatch(words, rest, re.IGNORECASE)}
        alike = [one.name for one in paper.items if kinds & {kind for kind, _ in contents.places(one.name)}]
        names = {one.name.lower(): one.name for one in paper.items}
        close = difflib.get_close_matches(said, names, n=1, cutoff=0.5)
        hint = f"; did you mean {names[close[0]]!r}?" if close else ""
        hint = f"; of these it has {', '.join(alike)}" if alike else hint or f"; it has {listed(names.values(), 8)}"
        raise InputError(f"{paper.name} has no item {rest!r}{hint}")
    return paper, found[0]


def argument(word: str) -> tuple[contents.Paper, Argument] | None:
    """Return the verdict by argument of an id, or of PAPER:ID, and its paper; None where there is none."""
    paper, _, id_ = word.rpartition(":")
    for made in contents.every() if re.fullmatch(r"[\w.+:-]+", word) else ():
        if not paper or paper.lower() in [name.lower() for name in _names(made.name, made.key)]:
            for one in made.arguments:
                if one.id == id_:
                    return made, one
    return None


def argued(word: str) -> list[Argument]:
    """Return the verdicts by argument on the item that a word means, as :func:`item` understands it."""
    with contextlib.suppress(InputError):
        paper, found = item(word)
        return on(found.name, paper.arguments) if found else paper.arguments
    return []


def matching(pattern: str, studies: Mapping[str, Study]) -> dict[str, Study]:
    """Return the studies that have claims of an id or a pattern, each with those alone."""
    claims = {name: [c for c in study.claims if fnmatch.fnmatchcase(c.id, pattern)] for name, study in studies.items()}
    return {name: studies[name].model_copy(update={"claims": mine}) for name, mine in claims.items() if mine}


def papers(word: str, found: Mapping[str, Study]) -> str:
    """Say of which papers the claims are that :func:`chosen` found for a place, if of several."""
    names = sorted({study.paper for study in found.values()})
    if len(names) < 2 or matching(word.rpartition(":")[2], found):
        return ""
    return f"{word!r} is in {len(names)} papers ({', '.join(names)}); to see those of one: '{names[0]} {word}'"


def _at(word: str, text: str, studies: Mapping[str, Study]) -> dict[str, Study]:
    """Return the claims at a place of a paper, with further words or without, or whose source has words as they are."""
    lists: dict[str, contents.Paper | None] = {}
    for name in sorted({study.paper for study in studies.values()}):
        lists[name] = None
        with contextlib.suppress(InputError):  # a broken list is told by --paper
            lists[name] = contents.read(name)
    keys = {paper: made.key if made else paper for paper, made in lists.items()}
    paper, text = _of_paper(text, keys)
    within = {name: study for name, study in studies.items() if paper in ("", study.paper)}
    if paper and not text:
        return {name: study for name, study in within.items() if study.claims}
    claims = []
    for name, study in within.items():
        for claim in study.claims:
            items = made.items_of(claim.source) if (made := lists[study.paper]) else []
            claims.append(_Place(name, study, claim, items[0] if items else None))
    meant = {name: made.items_of(text) if made and paper in ("", name) else [] for name, made in lists.items()}
    if asked := contents.places(text):
        wanted = _words(contents.without_places(text)) - _IDLE
        fit = [place for place in claims if wanted <= _words(f"{place.claim.source} {place.study.paper}")]
        found = [place for place in fit if any(_lies_in(at, one) for one in asked for at in place.places)]
        # Fig. 2b, where all sources say Fig. 2; an equation of a theorem
        found = found or [place for place in fit if place.item in meant[place.study.paper]]
    else:
        said = re.compile(rf"(?<![\w.]){re.escape(text)}(?!\w|\.\d)", re.IGNORECASE)
        found = [place for place in claims if _LETTERS.search(text) and any(map(said.search, place.texts))]
    if not found:
        what = f"on {word!r}" if asked or paper else repr(word)
        bare = [(keys[name], item) for name, items in meant.items() for item in items if item.unchecked]
        near = [f"{key} {item.name} is not checked: {item.unchecked.rstrip('.')}" for key, item in bare]
        told = "".join(f"; {text}" for text in [*near, *_near(text, keys, claims, asked)])
        where = "The claims of all studies: python -m moestat.study --claims; one of your own study file: FILE.py:ID"
        raise InputError(f"there is no claim {what}{told}. {where}")
    mine: dict[str, list[Claim]] = {}
    for place in found:
        mine.setdefault(place.name, []).append(place.claim)
    return {name: studies[name].model_copy(update={"claims": these}) for name, these in mine.items()}


def _near(
    text: str, keys: Mapping[str, str], claims: Iterable[_Place], asked: Iterable[contents.Place]
) -> Iterable[str]:
    """Say which places of the kinds that are asked for have claims, or which ids are like what was typed."""
    kinds = {kind for kind, _ in asked}
    sources = [(keys[place.study.paper], at) for place in claims for at in contents.places(place.claim.source)]
    there = {(key, *at) for key, at in sources if at[0] in kinds}
    if there:
        yield f"there are claims on {listed(map(' '.join, sorted(there, key=_in_order)), 24)}"
    if not kinds:
        ids = {place.claim.id: place.name for place in claims}
        close = difflib.get_close_matches(text, list(ids), n=5, cutoff=0.5)
        if close:
            yield "near are " + ", ".join(f"{ids[name]}:{name}" for name in close)


def _of_paper(text: str, keys: Mapping[str, str]) -> tuple[str, str]:
    """Return the paper whose name, or key, stands before the rest, and the rest."""
    text = " ".join(text.split())
    for paper, key in keys.items():
        for name in _names(paper, key):
            if begun := re.match(rf"{re.escape(name)}(?![\w-])[\s:,]*", text, re.IGNORECASE):
                return paper, text[begun.end() :]
    return "", text


def _names(paper: str, key: str) -> list[str]:
    """Return what a paper may be called: its name, its key, and the first letters of its name.

    >>> _names("mixture-of-transformers", "MT")
    ['mixture-of-transformers', 'mixture_of_transformers', 'MT', 'mot']
    """
    initials = "".join(word[:1] for word in paper.split("-"))
    names = dict.fromkeys([paper, paper.replace("-", "_"), key, initials])
    return [name for name in names if len(name) > 1]


def _words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text.lower())}


def _in_order(place: tuple[str, ...]) -> tuple[tuple[str, ...], list[int], str]:
    return place[:2], [int(part) for part in re.findall(r"\d+", place[2])], place[2]


def _lies_in(place: contents.Place, asked: contents.Place) -> bool:
    """Return whether a place is the one that is asked for, or lies in it: Figure 1a in Figure 1, 4.1 in Section 4.

    >>> _lies_in(("Figure", "1a"), ("Figure", "1")), _lies_in(("Theorem", "10"), ("Theorem", "1"))
    (True, False)
    """
    (kind, label), (wanted, of) = place, asked
    within = label.startswith(f"{of}.") if kind == "Section" else label.rstrip("abcd") == of
    return kind == wanted and (label == of or within)
