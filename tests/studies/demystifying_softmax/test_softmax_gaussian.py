"""Softmax-gated Gaussian experts: fits, starts, and the layout and the loss of the published scripts."""

import numpy as np
import pytest
from cells import computed

from moestat.losses.measures import softmax_losses
from moestat.models import gaussian
from moestat.status import Status
from studies.demystifying_softmax.parts import softmax_gaussian
from studies.demystifying_softmax.parts.gaussian_starts import near_starts, published_starts, random_starts
from studies.demystifying_softmax.parts.published import from_blocks, published_losses
from studies.demystifying_softmax.parts.softmax_gaussian import MODEL, TRUTH


def run(replicates=range(3), seed=1, **settings):
    return computed(softmax_gaussian, replicates, seed, **{"n": 300, "search_rounds": 1} | settings)


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


def test_arms_share_their_data():
    """They have the same likelihood of the truth."""
    truth = [run(**s)["log_likelihood"] - run(**s)["gain"] for s in ({}, {"experts": 3, "start_policy": "random"})]
    np.testing.assert_allclose(truth[0], truth[1], rtol=1e-12)


def test_the_layout_of_the_published_scripts_is_read():
    rng = np.random.default_rng(0)
    shape = (4, 3, 2, 3)  # sizes, replicates, (intercept, slope), atoms
    gate, mean, variance = rng.normal(size=(4, 3, 2, 2)), rng.normal(size=shape), rng.uniform(0.1, 1, (4, 3, 1, 3))
    atoms = from_blocks(gate, mean, variance)
    x, y = rng.uniform(size=(5, 1)), rng.normal(size=5)
    for s, r in np.ndindex(4, 3):
        scores = np.column_stack([np.ones(5), x]) @ np.column_stack([gate[s, r], np.zeros(2)])
        weight = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        mu, v = np.column_stack([np.ones(5), x]) @ mean[s, r], variance[s, r, 0]
        density = (weight * np.exp(-0.5 * (y[:, None] - mu) ** 2 / v) / np.sqrt(2 * np.pi * v)).sum(axis=1)
        np.testing.assert_allclose(np.exp(gaussian.log_density(MODEL, atoms[s, r], x, y)), density, rtol=1e-12)
    np.testing.assert_array_equal(from_blocks(gate, mean, variance[:, :, 0]), atoms)
    whole = np.concatenate([gate, np.zeros((4, 3, 2, 1))], axis=-1)
    np.testing.assert_array_equal(from_blocks(whole, mean, variance), atoms)
    gate[0, 0] = np.nan
    assert np.isnan(from_blocks(gate, mean, variance)[0, 0, :, :2]).all()
    gate, mean, variance = np.zeros((4, 2, 2, 1)), np.zeros((4, 2, 2, 2)), np.ones((4, 2, 1, 2))
    for wrong, words in (
        ((gate[:, :, :1], mean, variance), r"gate has shape \(4, 2, 1, 1\)"),
        ((gate, mean[0], variance), "mean has shape"),
        ((gate, mean, variance[0]), "variance has shape"),
    ):
        with pytest.raises(ValueError, match=words):
            from_blocks(*wrong)


def slow_published(gate, mean, variance, truth):
    """The published loss of one fit by loops: gates and means (2, N), intercepts first; truth rows [c b a beta v]."""
    atoms = [(gate[0, i], gate[1, i], mean[1, i], mean[0, i], variance[i]) for i in range(gate.shape[1])]
    home = []
    for atom in atoms:
        cost = [sum(abs(atom[k] - other[k]) for k in range(1, 5)) for other in truth]
        home.append(cost.index(min(cost)))
    loss = 0.0
    for j, other in enumerate(truth):
        inside = [atom for atom, h in zip(atoms, home, strict=True) if h == j]
        loss += abs(sum(np.exp(atom[0]) for atom in inside) - np.exp(other[0]))
        for atom in inside:
            error = [abs(atom[k] - other[k]) for k in range(1, 5)]
            if len(inside) == 1:
                loss += np.exp(atom[0]) * sum(error)
            elif len(atoms) > len(truth):
                r = {2: 4, 3: 6}[len(inside)]
                parts = error[0] ** r + error[2] ** r + error[1] ** (r / 2) + error[3] ** (r / 2)
                loss += np.exp(atom[0]) * parts
    return loss


