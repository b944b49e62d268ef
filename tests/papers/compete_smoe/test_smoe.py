"""The sparse mixture layer: its two fast forms beside the dense one, and what a competition adds to the gradients."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.papers.compete_smoe import routers  # noqa: E402
from moestat.papers.compete_smoe.expert_bank import ExpertBank  # noqa: E402
from moestat.papers.compete_smoe.smoe import Competition, SMoE, load_balance, policy, router_loss, schedule  # noqa: E402

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


def test_gradients_against_finite_differences():
    experts = bank()
    index = torch.from_numpy(np.random.default_rng(5).integers(EXPERTS, size=(4, 2)))
    gates = torch.from_numpy(np.random.default_rng(6).uniform(0.1, 1.0, (4, 2))).requires_grad_()
    z = tokens(count=4).requires_grad_()
    names = [name for name, _ in experts.named_parameters()]

    def apply(z, gates, *weights):
        return torch.func.functional_call(experts, dict(zip(names, weights, strict=True)), (z, gates, index))

    assert torch.autograd.gradcheck(apply, (z, gates, *experts.parameters()))


def test_norms_are_those_of_the_dense_form():
    experts, z = bank(), tokens()
    outputs = dense(experts, z, torch.zeros(TOKENS, EXPERTS, dtype=z.dtype), EXPERTS)[2]
    torch.testing.assert_close(experts.norms(z), torch.linalg.vector_norm(outputs, dim=2))
    torch.testing.assert_close(experts.every(z).transpose(0, 1), outputs)
    assert not experts.norms(z).requires_grad


def test_layer_is_equation_2_and_keeps_the_shape():
    model, x = layer(), tokens(count=24).view(2, 12, WIDTH)
    expected = dense(model.experts, x.view(-1, WIDTH), model.router(x.view(-1, WIDTH)), 2)[0]
    torch.testing.assert_close(model(x), expected.view(2, 12, WIDTH))
    assert model.auxiliary is None


def test_policy_is_the_softmax_of_the_k_largest():
    scores = torch.tensor([[1.0, 3.0, 2.0], [0.0, -1.0, -2.0]])
    p = policy(scores, 2)
    a = 1 / (1 + np.exp(-1.0))
    np.testing.assert_allclose(p, [[0, a, 1 - a], [a, 1 - a, 0]], rtol=1e-6)
    # rows differ by a swap of a and 1 - a in two of three entries
    assert router_loss(scores[:1], torch.tensor([[1.0, 2.0, 3.0]]), 2).item() == pytest.approx(2 * (2 * a - 1) ** 2 / 3)


def gradients(model, x, weights, auxiliary=True):
    model.zero_grad()
    y = model(x)
    loss = (y * weights).sum()
    if auxiliary and model.auxiliary is not None:
        loss = loss + model.auxiliary
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize(("alpha", "weight"), [(1.0, 1.0), (5.0, 1.0), (0.1, 30.0)])
def test_a_competing_step_minimises_router_loss_plus_alpha_times_task_loss(alpha, weight):
    x, weights = tokens(), tokens(9)
    plain = layer()
    task = gradients(plain, x, weights)
    scores = x @ plain.router.weight
    own = torch.autograd.grad(router_loss(scores, plain.experts.norms(x), 2), plain.router.weight)[0]

    model = layer(competition=Competition(schedule(1.0), key=0, alpha=alpha, weight=weight))
    model.begin_step(0, 10)
    found = gradients(model, x, weights)
    torch.testing.assert_close(model(x), plain(x))
    torch.testing.assert_close(found.pop("router.weight"), weight * own + alpha * task.pop("router.weight"))
    torch.testing.assert_close(found, task)


def test_the_router_loss_says_nothing_of_experts_that_the_router_does_not_choose():
    torch.manual_seed(0)
    for top_k in (1, 2, 4):
        scores, norms = torch.randn(50, 16, requires_grad=True), torch.rand(50, 16)
        (gradient,) = torch.autograd.grad(router_loss(scores, norms, top_k), scores)
        chosen = torch.zeros(50, 16, dtype=torch.bool).scatter(1, scores.topk(top_k, dim=1).indices, True)
        assert torch.all(gradient[~chosen] == 0)
        assert bool(torch.any(gradient[chosen] != 0)) == (top_k > 1)


def test_the_router_objective_does_not_reach_the_tokens():
    grads = []
    for competition in (None, Competition(schedule(1.0), key=0, alpha=7.0, weight=50.0)):
        model, x = layer(competition=competition), tokens().requires_grad_()
        model.begin_step(0, 10)
        loss = model(x).square().sum()
        (loss if model.auxiliary is None else loss + model.auxiliary).backward()
        grads.append(x.grad)
    torch.testing.assert_close(*grads)


def test_the_winners_may_make_the_output():
    x, weights = tokens(), tokens(9)
    model = layer(competition=Competition(schedule(1.0), key=0, output="competition"))
    model.begin_step(0, 10)
    outputs = dense(model.experts, x, torch.zeros(TOKENS, EXPERTS, dtype=x.dtype), EXPERTS)[2]
    norms = torch.linalg.vector_norm(outputs, dim=2)
    expected = torch.einsum("tn,tnd->td", policy(norms, 2), outputs)
    torch.testing.assert_close(model(x), expected)
    found = gradients(model, x, weights, auxiliary=False)
    assert "router.weight" not in found
    reference = torch.autograd.grad((expected * weights).sum(), list(model.experts.parameters()))
    for (name, _), gradient in zip(model.experts.named_parameters(), reference, strict=True):
        torch.testing.assert_close(found[f"experts.{name}"], gradient)


def test_no_competition_in_evaluation_or_after_tails():
    competition = Competition(schedule(1.0), key=0, output="competition")
    model, x = layer(competition=competition), tokens()
    routed = dense(model.experts, x, model.router(x), 2)[0]
    torch.testing.assert_close(model(x), routed)  # no step has begun
    model.begin_step(0, 10)
    assert (model(x) - routed).abs().max() > 1e-3
    model.eval()
    torch.testing.assert_close(model(x), routed)
    assert model.auxiliary is None


def test_coins_are_a_function_of_layer_and_step():
    """False-alarm probability of the counts below: under 1e-4 (binomial, 4.5 and 4 standard deviations)."""
    steps = 4000
    first, second = (Competition(schedule(0.05), key=key) for key in (1, 2))
    flips = np.array([[c.heads(t, steps) for t in range(steps)] for c in (first, second)])
    assert [first.heads(t, steps) for t in (17, 3)] == flips[0, [17, 3]].tolist()
    assert abs(flips.mean() - 0.05) < 4.5 * np.sqrt(0.05 * 0.95 / flips.size)
    assert abs((flips[0] & flips[1]).sum() - steps * 0.05**2) < 4 * np.sqrt(steps * 0.05**2)


@pytest.mark.parametrize("form", ["constant", "falling", "rising"])
def test_schedules_have_the_mean_asked_for(form):
    values = np.array([schedule(0.05, form)(t, 400) for t in range(400)])
    assert values.mean() == pytest.approx(0.05)
    assert np.sign(values[-1] - values[0]) == {"constant": 0, "falling": -1, "rising": 1}[form]


def test_router_learns_a_competition_of_fixed_experts():
    """Equation 3 teaches a router which experts win: the overlap of the top 2 rises from chance (1/3) to above 1/2."""
    model = layer(competition=Competition(schedule(1.0), key=0))
    model.begin_step(0, 1)
    optimiser = torch.optim.Adam(model.router.parameters(), lr=0.02)
    for step in range(150):
        optimiser.zero_grad()
        model(tokens(100 + step, 200))
        model.auxiliary.backward()
        optimiser.step()
    z = tokens(7, 2000)
    mine, wins = (s.topk(2, dim=1).indices for s in (model.router(z), model.experts.norms(z)))
    assert (mine[:, :, None] == wins[:, None]).any(dim=2).double().mean() > 0.5


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
