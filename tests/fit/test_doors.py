"""The doors for data of one's own: what is no sample is refused in a sentence, whatever the arithmetic would say."""

import numpy as np
import pytest

from moestat import fit, models
from moestat.errors import InputError
from moestat.models import truths
from moestat.models.regression import Model

MODEL = Model("sigmoid", "full", "linear", d=1)
TRUTH = truths.ground_truth(MODEL, 2, "dense", np.random.default_rng(0))


def rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ((0, 0.01), "n is 0; allowed are whole numbers from 1"),
        ((-5, 0.01), "n is -5; allowed are whole numbers from 1"),
        ((2.5, 0.01), "n is 2.5; allowed are whole numbers from 1"),
        ((10, -0.01), "noise_variance is -0.01; allowed are finite numbers from 0"),
        ((10, float("nan")), "noise_variance is nan; allowed are finite numbers from 0"),
        ((10, "small"), "noise_variance is 'small'; allowed are finite numbers from 0"),
    ],
)
def test_numbers_of_a_sample_that_are_none_are_named(numbers, told):
    with pytest.raises(InputError) as caught:
        models.sample(MODEL, TRUTH, *numbers, rng())
    assert str(caught.value) == told


def test_a_truth_of_another_shape_is_refused():
    with pytest.raises(InputError, match=r"theta has shape \(5,\); allowed is \(N, P\) with P = 5"):
        models.sample(MODEL, TRUTH[0], 10, 0.01, rng())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"x": np.zeros((1, 0, 1)), "y": np.zeros((1, 0))}, "x has shape (1, 0, 1); allowed is (B, n, d) with d = 1,"),
        ({"y": np.zeros((1, 0))}, "y has shape (1, 0); allowed is (B, n), no length of which is 0"),
        ({"starts": np.zeros((1, 0, 2, 5))}, "starts has shape (1, 0, 2, 5); allowed is (B, S, N, P) with P = 5, no"),
        ({"y": np.full((1, 20), np.nan)}, "y holds a number that is not finite; allowed are finite numbers"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_data_that_cannot_be_fitted_are_named(change, told):
    x, y = models.sample(MODEL, TRUTH, 20, 0.01, rng())
    given = {"x": x[None], "y": y[None], "starts": TRUTH[None, None]} | change
    with pytest.raises(InputError) as caught:
        fit.least_squares(MODEL, **given)
    assert str(caught.value).startswith(told)
