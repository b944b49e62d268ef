"""The experiment with softmax-gated Gaussian experts, and its study file."""

import numpy as np
import pytest
from cells import computed

from moestat.experiment import Cell
from moestat.losses.measures import softmax_losses
from moestat.papers.demystifying_softmax import softmax_gaussian
from moestat.papers.demystifying_softmax.softmax_gaussian import MODEL, TRUTH, Settings
from moestat.status import Status

NAME = "moestat.papers.demystifying_softmax.softmax_gaussian"


def run(replicates=range(3), seed=1, **settings):
    return computed(softmax_gaussian, replicates, seed, **{"n": 300, "search_rounds": 1} | settings)


# --- the experiment ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("inputs", ["uniform", "grid"])
@pytest.mark.parametrize("start_policy", ["near", "random"])
@pytest.mark.parametrize("experts", [2, 3])
def test_fits_are_converged_better_than_the_truth_and_scored(inputs, start_policy, experts):
    ds = run(inputs=inputs, start_policy=start_policy, experts=experts)
    assert (ds["status"] == Status.CONVERGED).all() and (ds["gain"] > 0).all() and (ds["shortfall"] == 0).all()
    theta = ds["theta"].values
    assert theta.shape == (3, 4, 5) and np.isnan(theta[:, experts:]).all()
    losses = softmax_losses(theta[:, :experts], TRUTH, MODEL)
    for name in ("D1", "D2", "matched", "a_exact", "cells_over"):
        np.testing.assert_array_equal(ds[name], losses[name])
    assert (ds["hellinger"] > 0).all() and (ds["hellinger"] < 0.3).all()
    assert (ds["hellinger_squared"] >= ds["hellinger"] ** 2 - 1e-12).all()  # Jensen
    assert (ds["start_D1"] != ds["D1"]).all()


def test_a_replicate_depends_on_itself_alone_and_arms_share_their_data():
    whole, part = run(range(4)), run([3, 1])
    for name in ("theta", "D1", "gain"):
        np.testing.assert_array_equal(whole[name].sel(replicate=[3, 1]), part[name])
    # the same likelihood of the truth, that is to say the same data
    truth = [run(**s)["log_likelihood"] - run(**s)["gain"] for s in ({}, {"experts": 3, "start_policy": "random"})]
    np.testing.assert_allclose(truth[0], truth[1], rtol=1e-12)
    assert (run(seed=2)["gain"] != run()["gain"]).all()


def test_a_grid_is_even_and_holds_both_ends():
    cell = Cell(NAME, 1, "arm", {"n": 50}, {})
    x, _ = softmax_gaussian._draw(cell, Settings(n=50, inputs="grid"), [0, 1])
    np.testing.assert_allclose(x[..., 0], [np.arange(50) / 49] * 2, atol=1e-15)
    x, _ = softmax_gaussian._draw(cell, Settings(n=50), [0, 1])
    assert (x >= 0).all() and (x <= 1).all() and (x[0] != x[1]).all()


# --- the study --------------------------------------------------------------------------------------------------------
