"""Train the one-layer mixture-of-experts transformer of the task-routing paper (section 6, appendix B).

Arms that share what dataset, split, initial weights, batches or cuts depend on share the draw: losses are compared on
paired runs. The network runs on the CPU in one thread, so that a replicate has the same bits on processors whose
kernels round alike. On others a training drifts apart and ends as another draw: single accuracies may differ by several
points, and only means over seeds are comparable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator

from moestat.experiment import require_torch
from moestat.losses import routing
from moestat.replicates import Row, Streams, each
from moestat.status import Status
from moestat.threads import one_thread
from studies.task_routing.parts.knowledge import END, Knowledge
from studies.task_routing.parts.knowledge_sources import KnowledgeSettings
from studies.task_routing.parts.knowledge_sources import read_data as read_data

VERSION = 1

CUTS = ("start", "recall", "rest")  # where a sentence was cut: so many entities were shown (none, the subject, both)


class Settings(KnowledgeSettings):
    """Settings of a cell; the defaults are the paper's, *ours* where it does not say."""

    tasks: int = Field(10, ge=1, description="K")
    templates: int = Field(5, ge=1, description="templates per task")
    pairs: int = Field(200, ge=2, description="pairs per task")
    experts: int = Field(5, ge=1, description="E; the expert of task k is k mod E")
    loss: Literal["ce", "load_balance", "router"] = Field("ce", description="cross-entropy alone, or with one of two")
    weight: float = Field(0.2, ge=0, description="lambda, weight of the auxiliary loss")
    gate: bool = Field(True, description="ours: whether the expert's output is multiplied with its probability")
    split: Literal["sentences", "pairs"] = Field("sentences", description="what is held out")
    test_share: float = Field(0.2, gt=0, lt=1, description="share that is held out")
    epochs: int = Field(50, ge=1, description="passes over the training sentences")
    rate: float = Field(0.006, gt=0, description="learning rate at the start")
    decay: float = Field(0.98, gt=0, le=1, description="factor of the rate after an epoch")
    batch: int = Field(64, ge=1, description="sentences per step")
    width: int = Field(30, ge=1, description="width of the model")
    hidden: int = Field(10, ge=1, description="neurons of an expert")
    heads: int = Field(10, ge=1, description="must divide width")
    completions: int = Field(1000, ge=1, description="ours: test sentences that are cut and completed (all if fewer)")

    @field_validator("heads")
    @classmethod
    def _heads(cls, heads: int, info: Any) -> int:
        width = info.data.get("width", 0)
        if width % heads:
            raise ValueError(f"heads is {heads}; it must divide width, which is {width}")
        return heads

    @property
    def dataset(self) -> str:
        """Tasks x templates x pairs."""
        return f"{self.tasks}x{self.templates}x{self.pairs}"


DIMS = {"routing": ("task", "expert"), "accuracy_by_cut": ("cut",)}


def coords(s: Settings) -> dict[str, Any]:
    """Return the labels of the dimensions."""
    return {"cut": CUTS, "task": np.arange(1, s.tasks + 1), "expert": np.arange(1, s.experts + 1)}


@each(dims=DIMS, coords=coords)
def run(s: Settings, streams: Streams) -> Row:
    """Train and evaluate one model per replicate; ``variables.toml`` says what every variable is.

    ``accuracy_by_cut`` (cut): by where the sentence was cut: before the subject (``start``), with the object still to
    be recalled (``recall``) or after the object (``rest``). ``routed_as_asked`` counts tokens whose prefix one task
    alone generates. What is said of routing is counted over the tokens of the test sentences.
    """
    return measured(s, streams)


def measured(s: Settings, streams: Streams) -> Row:
    """Return the variables of :func:`run`."""
    require_torch()
    with one_thread():
        from studies.task_routing.parts.transformer import experts_chosen

        one = trained(s, streams)
        chosen = experts_chosen(one.model, one.knowledge.sentences, one.test_rows)
        return {
            **completed(one.model, one.knowledge, one.test_rows, s.completions, streams("cuts", **one.split)),
            **routed(chosen, one.knowledge, one.test_rows, s),
            "train_loss": float(one.curve[-1]),
            "pairs": s.pairs,
            **one.ending,
        }


