"""The ledger as one HTML page that works offline: a table of all claims, to be searched, filtered and sorted.

Without JavaScript the page is the whole table, every reason open to read; the script only hides and orders rows.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from moestat.claims.verdicts import count_written, written
from moestat.claims.wording import VERDICTS
from moestat.report import headline, html, render, svg, views
from moestat.report.ledger import NOT_RUN, shown_estimate
from moestat.report.meaning import BEARINGS, ORIGINS, SCALES, of_run, says
from moestat.report.span import printed
from moestat.rounding import number
from moestat.sentences import counted

FILTERS = ("paper", "origin", "bearing", "scale", "verdict", "preset")
"""The columns that a reader can choose values of."""
_LOCAL = ("--out", "--jobs", "--backend", "--scheduler")
_FLAGS = ("--no-report", "--quiet", "--fresh", "--replace-stale", "--retry-failed")


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


def rules_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """Say when the rules of the verdicts were written, and how many of the sealed say what was settled in hindsight."""
    judged = [row for row in rows if row["verdict"] in VERDICTS]
    if not judged:
        return "No claim has been judged yet."
    told = f"{counted(len(judged), 'verdict')}{views.of_rules(count_written(judged))}."
    seen = sum(bool(row["hindsight"]) and written(row) == "sealed" for row in judged)
    return f"{told} Of the sealed, {seen} say what was settled in hindsight." if seen else told


def portable(command: str) -> str:
    """Return a command without the options that belong to one machine or one call: folders, processes, addresses.

    >>> portable("python -m moestat.study toy --preset paper --out /scratch/me --jobs 4 --no-report --set d=4")
    'python -m moestat.study toy --preset paper --set d=4'
    """
    words = iter(shlex.split(command))
    kept = []
    for word in words:
        if word in _LOCAL:
            next(words, None)
        elif word not in _FLAGS:
            kept.append(word)
    return shlex.join(kept)


def anchor(study: str, claim: str) -> str:
    """Return the anchor of a claim on the page."""
    return f"{study}:{claim}"


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a claim as the page shows it, and the keys that it is ordered and filtered by."""
    ran = [f"preset {row['preset']}", row["date"], f"moestat {row['version']}" if row["version"] else ""]
    alone = row["group"] in (row["claim"], f"{row['study']}/{row['claim']}")
    return {key: str(row[key]) for key in (*FILTERS, "study", "claim", "title", "statement", "source", "region")} | {
        "anchor": anchor(row["study"], row["claim"]),
        "says": _capital(says(row["origin"], row["bearing"], row["because"], row["paper"])),
        "group": "" if alone else row["group"],
        "scale_text": of_run(row["scale"], row["paper"]),
        "predicted": number(row["predicted"]),
        "estimate": shown_estimate(row),
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
