"""No two heads tell the parity of three words: the identity behind that verdict in rational numbers, without rounding.

The words and the tasks are those of the study's own dataset. A head at the last common word is a ratio of two sums over
positions of functions of one word each; any positive rationals stand in the place of its exponentials.
"""

from fractions import Fraction

import numpy as np
import pytest

from moestat.papers.task_routing import knowledge_small

SIZE = 4


def prefixes(bits):
    """Return the prefixes of both tasks up to "then" as (index, word) pairs, with the sign of their task."""
    tasks = knowledge_small.parity(bits).tasks
    return [(1 - 2 * k, list(enumerate(t.tokens[: bits + 1]))) for k, task in enumerate(tasks) for t in task.templates]


def signed_sum(rng, bits, heads):
    """Sum what a router sees, and 1 for its bias, over all prefixes: with sign, and with the product of the D > 0."""
    words = sorted({word for _, prefix in prefixes(bits) for word in prefix})
    drawn = [
        (
            {word: Fraction(*map(int, rng.integers(1, 60, 2))) for word in words},
            {word: [Fraction(int(v)) for v in rng.integers(-9, 10, SIZE)] for word in words},
        )
        for _ in range(heads)
    ]
    residual = [Fraction(int(v)) for v in rng.integers(-9, 10, SIZE)]
    total = [Fraction(0)] * (SIZE + 1)
    for sign, prefix in prefixes(bits):
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
