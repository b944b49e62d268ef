"""The steps of eq. (10) move the experts by no more than the loss allows, so that it cannot fall faster than 1/t.

With R the largest norm of a pooled feature, c = eta R^2 and L_t the loss of eq. (7): |l'| <= l for the logistic loss l,
so that a step moves the experts' weights, in sum, by eta R L_t at most and every margin by c L_t; log l has a slope
between -1 and 0, hence L_(t+1) >= L_t exp(-c L_t) where samples stay at their experts, and 1 / L_t grows by less than
2 c a step where c L_t <= 1. Where they do not, the weights alone are bounded by the sum of the losses.
"""

import numpy as np
import pytest

from moestat.papers.mixture_of_transformers.model import Mixture
from moestat.papers.mixture_of_transformers.staged_training import Schedule, train

N, TOKENS, D, EXPERTS, STEPS = 40, 4, 24, 3, 1500


def trained(rate, rule="gd", *, router=False):
    """Return c, R, the losses and the weights over stage III on 40 samples that their experts can separate."""
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((1, N, TOKENS, D)), np.where(rng.random((1, N)) < 0.5, -1.0, 1.0)
    kq, theta = 0.3 * rng.standard_normal((1, EXPERTS, D, D)), np.zeros((1, EXPERTS, D))
    model = Mixture(x, 0.1 * rng.standard_normal((1, EXPERTS, D)), kq, theta)
    model.send(rng.integers(0, EXPERTS, (1, N)))
    losses, weights = [], []

    def observe(step):
        losses.append(float(np.logaddexp(0.0, -y * model.forward()).mean()))
        weights.append(model.weights[0])

    schedule = Schedule(0, 0, STEPS, 0.0, 0.0, 0.5, rate, tuning_rule=rule)
    noise = (rng.random((1, EXPERTS, N)) for _ in range(STEPS)) if router else None
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


def test_where_the_router_goes_on_the_sum_of_the_losses_bounds_the_weights_and_so_the_loss():
    c, largest, losses, weights = trained(0.03, router=True)
    moved = np.linalg.norm(weights - weights[0], axis=-1).sum(axis=1)
    before = np.concatenate([[0.0], np.cumsum(losses[:-1])])
    assert np.all(moved <= c / largest * before * (1 + 1e-9))
    most = largest * np.linalg.norm(weights[0], axis=-1).max()
    assert np.all(losses >= np.logaddexp(0.0, -(most + c * before)))
