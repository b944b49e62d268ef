"""How the values of options are read: each complaint says what was given and what is allowed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from moestat.errors import InputError


def count(least: int) -> Any:
    """Return a reader of whole numbers from ``least`` on."""

    def whole(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value < 2**63:
            raise argparse.ArgumentTypeError(
                f"it is {text[:40]!r}; allowed are whole numbers from {least} to 2**63 - 1"
            )
        return value

    return whole


def seconds(text: str) -> float:
    """Read seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"it is {text[:40]!r}; allowed are seconds above 0")
    return value


def folder(text: str) -> Path:
    """Read the path of a folder."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"it is {text!r}; allowed is the path of a folder")
    return Path(text).expanduser()


def file(text: str) -> Path:
    """Read the path of a page or a table."""
    if not text.endswith((".md", ".html", ".csv")) or "\0" in text:
        raise argparse.ArgumentTypeError(f"it is {text[:60]!r}; allowed are the paths FILE.md, FILE.html and FILE.csv")
    return Path(text).expanduser()


def part(text: str) -> tuple[int, int]:
    """Read ``I/K``, one of K parts."""
    first, slash, second = text.partition("/")
    if slash and first.isdecimal() and second.isdecimal() and len(text) < 20 and 1 <= int(first) <= int(second):
        return int(first), int(second)
    raise argparse.ArgumentTypeError(f"it is {text[:40]!r}; allowed is I/K with 1 <= I <= K, e.g. 3/20")


def settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Read ``KEY=VALUE``: the value as in a study file, or as plain text."""
    import tomllib

    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip()
        if not equals or not key.isidentifier():
            raise InputError(f"--set is {pair[:60]!r}; allowed is KEY=VALUE, e.g. --set d=4")
        try:
            settings[key] = tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
        except (ValueError, RecursionError):
            settings[key] = _several(text)
    return settings


def _several(text: str) -> Any:
    """Read ``9,10,12`` as the list it means; anything else is plain text."""
    import tomllib

    try:
        values = tomllib.loads(f"value = [{text}]")["value"] if "," in text and "\n" not in text else text
    except (ValueError, RecursionError):
        return text
    return values if all(isinstance(value, bool | int | float) for value in values) else text
