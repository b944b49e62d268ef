"""How an item of a paper stands: what the verdicts on its claims say together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from moestat.report.headline import MIXED, NO, YES, statements

Standing = Literal[
    "holds", "holds on smaller problems", "holds in part", "stands against", "not shown", "open", "not checked"
]
STANDINGS: tuple[Standing, ...] = get_args(Standing)
FAILED: tuple[Standing, ...] = ("stands against", "not shown")
"""How an item stands for which nothing speaks, and against which something does."""


def standing(rows: Iterable[Mapping[str, Any]]) -> Standing:
    """Return how an item stands, by the statements that bear on it; variants of one statement count once.

    An item *holds* if some statement for it was found so on the paper's own problem, and nothing against it; *on
    smaller problems* if that was seen on those or on stand-ins alone; it holds *in part* if there is both for and
    against, or if another statement for it is inconclusive. What is against it *stands against* it where the
    problem is the paper's own; otherwise it is *not shown*. What is neutral to the paper does not count.

    >>> row = {"bearing": "for", "group": "a", "verdict": "supported", "scale": "paper"}
    >>> standing([row]), standing([row | {"scale": "reduced"}]), standing([row, row | {"bearing": "against"}])
    ('holds', 'holds on smaller problems', 'holds in part')
    >>> refuted = row | {"verdict": "refuted"}
    >>> standing([refuted]), standing([refuted | {"scale": "stand-in"}])
    ('stands against', 'not shown')
    >>> standing([row | {"verdict": "not run"}]), standing([])
    ('open', 'not checked')
    >>> standing([row, row | {"group": "b", "verdict": "inconclusive"}])
    'holds in part'
    """
    rows = list(rows)
    if not rows:
        return "not checked"
    for_it: set[str] = set()
    against_it: set[str] = set()
    undecided = False
    for (bearing, _, scale), word in statements(rows).items():
        if bearing == "for" and (word in YES or word == MIXED):
            for_it.add(scale)
        undecided |= bearing == "for" and word == "inconclusive"
        if (bearing == "for" and (word in NO or word == MIXED)) or (
            bearing == "against" and (word in YES or word == MIXED)
        ):
            against_it.add(scale)
    if for_it:
        whole: Standing = "holds" if "paper" in for_it else "holds on smaller problems"
        return "holds in part" if against_it or undecided else whole
    if against_it:
        return "stands against" if "paper" in against_it else "not shown"
    return "open"
