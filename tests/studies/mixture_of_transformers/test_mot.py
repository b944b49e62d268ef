"""Gradient conflicts and strong convexity of experts."""

import array_api_compat.numpy as anp
import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.mixture_of_transformers.parts import mot_landscape as landscape
from studies.mixture_of_transformers.parts.model import Mixture, MultiHead, attend, pool

B, N, L, D, M = 2, 90, 5, 6, 4
BACKENDS = pytest.mark.parametrize("xp", [anp, array_api_strict])


def problem(attends=True, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((B, N, L, D))
    y = np.where(rng.random((B, N)) < 0.5, -1.0, 1.0)
    weights = rng.standard_normal((B, M, D))
    kq = 0.7 * rng.standard_normal((B, M, D, D)) if attends else None
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
@pytest.mark.parametrize("attends", [True, False])
def test_gradients_equal_autograd(attends, frozen):
    torch = pytest.importorskip("torch")
    x, y, weights, kq, theta, expert = problem(attends)
    tx, ty, index = torch.tensor(x), torch.tensor(y), torch.tensor(expert)
    w, t = (torch.tensor(a, requires_grad=True) for a in (weights, theta))
    row = torch.arange(B)[:, None]
    if kq is None:
        attended = tx.sum(dim=2)
    else:
        q = torch.tensor(kq, requires_grad=True)
        own = q[row, index]
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


RNG = np.random.default_rng(4)


def _conflicts_by_loops(gradients, group):
    negative = pairs = total = 0.0
    for i in range(len(group)):
        for j in range(i):
            if group[i] == group[j]:
                pairs += 1
                negative += gradients[i] @ gradients[j] < 0
    for m in set(group.tolist()):
        mine = [g for g, k in zip(gradients, group, strict=True) if k == m]
        total += len(mine) * np.linalg.norm(np.mean(mine, axis=0)) / np.mean([np.linalg.norm(g) for g in mine])
    return negative / pairs, total / len(group)


@given(seed=st.integers(0, 2**16), scale=st.floats(1e-6, 1e6))
@settings(max_examples=25, deadline=None)
def test_conflicts_are_those_of_loops_and_know_no_scale_and_no_order(seed, scale):
    rng = np.random.default_rng(seed)
    gradients, group = rng.standard_normal((14, 3)), rng.integers(0, 3, 14)
    found = landscape.conflicts(gradients, group)
    np.testing.assert_allclose(found, _conflicts_by_loops(gradients, group), rtol=1e-12)
    order = rng.permutation(14)
    np.testing.assert_allclose(landscape.conflicts(scale * gradients[order], group[order]), found, rtol=1e-9)


def test_curvature_is_that_of_autograd():
    torch = pytest.importorskip("torch")
    z, y, w = RNG.standard_normal((30, 3)), np.sign(RNG.standard_normal(30)), RNG.standard_normal(3)

    def loss(weights):
        return torch.nn.functional.softplus(-torch.tensor(y) * (torch.tensor(z) @ weights)).mean()

    at = torch.tensor(w, requires_grad=True)
    gradient, hessian = torch.autograd.grad(loss(at), at)[0].numpy(), torch.autograd.functional.hessian(loss, at)
    found = landscape.curvature(y[:, None] * z, y * (z @ w), np.zeros(30, dtype=int))
    assert found["curvature"] == pytest.approx(np.linalg.eigvalsh(hessian.numpy())[0], rel=1e-10)
    assert found["polyak"] == pytest.approx(gradient @ gradient / (2 * loss(at).item()), rel=1e-10)


def test_gradients_of_samples_add_up_to_those_of_the_models():
    x, _, weights, kq, theta, expert = problem()
    slope = RNG.standard_normal((B, N))
    model = mixture(anp, x, weights, kq, theta, expert)
    heads = MultiHead(x, RNG.standard_normal((B, 4, 2, D)), kq[:, :2])
    for one in (model, heads):
        f = one.forward()
        for b in range(B):
            if one is model:
                found = landscape.of_experts(x[b], weights[b], kq[b], expert[b])
                sums = [np.stack([slope[b][expert[b] == m] @ g[expert[b] == m] for m in range(M)]) for g in found[1:]]
            else:
                found = landscape.of_heads(x[b], heads.weights[b], heads.kq[b], heads.signs)
                sums = [slope[b] @ g for g in found[1:]]
            np.testing.assert_allclose(found[0], f[b], atol=1e-12)
            whole = one.weight_gradient(slope)[b], one.attention_gradient(slope)[b]
            for ours, theirs in zip(sums, whole, strict=True):
                np.testing.assert_allclose(ours.reshape(theirs.shape), theirs, atol=1e-11)
