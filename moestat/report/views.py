"""What of the tables is shown to people, in a terminal, as HTML and LaTeX: few columns, numbers rounded, all text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from markupsafe import Markup

from moestat.claims import wording
from moestat.claims.wording import WHEN, Written, count_written, written
from moestat.report import text
from moestat.report.grid import Table, table, tone
from moestat.rounding import estimate, number
from moestat.sentences import counted
from moestat.study.cells import SENSITIVITY
from moestat.study.spec import has_paper

if TYPE_CHECKING:  # slow imports, which what shows verdicts alone does without
    import pandas as pd
    from jinja2 import Environment
    from markdown_it import MarkdownIt

Row = TypeVar("Row", bound=Mapping[str, Any])

BENT = "* the line is bent: the interval of its curvature excludes 0, so the slope depends on the window."
ENDED = "Failed runs have no values; runs that did not converge have values and are counted apart."
SLOPES = {"Fisher": "reference_slope", "start": "start_slope", "last half": "last_half"}
SLOPES |= {"curvature": "curvature"}
"""Columns of the rate table with two decimals."""
OF_RATES = (
    *("search", "notes", "sizes", "first", "last", "predicted", "bound", *SLOPES.values(), "ratio_to_reference"),
    *("wider_low", "wider_high", "complete", "replicates", "failed", "not_converged"),
)
"""What a table has of rates that could be fitted, if there are any."""
SIGNS = {"yes": "\N{CHECK MARK}", "no": "\N{MULTIPLICATION X}", "open": "?"}
"""A sign beside each verdict, so that colour is never the only one."""


def names(frame: pd.DataFrame) -> list[str]:
    """Return what each row's arm is called: its label, or its name where two arms share a label."""
    arms = frame[["arm", "label"]].drop_duplicates()
    shared = set(arms.loc[arms["label"].duplicated(keep=False), "arm"])
    return [arm if arm in shared else label for arm, label in zip(frame["arm"], frame["label"], strict=True)]


# --- rates and means -------------------------------------------------------------------------------------------------


def rates(frame: pd.DataFrame) -> Table:
    """Show fitted rates, of losses or of blocks of parameters, under what they are fitted to.

    A dagger marks a rate that cannot be trusted, a double dagger one whose global searches did not settle, a star a
    bent line; the notes say so.
    """
    axes, blocks = frame.attrs.get("axes", []), "block" in frame
    records = frame.reindex(columns=dict.fromkeys([*frame, *OF_RATES])).assign(called=names(frame)).to_dict("records")
    marks: dict[str, str] = {}
    searches: dict[str, None] = {}
    rows, bent = [], False
    for row in records:
        mark = ""
        if not row["trusted"]:
            mark = marks.setdefault(row["why"], "\N{DAGGER}" + (str(len(marks) + 1) if marks else ""))
        if not _absent(row["search"]) and row["search"]:
            mark += "\N{DOUBLE DAGGER}"
            searches[f"\N{DOUBLE DAGGER} {row['called']}: {row['search']} Something lower may be left."] = None
        if not _absent(row["notes"]) and row["notes"]:
            mark, bent = mark + "*", True
        of_block = {name: row[name] for name in ("block", "atoms", "role")} if blocks else {}
        rows.append({"arm": row["called"] + mark} | of_block | _rate(row))
    notes = [*(f"{mark} not trusted: {why}" for why, mark in marks.items()), *([BENT] if bent else []), *searches]
    title = "Parameter rates: slopes of the log error" if blocks else "Rates: slopes of the log loss, t-intervals"
    groups = [_series(row, axes) for row in records]
    return table([*rows[0]], [[*row.values()] for row in rows], title=title, groups=groups, notes=notes)


def _series(row: Mapping[str, Any], axes: Sequence[str]) -> str:
    """Return what a rate is fitted to: the loss, the axis, the sizes, and where on the other axes."""
    place = [f"{axis} = {number(row[axis])}" for axis in axes if not _absent(row[axis])]
    sizes = ""
    if not _absent(row["sizes"]) and row["sizes"]:
        sizes = f" ({int(row['sizes'])} sizes from {number(row['first'])} to {number(row['last'])})"
    return ", ".join([f"{row['loss']} over {row['over']}{sizes}", *place])


