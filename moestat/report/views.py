"""What of the tables is shown to people: few columns, numbers rounded to their uncertainty, all of it text."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from moestat.claims import wording
from moestat.claims.verdicts import WHEN, count_written, written
from moestat.rates.bends import STILL
from moestat.rounding import estimate, number
from moestat.status import Status
from moestat.study.seal import Written

CLAIM_COLUMNS = (
    "claim",
    "source",
    "origin",
    "bearing",
    "scale",
    "statement",
    "predicted",
    "estimate",
    "verdict",
    "why",
)

BENT = "* the line is bent: the interval of its curvature excludes 0, so the slope depends on the window."

MARKS: dict[Written, str] = {"sealed": "", "edited": "\N{DAGGER}", "added": "\N{DOUBLE DAGGER}"}
"""Behind a verdict, by when its rule was written."""
_NOTES: dict[Written, str] = {
    "edited": f"{MARKS['edited']} the rule was changed after the run; to see how: moestat claim ID",
    "added": f"{MARKS['added']} the claim was added after the run",
}


@dataclass(frozen=True)
class View:
    """A table as it is printed.

    Attributes
    ----------
    title : str
    columns : tuple of str
    rows : list of tuples of str, as long as ``columns``
    groups : list of str
        A heading for each row, or none: rows with the same heading stand under it.
    notes : list of str
        What stands below the table.
    numeric : frozenset of str
        Columns that are set flush right.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    groups: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    numeric: frozenset[str] = frozenset()

    def without_empty_columns(self) -> View:
        """Leave out the columns that no row fills."""
        return self.of_columns([i for i in range(len(self.columns)) if any(row[i] for row in self.rows)])

    def of_columns(self, kept: Sequence[int]) -> View:
        """Keep some of the columns."""
        columns, rows = tuple(self.columns[i] for i in kept), [tuple(row[i] for i in kept) for row in self.rows]
        return replace(self, columns=columns, rows=rows)


def names(table: pd.DataFrame) -> list[str]:
    """Return what each row's arm is called: its label, or its name where two arms share a label."""
    arms = table[["arm", "label"]].drop_duplicates()
    shared = arms["label"].duplicated(keep=False)
    called = {arm: arm if twice else text for arm, text, twice in zip(arms["arm"], arms["label"], shared, strict=True)}
    return [called[arm] for arm in table["arm"]]


def rates(table: pd.DataFrame, *, brief: bool = False) -> View:
    """Show fitted rates: one group of rows per loss; ``brief`` keeps what fits a terminal, arms by their short names.

    A dagger marks a rate that cannot be trusted, a double dagger one whose global searches did not settle, a star a
    bent line; the notes say so.
    """
    marks: dict[str, str] = {}
    searches: dict[str, str] = {}
    rows = []
    called = list(table["arm"]) if brief else names(table)
    records = table.to_dict("records")
    for name, row in zip(called, records, strict=True):
        mark = ""
        if not row["trusted"]:
            mark = marks.setdefault(row["why"], "\N{DAGGER}" if not marks else f"\N{DAGGER}{len(marks) + 1}")
        if row.get("search") and not brief:
            mark += "\N{DOUBLE DAGGER}"
            searches.setdefault(name, row["search"])
        mark += "*" if _bent(row) else ""
        rows.append(_rate(name + mark, row, brief))
    levels = table["level"].dropna().unique() if "level" in table else []
    interval = f"{100 * levels[0]:.4g} % interval" if len(levels) == 1 else "interval"
    interval = f"slope, {interval}" if brief else interval
    columns = tuple(interval if c == "interval" else c for c in rows[0]) if rows else ("arm",)
    notes = [f"{mark} not trusted: {why}" for why, mark in marks.items()]
    if any(map(_bent, records)):
        notes.append(BENT + (" How it bends is in rates.csv, under notes." if brief else ""))
    notes += [f"\N{DOUBLE DAGGER} {name}: {text} Something lower may be left." for name, text in searches.items()]
    cells = [tuple(row.values()) for row in rows]
    groups = [_series(row, table.attrs.get("axes", [])) for row in records]
    title = "Rates: slopes of the log loss"
    return View(title, columns, cells, groups, notes, frozenset(columns[1:])).without_empty_columns()


