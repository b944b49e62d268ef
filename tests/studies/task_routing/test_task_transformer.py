"""The trained transformer: its loss, its layer, its auxiliary losses and its completions."""

from collections import Counter
from functools import partial
from math import log2

import numpy as np
import pytest
from cells import cell_of

from studies.task_routing.parts import task_training

torch = pytest.importorskip("torch")

from moestat.threads import one_thread  # noqa: E402
from studies.task_routing.parts.knowledge_sources import FIXED, synthetic  # noqa: E402
from studies.task_routing.parts.transformer import (  # noqa: E402
    Gradient,
    Shape,
    TaskTransformer,
    complete,
    experts_chosen,
    holdout,
    in_dataset,
    output_gradient,
    train,
)


def textbook(model, tokens):
    """Return output and probabilities of one sentence by section 3.2, one head and one expert at a time, NumPy."""
    w = {name: value.detach().double().numpy() for name, value in model.named_parameters()}
    s, d, heads, hidden = len(tokens), model.shape.width, model.shape.heads, model.shape.hidden
    x = w["embedding"][tokens] + w["position"][:s]
    projected = x @ w["qkv"] + w["qkv_bias"]
    q, k, v = projected[:, :d], projected[:, d : 2 * d], projected[:, 2 * d :]
    parts = []
    for h in range(heads):
        own = slice(h * d // heads, (h + 1) * d // heads)
        scores = np.where(np.tril(np.ones((s, s))) > 0, q[:, own] @ k[:, own].T / np.sqrt(d // heads), -np.inf)
        weight = np.exp(scores - scores.max(axis=1, keepdims=True))
        parts.append(weight / weight.sum(axis=1, keepdims=True) @ v[:, own])
    z = x + np.concatenate(parts, axis=1) @ w["mix"] + w["mix_bias"]
    p = np.exp(z @ w["router"])
    p /= p.sum(axis=1, keepdims=True)
    out = z.copy()
    for t in range(s):
        e = int(np.argmax(p[t]))
        own = slice(e * hidden, (e + 1) * hidden)
        inside = np.maximum(z[t] @ w["first"][:, own] + w["first_bias"][own], 0.0)
        out[t] += (p[t, e] if model.gate else 1.0) * (inside @ w["second"][own] + w["second_bias"][e])
    return out, p


@pytest.mark.parametrize("gate", [True, False])
def test_layer_is_the_papers(gate):
    rng = np.random.default_rng(0)
    model = TaskTransformer(Shape(vocabulary=11, length=6, experts=3, width=8, hidden=5, heads=4), rng, gate=gate)
    tokens = rng.integers(0, 11, (3, 6))
    length = np.array([6, 2, 4])
    rows = np.concatenate([b * 6 + np.arange(n) for b, n in enumerate(length)])
    got = model(torch.from_numpy(tokens), torch.from_numpy(rows))
    expected = [textbook(model, row[:n]) for row, n in zip(tokens, length, strict=True)]
    np.testing.assert_allclose(got.output.detach(), np.concatenate([out for out, _ in expected]), atol=2e-5)
    np.testing.assert_allclose(got.scores.detach().exp(), np.concatenate([p for _, p in expected]), atol=1e-5)


def by_autograd(model, tokens, rows, target, task, loss, weight):
    """Return cross-entropy and gradients of section 6.2's objective, the losses written as the paper has them."""
    routed = model(tokens, rows)
    entropy = torch.nn.functional.cross_entropy(model.logits(routed), target)
    p, experts = routed.scores.exp(), model.shape.experts
    extra = torch.zeros(())
    if loss == "load_balance":
        share = torch.nn.functional.one_hot(routed.expert, experts).to(p.dtype).mean(dim=0)
        extra = experts * (p.mean(dim=0) * share).sum()
    elif loss == "router":
        extra = -torch.log(p[torch.arange(len(rows)), task % experts]).mean()
    (entropy + weight * extra).backward()
    return entropy.item(), {n: torch.zeros_like(v) if v.grad is None else v.grad for n, v in model.named_parameters()}


@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize("loss", ["ce", "load_balance", "router"])
@pytest.mark.parametrize("loud", [1.0, 60.0])
def test_gradient_written_out_is_that_of_autograd(loss, gate, loud, monkeypatch):
    monkeypatch.setattr("studies.task_routing.parts.transformer.ROOM", 50 * 20)  # blocks of 20 rows
    rng = np.random.default_rng(0)
    length = rng.integers(2, 9, 16)
    tokens = torch.from_numpy(rng.integers(0, 50, (16, 8)))
    real = np.arange(7) < length[:, None] - 1
    rows = torch.from_numpy(np.flatnonzero(real))
    task = torch.from_numpy(np.broadcast_to(rng.integers(0, 9, (16, 1)), real.shape)[real])
    target = tokens[:, 1:].reshape(-1)[rows]
    shape = Shape(vocabulary=50, length=9, experts=4, width=12, hidden=5, heads=4)
    first, second = (TaskTransformer(shape, np.random.default_rng(1), gate=gate) for _ in range(2))
    for model in (first, second):  # logits far beyond the exponentials of single precision
        model.out.data *= loud
    entropy, wanted = by_autograd(first, tokens[:, :7], rows, target, task, loss, 0.2)
    gradient = Gradient(second, loss, 0.2)
    got = gradient(tokens[:, :7], rows, target, task)
    assert got == pytest.approx(entropy, rel=1e-5)
    assert gradient.gradient.shape == (sum(value.numel() for value in second.parameters()),)
    for name, value in gradient.g.items():
        torch.testing.assert_close(value, wanted[name], rtol=2e-4, atol=2e-6 * loud, msg=name)
        assert dict(second.named_parameters())[name].data_ptr() == gradient.w[name].data_ptr()


def test_output_gradient_where_every_logit_is_far_below_zero():
    x, weight = torch.ones(3, 4), torch.ones(7, 6)
    weight[:, 4], target = -400.0, torch.tensor([0, 3, 3])
    loss, grad = output_gradient(x, target, weight, torch.empty(7, 6), torch.empty(2, 7))
    assert float(loss) == pytest.approx(np.log(7.0), rel=1e-5)
    torch.testing.assert_close(grad, torch.zeros(3, 4), atol=1e-6, rtol=0.0)


def test_holdout_by_sentences_and_by_pairs():
    rows = synthetic(np.random.default_rng(0), 4, 5, 20).sentences
    for split in ("sentences", "pairs"):
        kept, out = holdout(rows, task_training.Settings(split=split), np.random.default_rng(1))
        assert np.array_equal(np.sort(np.concatenate((kept, out))), np.arange(400))
        assert out.shape == (80,)
    pairs = {(rows.task[i], rows.pair[i]) for i in kept} & {(rows.task[i], rows.pair[i]) for i in out}
    assert not pairs
    kept, out = holdout(rows, task_training.Settings(), np.random.default_rng(1))
    assert {(rows.task[i], rows.pair[i]) for i in kept} & {(rows.task[i], rows.pair[i]) for i in out}


def test_training_learns_the_example_and_completes_it():
    knowledge = FIXED["example"]
    rows = knowledge.sentences
    everything = np.arange(rows.length.shape[0])
    with one_thread():
        model = TaskTransformer(Shape(len(knowledge.vocabulary), knowledge.max_length, 2), np.random.default_rng(0))
        plan = task_training.Settings(loss="router", epochs=150, batch=2, decay=0.99)
        curve = train(model, rows, everything, plan, np.random.default_rng(1))
        done = complete(model, rows.tokens, np.ones(4, dtype=np.int64), knowledge.token_id["."])
        expert = experts_chosen(model, rows, everything)
    assert curve[-1] < 0.05 < curve[0]
    assert np.array_equal(done, rows.tokens)
    assert in_dataset(knowledge, done).all()
    assert not in_dataset(knowledge, done[:, ::-1]).any()
    assert np.array_equal(expert >= 0, np.arange(6) < rows.length[:, None] - 1)
    for task in (0, 1):  # the router loss sends task k to expert k
        assert set(expert[rows.task == task].ravel()) - {-1} == {task}


SMALL = {"tasks": 4, "templates": 3, "pairs": 12, "experts": 2, "epochs": 12, "completions": 30}


cell = partial(cell_of, task_training, **SMALL)


def test_one_expert_has_nothing_to_route():
    # both auxiliary losses are then constant, so that the studies leave one expert out
    runs = [task_training.run(cell(loss=loss, experts=1, epochs=2), [0]) for loss in ("ce", "load_balance", "router")]
    for found in runs:
        assert found["usage_entropy"].item() == found["mutual_information"].item() == 0.0
        assert np.array_equal(found["accuracy"], runs[0]["accuracy"])
        np.testing.assert_allclose(found["train_loss"], runs[0]["train_loss"], rtol=1e-12)


def say(model, tokens):
    """Return the next token and the expert of the last position."""
    out, p = textbook(model, tokens)
    w, bias = (part.detach().double().numpy() for part in (model.out, model.out_bias))
    return int(np.argmax(w[:, : model.shape.width] @ out[-1] + bias)), int(np.argmax(p[-1]))


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
            task_training.Settings(loss="router", epochs=14, batch=16),
            np.random.default_rng(2),
        )
    return knowledge, model, rows[1::2]


def test_completions_one_by_one(trained):
    """The accuracy, in all and by what was shown: greedy completions that are sentences of the dataset."""
    knowledge, model, rows = trained
    with one_thread():
        found = task_training.completed(model, knowledge, rows, 40, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    chosen = rng.permutation(rows)[:40]
    cuts = rng.integers(1, knowledge.sentences.length[chosen])
    every = {t.fill(a, b) for task in knowledge.tasks for t in task.templates for a, b in task.table}
    right, shown = [], []
    for row, cut in zip(chosen, cuts, strict=True):
        words = knowledge.sentences.tokens[row, :cut].tolist()
        shown.append(sum(knowledge.vocabulary[t].startswith('"') for t in words))
        while len(words) < knowledge.max_length and (len(words) == cut or knowledge.vocabulary[words[-1]] != "."):
            words.append(say(model, words)[0])
        right.append(tuple(knowledge.vocabulary[t] for t in words) in every)
    assert 0.2 < np.mean(right) < 0.95
    assert found["accuracy"] == pytest.approx(np.mean(right))
    for seen, value in enumerate(found["accuracy_by_cut"]):
        assert value == pytest.approx(np.mean([r for r, n in zip(right, shown, strict=True) if n == seen]))


def test_routing_counted_one_by_one(trained):
    """Mutual information, entropy of the use, favourite experts and the share routed as asked, from pairs counted."""
    knowledge, model, rows = trained
    s = task_training.Settings(tasks=3, templates=3, pairs=12, experts=2)
    with one_thread():
        found = task_training.routed(experts_chosen(model, knowledge.sentences, rows), knowledge, rows, s)
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
            e = say(model, tokens[:i])[1]
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
