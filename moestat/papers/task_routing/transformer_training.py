"""Train the task-routing transformer and let it complete sentences (task-routing paper, sections 6.2, appendix B)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from moestat.papers.task_routing.knowledge import Knowledge, Sentences
from moestat.papers.task_routing.task_transformer import Routed, TaskTransformer
from moestat.training.vocabulary_loss import linear_cross_entropy

Loss = Literal["ce", "load_balance", "router"]
Split = Literal["sentences", "pairs"]


@dataclass(frozen=True)
class Training:
    """How the transformer is trained; the defaults are the paper's."""

    loss: Loss = "ce"
    weight: float = 0.2
    epochs: int = 50
    rate: float = 0.006
    decay: float = 0.98
    batch: int = 64


def holdout(
    sentences: Sentences, split: Split, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Split the rows of the sentences into training and test rows.

    ``"sentences"`` holds out single sentences, so that the other templates of a pair are seen in training;
    ``"pairs"`` holds out every sentence of a pair, task by task.
    """
    count = sentences.length.shape[0]
    test = np.zeros(count, dtype=bool)
    if split == "sentences":
        test[rng.permutation(count)[: round(share * count)]] = True
    else:
        for k in range(int(sentences.task.max()) + 1):
            mine = sentences.task == k
            pairs = int(sentences.pair[mine].max()) + 1
            test |= mine & np.isin(sentences.pair, rng.permutation(pairs)[: round(share * pairs)])
    return np.flatnonzero(~test), np.flatnonzero(test)


def auxiliary(loss: Loss, routed: Routed, task: torch.Tensor) -> torch.Tensor | None:
    """Return the auxiliary loss of the tokens (section 6.2), or None for ``"ce"``.

    ``"load_balance"``: E sum_e (mean probability)(share of tokens). ``"router"``: mean -log probability of the
    expert of the token's task, which is task mod E.
    """
    experts = routed.scores.shape[1]
    if loss == "load_balance":
        share = torch.bincount(routed.expert, minlength=experts).to(routed.scores.dtype) / routed.expert.shape[0]
        return experts * (routed.scores.exp().mean(dim=0) * share).sum()
    if loss == "router":
        return -routed.scores.gather(1, (task % experts)[:, None]).mean()
    return None


def train(
    model: TaskTransformer,
    sentences: Sentences,
    rows: np.ndarray,
    training: Training,
    rng: np.random.Generator,
) -> np.ndarray:
    """Train with Adam on some rows of the sentences; return the mean cross-entropy (nats per token) of every epoch.

    Every epoch is a new random order in batches of ``training.batch``, the rate decays by ``training.decay`` after it.
    """
    tokens = torch.from_numpy(np.maximum(sentences.tokens, 0))
    length, task = torch.from_numpy(sentences.length), torch.from_numpy(sentences.task)
    optimiser = torch.optim.Adam(model.parameters(), lr=training.rate, fused=True)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, training.decay)
    curve = np.zeros(training.epochs)
    for epoch in range(training.epochs):
        total, count = 0.0, 0
        for batch in torch.from_numpy(rng.permutation(rows)).split(training.batch):
            steps = int(length[batch].max()) - 1
            real = torch.arange(steps) < length[batch, None] - 1
            positions = real.view(-1).nonzero()[:, 0]
            routed = model(tokens[batch, :steps], positions)
            target = tokens[batch, 1 : steps + 1].reshape(-1)[positions]
            loss = linear_cross_entropy(routed.output, model.out, model.out_bias, target)
            total, count = total + loss.item() * target.shape[0], count + target.shape[0]
            extra = auxiliary(training.loss, routed, task[batch].repeat_interleave(real.sum(dim=1)))
            if extra is not None:
                loss = loss + training.weight * extra
            optimiser.zero_grad()
            loss.backward()
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
    """Complete prefixes greedily until the end-of-sentence token or the longest length.

    Parameters
    ----------
    model : TaskTransformer
        The transformer.
    tokens : ndarray, shape (B, L)
        Token ids; what stands at and after ``length`` is ignored.
    length : ndarray, shape (B,)
        Lengths of the prefixes, 1 to L - 1.
    end : int
        Id of the end-of-sentence token.

    Returns
    -------
    ndarray, shape (B, L)
        The completed sentences, padded with -1.
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
