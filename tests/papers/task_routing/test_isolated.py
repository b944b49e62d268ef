"""The dense transformer in which one neuron at a time speaks."""

import numpy as np
import pytest

from moestat.papers.task_routing import knowledge_small
from moestat.papers.task_routing.construction import memoriser
from moestat.papers.task_routing.construction.inputs import inputs
from moestat.papers.task_routing.construction.isolated import check_isolated, circuits, isolate
from moestat.papers.task_routing.construction.model import SHARPNESS
from moestat.papers.task_routing.knowledge_small import tiny
from moestat.papers.task_routing.knowledge_sources import paper_example
from moestat.papers.task_routing.knowledge_synthetic import synthetic

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
