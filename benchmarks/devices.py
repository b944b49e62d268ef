"""Batches of least-squares fits on one processor core and on a GPU, in one run: fits per second and their ratio.

    python benchmarks/devices.py                          # a minute, with a GPU
    python benchmarks/devices.py --n 100000 --batches 8   # ... larger data
    python benchmarks/devices.py --device cpu             # without one: the first half of the table

Each batch holds data sets of one truth (d = 8, eight true experts, nine fitted, fully quadratic score) from starts near
it, as in the studies. The processor runs the compiled code (:mod:`moestat.fit.kernel`) on one thread, in CPU seconds,
on the first ``--few`` data sets of the batch; the GPU all of them, in wall seconds, kernels being compiled before. The
last columns are of those few: the largest difference of a loss between the two, relative to it, and how many fits of
the GPU ended lower or higher by more than 1e-9 of it, in another local minimum.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from least_squares import BOX, RESULTS, machine
from threadpoolctl import threadpool_limits

from moestat.arrays import backend, resolve_device, to_numpy
from moestat.fit.gradient import perturb
from moestat.fit.newton import least_squares
from moestat.models import truths
from moestat.models.regression import Model

HEAD = "gate     experts       n  batch  CPU fits/s  GPU fits/s  ratio  loss differs by  lower  higher"


def batch_of(model: Model, n: int, batch: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Data sets (batch, n, d), (batch, n) of one truth, and starts (batch, 1, N, P)."""
    rng = np.random.default_rng(seed)
    truth = truths.ground_truth(model, 8, "dense", rng)
    drawn = [truths.sample(model, truth, n, 0.01, rng) for _ in range(batch)]
    starts = np.stack([perturb(truths.split(model, truth, 9), 0.05, rng)[None] for _ in range(batch)])
    return np.stack([x for x, _ in drawn]), np.stack([y for _, y in drawn]), starts


def fit(model: Model, data: tuple[np.ndarray, ...], device: str) -> tuple[float, np.ndarray]:
    """Seconds and losses (batch,)."""
    xp = backend(device)  # type: ignore[arg-type]
    clock = time.process_time if device == "cpu" else time.perf_counter
    arrays = [xp.asarray(part) for part in data]
    begin = clock()
    loss = to_numpy(least_squares(model, *arrays, box=BOX).loss)
    return clock() - begin, loss


def compare(gate: str, expert: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row per batch; smaller batches are the first data sets of the largest one, and the processor fits once."""
    model = Model(gate, "full", expert, 8)  # type: ignore[arg-type]
    data = batch_of(model, arguments.n, max(arguments.batches), arguments.seed)
    small = batch_of(model, 500, 2, 0)
    devices = ["cpu", "cuda"] if resolve_device(arguments.device) == "cuda" else ["cpu"]
    for device in devices:  # compiles, and loads what is needed
        fit(model, small, device)
    seconds, losses = fit(model, tuple(part[: arguments.few] for part in data), "cpu")
    cpu = len(losses) / seconds
    rows: list[dict[str, Any]] = []
    for batch in arguments.batches:
        row: dict[str, Any] = {"gate": gate, "expert": expert, "n": arguments.n, "batch": batch, "cpu": cpu}
        line = f"{gate:8s} {expert:8s} {arguments.n:7d} {batch:6d} {cpu:11.2f}"
        if "cuda" in devices:
            seconds, found = fit(model, tuple(part[:batch] for part in data), "cuda")
            both = min(len(losses), batch)
            change = (found[:both] - losses[:both]) / losses[:both]
            row |= {"cuda": batch / seconds, "ratio": batch / seconds / cpu, "differs": float(np.abs(change).max())}
            row |= {"lower": int((change < -1e-9).sum()), "higher": int((change > 1e-9).sum())}
            line += (
                f" {row['cuda']:11.2f} {row['ratio']:6.1f} {row['differs']:16.1e} {row['lower']:6d} {row['higher']:7d}"
            )
        print(line, flush=True)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000, help="samples of a data set")
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 64], help="data sets of a batch on the GPU")
    parser.add_argument("--few", type=int, default=8, help="data sets that the processor fits")
    parser.add_argument("--gates", nargs="+", choices=("softmax", "sigmoid"), default=["softmax", "sigmoid"])
    parser.add_argument("--experts", nargs="+", choices=("linear", "relu", "gelu"), default=["linear", "relu"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=("cpu", "auto", "cuda"), default="auto")
    parser.add_argument("--output", type=Path, default=RESULTS / "devices.json", help="JSON file")
    arguments = parser.parse_args()
    print(HEAD)
    pairs = [(gate, expert) for gate in arguments.gates for expert in arguments.experts]
    rows = [row for gate, expert in pairs for row in compare(gate, expert, arguments)]
    settings = {k: v for k, v in vars(arguments).items() if k != "output"}
    arguments.output.write_text(
        json.dumps({"settings": settings, "machine": machine(), "results": rows}, indent=1) + "\n"
    )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
