"""Where the code of papers lies, and what files of results call it: they name it by ``moestat.papers``."""

from __future__ import annotations

import re


def now(path: str) -> str:
    """Return the import path of today for one that a file of results names.

    >>> now("moestat.papers.sigmoid_attention.regression")
    'studies.sigmoid_attention.parts.regression'
    """
    return re.sub(r"^moestat\.papers\.(\w+)\.", r"studies.\1.parts.", path)


def kept(path: str) -> str:
    """Return the import path by which digests know a function: it stays the same when the function moves.

    >>> kept("studies.compete_smoe.parts.rules:sharp")
    'moestat.papers.compete_smoe.rules:sharp'
    """
    return re.sub(r"^studies\.(\w+)\.parts\.", r"moestat.papers.\1.", path)
