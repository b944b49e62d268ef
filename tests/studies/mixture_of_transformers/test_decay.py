import numpy as np
import pytest
from scipy import stats

from studies.mixture_of_transformers.parts.decay import decay, first_passage, stage_lengths

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


def test_stage_lengths_are_the_first_records_that_do():
    epochs = np.array([0, 1, 4, 10, 11, 14, 20])
    out = {
        "gap": np.array([[0, 0.2, 1.1, 0.9, 2, 2, 2], [0, 0, 0, 0.5, 3, 3, 3.0]]),
        "self_attention": np.array([[0.9, 0, 0, 0.2, 0.3, 0.5, 0.6], [0.2] * 7]),
    }
    values = stage_lengths(epochs, (10, 20, 20), out, 1.0, 0.4)
    np.testing.assert_array_equal(values["steps_to_attention"], [4, np.nan])
    np.testing.assert_array_equal(values["steps_to_gap_reached"], [True, False])
