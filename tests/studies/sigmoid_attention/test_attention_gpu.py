"""Studies that time attention: all kernels attend alike, and subnormal numbers are zero while they are timed."""

import math

import numpy as np
import pytest
from cells import computed

torch = pytest.importorskip("torch")

from moestat.training.decoder import Decoder, Shape  # noqa: E402
from studies.sigmoid_attention.parts import attention_gpu, attention_speed, timed_attention  # noqa: E402

SMALL = {"blocks": 2, "width": 32, "heads": 2, "hidden": 24, "vocabulary": 50, "rounds": 2, "tokens": 3}
SMALL |= {"precision": "float32"}
SMALL |= {"windows": (8, 16)}


def timed(length):
    """A timed decoder for windows of this length, and what sets its kernel."""
    torch.manual_seed(1)
    model = timed_attention.timed_decoder(attention_gpu.Settings(**SMALL), dtype=torch.float32, device="cpu")
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


def test_every_kernel_and_task_is_timed_that_the_device_has():
    found = computed(attention_gpu, [0, 1], **SMALL)
    here = [not kernel.endswith("one pass") for kernel in attention_gpu.KERNELS]
    for task in attention_gpu.TASKS:
        speed = found[f"{task}_throughput"]
        assert speed.dims == ("replicate", "window", "kernel") and speed.attrs["measurement"] == 1
        np.testing.assert_array_equal(np.isfinite(speed.values), np.broadcast_to(here, speed.shape))
        assert np.nanmin(speed) > 0
    seconds = found["attention_seconds"]
    assert bool(seconds.sel(kernel="none").isnull().all()) and bool((seconds.sel(kernel="sigmoid") > 0).all())


@pytest.mark.gpu
@pytest.mark.parametrize("function", ["softmax", "sigmoid"])
def test_one_pass_is_the_three_operations(function):
    """On a GPU, by every tile: products of bfloat16 are summed in single precision in both."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device answers")
    one_pass = pytest.importorskip("studies.sigmoid_attention.parts.one_pass_attention")
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


def subnormal() -> float:
    """A product that is subnormal, unless such numbers are flushed."""
    return float((torch.tensor([1e-20]) * torch.tensor([1e-20])).item())


def test_subnormal_numbers_are_zero_inside_and_there_again_behind_whatever_happens():
    assert subnormal() > 0
    with pytest.raises(ValueError, match="stop"), attention_speed.flushed():
        assert subnormal() == 0
        raise ValueError("stop")
    assert subnormal() > 0
