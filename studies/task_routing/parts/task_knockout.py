"""Where the facts are: silence one expert of a trained transformer and count the objects that it still names.

A model is trained as in :mod:`studies.task_routing.parts.task_training`; then the outputs of single experts are set to
zero, their routing left as it is, or put at their mean over the training cuts of the task, which holds no fact of one
subject.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from moestat.experiment import require_torch
from moestat.replicates import Row, Streams, each
from moestat.threads import one_thread
from studies.task_routing.parts.knowledge_sources import read_data as read_data
from studies.task_routing.parts.task_training import Settings as Settings
from studies.task_routing.parts.task_training import trained

VERSION = 1

SILENT = ("none", "own", "other", "all")
"""Which experts are silent: none, the one that a task uses most, each of the others in turn, all."""


@each(dims={"recall": ("silent",), "recall_mean": ("silent",)}, coords={"silent": SILENT})
def run(s: Settings, streams: Streams) -> Row:
    """Train one model per replicate and silence its experts.

    ``recall`` (silent): share of the test sentences, cut just before the object, of which the next token is the object;
    a mean over tasks, for *other* over the other experts, too. ``recall_mean``: the same with an expert at its mean
    over the training cuts of the task that go to it (0 if none does). ``own_loss``, ``own_loss_mean``: recall with
    another expert so less that with the own one. ``own_share``: share of those cuts that go to the own expert.
    """
    require_torch()
    with one_thread():
        one = trained(s, streams)
        sentences = one.knowledge.sentences
        test, known = ((sentences.tokens[rows], sentences.task[rows]) for rows in (one.test_rows, one.train_rows))
        found = silenced(one.model, *test, known, len(one.knowledge.words))
    return found | {"train_loss": float(one.curve[-1])} | one.ending


def silenced(
    model: Any, tokens: np.ndarray, task: np.ndarray, known: tuple[np.ndarray, np.ndarray], words: int
) -> dict[str, Any]:
    """Count the objects that a model names with single experts silent, or at their mean; see :func:`run`.

    ``tokens`` (B, L): sentences, padded with -1; the second entity (a token of ``words`` or more) is the object.
    ``task`` (B,): task of each. ``known``: tokens and tasks of the sentences over which the means are taken.
    """
    experts, kinds = model.shape.experts, np.unique(task)
    cuts, learnt = _cuts(model, tokens, words), _cuts(model, known[0], words)
    constant = np.zeros((kinds.size, experts, model.shape.width), dtype=cuts.alone.dtype)
    for i, k in enumerate(kinds):
        for e in np.unique(learnt.expert[known[1] == k]):
            there = (known[1] == k) & (learnt.expert == e)
            constant[i, e] = (learnt.output - learnt.alone)[there].mean(axis=0)
    # top-1: with its expert silent, a position has what the attention and the embedding say alone
    added = constant[np.searchsorted(kinds, task), cuts.expert]
    whole, without, average = (cuts.named(model, out) for out in (cuts.output, cuts.alone, cuts.alone + added))
    recall, share = np.zeros((2, kinds.size, len(SILENT))), np.zeros(kinds.size)
    for i, k in enumerate(kinds):
        mine = task == k
        expert, named = cuts.expert[mine], whole[mine]
        used = np.bincount(expert, minlength=experts)
        own = int(used.argmax())
        share[i] = used[own] / mine.sum()
        for way, off in enumerate((without[mine], average[mine])):
            each = [np.where(expert == e, off, named).mean() for e in range(experts)]
            others = [value for e, value in enumerate(each) if e != own]
            recall[way, i] = named.mean(), each[own], np.mean(others) if others else np.nan, off.mean()
    zero, mean = recall.mean(axis=1)
    return {
        "recall": zero,
        "recall_mean": mean,
        "own_loss": float(zero[2] - zero[1]),
        "own_loss_mean": float(mean[2] - mean[1]),
        "own_share": float(share.mean()),
    }


@dataclass(frozen=True)
class _Cuts:
    """Sentences cut before the object: the layer's output there, that without experts, and the token that is right."""

    output: np.ndarray
    alone: np.ndarray
    expert: np.ndarray
    wanted: np.ndarray

    def named(self, model: Any, output: np.ndarray) -> np.ndarray:
        """Return whether the model names the object (B,) from outputs (B, width)."""
        import torch

        with torch.no_grad():
            logits = torch.addmm(model.out_bias, torch.from_numpy(output), model.out.t())
        named: np.ndarray = logits.argmax(dim=-1).numpy() == self.wanted
        return named


def _cuts(model: Any, tokens: np.ndarray, words: int) -> _Cuts:
    import torch

    place = np.array([np.flatnonzero(row)[1] for row in tokens >= words])
    rows = np.arange(tokens.shape[0])
    last = torch.from_numpy(rows * (tokens.shape[1] - 1) + place - 1)
    inputs = torch.from_numpy(np.maximum(tokens[:, :-1], 0))
    zero = {name: torch.zeros_like(getattr(model, name)) for name in ("second", "second_bias")}
    with torch.no_grad():
        whole, silent = model(inputs, last), torch.func.functional_call(model, zero, (inputs, last))
    return _Cuts(whole.output.numpy(), silent.output.numpy(), whole.expert.numpy(), tokens[rows, place])
