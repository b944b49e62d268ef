import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from moestat.losses import routing


def entropy_of_the_paper(table):
    """Eq. (7), term by term."""
    total = 0.0
    for at_expert in table:
        for count in at_expert:
            if count > 0:
                total -= at_expert.sum() / table.sum() * count / at_expert.sum() * np.log(count / at_expert.sum())
    return total


tables = hnp.arrays(np.int64, (5, 3), elements=st.integers(0, 20)).filter(lambda a: a.sum() > 0).map(np.float64)


@settings(max_examples=30, deadline=None)
@given(tables)
def test_dispatch_entropy_is_eq_7(table):
    value = float(routing.dispatch_entropy(table))
    assert value == pytest.approx(entropy_of_the_paper(table), abs=1e-12)
    assert -1e-12 <= value <= np.log(3) + 1e-12


@settings(max_examples=30, deadline=None)
@given(tables)
def test_pure_experts_have_no_entropy_and_only_they(table):
    pure = np.all(np.sum(table > 0, axis=1) <= 1)
    assert (float(routing.purity(table)) == pytest.approx(1)) == pure
    assert (float(routing.dispatch_entropy(table)) < 1e-9) == pure


@settings(max_examples=30, deadline=None)
@given(tables)
def test_effective_experts_lie_between_one_and_those_used(table):
    effective = float(routing.effective_experts(table))
    assert 1 - 1e-12 <= effective <= float(routing.experts_used(table)) + 1e-9


def test_equal_mixtures_have_the_largest_entropy():
    assert float(routing.dispatch_entropy(np.full((6, 4), 7.0))) == pytest.approx(np.log(4))
    assert float(routing.effective_experts(np.full((6, 4), 7.0))) == pytest.approx(6)


@pytest.mark.parametrize("xp", [anp, array_api_strict])
def test_counts_by_cluster(xp):
    rng = np.random.default_rng(0)
    expert, cluster = rng.integers(0, 4, (2, 60)), rng.integers(0, 3, (2, 60))
    counts = np.asarray(routing.counts(xp.asarray(expert), xp.asarray(cluster), 4, 3))
    for b in range(2):
        for m in range(4):
            for k in range(3):
                assert counts[b, m, k] == np.sum((expert[b] == m) & (cluster[b] == k))
    np.testing.assert_allclose(np.asarray(routing.load(xp.asarray(counts))), counts.sum(-1) / 60)
