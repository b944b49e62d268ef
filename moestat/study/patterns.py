"""Names against glob patterns: of arms, of presets."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name matches one of some names or glob patterns.

    >>> fits("softmax-relu", ["sigmoid-*", "*-relu"])
    True
    """
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
