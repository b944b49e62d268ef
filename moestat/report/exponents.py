"""Exponents and minus signs of plain text, as HTML, Markdown and matplotlib set them: n^(-1/2), x^2."""

from __future__ import annotations

import re
from html import escape

from markupsafe import Markup

EXPONENT = re.compile(
    r"(?<!\\)\^(?:\(([A-Za-z0-9+\-\u2212*/., ]{1,20})\)|([-\u2212]?(?:[A-Za-z]|\d+(?:\.\d+)?))(?!\w))"
)
"""An exponent that is set as one: ^(...) with letters, digits and operators, or one letter or number after ^."""

MINUS = re.compile(r"(?<![\w\-.)])-(?=\.?\d)")


def minus(text: str) -> str:
    """Set minus signs and inequality signs; the hyphen of a range such as 3-6 stays.

    >>> minus("from -0.5 to 3-6")
    'from −0.5 to 3-6'
    """
    return MINUS.sub("\N{MINUS SIGN}", text).replace("<=", "\u2264").replace(">=", "\u2265")


def raised(text: str, pattern: str) -> str:
    """Return text with minus signs, and its exponents in a pattern such as ``<sup>{}</sup>``."""
    return EXPONENT.sub(lambda match: pattern.format(minus(match[1] or match[2])), minus(text))


def html(text: object) -> Markup:
    """Return text for HTML: escaped, with exponents raised and minus signs.

    >>> print(html("radius n^(-1/2) & more"))
    radius n<sup>−1/2</sup> &amp; more
    """
    return Markup(raised(escape(minus(str(text)), quote=False), "<sup>{}</sup>"))


def markdown(text: object) -> str:
    r"""Return text for Markdown: exponents raised, and every mark that Markdown would read escaped.

    >>> print(markdown("n^(-1/2) of W*_i"))
    n<sup>−1/2</sup> of W\*\_i
    """
    return re.sub(r"([\\`*_\[\]|$~{}#])", r"\\\1", " ".join(str(html(text)).split()))


def mathtext(text: object) -> str:
    r"""Return text for matplotlib, with exponents raised and minus signs.

    >>> print(mathtext("costs $5 at n^(-1/2)"))
    costs \$5 at n$^{−1/2}$
    """
    return raised(str(text).replace("$", r"\$"), "$^{{{}}}$")
