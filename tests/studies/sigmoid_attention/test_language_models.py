"""Language models with either attention share weights and batches, and all kernels that are timed attend alike."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest
from cells import cell_of, computed

torch = pytest.importorskip("torch")

from moestat.status import Status  # noqa: E402
from moestat.training import lm_training  # noqa: E402
from moestat.training.decoder import Decoder, Shape  # noqa: E402
from studies.sigmoid_attention.parts import attention_gpu, attention_lm, attention_speed, timed_attention  # noqa: E402

SMALL = {"blocks": 2, "width": 32, "heads": 2, "hidden": 24, "vocabulary": 50, "rounds": 2, "tokens": 3}
SMALL |= {"precision": "float32", "windows": (8, 16)}


def timed(length):
    """A timed decoder for windows of this length, and what sets its kernel."""
    torch.manual_seed(1)
    model = timed_attention.timed_decoder(attention_gpu.Settings(**SMALL), 50, dtype=torch.float32, device="cpu")
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


TRAINED = {"blocks": 1, "width": 16, "heads": 2, "hidden": 24, "length": 16, "batch": 4, "steps": 40, "every": 20}
TRAINED |= {"validation": 256, "windows": (8, 16), "tokens": 64, "rounds": 1}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A text with some order, and its checksum."""
    path = tmp_path_factory.mktemp("text") / "own.txt"
    words = np.random.default_rng(0).choice(["the ", "cat ", "sat ", "on ", "a ", "mat.\n"], 1500)
    path.write_text("".join(words))
    return {"file": str(path), "file_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def cell(text, **settings):
    return cell_of(attention_lm, **TRAINED | text | settings)


def test_losses(text):
    found = attention_lm.run(cell(text, attention="sigmoid"), [0, 4])
    assert (found["status"] == Status.CONVERGED).all()
    assert found["valid_bpc"].dims == ("replicate", "step") and found["step"].values.tolist() == [0, 20, 40]
    symbols = len(set(Path(text["file"]).read_text()))
    np.testing.assert_allclose(found["valid_bpc"][:, 0], np.log2(symbols), atol=0.1)
    assert (found["test_bpc"] < found["valid_bpc"][:, 0] - 1).all()
    assert found["train_bpc"][0, 1] != found["train_bpc"][1, 1]
    assert set(found["iterations"].values) == {40} and (found["parameters"] > 0).all()


def test_arms_share_first_weights_and_batches(text, monkeypatch):
    seen = []

    def stop(model, corpus, plan, *, batches, **options):
        seen.append([p.detach().numpy().tobytes() for p in model.parameters()] + [batches.integers(1 << 60)])
        raise InterruptedError

    monkeypatch.setattr(lm_training, "train", stop)
    for attention, replicate in (("softmax", 0), ("sigmoid", 0), ("softmax", 1)):
        with pytest.raises(InterruptedError):
            attention_lm.run(cell(text, attention=attention), [replicate])
    first, second, other = seen
    assert first == second
    assert first[0] != other[0] and first[-1] != other[-1]
