"""What of the tables is shown to people: few columns, numbers rounded to their uncertainty, all of it text."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from moestat.claims import wording
from moestat.claims.verdicts import WHEN, count_written, written
from moestat.rates.bends import STILL
from moestat.report.render import table
from moestat.rounding import estimate, number
from moestat.study.seal import Written
from moestat.study.spec import has_paper

BENT = "* the line is bent: the interval of its curvature excludes 0, so the slope depends on the window."
ENDED = "Failed runs have no values; runs that did not converge have values and are counted apart."
SLOPES = {"Fisher": "reference_slope", "start": "start_slope", "OLS": "ols", "WLS": "wls", "last half": "last_half"}
SLOPES |= {"curvature": "curvature"}
"""Columns of the rate table with two decimals."""
RULES: dict[Written, str] = {"sealed": "", "edited": "edited", "added": "added"}
"""When a rule was written, in a column."""


def names(frame: pd.DataFrame) -> list[str]:
    """Return what each row's arm is called: its label, or its name where two arms share a label."""
    arms = frame[["arm", "label"]].drop_duplicates()
    shared = set(arms.loc[arms["label"].duplicated(keep=False), "arm"])
    return [arm if arm in shared else label for arm, label in zip(frame["arm"], frame["label"], strict=True)]


def rates(frame: pd.DataFrame, *, blocks: bool = False) -> pd.DataFrame:
    """Show fitted rates by loss, or by arm those of ``blocks`` of parameters.

    A dagger marks a rate that cannot be trusted, a double dagger one whose global searches did not settle, a star a
    bent line; the notes say so.
    """
    axes, called = frame.attrs.get("axes", []), names(frame)
    if blocks:  # arms in the order of their first rows
        order = sorted(range(len(frame)), key=lambda at: called.index(called[at]))
        frame, called = frame.iloc[order], [called[at] for at in order]
    records = frame.to_dict("records")
    marks: dict[str, str] = {}
    notes: dict[str, None] = {}
    rows = []
    for arm, row in zip(called, records, strict=True):
        mark = ""
        if not row["trusted"]:
            mark = marks.setdefault(row["why"], "\N{DAGGER}" + (str(len(marks) + 1) if marks else ""))
        if row.get("search"):
            mark += "\N{DOUBLE DAGGER}"
            notes[f"\N{DOUBLE DAGGER} {arm}: {row['search']} Something lower may be left."] = None
        mark += "*" if _bent(row) else ""
        head = {"block": row["block"] + mark, "atoms": row["atoms"], "role": row["role"]} if blocks else {}
        head |= {axis: number(row[axis]) for axis in axes} if blocks else {"arm": arm + mark}
        rows.append(head | _rate(row))
    below = [f"{mark} not trusted: {why}" for why, mark in marks.items()]
    below += [BENT] if any(map(_bent, records)) else []
    title = "Parameter rates: slopes of the log error" if blocks else "Rates: slopes of the log loss"
    groups = called if blocks else [_series(row, axes) for row in records]
    return table([*rows[0]], [[*row.values()] for row in rows], title=title, groups=groups, notes=[*below, *notes])


def _series(row: Mapping[str, Any], axes: Sequence[str]) -> str:
    """Return what a rate is fitted to: the loss, the axis, the sizes, and where on the other axes."""
    place = [f"{axis} = {number(row[axis])}" for axis in axes if pd.notna(row[axis])]
    sizes = ""
    if pd.notna(row.get("sizes")) and row["sizes"]:
        sizes = f" ({int(row['sizes'])} sizes from {number(row['first'])} to {number(row['last'])})"
    return ", ".join([f"{row['loss']} over {row['over']}{sizes}", *place])


def _bent(row: Mapping[str, Any]) -> bool:
    notes = row.get("notes")  # NaN where a row has no fit
    return isinstance(notes, str) and bool(notes)


def _rate(row: Mapping[str, Any]) -> dict[str, str]:
    slope, interval = estimate(*(0.0 if abs(row[end]) < STILL else row[end] for end in ("slope", "ci_low", "ci_high")))
    shown = {"slope": slope, "95 % interval": interval} | {end: _number(row.get(end)) for end in ("predicted", "bound")}
    for head, name in SLOPES.items():
        value = row.get(name, math.nan)
        shown[head] = "" if pd.isna(value) else f"{0.0 if abs(value) < STILL else value:z.2f}"
    ends = row.get("bootstrap_low", math.nan), row.get("bootstrap_high", math.nan)
    shown["bootstrap"] = estimate(row.get("ols", math.nan), *ends)[1]
    shown["loss/Fisher"] = number(row.get("ratio_to_reference", math.nan), 3)
    shown["complete"] = f"{_count(row.get('complete'))}/{_count(row.get('replicates'))}".strip("/")
    return shown | {"failed": _count(row.get("failed")), "not conv.": _count(row.get("not_converged"))}


