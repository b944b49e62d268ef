import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from moestat.models.blocks import ROWS
from moestat.models.experts import EXPERTS
from moestat.models.gates import GATES, SCORES, unpack_symmetric
from moestat.models.regression import Model
from moestat.models.truths import ground_truth, sample, split

MODELS = [Model(g, s, e, 2, 3 if e == "polynomial" else 1) for g in GATES for s in SCORES for e in EXPERTS]
IDS = [f"{m.gate}-{m.score}-{m.expert}" for m in MODELS]


def _direct(model, theta, x):
    """The formula of the paper, sample by sample and atom by atom."""
    out = np.zeros(len(x))
    for k, point in enumerate(x):
        scores, values = [], []
        for atom in theta:
            s = atom[model.c][0]
            if model.score != "partial":
                s += atom[model.b] @ point
            if model.score != "linear":
                s += point @ unpack_symmetric(atom[model.a_matrix], model.d) @ point
            scores.append(s)
            h = atom[model.eta][:-1] @ point + atom[model.eta][-1]
            phi = {
                "relu": lambda h: max(h, 0.0),
                "linear": lambda h: h,
                "polynomial": lambda h: h**model.power,
                "gelu": lambda h: h * _normal(h),
            }[model.expert]
            values.append(phi(h))
        s = np.array(scores)
        gates = np.exp(s) / np.exp(s).sum() if model.gate == "softmax" else 1 / (1 + np.exp(-s))
        out[k] = gates @ np.array(values)
    return out


def _normal(h):
    from math import erf, sqrt

    return 0.5 * (1 + erf(h / sqrt(2)))


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_prediction_is_the_papers_formula(model):
    rng = np.random.default_rng(5)
    theta, x = rng.normal(size=(3, model.atom_size)), rng.uniform(-1, 1, (7, 2))
    np.testing.assert_allclose(model.predict(theta, x), _direct(model, theta, x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_gradient_matches_finite_differences(model):
    rng = np.random.default_rng(6)
    theta, x, y = rng.normal(size=(2, 3, model.atom_size)), rng.uniform(-1, 1, (2, 40, 2)), rng.normal(size=(2, 40))
    tau = 0.2 if model.expert == "relu" else 0.0
    loss, gradient = model.gradient(theta, x, y, tau=tau)
    residual = model.predict(theta, x, tau=tau) - y
    np.testing.assert_allclose(loss, 0.5 * np.mean(residual**2, axis=-1), rtol=1e-13)
    step = 1e-6
    for index in np.ndindex(3, model.atom_size):
        shift = np.zeros((3, model.atom_size))
        shift[index] = step
        up, down = model.gradient(theta + shift, x, y, tau=tau)[0], model.gradient(theta - shift, x, y, tau=tau)[0]
        np.testing.assert_allclose(gradient[:, *index], (up - down) / (2 * step), atol=2e-9)


def test_members_do_not_depend_on_their_batch():
    model = Model("softmax", "full", "gelu", 3)
    rng = np.random.default_rng(8)
    n = ROWS + 17  # more than one chunk
    theta, x, y = rng.normal(size=(5, 4, model.atom_size)), rng.uniform(-1, 1, (5, n, 3)), rng.normal(size=(5, n))
    loss, gradient = model.gradient(theta, x, y)
    f = model.predict(theta, x)
    for k in range(5):
        alone = model.gradient(theta[k : k + 1], x[k : k + 1], y[k : k + 1])
        assert loss[k] == alone[0][0]
        np.testing.assert_array_equal(gradient[k], alone[1][0])
        np.testing.assert_array_equal(f[k], model.predict(theta[k], x[k]))


def _slow_shift(atoms, target, q):
    """The alternation of matching and averaging from every pair of atoms, one after the other."""
    best, best_cost = None, np.inf
    pairs = target[None, :, :q] - atoms[:, None, :q]
    distance = np.sum((target[None, :, q:] - atoms[:, None, q:]) ** 2, axis=-1)
    for shift in pairs.reshape(-1, q):
        previous = np.inf
        while True:
            cost = distance + np.sum((pairs - shift) ** 2, axis=-1)
            i, j = linear_sum_assignment(cost)
            if not cost[i, j].sum() < previous - 1e-12 * max(cost[i, j].sum(), 1.0):
                break
            previous, shift = cost[i, j].sum(), pairs[i, j].mean(axis=0)
        if previous < best_cost:
            best, best_cost = shift, previous
    return best


@pytest.mark.parametrize(("n", "m", "spread"), [(1, 1, 1.0), (3, 2, 1.0), (9, 8, 0.1), (9, 8, 2.0), (4, 6, 1.0)])
def test_align_is_the_best_of_all_alternations(n, m, spread):
    rng = np.random.default_rng(n + m)
    model = Model("softmax", "full", "relu", 3)
    reference = rng.normal(size=(m, model.atom_size))
    theta = np.concatenate([reference, rng.normal(size=(n, model.atom_size))])[-n - m : n]
    theta = theta + spread * rng.normal(size=(4, *theta.shape))
    shifts = [_slow_shift(atoms, reference, model.gate_size) for atoms in theta]
    expected = theta.copy()
    expected[..., : model.gate_size] += np.stack(shifts)[:, None, :]
    np.testing.assert_array_equal(model.align(theta, reference), expected)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("tanh", "full", "relu", 2), "gate"),
        (("sigmoid", "cubic", "relu", 2), "score"),
        (("sigmoid", "full", "tanh", 2), "expert"),
        (("sigmoid", "full", "relu", 0), "d is 0"),
        (("sigmoid", "full", "relu", 2, 2), "power"),
    ],
)
def test_wrong_settings_are_named(arguments, word):
    with pytest.raises(ValueError, match=word):
        Model(*arguments)