def rates_by_loss(table: pd.DataFrame) -> list[View]:
    """Show fitted rates, one table for each loss, with the columns that it fills."""
    views = []
    for (loss, over), part in table.groupby(["loss", "over"], sort=False):
        part.attrs |= table.attrs
        whole = rates(part)
        groups = list(whole.groups)
        # a heading over all rows is the title already
        one = len(set(groups)) == 1
        title = groups[0] if one else f"{loss} over {over}"
        views.append(replace(whole, title=f"Slopes of {title}", groups=[] if one else groups))
    return views


def parameters(table: pd.DataFrame) -> View:
    """Show the rates of the parameters, block by block: one group of rows per arm.

    A dagger marks a rate that cannot be trusted, a star a bent line; the notes say so.
    """
    marks: dict[str, str] = {}
    axes = table.attrs.get("axes", [])
    rows, groups = [], []
    order = table.assign(_arm=names(table))
    order["_place"] = order["_arm"].map({name: i for i, name in enumerate(dict.fromkeys(order["_arm"]))})
    for row in order.sort_values("_place", kind="stable").to_dict("records"):
        mark = ""
        if not row["trusted"]:
            mark = marks.setdefault(row["why"], "\N{DAGGER}" if not marks else f"\N{DAGGER}{len(marks) + 1}")
        mark += "*" if _bent(row) else ""
        slope, interval = estimate(row["slope"], row["ci_low"], row["ci_high"])
        complete = f"{_count(row.get('complete'))}/{_count(row.get('replicates'))}".strip("/")
        place = [number(row[axis]) for axis in axes]
        rows.append(
            (
                row["block"] + mark,
                row["atoms"],
                row["role"],
                *place,
                slope,
                interval,
                _number(row.get("predicted")),
                complete,
            )
        )
        groups.append(str(row["_arm"]))
    columns = ("block", "atoms", "role", *axes, "slope", "95 % interval", "predicted", "complete")
    notes = [f"{mark} not trusted: {why}" for why, mark in marks.items()]
    notes += [BENT] if any(map(_bent, table.to_dict("records"))) else []
    title = "Parameter rates: slopes of the log error of each block"
    return View(title, columns, rows, groups, notes, frozenset(columns[3:])).without_empty_columns()


def _series(row: dict[str, Any], axes: Sequence[str]) -> str:
    """Return what a rate is fitted to: the loss, the axis, the sizes, and where on the other axes."""
    place = [f"{axis} = {number(row[axis])}" for axis in axes if pd.notna(row[axis])]
    sizes = ""
    if pd.notna(row.get("sizes")) and row["sizes"]:
        sizes = f" ({int(row['sizes'])} sizes from {number(row['first'])} to {number(row['last'])})"
    return ", ".join([f"{row['loss']} over {row['over']}{sizes}", *place])


def _bent(row: Mapping[str, Any]) -> bool:
    notes = row.get("notes")  # NaN where a row has no fit
    return isinstance(notes, str) and bool(notes)


def _rate(name: str, row: dict[str, Any], brief: bool) -> dict[str, str]:
    slope, interval = estimate(*(0.0 if abs(row[end]) < STILL else row[end] for end in ("slope", "ci_low", "ci_high")))
    complete = f"{_count(row.get('complete'))}/{_count(row.get('replicates'))}".strip("/")
    bounds = {"predicted": _number(row.get("predicted")), "bound": _number(row.get("bound"))}
    companions = {"Fisher": _number(row.get("reference_slope"), 2), "start": _number(row.get("start_slope"), 2)}
    if brief:
        shown = {"arm": name, "interval": f"{slope} {interval}".strip(), "predicted": bounds["predicted"]}
        return shown | {"Fisher": companions["Fisher"], "complete": complete}
    shown = {"arm": name, "slope": slope, "interval": interval} | bounds | companions
    curvature = row.get("curvature", math.nan)
    bend = _number(0.0 if abs(curvature) < STILL else curvature, 2)
    ends = row.get("bootstrap_low", math.nan), row.get("bootstrap_high", math.nan)
    shown |= {"OLS": _number(row.get("ols"), 2), "WLS": _number(row.get("wls"), 2)}
    shown |= {"bootstrap": estimate(row.get("ols", math.nan), *ends)[1]}
    shown |= {"last half": _number(row.get("last_half"), 2), "curvature": bend}
    shown |= {"loss/Fisher": number(row.get("ratio_to_reference", math.nan), 3)}
    shown |= {"complete": complete}
    return shown | {"failed": _count(row.get("failed")), "not conv.": _count(row.get("not_converged"))}


