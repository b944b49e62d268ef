"""Do verdicts turn with the seed? Studies run at five seeds, and their verdicts side by side.

    python benchmarks/stability.py STUDY ... [--preset paper] --out FOLDER     # a run that was interrupted goes on
    python benchmarks/stability.py                                             # what results/stability.csv says

The seeds are that of the study file, whose verdicts are those of the record where there is one, and the four that
follow it. A verdict *turns* if claims of one id are decided in opposite ways at two seeds: supported or no
counterexample at one, not supported or refuted at another.
"""

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

import moestat
from moestat.claims.wording import broad
from moestat.report import csv_text
from moestat.runner import records
from moestat.study import load

RESULTS = Path(__file__).parent / "results" / "stability.csv"
SEEDS = [f"seed_{k}" for k in range(5)]


def verdicts(study: str, preset: str, out: Path) -> list[dict[str, str]]:
    """Run a study at five seeds, unless a record is of the first one; a row for each claim."""
    first, rows = load.read(study).study.seed, {}
    for k, column in enumerate(SEEDS):
        folder = records.path(Path("outputs"), study, preset)
        if k or not records.is_record(folder):
            moestat.run(study, preset, seed=first + k, out=out / f"seed-{first + k}")
            folder = out / f"seed-{first + k}" / study / preset
        for claim in csv_text.load(folder / "claims.csv"):
            row = {"study": study, "preset": preset, "claim": claim["claim"], "origin": claim["origin"]}
            rows.setdefault(claim["claim"], row)[column] = claim["verdict"]
    return list(rows.values())


def kind(row: Mapping[str, str]) -> str:
    """Say whether a claim is decided alike at all seeds, at some, at none, or has turned."""
    sides = {broad(row[column]) for column in SEEDS}
    decided = sides & {"supported", "not supported"}
    return "none" if not decided else "turned" if len(decided) == 2 else "some" if sides - decided else "all"


def main() -> None:
    """Run what was asked for, and say what the table says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="STUDY")
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--out", type=Path, default=Path("outputs") / "stability")
    asked = parser.parse_args()
    table = csv_text.load(RESULTS)
    for study in asked.studies:
        table = [row for row in table if (row["study"], row["preset"]) != (study, asked.preset)]
        table += verdicts(study, asked.preset, asked.out)
        sorted_rows = sorted(table, key=lambda row: (row["study"], row["preset"], row["claim"]))
        pd.DataFrame(sorted_rows).to_csv(RESULTS, index=False, lineterminator="\n")
    count = Counter(map(kind, table))
    decided = len(table) - count["none"]
    print(f"{len(table)} claims of {len({(row['study'], row['preset']) for row in table})} studies and presets:")
    print(f"decided alike at all seeds {count['all']}, at some {count['some']}, at none {count['none']}")
    print(f"{count['turned']} of {decided} turn ({100 * count['turned'] / decided:.1f} %):")
    for row in table:
        if kind(row) == "turned":
            print(f"{row['study']} {row['claim']}: {', '.join(row[column] for column in SEEDS)}")


if __name__ == "__main__":
    main()
