"""A step of Algorithm 1 (noisy top-1 routing, cubic experts) beside its plain code and beside PyTorch.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/expert_count.py            # about 60 CPU seconds
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/expert_count.py --grid     # and the study's grid

What a user would write instead: autograd, with the samples of each expert indexed in a loop over experts (as in the
sparse dispatchers that are copied around), or with all experts computed for all samples. And our own code without a
compiler, the tiles that a GPU takes as well. Same data, same start, same noise, float64, one thread; the paths are
compared. Times are CPU milliseconds of the process for one step, the best of three
rounds in which all take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from moestat.experiment import Cell
from moestat.fit import kernel
from moestat.models import patches
from studies.expert_count.parts import cubic_experts, expert_count, top_one

CASES = [
    *((kind, 2000, 4, experts) for kind in ("mlp", "cnn") for experts in (8, 64)),
    ("mlp", 8000, 4, 64),
    ("mlp", 8000, 8, 64),
    ("cnn", 8000, 4, 64),
]
DIMENSION, NEURONS, CLUSTERS, ETA, ETA_R = 50, 8, 4, 1e-3, 0.1
RESULTS = Path(__file__).parent / "results" / "expert_count.json"


def problem(kind: str, n: int, count: int, experts: int, steps: int) -> tuple[list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    drawn = patches.draw(rng, rng, patches.dictionary(rng, CLUSTERS, DIMENSION), n, count)
    x = 10 * drawn.x[None]
    features = cubic_experts.router_features(x, "patches" if kind == "mlp" else "shared")
    weights = 0.01 * rng.standard_normal((1, experts, count if kind == "mlp" else 1, NEURONS, DIMENSION))
    theta = np.zeros((1, features.shape[-1], experts))
    return [x, features, drawn.y[None], weights, theta], rng.random((steps, 1, n, experts))


def ours(arrays: list[np.ndarray], noise: np.ndarray) -> tuple[float, np.ndarray]:
    begin = time.process_time()
    weights, _ = top_one.train(
        *arrays, noise, steps=len(noise), expert_rate=ETA, router_rate=ETA_R, observe=lambda *_: None, at=()
    )
    return (time.process_time() - begin) / len(noise) * 1e3, weights[0]


def plain(arrays: list[np.ndarray], noise: np.ndarray) -> tuple[float, np.ndarray]:
    with patch.dict(os.environ, {kernel.VARIABLE: "numpy"}):
        return ours(arrays, noise)


def torch_step(arrays: list[np.ndarray], noise: np.ndarray, dense: bool) -> tuple[float, np.ndarray]:
    import torch

    torch.set_num_threads(1)
    x, features, y, weights, theta = (torch.tensor(a[0]) for a in arrays)
    weights.requires_grad_()
    theta.requires_grad_()
    draws = torch.tensor(noise[:, 0])
    begin = time.process_time()
    for r in draws:
        scores = features @ theta
        expert = torch.argmax(scores + r, dim=-1)
        if dense:
            h = torch.einsum("npd,mpjd->nmpj", x, weights.expand(-1, x.shape[1], -1, -1))
            f = (h**3).sum(dim=(2, 3)).gather(1, expert[:, None])[:, 0]
        else:
            f = torch.zeros(len(y), dtype=x.dtype)
            for m in range(weights.shape[0]):
                index = torch.nonzero(expert == m)[:, 0]
                if len(index):
                    h = torch.einsum("npd,pjd->npj", x[index], weights[m].expand(x.shape[1], -1, -1))
                    f = f.index_add(0, index, (h**3).sum(dim=(1, 2)))
        pi = torch.softmax(scores, dim=-1).gather(1, expert[:, None])[:, 0]
        (-torch.nn.functional.logsigmoid(y * pi * f).mean()).backward()
        with torch.no_grad():
            norm = weights.grad.flatten(1).norm(dim=1).clamp_min(1e-300)
            weights -= ETA * weights.grad / norm[:, None, None, None]
            theta -= ETA_R * theta.grad
        weights.grad = theta.grad = None
    return (time.process_time() - begin) / len(draws) * 1e3, weights.detach().numpy()


def grid_seconds() -> dict[str, float]:
    """CPU seconds of one seed of every cell of the study's grid at n = 8000, T = 400, from two short runs each."""
    found = {}
    for kind in ("mlp", "cnn"):
        for count in (4, 8):
            for experts in (4, 8, 16, 32, 64):
                seconds = []
                for steps, records in ((10, 2), (30, 6)):
                    s = expert_count.Settings(
                        expert=kind, patches=count, experts=experts, steps=steps, records=records, router_rate=0.1
                    )
                    cell = Cell("expert_count", 0, "benchmark", {}, s.model_dump(mode="json"))
                    begin = time.process_time()
                    expert_count.run(cell, [0], device="cpu")
                    seconds.append(time.process_time() - begin)
                # 20 steps and 4 records more; the grid has 400 steps and 21 records, about the same ratio
                found[f"{kind} P={count} M={experts}"] = seconds[0] + (seconds[1] - seconds[0]) * 390 / 20
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--grid", action="store_true", help="also estimate the time of the study's paper preset")
    options = parser.parse_args()
    result: dict[str, object] = {
        "machine": platform.processor() or platform.machine(),
        "steps": options.steps,
        "rows": [],
    }
    with threadpool_limits(1):
        for case in CASES:
            arrays, noise = problem(*case, options.steps)
            sides = {"moestat": ours, "numpy": plain, "torch_loop": partial(torch_step, dense=False)}
            if case[1] * case[2] * case[3] <= 600_000:  # else gigabytes of activations
                sides["torch_dense"] = partial(torch_step, dense=True)
            ours(arrays, noise[:1])  # compiled, or loaded
            best, ends = dict.fromkeys(sides, np.inf), {}
            for _ in range(3):
                for name, side in sides.items():
                    milliseconds, ends[name] = side(arrays, noise)
                    best[name] = min(best[name], milliseconds)
            row: dict[str, object] = {"case": dict(zip(("expert", "n", "P", "M"), case, strict=True))}
            row |= {f"{name}_ms": value for name, value in best.items()}
            row |= {f"{name}_ratio": best[name] / best["moestat"] for name in sides if name != "moestat"}
            row["difference"] = max(float(np.max(np.abs(end - ends["moestat"]))) for end in ends.values())
            result["rows"].append(row)  # type: ignore[attr-defined]
            print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{v}" for k, v in row.items()), flush=True)
        if options.grid:
            seconds = grid_seconds()
            total = 10 * sum(seconds.values())
            result["grid"] = {"seconds": seconds, "minutes_on_2_cores": total / 2 / 60}
            print(
                f"paper preset of expert_count, 10 seeds: {total:.0f} CPU seconds, {total / 120:.0f} minutes on 2 cores"
            )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
