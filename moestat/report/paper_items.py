"""The items of a paper - theorems, lemmas, tables, figures - with how each of them stands, and by which verdicts."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from rich.console import RenderableType

from moestat.claims.wording import AT_SCALE, VERDICTS, broad, wording
from moestat.report import render, views
from moestat.report.exponents import markdown
from moestat.report.headline import MIXED, NO, NOT_RUN, WORDS, YES, statements
from moestat.report.html import Drawn
from moestat.report.standing import FAILED, Standing, standing
from moestat.study.contents import Contents, Item, Repair
from moestat.study.spec import Scale

ORDER = {"for": 0, "against": 1, "neutral": 2}
COMMAND = "python -m moestat.study --report --write docs/findings/items.md"
_HEAD = f"""\
# The papers item by item

<!-- made by `{COMMAND}`; do not edit -->

Every theorem, lemma, table and figure of the papers, in their order, and how it stands by the verdicts of the
[ledger](../ledger.md). An item **holds** if a statement for it was found so on the paper's own problem and nothing
speaks against it; **on smaller problems** if that was seen on those or on stand-ins alone; **in part** if there is
both for and against, or something for it is still open. What speaks against it **stands against** it where the problem
is the paper's own; elsewhere the item was **not shown**. Variants of one statement count once: one counterexample
refutes a statement about every case, and variants that contradict each other otherwise are *mixed*. Where what an item
concludes fails, a consequence of it that is seen does not make it hold in part. *Objections* are statements against the
paper: one that is supported speaks against the item. In brackets stands what single variants of the inconclusive
statements have decided. What is neutral to the paper decides nothing.

