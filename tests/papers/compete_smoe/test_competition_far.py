import numpy as np
import pytest
import xarray as xr
from cells import computed

from moestat.losses.divergences import expected_hellinger
from moestat.losses.measures import competition_losses
from moestat.models.competition import Competition
from moestat.papers.compete_smoe import competition_far as far


def tried(replicates=(0, 1), **settings):
    return computed(far, replicates, **{"others": 3} | settings)


@pytest.mark.parametrize("active", [1, 2])
def test_other_weights_of_one_expert_have_its_density_and_are_far(active):
    for expert in ("scaled", "network"):
        ds = tried(expert=expert, active=active)
        assert np.all(ds["least_ratio"] == 0) and np.all(ds["gap"] < 1e-12) and np.all(ds["image_D"] > 1)
        assert np.all(ds["least_wins"] > 0.2) and np.all(ds["independence"] > 1e-3)
    for expert in ("affine", "tanh"):
        ds = tried(expert=expert, active=active)
        assert np.all(ds["least_ratio"] > 0.01) and np.all(ds["gap"] > 0.1)
    xr.testing.assert_identical(ds.sel(replicate=[1]), tried([1], expert="tanh", active=active))


@pytest.mark.parametrize("expert", ["affine", "tanh"])
@pytest.mark.parametrize("active", [1, 2])
def test_losses_are_those_of_the_library(expert, active):
    rng = np.random.default_rng(1)
    truth = np.column_stack([far.TRUTHS[expert], far.VARIANCES])
    atoms = np.concatenate([rng.uniform(-1.5, 1.5, (5, 2, 2)), rng.uniform(0.1, 1.0, (5, 2, 1))], axis=2)
    model = Competition(1, expert, active)
    one, _ = expected_hellinger(model, atoms, truth, far.X[:, None])
    np.testing.assert_allclose([far.hellinger(expert, a, truth, active) for a in atoms], one, rtol=1e-4)
    loss = competition_losses(atoms, truth, model)["D"]
    np.testing.assert_allclose([far.distance(a, truth, active) for a in atoms], loss)


def test_derivatives_by_hand_are_those_that_are_looked_at():
    a, b = 2.5, 0.6
    rows = np.stack([b * far.X / np.cosh(a * far.X) ** 2, np.tanh(a * far.X)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = far.independence("scaled", np.array([a, b, 0.2]))
    assert found == pytest.approx(np.linalg.svd(rows, compute_uv=False)[-1], rel=1e-6)
    # hidden units with the same weights are no two units: the derivatives in them are the same
    assert far.independence("network", np.array([2.0, 0.5, 2.0, 0.5, 0.2])) < 1e-8
