import numpy as np
import pytest

from moestat.fit import kernel
from moestat.papers.mixture_of_transformers.model import Mixture
from moestat.papers.mixture_of_transformers.multi_head import MultiHead
from moestat.papers.mixture_of_transformers.staged_training import Schedule, train
from moestat.papers.mixture_of_transformers.step_rules import rule

B, N, L, D, M = 2, 40, 4, 6, 3
RATES = {"specialise_rate": 0.01, "attention_rate": 0.5, "router_rate": 2.0, "tuning_rate": 0.3}


def problem(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((B, N, L, D))
    y = np.where(rng.random((B, N)) < 0.5, -1.0, 1.0)
    start = rng.standard_normal((B, M, D)), rng.standard_normal((B, M, D, D)), np.zeros((B, M, D))
    return x, y, start, rng.random((40, B, M, N))


def path(ends, *, start=None, noise=None, seed=0, **options):
    """Train and return the model with the parameters after every step."""
    x, y, parameters, draws = problem(seed)
    model = Mixture(x, *(parameters if start is None else start))
    seen = []

    def observe(t):
        assert t == len(seen)
        seen.append((model.weights, model.kq, model.theta))

    train(
        model,
        y,
        Schedule(*ends, **RATES, **options),
        iter(draws if noise is None else noise),
        observe,
        range(ends[2] + 1),
    )
    return model, seen


def by_hand(step, weights, kq, theta, ends):
    """Take one step of Algorithm 1 as it is printed, eqs. (6), (8), (9), (10)."""
    x, y, _, draws = problem()
    model = Mixture(x, weights, kq, theta)
    model.route(draws[step])
    f = model.forward()
    slope = -y / (1 + np.exp(y * f)) / N
    new = [weights, kq, theta - RATES["router_rate"] * model.router_gradient(f, y)]
    if step < ends[0]:
        gradient = model.weight_gradient(slope)
        new[0] = weights - RATES["specialise_rate"] * gradient / np.linalg.norm(gradient, axis=-1, keepdims=True)
    elif step < ends[1]:
        new[1] = kq - RATES["attention_rate"] * model.attention_gradient(slope)
    else:
        new[0] = weights - RATES["tuning_rate"] * model.weight_gradient(slope)
    return new


def test_steps_are_those_of_algorithm_1():
    ends = (3, 5, 8)
    _, seen = path(ends)
    for step in range(8):
        for found, expected in zip(seen[step + 1], by_hand(step, *seen[step], ends), strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    assert np.all(seen[3][1] == seen[0][1]) and np.all(seen[5][0] == seen[3][0])  # what a stage freezes stays
    assert np.all(seen[8][1] == seen[5][1])


def test_joint_training_moves_everything_at_every_step():
    _, seen = path((2, 4, 6), joint=True)
    for before, after in zip(seen, seen[1:], strict=False):
        for old, new in zip(before, after, strict=True):
            assert np.all(np.max(np.abs(new - old), axis=(1, 2)[: old.ndim - 1]) > 0)


def test_a_mixture_without_attention_trains_its_weights_in_stage_ii_as_well():
    x, y, (weights, _, theta), _ = problem()
    _, seen = path((2, 4, 6), start=(weights, None, theta))
    assert np.all(seen[4][0] != seen[2][0])
    moved = np.linalg.norm(seen[2][0] - seen[1][0], axis=-1)
    np.testing.assert_allclose(moved, 0.01, atol=1e-12)  # normalised in stage I alone
    assert np.any(np.abs(np.linalg.norm(seen[4][0] - seen[3][0], axis=-1) - 0.01) > 1e-4)


def test_router_parameters_sum_to_zero_and_a_frozen_router_stays():
    _, seen = path((5, 8, 12), tuning_router="frozen")
    assert np.abs(seen[8][2]).max() > 1e-3
    for _, _, theta in seen:
        np.testing.assert_allclose(theta.sum(axis=1), 0, atol=1e-14)  # Corollary 1
    np.testing.assert_array_equal(seen[12][2], seen[8][2])
    assert np.all(seen[9][0] != seen[8][0])


def test_without_noise_given_samples_stay_where_they_were_sent():
    x, y, start, _ = problem()
    model = Mixture(x, *start)
    expert = np.tile(np.arange(N) % 2, (B, 1))  # expert 2 gets nothing
    model.send(expert)
    train(model, y, Schedule(0, 0, 5, **RATES), None, lambda t: None, ())
    np.testing.assert_array_equal(model.expert, expert)
    np.testing.assert_array_equal(model.weights[:, 2], start[0][:, 2])
    assert np.all(model.weights[:, :2] != start[0][:, :2])


def test_members_of_a_batch_do_not_see_each_other():
    _, seen = path((3, 5, 8))
    x, y, start, noise = problem()
    alone = Mixture(x[1:], *(a[1:] for a in start))
    train(alone, y[1:], Schedule(3, 5, 8, **RATES), iter(noise[:, 1:]), lambda t: None, ())
    for one, both in zip((alone.weights, alone.kq, alone.theta), seen[-1], strict=True):
        np.testing.assert_array_equal(one[0], both[1])


def test_the_multi_head_transformer_learns_in_stages():
    x, _, _, _ = problem()
    rng = np.random.default_rng(1)
    y = np.sign(x.sum(axis=2) @ rng.standard_normal(D))
    weights, kq = rng.standard_normal((B, 4, 2, D)), rng.standard_normal((B, 2, D, D))
    model = MultiHead(x, weights, kq)
    losses, frozen = {}, {}

    def observe(t):
        losses[t] = np.mean(np.log1p(np.exp(-y * model.forward())), axis=-1)
        frozen[t] = model.weights, model.kq

    train(model, y, Schedule(150, 170, 200, **RATES | {"tuning_rate": 0.02}), None, observe, (0, 150, 170, 200))
    assert np.all(losses[150] < losses[0]) and np.all(losses[170] < losses[150]) and np.all(losses[200] < losses[170])
    np.testing.assert_array_equal(frozen[150][1], kq)
    np.testing.assert_array_equal(frozen[170][0], frozen[150][0])
    np.testing.assert_array_equal(frozen[200][1], frozen[170][1])


@pytest.mark.parametrize("name", ["gd", "normalised", "adam"])
def test_step_rules(name):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    gradients = rng.standard_normal((5, 2, 3, 4))
    gradients[:, :, 2] = 0  # an expert without samples
    ours = rule(name, 0.1, (2,))
    steps = np.stack([ours.step(g) for g in gradients])
    if name == "adam":
        parameter = torch.zeros(2, 3, 4, dtype=torch.float64, requires_grad=True)
        theirs = torch.optim.Adam([parameter], lr=0.1)
        for g in gradients:
            parameter.grad = torch.tensor(g)
            theirs.step()
        np.testing.assert_allclose(-steps.sum(axis=0), parameter.detach().numpy(), atol=1e-13)
    elif name == "gd":
        np.testing.assert_array_equal(steps, 0.1 * gradients)
    else:
        norms = np.linalg.norm(steps, axis=-1)
        np.testing.assert_allclose(norms[:, :, :2], 0.1)
        np.testing.assert_array_equal(norms[:, :, 2], 0)
        np.testing.assert_allclose(ours.step(1e-190 * gradients[0]), steps[0], rtol=1e-12)


def test_an_unknown_rule_is_refused_by_name():
    with pytest.raises(ValueError, match="'sgd'; allowed are 'gd', 'normalised' and 'adam'"):
        rule("sgd", 0.1, (1,))


@pytest.mark.skipif(not kernel.vector_bits(), reason="no compiled code on this machine")
@pytest.mark.parametrize("kq", ["own", "shared", None])
@pytest.mark.parametrize("options", [{}, {"tuning_rule": "adam", "tuning_router": "frozen"}, {"joint": True}])
def test_the_compiled_code_takes_the_steps_of_the_plain_one(kq, options, monkeypatch):
    _, _, (weights, own, theta), _ = problem()
    start = weights, {"own": own, "shared": own[:, :1], None: None}[kq], theta
    ends = {}
    for asked in ("", "numpy"):
        monkeypatch.setenv(kernel.VARIABLE, asked)
        model, seen = path((3, 5, 8), start=start, **options)  # rounding grows by three a step in the router
        ends[asked] = [model.weights, model.kq, model.theta, model.expert]
        np.testing.assert_array_equal(seen[0][0], weights)
    for compiled, plain in zip(ends[""], ends["numpy"], strict=True):
        if plain is not None:
            np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-11)


@pytest.mark.skipif(not kernel.vector_bits(), reason="no compiled code on this machine")
def test_the_compiled_code_trains_where_samples_are_sent_and_leaves_out_what_has_no_slope(monkeypatch):
    x, y, (weights, kq, theta), _ = problem()
    ends = []
    for asked in ("", "numpy"):
        monkeypatch.setenv(kernel.VARIABLE, asked)
        model = Mixture(x, 400 * weights, kq, theta)  # margins of thousands: slopes of exp(-1000) are 0
        model.send(np.tile(np.arange(N) % 2, (B, 1)))
        train(model, y, Schedule(2, 2, 9, **RATES), None, lambda t: None, ())
        ends.append(model.weights)
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(ends[0][:, 2], 400 * weights[:, 2])
