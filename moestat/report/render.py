"""A view of a table as rich table, Markdown and HTML; LaTeX is :mod:`moestat.report.latex_table`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from moestat.claims.wording import verdict_of
from moestat.report import exponents
from moestat.report.views import View

NAME = 36
"""Cells that a name is not broken within where there is room; the longest id of a claim has 35."""
SHORT = 16
"""Cells that a name keeps where there is none: it is broken behind its hyphens, before a word or a number is."""
WORD = 12
"""Cells that a word is not broken within, an end of an interval say; a verdict may be longer."""
GAP = 2
"""Blanks between the columns of a terminal."""
VERDICT_STYLES = {
    "supported": "bold green",
    "no counterexample": "bold green",
    "not supported": "bold red",
    "refuted": "bold red",
    "inconclusive": "bold yellow",
    "not run": "dim",
}
SYMBOLS = {
    "supported": "\N{CHECK MARK}",
    "no counterexample": "\N{CHECK MARK}",
    "not supported": "\N{MULTIPLICATION X}",
    "refuted": "\N{MULTIPLICATION X}",
    "inconclusive": "?",
}
"""A sign beside each verdict, so that colour is never the only one."""

_PROSE = MarkdownIt("zero").enable(["emphasis", "backticks", "list"])


@dataclass(frozen=True)
class _Terminal:
    """A view in a terminal of any width: names are not broken, headings run over the whole width."""

    view: View

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.view.title:
            yield Text(self.view.title, style="bold")
        for view in _parts(self.view, options.max_width):
            widths = _widths(view, options.max_width)
            yield _columns(view, widths, [], header=True)
            length = min(sum(widths) + GAP * (len(widths) - 1), options.max_width)
            yield Text("\N{BOX DRAWINGS LIGHT HORIZONTAL}" * length)
            for heading, rows in _grouped(view):
                if heading:
                    yield Text(heading, style="bold italic")
                yield _columns(view, widths, rows)
                yield ""
        yield from (Text(note, style="dim") for note in self.view.notes)


def rich(view: View) -> RenderableType:
    """Return a view for the terminal."""
    return _Terminal(view)


@dataclass(frozen=True)
class _ByWidth:
    """The view that fits a terminal, which is known when it is printed."""

    fitting: Callable[[int], View]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield rich(self.fitting(options.max_width))


def by_width(fitting: Callable[[int], View]) -> RenderableType:
    """Return what the terminal shows of a table that has more or less in it, by the width that there is."""
    return _ByWidth(fitting)


def _widths(view: View, available: int) -> list[int]:
    """Return widths of columns that fit: the widest column of words gives way, down to what it needs, then the names.

    Where that is not enough, words are broken too, those of the widest column first; numbers are not.
    """
    cells = [[column, *(row[i] for row in view.rows)] for i, column in enumerate(view.columns)]
    widths = [max(cell_len(line) for cell in own for line in cell.split("\n")) for own in cells]
    least = [_least(view, i, width) for i, width in enumerate(widths)]
    room = available - GAP * (len(widths) - 1)
    short = [min(width, SHORT) if i == 0 else width for i, width in enumerate(least)]
    whole = [width if column in view.numeric else 4 for column, width in zip(view.columns, least, strict=True)]
    for floor in (least, short, whole):
        while sum(widths) > room and any(width > end for width, end in zip(widths, floor, strict=True)):
            widest = max((i for i in range(len(widths)) if widths[i] > floor[i]), key=lambda i: widths[i])
            widths[widest] -= 1
    return widths


def _parts(view: View, available: int) -> Iterator[View]:
    """Yield the view, or where it is too wide several of as many columns of numbers as fit, each with all names."""
    names = [i for i, column in enumerate(view.columns) if column not in view.numeric]
    numbers = [i for i, column in enumerate(view.columns) if column in view.numeric]

    def taken(part: list[int]) -> int:
        widths = (max(cell_len(line) for line in "\n".join(row[i] for row in rows).split("\n")) for i in part)
        return sum(_least(view, i, width) + GAP for i, width in zip(part, widths, strict=True)) - GAP

    rows = [view.columns, *view.rows]
    begun: list[int] = []
    parts = [begun]
    for i in numbers:
        if begun and taken([*names, *begun, i]) > available:
            begun = []
            parts.append(begun)
        begun.append(i)
    if len(parts) == 1 or names != list(range(len(names))):  # a verdict stands behind the numbers
        yield view
        return
    for part in parts:
        yield view.of_columns([*names, *part])


def _least(view: View, at: int, width: int) -> int:
    column = view.columns[at]
    if column in view.numeric:
        cells = [row[at] for row in view.rows]
        if not any(" (" in cell for cell in cells):
            return width
        words = [*column.split(), *(piece for cell in cells for piece in cell.replace(" (", "\n(").split("\n"))]
        return min(width, max(map(cell_len, words)))  # an error in brackets may stand below its number
    if at == 0:
        return min(width, NAME)
    longest = max(cell_len(word) for row in [view.columns, *view.rows] for word in [*row[at].split(), ""])
    return min(width, max(14, longest) if column == "verdict" else max(9, min(longest, WORD)))


def _columns(view: View, widths: Sequence[int], rows: Sequence[Sequence[str]], *, header: bool = False) -> Table:
    """Return rows, or the header alone, as a table of given widths."""
    table = Table(box=None, show_header=header, padding=(0, GAP, 0, 0), pad_edge=False)
    for column, width in zip(view.columns, widths, strict=True):
        table.add_column(column, width=width, justify="right" if column in view.numeric else "left", overflow="fold")
    for row in rows:
        cells = [
            Text(cell, style=VERDICT_STYLES.get(verdict_of(cell), "") if column == "verdict" else "")
            for column, cell in zip(view.columns, [_folded(row[0], widths[0]), *row[1:]], strict=True)
        ]
        table.add_row(*cells)
    return table


def _folded(name: str, width: int) -> str:
    """Break a name that is too long for its column behind its hyphens; a sentence is broken at its blanks anyway."""
    if " " in name or cell_len(name) <= width:
        return name
    lines = [""]
    for piece in re.split(r"(?<=[-_/])", name):
        if lines[-1] and cell_len(lines[-1] + piece) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def html(view: View, *, links: Mapping[tuple[str, ...], str] | None = None) -> Markup:
    """Return a view as an accessible HTML table: caption, column and row headers with their scope.

    ``links`` leads from the first cell of a row (given by the whole row) to another page.
    """

    def linked(cell: str, row: tuple[str, ...]) -> Markup:
        target = (links or {}).get(row)
        shown = exponents.html(cell)
        return shown if target is None else Markup('<a href="{}">{}</a>').format(target, shown)

    template = environment().get_template("table.html.j2")
    return Markup(template.render(view=view, grouped=_grouped(view), linked=linked))


def chip(wording: str, number: int | None = None) -> Markup:
    """Return a verdict, or how many there are of it, as a coloured word with a sign."""
    words = wording if number is None else f"{number} {wording}"
    verdict = verdict_of(wording)
    sign = Markup('<span aria-hidden="true">{}</span> ').format(SYMBOLS[verdict]) if verdict in SYMBOLS else ""
    return Markup('<span class="verdict {}">{}{}</span>').format(verdict.replace(" ", "-"), sign, words)


@cache
def environment() -> Environment:
    """Return the templates of the pages."""
    pages = Environment(
        loader=PackageLoader("moestat.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    pages.globals |= {"text": exponents.html, "paragraphs": paragraphs, "chip": chip}
    return pages


def paragraphs(text: str) -> Markup:
    """Return the prose of a study file as HTML: paragraphs, lists of lines with ``- ``, *emphasis*, **strong**, `code`.

    The rest of Markdown stays text, so that nothing in a formula becomes a link, a heading or an escape.
    """
    return Markup(_PROSE.render(text.strip()).rstrip())


def markdown(view: View) -> str:
    """Return a view as a Markdown table."""

    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|").replace("\n", " ") for cell in cells) + " |"

    rule = ["---:" if c in view.numeric else "---" for c in view.columns]
    lines = [row(view.columns), row(rule)]
    for heading, rows in _grouped(view):
        if heading:
            lines.append(row([f"*{heading}*", *[""] * (len(view.columns) - 1)]))
        lines += [row(r) for r in rows]
    return "\n".join([*lines, *([""] if view.notes else []), *view.notes, ""])


def text(view: View, width: int = 160) -> str:
    """Return a view as plain text."""
    from io import StringIO

    from rich.console import Console

    # in a notebook rich would display the table there, and leave the text empty
    console = Console(file=StringIO(), width=width, force_terminal=False, force_jupyter=False, color_system=None)
    console.print(rich(view))
    return console.file.getvalue()  # type: ignore[attr-defined]


def _grouped(view: View) -> list[tuple[str, list[tuple[str, ...]]]]:
    headings = view.groups or [""] * len(view.rows)
    pairs = zip(headings, view.rows, strict=True)
    return [(heading, [row for _, row in members]) for heading, members in groupby(pairs, key=lambda pair: pair[0])]
