"""Plain text as HTML, Markdown, LaTeX and matplotlib set it: exponents such as n^(-1/2) and x^2, and minus signs."""

from __future__ import annotations

import re
import unicodedata
from html import escape

from markupsafe import Markup

EXPONENT = re.compile(
    r"(?<!\\)\^(?:\(([A-Za-z0-9+\-\u2212*/., ]{1,20})\)|([-\u2212]?(?:[A-Za-z]|\d+(?:\.\d+)?))(?!\w))"
)
"""An exponent that is set as one: ^(...) with letters, digits and operators, or one letter or number after ^."""
MINUS = re.compile(r"(?<![\w\-.)])-(?=\.?\d)")

_ESCAPED = {c: "\\" + c for c in "&%$#_{}"} | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_ESCAPED |= {"\\": r"\textbackslash{}", "|": r"$|$", "<": "$<$", ">": "$>$", "*": "$^{*}$", "\N{MINUS SIGN}": "$-$"}
_SIGNS = {"≤": "le", "≥": "ge", "∞": "infty", "→": "to", "≈": "approx", "≠": "ne", "∈": "in", "√": "surd"}
_SIGNS |= {"‖": "|", "∑": "sum", "∇": "nabla", "∼": "sim", "×": "times", "·": "cdot", "λ": "lambda", "Λ": "Lambda"}
_SIGNS |= {"ε": "varepsilon", "φ": "varphi"}
_SIGNS |= {c: unicodedata.name(c).split()[-1].lower() for c in "αβγδζηθικμνξπρστυχψω"}
_SIGNS |= {c: unicodedata.name(c).split()[-1].capitalize() for c in "ΓΔΘΞΠΣΥΦΨΩ"}
_ESCAPED |= {sign: rf"$\{name}$" for sign, name in _SIGNS.items()}
_ESCAPED |= {sign: f"$^{{{c}}}$" for sign, c in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True)}
_ESCAPED |= {sign: f"$_{{{c}}}$" for sign, c in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)}


def minus(text: str) -> str:
    """Set minus signs and inequality signs; the hyphen of a range such as 3-6 stays.

    >>> minus("from -0.5 to 3-6")
    'from −0.5 to 3-6'
    """
    return MINUS.sub("\N{MINUS SIGN}", text).replace("<=", "\u2264").replace(">=", "\u2265")


def raised(text: str, pattern: str) -> str:
    """Return text with minus signs, and each exponent in its place in a pattern."""
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


def latex(text: object) -> str:
    r"""Return text for LaTeX: escaped, with numbers, exponents and Greek letters in mathematics.

    >>> print(latex("n^(-1/2): -0.5 [-0.6, -0.4], 95 %"))
    n$^{-1/2}$: $-$0.5 [$-$0.6, $-$0.4], 95 \%
    """
    parts = EXPONENT.split(minus(str(text)))  # text, exponent in brackets or None, exponent without or None, text
    out = "".join(_ESCAPED.get(c, c) for c in parts[0])
    for bracketed, bare, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        exponent = minus(bracketed or bare).replace("\N{MINUS SIGN}", "-")
        out += f"$^{{{exponent}}}$" + "".join(_ESCAPED.get(c, c) for c in rest)
    return out
