"""The sparse mixture layer: its two fast forms beside the dense one, and what a competition adds to the gradients."""

import copy
import typing

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from studies.compete_smoe.parts import decoders, routers  # noqa: E402
from studies.compete_smoe.parts.smoe import (  # noqa: E402
    Competition,
    ExpertBank,
    SMoE,
    load_balance,
    policy,
    router_loss,
    schedule,
)

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


@pytest.mark.parametrize("reading", ["paper", "published"])
def test_the_router_loss_of_the_paper_moves_the_router_alone_and_the_published_one_everything(reading):
    """Published: the softmax of all scores against that of the K largest norms."""
    made, z = layer(competition=Competition(schedule(1.0), key=0, output="competition", reading=reading)), tokens()
    z.requires_grad_()
    made.begin_step(0, 1)
    made(z)
    norms, scores = torch.linalg.vector_norm(made.experts.every(z), dim=-1).t(), made.router(z)
    ours = scores.softmax(1) if reading == "published" else policy(scores, 2)
    torch.testing.assert_close(made.auxiliary, ((ours - policy(norms, 2)) ** 2).mean())
    made.auxiliary.backward()
    assert made.router.weight.grad.abs().sum() > 0
    moved = [gradient is not None and bool(gradient.any()) for gradient in (z.grad, made.experts.second.grad)]
    assert moved == [reading == "published"] * 2


def make(kind, **options):
    return routers.make(kind, WIDTH, EXPERTS, np.random.default_rng(0), **options).double()


def test_linear_routers_start_from_the_same_weights():
    z = tokens()
    for kind in typing.get_args(routers.Kind):
        if kind != "xmoe":
            torch.testing.assert_close(make(kind)(z), z @ make("smoe").weight)


@pytest.mark.parametrize(
    ("kind", "moves"),
    [("smoe", [True] * 9), ("xmoe", [True] * 9), ("smoe_fixed", [False] * 9), ("stable_moe", [True] * 3 + [False] * 6)],
)
def test_which_routers_learn_and_when(kind, moves):
    router = make(kind, **({"stage_one": 0.4} if kind == "stable_moe" else {}))
    made, path = SMoE(bank(), router), []
    optimiser = torch.optim.Adam([p for p in made.parameters() if p.requires_grad], lr=0.05)
    for step in range(10):
        for module in made.modules():
            if hasattr(module, "begin_step"):
                module.begin_step(step, 10)
        optimiser.zero_grad()
        made(tokens()).square().mean().backward()
        optimiser.step()
        path.append(next(iter(router.parameters())).detach().clone())
    assert [not torch.equal(a, b) for a, b in zip(path[:-1], path[1:], strict=True)] == moves


def test_a_cosine_router_sees_no_lengths_and_the_published_rivals_those_of_tokens_alone():
    z, cosine = tokens(), make("xmoe")
    scores = cosine(z)
    torch.testing.assert_close(cosine(7.0 * z), scores)
    assert (scores.abs() <= 1 / 0.3 + 1e-4).all() and cosine.down.shape == (WIDTH, EXPERTS // 2)
    with torch.no_grad():
        cosine.log_temperature.add_(np.log(2.0))
    torch.testing.assert_close(cosine(z), scores / 2)
    for kind, dimension in (("xmoe", 8), ("stable_moe", WIDTH)):
        router = make(kind, reading="published")
        before = router(z)
        assert router.embeddings.shape == (dimension, EXPERTS) and not hasattr(router, "begin_step")
        torch.testing.assert_close(router(2 * z), 2 * before)
        with torch.no_grad():
            router.embeddings.mul_(3.0)
        torch.testing.assert_close(router(z), before)


@pytest.mark.parametrize(("size", "millions"), [("tiny", 7), ("small", 15), ("medium", 36)])
def test_sizes_have_the_parameters_of_the_paper(size, millions):
    """With 16 experts per block, two matrices each; embeddings apart (CompeteSMoE, section 6.1)."""
    shape = decoders.shape_of("switch", size, 205)
    block = 4 * shape.width**2 + 16 * 2 * shape.width * shape.hidden
    assert shape.blocks * block / 1e6 == pytest.approx(millions, abs=0.6)