@dataclass(frozen=True)
class Trained:
    """A trained model, what it was trained and can be tested on, and how the training went."""

    model: Any
    knowledge: Knowledge
    train_rows: np.ndarray  # train_rows, test_rows: sentences of ``knowledge``
    test_rows: np.ndarray
    split: dict[str, Any]  # what the split depends on, for draws that follow it
    curve: np.ndarray  # (epochs,): training cross-entropy in nats per token
    ending: dict[str, Any]  # ``status``, ``message``, ``iterations``


def trained(s: Settings, streams: Streams) -> Trained:
    """Draw the dataset, the split and the initial weights of a replicate, and train its model."""
    from studies.task_routing.parts import transformer as training
    from studies.task_routing.parts.transformer import Shape, TaskTransformer

    knowledge = s.draw(streams("knowledge", **s.identity))
    split = {**s.identity, "split": s.split, "test_share": s.test_share}
    rows = training.holdout(knowledge.sentences, s, streams("split", **split))
    shape = Shape(len(knowledge.vocabulary), knowledge.max_length, s.experts, s.width, s.hidden, s.heads)
    start = streams("start", tokens=shape.vocabulary, experts=shape.experts, width=shape.width)
    model = TaskTransformer(shape, start, gate=s.gate)
    curve = training.train(model, knowledge.sentences, rows[0], s, streams("batches", **split))
    finite = bool(np.isfinite(curve).all())
    status = Status.CONVERGED if finite else Status.NOT_FINITE
    ending = {
        "status": int(status),
        "message": f"The training ran its {s.epochs} epochs." if finite else status.sentence,
        "iterations": s.epochs * -(-rows[0].shape[0] // s.batch),
    }
    return Trained(model, knowledge, *rows, split, curve, ending)


def routed(expert: np.ndarray, knowledge: Knowledge, rows: np.ndarray, s: Settings) -> dict[str, Any]:
    """Measure how the experts of the tokens of some sentences follow the tasks."""
    real = expert >= 0
    expert, task = expert[real], np.broadcast_to(knowledge.sentences.task[rows, None], expert.shape)[real]
    asked = np.arange(s.tasks) % s.experts
    counts, wanted = np.zeros((2, s.experts, s.tasks))
    np.add.at(counts, (expert, task), 1.0)
    wanted[asked, np.arange(s.tasks)] = counts.sum(axis=0)
    single = knowledge.prefixes.compatible[knowledge.prefix_of[rows][real]].sum(axis=1) == 1
    return {
        "mutual_information": routing.mutual_information(counts),
        "information_limit": routing.mutual_information(wanted),
        "usage_entropy": routing.usage_entropy(counts),
        "top_share": routing.top_share(counts),
        "routed_as_asked": float(np.mean(expert[single] == asked[task[single]])),
        "ambiguous_share": float(np.mean(~single)),
        "routing": (counts / counts.sum(axis=0)).T,
    }


def completed(
    model: Any, knowledge: Knowledge, rows: np.ndarray, count: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Cut ``count`` sentences at random, complete them, and return the shares that are sentences of the dataset."""
    from studies.task_routing.parts import transformer as training

    sentences = knowledge.sentences
    chosen = rng.permutation(rows)[:count]
    tokens, length = sentences.tokens[chosen], sentences.length[chosen]
    cut = rng.integers(1, length)
    right = training.in_dataset(knowledge, training.complete(model, tokens, cut, knowledge.token_id[END]))
    named = (tokens >= len(knowledge.words)) & (np.arange(tokens.shape[1]) < cut[:, None])
    shown = named.sum(axis=1)
    parts = [right[shown == i] for i in range(len(CUTS))]
    by_cut = np.array([part.mean() if part.size else np.nan for part in parts])
    return {"accuracy": float(right.mean()), "accuracy_by_cut": by_cut}
