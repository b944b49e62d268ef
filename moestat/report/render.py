"""A view of a table as rich table, Markdown and HTML; LaTeX is :mod:`moestat.report.latex_table`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from moestat.claims.wording import verdict_of
from moestat.report import typography
from moestat.report.views import View

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


def rich(view: View) -> Group:
    """Return a view for the terminal."""
    table = Table(title=view.title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.padding = (0, 1)
    table.collapse_padding = True
    for column in view.columns:
        wide = column in ("statement", "why", "message")
        table.add_column(
            column,
            justify="right" if column in view.numeric else "left",
            no_wrap=column in view.numeric,
            overflow="fold",
            min_width=14 if column == "verdict" else 18 if column == view.columns[0] else None,
            ratio=1 if wide else None,
        )
    for heading, rows in _grouped(view):
        if heading:
            table.add_section()
            table.add_row(Text(heading, style="bold italic"), *[""] * (len(view.columns) - 1))
        for row in rows:
            cells = [
                Text(cell, style=VERDICT_STYLES.get(verdict_of(cell), "") if column == "verdict" else "")
                for column, cell in zip(view.columns, row, strict=True)
            ]
            table.add_row(*cells)
    return Group(table, *(Text(note, style="dim") for note in view.notes))


def html(view: View, *, links: Mapping[tuple[str, ...], str] | None = None) -> Markup:
    """Return a view as an accessible HTML table: caption, column and row headers with their scope.

    ``links`` leads from the first cell of a row (given by the whole row) to another page.
    """

    def linked(cell: str, row: tuple[str, ...]) -> Markup:
        target = (links or {}).get(row)
        shown = typography.html(cell)
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
    pages.globals |= {"text": typography.html, "paragraphs": typography.paragraphs, "chip": chip}
    return pages


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
