"""The ledger as one HTML page that works offline: a table of all claims, to be searched, filtered and sorted.

Without JavaScript the page is the whole table, every reason open to read; the script only hides and orders rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from moestat.report import headline, html, render, svg
from moestat.report.ledger import NOT_RUN
from moestat.report.ledger_page import portable, rules_of
from moestat.report.meaning import BEARINGS, ORIGINS, SCALES, of_run, says
from moestat.report.span import printed
from moestat.rounding import estimate, number

FILTERS = ("paper", "origin", "bearing", "scale", "verdict", "preset")
"""The columns that a reader can choose values of."""


def page(table: pd.DataFrame) -> str:
    """Return the ledger as an HTML page.

    Parameters
    ----------
    table : DataFrame
        From :func:`moestat.report.ledger.ledger`.

    Returns
    -------
    str
        One page without links to other files. A claim has the anchor ``STUDY:ID``.
    """
    records = table.to_dict("records")
    rows = [shown(row) for row in records]
    counts = headline.headline(table)
    known = [*headline.WORDS, *BEARINGS, *SCALES, *ORIGINS]

    def order(value: str) -> tuple[int, str]:
        return (known.index(value) if value in known else len(known), value)

    filters = [(name, sorted(set(table[name].astype(str)), key=order)) for name in FILTERS]
    template = render.environment().get_template("ledger.html.j2")
    return template.render(
        css=html.stylesheet(),
        version="",
        rows=rows,
        filters=filters,
        words=headline.WORDS,
        rules=rules_of(records),
        counts=counts.to_dict("records"),
        not_run=NOT_RUN,
    )


def anchor(study: str, claim: str) -> str:
    """Return the anchor of a claim on the page."""
    return f"{study}:{claim}"


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a claim as the page shows it, and the keys that it is ordered and filtered by."""
    value, interval = estimate(row["estimate"], row["ci_low"], row["ci_high"])
    interval = "" if row["ci_low"] == row["ci_high"] else interval
    ran = [f"preset {row['preset']}", row["date"], f"moestat {row['version']}" if row["version"] else ""]
    alone = row["group"] in (row["claim"], f"{row['study']}/{row['claim']}")
    return {key: str(row[key]) for key in (*FILTERS, "study", "claim", "title", "statement", "source", "region")} | {
        "anchor": anchor(row["study"], row["claim"]),
        "says": _capital(says(row["origin"], row["bearing"], row["because"], row["paper"])),
        "group": "" if alone else row["group"],
        "scale_text": of_run(row["scale"], row["paper"]),
        "predicted": number(row["predicted"]),
        "estimate": f"{value} {interval}".strip(),
        "number": "" if pd.isna(row["estimate"]) else repr(float(row["estimate"])),
        "strip": _strip(row),
        "wording": row["wording"],
        "why": row["why"],
        "ran": ", ".join(part for part in ran if part) if row["date"] else "",
        "command": portable(row["command"]),
        "decides": row["decides"],
        "decides_with": row["decides_with"],
        "decided": row["verdict"] != NOT_RUN and row["preset"] == row["decides"],
    }


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _strip(row: Mapping[str, Any]) -> Markup:
    ends = (row["low"], row["high"])
    return svg.strip(row["ci_low"], row["ci_high"], ends, row["estimate"], printed(row["predicted"]), width=200)
