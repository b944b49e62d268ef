"""Accuracy and routing of a trained transformer, its sentences completed and counted one by one in NumPy."""

from collections import Counter
from math import log2

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.papers.task_routing import task_training  # noqa: E402
from moestat.papers.task_routing.knowledge_synthetic import synthetic  # noqa: E402
from moestat.papers.task_routing.task_transformer import Shape, TaskTransformer  # noqa: E402
from moestat.papers.task_routing.transformer_training import Training, experts_chosen, train  # noqa: E402
from moestat.threads import one_thread  # noqa: E402


def say(w, shape, tokens):
    """Return the next token and the expert of the last position: section 3.2 for one prefix, NumPy."""
    d, size, hidden = shape.width, shape.width // shape.heads, shape.hidden
    x = w["embedding"][tokens] + w["position"][: len(tokens)]
    q, k, v = np.split(x @ w["qkv"] + w["qkv_bias"], 3, axis=1)
    parts = []
    for h in range(shape.heads):
        own = slice(h * size, (h + 1) * size)
        score = np.exp(k[:, own] @ q[-1, own] / np.sqrt(size))
        parts.append(score / score.sum() @ v[:, own])
    z = x[-1] + np.concatenate(parts) @ w["mix"] + w["mix_bias"]
    p = np.exp(z @ w["router"])
    e = int(np.argmax(p))
    own = slice(e * hidden, (e + 1) * hidden)
    inside = np.maximum(z @ w["first"][:, own] + w["first_bias"][own], 0.0)
    out = z + p[e] / p.sum() * (inside @ w["second"][own] + w["second_bias"][e])
    return int(np.argmax(w["out"][:, :d] @ out + w["out_bias"])), e


@pytest.fixture(scope="module")
def trained():
    knowledge = synthetic(np.random.default_rng(0), 3, 3, 12)
    model = TaskTransformer(Shape(len(knowledge.vocabulary), knowledge.max_length, 2), np.random.default_rng(1))
    rows = np.arange(knowledge.sentences.length.shape[0])
    with one_thread():
        train(
            model,
            knowledge.sentences,
            rows[::2],
            Training(loss="router", epochs=14, batch=16),
            np.random.default_rng(2),
        )
    weights = {name: value.detach().double().numpy() for name, value in model.named_parameters()}
    return knowledge, model, weights, rows[1::2]


def test_completions_one_by_one(trained):
    """The accuracy, in all and by what was shown: greedy completions that are sentences of the dataset."""
    knowledge, model, w, rows = trained
    s = task_training.Settings(tasks=3, templates=3, pairs=12, experts=2, completions=40)
    with one_thread():
        found = task_training._completions(model, knowledge, rows, s, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    chosen = rng.permutation(rows)[:40]
    cuts = rng.integers(1, knowledge.sentences.length[chosen])
    every = {t.fill(a, b) for task in knowledge.tasks for t in task.templates for a, b in task.table}
    right, shown = [], []
    for row, cut in zip(chosen, cuts, strict=True):
        words = knowledge.sentences.tokens[row, :cut].tolist()
        shown.append(sum(knowledge.vocabulary[t].startswith('"') for t in words))
        while len(words) < knowledge.max_length and (len(words) == cut or knowledge.vocabulary[words[-1]] != "."):
            words.append(say(w, model.shape, words)[0])
        right.append(tuple(knowledge.vocabulary[t] for t in words) in every)
    assert 0.2 < np.mean(right) < 0.95
    assert found["accuracy"] == pytest.approx(np.mean(right))
    for seen, value in enumerate(found["accuracy_by_cut"]):
        assert value == pytest.approx(np.mean([r for r, n in zip(right, shown, strict=True) if n == seen]))


def test_routing_counted_one_by_one(trained):
    """Mutual information, entropy of the use, favourite experts and the share routed as asked, from pairs counted."""
    knowledge, model, w, rows = trained
    s = task_training.Settings(tasks=3, templates=3, pairs=12, experts=2)
    with one_thread():
        found = task_training._routing(experts_chosen(model, knowledge.sentences, rows), knowledge, rows, s)
    owners = {}
    for k, task in enumerate(knowledge.tasks):
        for words in (t.fill(a, b) for t in task.templates for a, b in task.table):
            for i in range(1, len(words)):
                owners.setdefault(words[:i], set()).add(k)
    seen, asked = [], []
    for row in rows:
        task = int(knowledge.sentences.task[row])
        tokens = knowledge.sentences.tokens[row, : knowledge.sentences.length[row]]
        for i in range(1, len(tokens)):
            e = say(w, model.shape, tokens[:i])[1]
            seen.append((e, task))
            if len(owners[tuple(knowledge.vocabulary[t] for t in tokens[:i])]) == 1:
                asked.append(e == task % 2)
    n, both = len(seen), Counter(seen)
    by_expert, by_task = Counter(e for e, _ in seen), Counter(k for _, k in seen)
    bits = sum(c / n * log2(c * n / (by_expert[e] * by_task[k])) for (e, k), c in both.items())
    assert found["mutual_information"] == pytest.approx(bits)
    assert found["usage_entropy"] == pytest.approx(-sum(c / n * log2(c / n) for c in by_expert.values()))
    assert found["top_share"] == pytest.approx(
        np.mean([max(both[e, k] for e in (0, 1)) / by_task[k] for k in range(3)])
    )
    assert found["routed_as_asked"] == pytest.approx(np.mean(asked))
    assert found["ambiguous_share"] == pytest.approx(1 - len(asked) / n)
