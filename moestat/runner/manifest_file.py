"""Reading and writing ``manifest.json``. What stands in it: :mod:`moestat.runner.manifest`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moestat import files

NAME = "manifest.json"


def write(root: Path, content: Mapping[str, Any]) -> None:
    """Put the manifest in place."""
    files.write_json(root / NAME, dict(content))


def read(root: Path) -> dict[str, Any]:
    """Return the manifest of a folder, empty if there is none that can be read (it is only a cache)."""
    try:
        content = json.loads(files.read_text(root / NAME))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
