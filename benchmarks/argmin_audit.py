"""Search the argmin of shipped fits again, with other seeds and ten times the starts.

    python benchmarks/argmin_audit.py                              # n = 1000 and 10 000, one data set of each cell
    python benchmarks/argmin_audit.py --sizes 100000 --jobs 2      # an hour
    python benchmarks/argmin_audit.py --summary                    # what the rows so far say

The fits are those of the record of ``sigmoid_vs_softmax --preset paper``. A fit is *missed* where the other search ends
more than v log n lower in the residual sum of squares (v: the noise variance), the width within which the theorems hold
for every approximate minimiser. The two searches share the data and nothing that is drawn. Rows are appended to
``results/argmin_audit.csv`` as they come; what is there is not computed again.
"""

import argparse
import csv
import time
from pathlib import Path

import joblib
import numpy as np
import xarray as xr

import moestat
from moestat.experiment import Cell
from moestat.fit.global_search import Budget, global_search
from moestat.runner import plan
from moestat.runner.request import Request
from moestat.streams import generator
from studies.sigmoid_attention.parts import regression
from studies.sigmoid_attention.parts.regression_problem import Settings
from studies.sigmoid_attention.parts.regression_scores import score

STUDY, PRESET = "sigmoid_vs_softmax", "paper"
RESULTS = Path(__file__).parent / "results" / "argmin_audit.csv"
SEED = 4711
COLUMNS = [
    *("arm", "n", "replicate", "lower_by", "log_n", "agreed"),
    *("L3", "L3_again", "won", "found", "ends", "cpu_seconds"),
]


def again(cell: Cell, record: xr.Dataset, replicate: int, times: float) -> dict[str, object]:
    """Search one data set of the record again; a row of the table.

    ``lower_by`` is the gain of the other search in the residual sum of squares, in noise variances.
    """
    began = time.process_time()
    settings = Settings(**cell.settings)
    batch, n = regression.Batch.of(cell, settings, 0, [replicate]), settings.n
    problem, target = batch.problem, batch.target
    x, y = batch.data()
    other = global_search(
        problem.fitted,
        x[0],
        y[0],
        local=target.minimisers[:1],
        known=target.minimisers,
        stream=lambda purpose: generator(SEED, STUDY, replicate, purpose),
        budget=Budget().times(times * settings.search_effort),
        max_iterations=settings.max_iterations,
        precision=settings.precision,
    )
    fitted = record.sel(arm=cell.arm, n=n).isel(replicate=replicate)
    lower = 2 * n * (float(fitted["train_loss"]) - float(other.fit.loss[0])) / settings.noise_variance
    losses = score(problem, target, other.fit.theta, settings.evaluation_log2)
    values = [cell.arm, n, replicate, round(lower, 3), round(float(np.log(n)), 3), int(fitted["search_agreed"])]
    values += [round(float(v), 4) for v in (fitted["L3"], losses["L3"][0])]
    values += [other.kind, other.found, len(other.loss), round(time.process_time() - began, 1)]
    return dict(zip(COLUMNS, values, strict=True))


def rows() -> list[dict[str, str]]:
    """Read the rows so far."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def append(row: dict[str, object]) -> None:
    """Write one row, and print it."""
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)
    print(*row.values(), flush=True)


def summary() -> None:
    """Print, for every size, the share of missed fits, and what a miss does to L3."""
    table = rows()
    for n in sorted({int(row["n"]) for row in table}):
        own = [row for row in table if int(row["n"]) == n]
        lower = [float(row["lower_by"]) for row in own]
        ratios = [float(row["L3_again"]) / float(row["L3"]) for row in own]
        print(
            f"n = {n}: {sum(gain > np.log(n) for gain in lower)} of {len(own)} missed; "
            f"lower by {', '.join(f'{gain:.1f}' for gain in lower)} v (log n = {np.log(n):.1f}); "
            f"L3 of the other end over the record's: {', '.join(f'{ratio:.2f}' for ratio in ratios)}"
        )


def main() -> None:
    """Audit what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--replicates", type=int, nargs="+", default=[0])
    parser.add_argument("--times", type=float, default=10.0, help="starts, in those of the record's search")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--summary", action="store_true", help="print what the rows say, and compute nothing")
    arguments = parser.parse_args()
    if not arguments.summary:
        record = moestat.load(STUDY, preset=PRESET)
        there = {(row["arm"], int(row["n"]), int(row["replicate"])) for row in rows()}
        cells = [one.cell for one in plan.of(Request(STUDY, PRESET)).cells]
        wanted = [
            (cell, r)
            for n in arguments.sizes
            for r in arguments.replicates
            for cell in cells
            if cell.arm.startswith("argmin-") and cell.coords["n"] == n and (cell.arm, n, r) not in there
        ]
        work = (joblib.delayed(again)(cell, record, r, arguments.times) for cell, r in wanted)
        for row in joblib.Parallel(arguments.jobs, return_as="generator_unordered")(work):
            append(row)
    summary()


if __name__ == "__main__":
    main()
