import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest

from moestat.papers.mixture_of_transformers.model import Mixture, attend, attention_gradient, pool
from moestat.papers.mixture_of_transformers.multi_head import MultiHead

B, N, L, D, M = 2, 90, 5, 6, 4
BACKENDS = pytest.mark.parametrize("xp", [anp, array_api_strict])
KINDS = ["own", "shared", "none"]


def problem(kind, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((B, N, L, D))
    y = np.where(rng.random((B, N)) < 0.5, -1.0, 1.0)
    weights = rng.standard_normal((B, M, D))
    kq = None if kind == "none" else 0.7 * rng.standard_normal((B, M if kind == "own" else 1, D, D))
    theta = 0.3 * rng.standard_normal((B, M, D))
    expert = rng.integers(0, M - 1, (B, N))  # the last expert gets no samples
    return x, y, weights, kq, theta, expert


def mixture(xp, x, weights, kq, theta, expert):
    model = Mixture(*(None if a is None else xp.asarray(a) for a in (x, weights, kq, theta)))
    model.send(xp.asarray(expert))
    return model


def naive_output(x, w, kq):
    """Return eq. (4) for one sample x (L, d), as it is printed."""
    if kq is None:
        return sum(w @ token for token in x)
    total = 0.0
    for query in x:
        score = x @ kq @ query
        p = np.exp(score - score.max())
        total += w @ (x.T @ (p / p.sum()))
    return total


@BACKENDS
@pytest.mark.parametrize("kind", KINDS)
def test_outputs_are_equation_4_frozen_or_not(kind, xp):
    x, _, weights, kq, theta, expert = problem(kind)
    expected = np.empty((B, N))
    for b in range(B):
        for k in range(N):
            m = expert[b, k]
            own = None if kq is None else kq[b, m if kq.shape[1] > 1 else 0]
            expected[b, k] = naive_output(x[b, k], weights[b, m], own)
    model = mixture(xp, x, weights, kq, theta, expert)
    np.testing.assert_allclose(np.asarray(model.forward()), expected, rtol=1e-11, atol=1e-11)
    model.freeze()
    np.testing.assert_allclose(np.asarray(model.forward()), expected, rtol=1e-11, atol=1e-11)


@BACKENDS
def test_attention_rows_are_softmax_even_where_scores_are_huge(xp):
    x = np.array([[[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]])
    p = np.asarray(attend(xp.asarray(x), xp.asarray(500.0 * np.eye(2))))
    # token 1 as the query: 500 for itself, 0 and -500 for the others
    np.testing.assert_array_equal(p[0, 0], [1, 0, 0])
    np.testing.assert_allclose(p.sum(axis=-1), 1)
    assert not np.any((p > 0) & (p < 1e-300))
    np.testing.assert_allclose(np.asarray(pool(xp.asarray(x), xp.asarray(p)))[0], [0, 1], atol=1e-12)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_equal_autograd(kind, frozen):
    torch = pytest.importorskip("torch")
    x, y, weights, kq, theta, expert = problem(kind)
    tx, ty, index = torch.tensor(x), torch.tensor(y), torch.tensor(expert)
    w, t = (torch.tensor(a, requires_grad=True) for a in (weights, theta))
    row = torch.arange(B)[:, None]
    if kq is None:
        attended = tx.sum(dim=2)
    else:
        q = torch.tensor(kq, requires_grad=True)
        own = q[row, index if kq.shape[1] > 1 else torch.zeros_like(index)]
        scores = torch.einsum("bkhi,bkij,bklj->bklh", tx, own, tx)
        attended = torch.einsum("bklh,bkhi->bki", torch.softmax(scores, -1), tx)
    f = (w[row, index] * attended).sum(-1)
    expert_loss = -torch.nn.functional.logsigmoid(ty * f).mean(dim=-1).sum()
    pi = torch.softmax(torch.einsum("bkli,bmi->bkm", tx, t), -1).gather(-1, index[..., None])[..., 0]
    router_loss = -torch.nn.functional.logsigmoid(ty * f.detach() * pi).mean(dim=-1).sum()
    (expert_loss + router_loss).backward()

    model = mixture(anp, x, weights, kq, theta, expert)
    if frozen:
        model.freeze()
    ours = model.forward()
    np.testing.assert_allclose(ours, f.detach().numpy(), rtol=0, atol=1e-12)
    slope = -y / (1 + np.exp(y * ours)) / N
    np.testing.assert_allclose(model.weight_gradient(slope), w.grad.numpy(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.router_gradient(ours, y), t.grad.numpy(), rtol=0, atol=1e-12)
    assert np.abs(w.grad.numpy()).max() > 1e-3 and np.abs(t.grad.numpy()).max() > 1e-3
    if frozen or kq is None:
        with pytest.raises(ValueError, match="frozen or absent"):
            model.attention_gradient(slope)
    else:
        np.testing.assert_allclose(model.attention_gradient(slope), q.grad.numpy(), rtol=0, atol=1e-12)
        assert np.abs(q.grad.numpy()).max() > 1e-3


@BACKENDS
def test_all_backends_have_the_gradients_of_numpy(xp):
    x, y, weights, kq, theta, expert = problem("own")
    found = []
    for lib in (anp, xp):
        model = mixture(lib, x, weights, kq, theta, expert)
        model.route(lib.asarray(np.random.default_rng(1).random((B, M, N))))
        slope = lib.asarray(y) * model.forward() / N
        parts = (model.weight_gradient(slope), model.attention_gradient(slope), model.router_gradient(slope, slope))
        found.append([np.asarray(a) for a in (model.expert, *parts)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_router_gradients_add_up_to_zero_over_experts():
    x, y, weights, kq, theta, expert = problem("own")
    model = mixture(anp, x, weights, kq, theta, expert)
    gradient = model.router_gradient(model.forward(), y)
    assert np.abs(gradient).max() > 1e-3
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-15)  # Corollary 1


@BACKENDS
def test_multi_head_outputs_are_the_documented_formula(xp):
    rng = np.random.default_rng(3)
    x, kq = rng.standard_normal((B, 7, L, D)), rng.standard_normal((B, 2, D, D))
    weights = rng.standard_normal((B, 5, 2, D))
    expected = np.zeros((B, 7))
    for b in range(B):
        for k in range(7):
            for query in x[b, k]:
                p = [np.exp(x[b, k] @ kq[b, h] @ query) for h in range(2)]
                heads = [x[b, k].T @ (e / e.sum()) for e in p]
                for j in range(5):
                    reach = sum(weights[b, j, h] @ heads[h] for h in range(2))
                    expected[b, k] += (1 if j < 3 else -1) * max(reach, 0)
    model = MultiHead(*(xp.asarray(a) for a in (x, weights, kq)))
    np.testing.assert_allclose(np.asarray(model.forward()), expected, rtol=1e-11, atol=1e-11)
    model.freeze()
    np.testing.assert_allclose(np.asarray(model.forward()), expected, rtol=1e-11, atol=1e-11)


def test_multi_head_gradients_equal_autograd():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    x, y, *_ = problem("own")
    kq, weights = rng.standard_normal((B, 2, D, D)), rng.standard_normal((B, 5, 2, D))
    w, q = (torch.tensor(a, requires_grad=True) for a in (weights, kq))
    tx, signs = torch.tensor(x), torch.tensor([1.0, 1, 1, -1, -1], dtype=torch.float64)
    scores = torch.einsum("bkni,bhij,bklj->bkhln", tx, q, tx)
    heads = torch.einsum("bkhln,bkni->bklhi", torch.softmax(scores, -1), tx)
    f = (torch.relu(torch.einsum("bklhi,bjhi->bklj", heads, w)) @ signs).sum(-1)
    slope = rng.standard_normal((B, N))
    (f * torch.tensor(slope)).sum().backward()
    model = MultiHead(x, weights, kq)
    np.testing.assert_allclose(model.forward(), f.detach().numpy(), rtol=0, atol=1e-11)
    np.testing.assert_allclose(model.weight_gradient(slope), w.grad.numpy(), rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(model.attention_gradient(slope), q.grad.numpy(), rtol=1e-11, atol=1e-11)


def test_attention_gradient_is_a_derivative_for_any_function_of_the_attended_tokens():
    rng = np.random.default_rng(5)
    x, kq, change = rng.standard_normal((9, L, D)), rng.standard_normal((D, D)), rng.standard_normal((D, D))
    g = rng.standard_normal((9, L, D))

    def value(h):
        return np.sum(g * (attend(x, kq + h * change) @ x))

    gradient = attention_gradient(x, attend(x, kq), g @ np.swapaxes(x, -1, -2))
    numeric = (value(1e-5) - value(-1e-5)) / 2e-5
    assert np.sum(gradient * change) == pytest.approx(numeric, rel=1e-7)