def claims(table: pd.DataFrame, *, columns: tuple[str, ...] = CLAIM_COLUMNS, brief: bool = False) -> View:
    """Show verdicts, with some of the columns; ``brief`` leaves out the group that a claim counts once with."""
    rows = []
    for row in table.to_dict("records"):
        value, interval = estimate(row["estimate"], row["ci_low"], row["ci_high"])
        interval = "" if row["ci_low"] == row["ci_high"] else interval
        shown = row | {"predicted": _number(row["predicted"]), "estimate": f"{value} {interval}".strip()}
        shown |= {"verdict": marked(row), "says": says(row, brief=brief)}
        rows.append(tuple(str(shown[c]) for c in columns))
    notes = notes_on(table.to_dict("records")) if "verdict" in columns else []
    return View("Claims", columns, rows, notes=notes)


def answer(table: pd.DataFrame, bent: Container[str], most: int) -> View:
    """Show what was printed, what we find and the verdict, the paper's claims first; at most so many rows.

    Parameters
    ----------
    table : DataFrame
        With the columns of claims.csv.
    bent : container of str
        Claims on the slopes of lines that bend; they get a star.
    most : int
    """
    records = sorted(table.to_dict("records"), key=lambda row: row["origin"] == "ours")
    rows = []
    for row in records[:most]:
        value, interval = estimate(row["estimate"], row["ci_low"], row["ci_high"])
        star = "*" if row["claim"] in bent else ""
        shown = value if row["ci_low"] == row["ci_high"] else f"{value} {interval}"
        rows.append((str(row["claim"]), _number(row["predicted"]), f"{shown}{star}", marked(row)))
    notes = [*([BENT] if any(row["claim"] in bent for row in records[:most]) else []), *notes_on(records[:most])]
    if len(records) > most:
        notes.insert(0, f"and {len(records) - most} more claims: --verbose")
    return View("", ("claim", "predicted", "ours, 95 % interval", "verdict"), rows, notes=notes)


def marked(row: Mapping[str, Any]) -> str:
    """Return a verdict as it is shown, with a mark where its rule was edited, or its claim added, after the run."""
    return str(row["wording"]) + MARKS[written(row)]


