"""Find claims by what a reader types: a study, a path, a paper, or the id of a claim."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from moestat.errors import InputError
from moestat.study import load
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
    return word.endswith(".toml") or "/" in word or "\\" in word


def chosen(word: str, known: Mapping[str, Path]) -> dict[str, Study]:
    """Return studies with the claims that ``word`` means: of a study, of a file, of a paper, or of an id.

    An id may be a glob pattern, and may follow the study: ``sigmoid_regimes:over-*``.

    Raises
    ------
    InputError
        If it means nothing; the message names what is near.
    """
    if word in known or is_path(word) and ":" not in word:
        return {word: load.read(word).study}
    studies = _within(word, known)
    of_paper = {name: study for name, study in studies.items() if study.paper == word}
    if of_paper:
        return of_paper
    places = _matching(word, studies)
    if not places:
        raise InputError(_nothing(word, studies))
    claims: dict[str, list[Claim]] = {}
    for place in places:
        claims.setdefault(place.name, []).append(place.claim)
    return {name: studies[name].model_copy(update={"claims": kept}) for name, kept in claims.items()}


def one(word: str, known: Mapping[str, Path]) -> Place:
    """Return the claim that an id means: ``ID``, or ``STUDY:ID`` where two studies have one of that name.

    Raises
    ------
    InputError
        If there is none, or more than one; the message names them, or what is near.
    """
    studies = _within(word, known)
    places = [place for place in _matching(word, studies) if place.claim.id == word.rpartition(":")[2]]
    if not places:
        raise InputError(_nothing(word, studies))
    if len(places) > 1:
        names = ", ".join(f"{place.name}:{place.claim.id}" for place in places)
        raise InputError(f"the claim {word!r} is in {len(places)} studies; name one of them: {names}")
    return places[0]


def _within(word: str, known: Mapping[str, Path]) -> dict[str, Study]:
    """Read the studies in which a claim is looked for: the one before the colon, or all."""
    study, colon, _ = word.rpartition(":")
    return {study: load.read(study).study} if colon else readable(known)


def _matching(word: str, studies: Mapping[str, Study]) -> list[Place]:
    pattern = word.rpartition(":")[2]
    return [
        Place(name, study, claim)
        for name, study in studies.items()
        for claim in study.claims
        if fnmatch.fnmatchcase(claim.id, pattern)
    ]


def _nothing(word: str, studies: Mapping[str, Study]) -> str:
    ids = {claim.id: name for name, study in studies.items() for claim in study.claims}
    close = difflib.get_close_matches(word.rpartition(":")[2], list(ids), n=5, cutoff=0.5)
    near = "; near are " + ", ".join(f"{ids[name]}:{name}" for name in close) if close else ""
    return f"there is no claim {word!r}{near}. The claims of all studies: python -m moestat.study --claims"