MODELS_TRUTHS = [Model(g, s, e, 3, 3 if e == "polynomial" else 1) for g in GATES for s in SCORES for e in EXPERTS]


@pytest.mark.parametrize("regime", ["dense", "sparse"])
@pytest.mark.parametrize("model", MODELS_TRUTHS, ids=IDS)
def test_a_split_truth_is_the_same_function(model, regime):
    theta = ground_truth(model, 4, regime, np.random.default_rng(1))
    x = np.random.default_rng(2).uniform(-1, 1, (200, 3))
    for n_fitted in (4, 5, 7):
        over = split(model, theta, n_fitted)
        assert over.shape == (n_fitted, model.atom_size)
        np.testing.assert_allclose(model.predict(over, x), model.predict(theta, x), rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(over[:3], theta[:3])


def test_ground_truth_has_the_stated_distribution():
    # false alarm: each bound is 5 standard errors of a mean of squares, so below 1e-6 per check
    d, n_true = 8, 4000
    model = Model("sigmoid", "full", "relu", d)
    theta = ground_truth(model, n_true, "dense", np.random.default_rng(3))
    for part in (model.c, model.b, model.eta):
        values = theta[:, part]
        assert np.mean(values**2) == pytest.approx(1 / d, rel=5 * np.sqrt(2 / values.size))
    a = unpack_symmetric(theta[:, model.a_matrix], d)
    diagonal = np.stack([a[:, i, i] for i in range(d)])
    assert np.mean(diagonal**2) == pytest.approx(1 / d, rel=5 * np.sqrt(2 / diagonal.size))
    upper = a[:, *np.triu_indices(d, 1)]
    assert np.mean(upper**2) == pytest.approx(1 / (2 * d), rel=5 * np.sqrt(2 / upper.size))


def test_models_that_differ_in_score_gate_or_expert_share_their_truth():
    full = Model("sigmoid", "full", "relu", 3)
    other = Model("softmax", "partial", "linear", 3)
    dense = ground_truth(full, 4, "dense", np.random.default_rng(4))
    partial = ground_truth(other, 4, "dense", np.random.default_rng(4))
    for a, b in ((full.c, other.c), (full.a_matrix, other.a_matrix), (full.eta, other.eta)):
        np.testing.assert_array_equal(dense[:, a], partial[:, b])
    sparse = ground_truth(full, 4, "sparse", np.random.default_rng(4))
    assert not sparse[2:, : full.gate_size].any()
    np.testing.assert_array_equal(sparse[:2], dense[:2])
    np.testing.assert_array_equal(sparse[:, full.eta], dense[:, full.eta])


def test_samples_follow_the_model():
    # false alarm below 1e-6 per check (5 standard errors)
    model = Model("softmax", "full", "relu", 2)
    theta = ground_truth(model, 3, "dense", np.random.default_rng(5))
    n = 20_000
    x, y = sample(model, theta, n, 0.01, np.random.default_rng(6))
    assert x.shape == (n, 2)
    assert np.abs(x).max() <= 1
    assert np.mean(x**2) == pytest.approx(1 / 3, rel=5 * np.sqrt(0.8 / (2 * n)))
    noise = y - model.predict(theta, x)
    assert abs(noise.mean()) < 5 * 0.1 / np.sqrt(n)
    assert noise.var() == pytest.approx(0.01, rel=5 * np.sqrt(2 / n))
    again = sample(model, theta, n, 0.01, np.random.default_rng(6))
    np.testing.assert_array_equal(again[1], y)