def _rate(row: Mapping[str, Any]) -> dict[str, str]:
    from moestat.rates.bends import STILL

    slope, interval = estimate(*(0.0 if abs(row[end]) < STILL else row[end] for end in ("slope", "ci_low", "ci_high")))
    shown = {"slope": slope, "95 % interval": interval} | {end: _number(row[end]) for end in ("predicted", "bound")}
    for head, name in SLOPES.items():
        shown[head] = "" if _absent(row[name]) else f"{0.0 if abs(row[name]) < STILL else row[name]:z.2f}"
    shown["wider"] = estimate(row["slope"], row["wider_low"], row["wider_high"])[1]
    shown["loss/Fisher"] = number(row["ratio_to_reference"], 3)
    shown["complete"] = f"{_count(row['complete'])}/{_count(row['replicates'])}".strip("/")
    return shown | {"failed": _count(row["failed"]), "not conv.": _count(row["not_converged"])}


def summaries(frame: pd.DataFrame) -> Table:
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


def _plain(frame: pd.DataFrame, title: str, note: str = "", group: str = "") -> Table:
    """Show a table as it is, numbers with three digits, arms by what they are called."""
    shown = frame.assign(arm=names(frame)).drop(columns=["label", *filter(None, [group])])
    shown = shown.map(lambda v: number(v, 3) if isinstance(v, float) else str(v))
    heads = [name.replace("_", " ") for name in shown]
    groups = list(frame[group]) if group else ()
    return table(heads, shown.to_numpy().tolist(), title=title, groups=groups, notes=[note] if note else [])


def _number(value: Any) -> str:
    return "" if _absent(value) else number(value)


def _count(value: Any) -> str:
    return "" if _absent(value) else str(int(value))


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


SHOWN: dict[str, Callable[[pd.DataFrame], Table]] = {
    "rates": rates,
    "parameters": rates,
    "summaries": summaries,
    "statuses": partial(_plain, title="How the runs ended", note=ENDED),
    "failures": partial(_plain, title="What the runs that did not converge said"),
    "diagnostics": partial(_plain, title="Diagnostics of the runs", group="diagnostic"),
}


def frames(tables: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, Table]]:
    """Yield the tables of a run as they are shown, by their names; empty ones are left out."""
    yield from ((name, SHOWN[name](frame)) for name, frame in tables.items() if len(frame))


# --- claims ----------------------------------------------------------------------------------------------------------


