"""Valid sets that are not all arcs of a polygon, whatever its order."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.task_routing.parts import knowledge_small
from studies.task_routing.parts.construction.arcs import find_star
from studies.task_routing.parts.construction.memoriser import memorise, plane
from studies.task_routing.parts.knowledge import Prefixes


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


SENTENCES = (["A", "is", "B", "of", "in", "."], ["A", "is", "C", "of", "on", "."])
TOKENS = ["A", "is", "B", "C", "of", "in", "on", "."]
ENTITIES = {"A": 1.0, "B": 2.0, "C": 4.0}
LENGTH, TEMPLATES, TASKS, PAIRS = 6, 2, 2, 2  # N is 2: a table of one pair has fewer
DIMENSION = 2 * LENGTH * TEMPLATES
FLAG, PLACE, TEMPLATE, PRESENT, NUMBER, SECOND = 4, 5, slice(6, 11), 12, 13, 14
"""Coordinates: entities share one in the first block, and have a number in the second."""


def embed(token, position):
    x = np.zeros(DIMENSION)
    if token in ENTITIES:
        x[FLAG] = x[PRESENT] = 1.0
        x[NUMBER] = ENTITIES[token]
    else:
        x[["is", "of", "in", "on"].index(token)] = 1.0
    x[PLACE] = position / LENGTH
    return x


def attend(scores, values):
    weights = np.exp(scores - scores.max())
    return weights @ values / weights.sum()


def read(prefix, head, entities):
    """Return what the hidden layer sees: last token, template head, and the head for ``entities(flags)``."""
    x = np.array([embed(token, i) for i, token in enumerate(prefix, 1)])
    queries, keys, values = head
    first = x[:, :6]
    out = x[-1].copy()
    out[TEMPLATE] += attend(first @ keys @ (first[-1] @ queries), first @ values)
    out[SECOND] += attend(60.0 * entities(x[:, PRESENT]), x[:, NUMBER])
    return out


@pytest.fixture
def head():
    rng = np.random.default_rng(0)
    return rng.standard_normal((6, 6)), rng.standard_normal((6, 6)), rng.standard_normal((6, 5))


def prefixes_head():
    every = sorted({tuple(s[:i]) for s in SENTENCES for i in range(1, LENGTH)})
    return {p: {s[len(p)] for s in SENTENCES if tuple(s[: len(p)]) == p} for p in every}


def test_the_mean_of_the_dictionary_tokens_tells_the_task(head):
    valid = prefixes_head()
    seen = {p: read(p, head, lambda present: present) for p in valid}
    corners = dict(zip(TOKENS, plane(len(TOKENS)), strict=True))
    rng = np.random.default_rng(1)

    says = {1: corners["is"], 2: np.zeros(2), 3: corners["of"], 4: (corners["in"] + corners["on"]) / 2, 5: corners["."]}
    patterns = {seen[p][:12].tobytes(): (seen[p][:12], 50.0 * says[len(p)]) for p in valid}
    template = memorise(*map(np.array, zip(*patterns.values(), strict=True)), rng)
    objects = {1.0: "B", 1.5: "in", 2.5: "on"}
    dictionary = memorise(np.array(list(objects))[:, None], np.array([corners[t] for t in objects.values()]), rng)
    assert template.width + dictionary.width == 9 <= LENGTH * TEMPLATES + PAIRS * TASKS

    assert len(valid) == 8
    for prefix, tokens in valid.items():
        logits = 200.0 * plane(len(TOKENS)) @ (template(seen[prefix][:12]) + dictionary(seen[prefix][[SECOND]]))
        probability = np.exp(logits - logits.max())
        probability /= probability.sum()
        assert sum(probability[TOKENS.index(t)] for t in tokens) > 1 - 1e-9


def test_the_subject_alone_does_not(head):
    def first(present):
        return present * (np.cumsum(present) == 1)

    one, other = (read(tuple(s[:4]), head, first) for s in SENTENCES)
    assert prefixes_head()[tuple(SENTENCES[0][:4])] == {"in"} and prefixes_head()[tuple(SENTENCES[1][:4])] == {"on"}
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


SIZE = 4


def prefixes_exact(bits):
    """Return the prefixes of both tasks up to "then" as (index, word) pairs, with the sign of their task."""
    tasks = knowledge_small.parity(bits).tasks
    return [(1 - 2 * k, list(enumerate(t.tokens[: bits + 1]))) for k, task in enumerate(tasks) for t in task.templates]


def signed_sum(rng, bits, heads):
    """Sum what a router sees, and 1 for its bias, over all prefixes: with sign, and with the product of the D > 0."""
    words = sorted({word for _, prefix in prefixes_exact(bits) for word in prefix})
    drawn = [
        (
            {word: Fraction(*map(int, rng.integers(1, 60, 2))) for word in words},
            {word: [Fraction(int(v)) for v in rng.integers(-9, 10, SIZE)] for word in words},
        )
        for _ in range(heads)
    ]
    residual = [Fraction(int(v)) for v in rng.integers(-9, 10, SIZE)]
    total = [Fraction(0)] * (SIZE + 1)
    for sign, prefix in prefixes_exact(bits):
        assert prefix[-1] == (bits, "then")
        seen, factor = [*residual, Fraction(1)], Fraction(sign)
        for weight, value in drawn:
            denominator = sum(weight[word] for word in prefix)
            for c in range(SIZE):
                seen[c] += sum(weight[word] * value[word][c] for word in prefix) / denominator
            factor *= denominator
        total = [a + factor * b for a, b in zip(total, seen, strict=True)]
    return total


@pytest.mark.parametrize(("bits", "heads"), [(2, 1), (3, 1), (3, 2), (4, 3)])
def test_positive_combinations_of_what_the_router_sees_of_both_tasks_are_equal(bits, heads):
    """So no linear router scores all prefixes of one task above all of the other, exactly."""
    rng = np.random.default_rng(bits)
    for _ in range(5):
        assert not any(signed_sum(rng, bits, heads))


@pytest.mark.parametrize(("bits", "heads"), [(1, 1), (2, 2), (3, 3)])
def test_with_a_head_for_each_word_they_are_not(bits, heads):
    """The example is sharp: as many heads as words leave a difference."""
    rng = np.random.default_rng(bits)
    for _ in range(5):
        assert any(signed_sum(rng, bits, heads))
