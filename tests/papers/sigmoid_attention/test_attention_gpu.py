"""The study that times a model by its kernel of attention: all kernels attend alike, and each task does its work."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.experiment import Cell  # noqa: E402
from moestat.papers.sigmoid_attention import attention_gpu, timed_attention  # noqa: E402
from moestat.training.decoder import Decoder, Shape  # noqa: E402

SMALL = {"blocks": 2, "width": 32, "heads": 2, "hidden": 24, "vocabulary": 50, "rounds": 2, "tokens": 3}


def settings(**changed):
    return attention_gpu.Settings(**SMALL | {"precision": "float32", "windows": (8, 16)} | changed)


def cell(**changed):
    return Cell("moestat.papers.sigmoid_attention.attention_gpu", 1, "a", {}, settings(**changed).model_dump())


def timed(length, device="cpu", **changed):
    """A timed decoder for windows of this length, and what sets its kernel."""
    torch.manual_seed(1)
    model = timed_attention.timed_decoder(settings(**changed), dtype=torch.float32, device=device)
    timed_attention.set_length(model, length)

    def choose(kernel, decoding=False):
        for block in model.blocks:
            block.attention.kernel, block.attention.decoding = kernel, decoding

    return model, choose


@pytest.mark.parametrize("kernel", ["softmax", "sigmoid"])
def test_the_three_operations_are_the_attention_of_the_language_models(kernel):
    model, choose = timed(16)
    shape = Shape(50, 16, 2, 32, 2, 24, kernel, "alibi", "rms", True, "swiglu", fused=False)
    usual = Decoder(shape, generator=np.random.default_rng(0))
    usual.load_state_dict(model.state_dict())
    tokens = torch.randint(50, (3, 16))
    choose(kernel)
    torch.testing.assert_close(model.logits(tokens), usual.logits(tokens))


@pytest.mark.parametrize("kernel", ["softmax", "sigmoid"])
def test_a_symbol_behind_kept_ones_attends_as_in_its_window(kernel):
    model, choose = timed(16)
    attention = model.blocks[0].attention
    x = torch.randn(2, 16, 32)
    choose(kernel)
    with torch.inference_mode():
        whole = attention(x)[:, -1:]
        parts = torch.nn.functional.linear(x, attention.into).view(2, 16, 3, 2, 16).permute(2, 0, 3, 1, 4)
        attention.kept = attention.key_norm(parts[1]).clone(), parts[2].clone()
        choose(kernel, decoding=True)
        torch.testing.assert_close(attention(x[:, -1:]), whole)


def test_pytorchs_kernel_is_softmax_attention_without_the_slopes():
    model, choose = timed(16)
    attention = model.blocks[0].attention
    q, k, v = (torch.randn(2, 2, 16, 16) for _ in range(3))
    choose("FlashAttention-2")
    later = torch.ones(16, 16, dtype=torch.bool).triu(1)
    scores = (q @ k.mT / math.sqrt(16)).masked_fill(later, -math.inf)
    torch.testing.assert_close(attention.attend(q, k, v), scores.softmax(-1) @ v)


def test_every_kernel_and_task_is_timed_that_the_device_has():
    found = attention_gpu.run(cell(), [0, 1])
    here = [not kernel.endswith("one pass") for kernel in attention_gpu.KERNELS]
    for task in attention_gpu.TASKS:
        speed = found[f"{task}_throughput"]
        assert speed.dims == ("replicate", "window", "kernel") and speed.attrs["measurement"] == 1
        np.testing.assert_array_equal(np.isfinite(speed.values), np.broadcast_to(here, speed.shape))
        assert np.nanmin(speed) > 0
    seconds = found["attention_seconds"]
    assert bool(seconds.sel(kernel="none").isnull().all()) and bool((seconds.sel(kernel="sigmoid") > 0).all())


def test_a_pass_is_the_median_of_turns_that_count(monkeypatch):
    order, spent = [], iter([9.0, 9.0, 1.0, 5.0, 7.0, 3.0, 2.0, 4.0])
    monkeypatch.setattr(attention_gpu, "_seconds", lambda call, device: (call(), next(spent))[1])
    passes = {name: ((lambda name=name: order.append(name)), 10.0) for name in ("a", "b")}
    found = attention_gpu._rounds(passes, 3, "cpu")
    assert order == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert found == {"a": (5.0, 10.0), "b": (2.0, 10.0)}


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"heads": 3}, "heads is 3; it must divide width"), ({"windows": ()}, "each must be 2 or more")],
)
def test_wrong_settings_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        settings(**changed)


@pytest.mark.gpu
@pytest.mark.parametrize("function", ["softmax", "sigmoid"])
def test_one_pass_is_the_three_operations(function):
    """On a GPU, by every tile: products of bfloat16 are summed in single precision in both."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device answers")
    one_pass = pytest.importorskip("moestat.papers.sigmoid_attention.one_pass_attention")
    q, k, v = (torch.randn(2, 2, 512, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    slopes = torch.tensor([0.25, 0.004], device="cuda")
    place = torch.arange(512, device="cuda")
    distance = (place[:, None] - place).double()
    shift = -math.log(512) if function == "sigmoid" else 0.0
    scores = q.double() @ k.double().mT / 8 - slopes.double()[:, None, None] * distance + shift
    scores = scores.masked_fill(distance < 0, -math.inf)
    weights = scores.softmax(-1) if function == "softmax" else scores.sigmoid()
    expected = weights @ v.double()
    for tile in one_pass.TILES:
        found = one_pass.attend(q, k, v, slopes, function, shift=shift, tile=tile).double()
        assert float((found - expected).norm() / expected.norm()) < 1e-2, tile
    with pytest.raises(ValueError, match="multiple of 128"):
        one_pass.attend(q[:, :, :100], k[:, :, :100], v[:, :, :100], slopes, function)
