"""The gradient with samples sorted by expert is that of the tiles."""

import itertools

import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest

from moestat.fit import kernel
from studies.expert_count.parts import cubic_experts
from studies.expert_count.parts import cubic_experts as ce
from studies.expert_count.parts.sorted_experts import SortedExperts
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


@pytest.mark.parametrize("own", [3, 1])
@pytest.mark.parametrize("used", [5, 1])
def test_gradient_is_that_of_the_tiles(own, used):
    rng = np.random.default_rng(0)
    n, experts = 200, 7
    x, y = rng.standard_normal((n, 3, 6)), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    features = np.asarray(cubic_experts.router_features(x[None], "patches" if own > 1 else "shared"))[0]
    mixture = SortedExperts(x, features, y, own)
    for _ in range(2):  # the arrays that are kept hold nothing of the step before
        weights, scores = rng.standard_normal((experts, own, 4, 6)), rng.standard_normal((n, experts))
        expert = rng.integers(0, used, n)
        got = mixture.gradient(weights, scores, expert)
        wanted = cubic_experts.gradient(*(a[None] for a in (weights, x, features, y, scores, expert)))
        for name in ("loss", "weights", "theta"):
            np.testing.assert_allclose(getattr(got, name), getattr(wanted, name)[0], rtol=1e-10, atol=1e-14)
        assert not got.weights[used:].any()


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
@pytest.mark.parametrize("margin", [300.0, 360.0, 372.0, 500.0, 700.0, 745.0, 3000.0])
def test_a_step_has_the_length_eta_however_small_the_gradient_is(margin, where, monkeypatch):
    if where == "compiled" and not kernel.vector_bits():
        pytest.skip("no compiled code on this machine")
    monkeypatch.setenv(kernel.VARIABLE, "numpy" if where == "numpy" else "")
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.5, 1.0, (1, 40, 3, 5)), np.ones((1, 40))
    weights = rng.uniform(0.5, 1.0, (1, 1, 3, 2, 5))
    least = np.min(np.sum(np.einsum("npd,pjd->npj", x[0], weights[0, 0]) ** 3, axis=(1, 2)))
    weights *= (margin / least) ** (1 / 3)  # the least margin: the gradient is of the order exp(-margin)
    xp = array_api_strict if where == "strict" else anp
    args = [xp.asarray(a) for a in (x, x.reshape(1, 40, -1), y, weights, np.zeros((1, 15, 1)))]
    (end, _), _ = path(args, [xp.asarray(np.zeros((1, 40, 1)))], 1, (), router_rate=0.0)
    assert np.sqrt(np.sum((np.asarray(end) - weights) ** 2)) == pytest.approx(0.01, rel=1e-6)


@pytest.mark.parametrize("where", ["compiled", "numpy", "strict"])
def test_an_expert_whose_samples_all_have_large_margins_goes_where_the_exact_gradient_points(where, monkeypatch):
    if where == "compiled" and not kernel.vector_bits():
        pytest.skip("no compiled code on this machine")
    mp = pytest.importorskip("mpmath")
    monkeypatch.setenv(kernel.VARIABLE, "numpy" if where == "numpy" else "")
    rng = np.random.default_rng(5)
    n, large = 40, 12.0  # cubes of some 12 in place of 1
    x, y = rng.uniform(0.5, 1.0, (1, n, 3, 5)), np.ones((1, n))
    weights = rng.uniform(0.1, 0.3, (1, 3, 3, 2, 5))
    weights[0, 0] *= large
    sent = np.arange(n) % 2  # the third expert has no sample
    noise = np.where(sent[:, None] == np.arange(3), 5.0, 0.0)[None]
    xp = array_api_strict if where == "strict" else anp
    args = [xp.asarray(a) for a in (x, x.reshape(1, n, -1), y, weights, np.zeros((1, 15, 3)))]
    (end, _), _ = path(args, [xp.asarray(noise)], 1, (), router_rate=0.0)

    exact = np.zeros((2, 3, 2, 5), dtype=object)
    with mp.workdps(50):
        for i in range(n):
            reach = [[mp.fdot(w, x[0, i, p]) for w in weights[0, sent[i], p]] for p in range(3)]
            margin = sum(s**3 for row in reach for s in row) / 3
            assert sent[i] == 1 or margin > 746
            for p, j in itertools.product(range(3), range(2)):
                exact[sent[i], p, j] += -(reach[p][j] ** 2) / (1 + mp.exp(margin)) * x[0, i, p]
        norms = [mp.sqrt(sum(g**2 for g in own.ravel())) for own in exact]
        expected = [(-0.01 * own / norm).astype(float) for own, norm in zip(exact, norms, strict=True)]
    np.testing.assert_allclose((np.asarray(end) - weights)[0, :2], expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_array_equal(np.asarray(end)[0, 2], weights[0, 2])
