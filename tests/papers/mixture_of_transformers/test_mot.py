import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest

from moestat.papers.mixture_of_transformers.model import Mixture, attend, pool
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
