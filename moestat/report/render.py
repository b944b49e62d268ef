"""A table of texts (a data frame) in the terminal, as HTML, LaTeX and Markdown, and the templates of the pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from moestat.claims.wording import verdict_of
from moestat.report import text

GAP = 2
"""Blanks between the columns of a terminal."""
NAME = 24
"""Cells of a column of words below which a column is left out rather than folded."""
COLOURS = {"supported": "green", "no counterexample": "green", "not supported": "red", "refuted": "red"}
COLOURS |= {"inconclusive": "yellow"}
SYMBOLS = {"supported": "\N{CHECK MARK}", "no counterexample": "\N{CHECK MARK}", "inconclusive": "?"}
SYMBOLS |= {"not supported": "\N{MULTIPLICATION X}", "refuted": "\N{MULTIPLICATION X}"}
"""A sign beside each verdict, so that colour is never the only one."""
_NUMBER = re.compile(r"[-+\u2212\[(]?(\d|inf)[-+\u2212\[\](),./ %e\dinf]*|")
_PROSE = MarkdownIt("zero").enable(["emphasis", "backticks", "list"])


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    groups: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> pd.DataFrame:
    """Return a table for people: text alone, without empty columns."""
    made = pd.DataFrame([*rows], columns=[*columns], index=[*groups] or None, dtype=object)
    made = made.loc[:, [bool(made[column].any()) for column in made]] if len(made) else made
    made.attrs = {"title": title, "notes": [*notes]}
    return made


def without(shown: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Leave out some of the columns, where they are there."""
    left = shown.drop(columns=[column for column in columns if column in shown])
    left.attrs = shown.attrs
    return left


def parts(shown: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each heading with its rows; no heading where there are no groups."""
    if isinstance(shown.index, pd.RangeIndex):
        yield "", shown
    else:
        yield from shown.groupby(level=0, sort=False)


def numeric(shown: pd.DataFrame) -> list[bool]:
    """Return which columns hold numbers alone, and are set flush right; the first has names."""
    return [at > 0 and all(_NUMBER.fullmatch(cell) for cell in shown[name]) for at, name in enumerate(shown)]


# --- terminal --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Terminal:
    shown: pd.DataFrame
    spare: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = self.shown
        for column in self.spare:
            if sum(min(width, NAME) + GAP for width in _widths(shown)) - GAP <= options.max_width:
                break
            shown = without(shown, column)
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


def rich(shown: pd.DataFrame, *, spare: Sequence[str] = ()) -> RenderableType:
    """Return a table for the terminal; ``spare`` are columns that a narrow one does without, in this order."""
    return _Terminal(shown, spare)


def _widths(shown: pd.DataFrame, split: Callable[[str], list[str]] = lambda cell: [cell]) -> list[int]:
    """Return the cells that the widest text of each column takes, or the widest part of one."""
    return [max(cell_len(part) for cell in [name, *shown[name]] for part in [*split(cell), ""]) for name in shown]


def _grid(rows: pd.DataFrame, widths: Sequence[int], right: Sequence[bool], *, header: bool = False) -> Table:
    grid = Table(box=None, show_header=header, padding=(0, GAP, 0, 0), pad_edge=False)
    for name, width, flush in zip(rows, widths, right, strict=True):
        grid.add_column(Text(name), width=width, justify="right" if flush else "left", overflow="fold")
    for row in rows.to_dict("records"):
        styles = {"verdict": COLOURS.get(verdict_of(row.get("verdict", "")), "")}
        grid.add_row(*(Text(cell, style=styles.get(name, "")) for name, cell in row.items()))
    return grid


# --- files -----------------------------------------------------------------------------------------------------------


def html(shown: pd.DataFrame) -> Markup:
    """Return an accessible HTML table: caption, column and row headers with their scope."""
    right = dict(zip(shown, numeric(shown), strict=True))
    template = environment().get_template("table.html.j2")
    return Markup(template.render(table=shown, parts=[*parts(shown)], right=right))


def latex(shown: pd.DataFrame, *, label: str = "") -> str:
    """Return tables of LaTeX that break over pages (booktabs and longtable): one for each heading."""
    lines = [r"% needs \usepackage{booktabs,longtable}", r"\begingroup\footnotesize\setlength{\tabcolsep}{4pt}\sloppy"]
    kinds = "".join("r" if flush else "l" for flush in numeric(shown))
    for number, (heading, rows) in enumerate(parts(shown), 1):
        caption = text.latex(": ".join(filter(None, (shown.attrs["title"], heading))))
        look = {"column_format": f"@{{}}{kinds}@{{}}", "label": f"{label}-{number}" if heading else label}
        escaped = rows.map(text.latex).rename(columns=text.latex)
        lines.append(escaped.to_latex(index=False, longtable=True, caption=caption, **look))
    lines += [rf"\par\noindent {text.latex(note)}" for note in shown.attrs["notes"]]
    return "\n".join([*lines, r"\par\endgroup", ""])


# --- pages -----------------------------------------------------------------------------------------------------------


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
    pages.globals |= {"text": text.html, "paragraphs": paragraphs, "chip": chip}
    return pages


def paragraphs(prose: str) -> Markup:
    """Return the prose of a study as HTML: paragraphs, lists of lines with ``- ``, *emphasis*, **strong**, `code`.

    The rest of Markdown stays text, so that nothing in a formula becomes a link, a heading or an escape.
    """
    return Markup(_PROSE.render(prose.strip()).rstrip())
