"""Models with shared attention, without a router and of texts, and which of their parameters each stage trains."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.threads import one_thread  # noqa: E402
from studies.mixture_of_transformers.parts.mixture_of_transformers import (  # noqa: E402  # noqa: E402
    Model,
    SampleRouter,
    Shape,
    text_transformer,
    vision_transformer,
)
from studies.mixture_of_transformers.parts.three_stage import Plan, Samples, evaluate, train  # noqa: E402

SHAPE = Shape(outputs=3, width=8, depth=2, heads=2, hidden=12)
LENGTH, FEATURES = 5, 4


def model(kind):
    torch.manual_seed(0)
    router = SampleRouter("positions", LENGTH, FEATURES, 3)
    return Model(kind, 3, lambda shape: vision_transformer(LENGTH, FEATURES, shape), SHAPE, router)


def samples(count=48, seed=1, regression=False):
    rng = np.random.default_rng(seed)
    label = np.arange(count) % 3
    x = rng.standard_normal((count, LENGTH, FEATURES)).astype(np.float32)
    x[np.arange(count), rng.integers(LENGTH, size=count), label] += 4
    return Samples(torch.from_numpy(x), torch.from_numpy(label.astype(np.float32) if regression else label))


@pytest.fixture(autouse=True)
def _one_thread():
    """So small a model is slower on several."""
    with one_thread():
        yield


def test_shared_attention_has_one_attention_and_several_feed_forward_networks():
    found = model("shared_attention")
    assert len(found.experts) == 1 and len(found.experts[0].blocks[0].feed_forward) == 3
    torch.nn.init.normal_(found.router.theta)
    x = samples().inputs
    routed = found(x)
    alone = found.experts[0](x[:1], routed.expert[:1])
    torch.testing.assert_close(routed.output[:1], alone)
    other = found.experts[0](x[:1], (routed.expert[:1] + 1) % 3)
    assert not torch.allclose(alone, other)


def test_padding_changes_nothing():
    torch.manual_seed(0)
    found, short = text_transformer(6, 9, SHAPE), text_transformer(3, 9, SHAPE)
    short.load_state_dict(found.state_dict() | {"embedding.position": found.embedding.position[:3]})
    ids = torch.tensor([[3, 4, 8, 0, 0, 0]])
    torch.testing.assert_close(found(ids), short(ids[:, :3]))


@pytest.mark.parametrize("kind", ["mixture", "shared_attention", "transformer"])
def test_each_stage_trains_its_part_and_the_router_always_learns(kind):
    found = model(kind)
    plan = Plan(schedule="staged", epochs=3, stage_one=1, stage_two=2, batch=16)
    before = {name: value.clone() for name, value in found.state_dict().items()}
    attention = {name for name in before if ".attention." in name}
    router = {name for name in before if name.startswith("router")}
    assert attention and bool(router) == (kind != "transformer")
    parts = [before.keys() - attention, attention | router, before.keys() - attention]
    steps = train(found, samples(), samples(seed=3), plan, np.random.default_rng(2), torch.Generator())
    for part, _ in zip(parts, steps, strict=True):
        after = {name: value.clone() for name, value in found.state_dict().items()}
        assert {name for name in before if not torch.equal(before[name], after[name])} == part
        before = after


def test_regression_error_is_relative_to_the_variance():
    found, data = model("transformer"), samples(30, regression=True)
    error, expert = evaluate(found, data)
    prediction, target = found(data.inputs).output[:, 0].detach().numpy(), data.target.numpy().astype(float)
    assert error == pytest.approx(np.mean((prediction - target) ** 2) / np.var(target))
    assert (expert == 0).all() and evaluate(found, data, chunk=7)[0] == pytest.approx(error)
