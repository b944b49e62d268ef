"""Every setting of a run, the defaults too: what the design section leaves out and a replication needs."""

from __future__ import annotations

import json
from typing import Any

import xarray as xr

from moestat.report.views import View
from moestat.rounding import number


def of_dataset(ds: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Return all settings of every arm, axes of the grid left out; empty for results of an older moestat."""
    try:
        content = json.loads(str(ds.attrs.get("settings", "")))
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def view(ds: xr.Dataset) -> View:
    """Return the table of all settings: one row where the arms agree, else one for each value."""
    table = of_dataset(ds)
    rows = []
    for key in dict.fromkeys(key for settings in table.values() for key in settings):
        arms: dict[str, list[str]] = {}
        for arm, settings in table.items():
            if key in settings:
                arms.setdefault(_text(settings[key]), []).append(arm)
        everywhere = len(arms) == 1 and len(next(iter(arms.values()))) == len(table)
        rows += [(key, value, "" if everywhere else ", ".join(names)) for value, names in arms.items()]
    return View("All settings", ("setting", "value", "arms"), rows).without_empty_columns()


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return number(value, 8) if isinstance(value, float) else '""' if value == "" else str(value)
