"""Losses and asymptotic lines of models made of functions, beside those of the package's gates."""

import numpy as np
import pytest
from any_gates import GATES, cosine, tanh

import moestat
from moestat.errors import InputError
from moestat.losses import matching
from moestat.losses.fisher import fisher_line
from moestat.losses.function import rmse
from moestat.losses.general import matched, voronoi
from moestat.losses.sandwich import sandwich_line

X = np.random.default_rng(0).uniform(-1, 1, (600, 2))
TRUTH = np.random.default_rng(1).standard_normal((2, 6))


def unit(atoms):
    return np.concatenate([atoms[:, :2] / np.linalg.norm(atoms[:, :2], axis=1, keepdims=True), atoms[:, 2:]], axis=1)


COSINE = moestat.Model(
    cosine,
    tanh,
    d=2,
    gate_size=3,
    expert_size=3,
    invariances=[unit],
    blocks={"direction": slice(0, 2), "bias": 2, "expert": slice(3, 6)},
)


def test_every_form_of_the_truth_is_at_distance_zero():
    same = TRUTH[::-1].copy()
    same[:, :2] *= 3.0
    same[:, 2] -= 0.4
    for loss in (voronoi, matched):
        assert loss(same, TRUTH, COSINE) == pytest.approx(0, abs=1e-12)


def test_blocks_have_exponents_by_kind_of_cell():
    fitted = np.concatenate([TRUTH[:1], TRUTH[1:], TRUTH[1:]])
    fitted[0, 3] += 0.1  # its cell holds it alone
    fitted[1, 3:5] += [0.03, 0.04]
    fitted[2, 3:5] -= [0.03, 0.04]
    losses = [voronoi(fitted, TRUTH, COSINE, e) for e in (None, {"expert": 1}, {"expert": (3, 0.5)})]
    np.testing.assert_allclose(losses, [0.1 + 2 * 0.05**2, 0.2, 0.1**3 + 2 * 0.05**0.5], rtol=1e-9)
    assert matched(fitted, TRUTH, COSINE) == pytest.approx(0.15)
    batch = voronoi(np.stack([fitted, np.full_like(fitted, np.nan)]), np.stack([TRUTH, fitted[:2]]), COSINE)
    assert batch[0] < losses[0] and np.isnan(batch[1])


def test_exponents_of_no_block_are_refused():
    with pytest.raises(InputError, match="exponents names 'gate'; the model's blocks are direction, bias, expert"):
        voronoi(TRUTH, TRUTH, COSINE, {"gate": 1})
    with pytest.raises(InputError, match="the exponent of bias is -1; allowed are a positive number and a pair"):
        voronoi(TRUTH, TRUTH, COSINE, {"bias": -1})


def test_atoms_with_places_are_compared_place_by_place():
    model = moestat.Model(GATES["hierarchical"], tanh, d=2, gate_size=3, expert_size=3)
    truth = np.random.default_rng(2).standard_normal((4, 6))
    assert (
        matched(truth, truth, model) == voronoi(truth, truth, model) == 0 < matched(truth[[2, 1, 0, 3]], truth, model)
    )
    with pytest.raises(InputError, match="the atoms of this gate have places"):
        matched(np.concatenate([truth, truth]), truth, model)


@pytest.mark.parametrize("gate", ["sigmoid", "softmax"])
def test_lines_and_losses_are_those_of_the_package_s_gates(gate):
    fast = moestat.Model(gate, "gelu", d=2)
    weights = moestat.Model(gate, tanh, d=2, expert_size=3).gate
    named = moestat.Model(
        lambda x, p: weights(x, p),
        "gelu",
        d=2,
        gate_size=3,
        blocks={"c": 0, "b": slice(1, 3), "eta": slice(3, 6)},
    )
    ours, theirs = (fisher_line(model, TRUTH, X, 0.01) for model in (named, fast))
    assert ours.at_one == pytest.approx(theirs.at_one, rel=1e-5) and ours.nullity == theirs.nullity
    target = np.sin(2 * X[:, 0])
    ours, theirs = (sandwich_line(model, TRUTH, X, target, 0.01, box=9.0) for model in (named, fast))
    assert ours.nullity == theirs.nullity and ours.at_one == pytest.approx(theirs.at_one, rel=1e-3)
    assert rmse(named, TRUTH, target, X) == pytest.approx(rmse(fast, TRUTH, target, X), rel=1e-12)
    fitted = TRUTH + 0.01 * np.random.default_rng(3).standard_normal(TRUTH.shape)
    assert matched(fitted, TRUTH, named) == pytest.approx(matching.matched_sum(fitted, TRUTH, fast), rel=0.3)
