import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest

from moestat.papers.expert_count import cubic_experts as ce

BATCH, N, P, D, J, M = 2, 150, 4, 6, 3, 5
KINDS = [("mlp", "patches"), ("mlp", "shared"), ("cnn", "shared"), ("cnn", "patches")]


def problem(kind, router, seed=0, batch=BATCH):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((batch, N, P, D))
    features = np.asarray(ce.router_features(x, router))
    weights = 0.4 * rng.standard_normal((batch, M, P if kind == "mlp" else 1, J, D))
    theta = 0.3 * rng.standard_normal((batch, features.shape[-1], M))
    y = np.where(rng.random((batch, N)) < 0.5, -1.0, 1.0)
    expert = rng.integers(0, M - 1, (batch, N))  # the last expert gets no samples
    return x, features, y, weights, theta, expert


def naive_outputs(weights, x):
    s = np.einsum("bnpd,bmpjd->bnmpj", x, np.broadcast_to(weights, (*weights.shape[:2], P, *weights.shape[3:])))
    return np.sum(s**3, axis=(3, 4))


@pytest.mark.parametrize("xp", [anp, array_api_strict])
@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_outputs_are_sums_of_cubes(kind, xp, monkeypatch):
    monkeypatch.setattr(ce, "CHUNK", 64)  # three chunks, the last one shorter
    x, _, _, weights, _, expert = problem(kind, "shared")
    expected = naive_outputs(weights, x)
    np.testing.assert_allclose(np.asarray(ce.outputs(xp.asarray(weights), xp.asarray(x))), expected, rtol=1e-11)
    routed = ce.routed_outputs(xp.asarray(weights), xp.asarray(x), xp.asarray(expert))
    np.testing.assert_allclose(
        np.asarray(routed), np.take_along_axis(expected, expert[..., None], -1)[..., 0], rtol=1e-11
    )


@pytest.mark.parametrize("xp", [anp, array_api_strict])
@pytest.mark.parametrize(("kind", "router"), KINDS)
def test_gradients_equal_autograd(kind, router, xp):
    torch = pytest.importorskip("torch")
    x, features, y, weights, theta, expert = problem(kind, router)
    w = torch.tensor(weights, requires_grad=True)
    t = torch.tensor(theta, requires_grad=True)
    scores = torch.tensor(features) @ t
    full = w.expand(-1, -1, P, -1, -1)
    f = (torch.einsum("bnpd,bmpjd->bnmpj", torch.tensor(x), full) ** 3).sum(dim=(3, 4))
    index = torch.tensor(expert)[..., None]
    margin = torch.tensor(y) * (torch.softmax(scores, -1) * f).gather(-1, index)[..., 0]
    loss = -torch.nn.functional.logsigmoid(margin).mean(dim=-1)  # softplus is cut at 20
    loss.sum().backward()

    a = [xp.asarray(v) for v in (weights, x, features, y, features @ theta, expert)]
    ours = ce.gradient(*a)
    np.testing.assert_allclose(np.asarray(ours.loss), loss.detach().numpy(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.asarray(ours.weights), w.grad.numpy(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.asarray(ours.theta), t.grad.numpy(), rtol=0, atol=1e-10)
    assert np.abs(w.grad.numpy()).max() > 1e-3 and np.abs(t.grad.numpy()).max() > 1e-3


@pytest.mark.parametrize(("kind", "router"), KINDS)
def test_gradients_equal_finite_differences(kind, router):
    x, features, y, weights, theta, expert = problem(kind, router, seed=1)
    rng = np.random.default_rng(2)
    dw, dt = rng.standard_normal(weights.shape), rng.standard_normal(theta.shape)

    def loss(h):
        return ce.gradient(weights + h * dw, x, features, y, features @ (theta + h * dt), expert).loss

    slope = ce.gradient(weights, x, features, y, features @ theta, expert)
    expected = np.sum(slope.weights * dw, axis=(1, 2, 3, 4)) + np.sum(slope.theta * dt, axis=(1, 2))
    np.testing.assert_allclose((loss(1e-5) - loss(-1e-5)) / 2e-5, expected, rtol=1e-6)


def test_idle_experts_have_no_gradient_and_router_gradients_cancel():
    x, features, y, weights, theta, expert = problem("mlp", "patches")
    slope = ce.gradient(weights, x, features, y, features @ theta, expert)
    assert np.all(slope.weights[:, -1] == 0)
    np.testing.assert_allclose(np.sum(slope.theta, axis=-1), 0, atol=1e-14)  # Lemma 8 of the paper


def test_extreme_margins_do_not_overflow():
    margin = np.array([-1e4, -1.0, 0.0, 1.0, 1e4])
    np.testing.assert_allclose(ce.logistic_loss(margin), np.logaddexp(0, -margin), rtol=1e-15)
    x, features, y, weights, theta, expert = problem("mlp", "shared")
    slope = ce.gradient(1e3 * weights, x, features, y, 1e3 * features @ theta, expert)
    assert np.all(np.isfinite(slope.weights)) and np.all(np.isfinite(slope.theta))


def test_an_unknown_router_is_refused():
    with pytest.raises(ValueError, match="allowed are 'patches' and 'shared'"):
        ce.router_features(np.zeros((1, 2, 3, 4)), "none")
