"""Table 2 by arithmetic, the dichotomy and tails: each against a second way to the same number."""

import numpy as np
import pytest
from cells import a_claim, computed
from scipy import stats

from studies.sigmoid_attention.parts import dichotomy, printed_table, rules, tail_frequency


def test_ten_runs_would_be_the_fewest():
    """SciPy's Welch test on summaries is the second way; the printed errors by themselves leave the sign open."""
    ds = computed(printed_table, softmax=441.0, sigmoid=486.0, softmax_error=39.0, sigmoid_error=53.0)
    assert ds.runs.item() == 10
    p = [stats.ttest_ind_from_stats(486, 53, k, 441, 39, k, equal_var=False).pvalue for k in (9, 10)]
    assert p[0] > 0.05 > p[1]
    ds = ds.expand_dims(arm=["speed"])
    found = rules.printed_difference(ds, a_claim(arm="speed"))
    assert found.value == 45 and found.low < 0 < found.high
    assert rules.in_favour(ds, a_claim(), arms=["speed"]).value == 1


def test_the_closest_pair_is_that_of_a_grid():
    rng = np.random.default_rng(0)
    score, output = rng.standard_normal(300), rng.standard_normal(300)
    distance, intercepts = dichotomy.closest_together(score, 0.4, output, 5.0)
    grid = np.linspace(-5, 5, 81)
    gates = 1 / (1 + np.exp(-(score + grid[:, None])))
    target = 1 / (1 + np.exp(-(score + 0.4)))
    tried = np.sqrt(np.mean(((gates[:, None] + gates - target) * output) ** 2, axis=-1))
    assert distance <= tried.min() + 1e-12
    assert distance == pytest.approx(tried.min(), rel=0.02)
    assert np.abs(intercepts).max() <= 5


def test_the_constant_is_the_least_on_a_grid_that_obeys():
    rng = np.random.default_rng(2)
    for n in (50, 2000):
        errors = np.sqrt(rng.chisquare(4, 80) / n)
        delta = np.linspace(np.sqrt(np.log(n) / n), 1.2 * errors.max(), 4001)
        frequency = np.mean(errors > delta[:, None], axis=1)
        grid = np.linspace(0.5, 5, 4501)
        obeys = [np.all(frequency <= c * np.exp(-n * delta**2 / c**2) + 1e-12) for c in grid]
        assert tail_frequency.smallest_constant(errors, n) == pytest.approx(grid[np.argmax(obeys)], abs=0.01)
