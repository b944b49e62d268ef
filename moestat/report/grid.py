"""Tables of text, as they are shown: columns of cells under headings, with a title and notes; and how rich prints one.

Data frames become these before they are shown, so that what shows verdicts alone does without pandas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.segment import Segment
from rich.text import Text

GAP, LEAST = 2, 24
"""Blanks between columns; cells of a column of words below which one is left out rather than folded."""
COLOURS = {"yes": "green", "no": "red", "open": "yellow", "": ""}
_NUMBER = re.compile(r"[-+\u2212\[(]?(\d|inf)[-+\u2212\[\](),./ %e\dinf]*\*?|")
_TONES = {
    "yes": ("supported", "shown by", "no counterexample"),
    "no": ("not su", "not sh", "refuted"),
    "open": ("inc",),
}


@dataclass(frozen=True)
class Table:
    """Columns and rows of text; ``groups`` has the heading that each row stands under, or nothing."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    groups: Sequence[str] = ()
    notes: Sequence[str] = ()

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def without(self, names: Collection[str]) -> Table:
        """Return the table without some columns; those that it does not have are passed over."""
        kept = [at for at, name in enumerate(self.columns) if name not in names]
        rows = [[row[at] for at in kept] for row in self.rows]
        return replace(self, columns=[self.columns[at] for at in kept], rows=rows)

    @property
    def parts(self) -> list[tuple[str, list[Sequence[str]]]]:
        """Each heading, where it stands first, with its rows; one empty heading where there are none."""
        found: dict[str, list[Sequence[str]]] = {"": list(self.rows)} if not self.groups else {}
        for heading, row in zip(self.groups, self.rows if self.groups else (), strict=True):
            found.setdefault(heading, []).append(row)
        return list(found.items())

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers alone, and are set flush right; the first has names."""
        return [at > 0 and all(_NUMBER.fullmatch(row[at]) for row in self.rows) for at in range(len(self.columns))]


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    groups: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Table:
    """Return a table of text without empty columns."""
    made = Table(list(columns), rows, title, groups, list(notes))
    return made.without([name for name in columns if not any(made.column(name))]) if rows else made


def tone(wording: str) -> str:
    """Return whether a verdict speaks for a statement, against it, or leaves it open; of other texts an empty one.

    >>> tone("not shown at reduced scale"), tone("refuted by 2 of 9"), tone("inconclusive"), tone("not run")
    ('no', 'no', 'open', '')
    """
    return next((kind for kind, starts in _TONES.items() if wording.startswith(starts)), "")


@dataclass(frozen=True)
class Shown:
    """A table for rich; ``spare`` are columns that a narrow terminal does without, in this order."""

    table: Table
    spare: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = self.table
        for column in self.spare:
            if sum(min(width, LEAST) + GAP for width in _widths(shown)) - GAP <= options.max_width:
                break
            shown = shown.without([column])
        right, widths, room = shown.numeric, _widths(shown), options.max_width - GAP * (len(shown.columns) - 1)
        # blanks between words give way, then words; but numbers and intervals are broken last
        whole = [width if flush else 0 for width, flush in zip(widths, right, strict=True)]
        words = [max(*pair) for pair in zip(whole, _widths(shown, str.split), strict=True)]
        for least in (words, [max(4, end) for end in whole], [4] * len(widths)):
            while sum(widths) > room and (wide := [at for at, end in enumerate(least) if widths[at] > end]):
                widths[max(wide, key=widths.__getitem__)] -= 1
        if shown.title:
            yield Text(shown.title, style="bold")
        yield from _line(console, shown.columns, ["bold"] * len(widths), widths, right)
        yield Text("\N{BOX DRAWINGS LIGHT HORIZONTAL}" * (sum(widths) + GAP * (len(widths) - 1)))
        for heading, rows in shown.parts:
            if heading:
                yield Text(heading, style="bold italic")
            for row in rows:
                named = zip(shown.columns, row, strict=True)
                styles = [COLOURS[tone(cell)] if name == "verdict" else "" for name, cell in named]
                yield from _line(console, row, styles, widths, right)
            yield ""
        yield from (Text(note, style="dim") for note in shown.notes)


def _widths(shown: Table, split: Callable[[str], list[str]] = lambda cell: [cell]) -> list[int]:
    """Return the cells that the widest text of each column takes, or the widest part of one."""
    columns = [[name, *(row[at] for row in shown.rows)] for at, name in enumerate(shown.columns)]
    return [max(cell_len(part) for cell in column for part in [*split(cell), ""]) for column in columns]


def _line(
    console: Console, cells: Sequence[str], styles: Sequence[str], widths: Sequence[int], right: Sequence[bool]
) -> Iterator[Segment]:
    """Yield a row, as many lines of it as its longest cell is folded to; rich's own tables take five times as long."""
    folded = [_folded(console, cell, width) for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, folded))):
        for at, (lines, width) in enumerate(zip(folded, widths, strict=True)):
            text = lines[number] if number < len(lines) else ""
            blanks = " " * (width - cell_len(text))
            yield Segment(blanks + text if right[at] else text + blanks, console.get_style(styles[at]))
            yield Segment(" " * GAP if at < len(widths) - 1 else "\n")


def _folded(console: Console, cell: str, width: int) -> list[str]:
    if "\n" not in cell and cell_len(cell) <= width:
        return [cell]
    return [line.plain.rstrip() for line in Text(cell).wrap(console, width, overflow="fold")]


def card(title: str, told: Iterable[tuple[str, str]]) -> Group:
    """Return heads with their texts below a title, for rich."""
    from rich.table import Table

    rows = Table.grid(padding=(0, 2))
    for head, text in told:
        rows.add_row(head, Text(text, overflow="fold"))
    return Group(Text(f"{title}\n"), rows)
