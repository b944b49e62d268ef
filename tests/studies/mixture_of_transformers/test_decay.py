import itertools

import numpy as np
import pytest
from scipy import stats

from moestat.experiment import Cell
from studies.mixture_of_transformers.parts import mot_initialisation
from studies.mixture_of_transformers.parts.decay import decay, first_passage, stage_lengths
from studies.mixture_of_transformers.parts.mot_initialisation import near_tie, occupancy

T = np.unique(np.round(np.geomspace(1, 10_000, 60)))


def test_power_laws_and_geometric_laws_are_recovered():
    found = decay(T, np.stack([3.0 * T**-0.8, 0.5 * np.exp(-0.01 * T)]))
    np.testing.assert_allclose(found["slope"][0], -0.8)
    np.testing.assert_allclose(found["last_slope"][0], -0.8)
    assert found["aic_gain"][0] > 1000 and found["aic_gain"][1] < -1000


def test_aic_gain_is_the_difference_of_two_gaussian_aics():
    rng = np.random.default_rng(0)
    loss = T**-1.0 * np.exp(0.1 * rng.standard_normal(T.size))
    aic = []
    for x in (T, np.log(T)):
        residual = np.log(loss) - np.polyval(np.polyfit(x, np.log(loss), 1), x)
        likelihood = stats.norm.logpdf(residual, scale=np.std(residual)).sum()
        aic.append(2 * 3 - 2 * likelihood)
    found = decay(T, loss)
    assert found["aic_gain"] == pytest.approx(aic[0] - aic[1])
    assert found["slope"] == pytest.approx(np.polyfit(np.log(T), np.log(loss), 1)[0])


def test_the_last_slope_looks_at_the_last_decade():
    bent = np.where(T < 5000, T**-0.2, 5000**-0.2 * (T / 5000) ** -1.5)
    last = T >= 1000  # a line through the bend, over all that is within a factor of ten of the end
    expected = np.polyfit(np.log(T[last]), np.log(bent[last]), 1)[0]
    hole = np.where(T[3] == T, np.nan, bent)
    found = decay(T, np.stack([bent, hole]))["last_slope"]
    assert found[0] == pytest.approx(expected) and -1.4 < expected < -0.3 and np.isnan(found[1])


def test_first_passage_interpolates_in_logarithms():
    levels = np.array([0.5, 0.01, 1e-3, 1e-9])
    found = first_passage(T, np.stack([2.0 / T, 0.3 * T**-0.5]), levels)
    np.testing.assert_allclose(found[0], [4, 200, 2000, np.nan])
    # the second starts below the first level, and does not reach the third
    np.testing.assert_allclose(found[1], [1, 900, np.nan, np.nan])


@pytest.mark.parametrize(("classes", "experts"), [(2, 1), (3, 4), (4, 6)])
def test_occupancy_counts_all_assignments(classes, experts):
    counted = np.zeros(classes + 1)
    for assignment in itertools.product(range(classes), repeat=experts):
        counted[len(set(assignment))] += 1
    np.testing.assert_allclose(occupancy(classes, experts), counted / classes**experts, atol=1e-14)


def test_lemma_8_holds_with_constant_1_and_n_log_n_tends_to_1_over_e():
    for n in (2, 5, 30, 200):
        for delta in (0.5, 0.1, 0.01):
            m = int(np.ceil(n * np.log(n / delta)))
            assert occupancy(n, m)[-1] >= 1 - delta
    assert occupancy(400, int(np.ceil(400 * np.log(400))))[-1] == pytest.approx(np.exp(-1), abs=0.01)


@pytest.mark.parametrize(("classes", "share"), [(2, 0.3), (4, 0.05), (8, 0.9)])
def test_near_ties_against_simulation(classes, share):
    rng = np.random.default_rng(0)
    top = np.sort(rng.standard_normal((200_000, classes)), axis=1)[:, -2:]
    simulated = np.mean(top[:, 0] > (1 - share) * top[:, 1])
    exact = near_tie(classes, share)
    # false alarm below 1e-6 (4.9 standard errors)
    assert abs(simulated - exact) < 4.9 * np.sqrt(exact * (1 - exact) / 200_000)


def test_stage_lengths_are_the_first_records_that_do():
    epochs = np.array([0, 1, 4, 10, 11, 14, 20])
    out = {
        "gap": np.array([[0, 0.2, 1.1, 0.9, 2, 2, 2], [0, 0, 0, 0.5, 3, 3, 3.0]]),
        "self_attention": np.array([[0.9, 0, 0, 0.2, 0.3, 0.5, 0.6], [0.2] * 7]),
    }
    values = stage_lengths(epochs, (10, 20, 20), out, 1.0, 0.4)
    np.testing.assert_array_equal(values["steps_to_attention"], [4, np.nan])
    np.testing.assert_array_equal(values["steps_to_gap_reached"], [True, False])


def test_initialisation_agrees_with_its_exact_probabilities():
    settings = mot_initialisation.Settings(classes=4, rule="N log N", draws=2000).model_dump(mode="json")
    ds = mot_initialisation.run(Cell("e", 3, "a", {}, settings), [0, 1])
    for name in ("all_covered", "gap_holds"):
        exact = ds[f"exact_{name}"].item()
        # two shares in two replicates: false alarm below 1e-5
        assert np.all(np.abs(ds[name] - exact) < 4.9 * np.sqrt(exact * (1 - exact) / 2000) + 1 / 2000)
    assert ds.M.item() == 6 and np.all(ds.gap_holds > 0.99)
