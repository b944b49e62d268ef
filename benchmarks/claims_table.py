"""What the claims of each paper come to, by origin, bearing, scale and verdict: of one ledger, or of two side by side.

    python benchmarks/claims_table.py now.csv
    python benchmarks/claims_table.py before.csv now.csv

A ledger is the data of ``--claims --write FILE.csv``. Variants of one statement count once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from moestat.report.items import BEARINGS, ORIGINS, SCALES, WORDS, of_group

KEYS = ("paper", "origin", "bearing", "scale")
COLUMNS = (*KEYS, "group", "verdict")


def read(path: Path) -> pd.DataFrame:
    """Return one row per claim with the columns paper, origin, bearing, scale, group, verdict."""
    return pd.read_csv(path, keep_default_na=False, dtype=str)[list(COLUMNS)]


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
