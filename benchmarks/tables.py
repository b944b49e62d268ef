"""Write the tables of ``README.md`` from ``results/*.csv``.

    python benchmarks/tables.py

A table stands below its mark ``<!-- NAME -->``, or ``<!-- NAME NAME -->`` for files with the same head, to the next
empty line.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

PAGE = Path(__file__).parent / "README.md"


def shown(cell: str) -> str:
    """Round a number to two digits that count; anything else stays as it is."""
    try:
        value = float(cell)
    except ValueError:
        return cell
    if value == int(value) and "." not in cell and "e" not in cell:
        return cell
    return f"{value:.0f}" if abs(value) >= 99.5 else f"{value:#.2g}".rstrip(".")


def read(name: str) -> tuple[dict[str, str], list[list[str]]]:
    """Return what a file was measured on, and its lines without columns whose names begin with _."""
    with (PAGE.parent / "results" / f"{name}.csv").open(newline="") as file:
        facts = dict(part.split(": ", 1) for part in file.readline()[2:].strip().split("; "))
        lines = list(csv.reader(file))
    kept = [k for k, head in enumerate(lines[0]) if not head.startswith("_")]
    return facts, [[line[k] for k in kept] for line in lines]


def table(names: list[str]) -> str:
    """Return files whose heads begin alike as one Markdown table; its last line names the processors and loads."""
    facts, files = zip(*map(read, names), strict=True)
    head = max((lines[0] for lines in files), key=len)
    rows = [[shown(cell) for cell in line] for lines in files for line in lines[1:]]
    loads = sorted({int(fact["load"]) for fact in facts})
    processors = ", ".join(sorted({fact["processor"] for fact in facts}))
    rows.append([f"*{processors}, load {' to '.join(map(str, dict.fromkeys((loads[0], loads[-1]))))}*"])
    first, *others = (f"| {' | '.join(line)} |\n" for line in (head, *rows))
    return "".join([first, "|---" * len(head) + "|\n", *others])


def filled(page: str) -> str:
    """Return the page with all its tables as the files have them."""
    mark = re.compile(r"^(<!-- ([\w ]+) -->\n)(?:.+\n)*", re.MULTILINE)
    return mark.sub(lambda found: found[1] + table(found[2].split()), page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
