"""What the claims of each paper come to, by origin, bearing, scale and verdict: of one ledger, or of two side by side.

    python benchmarks/claims_table.py now.csv
    python benchmarks/claims_table.py before/ledger.md now.csv

A ledger is the data of ``--claims --write FILE.csv``, or the page of ``--claims --write FILE.md`` of any checkout.
Variants of one statement count once. An older page says neither bearing nor group, and no page says every scale: what a
page does not say is shown as a question mark, and each of its claims counts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from moestat.claims.verdicts import verdict_of
from moestat.report.headline import WORDS, of_group
from moestat.report.meaning import BEARINGS, ORIGINS, SCALES
from moestat.study import contents
from moestat.study.review import KEYS as KEYS_OF_PAPERS
from moestat.study.spec import OURS

KEYS = ("paper", "origin", "bearing", "scale")
COLUMNS = (*KEYS, "group", "verdict")


def read(path: Path) -> pd.DataFrame:
    """Return one row per claim with the columns paper, origin, bearing, scale, group, verdict."""
    if path.suffix == ".csv":
        return pd.read_csv(path, keep_default_na=False, dtype=str)[list(COLUMNS)]
    return pd.DataFrame(_claims(path.read_text(encoding="utf-8")), columns=list(COLUMNS))


def _claims(page: str) -> Iterator[tuple[str, ...]]:
    """Read the tables of a page of the ledger."""
    paper = verdict = ""
    heads: list[str] = []
    for place, line in enumerate(page.splitlines()):
        if line.startswith("## "):
            paper = line.removeprefix("## ").replace("\\", "")
        if not line.startswith("| ") or line.startswith("| ---"):
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[0] in ("claim", "paper"):
            heads = cells
            continue
        row = dict(zip(heads, cells, strict=True))
        if "verdict" not in row:  # the table of the summary
            continue
        wording = re.match(r"\*\*(.*?)\*\*", row["verdict"])
        verdict = wording[1] if wording else "not run"
        scale = next((s for s, mark in (("reduced", "reduced"), ("stand-in", "stand-in")) if mark in verdict), "?")
        says = [part.strip() for part in row.get("says", "").split(",")]
        origin = says[0] or _origin(paper, row["source"])
        bearing = says[1] if len(says) > 1 else "?"
        group = says[2].removeprefix("group ") if len(says) > 2 else str(place)
        yield paper, origin, bearing, scale, group, verdict_of(verdict)


def _origin(paper: str, source: str) -> str:
    """Return whose statement a claim of an older page is: ours where its source names no place of the paper."""
    listed = contents.read(paper)
    nowhere = listed is not None and not KEYS_OF_PAPERS.match(source) and not listed.items_of(source)
    return "ours" if OURS.match(source) or nowhere else "stated"


def count(claims: pd.DataFrame) -> pd.DataFrame:
    """Count statements per paper, origin, bearing and scale, each group once, and say their verdicts."""
    rows = []
    for key, part in claims.groupby(list(KEYS), sort=False):
        words = [of_group(list(group["verdict"])) for _, group in part.groupby("group", sort=False)]
        row = dict(zip(KEYS, key, strict=True)) | {"claims": len(part), "statements": len(words)}
        rows.append(row | {word: words.count(word) for word in WORDS})
    order = [*ORIGINS, *BEARINGS, *SCALES]
    table = pd.DataFrame(rows, columns=[*KEYS, "claims", "statements", *WORDS])
    return table.sort_values(
        list(KEYS), key=lambda c: c.map(lambda k: f"{order.index(k):02}" if k in order else k), ignore_index=True
    )


def markdown(table: pd.DataFrame) -> Iterable[str]:
    """Write counts as a Markdown table, with a last line of sums."""
    heads = list(table.columns)
    sums = {head: int(table[head].sum()) for head in heads if head not in KEYS}
    yield "| " + " | ".join(heads) + " |"
    yield "| " + " | ".join("---" if head in KEYS else "---:" for head in heads) + " |"
    for row in [*table.to_dict("records"), dict.fromkeys(KEYS, "") | {"paper": "all"} | sums]:
        yield "| " + " | ".join(str(row[head] or "") for head in heads) + " |"


def main(files: Sequence[str]) -> None:
    for file in files:
        print(f"\n{file}\n")
        print("\n".join(markdown(count(read(Path(file))))))


if __name__ == "__main__":
    main(sys.argv[1:])
