"""The statements of the papers counted, and the items of a paper - theorems, tables, figures - with how each stands.

Variants of one statement count once, everywhere.
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from moestat.claims.wording import AT_SCALE, VERDICTS, broad, wording
from moestat.report import grid, views
from moestat.report.grid import Shown
from moestat.report.text import markdown
from moestat.report.views import in_words
from moestat.study import arguments
from moestat.study.arguments import Argument
from moestat.study.contents import Item, Paper, Repair
from moestat.study.spec import Scale

ORIGINS = ("stated", "implied", "ours")
BEARINGS = ("for", "against", "neutral")
SCALES = ("paper", "reduced", "stand-in")
NOT_RUN = "not run"
MIXED = "mixed"
WORDS = (*VERDICTS, MIXED, NOT_RUN)
YES, NO = ("supported", "no counterexample"), ("not supported", "refuted")
Standing = Literal[
    "holds", "holds on smaller problems", "holds in part", "stands against", "not shown", "open", "not checked"
]
"""How an item stands by its verdicts; an argument on it says so itself."""
FAILED: tuple[Standing, ...] = ("stands against", "not shown")
"""How an item stands for which nothing speaks, and against which something does."""
COLUMNS = ("item", "says", "stands", "verdicts")
COMMAND = "python -m moestat.study --paper --write docs/findings/items.md"

# --- statements ------------------------------------------------------------------------------------------------------


def of_group(verdicts: Sequence[str]) -> str:
    """Return the verdict of the variants of one statement together.

    A statement about every case is *refuted* by one counterexample, whatever its other variants have not found or left
    open. Variants that contradict each other are *mixed* otherwise, and else the weakest verdict counts: one that
    decides nothing before one that does. A variant without a run leaves open what the others say; *not run* is what no
    run bears on.
    """
    if "refuted" in verdicts and "supported" not in verdicts:
        return "refuted"
    if any(v in YES for v in verdicts) and any(v in NO for v in verdicts):
        return MIXED
    if all(v == NOT_RUN for v in verdicts):
        return NOT_RUN
    order = ("inconclusive", "refuted", "not supported", "no counterexample", "supported")
    return min(("inconclusive" if v == NOT_RUN else v for v in verdicts), key=order.index)


def statements(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], str]:
    """Return the verdict of every statement, its variants together, by its bearing, group and scale."""
    variants: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        variants.setdefault((row["bearing"], row["group"], row["scale"]), []).append(str(row["verdict"]))
    return {statement: of_group(verdicts) for statement, verdicts in variants.items()}


# --- items -----------------------------------------------------------------------------------------------------------


def standing(rows: Iterable[Mapping[str, Any]]) -> Standing:
    """Return how an item stands, by the statements that bear on it; the head of the page of items says when.

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
    found = [(bearing, word, scale) for (bearing, _, scale), word in statements(rows).items()]
    if not found:
        return "not checked"
    for_it = {scale for bearing, word, scale in found if bearing == "for" and word in (*YES, MIXED)}
    speaks_against = {"for": (*NO, MIXED), "against": (*YES, MIXED), "neutral": ()}
    against_it = {scale for bearing, word, scale in found if word in speaks_against[bearing]}
    undecided = any(bearing == "for" and word == "inconclusive" for bearing, word, _ in found)
    if for_it and (against_it or undecided):
        return "holds in part"
    if for_it:
        return "holds" if "paper" in for_it else "holds on smaller problems"
    if against_it:
        return "stands against" if "paper" in against_it else "not shown"
    return "open"


