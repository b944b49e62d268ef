"""Whole sentences are read, too: Theorem 4.1's second bullet speaks of them, and "the first i words" may be all."""

import numpy as np
import pytest

from moestat.papers.task_routing.construction.build import build
from moestat.papers.task_routing.construction.check import check
from moestat.papers.task_routing.construction.isolated import check_isolated, circuits, isolate
from moestat.papers.task_routing.construction.tables import build_tables, check_tables
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
