"""Small pieces of sentences: a value, a list of words, the word that was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def show(value: object, width: int = 60) -> str:
    """Return a short text of any value, even of one whose ``repr`` fails (an integer of 5000 digits)."""
    try:
        text = repr(value)
    except ValueError:
        return f"a number too long to print ({type(value).__name__})"
    return text if len(text) <= width else text[: width - 3] + "..."


def nearest(word: str, allowed: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the allowed word closest to ``word``, or an empty text."""
    close = difflib.get_close_matches(word, list(allowed), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def listed(words: Iterable[object], limit: int = 40) -> str:
    """Join words by commas, at most ``limit`` of them."""
    texts = [str(word) for word in words]
    rest = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return (", ".join(texts[:limit]) or "none") + rest


def counted(count: int, thing: str) -> str:
    """Return a count with its noun, whose plural ends in s."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
