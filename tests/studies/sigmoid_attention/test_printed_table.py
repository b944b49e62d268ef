"""Table 2 by arithmetic, the dichotomy, brackets and tails: each against a second way to the same number."""

import numpy as np
import pytest
import xarray as xr
from cells import a_claim, computed
from scipy import stats

from moestat.models.regression import Model
from studies.sigmoid_attention.parts import brackets, dichotomy, printed_table, rules, tail_frequency


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


def test_printed_brackets_lose_negative_functions_and_stay_wide():
    printed, mended = (
        computed(brackets, seed=5, bracket=b, expert="linear", points_log2=7) for b in ("printed", "mended")
    )
    assert printed.outside.item() > 1 and printed.excess.item() > 10
    assert mended.outside.item() == 0 and mended.excess.item() <= 1 + 1e-12


def test_the_lipschitz_constants_bound_differences_and_the_cover_is_counted():
    model, box, rng = Model("sigmoid", "full", "relu", 2), 2.0, np.random.default_rng(1)
    x = rng.uniform(-1, 1, (400, 2))
    bound = brackets.lipschitz(model, box)
    theta = rng.uniform(-box, box, (60, 1, model.atom_size))
    for k in range(model.atom_size):
        moved = theta.copy()
        moved[..., k] += 1e-4
        slope = np.abs(model.predict(moved, x) - model.predict(theta, x)).max() / 1e-4
        assert slope <= bound[k] * (1 + 1e-3), k
    step = brackets.spacing(model, 2, box, 0.05)
    counted = 2 * sum(np.log(len(np.arange(-box, box, width))) for width in step)
    assert brackets.entropy(model, 2, box, np.array([0.1]))[0] == pytest.approx(counted, rel=1e-6)


@pytest.mark.parametrize(
    ("growth", "allowed"),
    [(lambda h, log: 1e6 + log, True), (lambda h, log: h * log, False), (lambda h, log: h + 486 * log**1.5, False)],
)
def test_the_order_of_an_entropy_is_that_of_what_it_adds(growth, allowed):
    """A large constant hides no higher order, as it does in the ratio of entropy and log(1 / epsilon)."""
    logs = np.log(1.0 / brackets.EPSILON)
    entropy = brackets.entropy(Model("sigmoid", "full", "relu", 8), 9, 5.0, brackets.EPSILON)
    ds = xr.Dataset(
        {"entropy": (("arm", "epsilon", "replicate"), growth(entropy, logs)[None, :, None])},
        coords={"arm": ["mended-relu"], "epsilon": brackets.EPSILON, "replicate": [0]},
    )
    found = rules.entropy_added(ds, a_claim(at_most=0.1), arms=["mended-*"])
    assert found.exact and (found.high <= 0.1) == allowed


def test_the_constant_is_the_least_on_a_grid_that_obeys():
    rng = np.random.default_rng(2)
    for n in (50, 2000):
        errors = np.sqrt(rng.chisquare(4, 80) / n)
        delta = np.linspace(np.sqrt(np.log(n) / n), 1.2 * errors.max(), 4001)
        frequency = np.mean(errors > delta[:, None], axis=1)
        grid = np.linspace(0.5, 5, 4501)
        obeys = [np.all(frequency <= c * np.exp(-n * delta**2 / c**2) + 1e-12) for c in grid]
        assert tail_frequency.smallest_constant(errors, n) == pytest.approx(grid[np.argmax(obeys)], abs=0.01)
