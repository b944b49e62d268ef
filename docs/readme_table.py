"""The table of the README, made from the record of the main study; a test holds the page to it.

python docs/readme_table.py            # print it
python docs/readme_table.py --write    # put it into README.md
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from moestat.report import ledger
from moestat.report.views import when
from moestat.rounding import estimate
from moestat.study import load

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
RECORD = ROOT / "outputs" / "records" / "sigmoid_vs_softmax" / "quick"
ROWS = {
    "softmax gate, ReLU experts": "printed-softmax-relu",
    "sigmoid gate, ReLU experts": "printed-sigmoid-relu",
    "softmax gate, linear experts": "printed-softmax-linear",
    "sigmoid gate, linear experts": "printed-sigmoid-linear",
}
DOUBTED = "SA Fig. 1"
"""What the README asks about."""
MARKS = {"sealed": "", "sealed in hindsight": "§", "edited": "†", "added": "‡"}
NOTES = {
    "sealed in hindsight": "the rule was written before this run, after related ones: `moestat claim {}`",
    "edited": "the rule was changed after the run: `moestat claim {}`",
    "added": "the claim was added after the run: `moestat claim {}`",
}
PLACE = re.compile(r"(<!-- record: .*? -->\n).*?(<!-- end -->)", re.DOTALL)


def kept(claim: str) -> dict[str, str]:
    """Return a claim of the record, as it was judged."""
    rows = ledger.read_claims(RECORD / "claims.csv") or []
    (late,) = (one.hindsight for one in load.read("sigmoid_vs_softmax").study.claims if one.id == claim)
    return next(row for row in rows if row["claim"] == claim) | {"hindsight": late}


def table() -> str:
    """Return the table in Markdown: printed slopes, ours, their verdicts."""
    lines = ["| slope of L3 | printed | ours, ten truths | verdict |", "|---|---|---|---|"]
    for label, claim in ROWS.items():
        row = kept(claim)
        value, interval = estimate(*(float(row[key]) for key in ("estimate", "ci_low", "ci_high")))
        lines.append(f"| {label} | {row['predicted']} | {value} {interval} | *{row['wording']}{MARKS[when(row)]}* |")
    marked = {when(kept(claim)): claim for claim in reversed(ROWS.values())}
    for word in (word for word in NOTES if word in marked):
        lines += ["", f"{MARKS[word]} {NOTES[word].format(marked[word])}"]
    return "\n".join(lines) + "\n"


def card() -> str:
    """Return what ``moestat check`` says of the doubted figure."""
    words = [sys.executable, "-m", "moestat.study", "check", DOUBTED]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return f"```text\n{said.rstrip()}\n```\n"


def filled(page: str) -> str:
    """Return the page with table and card in their places."""
    parts = iter((table(), card()))
    return PLACE.sub(lambda place: place[1] + next(parts) + place[2], page)


if __name__ == "__main__":
    if "--write" in sys.argv:
        README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table() + card(), end="")
