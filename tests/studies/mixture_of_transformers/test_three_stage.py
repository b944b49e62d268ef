"""Models behind a top-1 router, and their training in stages."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.threads import one_thread  # noqa: E402
from studies.mixture_of_transformers.parts.encoder import Shape, text_transformer, vision_transformer  # noqa: E402
from studies.mixture_of_transformers.parts.mixture_of_transformers import Model, SampleRouter  # noqa: E402
from studies.mixture_of_transformers.parts.three_stage import Plan, Samples, evaluate, train  # noqa: E402

SHAPE = Shape(outputs=3, width=8, depth=2, heads=2, hidden=12)
LENGTH, FEATURES = 5, 4


def model(kind="mixture", experts=3, seed=0, reads="positions"):
    torch.manual_seed(seed)
    router = SampleRouter(reads, LENGTH, FEATURES, experts)
    return Model(kind, experts, lambda shape: vision_transformer(LENGTH, FEATURES, shape), SHAPE, router)


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


# --- routing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["mixture", "no_attention"])
def test_a_mixture_answers_with_the_chosen_expert_and_its_gate(kind):
    found = model(kind)
    torch.nn.init.normal_(found.router.theta)
    x = samples().inputs
    routed = found(x)
    scores = x.flatten(1) @ found.router.theta
    assert (routed.expert == scores.argmax(dim=1)).all() and len(set(routed.expert.tolist())) > 1
    torch.testing.assert_close(routed.gate, scores.softmax(dim=1).max(dim=1).values)
    for row in range(len(x)):
        torch.testing.assert_close(routed.output[row : row + 1], found.experts[routed.expert[row]](x[row : row + 1]))


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
    found = text_transformer(6, 9, SHAPE)
    ids = torch.tensor([[3, 4, 8, 0, 0, 0]])
    short = text_transformer(3, 9, SHAPE)
    state = found.state_dict() | {"embedding.position": found.embedding.position[:3]}
    short.load_state_dict(state)
    torch.testing.assert_close(found(ids), short(ids[:, :3]))


# --- stages -----------------------------------------------------------------------------------------------------------


def moved(before, after):
    return {name for name in before if not torch.equal(before[name], after[name])}


def run_stages(kind, **plan):
    """Return which parameters move in stages I, II and III."""
    found = model(kind)
    states = [{k: v.clone() for k, v in found.state_dict().items()}]
    steps = train(
        found,
        samples(),
        samples(seed=3),
        Plan(**{"schedule": "staged", "epochs": 3, "stage_one": 1, "stage_two": 2, "batch": 16} | plan),
        np.random.default_rng(2),
        torch.Generator(),
    )
    for _ in steps:
        states.append({k: v.clone() for k, v in found.state_dict().items()})
    return set(states[0]), [moved(a, b) for a, b in zip(states, states[1:], strict=False)]


@pytest.mark.parametrize("kind", ["mixture", "shared_attention", "transformer"])
def test_each_stage_trains_its_part_and_the_router_always_learns(kind):
    every, stages = run_stages(kind)
    attention = {name for name in every if ".attention." in name}
    router = {name for name in every if name.startswith("router")}
    assert attention and bool(router) == (kind != "transformer")
    assert stages[0] == every - attention == stages[2]
    assert stages[1] == attention | router


def test_regression_error_is_relative_to_the_variance():
    found = model("transformer")
    data = samples(30, regression=True)
    error, expert = evaluate(found, data)
    prediction = found(data.inputs).output[:, 0].detach().numpy().astype(float)
    target = data.target.numpy().astype(float)
    assert error == pytest.approx(np.mean((prediction - target) ** 2) / np.var(target))
    assert (expert == 0).all()
    assert evaluate(found, data, chunk=7)[0] == pytest.approx(error)
