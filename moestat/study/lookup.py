"""Find claims by what a reader types: a study, a path, a paper, the id of a claim, or where a paper says it."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from moestat.errors import InputError
from moestat.sentences import counted
from moestat.study import load
from moestat.study.sources import Sought
from moestat.study.spec import Claim, Study


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


def is_path(word: str) -> bool:
    """Return whether a word means a study file rather than a name."""
    return word.endswith((".py", ".toml")) or "/" in word or "\\" in word


def chosen(word: str, known: Mapping[str, Path]) -> dict[str, Study]:
    """Return studies with the claims that ``word`` means: of a study, a file, a paper, an id, or a place of a paper.

    An id may be a glob pattern, and may follow the study: ``sigmoid_regimes:over-*``. A place is a theorem, a figure, a
    section (``Theorem 1``, ``SA Fig. 2b``) or words of a source; the key or the name of a paper before it, or a study
    and a colon, narrows it. See :class:`moestat.study.sources.Sought`.

    Raises
    ------
    InputError
        If it means nothing; the message names what is near.
    """
    if word in known or is_path(word) and ":" not in word:
        return {word: load.read(word).study}
    studies, text = _within(word, known)
    of_paper = {name: study for name, study in studies.items() if study.paper == text}
    if of_paper:
        return of_paper
    places = _matching(text, studies) or _at(text, studies)
    if not places:
        raise InputError(_nothing(word, text, studies))
    return by_study(places)


def by_study(places: Iterable[Place]) -> dict[str, Study]:
    """Return the studies of claims, each with those alone."""
    studies: dict[str, Study] = {}
    claims: dict[str, list[Claim]] = {}
    for place in places:
        studies[place.name] = place.study
        claims.setdefault(place.name, []).append(place.claim)
    return {name: study.model_copy(update={"claims": claims[name]}) for name, study in studies.items()}


def papers(word: str, found: Mapping[str, Study]) -> str:
    """Say of which papers the claims are that a place was found for, if of several; otherwise an empty text.

    Parameters
    ----------
    word : str
        What :func:`chosen` was asked for.
    found : mapping of str to Study
        What it returned.
    """
    counts: dict[str, int] = {}
    for study in found.values():
        counts[study.paper] = counts.get(study.paper, 0) + len(study.claims)
    if len(counts) < 2 or _matching(word.rpartition(":")[2], found):
        return ""
    sought = Sought(word, counts)
    told = [f"{sought.names(paper)} ({paper}, {counted(number, 'claim')})" for paper, number in sorted(counts.items())]
    return f"{word!r} is in {len(counts)} papers; to see one: {'; '.join(told)}"


def all_of(word: str, known: Mapping[str, Path]) -> list[Place]:
    """Return the claim that an id means, or all that a place of a paper has.

    Raises
    ------
    InputError
        If there is none, or two studies have one of that id; the message names them, or what is near.
    """
    studies, text = _within(word, known)
    places = [place for place in _matching(text, studies) if place.claim.id == text]
    if len(places) > 1:
        names = ", ".join(f"{place.name}:{place.claim.id}" for place in places)
        raise InputError(f"the claim {word!r} is in {len(places)} studies; name one of them: {names}")
    places = places or _at(text, studies)
    if not places:
        raise InputError(_nothing(word, text, studies))
    return places


def _within(word: str, known: Mapping[str, Path]) -> tuple[dict[str, Study], str]:
    """Read the studies in which a claim is looked for, the one before the colon or all, and what is looked for there.

    A colon in words of a source is none of a study: ``ours: on SA Fig. 1a``.
    """
    study, colon, text = word.rpartition(":")
    if colon and (study in known or is_path(study) or " " not in text):
        return {study: load.read(study).study}, text
    return readable(known), word


def _matching(pattern: str, studies: Mapping[str, Study]) -> list[Place]:
    return [
        Place(name, study, claim)
        for name, study in studies.items()
        for claim in study.claims
        if fnmatch.fnmatchcase(claim.id, pattern)
    ]


def _at(text: str, studies: Mapping[str, Study]) -> list[Place]:
    """Return the claims that a place of a paper has."""
    sought = Sought(text, {study.paper for study in studies.values()})
    if sought.paper and not sought.text:  # the key of a paper alone
        return [
            Place(n, study, claim)
            for n, study in studies.items()
            if study.paper == sought.paper
            for claim in study.claims
        ]
    return [Place(name, studies[name], claim) for name, claim in sought.claims(studies)]


def _nothing(word: str, text: str, studies: Mapping[str, Study]) -> str:
    sought = Sought(text, {study.paper for study in studies.values()})
    if sought.places or sought.paper:
        told = sought.nothing(studies)
        near = f"; {told}" if told else ""
        return f"there is no claim on {word!r}{near}. The claims of all studies: python -m moestat.study --claims"
    ids = {claim.id: name for name, study in studies.items() for claim in study.claims}
    close = difflib.get_close_matches(text, list(ids), n=5, cutoff=0.5)
    near = "; near are " + ", ".join(f"{ids[name]}:{name}" for name in close) if close else ""
    return f"there is no claim {word!r}{near}. The claims of all studies: python -m moestat.study --claims"
