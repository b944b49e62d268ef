"""Passages that several studies share: files beside the study, in the folder ``texts``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moestat.errors import InputError

FIELDS = ("question", "about", "notes")
NAMED = re.compile(r"\{([A-Za-z0-9_-]+\.md)\}")


def filled(raw: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Replace ``{NAME.md}`` in question, about and notes by the text of ``folder/texts/NAME.md``.

    Parameters
    ----------
    raw : mapping
        The content of a study file.
    folder : Path
        Where the study file lies.

    Raises
    ------
    InputError
        If a file cannot be read; the message names the field and the file.
    """

    def text_of(name: str, field: str) -> str:
        path = folder / "texts" / name
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise InputError(f"{field} places {{{name}}}, but the text {path} cannot be read") from None

    def fill(field: str, value: str) -> str:
        return NAMED.sub(lambda match: text_of(match[1], field), value)

    return {key: fill(key, value) if key in FIELDS and isinstance(value, str) else value for key, value in raw.items()}
