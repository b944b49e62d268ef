"""An argument for all weights: valid sets that are not all arcs of a polygon."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.task_routing.parts.construction.arcs import find_star
from studies.task_routing.parts.construction.memoriser import memorise, plane
from studies.task_routing.parts.knowledge import Prefixes


def prefixes(*sets):
    """Prefixes of which only the valid sets matter."""
    start = np.concatenate(([0], np.cumsum([len(tokens) for tokens in sets])))
    tokens = np.array([token for each in sets for token in sorted(each)])
    none = np.zeros((len(sets), 1), dtype=np.int64)
    return Prefixes(none, np.ones(len(sets)), none[:, 0], none == 0, start, tokens, (("a",),), none[:1] == 0)


def arcs_of(order):
    """All arcs of a cyclic order, the empty one and the whole included."""
    n = len(order)
    return {frozenset(order[(i + j) % n] for j in range(size)) for i in range(n) for size in range(n + 1)}


def is_star(a, b, c):
    return bool(a & b & c and a - b - c and b - a - c and c - a - b)


@pytest.mark.parametrize("n", [4, 5])
def test_no_order_of_the_tokens_makes_all_sets_of_a_star_arcs(n):
    subsets = [frozenset(s) for size in range(1, n + 1) for s in itertools.combinations(range(n), size)]
    # cyclic orders begin with 0; every one of them is tried
    orders = [arcs_of((0, *rest)) for rest in itertools.permutations(range(1, n))]
    stars = [three for three in itertools.combinations(subsets, 3) if is_star(*three)]
    assert stars and not any(all(s in order for s in three) for three in stars for order in orders)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.frozensets(st.integers(0, 8), min_size=1), min_size=1, max_size=12))
def test_the_search_agrees_with_trying_all_threes(sets):
    found = find_star(prefixes(*sets))
    assert bool(found) == any(is_star(*three) for three in itertools.combinations(sets, 3))
    if found:
        *rows, token = found
        assert is_star(*(sets[row] for row in rows)) and all(token in sets[row] for row in rows)


def test_level_sets_of_logits_in_a_plane_are_arcs():
    rng = np.random.default_rng(0)
    order = arcs_of(tuple(range(9)))
    for _ in range(50):
        angle = np.sort(rng.uniform(0, 2 * np.pi, 9))
        # corners of a polygon: points of an ellipse
        points = np.stack((3.0 * np.cos(angle), np.sin(angle)), axis=1) @ rng.standard_normal((2, 2))
        logits = points @ rng.standard_normal(2)
        assert all(frozenset(np.flatnonzero(logits > level).tolist()) in order for level in logits)


SENTENCES = (["A", "is", "B", "of", "in", "."], ["A", "is", "C", "of", "on", "."])
TOKENS = ["A", "is", "B", "C", "of", "in", "on", "."]
ENTITIES = {"A": 1.0, "B": 2.0, "C": 4.0}
LENGTH, TEMPLATES, TASKS, PAIRS = 6, 2, 2, 2  # N is 2: a table of one pair has fewer


def read(prefix, head, entities):
    """Return what the hidden layer sees: last token and template head (12), and the head for ``entities(present)``."""
    first = np.zeros((len(prefix), 6))  # entities share a coordinate; the last one is the position
    for i, token in enumerate(prefix):
        first[i, 4 if token in ENTITIES else ["is", "of", "in", "on"].index(token)] = 1.0
        first[i, 5] = (i + 1) / LENGTH
    queries, keys, values = head

    def attend(scores, of):
        weights = np.exp(scores - scores.max())
        return weights @ of / weights.sum()

    present, number = first[:, 4], np.array([ENTITIES.get(token, 0.0) for token in prefix])
    second = attend(60.0 * entities(present), number)
    return np.concatenate((first[-1], attend(first @ keys @ (first[-1] @ queries), first @ values), [second]))


def test_the_mean_of_the_dictionary_tokens_tells_the_task_and_the_subject_alone_does_not():
    """Nine neurons, of 16 that the theorem allows, say what is valid after every prefix of *object-tells*."""
    rng = np.random.default_rng(0)
    head = tuple(rng.standard_normal(size) for size in ((6, 6), (6, 6), (6, 5)))
    every = sorted({tuple(s[:i]) for s in SENTENCES for i in range(1, LENGTH)})
    valid = {p: {s[len(p)] for s in SENTENCES if tuple(s[: len(p)]) == p} for p in every}
    seen = {p: read(p, head, lambda present: present) for p in valid}
    corners = dict(zip(TOKENS, plane(len(TOKENS)), strict=True))
    says = {1: corners["is"], 2: np.zeros(2), 3: corners["of"], 4: (corners["in"] + corners["on"]) / 2, 5: corners["."]}
    patterns = {seen[p][:11].tobytes(): (seen[p][:11], 50.0 * says[len(p)]) for p in valid}
    template = memorise(*map(np.array, zip(*patterns.values(), strict=True)), rng)
    objects = {1.0: "B", 1.5: "in", 2.5: "on"}
    dictionary = memorise(np.array(list(objects))[:, None], np.array([corners[t] for t in objects.values()]), rng)
    assert template.width + dictionary.width == 9 <= LENGTH * TEMPLATES + PAIRS * TASKS
    assert len(valid) == 8
    for prefix, tokens in valid.items():
        logits = 200.0 * plane(len(TOKENS)) @ (template(seen[prefix][:11]) + dictionary(seen[prefix][11:]))
        probability = np.exp(logits - logits.max())
        assert sum(probability[TOKENS.index(t)] for t in tokens) / probability.sum() > 1 - 1e-9

    one, other = (tuple(s[:4]) for s in SENTENCES)
    assert (valid[one], valid[other]) == ({"in"}, {"on"})
    alone = [read(p, head, lambda present: present * (np.cumsum(present) == 1)) for p in (one, other)]
    np.testing.assert_allclose(*alone, rtol=0, atol=1e-12)