@dataclass
class Part:
    """An item of the paper with what was found on it."""

    item: Item
    rows: list[dict[str, Any]] = field(default_factory=list)
    elsewhere: dict[str, None] = field(default_factory=dict)
    repairs: list[str] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)

    @property
    def stands(self) -> str:
        """How the item stands, by argument if there is one: a single counterexample refutes it, whatever is open."""
        return self.arguments[0].wording if self.arguments else self.standing

    @property
    def standing(self) -> Standing:
        """How it stands by its runs: where its conclusion fails, a consequence that is seen counts for nothing."""
        own = [row for row in self.rows if any(named(row, pattern) for pattern in self.item.conclusion)]
        of_it = standing(own) if own else "open"
        return of_it if of_it in FAILED else standing(self.rows)

    @property
    def verdicts(self) -> str:
        """The counts in words: those for the item, then the objections to it; what is open names its variants."""
        said = []
        for bearing, head in (("for", ""), ("against", "objections: ")):
            mine = [row for row in self.rows if row["bearing"] == bearing]
            whole = statements(mine)
            is_open = [row for row in mine if whole[bearing, row["group"], row["scale"]] == "inconclusive"]
            decided = Counter(_shown(row["verdict"], row["scale"]) for row in is_open if row["verdict"] in (*YES, *NO))
            counts = Counter((word, scale) for (_, _, scale), word in whole.items())
            shown: Counter[str] = Counter()
            for word, scale in product(WORDS, AT_SCALE):
                if counts[word, scale]:
                    shown[_shown(word, scale)] += counts[word, scale]
            if shown:
                said.append(head + in_words(shown) + (f" (variants: {in_words(decided)})" if decided else ""))
        return "; ".join(said)

    @property
    def told(self) -> str:
        """What is proved of the item, the verdicts on it, or why there are none, and what mends it."""
        proved = " ".join(f"{one.says} ({one.id})" for one in self.arguments)
        verdicts = self.verdicts or ("what was found is neutral to the paper" if self.rows else "")
        verdicts = verdicts or (f"see {', '.join(self.elsewhere)}" if self.elsewhere else self.item.unchecked)
        if proved:
            verdicts = f"{proved} By simulation: {verdicts}" if self.verdicts else proved
        return " ".join([f"{verdicts.rstrip('.')}.", *self.repairs]) if self.repairs else verdicts


def named(row: Mapping[str, Any], pattern: str) -> bool:
    """Return whether a row of the ledger is one of a pattern STUDY:CLAIM."""
    return fnmatch.fnmatchcase(f"{row['study']}:{row['claim']}", pattern)


def _shown(word: str, scale: Scale) -> str:
    if word in VERDICTS:
        return wording(word, scale)
    return word if word == NOT_RUN else f"{MIXED}{AT_SCALE[scale]}"


def parts(contents: Paper, records: Sequence[dict[str, Any]]) -> list[Part]:
    """Put every claim to the item that its source names first."""
    by_name = {item.name: Part(item, arguments=arguments.on(item.name, contents.arguments)) for item in contents.items}
    for row in records:
        first, *others = [item.name for item in contents.items_of(str(row["source"]))] or [""]
        if first:
            by_name[first].rows.append(row)
        for other in others:
            by_name[other].elsewhere[first] = None
    for part in by_name.values():
        part.repairs = [repair.text for repair in part.item.repairs if _holds(repair, records)]
    return list(by_name.values())


def _holds(repair: Repair, records: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether every claim that a repair rests on has the verdict that it asks for."""
    return all(
        {broad(str(row["verdict"])) for row in records if named(row, pattern)} == {broad(wanted)}
        for pattern, wanted in repair.when.items()
    )


def _cells(part: Part) -> list[str]:
    return [part.item.name, part.item.says, part.stands, part.told]


def rich(found: Iterable[Part], title: str) -> Shown:
    """Return the items for the terminal; what they say is left out where there is no room."""
    return Shown(grid.table(COLUMNS, [_cells(part) for part in found], title=title), spare=("says",))


def page(papers: Sequence[tuple[Paper, Sequence[Part]]]) -> str:
    """Return the items of some papers as one Markdown page, the same for the same outputs."""
    listed = [(contents, [_cells(part) for part in found]) for contents, found in papers]
    template = views.environment().overlay(autoescape=False).get_template("items.md.j2")
    return template.render(papers=listed, columns=COLUMNS, command=COMMAND, markdown=markdown)
