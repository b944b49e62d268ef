"""The table of the README, made from the record of the main study; a test holds the page to it.

python docs/readme_table.py            # print it
python docs/readme_table.py --write    # put it into README.md
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from moestat.report import csv_text
from moestat.rounding import estimate

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
RECORD = ROOT / "outputs" / "records" / "sigmoid_vs_softmax" / "quick"
ROWS = {
    "softmax gate, ReLU experts": "printed-softmax-relu",
    "sigmoid gate, ReLU experts": "printed-sigmoid-relu",
    "softmax gate, linear experts": "printed-softmax-linear",
    "sigmoid gate, linear experts": "printed-sigmoid-linear",
}
PLACE = re.compile(r"(<!-- record: .*? -->\n).*?(<!-- end -->)", re.DOTALL)


def table() -> str:
    """Return the table in Markdown: printed slopes, ours, their verdicts."""
    kept = {row["claim"]: row for row in csv_text.load(RECORD / "claims.csv")}
    lines = ["| slope of L3 | printed | ours, ten truths | verdict |", "|---|---|---|---|"]
    for label, name in ROWS.items():
        row = kept[name]
        value, interval = estimate(*(float(row[key]) for key in ("estimate", "ci_low", "ci_high")))
        lines.append(f"| {label} | {row['predicted']} | {value} {interval} | *{row['wording']}* |")
    return "\n".join(lines) + "\n"


def filled(page: str) -> str:
    """Return the page with the table in its place."""
    return PLACE.sub(lambda place: place[1] + table() + place[2], page)


if __name__ == "__main__":
    if "--write" in sys.argv:
        README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table(), end="")
