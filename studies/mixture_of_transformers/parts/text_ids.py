"""Texts as rows of word ids, of a vocabulary made from the training texts; 0 pads the end."""

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
        out = np.full((len(texts), length), PAD, dtype=np.int64)
        for row, text in zip(out, texts, strict=True):
            found = [self.ids.get(word, UNKNOWN) for word in words(text)[:length]]
            row[: len(found)] = found
        return out


def mean_counts(ids: np.ndarray, size: int) -> np.ndarray:
    """Return how often every id occurs in a text on average, (size,); 0 for the padding."""
    counts = np.bincount(ids.ravel(), minlength=size).astype(float)
    counts[PAD] = 0.0
    return counts / len(ids)
