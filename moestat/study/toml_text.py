"""Write a study file as TOML: what ``--show`` prints."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Mapping
from typing import Any

BARE = re.compile(r"[A-Za-z0-9_-]+")


def document(content: Mapping[str, Any]) -> str:
    """Return a TOML document: plain keys first, then tables, then lists of tables, each in the order of ``content``."""
    plain, tables, lists = [], [], []
    for key, value in content.items():
        if isinstance(value, Mapping):
            tables += ["", f"[{_key(key)}]", *_lines(value)] if not _of_tables(value) else _named(key, value)
        elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            for item in value:
                lists += ["", f"[[{_key(key)}]]", *_lines(item)]
        else:
            plain.append(f"{_key(key)} = {inline(value)}")
    return "\n".join([*plain, *tables, *lists]) + "\n"


def inline(value: Any) -> str:
    """Return one value on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {inline(v)}" for k, v in value.items()) + " }" if value else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_long(value)}" for key, value in table.items()]


def _long(value: Any) -> str:
    """Return a value; a list of tables gets a line for each."""
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return "[\n" + "".join(f"  {inline(item)},\n" for item in value) + "]"
    return inline(value)


def _of_tables(table: Mapping[str, Any]) -> bool:
    return bool(table) and all(isinstance(value, Mapping) for value in table.values())


def _named(name: str, tables: Mapping[str, Any]) -> list[str]:
    """Write a table of tables, such as the presets."""
    return [line for key, value in tables.items() for line in ("", f"[{_key(name)}.{_key(key)}]", *_lines(value))]


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else f'"{_escaped(key)}"'


def _quoted(text: str) -> str:
    """Write a text: on several lines where it has paragraphs, else on one."""
    if "\n" in text:
        return '"""\n' + "\n".join(map(_escaped, text.split("\n"))) + '"""'
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" if c < " " or c == "\x7f" else f"\\{c}" if c in '\\"' else c for c in text)
