"""One question - does this theorem, figure or table stand? - answered in at most fifteen lines, or in full."""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from moestat.claims.wording import AT_SCALE, VERDICTS
from moestat.report import views
from moestat.report.items import FAILED, NO, NOT_RUN, YES, Part
from moestat.rounding import number
from moestat.runner import records
from moestat.sentences import listed
from moestat.study.cells import CELLS
from moestat.study.contents import Paper
from moestat.study.spec import Study

WIDTH, INDENT, MOST = 100, 12, 15
KINDS = {scale: text.strip() or "at the paper's scale" for scale, text in AT_SCALE.items()}


def answer(paper: Paper, part: Part, studies: Mapping[str, Study], command: str, *, whole: bool = False) -> list[str]:
    """Return how an item stands, why, and where to read more: lines for the terminal.

    ``part`` has the rows of the ledger of the item, by cell, ``studies`` are those of its paper; ``command`` is
    what the user types for ``moestat``. Nothing is cut if it is asked for ``whole``.
    """
    row = deciding(part)
    first, told = f"{paper.name}, {part.item.name}: {part.stands}", list(_told(paper, part, row, studies, command))
    lines: list[str] = []
    if whole:
        return [first, *(line for head, text, _ in told if text for line in _wrapped(head, text))]
    for spare in itertools.accumulate(((), ("number",), ("we find",), CELLS)):  # which give way, to a line
        texts = ((head, text, 1 if head in spare else most) for head, text, most in told if text)
        lines = [first, *(line for text in texts for line in _lines(*text))]
        if len(lines) <= MOST:
            break
    return lines


def _told(
    paper: Paper, part: Part, row: Mapping[str, Any] | None, studies: Mapping[str, Study], command: str
) -> Iterator[tuple[str, str, int]]:
    """Yield heads, texts, and how many lines a text may take."""
    yield "paper", part.item.says, 2
    argued = part.argued(part.conclusion)
    found = [one.says for one in argued] or part.findings
    yield "we find", " ".join(found) or ("" if part.filled else part.item.unchecked), 3
    for cell in part.filled:
        ids = ", ".join(one.id for one in part.argued(cell))
        told = [part.word(cell) + f" ({ids})" * bool(ids), part.counts(cell), _against(part.cells[cell])]
        yield cell, "; ".join(filter(None, told)), 2
    yield "kind", _kind(part, row, studies), 1
    if row:
        expected = f", predicted {number(row['predicted'])}" if row["predicted"] != "" else ""
        ours = f"{views.estimated(row)}{_quantity(row)}{expected}"
        named = f" ({row['claim']})" * bool(argued)  # else the command below names it
        yield "number", f"{ours}: {row['wording']}{named}. {row['statement']}", 2
    yield "author", part.item.objection, 6
    page = f"studies/{paper.name.replace('-', '_')}/README.md"
    which = argued[0].id if argued else f"{row['study']}:{row['claim']}" if row else ""
    yield "more", f"{command} claim {which}" if which else page, 2
    yield "", page if which else "", 1


def _against(rows: Sequence[Mapping[str, Any]]) -> str:
    """Name the claims of a cell against which something speaks, where something speaks for others."""
    names = [row["claim"] for row in rows if row["verdict"] in NO]
    return f"against it: {listed(names, 3)}" if names and any(row["verdict"] in YES for row in rows) else ""


def _quantity(row: Mapping[str, Any]) -> str:
    """Return what a number is of, in brackets, as the reason of its verdict says; "" where that does not say it."""
    said = re.match(r"(?:The )?((?:largest|smallest) \S+|.+? of .+?)(?: \(.*| at .*)? is -?\d", str(row["why"]))
    return f" ({said[1][0].lower()}{said[1][1:]})" if said else ""


def _kind(part: Part, row: Mapping[str, Any] | None, studies: Mapping[str, Study]) -> str:
    """Say what decides the item, and of what size that is."""
    if part.argued(part.conclusion):
        return "by argument, for every size" + (f"; the number {KINDS[row['scale']]}" if row else "")
    if not row:
        return "nothing was decided by a run" if part.rows else ""
    return f"simulated {KINDS[row['scale']]}: {studies[row['study']].presets[row['preset']].about}".removesuffix(": ")


def without_runs(parts: Sequence[Part], out: Path) -> list[str]:
    """Say that an outputs folder has no run and no record of a paper with these items, if that is so."""
    if any(row["verdict"] != NOT_RUN or row["why"] for part in parts for row in part.rows):
        return []
    kept = Path(__file__).resolve().parents[2] / "outputs"
    there = (kept / records.FOLDER).is_dir() and kept != out.resolve()
    hint = f"; those of this checkout: --out {kept}" if there else ""
    return _wrapped("records", f"none of this paper in {out}, and no run{hint}")


def deciding(part: Part) -> Mapping[str, Any] | None:
    """Return the claim whose number says most of how the item stands; None of no number.

    It is one of the conclusion, if that has one; then one that is decided, and to what the item comes; then one nearest
    to the paper's own problem, with an interval, that the paper states; and of those the first.
    """
    argued = part.argued(part.conclusion)
    against = argued[0].verdict == "disproved" if argued else part.stands in FAILED

    def order(row: Mapping[str, Any]) -> tuple[bool, ...]:
        return (
            row["cell"] != part.conclusion,
            row["verdict"] not in (*YES, *NO),
            (row["verdict"] in NO) != against,
            row["scale"] != "paper",
            row["scale"] != "reduced",
            not row["ci_low"] < row["ci_high"],
            row["origin"] != "stated",
        )

    rows = [row for row in part.rows if row["verdict"] in VERDICTS and math.isfinite(row["estimate"])]
    return min(rows, key=order, default=None)


def listing(paper: Paper, parts: Sequence[Part]) -> list[str]:
    """Return the items of a paper, a line each: name, how it stands, what it says as far as there is room."""
    wide = [max(len(text) for text in texts) for texts in zip(*((p.item.name, p.stands) for p in parts), strict=True)]
    room = WIDTH - sum(wide) - 4
    rows = [(p.item.name, p.stands, textwrap.shorten(p.item.says, room, placeholder=" ...")) for p in parts]
    return [f"{name:{wide[0]}}  {stands:{wide[1]}}  {says}".rstrip() for name, stands, says in rows]


def _lines(head: str, text: str, most: int) -> list[str]:
    """Return a text under its head in at most so many lines: as many whole sentences as fit, or words of the first."""
    sentences = re.split(r"(?<=\.) (?=[A-Z])", text)
    words = sentences[0].split()
    whole = [" ".join(sentences[:count]) for count in range(len(sentences), 0, -1)]
    cut = [" ".join([*words[:count], "..."]) for count in range(len(words), 0, -1)]
    return next(lines for shown in (*whole, *cut) if len(lines := _wrapped(head, shown)) <= most or shown == cut[-1])


def _wrapped(head: str, text: str) -> list[str]:
    first = f"{head:{INDENT}}"
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * INDENT, break_on_hyphens=False)
