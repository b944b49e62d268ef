"""One evaluation of loss, gradient and exact Hessian: compiled code beside plain NumPy, and both beside SGEMM.

    python benchmarks/hessian.py                     # d = 8 and 12, n = 1e3 to 1e5, about 2 CPU minutes
    python benchmarks/hessian.py --d 16 --n 100000
    MOESTAT_KERNEL=256 python benchmarks/hessian.py  # vectors of another width

Both sides take turns, five times each, and the least CPU time counts: on a busy machine the others say more about the
neighbours. Gflop/s counts the products of weights and monomials alone, which both sides share, over the time of the
whole evaluation. SGEMM is NumPy's product of two 1024 x 1024 matrices in the same run. Memory is what the problem keeps
and what an evaluation adds at most, from tracemalloc, per sample as n doubles.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from moestat.fit import kernel
from moestat.fit.moments import Problem, layout
from moestat.fit.newton import _problem
from moestat.models.regression import Model

TURNS = 5
RESULTS = Path(__file__).parent / "results"


def least(functions: list[Callable[[], object]], turns: int = TURNS) -> list[float]:
    """Least CPU seconds of each function, called in turns after one call that is not timed."""
    best = [np.inf] * len(functions)
    for turn in range(turns + 1):
        for k, function in enumerate(functions):
            begin = time.process_time()
            function()
            seconds = time.process_time() - begin
            best[k] = min(best[k], seconds) if turn else np.inf
    return best


def sgemm() -> float:
    """Gflop/s of a product of two square matrices in float32."""
    a = np.random.default_rng(0).random((1024, 1024), dtype=np.float32)
    return 2 * 1024**3 / least([lambda: a @ a])[0] / 1e9


def flops_per_row(model: Model, n_atoms: int) -> int:
    """Multiplications and additions of the three products, per sample."""
    gate, mixed, expert = layout(model, n_atoms).sizes
    pairs = n_atoms * (n_atoms + 1) // 2
    return 2 * (pairs * gate + n_atoms**2 * mixed + pairs * expert)


def memory(make: Callable[[int], Problem], theta: np.ndarray, n: int) -> float:
    """Bytes per sample that a problem keeps and that an evaluation adds at most, as n doubles."""
    peaks = []
    for rows in (n // 2, n // 2, n):  # the first one fills caches that do not grow
        tracemalloc.start()
        problem = make(rows)
        tracemalloc.reset_peak()
        problem.hessian(theta, 0.01, 1.0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        del problem
    return float(peaks[2] - peaks[1]) / (n - n // 2)


def evaluations(gate: str, expert: str, d: int, n_atoms: int, n: int, peak: float) -> dict[str, float | int | str]:
    """Time and memory of both sides at one size, printed and returned."""
    model = Model(gate, "full", expert, d)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(1, n_atoms, model.atom_size)) / np.sqrt(d)
    x, y = rng.uniform(-1, 1, (1, n, d)), rng.normal(size=(1, n))
    sides = (
        lambda rows: _problem(model, n_atoms, x[:, :rows], y[:, :rows], "mixed"),
        lambda rows: Problem(model, n_atoms, x[:, :rows], y[:, :rows], "mixed"),
    )
    held = [memory(make, theta, n) for make in sides]
    problems = [make(n) for make in sides]
    seconds = least([lambda p=p: p.hessian(theta, 0.01, 1.0) for p in problems])  # type: ignore[misc]
    losses = least([lambda p=p: p.loss(theta, 0.01) for p in problems])  # type: ignore[misc]
    rates = [flops_per_row(model, n_atoms) * n / s / 1e9 for s in seconds]
    print(
        f"{gate:8s} {expert:7s} {d:3d} {n_atoms:3d} {n:8d} {1e6 * seconds[0] / n:9.2f} {1e6 * seconds[1] / n:8.2f} "
        f"{seconds[1] / seconds[0]:6.1f} {losses[1] / losses[0]:6.1f} {rates[0]:9.0f} {rates[1]:8.0f} {peak:6.0f} "
        f"{held[0]:9.0f} {held[1]:8.0f}",
        flush=True,
    )
    return {
        "gate": gate,
        "expert": expert,
        "d": d,
        "n_atoms": n_atoms,
        "n": n,
        "seconds": seconds[0],
        "seconds_plain": seconds[1],
        "loss_seconds": losses[0],
        "loss_seconds_plain": losses[1],
        "gflops": rates[0],
        "gflops_plain": rates[1],
        "gflops_sgemm": peak,
        "bytes_per_row": held[0],
        "bytes_per_row_plain": held[1],
    }


HEAD = (
    f"{'us per row':>51s} {'ratio':>13s} {'Gflop/s':>25s} {'bytes per row':>18s}\n"
    f"{'gate':8s} {'expert':7s} {'d':>3s} {'N':>3s} {'n':>8s} {'compiled':>9s} {'plain':>8s} {'all':>6s} {'loss':>6s} "
    f"{'compiled':>9s} {'plain':>8s} {'SGEMM':>6s} {'compiled':>9s} {'plain':>8s}"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gate", nargs="+", choices=("softmax", "sigmoid"), default=["softmax", "sigmoid"])
    parser.add_argument("--expert", nargs="+", choices=("linear", "relu", "gelu"), default=["linear", "relu"])
    parser.add_argument("--d", nargs="+", type=int, default=[8, 12])
    parser.add_argument("--atoms", type=int, default=9)
    parser.add_argument("--n", nargs="+", type=int, default=[1000, 10_000, 100_000])
    arguments = parser.parse_args()
    print(f"{kernel.describe()}\n{HEAD}")
    rows = [
        evaluations(gate, expert, d, arguments.atoms, n, sgemm())
        for d in arguments.d
        for gate in arguments.gate
        for expert in arguments.expert
        for n in arguments.n
    ]
    RESULTS.mkdir(exist_ok=True)
    output = RESULTS / "hessian.json"
    output.write_text(json.dumps({"kernel": kernel.describe(), "rows": rows}, indent=1) + "\n")
    print(f"\nwritten to {output}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
