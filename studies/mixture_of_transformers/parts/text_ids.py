"""Texts as rows of ids: words of a vocabulary made from the training texts, or bytes; 0 pads the end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

PAD = 0  # stands after the end of a text

UNKNOWN = 1  # a word that the vocabulary does not hold

_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


def words(text: str) -> list[str]:
    """Split a text into lower-case words and single signs: ``"Don't!"`` gives ``["don't", "!"]``."""
    return _WORD.findall(text.lower())


class WordIds:
    """Word ids from 2 on, the most frequent words first (ties in alphabetical order).

    ``texts``: texts that the vocabulary is made from; the training texts alone, so that nothing of the test leaks.
    ``size``: largest number of ids, padding and the unknown word included.
    """

    def __init__(self, texts: Iterable[str], *, size: int = 10_000) -> None:
        counts = Counter(word for text in texts for word in words(text))
        ranked = sorted(counts, key=lambda word: (-counts[word], word))[: max(size - 2, 0)]
        self.ids = {word: number for number, word in enumerate(ranked, 2)}
        self.size = len(self.ids) + 2

    def __call__(self, texts: Sequence[str], length: int) -> np.ndarray:
        """Return ids (n, length), int64; longer texts are cut."""
        return _padded([[self.ids.get(word, UNKNOWN) for word in words(text)[:length]] for text in texts], length)


class ByteIds:
    """Byte b of the UTF-8 text has the id b + 1; no vocabulary is needed and nothing is unknown."""

    size = 257

    def __call__(self, texts: Sequence[str], length: int) -> np.ndarray:
        """Return ids (n, length), int64; longer texts are cut."""
        return _padded([[byte + 1 for byte in text.encode()[:length]] for text in texts], length)


def mean_counts(ids: np.ndarray, size: int) -> np.ndarray:
    """Return how often every id occurs in a text on average, (size,); 0 for the padding."""
    counts = np.bincount(ids.ravel(), minlength=size).astype(float)
    counts[PAD] = 0.0
    return counts / len(ids)


def _padded(rows: list[list[int]], length: int) -> np.ndarray:
    out = np.full((len(rows), length), PAD, dtype=np.int64)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out
