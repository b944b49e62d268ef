"""The constructed transformer, and the trained one beside plain PyTorch.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/task_routing.py            # about 60 CPU seconds
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/task_routing.py --large    # also 20x5x200 and 40x5x200

Construction: build the weights of Theorem 4.2 and check every prefix (up to 50 000; float64). Training: one step (64
sentences, 5 experts, router loss) beside the same layer differentiated by autograd, and beside
``nn.MultiheadAttention``, a loop over experts and ``cross_entropy``. The floor is the three products of tokens,
vocabulary and width that every step has (logits, and their gradient in both factors), without anything else. Best of
five rounds, in which all take turns; CPU milliseconds of the process, one thread.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from moestat.training.vocabulary_loss import linear_cross_entropy
from studies.task_routing.parts.construction.check import check
from studies.task_routing.parts.construction.model import build
from studies.task_routing.parts.knowledge_sources import synthetic
from studies.task_routing.parts.task_training import Settings
from studies.task_routing.parts.transformer import Shape, TaskTransformer, train

RESULTS = Path(__file__).parent / "results" / "task_routing.json"


def construction(size: tuple[int, int, int]) -> dict[str, float]:
    knowledge = synthetic(np.random.default_rng(0), *size)
    assert len(knowledge.prefixes)  # enumerated before the time is taken
    begin = time.process_time()
    built = build(knowledge, np.random.default_rng(1))
    row = {"build_s": time.process_time() - begin}
    begin = time.process_time()
    found = check(built, np.random.default_rng(2))
    row |= {"check_s": time.process_time() - begin, "prefixes": len(found.prefixes)}
    row["per_second"] = len(found.prefixes) / row["check_s"]
    assert not found.low_mass.any()
    assert not found.misrouted.any()
    return row


class Plain(torch.nn.Module):
    """The transformer as one writes it down."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        d = shape.width
        self.embedding, self.position = torch.nn.Embedding(shape.vocabulary, d), torch.nn.Embedding(shape.length, d)
        self.attention = torch.nn.MultiheadAttention(d, shape.heads, batch_first=True)
        self.router = torch.nn.Linear(d, shape.experts, bias=False)
        self.experts = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(d, shape.hidden), torch.nn.ReLU(), torch.nn.Linear(shape.hidden, d))
            for _ in range(shape.experts)
        )
        self.out = torch.nn.Linear(d, shape.vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits (B, S, vocabulary)."""
        steps = tokens.shape[1]
        x = self.embedding(tokens) + self.position(torch.arange(steps))
        mask = torch.ones(steps, steps, dtype=torch.bool).triu(1)
        z = x + self.attention(x, x, x, attn_mask=mask, need_weights=False)[0]
        p = self.router(z).softmax(-1)
        best, expert = p.max(-1)
        out = torch.zeros_like(z)
        for e, network in enumerate(self.experts):
            mine = expert == e
            out[mine] = best[mine][:, None] * network(z[mine])
        return self.out(z + out)


def autograd(model: TaskTransformer, tokens: np.ndarray, length: np.ndarray, task: np.ndarray) -> None:
    """Train for one epoch as before: the layer differentiated by autograd, one tensor per weight."""
    optimiser = torch.optim.Adam(model.parameters(), lr=0.006, fused=True)
    ids, ends, tasks = torch.from_numpy(np.maximum(tokens, 0)), torch.from_numpy(length), torch.from_numpy(task)
    for batch in torch.from_numpy(np.random.default_rng(2).permutation(len(tokens))).split(64):
        steps = int(ends[batch].max()) - 1
        real = torch.arange(steps) < ends[batch, None] - 1
        positions = real.view(-1).nonzero()[:, 0]
        routed = model(ids[batch, :steps], positions)
        target = ids[batch, 1 : steps + 1].reshape(-1)[positions]
        loss = linear_cross_entropy(routed.output, model.out, model.out_bias, target)
        asked = tasks[batch].repeat_interleave(real.sum(dim=1)) % model.shape.experts
        loss = loss - 0.2 * routed.scores.gather(1, asked[:, None]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def textbook_epoch(model: Plain, tokens: np.ndarray) -> None:
    optimiser = torch.optim.Adam(model.parameters(), lr=0.006)
    ids = torch.from_numpy(tokens)
    for batch in torch.from_numpy(np.random.default_rng(2).permutation(len(tokens))).split(64):
        logits = model(ids[batch, :-1].clamp_min(0))
        loss = torch.nn.functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]), ids[batch, 1:].reshape(-1), ignore_index=-1
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def products(rows: int, vocabulary: int, width: int, count: int) -> None:
    """Do ``count`` times the three products of an output layer, in blocks that stay in the cache."""
    block = max((1 << 18) // vocabulary, 1)
    x, weight = torch.rand(rows, width), torch.rand(vocabulary, width)
    logits, grad_x, grad_weight = torch.empty(block, vocabulary), torch.empty(rows, width), torch.empty_like(weight)
    for _ in range(count):
        for start in range(0, rows, block):
            part = x[start : start + block]
            z = torch.mm(part, weight.t(), out=logits[: part.shape[0]])
            torch.mm(z, weight, out=grad_x[start : start + block])
            grad_weight.addmm_(z.t(), part)


def training(tasks: int, pairs: int, steps: int) -> dict[str, float]:
    knowledge = synthetic(np.random.default_rng(0), tasks, 5, pairs)
    sentences = knowledge.sentences
    rows = np.arange(64 * steps)
    tokens, length, task = (part[rows] for part in (sentences.tokens, sentences.length, sentences.task))
    shape = Shape(len(knowledge.vocabulary), knowledge.max_length, experts=5)
    plan = Settings(epochs=1, loss="router")

    def model() -> TaskTransformer:
        return TaskTransformer(shape, np.random.default_rng(1))

    sides = {
        "moestat_ms": lambda: train(model(), sentences, rows, plan, np.random.default_rng(2)),
        "autograd_ms": lambda: autograd(model(), tokens, length, task),
        "torch_ms": lambda: textbook_epoch(Plain(shape), tokens),
        "floor_ms": lambda: products(int(np.sum(length - 1)) // steps, shape.vocabulary, shape.width, steps),
    }
    best = dict.fromkeys(sides, np.inf)
    for _ in range(5):
        for name, side in sides.items():
            begin = time.process_time()
            side()
            best[name] = min(best[name], (time.process_time() - begin) / steps * 1e3)
    ratios = {f"ratio_{name}": best[f"{name}_ms"] / best["moestat_ms"] for name in ("autograd", "torch", "floor")}
    return {"vocabulary": shape.vocabulary, **best, **ratios}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    result: dict[str, object] = {"machine": platform.processor() or platform.machine()}
    with threadpool_limits(1):
        sizes = [(5, 3, 20), (10, 5, 50)] + ([(20, 5, 200), (40, 5, 200)] if options.large else [])
        for size in sizes:
            name = "x".join(map(str, size))
            result[name] = construction(size)
            print(name, {k: round(v, 3) for k, v in result[name].items()}, flush=True)  # type: ignore[attr-defined]
        for tasks, pairs in ((10, 60), (10, 200), (40, 200)):
            name = f"step, {tasks} tasks of {pairs}"
            result[name] = training(tasks, pairs, 20)
            print(name, {k: round(v, 2) for k, v in result[name].items()}, flush=True)  # type: ignore[attr-defined]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
