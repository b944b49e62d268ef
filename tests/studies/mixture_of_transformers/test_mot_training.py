"""The steps of eq. (10) move the experts by no more than the loss allows, so that it cannot fall faster than 1/t.

With R the largest norm of a pooled feature, c = eta R^2 and L_t the loss of eq. (7): |l'| <= l for the logistic loss l,
so that a step moves the experts' weights, in sum, by eta R L_t at most and every margin by c L_t; log l has a slope
between -1 and 0, hence L_(t+1) >= L_t exp(-c L_t) where samples stay at their experts, and 1 / L_t grows by less than
2 c a step where c L_t <= 1. Where they do not, the weights alone are bounded by the sum of the losses.
"""

import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest
from cells import cell_of

from moestat.fit import kernel
from studies.mixture_of_transformers.parts import mot
from studies.mixture_of_transformers.parts.model import Mixture
from studies.mixture_of_transformers.parts.staged_training import Schedule, step_rule, train


@pytest.mark.parametrize("name", ["gd", "normalised", "adam"])
def test_step_rules(name):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    gradients = rng.standard_normal((5, 2, 3, 4))
    gradients[:, :, 2] = 0  # an expert without samples
    ours = step_rule(name, 0.1, (2,))
    steps = np.stack([ours(g) for g in gradients])
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
        np.testing.assert_allclose(ours(1e-190 * gradients[0]), steps[0], rtol=1e-12)


@pytest.mark.skipif(not kernel.vector_bits(), reason="no compiled code on this machine")
@pytest.mark.parametrize("attends", [True, False])
@pytest.mark.parametrize("rule", ["gd", "adam"])
def test_the_compiled_code_takes_the_steps_of_the_plain_one(attends, rule, monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 40, 4, 6)), np.where(rng.random((2, 40)) < 0.5, -1.0, 1.0)
    weights, kq = rng.standard_normal((2, 3, 6)), rng.standard_normal((2, 3, 6, 6)) if attends else None
    noise, ends = rng.random((8, 2, 3, 40)), []
    schedule = Schedule(3, 5, 8, 0.01, 0.5, 2.0, 0.3, tuning_rule=rule)  # rounding grows by three a step in the router
    for asked in ("", "numpy"):
        monkeypatch.setenv(kernel.VARIABLE, asked)
        model, seen = Mixture(x, weights, kq, np.zeros((2, 3, 6))), []
        train(model, y, schedule, iter(noise), seen.append, range(9))
        assert seen == list(range(9))
        ends.append([model.weights, model.theta, model.expert, *([model.kq] if attends else [])])
    for compiled, plain in zip(*ends, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-11)


N_BOUND, TOKENS, D_BOUND, EXPERTS, STEPS = 40, 4, 24, 3, 1500


def untrained():
    """Return a mixture, its 40 samples' labels and a generator: 24 weights can separate what an expert sees."""
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((1, N_BOUND, TOKENS, D_BOUND)), np.where(rng.random((1, N_BOUND)) < 0.5, -1.0, 1.0)
    kq, theta = 0.3 * rng.standard_normal((1, EXPERTS, D_BOUND, D_BOUND)), np.zeros((1, EXPERTS, D_BOUND))
    model = Mixture(x, 0.1 * rng.standard_normal((1, EXPERTS, D_BOUND)), kq, theta)
    model.send(rng.integers(0, EXPERTS, (1, N_BOUND)))
    return model, y, rng


def own_features():
    """Return what each sample's own expert reads, its label and its expert."""
    model, y, _ = untrained()
    model.freeze()
    return model.features[0, model.expert[0], np.arange(N_BOUND)], y[0], model.expert[0]


