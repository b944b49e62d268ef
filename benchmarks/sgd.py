"""Minibatch SGD on many replicates: this package's one array program beside a PyTorch loop per replicate.

    python benchmarks/sgd.py                  # d = 8, N = 9, ReLU, n = 10_000, 10 replicates, about 20 seconds

The PyTorch loop (``MSELoss``, autograd, ``torch.optim.SGD``) runs one replicate after another, with full matrices A or
with precomputed quadratic features. All take the same steps (the largest difference of the end points is printed).
Times are CPU seconds, one thread.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from moestat.fit.gradient import perturb, sgd
from moestat.models import truths
from moestat.models.gates import GATES, pack_symmetric, score_features, unpack_symmetric
from moestat.models.regression import Model

RESULTS = Path(__file__).parent / "results"


def torch_loop(
    model: Model,
    x: np.ndarray,
    y: np.ndarray,
    start: np.ndarray,
    order: np.ndarray,
    batch: int,
    steps: int,
    plain: bool,
) -> np.ndarray:
    """Run ``steps`` steps of one replicate, as one would write it in PyTorch.

    ``plain``: full matrices A and an einsum; otherwise the quadratic features are computed once, before the clock
    starts to matter, and the scores are one product: the faster way, if one thinks of it.
    """
    import torch

    torch.set_num_threads(1)
    tx, ty, rows = torch.tensor(x), torch.tensor(y), torch.tensor(order)
    q = torch.tensor(score_features(x, model.score).T.copy())
    parts = [start[:, : model.gate_size], start[:, model.eta]]
    if plain:
        parts += [unpack_symmetric(start[:, model.a_matrix], model.d), start[:, model.b], start[:, 0]]
    gate_part, eta, *others = (torch.tensor(part, requires_grad=True) for part in parts)
    optimiser = torch.optim.SGD([eta, *(others or [gate_part])], lr=0.1)
    loss = torch.nn.MSELoss()
    for k in range(steps):
        part = rows[k * batch : (k + 1) * batch]
        xb = tx[part]
        if plain:
            a, b, c = others
            scores = torch.einsum("ka,iab,kb->ki", xb, a, xb) + xb @ b.T + c
        else:
            scores = q[part] @ gate_part.T
        gate = torch.softmax(scores, dim=1) if model.gate == "softmax" else torch.sigmoid(scores)
        value = torch.relu(xb @ eta[:, :-1].T + eta[:, -1])
        optimiser.zero_grad()
        loss((gate * value).sum(dim=1), ty[part]).backward()
        optimiser.step()
    if plain:
        a, b, c = (part.detach().numpy() for part in others)
        return np.concatenate([c[:, None], b, pack_symmetric(a), eta.detach().numpy()], axis=1)
    return np.concatenate([gate_part.detach().numpy(), eta.detach().numpy()], axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--replicates", type=int, default=10)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[1, 32, 256])
    parser.add_argument("--gate", choices=GATES, default="sigmoid")
    arguments = parser.parse_args()
    model = Model(arguments.gate, "full", "relu", 8)
    rng = np.random.default_rng(0)
    truth = truths.ground_truth(model, 8, "dense", rng)
    data = [truths.sample(model, truth, arguments.n, 0.01, rng) for _ in range(arguments.replicates)]
    x, y = np.stack([x for x, _ in data]), np.stack([y for _, y in data])
    start = np.stack([perturb(truths.split(model, truth, 9), 0.1, rng) for _ in range(arguments.replicates)])
    order = np.stack([rng.permutation(arguments.n)[None] for _ in range(arguments.replicates)])
    rows = []
    print(
        f"{arguments.gate} gate, ReLU experts, d=8, N=9, n={arguments.n}, {arguments.replicates} replicates, one epoch"
    )
    print("time per replicate and step; ratio to ours")
    print(f"{'batch':>6s} {'ours':>10s} {'PyTorch, plain':>20s} {'PyTorch, features':>19s} {'difference':>11s}")
    for batch in arguments.batch_sizes:
        steps = -(-arguments.n // batch)
        sgd(model, x[:, :512], y[:, :512], start, batch_size=min(batch, 512), order=[rng] * len(x), epochs=1)  # warm up
        begin = time.process_time()
        fitted = sgd(model, x, y, start, batch_size=batch, order=list(order), epochs=1)
        mine = (time.process_time() - begin) / steps / len(x)
        theirs, difference = [], 0.0
        for plain in (True, False):
            torch_loop(model, x[0], y[0], start[0], order[0, 0], batch, 5, plain)  # warm up
            begin = time.process_time()
            other = torch_loop(model, x[0], y[0], start[0], order[0, 0], batch, steps, plain)
            theirs.append((time.process_time() - begin) / steps)
            difference = max(difference, float(np.abs(other - fitted[0]).max()))
        times = "".join(f"{1e6 * t:10.1f} us {t / mine:5.1f}x" for t in theirs)
        print(f"{batch:6d} {1e6 * mine:7.1f} us {times} {difference:11.1e}")
        rows.append(
            {
                "batch_size": batch,
                "ours_us": 1e6 * mine,
                "torch_plain_us": 1e6 * theirs[0],
                "torch_features_us": 1e6 * theirs[1],
                "difference": difference,
            }
        )
    RESULTS.mkdir(exist_ok=True)
    settings = dict(vars(arguments))
    (RESULTS / "sgd.json").write_text(json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
