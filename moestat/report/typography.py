"""Text of study files for print: exponents, minus signs and a few marks, in HTML, LaTeX and matplotlib's mathtext."""

from __future__ import annotations

import html as entities
import re
import unicodedata
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

_POWER = r"\(([A-Za-z0-9+\-\u2212*/., ]{1,20})\)|([-\u2212]?(?:[A-Za-z]|\d+(?:\.\d+)?))(?!\w)"
EXPONENT = re.compile(rf"(?<!\\)\^(?:{_POWER})")
"""An exponent that is set as one: ^(...) with letters, digits and operators, or one letter or number after ^."""

LOSS = re.compile(r"(?<![\w^_$\\])([LD])(sm|2r|[1-5])(?:_([12])(?!\w))?(?![\w^])")
"""A loss by its name in the papers: L1, L2r, Lsm, D2; the results call L2r with r = 1 L2_1."""

INDEXED = re.compile(r"(?<![\w$\\{])([A-Za-z])_([A-Za-z0-9])(?!\w)")
"""A letter with an index of one letter or digit: v_n."""
GREEK_INDEXED = re.compile(r"(?<![\w$\\{])([α-ω])([0-9a-zξ])(?!\w)")
"""A Greek letter and its index: σ0."""

WORDS = (("sqrt(", "\N{SQUARE ROOT}("), ("epsilon", "\N{GREEK SMALL LETTER EPSILON}"), ("sigma_xi", r"$\sigma_\xi$"))
"""What axis labels write out, and a figure need not."""

MINUS = re.compile(r"(?<![\w\-.)])-(?=\.?\d)")

_LATEX = {c: "\\" + c for c in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "|": r"$|$",
    "<": "$<$",
    ">": "$>$",
    "*": r"$^{*}$",
    "\N{MINUS SIGN}": "$-$",
    "\N{DAGGER}": r"\dag{}",
    "\u2264": r"$\le$",
    "\u2265": r"$\ge$",
}


_SIGNS = {
    "\N{DOUBLE DAGGER}": r"\ddag{}",
    "\N{SECTION SIGN}": r"\S{}",
    "\N{EN DASH}": "--",
    "\N{EM DASH}": "---",
    "\N{HORIZONTAL ELLIPSIS}": r"\dots{}",
    "\N{NO-BREAK SPACE}": r"\nobreakspace{}",
    "\N{PRIME}": "$'$",
    "\N{GREEK SMALL LETTER OMICRON}": "o",
    "\N{LEFT DOUBLE QUOTATION MARK}": "``",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
    "\N{LEFT SINGLE QUOTATION MARK}": "`",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
} | {
    sign: rf"$\{name}$"
    for sign, name in {
        "\N{SQUARE ROOT}": "surd",
        "\N{INFINITY}": "infty",
        "\N{RIGHTWARDS ARROW}": "to",
        "\N{ALMOST EQUAL TO}": "approx",
        "\N{NOT EQUAL TO}": "ne",
        "\N{ELEMENT OF}": "in",
        "\N{MULTIPLICATION SIGN}": "times",
        "\N{PLUS-MINUS SIGN}": "pm",
        "\N{MIDDLE DOT}": "cdot",
        "\N{DOUBLE VERTICAL LINE}": "|",
        "\N{N-ARY SUMMATION}": "sum",
        "\N{NABLA}": "nabla",
        "\N{TILDE OPERATOR}": "sim",
    }.items()
}
_HIGH_AND_LOW = {high: f"$^{{{c}}}$" for high, c in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True)} | {
    low: f"$_{{{c}}}$" for low, c in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)
}
_GREEK = {
    chr(
        code
    ): f"$\\{'var' if chr(code) in 'εφ' else ''}{name.removeprefix('FINAL ').lower().replace('lamda', 'lambda')}$"
    for code in range(ord("α"), ord("ω") + 1)
    if (name := unicodedata.name(chr(code)).removeprefix("GREEK SMALL LETTER ")) != "OMICRON"
} | {c: rf"$\{unicodedata.name(c).split()[-1].capitalize().replace('Lamda', 'Lambda')}$" for c in "ΓΔΘΛΞΠΣΥΦΨΩ"}
_LATEX |= _SIGNS | _HIGH_AND_LOW | _GREEK  # pdflatex knows none of them by itself

GREEK = re.compile(r"(?:alpha|beta|delta|eta|gamma|kappa|lambda|mu|rho|sigma|tau)(?:_[0-9a-z])?")
"""Settings that are named as their letters are."""