The numbers, rules and drawings of an item are in the report of its paper:
`python -m moestat.study --paper PAPER --report`; the table of one paper, in the terminal: `--paper PAPER` alone.
"""


@dataclass
class Part:
    """An item of the paper with what was found on it."""

    item: Item
    rows: list[dict[str, Any]] = field(default_factory=list)
    elsewhere: list[tuple[str, str]] = field(default_factory=list)
    figures: list[Drawn] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)

    @property
    def standing(self) -> Standing:
        """How the item stands: where its conclusion fails, a consequence that is seen does not make it hold in part."""
        own = [row for row in self.rows if self._concludes(row)]
        of_it = standing(own) if own else "open"
        return of_it if of_it in FAILED else standing(self.rows)

    def _concludes(self, row: Mapping[str, Any]) -> bool:
        name = f"{row['study']}:{row['claim']}"
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.item.conclusion)

    def wordings(self, bearing: str) -> list[str]:
        """Return the verdicts on what speaks for the item, or against it, in the words that tell their scale."""
        words = [_shown(row["verdict"], row["scale"]) for row in self.rows if row["bearing"] == bearing]
        return list(dict.fromkeys(words))

    def counts(self, bearing: str) -> dict[str, int]:
        """Count the statements of a bearing by their verdict and its scale, variants of one statement once."""
        mine = (row for row in self.rows if row["bearing"] == bearing)
        found = Counter((word, scale) for (_, _, scale), word in statements(mine).items())
        counts: dict[str, int] = {}
        for word, scale in product(WORDS, AT_SCALE):
            if number := found[word, scale]:
                shown = _shown(word, scale)
                counts[shown] = counts.get(shown, 0) + number
        return counts

    def within(self, bearing: str) -> dict[str, int]:
        """Count the variants that decide something in statements that are inconclusive as a whole."""
        mine = [row for row in self.rows if row["bearing"] == bearing]
        whole = statements(mine)
        parts = [row for row in mine if whole[row["bearing"], row["group"], row["scale"]] == "inconclusive"]
        found = Counter((row["verdict"], row["scale"]) for row in parts if row["verdict"] in (*YES, *NO))
        return {_shown(word, scale): count for (word, scale), count in found.items()}

    @property
    def verdicts(self) -> str:
        """The counts in words: those for the item, then the objections to it."""
        said = {bearing: self._said(bearing) for bearing in ("for", "against")}
        objections = f"objections: {said['against']}" if said["against"] else ""
        return "; ".join(text for text in (said["for"], objections) if text)

    def _said(self, bearing: str) -> str:
        within = views.in_words(self.within(bearing))
        return views.in_words(self.counts(bearing)) + (f" (variants: {within})" if within else "")


def _shown(word: str, scale: Scale) -> str:
    if word in VERDICTS:
        return wording(word, scale)
    return word if word == NOT_RUN else f"{MIXED}{AT_SCALE[scale]}"


def parts(contents: Contents, records: Sequence[dict[str, Any]]) -> tuple[list[Part], list[dict[str, Any]]]:
    """Put every claim to the item that its source names first.

    Parameters
    ----------
    contents : Contents
        The items of the paper, in its order.
    records : sequence of dict
        Rows of :func:`moestat.report.ledger.ledger`.

    Returns
    -------
    list of Part
        One per item.
    list of dict
        The rows whose source names none.
    """
    by_name = {item.name: Part(item) for item in contents.items}
    beside = []
    for row in records:
        items = contents.items_of(str(row["source"]))
        if not items:
            beside.append(row)
            continue
        by_name[items[0].name].rows.append(row)
        for item in items[1:]:
            by_name[item.name].elsewhere.append((items[0].name, items[0].anchor))
    verdicts = {f"{row['study']}:{row['claim']}": str(row["verdict"]) for row in records}
    for part in by_name.values():
        part.rows.sort(key=lambda row: ORDER[row["bearing"]])
        part.elsewhere = list(dict.fromkeys(part.elsewhere))
        part.repairs = [repair.text for repair in part.item.repairs if _holds(repair, verdicts)]
    return list(by_name.values()), beside


def _holds(repair: Repair, verdicts: Mapping[str, str]) -> bool:
    """Return whether every claim that a repair rests on has the verdict that it asks for."""
    for pattern, wanted in repair.when.items():
        broadly = [broad(word) for name, word in verdicts.items() if fnmatch.fnmatchcase(name, pattern)]
        if not broadly or any(word != broad(wanted) for word in broadly):
            return False
    return True


def _told(part: Part) -> str:
    """Return the verdicts on an item, or why there are none, and what mends it."""
    verdicts = part.verdicts or _why_not(part)
    return " ".join([f"{verdicts.rstrip('.')}.", *part.repairs]) if part.repairs else verdicts


def view(found: Iterable[Part], title: str = "", *, says: bool = True) -> views.View:
    """Show the items as a table: what each says (left out where there is no room), how it stands, its verdicts."""
    rows = [(p.item.name, p.item.says, str(p.standing), _told(p)) for p in found]
    table = views.View(title, ("item", "says", "stands", "verdicts"), rows)
    return table if says else table.of_columns([0, 2, 3])


def _why_not(part: Part) -> str:
    """Return why nothing bears on an item: it was left out for a reason, or is told with another."""
    if part.rows:
        return "what was found is neutral to the paper"
    others = [name for name, _ in part.elsewhere]
    return f"see {', '.join(others)}" if others else part.item.unchecked


def rich(found: Sequence[Part], title: str) -> RenderableType:
    """Return the items for the terminal."""
    return render.by_width(lambda width: view(found, title, says=width >= 110))


def page(papers: Sequence[tuple[Contents, Sequence[Part]]]) -> str:
    """Return the items of some papers as one Markdown page, the same for the same outputs."""
    sections = [_HEAD]
    for contents, found in papers:
        table = view(found)
        safe = [tuple(markdown(cell) for cell in row) for row in table.rows]
        table = views.View("", table.columns, [(row[0], row[1], f"**{row[2]}**", row[3]) for row in safe])
        sections += [f"## {markdown(contents.paper)}", markdown(contents.title) + ".", render.markdown(table)]
    return "\n\n".join(section.strip("\n") for section in sections) + "\n"
