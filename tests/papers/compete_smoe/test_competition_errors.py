import array_api_strict as strict
import numpy as np
import pytest

from moestat.losses.divergences import squared_hellinger
from moestat.models.gaussian import log_density
from moestat.papers.compete_smoe.competition_designs import DESIGNS, true_mixture
from moestat.papers.compete_smoe.competition_errors import Routing, paired_with_truth


def moved(design, size, seed=0):
    model, truth = true_mixture(design)
    rng = np.random.default_rng(seed)
    return model, truth, truth + size * rng.standard_normal((2, *truth.shape)) * (np.arange(truth.shape[1]) < model.d)


def test_pairing_undoes_a_permutation_and_leaves_out_the_surplus_atom():
    model, truth, fitted = moved("mean", 0.01)
    order = np.array([2, 0, 3, 1])
    more = np.concatenate([fitted[:, order], fitted[:, :1] + 5.0], axis=1)
    np.testing.assert_array_equal(paired_with_truth(more, truth), fitted)
    with pytest.raises(ValueError, match="3 fitted atoms cannot be paired with 4 true atoms"):
        paired_with_truth(fitted[:, :3], truth)


@pytest.mark.parametrize("design", DESIGNS)
def test_misrouted_inputs_are_all_found(design):
    model, truth, fitted = moved(design, 0.05)
    pool = np.random.default_rng(1).uniform(-1, 1, (20000, model.d))
    routing = Routing(model, truth, pool, 100)
    for atoms in fitted:
        directly = np.any(model.winners(atoms, pool) != model.winners(truth, pool), axis=0)
        np.testing.assert_array_equal(routing.misrouted(atoms), np.flatnonzero(directly))
        assert directly.any()
    assert routing.misrouted(truth).size == 0


def test_hellinger_means_are_those_over_the_whole_pool():
    model, truth, fitted = moved("mean", 0.02)
    pool = np.random.default_rng(1).uniform(-1, 1, (20000, 4))
    errors = Routing(model, truth, pool, 3000).hellinger(fitted)
    for k, atoms in enumerate(fitted):
        h2 = squared_hellinger(model, atoms, truth, pool)
        wrong = np.any(model.winners(atoms, pool) != model.winners(truth, pool), axis=0)
        # inputs with the true winners are a subsample of 3000: their h^2 varies by less than its mean, 5 sigma
        assert errors.squared[k] == pytest.approx(h2.mean(), rel=0.1)
        assert errors.mean[k] == pytest.approx(np.sqrt(h2).mean(), rel=0.1)
        assert errors.misrouted[k] == wrong.mean()
        assert errors.squared_misrouted[k] == pytest.approx(np.mean(h2 * wrong), rel=1e-9)
    same = Routing(model, strict.asarray(truth), strict.asarray(pool[:5000]), 300)
    other = Routing(model, truth, pool[:5000], 300)
    for name in ("misrouted", "mean", "squared", "squared_misrouted"):
        ours = getattr(other.hellinger(fitted), name)
        np.testing.assert_allclose(getattr(same.hellinger(strict.asarray(fitted)), name), ours, rtol=1e-10)
    np.testing.assert_allclose(
        same.largest_density_change(strict.asarray(fitted)), other.largest_density_change(fitted), rtol=1e-10
    )


def test_largest_density_change_is_near_what_a_fine_grid_finds():
    for design, size in (("continuous", 0.02), ("mean", 0.002)):
        model, truth, fitted = moved(design, size)
        pool = np.random.default_rng(2).uniform(-1, 1, (20000, model.d))
        errors = Routing(model, truth, pool, 300).largest_density_change(fitted)
        for k, atoms in enumerate(fitted):
            wrong = np.flatnonzero(np.any(model.winners(atoms, pool) != model.winners(truth, pool), axis=0))
            x = np.concatenate([pool[:300], pool[wrong[:300]]])
            grid = np.repeat(np.linspace(-8, 8, 801)[:, None], len(x), axis=1)
            change = np.exp(log_density(model, atoms, x, grid)) - np.exp(log_density(model, truth, x, grid))
            best = np.abs(change).max()
            assert 0.6 * best < errors[k] < 1.3 * best
