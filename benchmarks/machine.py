"""What the machine that runs studies costs by itself: a million trivial replicates, cells and shards of one replicate.

    python benchmarks/machine.py [--replicates 1000000] [--block 1000] [--jobs 2]

A trivial replicate is one number of a formula, so that all that is measured is ours: plan, workers, shards, the scan,
the collection into ``results.nc``. Printed are seconds, the peak memory of the main process, and the files left.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXPERIMENT = """\
import numpy as np
from moestat.experiment import SettingsModel, assemble

class Settings(SettingsModel):
    n: int = 1

def run(cell, replicates, *, device):
    return assemble(replicates, {"loss": np.sin(np.asarray(replicates, dtype=float))}, finished="Computed.")
"""

STUDY = """\
from moestat import Study

study = Study("Trivial replicates", experiment="trivial_replicates", seed=1)
study.arm("one")
study.preset("quick", replicates={replicates}, block={block}, grid=dict(n=list(range(1, {cells} + 1))))
"""

RUN = """\
import re, sys, time
from moestat.cli import main
begin = time.perf_counter()
code = main(sys.argv[1:])
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 2**20
print(f"MEASURED {time.perf_counter() - begin:.2f} {peak:.3f}")
raise SystemExit(code)
"""


def measured(folder: Path, *words: str) -> tuple[float, float]:
    """Run the command line in a process of its own; return seconds and GiB of the main process."""
    done = subprocess.run([sys.executable, "-c", RUN, *words], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, peak = done.stdout.split("MEASURED ")[1].split()
    return float(seconds), float(peak)


def study(folder: Path, replicates: int, block: int, cells: int = 1) -> str:
    """Write the study and its experiment, and return its path."""
    (folder / "trivial_replicates.py").write_text(EXPERIMENT)
    (folder / "trivial.py").write_text(STUDY.format(replicates=replicates, block=block, cells=cells))
    return str(folder / "trivial.py")


def shard_cost(folder: Path, count: int) -> tuple[float, float]:
    """Return milliseconds, and milliseconds of processor, that a shard of one replicate costs in one process."""
    from moestat.runner import begin, plan, worker
    from moestat.study import load

    os.chdir(folder)
    made = plan.make(load.read(study(folder, count, 1)))
    context = begin.context_of(made)
    tasks = [worker.Task(context, planned.cell, replicates) for planned, replicates in made.blocks()]
    worker.compute(tasks[0])
    begin, begin_processor = time.perf_counter(), time.process_time()
    for task in tasks[1:]:
        worker.compute(task)
    seconds, processor = time.perf_counter() - begin, time.process_time() - begin_processor
    return 1e3 * seconds / (count - 1), 1e3 * processor / (count - 1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1_000_000)
    parser.add_argument("--block", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--shards", type=int, default=500)
    parser.add_argument("--cells", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = study(folder, options.replicates, options.block)
        words = (path, "--out", "out", "--quiet", "--no-report")
        seconds, peak = measured(folder, *words, "--jobs", str(options.jobs))
        files = [entry for entry in (folder / "out").rglob("*") if entry.is_file()]
        size = sum(entry.stat().st_size for entry in files) / 2**20
        print(f"{options.replicates} replicates in blocks of {options.block}, {options.jobs} processes:")
        print(f"  run and collect  {seconds:8.1f} s  {peak:.2f} GiB; {len(files)} files, {size:.0f} MiB")
        seconds, peak = measured(folder, "collect", path, "--out", "out", "--no-report", "--quiet")
        print(f"  collect again    {seconds:8.1f} s  {peak:.2f} GiB")
        path, before = study(folder, 1, 1, options.cells), os.times()
        measured(folder, path, "--out", "cells", "--quiet", "--no-report", "--jobs", "1")
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"{options.cells} cells of one replicate: {1e3 * used / options.cells:.2f} ms of processor a cell")
        wall, processor = shard_cost(folder, options.shards)
        print(f"a shard of one replicate: {wall:.2f} ms, {processor:.2f} ms of processor")


if __name__ == "__main__":
    main()
