"""A sparse mixture of experts layer beside all experts for all tokens, and what a competition costs.

    OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 python benchmarks/smoe.py            # about 10 CPU seconds
    OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 python benchmarks/smoe.py --large    # also 2048 tokens, width 128

Forward and backward pass of one layer, 16 experts, top-2, float32, one thread, median CPU milliseconds of runs that
take turns. *dense einsum*: every expert for every token, outputs times gates that are mostly zero. *gated*: the same in
two products, with the gates on the hidden units. *loop*: sort, a loop over the experts, autograd. *padded*: the form
that a GPU runs. *competes*: this package's layer in a step with a competition (eq. 3, all experts without gradient).

Training step: the micro decoder (3 such layers, 16 windows of 64), without competition and with one layer that
competes; the relative difference, times 3 layers and lambda = 0.05, is the overhead of CompeteSMoE.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from moestat.training.decoder import Decoder
from studies.compete_smoe.parts import routers
from studies.compete_smoe.parts.decoders import shape_of
from studies.compete_smoe.parts.smoe import Competition, ExpertBank, SMoE, schedule

RESULTS = Path(__file__).parent / "results" / "smoe.json"
EXPERTS, TOP_K = 16, 2
Layer = Callable[[torch.Tensor], torch.Tensor]


def layers(width: int, hidden: int) -> tuple[SMoE, dict[str, Layer]]:
    experts = ExpertBank(width, hidden, EXPERTS, np.random.default_rng(0))
    router = routers.make("smoe", width, EXPERTS, np.random.default_rng(1))
    layer = SMoE(experts, router, top_k=TOP_K)
    rival = SMoE(experts, router, top_k=TOP_K, competition=Competition(schedule(1.0), key=0))
    rival.begin_step(0, 1)
    w, b, v, c = experts.parameters()

    def route(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        best, index = router(x).topk(TOP_K, dim=1)
        return best.softmax(dim=1), index

    def gates(x: torch.Tensor) -> torch.Tensor:
        best, index = route(x)
        return best.new_zeros(x.shape[0], EXPERTS).scatter(1, index, best)

    def dense(x: torch.Tensor) -> torch.Tensor:
        inside = torch.relu(torch.einsum("td,ndh->tnh", x, w) + b)
        return torch.einsum("tn,tnd->td", gates(x), torch.einsum("tnh,nhd->tnd", inside, v) + c)

    def gated(x: torch.Tensor) -> torch.Tensor:
        weight = gates(x)
        inside = torch.relu(x @ w.permute(1, 0, 2).reshape(width, -1) + b.reshape(-1))
        inside = inside.view(-1, EXPERTS, hidden) * weight[..., None]
        return inside.view(-1, EXPERTS * hidden) @ v.view(-1, width) + weight @ c

    def loop(x: torch.Tensor) -> torch.Tensor:
        weight, index = route(x)
        flat = index.reshape(-1)
        order = flat.argsort()
        token = order // TOP_K
        counts = torch.bincount(flat, minlength=EXPERTS).tolist()
        parts = x[token].split(counts)
        out = torch.cat([torch.relu(part @ w[e] + b[e]) @ v[e] + c[e] for e, part in enumerate(parts)])
        return torch.zeros_like(x).index_add(0, token, out * weight.reshape(-1)[order, None])

    return layer, {
        "moestat": layer,
        "dense einsum": dense,
        "gated": gated,
        "loop": loop,
        "padded": lambda x: experts.padded(x, *route(x)),
        "competes": rival,
    }


def measure(tokens: int, width: int, hidden: int, rounds: int) -> dict[str, float]:
    layer, named = layers(width, hidden)
    x = torch.randn(tokens, width, generator=torch.Generator().manual_seed(2)).requires_grad_()
    above = torch.randn(tokens, width, generator=torch.Generator().manual_seed(3))
    seconds: dict[str, list[float]] = {name: [] for name in named}
    for _ in range(rounds):
        for name, apply in named.items():
            x.grad = None
            layer.zero_grad()
            begin = time.process_time()
            y = apply(x)
            y.backward(above)
            seconds[name].append(time.process_time() - begin)
            torch.testing.assert_close(y, layer(x), rtol=1e-4, atol=1e-4)
    row = {f"{name}_ms": float(np.median(values[3:])) * 1e3 for name, values in seconds.items()}
    return row | {"ratio": row["dense einsum_ms"] / row["moestat_ms"]}


def training(rounds: int) -> dict[str, float]:
    shape = shape_of("switch", "micro", 71)
    competition = Competition(schedule(1.0), key=0)

    def sparse(block: int) -> SMoE:
        experts = ExpertBank(shape.width, shape.hidden, EXPERTS, np.random.default_rng(block))
        return SMoE(
            experts,
            routers.make("smoe", shape.width, EXPERTS, np.random.default_rng(9 + block)),
            competition=competition,
        )

    model = Decoder(shape, feed_forward=sparse, generator=np.random.default_rng(0))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    windows = torch.randint(71, (16, shape.length + 1), generator=torch.Generator().manual_seed(0))
    blocks: list[SMoE] = [module for module in model.modules() if isinstance(module, SMoE)]
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for i in range(rounds):
        for competes in seconds:
            for place, block in enumerate(blocks):
                block.competes = competes and place == i % len(blocks)
            begin = time.process_time()
            loss = model.loss(windows[:, :-1], windows[:, 1:])
            loss = loss + sum(block.auxiliary for block in blocks if block.auxiliary is not None)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            seconds[competes].append(time.process_time() - begin)
    plain, competing = (float(np.median(values[3:])) * 1e3 for values in seconds.values())
    extra = competing / plain - 1
    return {"plain_ms": plain, "competes_ms": competing, "extra": extra, "overhead": len(blocks) * 0.05 * extra}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    result: dict[str, object] = {"machine": platform.processor() or platform.machine()}
    sizes = [(1024, 64, 64)] + ([(2048, 128, 128), (2048, 128, 512)] if options.large else [])
    for size in sizes:
        name = "tokens {}, width {}, hidden {}".format(*size)
        result[name] = row = measure(*size, rounds=60 if size[0] == 1024 else 12)
        print(name, {k: round(v, 2) for k, v in row.items()}, flush=True)
    result["training step"] = row = training(rounds=60)
    print("training step", {k: round(v, 3) for k, v in row.items()}, flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
