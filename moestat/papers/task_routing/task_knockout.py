"""Where the facts are: silence one expert of a trained transformer and count the objects that it still names.

The task-routing paper concludes that "task-level routing encourages specialized experts to store knowledge" (its
section 7). A model is trained as in :mod:`moestat.papers.task_routing.task_training`; then the outputs of single
experts are set to zero, their routing left as it is. If a task's facts are in the expert that its tokens go to,
silencing that one costs their objects and silencing another does not. The reverse is weaker: a silent expert also takes
away what it adds to every token of the task, so that what is lost bounds from above what that expert alone stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from moestat.experiment import Cell, require_torch
from moestat.papers.task_routing.task_training import Settings as Settings
from moestat.papers.task_routing.task_training import read_data as read_data
from moestat.status import Status
from moestat.threads import one_thread

SILENT = ("none", "own", "other", "all")
"""Which experts are silent: none, the one that a task uses most, each of the others in turn, all."""


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Train one model per replicate and silence its experts.

    Returns
    -------
    xarray.Dataset
        ``recall`` (silent): share of the test sentences, cut just before the object with the subject shown, of which
        the next token is the object; a mean over tasks, for *other* over the other experts, too. ``own_loss``: recall
        with another expert silent less that with the own one silent. ``own_share``: share of those cuts that the router
        sends to the own expert, the one that most of them of the task go to. ``train_loss`` in nats per token.
    """
    require_torch()
    settings = Settings.model_validate(dict(cell.settings))
    with one_thread():
        rows = [_replicate(cell, settings, replicate) for replicate in replicates]
    dims = {"recall": ("silent",)}
    variables = {name: (("replicate", *dims.get(name, ())), np.array([row[name] for row in rows])) for name in rows[0]}
    coords = {"replicate": np.asarray(replicates, dtype=np.int64), "silent": np.array(SILENT, dtype=object)}
    return xr.Dataset(variables, coords=coords)


def _replicate(cell: Cell, settings: Settings, replicate: int) -> dict[str, Any]:
    from moestat.papers.task_routing import transformer_training as training
    from moestat.papers.task_routing.task_transformer import Shape, TaskTransformer

    source = settings.source()
    data = source.identity
    knowledge = source.draw(cell.generator(replicate, "knowledge", **data))
    sentences = knowledge.sentences
    split = {**data, "split": settings.split, "test_share": settings.test_share}
    train_rows, test_rows = training.holdout(
        sentences, settings.split, settings.test_share, cell.generator(replicate, "split", **split)
    )
    shape = Shape(
        vocabulary=len(knowledge.vocabulary),
        length=knowledge.max_length,
        experts=settings.experts,
        width=settings.width,
        hidden=settings.hidden,
        heads=settings.heads,
    )
    start = cell.generator(replicate, "start", tokens=shape.vocabulary, experts=shape.experts, width=shape.width)
    model = TaskTransformer(shape, start, gate=settings.gate)
    plan = training.Training(
        loss=settings.loss,
        weight=settings.weight,
        epochs=settings.epochs,
        rate=settings.rate,
        decay=settings.decay,
        batch=settings.batch,
    )
    curve = training.train(model, sentences, train_rows, plan, cell.generator(replicate, "batches", **split))
    finite = bool(np.isfinite(curve).all())
    status = Status.CONVERGED if finite else Status.NOT_FINITE
    tokens, task = sentences.tokens[test_rows], sentences.task[test_rows]
    return {
        **silenced(model, tokens, task, len(knowledge.words)),
        "train_loss": float(curve[-1]),
        "status": int(status),
        "message": f"The training ran its {settings.epochs} epochs." if finite else status.sentence,
        "iterations": settings.epochs * -(-train_rows.shape[0] // settings.batch),
    }


def silenced(model: Any, tokens: np.ndarray, task: np.ndarray, words: int) -> dict[str, Any]:
    """Count the objects that a model names with single experts silent.

    Parameters
    ----------
    model : TaskTransformer
        The transformer.
    tokens : ndarray, shape (B, L)
        Sentences, padded with -1; the second entity (a token of ``words`` or more) is the object.
    task : ndarray, shape (B,)
        Task of each sentence.
    words : int
        Number of tokens that are words.

    Returns
    -------
    dict
        ``recall`` (4,) in the order of ``SILENT``, ``own_loss`` and ``own_share``; see :func:`run`.
    """
    import torch

    experts = model.shape.experts
    place = np.array([np.flatnonzero(row)[1] for row in tokens >= words])
    rows = np.arange(tokens.shape[0])
    last = torch.from_numpy(rows * (tokens.shape[1] - 1) + place - 1)
    inputs = torch.from_numpy(np.maximum(tokens[:, :-1], 0))
    # top-1: with its expert silent, a position has what the attention and the embedding say alone
    zero = {name: torch.zeros_like(getattr(model, name)) for name in ("second", "second_bias")}
    with torch.no_grad():
        whole, silent = model(inputs, last), torch.func.functional_call(model, zero, (inputs, last))
        expert = whole.expert.numpy()
        named, alone = (
            model.logits(routed).argmax(dim=-1).numpy() == tokens[rows, place] for routed in (whole, silent)
        )
    kinds = np.unique(task)
    recall, share = np.zeros((kinds.size, len(SILENT))), np.zeros(kinds.size)
    for i, k in enumerate(kinds):
        mine = task == k
        used = np.bincount(expert[mine], minlength=experts)
        own = int(used.argmax())
        each = [np.where(expert[mine] == e, alone[mine], named[mine]).mean() for e in range(experts)]
        others = [value for e, value in enumerate(each) if e != own]
        recall[i] = named[mine].mean(), each[own], np.mean(others) if others else np.nan, alone[mine].mean()
        share[i] = used[own] / mine.sum()
    means = recall.mean(axis=0)
    return {"recall": means, "own_loss": float(means[2] - means[1]), "own_share": float(share.mean())}
