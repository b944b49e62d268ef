"""A step of stages I and II of Algorithm 1 (mixture of transformers) beside the same by hand in NumPy, and PyTorch.

    python benchmarks/mot.py            # about 20 CPU seconds

*by hand*: in stage I, where the attention is frozen as it is in stage III, what an expert reads of a sample is computed
once; in stage II the samples of each expert are taken in a loop, the gradient written out. PyTorch: autograd through
eq. (4), with the samples of each expert in a loop, what is frozen detached. 4 classes, 5 tokens in R^32, float64. All
end at the same parameters.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from common import plain, turns, write

from moestat.models import patches
from studies.mixture_of_transformers.parts.model import Mixture
from studies.mixture_of_transformers.parts.staged_training import Schedule, train

CLASSES, TOKENS, DIMENSION, NOISE, SCALE, STEPS = 4, 5, 32, 0.5, 3.0, 100
RATES = {"specialise_rate": 1e-3, "attention_rate": 20.0, "router_rate": 100.0, "tuning_rate": 1.0}
OWN = {"I": "specialise_rate", "II": "attention_rate", "III": "tuning_rate"}
Data = dict[str, np.ndarray]


def problem(experts: int, n: int) -> Data:
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


def ours(data: Data, noise: np.ndarray, stage: str) -> list[np.ndarray]:
    ends = {"I": (STEPS, STEPS, STEPS), "II": (0, STEPS, STEPS), "III": (0, 0, STEPS)}[stage]
    model = Mixture(*(data[name][None] for name in ("x", "weights", "kq", "theta")))
    train(model, data["y"][None], Schedule(*ends, **RATES), iter(noise[:, None]), lambda t: None, ())
    return [p[0] for p in (model.weights, model.kq, model.theta) if p is not None]


def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def by_hand(data: Data, noise: np.ndarray, stage: str) -> list[np.ndarray]:
    x, y, weights, kq, theta = (data[name].copy() for name in ("x", "y", "weights", "kq", "theta"))
    n, experts, total = len(y), np.arange(len(weights))[:, None], x.sum(axis=1)
    if stage != "II":  # (M, n, d)
        reads = np.stack([(softmax(x @ own.T @ x.swapaxes(1, 2)) @ x).sum(axis=1) for own in kq])
    for r in noise:
        pi = softmax(total @ theta.T)
        expert = np.argmax(total @ theta.T + r.T, axis=1)
        chosen, each = expert == experts, np.arange(n)
        if stage == "II":
            f, gradient = np.empty(n), np.zeros_like(kq)
            for m, index in enumerate(map(np.flatnonzero, chosen)):
                tokens = x[index]
                attention, value = softmax(tokens @ kq[m].T @ tokens.swapaxes(1, 2)), tokens @ weights[m]
                inner = (attention * value[:, None]).sum(axis=2)
                f[index] = inner.sum(axis=1)
                slope = -y[index] / (1 + np.exp(y[index] * f[index])) / n
                by_score = slope[:, None, None] * attention * (value[:, None] - inner[..., None])
                left = tokens.reshape(-1, DIMENSION).T @ (by_score @ tokens).reshape(-1, DIMENSION)
                gradient[m] = left.T
        else:
            read = reads[expert, each]
            f = (read * weights[expert]).sum(axis=1)
            gradient = (chosen * (-y / (1 + np.exp(y * f)) / n)) @ read
        own = pi[each, expert]
        by_own = -y * f * own / (1 + np.exp(y * own * f)) / n
        by_theta = (chosen * by_own - (pi * by_own[:, None]).T) @ total
        if stage == "I":
            norm = np.linalg.norm(gradient, axis=1, keepdims=True)
            gradient /= np.where(norm > 0, norm, 1.0)
        (kq if stage == "II" else weights)[...] -= RATES[OWN[stage]] * gradient
        theta -= RATES["router_rate"] * by_theta
    return [weights, kq, theta]


def in_torch(data: Data, noise: np.ndarray, stage: str) -> list[np.ndarray]:
    x, y = torch.tensor(data["x"]), torch.tensor(data["y"])
    weights, kq, theta = (torch.tensor(data[name], requires_grad=True) for name in ("weights", "kq", "theta"))
    trained = kq if stage == "II" else weights
    for r in torch.tensor(noise):
        scores = x.sum(dim=1) @ theta.T
        expert = torch.argmax(scores + r.T, dim=-1)
        f = torch.zeros_like(y)
        for m in range(len(weights)):
            index = torch.nonzero(expert == m)[:, 0]
            tokens = x[index]
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
                gradient = gradient / torch.where(norm > 0, norm, 1.0)
            trained -= RATES[OWN[stage]] * gradient
            theta -= RATES["router_rate"] * by_theta
    return [p.detach().numpy() for p in (weights, kq, theta)]


def row(experts: int, n: int, stage: str) -> dict[str, Any]:
    data, noise = problem(experts, n), np.random.default_rng(1).random((STEPS, experts, n))
    sides = {
        "plain NumPy": partial(plain, ours, data, noise, stage),
        "by hand": partial(by_hand, data, noise, stage),
        "autograd, loop": partial(in_torch, data, noise, stage),
    }
    ours(data, noise, stage)  # compiled, or loaded
    seconds, ends = turns({"ours": partial(ours, data, noise, stage)} | sides)
    for end in ends.values():
        assert all(np.abs(a - b).max() < 1e-11 for a, b in zip(ends["ours"], end, strict=True))
    out: dict[str, Any] = {"a step": f"transformers, stage {stage}, n = {n}, {experts} experts"}
    return out | {"this package, ms": 1e3 * seconds["ours"] / STEPS} | {k: seconds[k] / seconds["ours"] for k in sides}


if __name__ == "__main__":
    write("mot", [row(m, n, stage) for m, n in ((8, 400), (8, 2000)) for stage in ("I", "II")])
