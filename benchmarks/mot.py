"""A step of each stage of Algorithm 1 (mixture of transformers) beside PyTorch with autograd.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/mot.py            # about 20 CPU seconds

What a user would write instead: autograd through eq. (4), with the samples of each expert indexed in a loop over
experts; and our own code without a compiler. Same data, same start, same noise, float64, one thread; the parameters are
compared at the end. Times are CPU milliseconds of the process for one step, with routing, noise and the router's
update, the best of three rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from moestat.fit import kernel
from moestat.models import patches
from studies.mixture_of_transformers.parts.model import Mixture
from studies.mixture_of_transformers.parts.staged_training import Schedule, train

CLASSES, TOKENS, DIMENSION, NOISE, SCALE = 4, 5, 32, 0.5, 3.0
RATES = {"specialise_rate": 1e-3, "attention_rate": 20.0, "router_rate": 100.0, "tuning_rate": 1.0}
RESULTS = Path(__file__).parent / "results" / "mot.json"


def problem(experts: int, n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    law = patches.Law((1, 1), (1, 1), (1, 1), NOISE)
    drawn = patches.draw(rng, rng, patches.dictionary(rng, CLASSES, DIMENSION), n, TOKENS, law)
    scale = SCALE / np.sqrt(DIMENSION)
    return {
        "x": drawn.x,
        "y": drawn.y,
        "weights": scale * rng.standard_normal((experts, DIMENSION)),
        "kq": scale * rng.standard_normal((experts, DIMENSION, DIMENSION)),
        "theta": np.zeros((experts, DIMENSION)),
    }


def schedule(stage: str, steps: int) -> Schedule:
    ends = {"I": (steps, steps, steps), "II": (0, steps, steps), "III": (0, 0, steps)}[stage]
    return Schedule(
        *ends,
        specialise_rate=RATES["specialise_rate"],
        attention_rate=RATES["attention_rate"],
        router_rate=RATES["router_rate"],
        tuning_rate=RATES["tuning_rate"],
    )


def ours(data: dict[str, np.ndarray], noise: np.ndarray, stage: str) -> tuple[float, list[np.ndarray]]:
    model = Mixture(*(data[name][None] for name in ("x", "weights", "kq", "theta")))
    begin = time.process_time()
    train(model, data["y"][None], schedule(stage, len(noise)), iter(noise[:, None]), lambda t: None, ())
    taken = (time.process_time() - begin) / len(noise) * 1e3
    return taken, [p[0] for p in (model.weights, model.kq, model.theta) if p is not None]


def plain(data: dict[str, np.ndarray], noise: np.ndarray, stage: str) -> tuple[float, list[np.ndarray]]:
    with patch.dict(os.environ, {kernel.VARIABLE: "numpy"}):
        return ours(data, noise, stage)


def torch_steps(data: dict[str, np.ndarray], noise: np.ndarray, stage: str) -> tuple[float, list[np.ndarray]]:
    import torch

    torch.set_num_threads(1)
    x, y = torch.tensor(data["x"]), torch.tensor(data["y"])
    weights, kq, theta = (torch.tensor(data[name], requires_grad=True) for name in ("weights", "kq", "theta"))
    trained = kq if stage == "II" else weights
    draws = torch.tensor(noise)
    begin = time.process_time()
    for r in draws:
        scores = x.sum(dim=1) @ theta.T
        expert = torch.argmax(scores + r.T, dim=-1)
        f = torch.zeros(len(y), dtype=x.dtype)
        for m in range(len(weights)):
            index = torch.nonzero(expert == m)[:, 0]
            if len(index):
                tokens = x[index]
                # with frozen parameters detached, autograd does no more than it must
                own_kq, own = (p[m] if p is trained else p[m].detach() for p in (kq, weights))
                attention = torch.softmax(tokens @ own_kq.T @ tokens.transpose(1, 2), dim=-1)
                f = f.index_add(0, index, ((attention @ tokens) @ own).sum(dim=1))
        pi = torch.softmax(scores, dim=-1).gather(1, expert[:, None])[:, 0]
        expert_loss = -torch.nn.functional.logsigmoid(y * f).mean()
        router_loss = -torch.nn.functional.logsigmoid(y * f.detach() * pi).mean()
        gradient, by_theta = torch.autograd.grad(expert_loss + router_loss, [trained, theta])
        with torch.no_grad():
            if stage == "I":
                norm = gradient.norm(dim=1, keepdim=True)
                trained -= RATES["specialise_rate"] * gradient / torch.where(norm > 0, norm, 1.0)
            else:
                trained -= RATES["attention_rate" if stage == "II" else "tuning_rate"] * gradient
            theta -= RATES["router_rate"] * by_theta
    taken = (time.process_time() - begin) / len(draws) * 1e3
    return taken, [p.detach().numpy() for p in (weights, kq, theta)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for experts, n in ((8, 400), (32, 400), (8, 2000)):
            for stage in ("I", "II", "III"):
                data = problem(experts, n)
                noise = np.random.default_rng(1).random((options.steps, experts, n))
                ours(data, noise[:2], stage)  # warms up
                torch_steps(data, noise[:2], stage)
                best: dict[str, float] = {}
                ends: dict[str, list[np.ndarray]] = {}
                for _ in range(3):
                    for name, side in (("moestat", ours), ("numpy", plain), ("torch", torch_steps)):
                        milliseconds, ends[name] = side(data, noise, stage)
                        best[name] = min(best.get(name, np.inf), milliseconds)
                pairs = [pair for end in ends.values() for pair in zip(ends["moestat"], end, strict=True)]
                row: dict[str, object] = {"M": experts, "n": n, "stage": stage}
                row |= {f"{name}_ms": value for name, value in best.items()}
                row |= {f"{name}_ratio": best[name] / best["moestat"] for name in ("numpy", "torch")}
                rows.append(row | {"difference": max(float(np.max(np.abs(a - b))) for a, b in pairs)})
                told = (f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in rows[-1].items())
                print("  ".join(told), flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    result = {"machine": platform.processor() or platform.machine(), "steps": options.steps, "rows": rows}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
