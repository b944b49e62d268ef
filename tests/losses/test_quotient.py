"""The quotient loss: zero on the exact continua (where f does not change) and nowhere else, and an exact infimum."""

from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

from moestat.losses import rays, voronoi
from moestat.losses.quotient import quotient
from moestat.models import truths
from moestat.models.regression import Model

X = np.random.default_rng(99).uniform(-1, 1, (500, 3))


def make(gate, expert, regime="dense", seed=0, n_true=3, score="full", power=1):
    model = Model(gate, score, expert, 3, power)
    truth = truths.ground_truth(model, n_true, regime, np.random.default_rng(seed))
    return model, truth


def same_function(model, fitted, truth):
    return np.allclose(model.predict(fitted, X), model.predict(truth, X), atol=1e-12)


def logit(p):
    return np.log(p / (1 - p))


def continua(gate, expert, regime, rng):
    """Random representations of a random truth, with N = N* + 2 atoms, that leave f as it is."""
    model, truth = make(gate, expert, regime, seed=int(rng.integers(10**6)), n_true=4)
    eta, gates = model.eta, slice(0, model.gate_size)
    out = []
    if gate == "sigmoid":
        null = 3 * rng.standard_normal((2, model.atom_size))
        null[:, eta] = 0
        out.append(np.concatenate([truth, null]))
        if expert == "relu":
            null = null.copy()
            null[:, eta] = rng.standard_normal((2, 4))
            null[:, -1] = -np.abs(null[:, eta][:, :-1]).sum(axis=1) - rng.uniform(0, 1, 2)
            out.append(np.concatenate([truth, null]))
        if expert in ("relu", "linear"):
            split = np.repeat(truth[:1], 3, axis=0)
            if expert == "relu":
                split[:, eta] *= rng.dirichlet([1, 1, 1])[:, None]
            else:
                split[:2, eta] += 5 * rng.standard_normal((2, 4))
                split[2, eta] = truth[0, eta] - split[:2, eta].sum(axis=0)
            out.append(np.concatenate([split, truth[1:]]))
        if regime == "sparse":
            w, size = 1 / (1 + np.exp(-truth[3, 0])), model.gate_size
            if expert == "gelu":
                shares = np.repeat(truth[3:], 3, axis=0)
                shares[:, 0] = logit(w * rng.dirichlet([1, 1, 1]))
                out.append(np.concatenate([truth[:3], shares]))
            else:
                traded = np.repeat(truth[3:], 3, axis=0)
                traded[:, 0] = 2 * rng.standard_normal(3)
                traded[:, eta] *= (w * rng.dirichlet([1, 1, 1]) * (1 + np.exp(-traded[:, 0])))[:, None]
                out.append(np.concatenate([truth[:3], traded]))
                mirror = traded.copy()
                mirror[:2, :size] = rng.standard_normal(size)
                mirror[1, :size] *= -1
                mirror[:2, eta] = 0.3 * w * truth[3, eta]
                mirror[2, eta] = 0.7 * w * (1 + np.exp(-mirror[2, 0])) * truth[3, eta]
                out.append(np.concatenate([truth[:3], mirror]))
            if expert == "linear":
                both = truth.copy()
                shift = rng.standard_normal(4)
                both[2, eta] += shift * (1 + np.exp(-both[2, 0]))
                both[3, eta] -= shift * (1 + np.exp(-both[3, 0]))
                out.append(np.concatenate([both, null * np.where(np.arange(model.atom_size) >= size, 0, 1)]))
    else:
        split = np.repeat(truth[:1], 3, axis=0)
        shares = rng.dirichlet([1, 1, 1])
        split[:, 0] += np.log(shares)
        if expert == "relu":
            split[:, eta] *= (rng.dirichlet([1, 1, 1]) / shares)[:, None]
        elif expert == "linear":
            split[:2, eta] += rng.standard_normal((2, 4))
            split[2, eta] = (truth[0, eta] - shares[:2] @ split[:2, eta]) / shares[2]
        whole = np.concatenate([split, truth[1:]])
        whole[:, gates] += rng.standard_normal(model.gate_size)
        out.append(whole)
        if regime == "sparse" and expert in ("relu", "linear"):
            # two experts of one gate: weights are traded against the lengths of eta
            old = np.exp(truth[2:, 0])
            new = old.sum() * rng.dirichlet([1, 1])
            traded = truth.copy()
            traded[2:, 0] = np.log(new)
            traded[2:, eta] *= (old / new)[:, None]
            out.append(traded)
    return model, truth, [representation[rng.permutation(len(representation))] for representation in out]


CASES = list(product(("sigmoid", "softmax"), ("relu", "linear", "gelu"), ("dense", "sparse")))


@pytest.mark.parametrize(("gate", "expert", "regime"), CASES)
def test_zero_on_the_continua_where_raw_losses_are_not(gate, expert, regime):
    rng = np.random.default_rng(1)
    raw = []
    for _ in range(3):
        model, truth, representations = continua(gate, expert, regime, rng)
        for fitted in representations:
            assert same_function(model, fitted, truth)
            assert quotient(fitted, truth, model) == pytest.approx(0, abs=1e-10)
            raw.append(float(voronoi.L3(fitted, truth, model)))
    assert max(raw) > 0.3


