from functools import partial

import numpy as np
import xarray as xr
from cells import computed

from moestat.models import gaussian
from moestat.papers.compete_smoe import competition_asleep as asleep
from moestat.papers.compete_smoe.competition_designs import true_mixture

tried = partial(computed, asleep, n=300)


def test_near_the_truth_the_fourth_expert_wins_nowhere():
    model, truth = true_mixture("asleep")
    # sizes on the square are extreme at its corners; a and b moved off weights change a difference by (a + b) sqrt(3)
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=float)
    sizes = corners @ truth[:, :2].T + truth[:, 2]
    assert np.all(sizes[:, :3] > 1.3 - 1e-12) and np.all(np.abs(sizes[:, 3]) < 0.7 + 1e-12)
    assert np.sqrt(3.0) * asleep.NEAR < 1.3 - 0.7
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, (4000, 2))
    x[:4] = corners
    for _ in range(200):
        move = rng.standard_normal((4, 4))
        size = np.linalg.norm(move[:, :3], axis=1) + np.abs(move[:, 3])
        moved = truth + asleep.NEAR * move / size.sum() * rng.uniform()
        assert not model.winners(moved, x)[3].any()
        np.testing.assert_allclose(
            gaussian.log_density(model, moved, x, x[:, 0]), gaussian.log_density(model, moved[:3], x, x[:, 0])
        )


def test_an_awake_fourth_expert_beats_all_points_near_the_truth():
    ds = tried(range(3))
    assert np.all(ds["three_again"] >= 1) and np.all(ds["three_gain"] > 0)
    np.testing.assert_allclose(ds["lead"], ds["gain"] - ds["three_gain"], atol=1e-8)
    np.testing.assert_array_equal(ds["near"], ds["lead"] <= 0.1)
    assert (ds["lead"] > 0.1).sum() >= 2 and np.all(ds["matched"].where(ds["lead"] > 0.1, 9.0) > asleep.NEAR)
    xr.testing.assert_identical(ds.sel(replicate=[1]), tried([1]))
