"""The sparse mixture layer: its two fast forms beside the dense one, and what a competition adds to the gradients."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.papers.compete_smoe import routers  # noqa: E402
from moestat.papers.compete_smoe.expert_bank import ExpertBank  # noqa: E402
from moestat.papers.compete_smoe.smoe import SMoE, load_balance, policy, router_loss  # noqa: E402

WIDTH, HIDDEN, EXPERTS, TOKENS = 5, 7, 6, 23


def bank(seed=0, dtype=torch.float64):
    return ExpertBank(WIDTH, HIDDEN, EXPERTS, np.random.default_rng(seed)).to(dtype)


def tokens(seed=1, count=TOKENS):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((count, WIDTH)))


def layer(*, top_k=2, kind="smoe", **options):
    router = routers.make(kind, WIDTH, EXPERTS, np.random.default_rng(2))
    return SMoE(bank(), router, top_k=top_k, **options).double()


def dense(experts, z, scores, top_k):
    """Equation 2 as it is written: every expert for every token, most of them times zero."""
    inside = torch.relu(torch.einsum("td,ndh->tnh", z, experts.first) + experts.first_bias)
    outputs = torch.einsum("tnh,nhd->tnd", inside, experts.second) + experts.second_bias
    kept = scores >= scores.sort(dim=1, descending=True).values[:, top_k - 1 : top_k]
    gates = torch.where(kept, scores, torch.full_like(scores, -torch.inf)).softmax(dim=1)
    return torch.einsum("tn,tnd->td", gates, outputs), gates, outputs


@pytest.mark.parametrize("form", ["forward", "padded"])
@pytest.mark.parametrize("top_k", [1, 2, EXPERTS])
def test_values_and_gradients_are_those_of_the_dense_form(form, top_k):
    experts, z = bank(), tokens()
    scores = torch.from_numpy(np.random.default_rng(3).standard_normal((TOKENS, EXPERTS)))
    scores[:, 4] -= 100.0  # an expert that nobody is sent to, unless all are
    weights = torch.from_numpy(np.random.default_rng(4).standard_normal((TOKENS, WIDTH)))
    found = []
    for fast in (True, False):
        own, x, s = copy.deepcopy(experts), z.clone().requires_grad_(), scores.clone().requires_grad_()
        if fast:
            best, index = s.topk(top_k, dim=1)
            y = getattr(own, form)(x, best.softmax(dim=1), index)
        else:
            y = dense(own, x, s, top_k)[0]
        (y * weights).sum().backward()
        found.append([y, x.grad, s.grad, *(p.grad for p in own.parameters())])
    for ours, reference in zip(*found, strict=True):
        torch.testing.assert_close(ours, reference)


def test_policy_is_the_softmax_of_the_k_largest():
    scores = torch.tensor([[1.0, 3.0, 2.0], [0.0, -1.0, -2.0]])
    p = policy(scores, 2)
    a = 1 / (1 + np.exp(-1.0))
    np.testing.assert_allclose(p, [[0, a, 1 - a], [a, 1 - a, 0]], rtol=1e-6)
    # rows differ by a swap of a and 1 - a in two of three entries
    assert router_loss(scores[:1], torch.tensor([[1.0, 2.0, 3.0]]), 2).item() == pytest.approx(2 * (2 * a - 1) ** 2 / 3)


def test_the_router_loss_says_nothing_of_experts_that_the_router_does_not_choose():
    torch.manual_seed(0)
    for top_k in (1, 2, 4):
        scores, norms = torch.randn(50, 16, requires_grad=True), torch.rand(50, 16)
        (gradient,) = torch.autograd.grad(router_loss(scores, norms, top_k), scores)
        chosen = torch.zeros(50, 16, dtype=torch.bool).scatter(1, scores.topk(top_k, dim=1).indices, True)
        assert torch.all(gradient[~chosen] == 0)
        assert bool(torch.any(gradient[chosen] != 0)) == (top_k > 1)


def test_balancing_loss():
    scores = torch.log(torch.tensor([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1]], dtype=torch.float64))
    # top 1: half of the tokens to each of the first two experts, mean probabilities 0.4, 0.4, 0.1, 0.1
    assert load_balance(scores, 1).item() == pytest.approx(4 * (0.5 * 0.4 + 0.5 * 0.4))
    assert load_balance(torch.eye(4), 1).item() == pytest.approx(1.0)
    model, x = layer(balance=0.3), tokens()
    model(x)
    assert model.auxiliary.item() == pytest.approx(0.3 * load_balance(model.router(x), 2).item())
    model.eval()
    model(x)
    assert model.auxiliary is None
