"""Minibatch SGD on ten replicates, as one array program: this package beside PyTorch with the ten in one tensor.

    python benchmarks/sgd.py                  # about 15 CPU seconds

PyTorch has the quadratic features computed once for all. *by hand* has the gradient written out, *autograd* has
``autograd.grad``, both with all replicates in one batched product; *a loop* takes one replicate after another. Sigmoid
gate, ReLU experts, n up to 10 000, step 0.1, float64. All take the same steps, and end at the same point. CPU
microseconds per replicate and step, of at most ``--steps`` steps.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from common import turns, write

from moestat.fit.gradient import perturb, sgd
from moestat.models import truths
from moestat.models.gates import score_features
from moestat.models.regression import Model

MODEL = Model("sigmoid", "full", "relu", 8)
N, REPLICATES, STEP = 10_000, 10, 0.1


def in_torch(x: np.ndarray, y: np.ndarray, start: np.ndarray, order: np.ndarray, batch: int, how: str) -> np.ndarray:
    """Take the steps of one epoch on (R, n, d), all replicates in one tensor."""
    ones = np.ones((*y.shape, 1))
    q = torch.tensor(np.ascontiguousarray(np.swapaxes(score_features(x, "full"), 1, 2)))
    e, ty = torch.tensor(np.concatenate([x, ones], axis=2)), torch.tensor(y)
    size = MODEL.gate_size
    gate, eta = (torch.tensor(part, requires_grad=how == "autograd") for part in (start[..., :size], start[..., size:]))
    rows, which = torch.tensor(order), torch.arange(len(x))[:, None]
    for k in range(0, order.shape[1], batch):
        part = rows[:, k : k + batch]
        qb, eb, yb = q[which, part], e[which, part], ty[which, part]
        g, h = torch.sigmoid(qb @ gate.mT), eb @ eta.mT
        value = torch.relu(h)
        r = (g * value).sum(2) - yb
        if how == "autograd":
            by_gate, by_eta = torch.autograd.grad(r.square().mean(1).sum(), [gate, eta])
        else:
            r = (2 / part.shape[1]) * r[..., None]
            by_gate, by_eta = (r * value * g * (1 - g)).mT @ qb, (r * g * (h > 0)).mT @ eb
        with torch.no_grad():
            gate -= STEP * by_gate
            eta -= STEP * by_eta
    return torch.cat([gate.detach(), eta.detach()], dim=2).numpy()


def row(batch: int, steps: int) -> dict[str, Any]:
    n = min(N, batch * steps)
    rng = np.random.default_rng(0)
    truth = truths.ground_truth(MODEL, 8, "dense", rng)
    x, y = map(np.stack, zip(*(truths.sample(MODEL, truth, n, 0.01, rng) for _ in range(REPLICATES)), strict=True))
    start = np.stack([perturb(truths.split(MODEL, truth, 9), 0.1, rng) for _ in range(REPLICATES)])
    order = np.stack([rng.permutation(n) for _ in range(REPLICATES)])
    one = slice(0, 1)
    sides = {
        "ours": lambda: sgd(MODEL, x, y, start, batch_size=batch, order=list(order[:, None]), epochs=1, step=STEP),
        "hand": lambda: in_torch(x, y, start, order, batch, "by hand"),
        "autograd": lambda: in_torch(x, y, start, order, batch, "autograd"),
        "loop": lambda: in_torch(x[one], y[one], start[one], order[one], batch, "autograd"),
    }
    seconds, ends = turns(sides)
    assert all(np.abs(end - ends["ours"][: len(end)]).max() < 1e-12 for end in ends.values())
    return {
        "minibatch": batch,
        "this package, us": 1e6 * seconds["ours"] / REPLICATES / -(-n // batch),
        "PyTorch, ten in a tensor, by hand": seconds["hand"] / seconds["ours"],
        "the same, autograd": seconds["autograd"] / seconds["ours"],
        "PyTorch, a loop, autograd": REPLICATES * seconds["loop"] / seconds["ours"],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=500)
    steps = parser.parse_args().steps
    write("sgd", [row(batch, steps) for batch in (1, 32, 256)])
