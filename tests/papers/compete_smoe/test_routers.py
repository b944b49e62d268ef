"""Routers of sparse mixtures."""

import typing

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.papers.compete_smoe import routers  # noqa: E402
from moestat.papers.compete_smoe.expert_bank import ExpertBank  # noqa: E402
from moestat.papers.compete_smoe.smoe import SMoE  # noqa: E402

WIDTH, EXPERTS = 6, 8


def make(kind, **options):
    return routers.make(kind, WIDTH, EXPERTS, np.random.default_rng(0), **options)


def tokens(count=50):
    return torch.from_numpy(np.random.default_rng(1).standard_normal((count, WIDTH)).astype(np.float32))


def test_linear_routers_start_from_the_same_weights():
    z = tokens()
    kinds = [kind for kind in typing.get_args(routers.Kind) if kind != "xmoe"]
    for kind in kinds:
        torch.testing.assert_close(make(kind)(z), make("smoe")(z))
    torch.testing.assert_close(make("smoe")(z), z @ make("smoe").weight)


def trained(router, steps=10):
    """Train a layer's router for some steps; return the router's first weight after each."""
    layer = SMoE(ExpertBank(WIDTH, 4, EXPERTS, np.random.default_rng(3)), router)
    optimiser = torch.optim.Adam([p for p in layer.parameters() if p.requires_grad], lr=0.05)
    out = []
    for step in range(steps):
        for module in layer.modules():
            if hasattr(module, "begin_step"):
                module.begin_step(step, steps)
        optimiser.zero_grad()
        layer(tokens()).square().mean().backward()
        optimiser.step()
        out.append(next(iter(router.parameters())).detach().clone())
    return out


@pytest.mark.parametrize(
    ("kind", "moves"),
    [("smoe", [True] * 9), ("xmoe", [True] * 9), ("smoe_fixed", [False] * 9), ("stable_moe", [True] * 3 + [False] * 6)],
)
def test_which_routers_learn_and_when(kind, moves):
    options = {"stage_one": 0.4} if kind == "stable_moe" else {}
    path = trained(make(kind, **options))
    assert [not torch.equal(a, b) for a, b in zip(path[:-1], path[1:], strict=True)] == moves


def test_cosine_router_does_not_see_lengths():
    router, z = make("xmoe"), tokens()
    scores = router(z)
    assert scores.shape == (50, EXPERTS)
    torch.testing.assert_close(router(7.0 * z), scores)
    assert (scores.abs() <= 1 / 0.3 + 1e-4).all()
    with torch.no_grad():
        router.embeddings.mul_(3.0)
        torch.testing.assert_close(router(z), scores)
        router.log_temperature.add_(np.log(2.0))
    torch.testing.assert_close(router(z), scores / 2)
    assert router.down.shape == (WIDTH, EXPERTS // 2)