def notes_on(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what the marks behind some verdicts mean, those that occur."""
    counts = count_written(rows)
    return [note for when, note in _NOTES.items() if counts[when]]


def of_rules(counts: Mapping[Written, int]) -> str:
    """Return what follows a tally of verdicts: when their rules were written; of no verdicts an empty text.

    >>> of_rules({"sealed": 5, "edited": 1, "added": 0})
    '; 5 by a rule sealed before the run, 1 by one edited after it, 0 by one added after it'
    >>> of_rules({"sealed": 2, "edited": 0, "added": 0})
    '; all by rules sealed before the run'
    """
    sealed, edited, added = (counts[when] for when in WHEN)
    if not edited and not added:
        return "; all by rules sealed before the run" if sealed else ""
    return f"; {sealed} by a rule sealed before the run, {edited} by one edited after it, {added} by one added after it"


def says(row: Mapping[str, Any], *, brief: bool = False) -> str:
    """Return whose statement a claim is, what it means for the paper, and the group that it counts once with."""
    alone = brief or row["group"] in (row["claim"], f"{row.get('study', '')}/{row['claim']}")
    return ", ".join([row["origin"], row["bearing"], *([] if alone else [f"group {row['group']}"])])


def tally(table: pd.DataFrame) -> str:
    """Return how many claims got which verdict: ``3 supported, 1 not supported, 0 inconclusive``, with their scale.

    When their rules were written is said behind it.
    """
    counts = in_words(wording.tally(table["verdict"], table["scale"]))
    return counts + of_rules(count_written(table.to_dict("records")))


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts of verdicts in a line.

    >>> in_words({"supported": 2, "mixed at reduced scale": 1})
    '2 supported, 1 mixed at reduced scale'
    """
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def summaries(table: pd.DataFrame, *, without: Sequence[str] = ()) -> View:
    """Show means with intervals, one group of rows per variable; ``without`` some columns where room is short.

    How many values were lost has a column where some were.
    """
    axes = table.attrs.get("axes", [])
    without = (*without, *(["lost"] if not table["lost"].any() else []))
    rows, groups = [], []
    for name, row in zip(names(table), table.to_dict("records"), strict=True):
        value, interval = estimate(row["mean"], row["ci_low"], row["ci_high"])
        points = [_number(row[axis]) for axis in axes]
        spread = [
            number(row["mcse"], 2),
            number(row["sd"], 3),
            number(row["median"], 4),
            _count(row["replicates"]),
            _count(row["lost"]),
        ]
        rows.append((name, *points, value, interval, *spread))
        groups.append(str(row["variable"]))
    columns = ("arm", *axes, "mean", "95 % interval", "MCSE", "sd", "median", "replicates", "lost")
    if without:
        kept = [i for i, column in enumerate(columns) if column not in without]
        columns, rows = tuple(columns[i] for i in kept), [tuple(row[i] for i in kept) for row in rows]
    # names on an axis are text: they may be folded where numbers may not
    texts = {axis for axis in axes if not pd.api.types.is_numeric_dtype(table[axis])}
    numeric = frozenset(columns[1:]) - texts
    return View("Means over replicates", columns, rows, groups, numeric=numeric).without_empty_columns()


def statuses(table: pd.DataFrame) -> View:
    """Show how the runs ended; kinds of failure that did not occur at all are left out, but never the zeros in sum."""
    kinds = [s.name.lower() for s in Status if s is not Status.CONVERGED and table[s.name.lower()].any()]
    columns = ["runs", "converged", "failed", "not_converged", "missing", *kinds]
    called = [*names(table.iloc[:-1]), "all"]
    rows = [
        (name, *(_count(row[c]) for c in columns)) for name, row in zip(called, table.to_dict("records"), strict=True)
    ]
    heads = tuple(c.replace("_", " ") for c in columns)
    note = "Failed runs have no values; runs that did not converge have values and are counted apart."
    return View("How the runs ended", ("arm", *heads), rows, notes=[note], numeric=frozenset(heads))


def failures(table: pd.DataFrame, limit: int = 30) -> View:
    """Show what the runs that did not converge said."""
    rows: list[tuple[str, ...]] = [
        (name, str(row["status"]), str(row["message"]), _count(row["runs"]), str(row["example"]))
        for name, row in zip(names(table), table.to_dict("records"), strict=True)
    ]
    notes = [f"and {len(rows) - limit} more kinds of message"] if len(rows) > limit else []
    columns = ("arm", "status", "message", "runs", "for example")
    return View(
        "What the runs that did not converge said", columns, rows[:limit], notes=notes, numeric=frozenset({"runs"})
    )


def diagnostics(table: pd.DataFrame) -> View:
    """Show median and range of the diagnostics, one group of rows per diagnostic."""
    rows = [
        (name, *(number(row[c], 3) for c in ("median", "smallest", "largest")))
        for name, row in zip(names(table), table.to_dict("records"), strict=True)
    ]
    columns = ("arm", "median", "smallest", "largest")
    return View("Diagnostics of the runs", columns, rows, list(table["diagnostic"]), numeric=frozenset(columns[1:]))


def _number(value: Any, decimals: int | None = None) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and pd.isna(value)):
        return ""
    if isinstance(value, str) or decimals is None:
        return number(value)
    text = f"{float(value):.{decimals}f}"
    return text if text.strip("-0.") else text.removeprefix("-")


def _count(value: Any) -> str:
    return "" if value is None or pd.isna(value) else str(int(value))
