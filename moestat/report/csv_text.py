"""Tables as CSV whose texts a spreadsheet does not take for formulas, and the same texts read back."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moestat import bounded

if TYPE_CHECKING:
    import pandas as pd

FORMULA = re.compile(r"'*[-=+@\t\r]")
"""How a text begins that is taken for a formula, or that was written so that it is not."""
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?(inf|nan)", re.IGNORECASE)


def dump(table: pd.DataFrame) -> str:
    """Return a table as CSV; a text that begins as a formula does, and is no number, gets an apostrophe before it."""
    texts = table.select_dtypes(include=["object", "string"]).columns
    return str(table.assign(**{name: table[name].map(_guarded) for name in texts}).to_csv(index=False))


def load(path: Path) -> list[dict[str, str]]:
    """Read rows that :func:`dump` wrote."""
    rows = csv.DictReader(io.StringIO(bounded.text(path), newline=""))
    return [{key: _plain(value) for key, value in row.items()} for row in rows]


def _guarded(value: object) -> object:
    formula = isinstance(value, str) and FORMULA.match(value) and not NUMBER.fullmatch(value)
    return f"'{value}" if formula else value


def _plain(value: Any) -> Any:
    return value[1:] if isinstance(value, str) and value[:1] == "'" and FORMULA.match(value) else value
