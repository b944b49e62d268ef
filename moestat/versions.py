"""Which version of what computes a result: of its experiment, and of the user's own files; and how two differ.

A version is a mapping ``{experiment: version, file: hash}``, all text: ``{"mine": "2", "mine.py": "0f3c..."}``. Where
versions differ, results do not mix. Those of an older moestat hold hashes of all definitions, which can be read, and
compared with nothing of today.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

_WHOLE = "all definitions"
OLDER = "the code was recorded in the way of an older moestat, which cannot be compared"


def is_older(code: Mapping[str, str]) -> bool:
    """Whether a version was recorded in the way of an older moestat."""
    return _WHOLE in code


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Say in what a version of today differs from another one; nothing if they are equal.

    >>> changes({"mine": "1", "mine.py": "0f"}, {"mine": "2", "mine.py": "3c"})
    ['version of mine 1 -> 2', 'the code of mine.py']
    """
    if is_older(old) and old != new:
        return [OLDER]
    lines = []
    for name in sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)):
        if not name.endswith(".py"):
            lines.append(f"version of {name} {old.get(name, 'none')} -> {new.get(name, 'none')}")
        elif name in old and name in new:
            lines.append(f"the code of {name}")
        else:
            lines.append(f"{name} is {'new' if name in new else 'gone'}")
    return lines


def since(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Say in what two versions differ, as :func:`changes`; nothing where the old one cannot be compared."""
    return [] if not old or is_older(old) else changes(old, new)


def digest(code: Mapping[str, str]) -> str:
    """Return one short hash of a version."""
    return code[_WHOLE][:16] if _WHOLE in code else hashlib.sha256(repr(sorted(code.items())).encode()).hexdigest()[:16]


def text(code: Mapping[str, str]) -> str:
    """Return a version on one line; of an older one its hash.

    >>> text({"mine": "1", "helper.py": "0f3c"})
    'mine 1, helper.py 0f3c'
    """
    return digest(code) if is_older(code) else ", ".join(f"{name} {value}" for name, value in code.items())
