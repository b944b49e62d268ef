import numpy as np
import pytest
from pydantic import ValidationError

from moestat.experiment import Cell
from moestat.papers.expert_count import router_smoothness
from moestat.papers.expert_count.router_smoothness import Settings
from moestat.status import Status


def run(replicates, seed=3, **settings):
    resolved = Settings(**settings).model_dump(mode="json")
    cell = Cell("moestat.papers.expert_count.router_smoothness", seed, "arm", {}, resolved)
    return router_smoothness.run(cell, list(replicates), device="cpu")


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


def test_numbers_do_not_depend_on_the_block_of_replicates():
    together, alone = run(range(4)), run([2])
    for name in together.data_vars:
        if "replicate" in together[name].dims:
            np.testing.assert_array_equal(together[name].sel(replicate=[2]), alone[name])


def test_one_expert_is_refused():
    with pytest.raises(ValidationError, match="greater than or equal to 2"):
        Settings(experts=1)
