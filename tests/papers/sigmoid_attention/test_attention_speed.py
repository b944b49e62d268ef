"""The study that times attention: subnormal numbers are zero while it does, and the formula is what differs."""

import pytest

torch = pytest.importorskip("torch")

from moestat.experiment import Cell  # noqa: E402
from moestat.papers.sigmoid_attention import attention_lm, attention_speed  # noqa: E402
from moestat.training import decoder  # noqa: E402

KINDS = ("softmax", "sigmoid")

SMALL = {"blocks": 1, "width": 16, "heads": 2, "hidden": 24, "windows": (8, 16), "tokens": 64, "rounds": 1}


def subnormal() -> float:
    """A product that is subnormal, unless such numbers are flushed."""
    return float((torch.tensor([1e-20]) * torch.tensor([1e-20])).item())


def cell(**settings):
    whole = attention_speed.Settings(**SMALL, **settings).model_dump()
    return Cell("moestat.papers.sigmoid_attention.attention_speed", 1, "a", {}, whole)


def test_subnormal_numbers_are_zero_inside_and_there_again_behind_whatever_happens():
    assert subnormal() > 0
    with pytest.raises(ValueError, match="stop"), attention_speed.flushed():
        assert subnormal() == 0
        raise ValueError("stop")
    assert subnormal() > 0


@pytest.mark.parametrize(("subnormals", "zero"), [("flushed", True), ("kept", False)])
def test_the_kernels_are_timed_as_the_arm_says(monkeypatch, subnormals, zero):
    seen = []
    timed = attention_lm.run

    def run(cell, replicates, *, device):
        seen.append(subnormal() == 0)
        return timed(cell, replicates, device=device)

    monkeypatch.setattr(attention_lm, "run", run)
    found = attention_speed.run(cell(subnormals=subnormals), [0, 1])
    assert seen == [zero] and subnormal() > 0
    speed = found["inference_throughput"].sel(hardware="cpu")
    assert (
        speed.dims == ("replicate", "window", "kernel") and bool((speed > 0).all()) and speed.attrs["measurement"] == 1
    )


def test_a_processor_that_cannot_flush_is_told(monkeypatch):
    monkeypatch.setattr(torch, "set_flush_denormal", lambda on: False)
    with pytest.raises(RuntimeError, match="cannot flush subnormal numbers; set subnormals = 'kept'"):
        attention_speed.run(cell(), [0])


def test_far_positions_have_subnormal_weights_with_softmax_rather_than_with_the_sigmoid():
    """What the study is about: alike queries and keys, ALiBi, a window of 2048."""
    bias = {
        name: torch.from_numpy(decoder.score_bias(decoder.Shape(7, 2048, 1, 128, 4, 8, name, "alibi")))[:, -1]
        for name in KINDS
    }
    weights = {"softmax": bias["softmax"].softmax(-1), "sigmoid": bias["sigmoid"].sigmoid()}
    share = {name: float(((w > 0) & (w < torch.finfo(w.dtype).tiny)).double().mean()) for name, w in weights.items()}
    assert share["softmax"] > 5 * share["sigmoid"]
