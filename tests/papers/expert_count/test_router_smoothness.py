from functools import partial

import numpy as np
import pytest
from cells import computed

from moestat.papers.expert_count import router_smoothness
from moestat.status import Status

run = partial(computed, router_smoothness)


@pytest.mark.parametrize("pair", ["random", "tied"])
def test_the_bound_holds_and_the_simulation_agrees(pair):
    ds = run(range(20), experts=6, pair=pair, draws=10_000)
    assert np.all(ds.share_of_bound <= 1) and np.all(ds.ratio <= 2 + 1e-12)
    assert np.all(ds.status == Status.CONVERGED) and ds.bound.item() == 36
    # 20 x 2 x 6 frequencies within 5.5 standard errors: false alarm about 1e-5
    assert ds.simulation_error.max() < 5.5
    np.testing.assert_allclose(ds.change, ds.ratio * 0.05)


def test_ties_reach_twice_the_distance():
    ds = run(range(3), experts=32, pair="tied")
    np.testing.assert_allclose(ds.ratio, 2, atol=1e-6)
    np.testing.assert_allclose(ds.share_of_bound, 2 / 32**2, atol=1e-8)
