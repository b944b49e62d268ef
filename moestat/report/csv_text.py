"""Tables as CSV whose texts a spreadsheet does not take for formulas, and the same texts read back."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd

from moestat import bounded

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def dump(table: pd.DataFrame) -> str:
    """Return a table as CSV; a text that begins as a formula does, and is no number, gets an apostrophe before it."""
    texts = table.select_dtypes(include=["object", "string"]).columns
    return str(table.assign(**{name: table[name].map(guarded) for name in texts}).to_csv(index=False))


def load(path: Path) -> list[dict[str, str]]:
    """Read rows that :func:`dump` wrote."""
    rows = csv.DictReader(io.StringIO(bounded.text(path), newline=""))
    return [{key: plain(value) for key, value in row.items()} for row in rows]


def guarded(value: object) -> object:
    """Return a cell as it is written."""
    if not isinstance(value, str) or not value.lstrip("'").startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def plain(value: Any) -> Any:
    """Return a cell as it was meant."""
    return (
        value[1:]
        if isinstance(value, str) and value.startswith("'") and value.lstrip("'").startswith(FORMULA)
        else value
    )
