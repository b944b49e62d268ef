"""The items of a paper - theorems, tables, figures - with how each stands, by the primary claims of its cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from moestat.claims.wording import VERDICTS, holds, tally
from moestat.report import views
from moestat.report.text import markdown
from moestat.report.views import in_words, rules_in_words
from moestat.study import arguments
from moestat.study.arguments import Argument
from moestat.study.cells import CELLS, Cell, name_of
from moestat.study.contents import Item, Paper

ORIGINS = ("stated", "implied", "ours")
NOT_RUN = "not run"
WORDS = (*VERDICTS, NOT_RUN)
YES, NO = ("supported", "no counterexample"), ("not supported", "refuted")
Standing = Literal[
    "holds", "holds on smaller problems", "holds in part", "stands against", "not shown", "open", "not checked"
]
"""How a cell stands by its verdicts; an argument on it says so itself."""
FAILED: tuple[Standing, ...] = ("stands against", "not shown")
"""How a cell stands for which nothing speaks, and against which something does."""
COLUMNS = ("item", "the paper says", "stands", "by cell")
COMMAND = "python -m moestat.study --paper --write items.md"


def standing(rows: Iterable[Mapping[str, Any]]) -> Standing:
    """Return how a cell stands, by the verdicts on its claims; the head of the page of items says when.

    One counterexample on the paper's own problem refutes what is said of every case, whatever is open, and whatever
    other cases have not found; beside it only what is *supported* counts.

    >>> row = {"verdict": "supported", "scale": "paper"}
    >>> standing([row]), standing([row | {"scale": "reduced"}])
    ('holds', 'holds on smaller problems')
    >>> refuted, clean = row | {"verdict": "refuted"}, row | {"verdict": "no counterexample"}
    >>> standing([refuted, clean]), standing([refuted, row]), standing([refuted | {"scale": "stand-in"}])
    ('stands against', 'holds in part', 'not shown')
    >>> standing([row | {"verdict": "not run"}]), standing([])
    ('open', 'not checked')
    >>> standing([row, row | {"verdict": "inconclusive"}])
    'holds in part'
    """
    found = {(row["verdict"], row["scale"]) for row in rows}
    words = {word for word, _ in found}
    if not found:
        return "not checked"
    if ("refuted", "paper") in found and "supported" not in words:
        return "stands against"
    for_it = {scale for word, scale in found if word in YES}
    against_it = {scale for word, scale in found if word in NO}
    if for_it and (words - {*YES}):
        return "holds in part"
    if for_it:
        return "holds" if "paper" in for_it else "holds on smaller problems"
    if against_it:
        return "stands against" if "paper" in against_it else "not shown"
    return "open"


@dataclass
class Part:
    """An item of the paper with its primary claims and its arguments, by cell, and the findings that hold."""

    item: Item
    cells: dict[Cell, list[dict[str, Any]]] = field(default_factory=lambda: {cell: [] for cell in CELLS})
    arguments: list[Argument] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    @property
    def filled(self) -> list[Cell]:
        """The cells that are not empty."""
        return [cell for cell in CELLS if self.cells[cell] or self.argued(cell)]

    @property
    def conclusion(self) -> Cell:
        """The cell by which the item stands."""
        return self.item.conclusion or (*self.filled, *CELLS)[0]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The primary claims of all cells, those of the conclusion first."""
        order = dict.fromkeys([self.conclusion, *CELLS])
        return [row for cell in order for row in self.cells[cell]]

    def argued(self, cell: Cell) -> list[Argument]:
        """Return the arguments on a cell; one that disproves it comes first."""
        return [one for one in self.arguments if one.cell == cell]

    def word(self, cell: Cell) -> str:
        """Return how a cell stands: by argument if there is one, whatever its runs say."""
        argued = self.argued(cell)
        return argued[0].wording if argued else standing(self.cells[cell])

    @property
    def stands(self) -> str:
        """How the item stands."""
        return self.word(self.conclusion)

    def counts(self, cell: Cell) -> str:
        """Return the verdicts on the claims of a cell, counted in words, and when their rules were written."""
        rows = self.cells[cell]
        waiting = sum(row["verdict"] == NOT_RUN for row in rows)
        rules, left = rules_in_words(rows), f"{waiting} {NOT_RUN}" if waiting else ""
        return ", ".join(filter(None, [f"{in_words(tally(rows))} ({rules})" if rules else "", left]))

    @property
    def told(self) -> list[str]:
        """A line for each cell: how it stands (said of the item for its conclusion), its arguments, its verdicts."""
        lines = []
        for cell in self.filled:
            word = "" if cell == self.conclusion else self.word(cell)
            ids = ", ".join(one.id for one in self.argued(cell))
            lines.append(f"{cell}: {'; '.join(filter(None, [word, ids, self.counts(cell)]))}")
        return lines or [self.item.unchecked or "no primary claim"]


def parts(contents: Paper, records: Sequence[dict[str, Any]]) -> list[Part]:
    """Put every primary claim to its item; ``records`` are all rows of the paper, which findings may name."""
    by_name = {item.name: Part(item, arguments=arguments.on(item.name, contents.arguments)) for item in contents.items}
    for row in records:
        if row["cell"]:
            by_name[row["item"]].cells[row["cell"]].append(row)
    words = {name_of(row["study"], row["claim"]): str(row["verdict"]) for row in records}
    for part in by_name.values():
        part.findings = [finding.text for finding in part.item.findings if holds(finding, words)]
    return list(by_name.values())


def page(papers: Sequence[tuple[Paper, Sequence[Part]]]) -> str:
    """Return the items of some papers as one Markdown page, the same for the same outputs."""
    template = views.environment().overlay(autoescape=False).get_template("items.md.j2")
    return template.render(papers=papers, columns=COLUMNS, command=COMMAND, markdown=markdown)
