"""Models behind a top-1 router, and their training in stages."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.papers.mixture_of_transformers.encoder import Shape  # noqa: E402
from moestat.papers.mixture_of_transformers.mixture_of_transformers import Model  # noqa: E402
from moestat.papers.mixture_of_transformers.sample_routing import SampleRouter, choose, dispatch  # noqa: E402
from moestat.papers.mixture_of_transformers.text_ids import mean_counts  # noqa: E402
from moestat.papers.mixture_of_transformers.text_transformer import text_transformer  # noqa: E402
from moestat.papers.mixture_of_transformers.three_stage import Plan, Samples, evaluate, train  # noqa: E402
from moestat.papers.mixture_of_transformers.vision_transformer import vision_transformer  # noqa: E402

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


def fit(found, plan, training=None, test=None):
    training = training or samples()
    return list(train(found, training, test or training, plan, np.random.default_rng(2), torch.Generator()))


def test_augmentation_changes_what_is_trained_on_and_not_what_is_judged():
    found, training, batches = model("transformer"), samples(), []

    def augment(inputs):
        batches.append(len(inputs))
        return torch.zeros_like(inputs)

    plan = Plan("joint", epochs=2, stage_one=1, stage_two=2, batch=20, rate=0.01)
    list(train(found, training, training, plan, np.random.default_rng(2), torch.Generator(), augment))
    assert batches == [20, 20, 8] * 2
    with torch.no_grad():
        assert (found.experts[0].embedding.patch.weight.grad == 0).all(), "the images came in as zeros"


# --- routing ----------------------------------------------------------------------------------------------------------


def test_the_router_is_the_sum_over_tokens():
    x = torch.randn(6, LENGTH, FEATURES)
    router = SampleRouter("sum", LENGTH, FEATURES, 3)
    assert (router(x) == 0).all(), "Theta starts at 0"
    torch.nn.init.normal_(router.theta)
    by_token = sum(x[:, token] @ router.theta for token in range(LENGTH))
    torch.testing.assert_close(router(x), by_token)
    own = SampleRouter("positions", LENGTH, FEATURES, 3)
    torch.nn.init.normal_(own.theta)
    parts = own.theta.view(LENGTH, FEATURES, 3)
    torch.testing.assert_close(own(x), sum(x[:, token] @ parts[token] for token in range(LENGTH)))


def test_the_router_of_words_counts_them_and_leaves_the_padding_out():
    router = SampleRouter("words", 4, 6, 2)
    torch.nn.init.normal_(router.theta)
    found = router(torch.tensor([[3, 3, 5, 0], [2, 0, 0, 0]]))
    torch.testing.assert_close(found[0], 2 * router.theta[3] + router.theta[5])
    torch.testing.assert_close(found[1], router.theta[2])


def test_a_centred_router_scores_the_mean_text_zero():
    ids = np.array([[3, 3, 5, 0], [2, 0, 0, 0], [3, 5, 5, 5]])
    centre = mean_counts(ids, 6)
    np.testing.assert_allclose(centre, [0, 0, 1 / 3, 1, 0, 4 / 3])
    router = SampleRouter("words", 4, 6, 2, torch.from_numpy(centre.astype(np.float32)))
    torch.nn.init.normal_(router.theta)
    scores = router(torch.from_numpy(ids))
    torch.testing.assert_close(scores.mean(dim=0), torch.zeros(2), atol=1e-6, rtol=0)
    plain = SampleRouter("words", 4, 6, 2)
    plain.load_state_dict({"theta": router.theta})
    torch.testing.assert_close(scores - scores[0], plain(torch.from_numpy(ids)) - plain(torch.from_numpy(ids))[0])


def test_dispatch_gives_every_sample_its_expert_and_calls_no_idle_one():
    x = torch.arange(12.0).view(6, 2)
    chosen = torch.tensor([2, 0, 2, 2, 0, 0])

    def idle(*_):
        raise AssertionError("nobody chose it")

    found = dispatch([lambda v, m: 10 * v, idle, lambda v, m: -v], chosen, x, None)
    torch.testing.assert_close(found, torch.where(chosen[:, None] == 0, 10 * x, -x))


def test_perturbation_decides_between_equal_scores():
    assert choose(torch.zeros(1, 3), torch.tensor([[0.1, 0.9, 0.3]])).item() == 1
    assert choose(torch.tensor([[0.0, 0.0, 1.0]]), None).item() == 2


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


def test_without_attention_tokens_meet_only_in_the_mean():
    """Then the order of the tokens is seen by the position alone, so without it the output is that of any order."""
    found = model("no_attention").experts[0]
    assert not any("attention" in name for name, _ in found.named_parameters())
    torch.nn.init.zeros_(found.embedding.position)
    x = samples().inputs
    torch.testing.assert_close(found(x), found(x.flip(1)))


def test_padding_changes_nothing():
    torch.manual_seed(0)
    found = text_transformer(6, 9, SHAPE)
    ids = torch.tensor([[3, 4, 8, 0, 0, 0]])
    short = text_transformer(3, 9, SHAPE)
    state = found.state_dict() | {"embedding.position": found.embedding.position[:3]}
    short.load_state_dict(state)
    torch.testing.assert_close(found(ids), short(ids[:, :3]))


def test_attention_is_that_of_torch():
    layer = vision_transformer(LENGTH, FEATURES, SHAPE).blocks[0].attention
    rival = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    # our query_key interleaves nothing: its rows are all queries, then all keys
    weight = torch.cat([layer.query_key.weight, layer.value.weight])
    bias = torch.cat([layer.query_key.bias, layer.value.bias])
    rival.load_state_dict(
        {
            "in_proj_weight": weight,
            "in_proj_bias": bias,
            "out_proj.weight": layer.out.weight,
            "out_proj.bias": layer.out.bias,
        }
    )
    x = torch.randn(4, LENGTH, 8)
    real = torch.ones(4, LENGTH, dtype=torch.bool)
    real[1, 3:] = False
    expected = rival(x, x, x, key_padding_mask=~real, need_weights=False)[0]
    torch.testing.assert_close(layer(x, real), expected)


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


def test_queries_and_keys_alone_in_stage_two():
    every, stages = run_stages("mixture", second="query_key")
    scores = {name for name in every if ".query_key." in name}
    assert stages[1] <= scores | {"router.theta"} and any("weight" in name for name in stages[1] & scores)
    assert stages[0] == every - scores


def test_joint_training_moves_everything_always():
    every, stages = run_stages("mixture", schedule="joint")
    assert all(stage == every for stage in stages)


def test_stage_two_of_experts_without_attention_trains_the_router_alone():
    _, stages = run_stages("no_attention")
    assert stages[1] == {"router.theta"}


def test_the_losses_are_those_of_the_paper():
    """Equation (7) for the experts, equation (5) for the router: gradients against autograd on the formulas."""
    found = model()
    torch.nn.init.normal_(found.router.theta, std=0.3)
    data = samples(12)
    grads = {}

    class Recorder(torch.optim.AdamW):
        def step(self, closure=None):
            grads.update({name: p.grad.clone() for name, p in found.named_parameters() if p.grad is not None})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim, "AdamW", Recorder)
        fit(found, Plan("joint", 1, 1, 2, batch=12, noise=0.0), data)
    chosen = (data.inputs.flatten(1) @ found.router.theta).argmax(dim=1)
    f = torch.stack([found.experts[m](x[None])[0] for x, m in zip(data.inputs, chosen, strict=True)])
    pi = (data.inputs.flatten(1) @ found.router.theta).softmax(dim=1)[torch.arange(12), chosen]
    cross_entropy = torch.nn.functional.cross_entropy
    (router,) = torch.autograd.grad(cross_entropy(pi[:, None] * f.detach(), data.target), [found.router.theta])
    torch.testing.assert_close(grads["router.theta"], router)
    head = found.experts[int(chosen[0])].head.weight
    (expert,) = torch.autograd.grad(cross_entropy(f, data.target), [head])
    torch.testing.assert_close(grads[f"experts.{int(chosen[0])}.head.weight"], expert)


@pytest.mark.parametrize("kind", ["transformer", "mixture", "no_attention", "shared_attention"])
def test_every_model_learns_an_easy_task(kind):
    data = samples(240)
    epochs = fit(model(kind), Plan("joint", 12, 2, 8, batch=24, rate=5e-3), data, samples(90, seed=9))
    assert epochs[-1].error < 0.25 < epochs[0].error + 0.2, "chance is 2/3"
    assert epochs[-1].loss < 0.6 * epochs[0].loss


def test_regression_error_is_relative_to_the_variance():
    found = model("transformer")
    data = samples(30, regression=True)
    error, expert = evaluate(found, data)
    prediction = found(data.inputs).output[:, 0].detach().numpy().astype(float)
    target = data.target.numpy().astype(float)
    assert error == pytest.approx(np.mean((prediction - target) ** 2) / np.var(target))
    assert (expert == 0).all()
    assert evaluate(found, data, chunk=7)[0] == pytest.approx(error)


def test_the_same_seeds_give_the_same_bits():
    runs = [fit(model(seed=4), Plan("staged", 3, 1, 2, batch=16)) for _ in range(2)]
    assert [(e.loss, e.error) for e in runs[0]] == [(e.loss, e.error) for e in runs[1]]
    other = fit(model(seed=5), Plan("staged", 3, 1, 2, batch=16))
    assert other[0].loss != runs[0][0].loss


def test_weights_that_are_not_finite_are_no_classes():
    found = model()
    torch.nn.init.constant_(found.experts[0].head.bias, float("nan"))
    assert np.isnan(evaluate(found, samples())[0])
