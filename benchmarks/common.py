"""What the scripts share: one thread, sides that take turns, the machine's name, results as csv."""

from __future__ import annotations

import contextlib
import csv
import os
import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.linalg  # noqa: F401  (it has a BLAS of its own)
from threadpoolctl import threadpool_limits

from moestat.fit import kernel

if util.find_spec("torch"):
    import torch

    torch.set_num_threads(1)
threadpool_limits(1)
RESULTS = Path(__file__).parent / "results"


def timed(side: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and what it returned."""
    begin = time.process_time()
    out = side()
    return time.process_time() - begin, out


def turns(sides: Mapping[str, Callable[[], Any]], rounds: int = 3) -> tuple[dict[str, float], dict[str, Any]]:
    """Return for each side the least CPU seconds of ``rounds`` in which all take turns, and what it returned last.

    On a busy machine the other times say more about the neighbours.
    """
    seconds, out = dict.fromkeys(sides, np.inf), {}
    for _ in range(rounds):
        for name, side in sides.items():
            each, out[name] = timed(side)
            seconds[name] = min(seconds[name], each)
    return seconds, out


def plain(side: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a side of ours with the plain NumPy code instead of the compiled one."""
    with patch.dict(os.environ, {kernel.VARIABLE: "numpy"}):
        return side(*arguments, **options)


def processor() -> str:
    """Name the processor as the system does; its model's number and vectors, since virtual machines hide the name."""
    file = Path("/proc/cpuinfo")
    facts = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", file.read_text(), re.MULTILINE)) if file.exists() else {}
    name = re.sub(r"\((R|TM)\)", "", facts.get("model name", platform.processor() or platform.machine()))
    number = f", family {facts['cpu family']} model {facts['model']}" if "model" in facts else ""
    vectors = ", AVX-512" if "avx512f" in facts.get("flags", "") else ""
    return f"{name}{number}{vectors}, {os.cpu_count()} cores"


def machine() -> dict[str, Any]:
    """Return processor, load and versions."""
    versions = {}
    for package in ("numpy", "scipy", "numba", "torch", "optimistix"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    load = round(os.getloadavg()[1])
    return {"processor": processor(), "load": load, "python": platform.python_version(), **versions}


def write(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows, and write them to ``results/NAME.csv`` below a line that says what they were measured on.

    The columns are the headings of the table in ``README.md``, which ``tables.py`` makes of the file.
    """
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        file.write("# " + "; ".join(f"{key}: {value}" for key, value in machine().items()) + "\n")
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    print((RESULTS / f"{name}.csv").read_text())