def claims(
    frame: pd.DataFrame,
    *,
    bent: Container[str] = (),
    title: str = "",
    groups: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> pd.DataFrame:
    """Show verdicts; claims on the slopes of lines that bend get a star."""
    rows, told = [], list(notes)
    for row in frame.to_dict("records"):
        star = "*" if row["claim"] in bent else ""
        shown = (str(row["claim"]), str(row["statement"]), says(row), _number(row["predicted"]), estimated(row) + star)
        rows.append((*shown, str(row["wording"]), RULES[written(row)]))
        told += [BENT] if star and BENT not in told else []
    columns = ("claim", "statement", "says", "predicted", "ours, 95 % interval", "verdict", "rule")
    return table(columns, rows, title=title, groups=groups, notes=told)


def estimated(row: Mapping[str, Any]) -> str:
    """Return the estimate of a claim, with its interval where it has one."""
    value, interval = estimate(row["estimate"], row["ci_low"], row["ci_high"])
    return value if row["ci_low"] == row["ci_high"] else f"{value} {interval}".strip()


def of_rules(counts: Mapping[Written, int]) -> str:
    """Return what follows a tally of verdicts: when their rules were written; of no verdicts an empty text.

    >>> of_rules({"sealed": 5, "edited": 1, "added": 0})
    '; rules: 5 sealed, 1 edited, 0 added'
    """
    told = ", ".join(f"{counts[when]} {RULES[when] or when}" for when in WHEN)
    return f"; rules: {told}" if sum(counts.values()) else ""


def says(row: Mapping[str, Any]) -> str:
    """Return whose statement a claim is, and what it means for the paper."""
    return f"{row['origin']}, {row['bearing']}"


def scale_of(scale: str, paper: str) -> str:
    """Say what a run is to the paper; of a study without a paper, to the study's own problem.

    >>> scale_of("paper", "none"), scale_of("reduced", "task-routing")
    ("the study's own problem", 'reduced scale')
    """
    own = "the paper's own problem" if has_paper(paper) else "the study's own problem"
    return {"paper": own, "reduced": "reduced scale"}.get(scale, f"a {scale}")


def tally(frame: pd.DataFrame) -> str:
    """Return how many claims got which verdict, with their scale, and when their rules were written."""
    counts = in_words(wording.tally(frame["verdict"], frame["scale"]))
    return counts + of_rules(count_written(frame.to_dict("records")))


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts of verdicts in a line.

    >>> in_words({"supported": 2, "mixed at reduced scale": 1})
    '2 supported, 1 mixed at reduced scale'
    """
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def summaries(frame: pd.DataFrame) -> pd.DataFrame:
    """Show means with intervals, one group of rows per variable; values that were lost, where some were."""
    axes = frame.attrs.get("axes", [])
    rows = []
    for name, row in zip(names(frame), frame.to_dict("records"), strict=True):
        spread = [number(row[key], digits) for key, digits in (("mcse", 2), ("sd", 3), ("median", 4))]
        counts = _count(row["replicates"]), _count(row["lost"]) if frame["lost"].any() else ""
        place = (_number(row[axis]) for axis in axes)
        rows.append((name, *place, *estimate(row["mean"], row["ci_low"], row["ci_high"]), *spread, *counts))
    columns = ("arm", *axes, "mean", "95 % interval", "MCSE", "sd", "median", "replicates", "lost")
    return table(columns, rows, title="Means over replicates", groups=list(frame["variable"].astype(str)))


def _plain(frame: pd.DataFrame, title: str, note: str = "", group: str = "") -> pd.DataFrame:
    """Show a table as it is, numbers with three digits, arms by what they are called."""
    shown = frame.assign(arm=names(frame)).drop(columns=["label", *filter(None, [group])])
    rows = [
        [number(v, 3) if isinstance(v, float) else str(v) for v in row]
        for row in shown.itertuples(index=False, name=None)
    ]
    heads = [name.replace("_", " ") for name in shown]
    return table(heads, rows, title=title, groups=list(frame[group]) if group else (), notes=[note] if note else [])


def _number(value: Any) -> str:
    return "" if value is None or value is pd.NA or (isinstance(value, float) and pd.isna(value)) else number(value)


def _count(value: Any) -> str:
    return "" if value is None or pd.isna(value) else str(int(value))


def frames(tables: Mapping[str, pd.DataFrame]) -> Iterable[tuple[str, pd.DataFrame]]:
    """Yield the tables of a run as they are shown, by their names; empty ones are left out."""
    show: dict[str, Callable[[pd.DataFrame], pd.DataFrame]]
    show = {"rates": rates, "parameters": partial(rates, blocks=True), "summaries": summaries}
    show |= {"statuses": partial(_plain, title="How the runs ended", note=ENDED)}
    show |= {"failures": partial(_plain, title="What the runs that did not converge said")}
    show |= {"diagnostics": partial(_plain, title="Diagnostics of the runs", group="diagnostic")}
    for name, frame in tables.items():
        if len(frame):
            yield name, show[name](frame)
