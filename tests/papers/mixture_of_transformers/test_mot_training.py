import numpy as np
import pytest

from moestat.fit import kernel
from moestat.papers.mixture_of_transformers.model import Mixture
from moestat.papers.mixture_of_transformers.staged_training import Schedule, train
from moestat.papers.mixture_of_transformers.step_rules import rule

B, N, L, D, M = 2, 40, 4, 6, 3
RATES = {"specialise_rate": 0.01, "attention_rate": 0.5, "router_rate": 2.0, "tuning_rate": 0.3}


def problem(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((B, N, L, D))
    y = np.where(rng.random((B, N)) < 0.5, -1.0, 1.0)
    start = rng.standard_normal((B, M, D)), rng.standard_normal((B, M, D, D)), np.zeros((B, M, D))
    return x, y, start, rng.random((40, B, M, N))


def path(ends, *, start=None, noise=None, seed=0, **options):
    """Train and return the model with the parameters after every step."""
    x, y, parameters, draws = problem(seed)
    model = Mixture(x, *(parameters if start is None else start))
    seen = []

    def observe(t):
        assert t == len(seen)
        seen.append((model.weights, model.kq, model.theta))

    train(
        model,
        y,
        Schedule(*ends, **RATES, **options),
        iter(draws if noise is None else noise),
        observe,
        range(ends[2] + 1),
    )
    return model, seen


@pytest.mark.parametrize("name", ["gd", "normalised", "adam"])
def test_step_rules(name):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    gradients = rng.standard_normal((5, 2, 3, 4))
    gradients[:, :, 2] = 0  # an expert without samples
    ours = rule(name, 0.1, (2,))
    steps = np.stack([ours.step(g) for g in gradients])
    if name == "adam":
        parameter = torch.zeros(2, 3, 4, dtype=torch.float64, requires_grad=True)
        theirs = torch.optim.Adam([parameter], lr=0.1)
        for g in gradients:
            parameter.grad = torch.tensor(g)
            theirs.step()
        np.testing.assert_allclose(-steps.sum(axis=0), parameter.detach().numpy(), atol=1e-13)
    elif name == "gd":
        np.testing.assert_array_equal(steps, 0.1 * gradients)
    else:
        norms = np.linalg.norm(steps, axis=-1)
        np.testing.assert_allclose(norms[:, :, :2], 0.1)
        np.testing.assert_array_equal(norms[:, :, 2], 0)
        np.testing.assert_allclose(ours.step(1e-190 * gradients[0]), steps[0], rtol=1e-12)


@pytest.mark.skipif(not kernel.vector_bits(), reason="no compiled code on this machine")
@pytest.mark.parametrize("kq", ["own", "shared", None])
@pytest.mark.parametrize("options", [{}, {"tuning_rule": "adam", "tuning_router": "frozen"}, {"joint": True}])
def test_the_compiled_code_takes_the_steps_of_the_plain_one(kq, options, monkeypatch):
    _, _, (weights, own, theta), _ = problem()
    start = weights, {"own": own, "shared": own[:, :1], None: None}[kq], theta
    ends = {}
    for asked in ("", "numpy"):
        monkeypatch.setenv(kernel.VARIABLE, asked)
        model, seen = path((3, 5, 8), start=start, **options)  # rounding grows by three a step in the router
        ends[asked] = [model.weights, model.kq, model.theta, model.expert]
        np.testing.assert_array_equal(seen[0][0], weights)
    for compiled, plain in zip(ends[""], ends["numpy"], strict=True):
        if plain is not None:
            np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-11)
