"""A step of Algorithm 1 (noisy top-1 routing, cubic experts) beside the same written by hand in NumPy, and PyTorch.

    python benchmarks/expert_count.py            # about 30 CPU seconds

*by hand*: the samples of each expert in a loop, the gradient written out, products by BLAS. PyTorch: autograd, with the
samples of each expert in a loop (as in the sparse dispatchers that are copied around), or all experts for all samples.
Our own code without a compiler is what a GPU takes as well. d = 50, 8 neurons, float64. All end at the same weights.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from common import plain, turns, write

from moestat.models import patches
from studies.expert_count.parts import cubic_experts, top_one

CASES = (("mlp", 2000, 4, 8), ("mlp", 2000, 4, 64), ("cnn", 2000, 4, 8), ("cnn", 8000, 4, 64))
STEPS, DIMENSION, NEURONS, CLUSTERS, ETA, ETA_R = 6, 50, 8, 4, 1e-3, 0.1


def problem(kind: str, n: int, count: int, experts: int) -> tuple[list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    drawn = patches.draw(rng, rng, patches.dictionary(rng, CLUSTERS, DIMENSION), n, count)
    x = 10 * drawn.x[None]
    features = cubic_experts.router_features(x, "patches" if kind == "mlp" else "shared")
    weights = 0.01 * rng.standard_normal((1, experts, count if kind == "mlp" else 1, NEURONS, DIMENSION))
    theta = np.zeros((1, features.shape[-1], experts))
    return [x, features, drawn.y[None], weights, theta], rng.random((STEPS, 1, n, experts))


def ours(arrays: list[np.ndarray], noise: np.ndarray) -> np.ndarray:
    weights, _ = top_one.train(
        *arrays, noise, steps=STEPS, expert_rate=ETA, router_rate=ETA_R, observe=lambda *_: None, at=()
    )
    return weights[0]


def by_hand(arrays: list[np.ndarray], noise: np.ndarray) -> np.ndarray:
    x, features, y, weights, theta = (a[0].copy() for a in arrays)
    n, shared = len(y), weights.shape[1] == 1
    for r in noise[:, 0]:
        scores = features @ theta
        expert = np.argmax(scores + r, axis=1)
        pi = np.exp(scores - scores.max(axis=1, keepdims=True))
        pi /= pi.sum(axis=1, keepdims=True)
        own = pi[np.arange(n), expert]
        f, gradient = np.empty(n), np.zeros_like(weights)
        for m, index in enumerate(np.split(np.argsort(expert), np.cumsum(np.bincount(expert, minlength=len(weights))))):
            if not len(index):
                continue
            part = x[index]  # (k, P, d), as (1, k P, d) or (P, k, d)
            part = part.reshape(1, -1, part.shape[2]) if shared else np.ascontiguousarray(part.swapaxes(0, 1))
            h = part @ weights[m].swapaxes(1, 2)
            cubes = (h**3).sum(axis=2)
            f[index] = cubes.reshape(len(index), -1).sum(axis=1) if shared else cubes.sum(axis=0)
            slope = -y[index] * own[index] / (1 + np.exp(y[index] * own[index] * f[index])) / n
            slope = np.repeat(slope, x.shape[1])[None] if shared else slope[None]
            gradient[m] = (3 * slope[..., None] * h**2).swapaxes(1, 2) @ part
        by_score = -pi * (by_own := -y * f * own / (1 + np.exp(y * own * f)) / n)[:, None]
        by_score[np.arange(n), expert] += by_own
        norm = np.sqrt((gradient**2).sum(axis=(1, 2, 3), keepdims=True))
        weights -= ETA * gradient / np.maximum(norm, 1e-300)
        theta -= ETA_R * features.T @ by_score
    return weights


def in_torch(arrays: list[np.ndarray], noise: np.ndarray, dense: bool) -> np.ndarray:
    x, features, y, weights, theta = (torch.tensor(a[0]) for a in arrays)
    weights.requires_grad_()
    theta.requires_grad_()
    for r in torch.tensor(noise[:, 0]):
        scores = features @ theta
        expert = torch.argmax(scores + r, dim=-1)
        if dense:
            h = torch.einsum("npd,mpjd->nmpj", x, weights.expand(-1, x.shape[1], -1, -1))
            f = (h**3).sum(dim=(2, 3)).gather(1, expert[:, None])[:, 0]
        else:
            f = torch.zeros_like(y)
            for m in range(weights.shape[0]):
                index = torch.nonzero(expert == m)[:, 0]
                h = torch.einsum("npd,pjd->npj", x[index], weights[m].expand(x.shape[1], -1, -1))
                f = f.index_add(0, index, (h**3).sum(dim=(1, 2)))
        pi = torch.softmax(scores, dim=-1).gather(1, expert[:, None])[:, 0]
        loss = -torch.nn.functional.logsigmoid(y * pi * f).mean()
        gradient, by_theta = torch.autograd.grad(loss, [weights, theta])
        with torch.no_grad():
            weights -= ETA * gradient / gradient.flatten(1).norm(dim=1).clamp_min(1e-300)[:, None, None, None]
            theta -= ETA_R * by_theta
    return weights.detach().numpy()


def row(kind: str, n: int, count: int, experts: int) -> dict[str, Any]:
    arrays, noise = problem(kind, n, count, experts)
    sides = {
        "plain NumPy": partial(plain, ours, arrays, noise),
        "by hand": partial(by_hand, arrays, noise),
        "autograd, loop": partial(in_torch, arrays, noise, dense=False),
    }
    if n * count * experts <= 600_000:  # else gigabytes of activations
        sides["autograd, all experts"] = partial(in_torch, arrays, noise, dense=True)
    ours(arrays, noise)  # compiled, or loaded
    seconds, ends = turns({"ours": partial(ours, arrays, noise)} | sides)
    assert all(np.abs(end - ends["ours"]).max() < 1e-12 for end in ends.values())
    out: dict[str, Any] = {"a step": f"top-1, {kind.upper()}, n = {n}, {experts} experts"}
    return out | {"this package, ms": 1e3 * seconds["ours"] / STEPS} | {k: seconds[k] / seconds["ours"] for k in sides}


if __name__ == "__main__":
    write("expert_count", [row(*case) for case in CASES])
