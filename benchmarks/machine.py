"""What the machine that runs studies costs by itself, beside a pool of processes that writes a file for each block.

    python benchmarks/machine.py          # about 20 CPU seconds

A replicate is one number of a formula, so that all that is measured is plan, workers, shards, the scan, and the
collection into one file. *by hand* is ``multiprocessing.Pool``, ``np.savez`` for each block, and one file of all at the
end: without checksums, flushes or what a killed run needs to go on. Processor seconds are of all processes, imports
included.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import write

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

BY_HAND = """\
import multiprocessing
import numpy as np

def block(k):
    loss = np.sin(np.arange({block} * k, {block} * (k + 1), dtype=float))
    np.savez(f"block-{{k}}.npz", loss=loss, status=np.zeros({block}))

if __name__ == "__main__":
    pool = multiprocessing.Pool(2)
    pool.map(block, range({blocks}))
    pool.close()
    pool.join()
    files = [np.load(f"block-{{k}}.npz") for k in range({blocks})]
    np.savez("all.npz", **{{name: np.concatenate([file[name] for file in files]) for name in ("loss", "status")}})
"""


def measured(folder: Path, *words: str) -> tuple[float, float]:
    """Run Python in a process of its own; return processor and wall seconds."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def row(cells: int, replicates: int, block: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["MOESTAT_CACHE"] = str(folder / "cache")
        (folder / "trivial_replicates.py").write_text(EXPERIMENT)
        (folder / "trivial.py").write_text(STUDY.format(cells=cells, replicates=replicates, block=block))
        (folder / "by_hand.py").write_text(BY_HAND.format(blocks=cells * replicates // block, block=block))
        hand, hand_wall = measured(folder, "by_hand.py")
        run = ("-m", "moestat.study", "trivial.py", "--out", "out", "--jobs", "2", "--no-report", "--quiet")
        ours, wall = measured(folder, *run)
        files = sum(path.is_file() for path in (folder / "out").rglob("*"))
    return {
        "cells": cells,
        "replicates": replicates,
        "in a block": block,
        "this package, processor s": ours,
        "by hand, ratio": hand / ours,
        "wall s": wall,
        "by hand, ratio of wall s": hand_wall / wall,
        "files": files,
    }


if __name__ == "__main__":
    write("machine", [row(1, 100_000, 100), row(1000, 1, 1)])
