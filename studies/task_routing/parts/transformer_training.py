"""Train the task-routing transformer and let it complete sentences (task-routing paper, sections 6.2, appendix B)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from studies.task_routing.parts.knowledge import Knowledge, Sentences
from studies.task_routing.parts.task_transformer import TaskTransformer
from studies.task_routing.parts.transformer_gradient import Gradient

if TYPE_CHECKING:
    from studies.task_routing.parts.task_training import Settings


def holdout(sentences: Sentences, s: Settings, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Split the rows of the sentences into training and test rows.

    By sentences, so that the other templates of a pair are seen in training, or by pairs, with all their sentences.
    """
    count = sentences.length.shape[0]
    test = np.zeros(count, dtype=bool)
    if s.split == "sentences":
        test[rng.permutation(count)[: round(s.test_share * count)]] = True
    else:
        for k in range(int(sentences.task.max()) + 1):
            mine = sentences.task == k
            pairs = int(sentences.pair[mine].max()) + 1
            test |= mine & np.isin(sentences.pair, rng.permutation(pairs)[: round(s.test_share * pairs)])
    return np.flatnonzero(~test), np.flatnonzero(test)


def train(
    model: TaskTransformer, sentences: Sentences, rows: np.ndarray, s: Settings, rng: np.random.Generator
) -> np.ndarray:
    """Train with Adam on some rows of the sentences; return the mean cross-entropy (nats per token) of every epoch."""
    tokens, length = np.maximum(sentences.tokens, 0), sentences.length
    gradient = Gradient(model, s.loss, s.weight)
    # one vector of weights: Adam takes its step in one pass
    gradient.weights.grad = gradient.gradient
    optimiser = torch.optim.Adam([gradient.weights], lr=s.rate, fused=True)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, s.decay)
    curve = np.zeros(s.epochs)
    for epoch in range(s.epochs):
        order = rng.permutation(rows)
        total, count = 0.0, 0
        for start in range(0, order.shape[0], s.batch):
            batch = order[start : start + s.batch]
            steps = int(length[batch].max()) - 1
            real = np.arange(steps) < length[batch, None] - 1
            target = torch.from_numpy(tokens[batch, 1 : steps + 1][real])
            task = torch.from_numpy(np.repeat(sentences.task[batch], length[batch] - 1))
            loss = gradient(
                torch.from_numpy(tokens[batch, :steps]), torch.from_numpy(np.flatnonzero(real)), target, task
            )
            total, count = total + loss * target.shape[0], count + target.shape[0]
            optimiser.step()
        schedule.step()
        curve[epoch] = total / count
    return curve


def experts_chosen(model: TaskTransformer, sentences: Sentences, rows: np.ndarray, *, chunk: int = 500) -> np.ndarray:
    """Return the expert (rows, L - 1) of every token of some sentences that has a next one; -1 elsewhere."""
    out = np.full((rows.shape[0], sentences.tokens.shape[1] - 1), -1, dtype=np.int64)
    with torch.no_grad():
        for start in range(0, rows.shape[0], chunk):
            part = rows[start : start + chunk]
            real = np.arange(out.shape[1]) < sentences.length[part, None] - 1
            tokens = torch.from_numpy(np.maximum(sentences.tokens[part, :-1], 0))
            expert = model(tokens, torch.from_numpy(np.flatnonzero(real))).expert.numpy()
            out[start : start + chunk][real] = expert
    return out


def complete(model: TaskTransformer, tokens: np.ndarray, length: np.ndarray, end: int) -> np.ndarray:
    """Complete prefixes greedily until the token ``end`` or the longest length; padded with -1.

    ``tokens`` (B, L): token ids, of which the first ``length`` (B,), 1 to L - 1, are given.
    """
    longest = tokens.shape[1]
    out = np.where(np.arange(longest) < length[:, None], tokens, -1)
    reach = length.copy()
    open_rows = np.arange(out.shape[0])
    with torch.no_grad():
        while open_rows.size:
            steps = int(reach[open_rows].max())
            part = torch.from_numpy(np.maximum(out[open_rows, :steps], 0))
            positions = torch.from_numpy(np.arange(open_rows.size) * steps + reach[open_rows] - 1)
            said = model.logits(model(part, positions)).argmax(dim=-1).numpy()
            out[open_rows, reach[open_rows]] = said
            reach[open_rows] += 1
            open_rows = open_rows[(said != end) & (reach[open_rows] < longest)]
    return out


def in_dataset(knowledge: Knowledge, rows: np.ndarray) -> np.ndarray:
    """Return (B,) whether token rows (B, L), padded with -1, are sentences of the dataset."""
    known = {row.tobytes() for row in knowledge.sentences.tokens.astype(np.int64)}
    return np.array([row.tobytes() in known for row in np.ascontiguousarray(rows, dtype=np.int64)])
