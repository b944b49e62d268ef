"""Do verdicts turn with the seed? Studies run at five seeds, and their verdicts side by side.

    python benchmarks/stability.py STUDY ... --out FOLDER     # a run that was interrupted goes on
    python benchmarks/stability.py --summary                  # what results/stability.csv says

The seeds are that of the study file, whose verdicts are those of the record where there is one, and the four that
follow it. A verdict *turns* if claims of one id are decided in opposite ways at two seeds: supported or no
counterexample at one, not supported or refuted at another. Those that turn between *no counterexample* and *refuted*
are named as what they are: a counterexample that is rare among the draws. A verdict that is decided at some seeds and
*inconclusive* at others is counted apart: more replicates may decide it, and neither answer is a wrong one.
"""

import argparse
import csv
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from moestat.claims.wording import broad
from moestat.report import csv_text
from moestat.runner import records
from moestat.study import load

RESULTS = Path(__file__).parent / "results" / "stability.csv"
SEEDS = 5


def run(study: str, preset: str, seed: int, out: Path, jobs: int) -> list[dict[str, str]]:
    """Run a study at a seed, unless that is done or a record is of that seed; its claims."""
    kept = records.path(Path("outputs"), study, preset)
    if seed == load.read(study).study.seed and records.is_record(kept):
        return csv_text.load(kept / "claims.csv")
    folder = out / f"seed-{seed}"
    command = [sys.executable, "-m", "moestat.study", study, "--preset", preset, "--seed", str(seed), "--quiet"]
    subprocess.run([*command, "--jobs", str(jobs), "--out", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return csv_text.load(folder / study / preset / "claims.csv")


def write(study: str, preset: str, by_seed: dict[int, list[dict[str, str]]]) -> None:
    """Put the verdicts of a study into the table of all."""
    columns = ["study", "preset", "claim", "origin", *(f"seed_{k}" for k in range(SEEDS))]
    kept = []
    if RESULTS.exists():
        kept = [row for row in csv_text.load(RESULTS) if (row["study"], row["preset"]) != (study, preset)]
    rows: dict[str, dict[str, str]] = {}
    for k, claims in enumerate(by_seed.values()):
        for claim in claims:
            row = {"study": study, "preset": preset, "claim": claim["claim"], "origin": claim["origin"]}
            rows.setdefault(claim["claim"], row)[f"seed_{k}"] = claim["verdict"]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(sorted([*kept, *rows.values()], key=lambda row: (row["study"], row["preset"], row["claim"])))


def verdicts_of(row: Mapping[str, str]) -> list[str]:
    """Return the verdicts of a claim, seed by seed."""
    return [row[f"seed_{k}"] for k in range(SEEDS)]


def kind(row: Mapping[str, str]) -> str:
    """Say whether a claim is decided alike at all seeds, at some, at none (never), or has turned."""
    sides = [broad(verdict) for verdict in verdicts_of(row)]
    decided = set(sides) & {"supported", "not supported"}
    return "never" if not decided else "turned" if len(decided) == 2 else "some" if set(sides) - decided else "all"


def summary() -> None:
    """Print, for every study, how many claims are decided at all seeds, at some, and in opposite ways."""
    table = csv_text.load(RESULTS)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    turned, rare = [], 0
    for row in table:
        verdicts = verdicts_of(row)
        counts[f"{row['study']}/{row['preset']}"][kind(row)] += 1
        if kind(row) == "turned":
            rare += not {"supported", "not supported"} & set(verdicts)
            turned.append(f"{row['study']} {row['claim']}: {', '.join(verdicts)}")
    total = sum(counts.values(), Counter())
    for name, count in [*counts.items(), ("all", total)]:
        print(
            f"{name}: {sum(count.values())} claims; alike at all seeds {count['all']}, "
            f"decided at some {count['some']}, at none {count['never']}, turned {count['turned']}"
        )
    decisive = total["all"] + total["some"] + total["turned"]
    print(f"{total['turned']} of {decisive} decisive verdicts turn ({100 * total['turned'] / max(decisive, 1):.1f} %)")
    print(f"{rare} of them between 'no counterexample' and 'refuted': a counterexample that is rare among the draws")
    print(*turned, sep="\n")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="STUDY")
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--out", type=Path, default=Path("outputs") / "stability")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--summary", action="store_true", help="print what the table says, and compute nothing")
    arguments = parser.parse_args()
    for study in [] if arguments.summary else arguments.studies:
        first = load.read(study).study.seed
        seeds = range(first, first + SEEDS)
        write(
            study, arguments.preset, {s: run(study, arguments.preset, s, arguments.out, arguments.jobs) for s in seeds}
        )
    summary()


if __name__ == "__main__":
    main()