@pytest.mark.parametrize("atoms", [2, 3, 4])
def test_gates_as_fitted_give_the_published_loss(atoms):
    rng = np.random.default_rng(11)
    shape = (3, 15)
    copied = np.concatenate([rng.integers(2, size=(*shape, atoms - 2)), np.tile([0, 1], (*shape, 1))], axis=-1)
    fitted = TRUTH[copied] + 0.3 * rng.normal(size=(*shape, atoms, 5))
    fitted[..., -1] = TRUTH[copied][..., -1] * np.exp(0.1 * rng.normal(size=copied.shape))
    fitted[..., -1, :2] = 0.0
    gate, mean, variance = (np.swapaxes(fitted[..., part], 2, 3) for part in ([0, 1], [3, 2], [4]))
    losses = published_losses(from_blocks(gate[..., :-1], mean, variance), TRUTH, MODEL)
    for s, r in np.ndindex(*shape):
        slow = slow_published(gate[s, r], mean[s, r], variance[s, r, 0], TRUTH.tolist())
        assert losses["loss"][s, r] == pytest.approx(slow, rel=1e-12, abs=1e-12)
    assert np.all(losses["loss"] >= losses["mass"])
    fitted[0, 0, 0, 1] = np.nan
    assert np.isnan(published_losses(fitted, TRUTH, MODEL)["loss"]).sum() == 1


def test_a_split_of_the_pinned_expert_costs_one_for_ever():
    """Two equal copies of the last true expert, gates pinned at 0: the same density, and a loss of 1."""
    split = np.concatenate([TRUTH, TRUTH[-1:]])[None, None]
    split[0, 0, 0, 0] += np.log(2.0)  # the other expert's gate, so that the density is the truth
    x, y = np.linspace(0, 1, 50)[:, None], np.linspace(-6, 16, 50)
    np.testing.assert_allclose(
        gaussian.log_density(MODEL, split[0, 0], x, y), gaussian.log_density(MODEL, TRUTH, x, y), rtol=1e-12
    )
    assert published_losses(split, TRUTH, MODEL)["loss"][0, 0] == pytest.approx(1 + np.exp(-8), rel=1e-9)
    assert softmax_losses(split, TRUTH, MODEL)["D2"][0, 0] == pytest.approx(0, abs=1e-9)


def test_start_policies_cover_every_true_atom_and_never_hit_it():
    rng = np.random.default_rng(0)
    for starts in (near_starts(TRUTH, 4, 50, 0.05, rng), published_starts(TRUTH, 4, 50, 1000, rng)):
        nearest = np.argmin(np.abs(starts[:, :, None, 2] - TRUTH[:, 2]), axis=-1)
        assert starts.shape == (50, 4, 5) and np.all(nearest[:, -1] == 1)
        assert all(set(row) == {0, 1} for row in nearest)
        assert np.all(np.any(starts != TRUTH[nearest], axis=-1))
    published = published_starts(TRUTH, 2, 50, 1000, rng)
    assert np.all(published[:, -1, :2] == 0) and np.all(published[..., -1] >= np.sqrt(TRUTH[:, -1]))
    x = rng.uniform(0, 1, (100, 1))
    y = gaussian.sample(MODEL, TRUTH, x, rng)
    random = random_starts(x, y, 3, 5, rng)
    assert random.shape == (5, 3, 5) and np.all(random[..., :2] == 0) and np.all(random[..., -1] > 0)
    with pytest.raises(ValueError, match="1 fitted atoms cannot cover 2"):
        near_starts(TRUTH, 1, 1, 0.1, rng)