def minus(text: str) -> str:
    """Set minus signs and inequality signs; the hyphen of a range such as 3-6 stays.

    >>> minus("from -0.5 to 3-6")
    'from −0.5 to 3-6'
    """
    return MINUS.sub("\N{MINUS SIGN}", text).replace("<=", "\u2264").replace(">=", "\u2265")


def html(text: object) -> Markup:
    """Return text for HTML: escaped, with exponents raised and minus signs.

    >>> print(html("radius n^(-1/2) & more"))
    radius n<sup>−1/2</sup> &amp; more
    """
    safe = entities.escape(minus(str(text)), quote=False)
    return Markup(EXPONENT.sub(lambda m: f"<sup>{_exponent(m)}</sup>", safe))


def markdown(text: object) -> str:
    r"""Return text for Markdown: exponents raised, and every mark that Markdown would read escaped.

    >>> print(markdown("n^(-1/2) of W*_i"))
    n<sup>−1/2</sup> of W\*\_i
    """
    return re.sub(r"([\\`*_\[\]|$~{}#])", r"\\\1", " ".join(str(html(text)).split()))


def latex(text: object) -> str:
    r"""Return text for LaTeX: escaped, with numbers and exponents in mathematics.

    >>> print(latex("n^(-1/2): -0.5 [-0.6, -0.4], 95 %"))
    n$^{-1/2}$: $-$0.5 [$-$0.6, $-$0.4], 95 \%
    """
    parts, last = [], 0
    source = minus(str(text))
    for match in EXPONENT.finditer(source):
        exponent = _exponent(match).replace("\N{MINUS SIGN}", "-")
        parts += [_escape(source[last : match.start()]), f"$^{{{exponent}}}$"]
        last = match.end()
    return "".join([*parts, _escape(source[last:])])


def mathtext(text: object) -> str:
    r"""Return text for matplotlib, with losses as symbols, exponents raised and minus signs.

    >>> print(mathtext("costs $5 at n^(-1/2)"))
    costs \$5 at n$^{-1/2}$
    >>> print(mathtext("Voronoi loss L3"))
    Voronoi loss $L_{3}$
    """
    safe = str(text).replace("$", r"\$")
    for word, sign in WORDS:
        safe = safe.replace(word, sign)
    safe = GREEK_INDEXED.sub(r"\1$_\2$", INDEXED.sub(r"$\1_\2$", LOSS.sub(_loss, safe)))
    parts, last = [], 0
    for match in EXPONENT.finditer(safe):
        parts += [minus(safe[last : match.start()]), f"$^{{{_exponent(match).replace(chr(0x2212), '-')}}}$"]
        last = match.end()
    return "".join([*parts, minus(safe[last:])])


def paragraphs(text: str) -> Markup:
    """Return the prose of a study file as HTML: paragraphs, lists of lines with ``- ``, *emphasis*, **strong**, `code`.

    The rest of Markdown stays text, so that nothing in a formula becomes a link, a heading or an escape.
    """
    return Markup(_PROSE.render(text.strip()).rstrip())


def _text(self: RendererHTML, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
    return str(html(tokens[index].content))


_PROSE = MarkdownIt("commonmark", {"html": False}).disable(
    ["autolink", "blockquote", "code", "entity", "escape", "fence", "heading", "hr", "image", "lheading", "link"]
)
_PROSE.disable(["html_block", "html_inline", "reference"])
_PROSE.add_render_rule("text", _text)


def axis_label(text: object) -> str:
    r"""Return the label of an axis for matplotlib; a letter alone is a variable, of whichever alphabet.

    >>> print(axis_label("n"), axis_label("sigma_0"))
    $n$ $\sigma_0$
    """
    shown = str(text)
    if len(shown) == 1 and shown.isalpha():
        return f"${shown}$"
    return rf"$\{shown}$" if GREEK.fullmatch(shown) else mathtext(shown)


def spoken(name: object) -> str:
    """Return the name of an axis or setting in words: without underscores, unless it is a letter with an index.

    >>> spoken("router_weight"), spoken("sigma_0")
    ('router weight', 'sigma_0')
    """
    return str(name) if GREEK.fullmatch(str(name)) else str(name).replace("_", " ")


def _loss(match: re.Match[str]) -> str:
    """Set a loss in italics with its index, the letters of it upright."""
    letter, index, r = match.groups()
    shown = rf"\mathrm{{{index}}}" if index == "sm" else "2,r" if index == "2r" else f"{index},r={r}" if r else index
    return f"${letter}_{{{shown}}}$"


def _exponent(match: re.Match[str]) -> str:
    return minus(match.group(1) if match.group(1) is not None else match.group(2))


def _escape(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)