@pytest.mark.parametrize(("gate", "expert", "regime"), CASES)
def test_positive_elsewhere(gate, expert, regime):
    """A representation moved a little in any one coordinate of one atom changes f, and the loss sees it."""
    rng = np.random.default_rng(2)
    model, truth, representations = continua(gate, expert, regime, rng)
    for fitted in representations:
        moved = np.stack([fitted] * 15)
        for one in moved:
            one[rng.integers(len(fitted)), rng.integers(model.atom_size)] += 0.01
        changes = [np.sqrt(np.mean((model.predict(one, X) - model.predict(truth, X)) ** 2)) for one in moved]
        for change, value in zip(changes, quotient(moved, truth, model), strict=True):
            # one coordinate moved by 0.01 costs at most 0.01 times the dearest unit of the loss
            assert value <= 0.01 * 100
            if change > 1e-9:
                assert value > 1e-3 * change


def brute_force(fitted, truth, model, costs):
    """The infimum over every map of atoms to cells or to nothing that leaves no cell empty."""
    costs = lru_cache(maxsize=None)(costs)
    n, m = len(fitted), len(truth)
    best = np.inf
    for place in product(range(-1, m), repeat=n):
        if set(range(m)) <= set(place):
            sets = [tuple(i for i in range(n) if place[i] == j) for j in range(m)]
            nothing = [i for i in range(n) if place[i] == -1]
            best = min(best, sum(costs(j, s) for j, s in enumerate(sets)) + sum(costs(None, (i,)) for i in nothing))
    return best


@pytest.mark.parametrize("expert", ["linear", "relu", "gelu"])
@pytest.mark.parametrize("score", ["full", "partial", "linear"])
@pytest.mark.parametrize("radius", [0.1, 2.0])
def test_infimum_is_exact(expert, score, radius):
    """Dense truths: all maps of 4 or 5 atoms to 3 cells or to nothing, with the definition's costs written out."""
    model, truth = make("sigmoid", expert, seed=3, score=score)
    rng = np.random.default_rng(4)
    for n in (3, 4, 5):
        fitted = truths.split(model, truth, n) + radius * rng.standard_normal((n, model.atom_size))

        def costs(j, chosen, fitted=fitted):
            eta = fitted[list(chosen)][:, model.eta]
            if j is None:
                return vanish(eta[0], expert)
            difference = fitted[list(chosen)] - truth[j]
            parts = (model.a_matrix, model.b, model.c)
            gate = sum(np.linalg.norm(difference[:, p], axis=1).sum() for p in parts)
            target = truth[j, model.eta]
            if expert == "linear":
                return gate + np.linalg.norm(eta.sum(axis=0) - target)
            if expert == "gelu":
                return gate + np.linalg.norm(eta[0] - target) if len(chosen) == 1 else np.inf
            return gate + along_ray(eta, target)

        expected = brute_force(fitted, truth, model, costs)
        assert quotient(fitted, truth, model) == pytest.approx(expected, rel=1e-6)


def vanish(eta, expert):
    if expert != "relu":
        return np.linalg.norm(eta)
    d = len(eta) - 1
    # the cone ||a||_1 <= -beta is spanned by (e_k, -1), (-e_k, -1) and (0, -1) with weights >= 0
    sides = np.concatenate([np.eye(d), -np.eye(d), np.zeros((1, d))])
    return nnls(np.concatenate([sides, -np.ones((2 * d + 1, 1))], axis=1).T, eta)[1]


def along_ray(eta, target):
    if len(eta) == 1:
        return np.linalg.norm(eta[0] - target)
    result = minimize(
        lambda t: np.linalg.norm(eta - t[:, None] * target, axis=1).sum(),
        np.full(len(eta), 1 / len(eta)),
        method="SLSQP",
        bounds=[(0, None)] * len(eta),
        constraints={"type": "eq", "fun": lambda t: t.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return result.fun


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 3), flat=st.booleans())
@example(seed=362881, k=2, flat=True)  # on the ray, one vector too long and the other against it
def test_merging_along_a_ray_is_a_minimum(seed, k, flat):
    """Against random feasible points (never below) and SLSQP (never above), with unequal prices."""
    rng = np.random.default_rng(seed)
    target, eta, price = rng.standard_normal(3), rng.standard_normal((k, 3)), rng.uniform(1, 5, k)
    if flat:
        eta = rng.standard_normal(k)[:, None] * target
    value = float(rays.merge_cost(eta, price, np.ones(k, dtype=bool), target, "relu"))
    shares = rng.dirichlet(np.ones(k), 300)
    random = np.sum(price * np.linalg.norm(eta - shares[..., None] * target, axis=-1), axis=-1)
    assert value <= random.min() + 1e-9
    start = shares[random.argmin()]
    result = minimize(
        lambda t: price @ np.linalg.norm(eta - t[:, None] * target, axis=1),
        start,
        method="SLSQP",
        bounds=[(0, None)] * k,
        constraints={"type": "eq", "fun": lambda t: t.sum() - 1},
        options={"ftol": 1e-13, "maxiter": 300},
    )
    assert value <= result.fun + 1e-6
    assert value >= result.fun - 0.02 * (1 + result.fun)  # SLSQP is inexact at the kinks of the norm


def test_lists_batches_and_errors():
    model, truth = make("sigmoid", "relu", "sparse")
    fitted = truths.split(model, truth, 5) + 0.2 * np.random.default_rng(6).standard_normal((4, 5, model.atom_size))
    measures = np.stack([truth + 0.2, truth])
    whole = quotient(fitted, measures, model)
    assert np.array_equal(whole, np.minimum(*(quotient(fitted, m, model) for m in measures)))
    assert np.array_equal(quotient(fitted[1:3], measures, model), whole[1:3])
    with pytest.raises(ValueError, match="cannot represent"):
        quotient(truth[:2], truth, model)
    with pytest.raises(ValueError, match="out of reach|allowed are"):
        quotient(np.zeros((1, 20, model.atom_size)), truth, model)
