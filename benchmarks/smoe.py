"""Forward and backward pass of a sparse mixture of experts layer, beside PyTorch, and what a competition costs.

    python benchmarks/smoe.py            # about 10 CPU seconds

16 experts, top-2, 1024 tokens, width and hidden width 64, float32. *autograd, loop*: sort, a loop over the experts.
*autograd, all experts*: every expert for every token in two products, with the gates on the hidden units. A second line
is this package's layer in a step with a competition (eq. 3, all experts once more, without gradient). All give the same
output.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from common import turns, write

from studies.compete_smoe.parts import routers
from studies.compete_smoe.parts.smoe import Competition, ExpertBank, SMoE, schedule

EXPERTS, TOP_K, WIDTH, HIDDEN, TOKENS, ROUNDS = 16, 2, 64, 64, 1024, 25
Layer = Callable[[torch.Tensor], torch.Tensor]


def layers() -> dict[str, Layer]:
    experts = ExpertBank(WIDTH, HIDDEN, EXPERTS, np.random.default_rng(0))
    router = routers.make("smoe", WIDTH, EXPERTS, np.random.default_rng(1))
    rival = SMoE(experts, router, top_k=TOP_K, competition=Competition(schedule(1.0), key=0))
    rival.begin_step(0, 1)
    w, b, v, c = experts.parameters()

    def all_experts(x: torch.Tensor) -> torch.Tensor:
        best, index = router(x).topk(TOP_K, dim=1)
        weight = best.new_zeros(x.shape[0], EXPERTS).scatter(1, index, best.softmax(dim=1))
        inside = torch.relu(x @ w.permute(1, 0, 2).reshape(WIDTH, -1) + b.reshape(-1))
        inside = inside.view(-1, EXPERTS, HIDDEN) * weight[..., None]
        return inside.view(-1, EXPERTS * HIDDEN) @ v.view(-1, WIDTH) + weight @ c

    def loop(x: torch.Tensor) -> torch.Tensor:
        best, index = router(x).topk(TOP_K, dim=1)
        order = index.reshape(-1).argsort()
        token, counts = order // TOP_K, torch.bincount(index.reshape(-1), minlength=EXPERTS).tolist()
        out = torch.cat([torch.relu(p @ w[e] + b[e]) @ v[e] + c[e] for e, p in enumerate(x[token].split(counts))])
        return torch.zeros_like(x).index_add(0, token, out * best.softmax(dim=1).reshape(-1)[order, None])

    ours = SMoE(experts, router, top_k=TOP_K)
    return {"ours": ours, "competes": rival, "autograd, loop": loop, "autograd, all experts": all_experts}


def main() -> None:
    x = torch.randn(TOKENS, WIDTH, generator=torch.Generator().manual_seed(2)).requires_grad_()
    above = torch.randn(TOKENS, WIDTH, generator=torch.Generator().manual_seed(3))

    def both_ways(layer: Layer) -> torch.Tensor:
        y = layer(x)
        torch.autograd.backward(y, above)
        return y.detach()

    sides = layers()
    seconds, ends = turns({name: lambda layer=layer: both_ways(layer) for name, layer in sides.items()}, ROUNDS)
    for end in ends.values():
        torch.testing.assert_close(end, ends["ours"], rtol=1e-4, atol=1e-4)
    rivals = [name for name in sides if name not in ("ours", "competes")]
    rows = []
    for name, words in (("ours", ""), ("competes", ", a step that competes")):
        row = {"a step": f"sparse layer, top-2 of 16{words}", "this package, ms": 1e3 * seconds[name]}
        row |= {"plain NumPy": "", "by hand": ""}
        rows.append(row | {rival: seconds[rival] / seconds["ours"] if name == "ours" else "" for rival in rivals})
    write("smoe", rows)


if __name__ == "__main__":
    main()
