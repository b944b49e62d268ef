"""Silencing experts against the plain way: set an expert's weights to zero and run the sentences one by one."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from studies.task_routing.parts import task_knockout  # noqa: E402
from studies.task_routing.parts.knowledge_sources import Source  # noqa: E402
from studies.task_routing.parts.task_transformer import Shape, TaskTransformer  # noqa: E402


@pytest.fixture(scope="module")
def case():
    knowledge = Source.parse("3x2x8").draw(np.random.default_rng(3))
    shape = Shape(len(knowledge.vocabulary), knowledge.max_length, 3)
    return knowledge, TaskTransformer(shape, np.random.default_rng(4))


def _recall(model, tokens, words, wanted):
    """Recall (B,) and expert (B,) of sentences, one at a time, the prefix alone given; ``wanted``: the right token."""
    right, expert = [], []
    for row, token in zip(tokens, wanted, strict=True):
        place = int(np.flatnonzero(row >= words)[1])
        with torch.no_grad():
            routed = model(torch.from_numpy(row[None, :place]), torch.tensor([place - 1]))
            right.append(int(model.logits(routed).argmax()) == token)
        expert.append(int(routed.expert))
    return np.array(right), np.array(expert)


def _layer(model, row, words):
    """Output of the layer before the object of a sentence, that without experts, and the expert."""
    place = int(np.flatnonzero(row >= words)[1])
    prefix, at = torch.from_numpy(row[None, :place]), torch.tensor([place - 1])
    saved = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        whole = model(prefix, at)
        model.second.zero_()
        model.second_bias.zero_()
        alone = model(prefix, at).output
    model.load_state_dict(saved)
    return whole.output[0], alone[0], int(whole.expert)


def _said(model, output):
    return int((model.out @ torch.as_tensor(output) + model.out_bias).argmax())


def _constants(model, known, words):
    """Mean of what an expert adds for a task, by (task, expert)."""
    sums = {}
    for row, k in zip(*known, strict=True):
        output, alone, e = _layer(model, row, words)
        sums.setdefault((k, e), []).append((output - alone).numpy())
    return {key: np.mean(values, axis=0) for key, values in sums.items()}


def _by_the_mean(model, tested, known, words):
    """Recall with experts at their mean, sentence by sentence: in the order none, own, other, all."""
    constant, named = _constants(model, known, words), {}
    for row, k, token in zip(*tested, strict=True):
        output, alone, e = _layer(model, row, words)
        said = _said(model, output), _said(model, alone.numpy() + constant[k, e])
        named.setdefault(k, []).append((e, said[0] == token, said[1] == token))
    recall = []
    for each in named.values():
        own = int(np.bincount([e for e, _, _ in each], minlength=3).argmax())
        off = [np.mean([average if e == f else whole for f, whole, average in each]) for e in range(3)]
        others = np.mean([value for e, value in enumerate(off) if e != own])
        recall.append([np.mean([w for _, w, _ in each]), off[own], others, np.mean([a for _, _, a in each])])
    return np.mean(recall, axis=0)


def test_silencing_is_setting_the_weights_of_an_expert_to_zero(case):
    knowledge, model = case
    sentences, words, hidden = knowledge.sentences, len(knowledge.words), model.shape.hidden
    tokens, task = sentences.tokens.copy(), sentences.task
    place = np.array([np.flatnonzero(row)[1] for row in tokens >= words])
    rows = np.arange(len(tokens))
    # an untrained model names no object: sentences end in what it says, with or without experts or with their mean
    saved = {name: value.clone() for name, value in model.state_dict().items()}
    zero = torch.zeros_like(model.second), torch.zeros_like(model.second_bias)
    for alone in (False, True):
        if alone:
            with torch.no_grad():
                model.second.copy_(zero[0])
                model.second_bias.copy_(zero[1])
        for i in rows[rows % 3 == alone]:
            with torch.no_grad():
                at = torch.tensor([place[i] - 1])
                said = int(model.logits(model(torch.from_numpy(tokens[i : i + 1, : place[i]]), at)).argmax())
            tokens[i, place[i]] = said
        model.load_state_dict(saved)
    constant = _constants(model, (sentences.tokens, task), words)
    for i in rows[rows % 3 == 2]:
        _, alone, e = _layer(model, tokens[i], words)
        tokens[i, place[i]] = _said(model, alone.numpy() + constant[task[i], e])
    entities = tokens[rows, place] >= words  # where a word was said the object would be another entity
    tokens, task, place = tokens[entities], task[entities], place[entities]
    wanted = tokens[np.arange(len(tokens)), place]
    assert len(tokens) > 20

    known = sentences.tokens, sentences.task
    found = task_knockout.silenced(model, tokens, task, known, words)
    whole, expert = _recall(model, tokens, words, wanted)
    off = []
    for silent in [[0], [1], [2], [0, 1, 2]]:
        with torch.no_grad():
            for e in silent:
                model.second[e * hidden : (e + 1) * hidden] = 0.0
                model.second_bias[e] = 0.0
        off.append(_recall(model, tokens, words, wanted)[0])
        model.load_state_dict(saved)
    recall, share = [], []
    for k in np.unique(task):
        mine = task == k
        own = int(np.bincount(expert[mine], minlength=3).argmax())
        others = [off[e][mine].mean() for e in range(3) if e != own]
        recall.append([whole[mine].mean(), off[own][mine].mean(), np.mean(others), off[3][mine].mean()])
        share.append((expert[mine] == own).mean())
    np.testing.assert_allclose(found["recall"], np.mean(recall, axis=0), rtol=1e-12)
    assert found["own_share"] == pytest.approx(np.mean(share)) and len(set(np.round(found["recall"], 6))) > 1
    assert found["own_loss"] == pytest.approx(np.mean(recall, axis=0)[2] - np.mean(recall, axis=0)[1])
    means = _by_the_mean(model, (tokens, task, wanted), known, words)
    np.testing.assert_allclose(found["recall_mean"], means, rtol=1e-12)
    assert found["own_loss_mean"] == pytest.approx(means[2] - means[1])
    assert found["recall_mean"][0] == found["recall"][0] and abs(means - found["recall"]).max() > 0.01
    for name, value in model.state_dict().items():
        assert torch.equal(value, saved[name]), "silencing must leave the model as it was"
