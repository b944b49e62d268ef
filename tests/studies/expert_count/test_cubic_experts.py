"""Mixtures of cubic experts: gradients by definition, and the steps of the compiled code."""

import itertools

import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest

from moestat.fit import kernel
from studies.expert_count.parts import cubic_experts as ce
from studies.expert_count.parts.top_one import train

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


def test_idle_experts_have_no_gradient_and_router_gradients_cancel():
    x, features, y, weights, theta, expert = problem("mlp", "patches")
    slope = ce.gradient(weights, x, features, y, features @ theta, expert)
    assert np.all(slope.weights[:, -1] == 0)
    np.testing.assert_allclose(np.sum(slope.theta, axis=-1), 0, atol=1e-14)  # Lemma 8 of the paper


def path(args, noise, steps, at, **rates):
    seen = {}
    rates = {"expert_rate": 0.01, "router_rate": 0.1, **rates}
    end = train(*args, noise, steps=steps, observe=lambda t, w, th: seen.update({t: (w, th)}), at=at, **rates)
    return end, seen


@pytest.mark.skipif(not kernel.vector_bits(), reason="no compiled code on this machine")
@pytest.mark.parametrize(
    ("own", "patches", "neurons", "experts", "n"),
    [(3, 3, 2, 4, 700), (1, 5, 8, 6, 90), (4, 4, 11, 1, 40), (1, 3, 8, 12, 513)],
)
def test_the_compiled_code_takes_the_steps_of_the_plain_one(own, patches, neurons, experts, n, monkeypatch):
    rng = np.random.default_rng(experts)
    x = rng.standard_normal((2, n, patches, 7))
    features = np.asarray(ce.router_features(x, "patches" if own > 1 else "shared"))
    y = np.where(rng.random((2, n)) < 0.5, -1.0, 1.0)
    weights = 0.3 * rng.standard_normal((2, experts, own, neurons, 7))
    theta = 0.1 * rng.standard_normal((2, features.shape[-1], experts))
    before = [np.copy(a) for a in (x, features, y, weights, theta)]
    noise = rng.random((12, 2, n, experts)) - 3 * (np.arange(experts) == experts // 2)  # one is hardly ever chosen
    ends = {}
    for asked in ("", "numpy"):
        monkeypatch.setenv(kernel.VARIABLE, asked)
        end, seen = path((x, features, y, weights, theta), noise, 12, (0, 12))
        np.testing.assert_array_equal(seen[0][0], weights)
        np.testing.assert_array_equal(end[0], seen[12][0])
        alone, _ = path([a[1:] for a in (x, features, y, weights, theta)], noise[:, 1:], 12, ())
        for part in range(2):  # a member's numbers do not depend on what is computed beside it
            np.testing.assert_array_equal(alone[part][0], end[part][1])
        ends[asked] = end
    for compiled, plain in zip(ends[""], ends["numpy"], strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-12)
    for array, as_it_was in zip((x, features, y, weights, theta), before, strict=True):
        np.testing.assert_array_equal(array, as_it_was)


@pytest.mark.parametrize("where", ["compiled", "numpy", "strict"])
@pytest.mark.parametrize("margin", [300.0, 372.0, 500.0, 745.0, 3000.0])
def test_a_step_has_the_length_eta_and_the_exact_direction_however_large_the_margins_are(margin, where, monkeypatch):
    if where == "compiled" and not kernel.vector_bits():
        pytest.skip("no compiled code on this machine")
    mp = pytest.importorskip("mpmath")
    monkeypatch.setenv(kernel.VARIABLE, "numpy" if where == "numpy" else "")
    rng = np.random.default_rng(5)
    n = 40
    x, y = rng.uniform(0.5, 1.0, (1, n, 3, 5)), np.ones((1, n))
    weights = rng.uniform(0.1, 0.3, (1, 3, 3, 2, 5))
    sent = np.arange(n) % 2  # the third expert has no sample
    least = np.min(np.sum(np.einsum("npd,pjd->npj", x[0, sent == 0], weights[0, 0]) ** 3, axis=(1, 2))) / 3
    weights[0, 0] *= (margin / least) ** (1 / 3)  # the first one's gradient is of the order exp(-margin)
    noise = np.where(sent[:, None] == np.arange(3), 5.0, 0.0)[None]
    xp = array_api_strict if where == "strict" else anp
    args = [xp.asarray(a) for a in (x, x.reshape(1, n, -1), y, weights, np.zeros((1, 15, 3)))]
    (end, _), _ = path(args, [xp.asarray(noise)], 1, (), router_rate=0.0)

    exact = np.zeros((2, 3, 2, 5), dtype=object)
    with mp.workdps(50):
        for i in range(n):
            reach = [[mp.fdot(w, x[0, i, p]) for w in weights[0, sent[i], p]] for p in range(3)]
            z = sum(s**3 for row in reach for s in row) / 3
            for p, j in itertools.product(range(3), range(2)):
                exact[sent[i], p, j] += -(reach[p][j] ** 2) / (1 + mp.exp(z)) * x[0, i, p]
        norms = [mp.sqrt(sum(g**2 for g in own.ravel())) for own in exact]
        expected = [(-0.01 * own / norm).astype(float) for own, norm in zip(exact, norms, strict=True)]
    np.testing.assert_allclose((np.asarray(end) - weights)[0, :2], expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(np.asarray(end)[0, 2], weights[0, 2])