def claims(
    judged: Iterable[Mapping[str, Any]],
    *,
    bent: Container[str] = (),
    title: str = "",
    groups: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Table:
    """Show verdicts; claims on the slopes of lines that bend get a star.

    Where some are of the sensitivity, a column says so, which no narrow table leaves out.
    """
    rows, told, judged = [], list(notes), list(judged)
    apart = any(not row["cell"] for row in judged)
    for row in judged:
        star = "*" if row["claim"] in bent else ""
        shown = (str(row["claim"]), str(row["statement"]), says(row), _number(row["predicted"]), estimated(row) + star)
        cell = (row["cell"] or SENSITIVITY) if apart else ""
        rows.append((*shown, str(row["wording"]), when(row), row.get("survives", ""), cell))
        told += [BENT] if star and BENT not in told else []
    columns = ("claim", "statement", "says", "predicted", "ours, 95 % interval", "verdict", "rule", "FDR", "cell")
    return table(columns, rows, title=title, groups=groups, notes=told)


LATE = "in hindsight"
"""What is sealed before a run, and after related results had been seen."""


def when(row: Mapping[str, Any]) -> str:
    """Return when the rule of a verdict was written, and whether in hindsight; of no verdict an empty text."""
    late = f" {LATE}" * wording.in_hindsight(row)
    return written(row) + late if row["verdict"] in wording.VERDICTS else ""


def estimated(row: Mapping[str, Any]) -> str:
    """Return the estimate of a claim, with its interval where it has one."""
    value, interval = estimate(row["estimate"], row["ci_low"], row["ci_high"])
    return value if row["ci_low"] == row["ci_high"] else f"{value} {interval}".strip()


def says(row: Mapping[str, Any]) -> str:
    """Return whose statement a claim is, and in which cell of its item it stands, or that it is of the sensitivity."""
    where = f"{row['cell']} of {row['item']}" if row["cell"] else SENSITIVITY
    return f"{row['origin']}, {where}"


def scale_of(scale: str, paper: str) -> str:
    """Say of what scale a run is; without a paper it is compared with the study's own problem.

    >>> scale_of("paper", "none"), scale_of("reduced", "task-routing")
    ("the study's own problem", 'reduced scale')
    """
    own = "the paper's scale" if has_paper(paper) else "the study's own problem"
    return {"paper": own, "reduced": "reduced scale"}.get(scale, f"a {scale}")


def primary(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of primary claims, which alone are counted where there are any."""
    return [row for row in rows if row["cell"]]


def tally(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how many primary claims got which verdict, with their scale, the rules, and those of the sensitivity."""
    others = [row for row in rows if not row["cell"]]
    rest = [f"{SENSITIVITY}: {in_words(wording.tally(others))}"] if others else []
    return "; ".join(filter(None, [in_words(wording.tally(primary(rows))), of_rules(rows), *rest]))


def sentence(rows: Sequence[Mapping[str, Any]], findings: Sequence[str]) -> str:
    """Return what a run says in one sentence: the first of its findings, or the verdicts of its claims.

    >>> sentence([{"wording": "supported", "verdict": "supported", "scale": "paper", "cell": ""}], [])
    'Of 1 claim: 1 supported.'
    """
    if findings:
        return re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(findings[0].split()))[0]
    mine = primary(rows) or list(rows)
    which = "primary claim" if len(mine) < len(rows) else "claim"
    return f"Of {counted(len(mine), which)}: {in_words(wording.tally(mine))}." if mine else "The study makes no claim."


def of_rules(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say when the rules of verdicts on primary claims, or else on all, were written; of no verdicts an empty text."""
    mine = primary(rows) or rows
    return f"rules: {rules_in_words(mine, WHEN)}" if any(count_written(mine).values()) else ""


def rules_in_words(rows: Iterable[Mapping[str, Any]], words: Iterable[Written] = ()) -> str:
    """Return how many rules of verdicts were written when: of those ``words``, and of all others that there are.

    >>> row = {"verdict": "supported", "sealed": "sealed"}
    >>> rules_in_words([row, row | {"hindsight": "Seen before."}]), rules_in_words([row], ["sealed", "edited"])
    ('1 sealed, 1 in hindsight', '1 sealed, 0 edited')
    """
    found = list(rows)
    late = sum(when(row).endswith(LATE) for row in found)
    counts = count_written(found)
    order = {"sealed": counts["sealed"] - late, LATE: late, "edited": counts["edited"], "added": counts["added"]}
    return in_words({word: count for word, count in order.items() if count or word in set(words)})


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts of verdicts in a line.

    >>> in_words({"supported": 2, "mixed at reduced scale": 1})
    '2 supported, 1 mixed at reduced scale'
    """
    return ", ".join(f"{count} {word}" for word, count in counts.items())


# --- files and pages -------------------------------------------------------------------------------------------------


def html(shown: Table) -> Markup:
    """Return an accessible HTML table: caption, column and row headers with their scope."""
    template = environment().get_template("table.html.j2")
    return Markup(template.render(table=shown))


def latex(shown: Table, *, label: str = "") -> str:
    """Return tables of LaTeX that break over pages (booktabs and longtable): one for each heading."""
    import pandas as pd

    lines = [r"% needs \usepackage{booktabs,longtable}", r"\begingroup\footnotesize\setlength{\tabcolsep}{4pt}\sloppy"]
    kinds = "".join("r" if flush else "l" for flush in shown.numeric)
    for count, (heading, rows) in enumerate(shown.parts, 1):
        caption = text.latex(": ".join(filter(None, (shown.title, heading))))
        look = {"column_format": f"@{{}}{kinds}@{{}}", "label": f"{label}-{count}" if heading else label}
        cells = [[text.latex(cell) for cell in row] for row in rows]
        escaped = pd.DataFrame(cells, columns=[text.latex(name) for name in shown.columns], dtype=object)
        lines.append(escaped.to_latex(index=False, longtable=True, caption=caption, **look))
    lines += [rf"\par\noindent {text.latex(note)}" for note in shown.notes]
    return "\n".join([*lines, r"\par\endgroup", ""])


def chip(wording: str, count: int | None = None) -> Markup:
    """Return a verdict, or how many there are of it, as a coloured word with a sign."""
    words, kind = wording if count is None else f"{count} {wording}", tone(wording)
    sign = Markup('<span aria-hidden="true">{}</span>&nbsp;').format(SIGNS[kind]) if kind else ""
    return Markup('<span class="verdict {}">{}{}</span>').format(kind, sign, words)


@cache
def environment() -> Environment:
    """Return the templates of the pages."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("moestat.report")
    pages = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    pages.globals |= {"text": text.html, "paragraphs": paragraphs, "chip": chip}
    return pages


def paragraphs(prose: str) -> Markup:
    """Return the prose of a study as HTML: paragraphs, lists of lines with ``- ``, *emphasis*, **strong**, `code`.

    The rest of Markdown stays text, so that nothing in a formula becomes a link, a heading or an escape.
    """
    plain = re.sub(":[a-z]+:`~?", "`", prose.strip())  # roles of Sphinx
    return Markup(text.raised(_prose().render(plain).rstrip(), "<sup>{}</sup>"))


@cache
def _prose() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("zero").enable(["emphasis", "backticks", "list"])
