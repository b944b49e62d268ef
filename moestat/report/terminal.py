"""A table of text in a terminal: as many columns as fit, under the headings of its index."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

GAP, LEAST = 2, 24
"""Blanks between columns; cells of a column of words below which one is left out rather than folded."""
COLOURS = {"yes": "green", "no": "red", "open": "yellow", "": ""}
_NUMBER = re.compile(r"[-+\u2212\[(]?(\d|inf)[-+\u2212\[\](),./ %e\dinf]*|")
_TONES = {
    "yes": ("supported", "shown by", "no counterexample"),
    "no": ("not su", "not sh", "refuted"),
    "open": ("inc",),
}


def tone(wording: str) -> str:
    """Return whether a verdict speaks for a statement, against it, or leaves it open; of other texts an empty one.

    >>> tone("not shown at reduced scale"), tone("refuted by 2 of 9"), tone("inconclusive"), tone("not run")
    ('no', 'no', 'open', '')
    """
    return next((kind for kind, starts in _TONES.items() if wording.startswith(starts)), "")


def parts(shown: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each heading with its rows; no heading where there are no groups."""
    if isinstance(shown.index, pd.RangeIndex):
        yield "", shown
    else:
        yield from shown.groupby(level=0, sort=False)


def numeric(shown: pd.DataFrame) -> list[bool]:
    """Return which columns hold numbers alone, and are set flush right; the first has names."""
    return [at > 0 and all(_NUMBER.fullmatch(cell) for cell in shown[name]) for at, name in enumerate(shown)]


@dataclass(frozen=True)
class Shown:
    """A table for rich; ``spare`` are columns that a narrow terminal does without, in this order."""

    table: pd.DataFrame
    spare: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = self.table
        for column in self.spare:
            if sum(min(width, LEAST) + GAP for width in _widths(shown)) - GAP <= options.max_width:
                break
            shown = shown.drop(columns=column, errors="ignore")
        widths, room = _widths(shown), options.max_width - GAP * (shown.shape[1] - 1)
        # blanks between words give way, then words; but numbers and intervals are broken last
        whole = [width if right else 0 for width, right in zip(widths, numeric(shown), strict=True)]
        words = [max(*pair) for pair in zip(whole, _widths(shown, str.split), strict=True)]
        for least in (words, [max(4, end) for end in whole], [4] * len(widths)):
            while sum(widths) > room and (wide := [at for at, end in enumerate(least) if widths[at] > end]):
                widths[max(wide, key=widths.__getitem__)] -= 1
        if shown.attrs["title"]:
            yield Text(shown.attrs["title"], style="bold")
        yield _grid(shown.iloc[:0], widths, numeric(shown), header=True)
        yield Text("\N{BOX DRAWINGS LIGHT HORIZONTAL}" * (sum(widths) + GAP * (len(widths) - 1)))
        for heading, rows in parts(shown):
            if heading:
                yield Text(heading, style="bold italic")
            yield _grid(rows, widths, numeric(shown))
            yield ""
        yield from (Text(note, style="dim") for note in shown.attrs["notes"])


def _widths(shown: pd.DataFrame, split: Callable[[str], list[str]] = lambda cell: [cell]) -> list[int]:
    """Return the cells that the widest text of each column takes, or the widest part of one."""
    return [max(cell_len(part) for cell in [name, *shown[name]] for part in [*split(cell), ""]) for name in shown]


def _grid(rows: pd.DataFrame, widths: Sequence[int], right: Sequence[bool], *, header: bool = False) -> Table:
    grid = Table(box=None, show_header=header, padding=(0, GAP, 0, 0), pad_edge=False)
    for name, width, flush in zip(rows, widths, right, strict=True):
        grid.add_column(Text(name), width=width, justify="right" if flush else "left", overflow="fold")
    for row in rows.to_dict("records"):
        styles = {"verdict": COLOURS[tone(row.get("verdict", ""))]}
        grid.add_row(*(Text(cell, style=styles.get(name, "")) for name, cell in row.items()))
    return grid