def trained(rate, rule="gd", *, router=False):
    """Return c, R, the losses and the weights over stage III on samples that their experts can separate."""
    model, y, rng = untrained()
    losses, weights = [], []

    def observe(step):
        losses.append(float(np.logaddexp(0.0, -y * model.forward()).mean()))
        weights.append(model.weights[0])

    schedule = Schedule(0, 0, STEPS, 0.0, 0.0, 0.5, rate, tuning_rule=rule)
    noise = (rng.random((1, EXPERTS, N_BOUND)) for _ in range(STEPS)) if router else None
    train(model, y, schedule, noise, observe, range(STEPS + 1))
    largest = float(np.linalg.norm(model.features, axis=-1).max())
    return rate * largest**2, largest, np.array(losses), np.array(weights)


@pytest.mark.parametrize("rate", [0.003, 0.03, 0.3])
def test_where_routing_is_held_the_loss_falls_no_faster_than_1_over_t(rate):
    c, _, losses, _ = trained(rate)
    assert losses[-1] < 0.3 * losses[0]
    assert np.all(np.log(losses[:-1] / losses[1:]) <= c * losses[:-1] * (1 + 1e-9))
    small = c * losses[:-1] <= 1
    assert np.all(np.diff(1 / losses)[small] <= 2 * c)
    assert np.all(1 / losses <= max(1 / losses[0], c * np.exp(c)) + 2 * c * np.arange(STEPS + 1))


def test_normalised_steps_are_faster_than_that():
    c, _, losses, _ = trained(0.03, "normalised")
    assert np.log(losses[:-1] / losses[1:])[-1] > 2 * c * losses[-2]
    assert 1 / losses[-1] > max(1 / losses[0], c * np.exp(c)) + 2 * c * STEPS


def test_normalised_steps_are_as_fast_as_is_proved():
    """With margins of g and eta R^2 exp(eta R) <= g a step lowers an expert's loss by m eta g / 2, m its mean |l'|.

    And m >= 0.63 min(L, 1/K), so that log(1/eps) costs 3.2 / (eta g) steps.
    """
    rate = 0.002
    _, largest, _, weights = trained(rate, "normalised")
    z, y, expert = own_features()
    for m in range(EXPERTS):
        mine = y[expert == m, None] * z[expert == m]
        toward = np.linalg.lstsq(mine, np.ones(len(mine)), rcond=None)[0]
        np.testing.assert_allclose(mine @ toward, 1)
        margin = 1 / np.linalg.norm(toward)
        assert rate * largest**2 * np.exp(rate * largest) <= margin
        each = np.logaddexp(0, -weights[:, m] @ mine.T)
        loss, pull = each.sum(axis=1) / N_BOUND, -np.expm1(-each).sum(axis=1) / N_BOUND
        assert np.all(loss[1:] <= (loss - pull * rate * margin / 2)[:-1])
        assert np.all(pull >= 0.632 * np.minimum(loss, 1 / N_BOUND)) and loss[-1] < 0.1 * loss[0]


def test_where_the_router_goes_on_the_sum_of_the_losses_bounds_the_weights_and_so_the_loss():
    c, largest, losses, weights = trained(0.03, router=True)
    moved = np.linalg.norm(weights - weights[0], axis=-1).sum(axis=1)
    before = np.concatenate([[0.0], np.cumsum(losses[:-1])])
    assert np.all(moved <= c / largest * before * (1 + 1e-9))
    most = largest * np.linalg.norm(weights[0], axis=-1).max()
    assert np.all(losses >= np.logaddexp(0.0, -(most + c * before)))


@pytest.mark.parametrize("model", ["mot", "multi-head"])
def test_training_and_measures_need_the_array_api_standard_alone(model):
    given = {"model": model, "samples": 60, "test_samples": 50, "dimension": 10, "experts": 5, "records_per_decade": 2}
    given |= {"specialise_steps": 12, "attention_steps": 6, "tuning_steps": 100}
    s, cell = mot.Settings(**given), cell_of(mot, seed=7, **given)
    ours, strict = mot._train(cell, s, [0], anp), mot._train(cell, s, [0], array_api_strict)
    for name in ours:
        np.testing.assert_allclose(strict[name], ours[name], rtol=1e-9, atol=1e-12)
