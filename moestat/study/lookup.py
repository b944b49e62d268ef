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
from moestat.sentences import listed as joined
from moestat.study import contents, load
from moestat.study.spec import Claim, Study

_IDLE = {"a", "and", "eq", "eqs", "equation", "equations", "in", "of", "on", "or", "paper", "the", "to"}
"""Words between places that a source need not have."""
_LETTERS = re.compile(r"[^\W\d_]{3}")
"""What a text must have to be looked for as it stands."""


class Place(NamedTuple):
    """A claim, and the study that states it, by the name or the path that the command line takes."""

    name: str
    study: Study
    claim: Claim


def readable(known: Mapping[str, Path]) -> dict[str, Study]:
    """Return the studies whose files can be read; a broken file is told when it is run."""
    studies = {}
    for name, path in known.items():
        with contextlib.suppress(InputError):
            studies[name] = load.read(path).study
    return studies


def chosen(word: str, known: Mapping[str, Path]) -> dict[str, Study]:
    """Return studies with the claims that ``word`` means: of a study, a file, a paper, an id, or a place of a paper.

    An id may be a glob pattern, and may follow the study: ``sigmoid_regimes:over-*``. A place is a theorem, a figure, a
    section (``Theorem 1``, ``SA Fig. 2b``) or words of a source; the key or the name of a paper before it, or a study
    and a colon, narrows it.

    Raises
    ------
    InputError
        If it means nothing; the message names what is near.
    """
    if word in known or _is_path(word) and ":" not in word:
        return {word: load.read(word).study}
    studies, text = _within(word, known)
    if mine := {name: study for name, study in studies.items() if study.paper == text}:
        return mine
    return by_study(_matching(text, studies) or _at(word, text, studies))


def all_of(word: str, known: Mapping[str, Path]) -> list[Place]:
    """Return the claim that an id means, or all that a place of a paper has.

    Raises
    ------
    InputError
        If there is none, or two studies have one of that id; the message names them, or what is near.
    """
    studies, text = _within(word, known)
    found = [place for place in _matching(text, studies) if place.claim.id == text]
    if len(found) > 1:
        names = ", ".join(f"{place.name}:{place.claim.id}" for place in found)
        raise InputError(f"the claim {word!r} is in {len(found)} studies; name one of them: {names}")
    return found or _at(word, text, studies)


def by_study(found: Iterable[Place]) -> dict[str, Study]:
    """Return the studies of claims, each with those alone."""
    studies: dict[str, Study] = {}
    for name, study, claim in found:
        mine = [*studies[name].claims, claim] if name in studies else [claim]
        studies[name] = study.model_copy(update={"claims": mine})
    return studies


def papers(word: str, found: Mapping[str, Study]) -> str:
    """Say of which papers the claims are that :func:`chosen` found for a place, if of several."""
    names = sorted({study.paper for study in found.values()})
    if len(names) < 2 or _matching(word.rpartition(":")[2], found):
        return ""
    return f"{word!r} is in {len(names)} papers ({', '.join(names)}); to see those of one: '{names[0]} {word}'"


def _is_path(word: str) -> bool:
    return word.endswith((".py", ".toml")) or "/" in word or "\\" in word


def _within(word: str, known: Mapping[str, Path]) -> tuple[dict[str, Study], str]:
    """Read the studies in which a claim is looked for, the one before the colon or all, and what is looked for there.

    A colon in words of a source is none of a study: ``ours: on SA Fig. 1a``.
    """
    study, colon, text = word.rpartition(":")
    if colon and (study in known or _is_path(study) or " " not in text):
        return {study: load.read(study).study}, text
    return readable(known), word


def _matching(pattern: str, studies: Mapping[str, Study]) -> list[Place]:
    return [place for place in _claims(studies) if fnmatch.fnmatchcase(place.claim.id, pattern)]


def _claims(studies: Mapping[str, Study]) -> list[Place]:
    return [Place(name, study, claim) for name, study in studies.items() for claim in study.claims]


def _at(word: str, text: str, studies: Mapping[str, Study]) -> list[Place]:
    """Return the claims at a place of a paper, with further words or without, or whose source has words as they are."""
    lists = {paper: contents.read(paper) for paper in sorted({study.paper for study in studies.values()})}
    keys = {paper: listed.key if listed else paper for paper, listed in lists.items()}
    paper, text = _of_paper(text, keys)
    items = {name: listed.items_of(text) if listed else [] for name, listed in lists.items() if paper in ("", name)}
    mine: list[tuple[Place, list[contents.Item]]] = []
    for place in _claims(studies):
        if place.study.paper in items:
            listed = lists[place.study.paper]
            mine.append((place, listed.items_of(place.claim.source)[:1] if listed else []))
    asked = contents.places(text)
    if paper and not text:
        return [place for place, _ in mine]
    if asked:
        words = set(_words(contents.without_places(text))) - _IDLE
        fit = [(p, of) for p, of in mine if words <= {*_words(p.claim.source), *_words(p.study.paper)}]
        found = [p for p, of in fit if any(_lies_in(at, one) for one in asked for at in _places(p.claim, of))]
        # Fig. 2b, where all sources say Fig. 2; an equation of a theorem
        found = found or [p for p, of in fit if of and of[0] in items[p.study.paper]]
    else:
        said = re.compile(rf"(?<![\w.]){re.escape(text)}(?!\w|\.\d)", re.IGNORECASE)
        found = [p for p, of in mine if _LETTERS.search(text) and any(map(said.search, _texts(p.claim, of)))]
    if not found:
        what = f"on {word!r}" if asked or paper else repr(word)
        near = _near(text, keys, items, [place for place, _ in mine], asked)
        raise InputError(f"there is no claim {what}{near}. The claims of all studies: python -m moestat.study --claims")
    return found


def _places(claim: Claim, of: Iterable[contents.Item]) -> list[contents.Place]:
    return [place for text in (claim.source, *(item.name for item in of)) for place in contents.places(text)]


def _texts(claim: Claim, of: Iterable[contents.Item]) -> list[str]:
    return [claim.source, *(text for item in of for text in (item.name, *item.also))]


def _near(
    text: str,
    keys: Mapping[str, str],
    items: Mapping[str, list[contents.Item]],
    mine: Iterable[Place],
    asked: list[contents.Place],
) -> str:
    """Say why an item has no claims, which items of its kind have some, and which ids are like what was typed."""
    near = [
        f"{keys[paper]} {item.name} is not checked: {item.unchecked.rstrip('.')}"
        for paper, found in items.items()
        for item in found
        if item.unchecked
    ]
    kinds = {kind for kind, _ in asked}
    there = {(keys[p.study.paper], *at) for p in mine for at in contents.places(p.claim.source) if at[0] in kinds}
    if there:
        near.append(f"there are claims on {joined(map(' '.join, sorted(there, key=_in_order)), 24)}")
    if not asked:
        ids = {place.claim.id: place.name for place in mine}
        close = difflib.get_close_matches(text, list(ids), n=5, cutoff=0.5)
        near += ["near are " + ", ".join(f"{ids[name]}:{name}" for name in close)] if close else []
    return "".join(f"; {text}" for text in near)


def _of_paper(text: str, keys: Mapping[str, str]) -> tuple[str, str]:
    """Return the paper whose name, or key, stands before the rest, and the rest."""
    text = " ".join(text.split())
    for paper, key in keys.items():
        for name in {key, paper} - {""}:
            if begun := re.match(rf"{re.escape(name)}(?![\w-])[\s:,]*", text, re.IGNORECASE):
                return paper, text[begun.end() :]
    return "", text


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


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
