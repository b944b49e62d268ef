"""The headline of a paper: its statements by bearing and scale, variants of one statement counted once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from moestat.claims.verdicts import WHEN, written
from moestat.claims.wording import VERDICTS
from moestat.report.meaning import BEARINGS, SCALES
from moestat.report.views import in_words, of_rules
from moestat.sentences import counted

NOT_RUN = "not run"
MIXED = "mixed"
WORDS = (*VERDICTS, MIXED, NOT_RUN)
YES, NO = ("supported", "no counterexample"), ("not supported", "refuted")


def of_group(verdicts: list[str]) -> str:
    """Return the verdict of the variants of one statement together.

    A statement about every case is *refuted* by one counterexample, whatever its other variants have not found or left
    open. Variants that contradict each other are *mixed* otherwise, and else the weakest verdict counts: one that
    decides nothing before one that does. A variant without a run leaves open what the others say; *not run* is what no
    run bears on.

    >>> of_group(["supported", "supported"]), of_group(["supported", "refuted"]), of_group(["supported", "not run"])
    ('supported', 'mixed', 'inconclusive')
    >>> of_group(["refuted", "no counterexample"]), of_group(["refuted", "inconclusive"])
    ('refuted', 'refuted')
    """
    if "refuted" in verdicts and "supported" not in verdicts:
        return "refuted"
    if any(v in YES for v in verdicts) and any(v in NO for v in verdicts):
        return MIXED
    if all(v == NOT_RUN for v in verdicts):
        return NOT_RUN
    order = ("inconclusive", "refuted", "not supported", "no counterexample", "supported")
    return min(("inconclusive" if v == NOT_RUN else v for v in verdicts), key=order.index)


def statements(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], str]:
    """Return the verdict of every statement, its variants together, by its bearing, group and scale.

    Parameters
    ----------
    rows : iterable of dict
        Rows of :func:`moestat.report.ledger.ledger`, of one paper.
    """
    variants: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        variants.setdefault((row["bearing"], row["group"], row["scale"]), []).append(str(row["verdict"]))
    return {statement: of_group(verdicts) for statement, verdicts in variants.items()}


def headline(table: pd.DataFrame) -> pd.DataFrame:
    """Count the statements of every paper.

    Parameters
    ----------
    table : DataFrame
        From :func:`moestat.report.ledger.ledger`.

    Returns
    -------
    DataFrame
        One row per paper, bearing and scale that occur, with the columns paper, bearing, scale, statements, and one
        per verdict.
    """
    rows = []
    for (paper, bearing, scale), part in table.groupby(["paper", "bearing", "scale"], sort=True):
        words = list(statements(part.to_dict("records")).values())
        row = {"paper": paper, "bearing": bearing, "scale": scale, "statements": len(words)}
        rows.append(row | {word: words.count(word) for word in WORDS})
    counts = pd.DataFrame(rows, columns=["paper", "bearing", "scale", "statements", *WORDS])
    order = {name: place for names in (BEARINGS, SCALES) for place, name in enumerate(names)}
    return counts.sort_values(
        ["paper", "bearing", "scale"],
        key=lambda column: column.map(lambda name: order.get(name, name)),
        ignore_index=True,
    )


def sentences(table: pd.DataFrame) -> list[str]:
    """Say the headline, one sentence per paper, bearing and scale; in words as they stand beside a verdict.

    Behind it stands when their rules were written: a statement of which one variant was added after its run counts
    there, and else one of which the rule of one variant was edited.
    """
    keys = ["paper", "bearing", "scale"]
    latest: dict[tuple[str, ...], dict[str, int]] = {}
    for row in table[table["verdict"] != NOT_RUN].to_dict("records"):
        groups = latest.setdefault(tuple(row[key] for key in keys), {})
        groups[row["group"]] = max(groups.get(row["group"], 0), WHEN.index(written(row)))
    lines = []
    for row in headline(table).to_dict("records"):
        words = {word: word for word in WORDS} | ({} if row["scale"] == "paper" else {"not supported": "not shown"})
        counts = in_words({shown: row[word] for word, shown in words.items() if row[word]})
        found = list(latest.get(tuple(row[key] for key in keys), {}).values())
        rules = of_rules({when: found.count(place) for place, when in enumerate(WHEN)})
        number = counted(row["statements"], "statement")
        lines.append(f"{row['paper']}, {row['bearing']}, {row['scale']}: {number}: {counts}{rules}")
    return lines
