"""The dense transformer in which one neuron at a time speaks."""

import numpy as np
import pytest

from studies.task_routing.parts import knowledge_small
from studies.task_routing.parts.construction import memoriser
from studies.task_routing.parts.construction.build import build
from studies.task_routing.parts.construction.check import check
from studies.task_routing.parts.construction.inputs import inputs
from studies.task_routing.parts.construction.isolated import check_isolated, circuits, isolate
from studies.task_routing.parts.construction.model import SHARPNESS
from studies.task_routing.parts.construction.tables import build_tables, check_tables, members
from studies.task_routing.parts.knowledge_small import tiny
from studies.task_routing.parts.knowledge_sources import paper_example
from studies.task_routing.parts.knowledge_synthetic import synthetic

NAMES = ("one-task", "two-tasks", "one-template", "shared-subject", "parity-3")
DATASETS = {
    "example": paper_example(),
    **{name: knowledge_small.named(name, np.random.default_rng(0)) for name in NAMES},
    "shared subjects": synthetic(np.random.default_rng(1), 5, 3, 20, shared_subjects=0.4),
    "shared templates": synthetic(np.random.default_rng(2), 4, 3, 15, shared_subjects=0.4, shared_templates=2),
}


def textbook(built, tokens):
    """Logits and hidden layer at the last position of one prefix: definitions A.1 and A.2 with every matrix in full."""
    knowledge, words, length = built.knowledge, len(built.knowledge.words), len(tokens)
    c, s = built.embedding.shape[1], built.values.shape[1]
    position, is_entity, code, shown, level = 2 * c, 2 * c + 1, 2 * c + 2, 2 * c + 2 + s, 2 * c + 2 + 2 * s
    one = level + 1
    d = level + 2
    assert d == built.coordinates
    a = np.zeros((length, d))
    for i, token in enumerate(tokens):
        a[i, :c] = built.embedding[min(token, words)] + built.positions[i]
        a[i, position], a[i, is_entity], a[i, code:shown] = i + 1, token >= words, built.values[token]
        a[i, one] = 1.0
    first, second = np.zeros((2, d, d))
    first[:c, :c] = built.queries[0] @ built.keys[0].T
    second[position, is_entity] = SHARPNESS * (knowledge.max_length + 1)
    second[position, position] = -SHARPNESS
    move = np.zeros((2, d, d))
    move[0, :c, c : 2 * c], move[1, code:shown, shown:level] = np.eye(c), np.eye(s)
    z = a[-1].copy()
    for scores, value in zip((first, second), move, strict=True):
        alpha = np.exp(a @ scores.T @ a[-1] - (a @ scores.T @ a[-1]).max())
        z += alpha @ a @ value / alpha.sum()
    weights = np.zeros((len(built.bias), d))
    weights[:, : 2 * c], weights[:, shown:level] = built.faces, built.codes
    hidden = np.maximum(weights @ z - built.offsets + built.bias, 0.0)
    z[level] += hidden.sum()
    n = len(knowledge.vocabulary)
    return memoriser.parabola_scale(n, built.epsilon) * memoriser.parabola(n) @ z[[level, one]], hidden


@pytest.mark.parametrize("knowledge", list(DATASETS.values()), ids=list(DATASETS))
def test_every_bullet_with_two_heads_shared_subjects_and_templates(knowledge):
    rng = np.random.default_rng(3)
    built = isolate(knowledge, rng)
    circuit = circuits(built)
    found = check_isolated(built, circuit, rng)
    assert len(found.prefixes) == len(inputs(knowledge))
    assert np.array_equal(found.active, ~found.whole)
    assert not found.low_mass.any()
    assert not found.differs.any()
    longest = knowledge.max_length
    assert len(built.bias) <= longest * len(knowledge.templates) + knowledge.max_table * len(knowledge.tasks)
    for task, neurons in zip(knowledge.tasks, circuit.sum(axis=1), strict=True):
        # the bound of the theorem, and the smaller one of these weights, which the tables do not enter
        assert neurons <= longest * len(task.templates) + knowledge.max_table
        assert neurons <= sum(len(template) - 1 for template in task.templates)


