"""Valid sets that are not all arcs of a polygon, whatever its order."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moestat.papers.task_routing.construction.arcs import find_star
from moestat.papers.task_routing.knowledge import Prefixes


def prefixes(*sets):
    """Prefixes of which only the valid sets matter."""
    count = len(sets)
    start = np.concatenate(([0], np.cumsum([len(tokens) for tokens in sets])))
    tokens = np.array([token for each in sets for token in sorted(each)])
    none = np.zeros((count, 1), dtype=np.int64)
    return Prefixes(none, np.ones(count), none[:, 0], none == 0, start, tokens, (("a",),), none[:1] == 0)


def arcs_of(order):
    """All arcs of a cyclic order, the empty one and the whole included."""
    n = len(order)
    return {frozenset(order[(i + j) % n] for j in range(size)) for i in range(n) for size in range(n + 1)}


def is_star(a, b, c):
    return bool(a & b & c and a - b - c and b - a - c and c - a - b)


@pytest.mark.parametrize("n", [4, 5, 6])
def test_no_order_of_the_tokens_makes_all_sets_of_a_star_arcs(n):
    subsets = [frozenset(s) for size in range(1, n + 1) for s in itertools.combinations(range(n), size)]
    # cyclic orders begin with 0; every one of them is tried
    orders = [arcs_of((0, *rest)) for rest in itertools.permutations(range(1, n))]
    stars = 0
    for three in itertools.combinations(subsets, 3):
        if is_star(*three):
            stars += 1
            assert not any(all(s in order for s in three) for order in orders)
            assert find_star(prefixes(*three)) is not None
        else:
            assert find_star(prefixes(*three)) is None
    assert stars > 0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.frozensets(st.integers(0, 8), min_size=1), min_size=1, max_size=12))
def test_the_search_agrees_with_trying_all_threes(sets):
    found = find_star(prefixes(*sets))
    naive = any(is_star(*three) for three in itertools.combinations(sets, 3))
    assert (found is not None) == naive
    if found is not None:
        assert is_star(*(sets[row] for row in found.rows))
        assert all(found.token in sets[row] for row in found.rows)


def test_level_sets_of_logits_in_a_plane_are_arcs():
    rng = np.random.default_rng(0)
    for _ in range(50):
        angle = np.sort(rng.uniform(0, 2 * np.pi, 9))
        # corners of a polygon: points of an ellipse
        points = np.stack((3.0 * np.cos(angle), np.sin(angle)), axis=1) @ rng.standard_normal((2, 2))
        logits = points @ rng.standard_normal(2)
        order = arcs_of(tuple(range(9)))
        assert all(frozenset(np.flatnonzero(logits > level).tolist()) in order for level in logits)
