"""The cells of an item: what it states, what the paper says satisfies it, its proof as printed, its experiment.

A claim that stands in a cell is *primary*, a row of the ledger. Every other one is of the *sensitivity* of its study:
a row of the study's own report, and counted nowhere else.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from moestat.errors import InputError
from moestat.sentences import listed
from moestat.study.spec import Claim, Study

if TYPE_CHECKING:
    from moestat.study.contents import Paper

Cell = Literal["statement", "experiment", "example", "proof"]
CELLS: tuple[Cell, ...] = get_args(Cell)
"""The cells in the order in which the first that is not empty decides an item."""
SENSITIVITY = "sensitivity"


class Place(NamedTuple):
    """The item that a claim belongs to, and the cell in which it stands there."""

    item: str
    cell: Cell


def name_of(study: str, claim: str) -> str:
    """Return the name of a claim as cells have it, STUDY:CLAIM; the study may be named by its file."""
    return f"{Path(study).stem if study.endswith('.py') else study}:{claim}"


def claims_of(studies: Mapping[str, Study]) -> dict[str, Claim]:
    """Return all claims of some studies by STUDY:CLAIM."""
    return {name_of(name, claim.id): claim for name, study in studies.items() for claim in study.claims}


def primary(claim: Claim) -> bool:
    """Return whether a claim can stand in a cell: it is a statement of the paper, not one of ours or beside it."""
    return claim.origin != "ours" and claim.bearing == "for"


def placed(paper: Paper, claims: Mapping[str, Claim], *, complete: bool = False) -> dict[str, Place]:
    """Return where each primary claim stands, by STUDY:CLAIM.

    Where an item lists nothing its claims go by their sources: to *experiment* of a table or a figure, else to
    *statement*.

    Parameters
    ----------
    complete : bool
        Whether ``claims`` are all of the paper, so that a pattern without one is an error.

    Raises
    ------
    InputError
        If a claim is in two cells, a pattern has no claim that can be primary, or a conclusion names an empty cell.
    """
    found: dict[str, Place] = {}
    for item in paper.items:
        for cell in CELLS:
            for pattern in getattr(item, cell):
                names = [name for name in fnmatch.filter(claims, pattern) if primary(claims[name])]
                if complete and not names:
                    raise InputError(
                        f"{paper.key} {item.name}: {cell} has {pattern!r}, which no claim is that the paper states or "
                        "implies"
                    )
                for name in names:
                    place = Place(item.name, cell)
                    if (other := found.setdefault(name, place)) != place:
                        said = listed(f"{cell} of {item}" for item, cell in (other, place))
                        raise InputError(f"{paper.key}: the claim {name} is in two cells: {said}")
    for name, claim in claims.items():
        items = paper.items_of(claim.source) if name not in found and primary(claim) else []
        if items and not items[0].lists:
            found[name] = Place(items[0].name, items[0].usual)
    there = {*found.values(), *((one.item, one.cell) for one in paper.arguments)}
    for item in paper.items if complete else ():
        if item.conclusion and (item.name, item.conclusion) not in there:
            raise InputError(f"{paper.key} {item.name}: its conclusion is {item.conclusion!r}, and that cell is empty")
    return found


def of_studies(studies: Mapping[str, Study]) -> dict[str, Place]:
    """Return where each primary claim of some studies stands, by the lists of their papers."""
    from moestat.study import contents  # which has items, and they have cells

    found: dict[str, Place] = {}
    for paper in dict.fromkeys(study.paper for study in studies.values()):
        mine = {name: study for name, study in studies.items() if study.paper == paper}
        found |= placed(contents.read(paper) or contents.of_sources(paper, mine), claims_of(mine))
    return found


def where(found: Mapping[str, Place], study: str, claim: str) -> dict[str, str]:
    """Return the item and the cell of a claim as columns; both are empty for one that is not primary."""
    place = found.get(name_of(study, claim))
    return {"item": place.item, "cell": place.cell} if place else {"item": "", "cell": ""}
