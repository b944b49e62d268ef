"""A training step of the task-routing transformer, beside plain PyTorch.

    python benchmarks/task_routing.py            # about 30 CPU seconds

64 sentences, 5 experts of 10 neurons, width 30, float32, router loss. *by hand* is ours without its derivatives, the
same layer by autograd, one tensor per weight; *autograd, loop* is ``nn.MultiheadAttention``, a loop over the experts,
and ``cross_entropy`` on the real tokens alone, with the fused Adam. CPU milliseconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from common import turns, write

from moestat.training.vocabulary_loss import linear_cross_entropy
from studies.task_routing.parts.knowledge_sources import synthetic
from studies.task_routing.parts.task_training import Settings
from studies.task_routing.parts.transformer import Shape, TaskTransformer, train

STEPS = 10


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

    def forward(self, tokens: torch.Tensor, real: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits (k, vocabulary) and router's scores (k, experts) of the k real tokens."""
        steps = tokens.shape[1]
        x = self.embedding(tokens) + self.position(torch.arange(steps))
        mask = torch.ones(steps, steps, dtype=torch.bool).triu(1)
        z = (x + self.attention(x, x, x, attn_mask=mask, need_weights=False)[0])[real]
        p = self.router(z).softmax(-1)
        best, expert = p.max(-1)
        out = torch.zeros_like(z)
        for e, network in enumerate(self.experts):
            mine = expert == e
            out[mine] = best[mine][:, None] * network(z[mine])
        return self.out(z + out), p


def epoch(model: torch.nn.Module, tokens: np.ndarray, length: np.ndarray, task: np.ndarray) -> None:
    """Train either model for one epoch, by autograd."""
    optimiser = torch.optim.Adam(model.parameters(), lr=0.006, fused=True)
    ids, ends, tasks = torch.from_numpy(np.maximum(tokens, 0)), torch.from_numpy(length), torch.from_numpy(task)
    for batch in torch.from_numpy(np.random.default_rng(2).permutation(len(tokens))).split(64):
        steps = int(ends[batch].max()) - 1
        real = torch.arange(steps) < ends[batch, None] - 1
        target = ids[batch, 1 : steps + 1][real]
        if isinstance(model, TaskTransformer):
            routed = model(ids[batch, :steps], real.view(-1).nonzero()[:, 0])
            scores, loss = routed.scores, linear_cross_entropy(routed.output, model.out, model.out_bias, target)
        else:
            logits, scores = model(ids[batch, :steps], real)
            loss = torch.nn.functional.cross_entropy(logits, target)
        asked = tasks[batch].repeat_interleave(real.sum(dim=1)) % scores.shape[1]
        loss = loss - 0.2 * scores.gather(1, asked[:, None]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def row(tasks: int, pairs: int) -> dict[str, Any]:
    knowledge = synthetic(np.random.default_rng(0), tasks, 5, pairs)
    sentences, rows = knowledge.sentences, np.arange(64 * STEPS)
    given = [part[rows] for part in (sentences.tokens, sentences.length, sentences.task)]
    shape = Shape(len(knowledge.vocabulary), knowledge.max_length, experts=5)
    plan = Settings(epochs=1, loss="router")

    def model() -> TaskTransformer:
        return TaskTransformer(shape, np.random.default_rng(1))

    sides = {
        "ours": lambda: train(model(), sentences, rows, plan, np.random.default_rng(2)),
        "by hand": lambda: epoch(model(), *given),
        "autograd, loop": lambda: epoch(Plain(shape), *given),
    }
    seconds, _ = turns(sides, 4)
    out: dict[str, Any] = {"a step": f"task transformer, {tasks} tasks, vocabulary {shape.vocabulary}"}
    out |= {"this package, ms": 1e3 * seconds["ours"] / STEPS, "plain NumPy": ""}
    return out | {k: seconds[k] / seconds["ours"] for k in sides if k != "ours"}


if __name__ == "__main__":
    write("task_routing", [row(*case) for case in ((10, 60), (40, 200))])
