import numpy as np
import pytest
from scipy import stats

from moestat.papers.mixture_of_transformers.decay import decay, first_passage

T = np.unique(np.round(np.geomspace(1, 10_000, 60)))


def test_power_laws_and_geometric_laws_are_recovered():
    found = decay(T, np.stack([3.0 * T**-0.8, 0.5 * np.exp(-0.01 * T)]))
    np.testing.assert_allclose(found.slope[0], -0.8)
    np.testing.assert_allclose(found.last_slope[0], -0.8)
    np.testing.assert_allclose(found.rate[1], 0.01)
    assert found.r2_power[0] == pytest.approx(1) and found.r2_geometric[1] == pytest.approx(1)
    assert found.r2_geometric[0] < 0.8 and found.r2_power[1] < 0.8
    assert found.aic_gain[0] > 1000 and found.aic_gain[1] < -1000


def test_aic_gain_is_the_difference_of_two_gaussian_aics():
    rng = np.random.default_rng(0)
    loss = T**-1.0 * np.exp(0.1 * rng.standard_normal(T.size))
    aic = []
    for x in (T, np.log(T)):
        residual = np.log(loss) - np.polyval(np.polyfit(x, np.log(loss), 1), x)
        likelihood = stats.norm.logpdf(residual, scale=np.std(residual)).sum()
        aic.append(2 * 3 - 2 * likelihood)
    found = decay(T, loss)
    assert found.aic_gain == pytest.approx(aic[0] - aic[1])
    assert found.slope == pytest.approx(np.polyfit(np.log(T), np.log(loss), 1)[0])


def test_the_last_slope_looks_at_the_last_decade():
    bent = np.where(T < 1000, T**-0.2, 1000**-0.2 * (T / 1000) ** -1.5)
    assert decay(T, bent).last_slope == pytest.approx(-1.5, abs=1e-6)
    # the whole of it: a line through the bend, over all that is within a factor of ten of the end
    later = np.where(T < 5000, T**-0.2, 5000**-0.2 * (T / 5000) ** -1.5)
    last = T >= 1000
    expected = np.polyfit(np.log(T[last]), np.log(later[last]), 1)[0]
    assert decay(T, later).last_slope == pytest.approx(expected) and -1.4 < expected < -0.3


def test_a_series_with_a_hole_has_no_law():
    loss = np.stack([T**-1.0, T**-1.0])
    loss[0, 3] = np.nan
    found = decay(T, loss)
    assert np.isnan(found.slope[0]) and found.slope[1] == pytest.approx(-1)


def test_first_passage_interpolates_in_logarithms():
    levels = np.array([0.5, 0.01, 1e-3, 1e-9])
    found = first_passage(T, np.stack([2.0 / T, 0.3 * T**-0.5]), levels)
    np.testing.assert_allclose(found[0], [4, 200, 2000, np.nan])
    # the second starts below the first level, and does not reach the third
    np.testing.assert_allclose(found[1], [1, 900, np.nan, np.nan])
