"""Silencing experts against the plain way: set an expert's weights to zero and run the sentences one by one."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from studies.task_routing.parts import task_knockout  # noqa: E402
from studies.task_routing.parts.transformer import Shape, TaskTransformer  # noqa: E402


def without(model, experts=()):
    """Return a copy of a model with the weights of some experts at zero."""
    copy = TaskTransformer(model.shape, np.random.default_rng(0))
    copy.load_state_dict(model.state_dict())
    hidden = model.shape.hidden
    with torch.no_grad():
        for e in experts:
            copy.second[e * hidden : (e + 1) * hidden] = 0.0
            copy.second_bias[e] = 0.0
    return copy


def layer(model, prefix):
    """Return the output of the layer after one prefix, and the expert."""
    with torch.no_grad():
        routed = model(torch.from_numpy(prefix[None]), torch.tensor([len(prefix) - 1]))
    return routed.output[0].numpy(), int(routed.expert)


def said(model, output):
    return int((model.out @ torch.as_tensor(output) + model.out_bias).argmax())


def summary(cases):
    """Mean over tasks of recall with none, the own, another and all experts off, from (task, expert, on, off)."""
    rows = []
    for k in sorted({case[0] for case in cases}):
        _, expert, on, off = map(np.array, zip(*(case for case in cases if case[0] == k), strict=True))
        own = int(np.bincount(expert, minlength=3).argmax())
        each = [np.where(expert == e, off, on).mean() for e in range(3)]
        others = np.mean([value for e, value in enumerate(each) if e != own])
        rows.append([on.mean(), each[own], others, off.mean(), np.mean(expert == own)])
    return np.mean(rows, axis=0)


def test_silencing_is_setting_the_weights_of_an_expert_to_zero():
    knowledge = task_knockout.Settings(tasks=3, templates=2, pairs=8).draw(np.random.default_rng(3))
    model = TaskTransformer(Shape(len(knowledge.vocabulary), knowledge.max_length, 3), np.random.default_rng(4))
    silent = [without(model, [e]) for e in range(3)]
    sentences, words = knowledge.sentences, len(knowledge.words)
    tokens, task = sentences.tokens.copy(), sentences.task
    cuts = [row[: np.flatnonzero(row >= words)[1]] for row in sentences.tokens]
    outputs = []  # with all experts, without the one that is chosen, and that one
    for prefix in cuts:
        output, e = layer(model, prefix)
        outputs.append((output, layer(silent[e], prefix)[0], e))
        assert np.array_equal(outputs[-1][1], layer(without(model, range(3)), prefix)[0])
    added = {}
    for k, (output, alone, e) in zip(task, outputs, strict=True):
        added.setdefault((k, e), []).append(output - alone)
    three = [
        (whole, alone, alone + np.mean(added[k, e], axis=0)) for k, (whole, alone, e) in zip(task, outputs, strict=True)
    ]
    # an untrained model names no object: sentences end in what it says, with or without experts or with their mean
    for i, ways in enumerate(three):
        tokens[i, len(cuts[i])] = said(model, ways[i % 3])
    kept = [i for i, prefix in enumerate(cuts) if tokens[i, len(prefix)] >= words]  # a word is no object
    assert len(kept) > 20

    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = task_knockout.silenced(model, tokens[kept], task[kept], (sentences.tokens, task), words)
    right = {i: [said(model, output) == tokens[i, len(cuts[i])] for output in three[i]] for i in kept}
    zero, mean = (summary([(task[i], outputs[i][2], right[i][0], right[i][way]) for i in kept]) for way in (1, 2))
    for name, wanted in (("", zero), ("_mean", mean)):
        np.testing.assert_allclose(found[f"recall{name}"], wanted[:4], rtol=1e-12)
        assert found[f"own_loss{name}"] == pytest.approx(wanted[2] - wanted[1])
    assert found["own_share"] == pytest.approx(zero[4]) and len(set(np.round(found["recall"], 6))) > 1
    assert found["recall_mean"][0] == found["recall"][0] and abs(mean - zero).max() > 0.01
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), "silencing must leave the model as it was"
