"""The mixture of experts whose embedding of the subjects holds the tables."""

import numpy as np
import pytest

from moestat.papers.task_routing import knowledge_small
from moestat.papers.task_routing.construction import memoriser
from moestat.papers.task_routing.construction.inputs import inputs
from moestat.papers.task_routing.construction.model import SHARPNESS
from moestat.papers.task_routing.construction.tables import build_tables, check_tables, members
from moestat.papers.task_routing.knowledge_sources import paper_example
from moestat.papers.task_routing.knowledge_synthetic import synthetic

DATASETS = {
    "example": paper_example(),
    **{
        name: knowledge_small.named(name, np.random.default_rng(0))
        for name in ("one-task", "two-tasks", "shared-subject")
    },
    "shared subjects": synthetic(np.random.default_rng(1), 5, 3, 20, shared_subjects=0.4),
    "shared templates": synthetic(np.random.default_rng(2), 4, 3, 15, shared_subjects=0.4, shared_templates=2),
}


def textbook(built, tokens):
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


@pytest.mark.parametrize("knowledge", list(DATASETS.values()), ids=list(DATASETS))
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


@pytest.mark.parametrize("knowledge", list(DATASETS.values()), ids=list(DATASETS))
def test_forward_is_the_textbook_transformer(knowledge):
    rng = np.random.default_rng(3)
    built = build_tables(knowledge, rng)
    found = check_tables(built, rng)
    prefixes = inputs(knowledge)
    for row in range(0, len(prefixes), 1 + len(prefixes) // 40):
        logits, expert = textbook(built, prefixes.tokens[row, : prefixes.length[row]])
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
