"""Whole sentences are read, too: Theorem 4.1's second bullet speaks of them, and "the first i words" may be all."""

from dataclasses import replace

import numpy as np
import pytest

from moestat.papers.task_routing.construction.build import build
from moestat.papers.task_routing.construction.check import check
from moestat.papers.task_routing.construction.inputs import inputs, is_whole
from moestat.papers.task_routing.construction.isolated import check_isolated, circuits, isolate
from moestat.papers.task_routing.construction.tables import build_tables, check_tables
from moestat.papers.task_routing.knowledge_sources import paper_example
from moestat.papers.task_routing.knowledge_synthetic import synthetic


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


def test_a_neuron_of_another_task_that_speaks_after_a_whole_sentence_is_noticed():
    """The control: such a neuron makes model and circuit differ there, and nowhere before."""
    knowledge = paper_example()
    built = isolate(knowledge, np.random.default_rng(0))
    circuit = circuits(built)
    found = inputs(knowledge)
    last = np.flatnonzero(is_whole(found) & found.compatible[:, 0])
    z1, _ = built.seen(found.tokens, found.length)
    # a neuron more, of no circuit: a plane that only the whole sentences of the first task are above
    end = built.embedding[len(knowledge.words) - 1] + built.positions[found.length[last[0]] - 1]
    face = np.concatenate((end, np.zeros_like(end)))
    level = z1 @ face
    others = np.delete(level, last)
    assert level[last].min() > others.max()
    more = replace(
        built,
        faces=np.concatenate((built.faces, face[None])),
        offsets=np.append(built.offsets, (level[last].min() + others.max()) / 2),
        codes=np.concatenate((built.codes, np.zeros_like(built.codes[:1]))),
        bias=np.append(built.bias, 0.0),
    )
    without = np.pad(circuit, ((0, 0), (0, 1)))
    checked = check_isolated(more, without, np.random.default_rng(0))
    assert np.array_equal(np.flatnonzero(checked.differs), last)
    assert circuits(more)[0, -1] and not circuits(more)[1, -1]
    assert not check_isolated(more, circuits(more), np.random.default_rng(0)).differs.any()
