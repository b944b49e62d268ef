r"""A view of a table as LaTeX that fits a page: wrapped columns, as many rows as there are, booktabs and longtable."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from moestat.report.exponents import EXPONENT, minus
from moestat.report.views import View

LINE = 84
"""Characters of a line of an article (345 pt) in ``\\footnotesize``; a column separation takes two of them."""
NATURAL = 13
"""Columns of texts up to this length are never wrapped."""
LEAST = 7
"""Characters that a wrapped column has at least."""

BREAKS = re.compile(r"[-_/]")
"""Characters after which a long name may be broken."""

ESCAPED = {c: "\\" + c for c in "&%$#_{}"} | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
ESCAPED |= {"\\": r"\textbackslash{}", "|": r"$|$", "<": "$<$", ">": "$>$", "*": "$^{*}$", "\N{MINUS SIGN}": "$-$"}
SIGNS = {"≤": "le", "≥": "ge", "∞": "infty", "→": "to", "≈": "approx", "≠": "ne", "∈": "in", "√": "surd"}
SIGNS |= {"‖": "|", "∑": "sum", "∇": "nabla", "∼": "sim", "×": "times", "·": "cdot", "λ": "lambda", "Λ": "Lambda"}
SIGNS |= {"ε": "varepsilon", "φ": "varphi"}
SIGNS |= {c: unicodedata.name(c).split()[-1].lower() for c in "αβγδζηθικμνξπρστυχψω"}
SIGNS |= {c: unicodedata.name(c).split()[-1].capitalize() for c in "ΓΔΘΞΠΣΥΦΨΩ"}
ESCAPED |= {sign: rf"$\{name}$" for sign, name in SIGNS.items()}
ESCAPED |= {sign: f"$^{{{c}}}$" for sign, c in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True)}
ESCAPED |= {sign: f"$_{{{c}}}$" for sign, c in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)}
"""What pdflatex does not know by itself. It knows daggers, dashes, quotation marks, § and ±."""

NEEDS = r"% needs \usepackage{array,booktabs,longtable}"


def latex(view: View, *, label: str = "", caption: str = "", without: Sequence[str] = ()) -> str:
    """Return a view as a table of LaTeX, no wider than the text of an article, that breaks over pages.

    Parameters
    ----------
    view : View
    label, caption : str
        The caption is the title of the view if it is empty.
    without : sequence of str
        Columns that are left out.
    """
    if without:
        at = [i for i, column in enumerate(view.columns) if column not in without]
        kept = tuple(view.columns[i] for i in at)
        view = replace(view, columns=kept, rows=[tuple(row[i] for i in at) for row in view.rows])
    head = " & ".join(escaped(column) for column in view.columns) + r" \\"
    lines = [NEEDS, r"\begingroup", r"\footnotesize", r"\setlength{\tabcolsep}{4pt}", r"\sloppy"]
    lines.append(rf"\begin{{longtable}}{{@{{}}{_alignment(view)}@{{}}}}")
    lines.append(rf"\caption{{{escaped(caption or view.title)}}}" + (rf"\label{{{label}}}" if label else ""))
    lines += [r"\\", r"\toprule", head, r"\midrule", r"\endfirsthead"]
    lines += [r"\toprule", head, r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot"]
    headings = view.groups or [""] * len(view.rows)
    for number, (heading, rows) in enumerate(groupby(zip(headings, view.rows, strict=True), key=lambda pair: pair[0])):
        if heading:
            lines += [r"\addlinespace"] if number else []
            title = rf"\emph{{{escaped(heading)}}}"
            lines.append(rf"\multicolumn{{{len(view.columns)}}}{{@{{}}l@{{}}}}{{{title}}} \\*")
        lines += [_row(row) for _, row in rows]
    lines.append(r"\end{longtable}")
    lines += [rf"\par\noindent {escaped(note)}" for note in view.notes]
    return "\n".join([*lines, r"\par\endgroup", ""])


def escaped(text: object) -> str:
    r"""Return text for LaTeX: escaped, with numbers and exponents in mathematics.

    >>> print(escaped("n^(-1/2): -0.5 [-0.6, -0.4], 95 %"))
    n$^{-1/2}$: $-$0.5 [$-$0.6, $-$0.4], 95 \%
    """
    parts = EXPONENT.split(minus(str(text)))  # text, exponent in brackets or None, exponent without or None, text
    for i in range(0, len(parts), 3):
        parts[i] = "".join(ESCAPED.get(c, c) for c in parts[i])
        if i:
            exponent = parts[i - 2] or parts[i - 1]
            parts[i - 2 : i] = [f"$^{{{minus(exponent)}}}$".replace("\N{MINUS SIGN}", "-"), ""]
    return "".join(parts)


def _row(cells: tuple[str, ...]) -> str:
    texts = [_breakable(escaped(cell)) for cell in cells]
    # a bracket at the start of a row would be read as the argument of the line break before it
    if texts and texts[0].startswith("["):
        texts[0] = "{}" + texts[0]
    return " & ".join(texts) + r" \\"


def _breakable(text: str) -> str:
    """Let long names break after underscores and slashes, as they do after hyphens."""
    return text.replace(r"\_", r"\_\allowbreak{}").replace("/", r"/\allowbreak{}")


def _alignment(view: View) -> str:
    """Return the columns' types: natural width as long as the table fits the line, else wrapped text columns."""
    widths = [
        max([len(column), *(len(row[i]) for row in view.rows)], default=0) for i, column in enumerate(view.columns)
    ]
    room = LINE - 2 * (len(widths) - 1)
    wrapped = {i for i, column in enumerate(view.columns) if column not in view.numeric and widths[i] > NATURAL}
    if sum(widths) <= room or not wrapped:
        wrapped = set()
    room -= sum(width for i, width in enumerate(widths) if i not in wrapped)
    shares = _shares([_asks(view, i) for i in sorted(wrapped)], room)
    share = dict(zip(sorted(wrapped), shares, strict=True))
    kinds = []
    for i, column in enumerate(view.columns):
        if i in share:
            kinds.append(rf">{{\raggedright\arraybackslash}}p{{{share[i] / LINE:.3f}\linewidth}}")
        else:
            kinds.append("r" if column in view.numeric else "l")
    return "".join(kinds)


def _asks(view: View, column: int) -> tuple[float, float]:
    """Return the characters that a column needs, for its longest word, and what it asks for, by its longest text."""
    texts = [view.columns[column], *(row[column] for row in view.rows)]
    words = [len(word) for text in texts for word in BREAKS.sub(r"\g<0> ", text).split()]
    return max(LEAST, 1.15 * max(words, default=1)), 3 * max(map(len, texts)) ** 0.5


def _shares(asks: Sequence[tuple[float, float]], room: float) -> list[float]:
    """Give each column what it needs, and share what is left of the room by what they ask for."""
    needs, total = [need for need, _ in asks], sum(ask for _, ask in asks)
    left = max(0.0, room - sum(needs))
    return [need + left * ask / total for need, ask in asks]
