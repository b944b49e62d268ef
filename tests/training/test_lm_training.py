"""Training of language models: it learns, its schedules, what modules may add, progress, text that does not fit."""

import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.training.corpus import Corpus, CorpusError  # noqa: E402
from moestat.training.decoder import Decoder, Dense, Shape  # noqa: E402
from moestat.training.lm_plan import Plan  # noqa: E402
from moestat.training.lm_training import bits, deterministic, evaluate, train  # noqa: E402

SHAPE = Shape(vocabulary=8, length=16, blocks=1, width=16, heads=2, hidden=16)
PLAN = Plan(steps=60, batch=8, length=16, rate=1e-2, every=25)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def cycle(noise: float = 0.0, count: int = 4000) -> Corpus:
    """0 1 2 ... 7 0 1 ..., where a share ``noise`` of the symbols is replaced by random ones."""
    symbols = np.arange(count) % 8
    wrong = rng(3).random(count) < noise
    symbols[wrong] = rng(4).integers(0, 8, wrong.sum())
    parts = np.split(symbols.astype(np.uint8), [count * 8 // 10, count * 9 // 10])
    return Corpus("cycle", "character", tuple("abcdefgh"), *parts)


def trained(plan: Plan = PLAN, corpus: Corpus | None = None, **options):
    model = Decoder(SHAPE, generator=rng(1), **options)
    with deterministic("cpu"):
        return model, train(model, corpus or cycle(), plan, batches=rng(2))


def test_it_learns_a_text_that_can_be_predicted():
    model, found = trained()
    assert found.steps.tolist() == [0, 25, 50, 60]
    assert found.valid[0] == pytest.approx(math.log(8), abs=0.1)
    assert found.valid[-1] < 0.05 and found.train[-1] < 0.05
    assert np.isnan(found.train[0]) and np.isfinite(found.train[1:]).all()
    assert found.best_step == 60 and found.finite and found.seconds > 0
    assert evaluate(model, cycle().test, 16) < 0.05


def test_on_a_gpu_attention_has_a_deterministic_gradient():
    """The fused kernels, which are not deterministic there unless errors are raised, are off inside, and on again."""
    kernels = [getattr(torch.backends.cuda, f"{name}_sdp_enabled") for name in ("flash", "mem_efficient", "cudnn")]
    before = [enabled() for enabled in kernels]
    with deterministic("cuda"):
        assert torch.are_deterministic_algorithms_enabled()
        assert [enabled() for enabled in kernels] == [False] * 3 and torch.backends.cuda.math_sdp_enabled()
    assert [enabled() for enabled in kernels] == before and any(before)
    assert not torch.are_deterministic_algorithms_enabled()


def test_the_loss_is_that_of_every_symbol_given_those_before_it():
    model = Decoder(SHAPE, generator=rng(1))
    text = cycle(0.5).valid
    found = evaluate(model, text, 16, batch=3)
    total, count = 0.0, (text.size - 1) // 16
    for i in range(count):
        window = torch.from_numpy(text[16 * i : 16 * i + 17].astype(np.int64))
        log_p = model.logits(window[None, :-1]).log_softmax(dim=-1)[0]
        total -= sum(log_p[j, window[j + 1]].item() for j in range(16)) / 16
    assert found == pytest.approx(total / count, rel=1e-5)
    assert model.training, "it is left in the mode it was in"
    assert evaluate(model, text, 16, limit=40) == pytest.approx(evaluate(model, text[:33], 16))
    assert bits(math.log(8)) == pytest.approx(3)


def test_the_weights_of_the_lowest_validation_loss_can_be_kept():
    small = cycle(0.6, 400)  # few symbols, half of them noise: it will know them by heart
    plan = replace(PLAN, steps=150, rate=3e-2)
    model, found = trained(replace(plan, keep_best=True), small)
    assert found.best_step < 150 and found.valid[-1] > np.min(found.valid) + 0.03
    assert evaluate(model, small.valid, 16) == pytest.approx(np.min(found.valid), rel=1e-5)
    last, _ = trained(plan, small)
    assert evaluate(last, small.valid, 16) == pytest.approx(found.valid[-1], rel=1e-5)


def test_the_rate():
    cosine = Plan(steps=100, batch=1, length=1, rate=2.0, warmup=0.2, final=0.1)
    assert [cosine.rate_at(s) for s in (0, 9, 19)] == pytest.approx([0.1, 1.0, 2.0])
    assert cosine.rate_at(59) == pytest.approx(1.1) and cosine.rate_at(99) == pytest.approx(0.2)
    root = replace(cosine, schedule="inverse_sqrt")
    assert root.rate_at(19) == pytest.approx(2.0) and root.rate_at(79) == pytest.approx(1.0)


def test_the_rate_and_the_decay_reach_the_optimiser():
    """The first step of Adam moves every coordinate by the rate: m / sqrt(v) is the sign of the gradient."""
    plan = Plan(steps=1, batch=8, length=16, rate=1e-3, warmup=1.0, decay=0.5)
    before = dict(Decoder(SHAPE, generator=rng(1)).named_parameters())
    model, _ = trained(plan)
    for name, after in model.named_parameters():
        start = before[name] * (1 - 1e-3 * 0.5 * (after.ndim > 1))
        moved = (after - start).abs().detach().numpy()
        assert moved.max() == pytest.approx(1e-3, rel=0.02), name


class Adding(torch.nn.Module):
    """A feed-forward module that adds a loss of its own, with a gradient to its own weight alone."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.inside = Dense(SHAPE, rng(7))
        self.auxiliary = None
        self.seen = []

    def begin_step(self, step, steps):
        self.seen.append((step, steps))

    def forward(self, x):
        self.auxiliary = (self.weight - 1.0) ** 2 if self.training else None
        return self.inside(x)


class Silent(Adding):
    def forward(self, x):
        return self.inside(x)


def test_a_module_adds_a_loss_and_hears_of_every_step():
    model, found = trained(replace(PLAN, clip=1e9), feed_forward=lambda i: Adding())
    module = model.blocks[0].feed_forward
    assert module.seen == [(step, 60) for step in range(60)]
    assert module.weight.item() > 0.2, "its own loss should move its weight towards 1"
    _, plain = trained(replace(PLAN, clip=1e9), feed_forward=lambda i: Silent())
    np.testing.assert_allclose(found.train[1:], plain.train[1:], rtol=1e-5)  # the curve is the cross-entropy alone


def test_a_loss_that_is_not_finite_stops_the_training():
    model = Decoder(SHAPE, generator=rng(1))
    with torch.no_grad():
        model.head_bias[0] = math.inf
    with deterministic("cpu"):
        found = train(model, cycle(), PLAN, batches=rng(2))
    assert not found.finite and np.isnan(found.valid).all()
    assert found.done == 0 and math.isnan(found.seconds_per_step)
    _, late = trained(replace(PLAN, rate=1e30, clip=1e30, warmup=1e-9))
    assert not late.finite and late.done == 25, "it should have stopped at the first check"
    assert late.seconds_per_step == late.seconds / 25


def test_a_text_that_does_not_hold_a_window_is_refused():
    with pytest.raises(CorpusError, match="cycle is too short: its valid part has 10 characters, and windows of 17"):
        trained(corpus=cycle(count=100))