@pytest.mark.parametrize("knowledge", list(DATASETS.values()), ids=list(DATASETS))
def test_forward_is_the_textbook_transformer(knowledge):
    built = isolate(knowledge, np.random.default_rng(3))
    prefixes = inputs(knowledge)
    for row in range(0, len(prefixes), 1 + len(prefixes) // 40):
        tokens, length = prefixes.tokens[row], prefixes.length[row]
        logits, hidden = textbook(built, tokens[:length])
        got = built.activations(tokens[None], np.array([length]))
        assert np.array_equal(got[0] > 0, hidden > 0)
        np.testing.assert_allclose(got[0], hidden, rtol=1e-5, atol=1e-9)
        row, neuron = np.nonzero(got)
        said = built.logits(built.level(row, got[row, neuron], 1))[0]
        np.testing.assert_allclose(said, logits, rtol=1e-5, atol=1e-8 * np.abs(logits).max())


def test_a_circuit_that_lacks_its_neurons_is_noticed():
    knowledge = knowledge_small.named("shared-subject", np.random.default_rng(0))
    rng = np.random.default_rng(0)
    built = isolate(knowledge, rng)
    circuit = circuits(built)
    shared = circuit.all(axis=0)
    # both tasks begin alike, with a subject that both have: they share the neurons that speak there
    assert shared.any()
    circuit[1] &= ~shared
    found = check_isolated(built, circuit, rng)
    assert found.differs.any()
    assert found.distance.max() > 0.5
    assert not found.differs[~found.prefixes.compatible[:, 1]].any()


def test_small_datasets_full_of_collisions():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        knowledge = tiny(rng)
        built = isolate(knowledge, rng)
        found = check_isolated(built, circuits(built), rng)
        assert not found.low_mass[found.determined].any()
        assert not found.differs.any()


DATASETS_TABLES = {name: data for name, data in DATASETS.items() if name not in ("one-template", "parity-3")}


def textbook_tables(built, tokens):
    """Logits and expert at the last position of one prefix, with every coordinate of the layer written out."""
    model = built.model
    knowledge, words, tasks = model.knowledge, len(model.knowledge.words), built.member.shape[1]
    shown = tasks if members(knowledge) else 0
    c, s = model.embedding.shape[1], model.values.shape[1]
    position, is_entity = 2 * c, 2 * c + 1
    code, said = slice(2 * c + 2, 2 * c + 2 + s), slice(2 * c + 2 + s, 2 * c + 2 + 2 * s)
    own = slice(said.stop, said.stop + shown)
    subject = slice(own.stop, own.stop + shown)
    level, one = subject.stop, subject.stop + 1
    assert one + 1 == built.coordinates
    a = np.zeros((len(tokens), one + 1))
    for i, token in enumerate(tokens):
        a[i, :c] = model.embedding[min(token, words)] + model.positions[i]
        a[i, [position, is_entity, one]] = i + 1, token >= words, 1.0
        a[i, code] = model.values[token]
        a[i, own] = built.member[token, :shown]
    last = a[-1]
    z = last.copy()
    scores = [(x[:c] @ model.keys[0]) @ (last[:c] @ model.queries[0]) for x in a]
    alpha = np.exp(np.array(scores) - max(scores))
    z[c : 2 * c] += sum(w * x[:c] for w, x in zip(alpha / alpha.sum(), a, strict=True))
    keys = [SHARPNESS * ((knowledge.max_length + 1) * x[is_entity] - x[position]) * last[position] for x in a]
    alpha = np.exp(np.array(keys) - max(keys))
    for w, x in zip(alpha / alpha.sum(), a, strict=True):
        z[said] += w * x[code]
        z[subject] += w * x[own]
    score = z[: 2 * c] @ built.router_template
    score[:shown] += built.router_member * z[subject]
    expert = int(np.argmax(score))
    for neuron in np.flatnonzero(built.experts[expert]):
        before = z[: 2 * c] @ model.faces[neuron] - model.offsets[neuron] + z[said] @ model.codes[neuron]
        z[level] += max(before + model.bias[neuron], 0.0)
    n = len(knowledge.vocabulary)
    return memoriser.parabola_scale(n, model.epsilon) * memoriser.parabola(n) @ z[[level, one]], expert


@pytest.mark.parametrize("knowledge", list(DATASETS_TABLES.values()), ids=list(DATASETS_TABLES))
def test_every_bullet_with_experts_that_hold_no_table(knowledge):
    rng = np.random.default_rng(3)
    built = build_tables(knowledge, rng)
    found = check_tables(built, rng)
    assert built.separable
    assert len(found.prefixes) == len(inputs(knowledge))
    assert not found.low_mass.any()
    assert not (found.misrouted & found.determined).any()
    assert np.array_equal(found.active, ~found.whole)
    for task, neurons in zip(knowledge.tasks, built.experts.sum(axis=1), strict=True):
        assert neurons <= sum(len(template) - 1 for template in task.templates)


@pytest.mark.parametrize("knowledge", list(DATASETS_TABLES.values()), ids=list(DATASETS_TABLES))
def test_forward_is_the_textbook_transformer_tables(knowledge):
    rng = np.random.default_rng(3)
    built = build_tables(knowledge, rng)
    found = check_tables(built, rng)
    prefixes = inputs(knowledge)
    for row in range(0, len(prefixes), 1 + len(prefixes) // 40):
        logits, expert = textbook_tables(built, prefixes.tokens[row, : prefixes.length[row]])
        assert found.expert[row] == expert
        weight = np.exp(logits - logits.max())
        np.testing.assert_allclose(found.mass[row], (weight / weight.sum())[prefixes.valid(row)].sum(), atol=1e-6)


def test_where_the_object_tells_the_task_heads_for_template_and_subject_say_the_same():
    knowledge = knowledge_small.FIXED["object-tells"]
    prefixes = inputs(knowledge)
    built = build_tables(knowledge, np.random.default_rng(0))
    model = built.model
    rows = [i for i in range(len(prefixes)) if knowledge.decode(prefixes.tokens[i]).endswith(" of")]
    assert len(rows) == 2
    z1, weight = model.seen(prefixes.tokens[rows], prefixes.length[rows])
    assert np.array_equal(z1[0], z1[1])
    assert np.array_equal(weight[0], weight[1])
    assert not set(prefixes.valid(rows[0])) & set(prefixes.valid(rows[1]))
    found = check_tables(built, np.random.default_rng(0))
    assert found.misrouted[rows].sum() == 1
    assert found.mass[rows].min() < 0.5


@pytest.mark.parametrize("make", ["argmax", "one_hot", "tables", "dense", "isolated"])
def test_whole_sentences_pass_the_first_two_bullets(make):
    """Routed to their task, and the same with the circuit alone; the third bullet asks nothing of them."""
    knowledge = synthetic(np.random.default_rng(1), 5, 3, 20, shared_subjects=0.0 if make == "dense" else 0.4)
    rng = np.random.default_rng(2)
    if make == "tables":
        found = check_tables(build_tables(knowledge, rng), rng)
    elif make == "isolated":
        built = isolate(knowledge, rng)
        found = check_isolated(built, circuits(built), rng)
    else:
        theorem, router = ("dense", "one_hot") if make == "dense" else ("moe", make)
        found = check(build(knowledge, rng, theorem=theorem, router=router), rng)
    assert found.whole.sum() == len(np.unique(knowledge.sentences.tokens, axis=0))
    assert not found.low_mass.any()
    assert not (found.differs & found.single).any()
    if make not in ("dense", "isolated"):
        assert not found.misrouted.any()
