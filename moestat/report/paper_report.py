"""The replication report of a paper: one page that goes through it in its own order, item by item.

It begins with what holds and what was repaired; what stands against the paper, what is open and what was not checked
follow, and the numbers come last. Everything in it is read from what the runs left behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moestat.claims.verdicts import count_written
from moestat.report import headline, html, ledger, paper_items, render, stored_runs, views
from moestat.report.ledger_html import portable, shown
from moestat.report.standing import STANDINGS, Standing
from moestat.runner import records as kept
from moestat.study.contents import Contents
from moestat.study.presets import figure_file
from moestat.study.spec import Study

HEADS: dict[Standing, str] = {
    "holds": "What holds",
    "holds on smaller problems": "What holds on smaller problems and stand-ins",
    "holds in part": "What holds in part",
    "stands against": "What stands against the paper",
    "not shown": "What was not shown on smaller problems and stand-ins",
    "open": "What is open",
    "not checked": "What was not checked, and why",
}


def page(out_root: Path, studies: Mapping[str, Study], contents: Contents) -> str:
    """Return the report of a paper as one HTML page that loads nothing.

    Parameters
    ----------
    out_root : Path
        The outputs folder; it need not exist.
    studies : mapping of str to Study
        The studies of the paper.
    contents : Contents
        The items of the paper, in its order.
    """
    table = ledger.ledger(out_root, studies)
    records = table.to_dict("records")
    parts, beside = paper_items.parts(contents, records)
    for part in parts:
        part.figures = [_figure(out_root, name, studies, records) for name in part.item.figures]
        part.figures = [figure for figure in part.figures if figure.svg]
    counts = headline.headline(table)
    standings = {part.standing for part in parts}
    best = [name for name in ("holds", "holds on smaller problems") if name in standings]
    template = render.environment().get_template("paper.html.j2")
    return template.render(
        css=html.stylesheet(),
        version="",
        contents=contents,
        parts=parts,
        beside=_by_study(beside, studies),
        summary=[(HEADS[name], name, [p for p in parts if p.standing == name]) for name in STANDINGS],
        first=best[-1] if best else "",
        repaired=[(part, text) for part in parts for text in part.repairs],
        partly=[part for part in parts if part.rows and part.item.unchecked],
        shown=shown,
        words=headline.WORDS,
        rules=views.of_rules(count_written(records)).removeprefix("; ") or "none yet",
        counts=counts.to_dict("records"),
        runs=_runs(records),
    )


def _by_study(
    rows: Sequence[dict[str, Any]], studies: Mapping[str, Study]
) -> list[tuple[str, str, list[dict[str, Any]]]]:
    names = dict.fromkeys(row["study"] for row in rows)
    return [(name, studies[name].title, [row for row in rows if row["study"] == name]) for name in names]


def _figure(
    out_root: Path, name: str, studies: Mapping[str, Study], records: Sequence[Mapping[str, Any]]
) -> html.Drawn:
    """Read a figure of the run that decided most claims of its study; without a run it has no drawing."""
    study, _, figure = name.partition(":")
    if study not in studies:
        return html.Drawn(name)
    ran = Counter(row["preset"] for row in records if row["study"] == study and row["date"])
    for preset, _ in ran.most_common(1):
        folder = kept.results_folder(out_root, stored_runs.folder_of(study), str(preset))
        folder = folder / kept.MADE if kept.is_record(folder) else folder  # where `report` draws it
        file = figure_file(studies[study], str(preset), figure)
        try:
            drawing = (folder / f"{file}.svg").read_bytes()
            caption = (folder / f"{file}.caption.txt").read_text(encoding="utf-8").strip()
        except OSError:  # it could not be drawn, and the report of the run says why
            continue
        return html.Drawn(f"{study}, preset {preset}", drawing, caption, caption)
    return html.Drawn(name)


def _runs(records: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    ran = {(r["study"], r["preset"], r["date"], r["version"], portable(r["command"])) for r in records if r["date"]}
    return sorted(ran)
