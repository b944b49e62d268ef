"""The decoder: its attention against a reference written out, causality, positions, the untrained loss, the styles."""

import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.training import decoder  # noqa: E402  needs torch
from moestat.training.decoder import CausalAttention, Decoder, Dense, Shape  # noqa: E402

LLAMA = Shape(
    vocabulary=20,
    length=12,
    blocks=2,
    width=24,
    heads=3,
    hidden=40,
    positions="alibi",
    norm="rms",
    query_key_norm=True,
    activation="swiglu",
)
SWITCH = Shape(vocabulary=20, length=12, blocks=2, width=24, heads=3, hidden=40)
SHAPES = [
    replace(shape, attention=attention, fused=fused)
    for shape in (LLAMA, SWITCH)
    for attention, fused in (("softmax", True), ("softmax", False), ("sigmoid", False))
]


def names(shape: Shape) -> str:
    return f"{shape.positions}-{shape.attention}{'-fused' * shape.fused}"


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def tokens(shape: Shape, batch: int = 3, length: int | None = None) -> torch.Tensor:
    return torch.from_numpy(rng(9).integers(0, shape.vocabulary, (batch, length or shape.length)))


def written_out(layer: CausalAttention, x: np.ndarray) -> np.ndarray:
    """Attention of one sequence (length, width), one query, head and key at a time, in float64."""
    shape = layer.shape
    length, width = x.shape
    size = width // shape.heads
    qkv = x @ layer.into.detach().double().numpy().T
    out = np.zeros_like(x)
    slopes = [2 ** (-8 / 2), 2 ** (-16 / 2), 2 ** (-8 / 4)]  # of three heads: those of two, then the first of four
    for h in range(shape.heads):
        columns = slice(h * size, (h + 1) * size)
        q, k, v = (qkv[:, i * width : (i + 1) * width][:, columns] for i in range(3))
        if shape.query_key_norm:
            q, k = (m / np.sqrt(np.mean(m**2, axis=1, keepdims=True) + 1e-6) for m in (q, k))
        for i in range(length):
            score = np.array([q[i] @ k[j] / math.sqrt(size) for j in range(i + 1)])
            if shape.positions == "alibi":
                score -= slopes[h] * (i - np.arange(i + 1))
            if shape.attention == "sigmoid":
                weight = 1 / (1 + np.exp(-(score - math.log(shape.length))))
            else:
                weight = np.exp(score - score.max())
                weight /= weight.sum()
            out[i, columns] = weight @ v[: i + 1]
    return out @ layer.out.detach().double().numpy().T


@pytest.mark.parametrize("shape", SHAPES, ids=names)
def test_attention_equals_the_formula_written_out(shape):
    layer = CausalAttention(shape, rng())
    x = rng(1).standard_normal((2, 9, shape.width))  # shorter than the trained length
    found = layer(torch.from_numpy(x).float()).detach().numpy()
    np.testing.assert_allclose(found, [written_out(layer, row) for row in x], atol=2e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=names)
def test_a_later_symbol_does_not_change_earlier_outputs(shape):
    model = Decoder(shape, generator=rng()).eval()
    first = tokens(shape)
    for at in (0, 5, 11):
        second = first.clone()
        second[:, at] = (second[:, at] + 1) % shape.vocabulary
        with torch.no_grad():
            a, b = model.logits(first), model.logits(second)
        assert torch.equal(a[:, :at], b[:, :at])
        assert (a[:, at:] != b[:, at:]).any(dim=-1).all(), "every position from there on should see it"


@pytest.mark.parametrize("shape", SHAPES, ids=names)
def test_the_untrained_model_knows_nothing(shape):
    shape = replace(shape, vocabulary=200)
    model = Decoder(shape, generator=rng())
    data = tokens(shape, 30)
    assert model.loss(data[:, :-1], data[:, 1:]).item() == pytest.approx(math.log(200), abs=0.05)


def test_slopes():
    np.testing.assert_allclose(decoder.alibi_slopes(8), [2.0**-i for i in range(1, 9)])
    np.testing.assert_allclose(decoder.alibi_slopes(1), [2.0**-8])
    # Press et al. (2022): for 12 heads the 8 slopes of 8, then 4 of the 16 slopes of 16, every other one
    wanted = [2.0**-i for i in range(1, 9)] + [2.0**-0.5, 2.0**-1.5, 2.0**-2.5, 2.0**-3.5]
    np.testing.assert_allclose(decoder.alibi_slopes(12), wanted)


def test_dense_networks():
    x = torch.from_numpy(rng().standard_normal((4, 24))).float()
    gated = Dense(LLAMA, rng(1))
    a, b = (x @ part.T for part in gated.into.chunk(2))
    np.testing.assert_allclose(gated(x).detach(), ((a * torch.sigmoid(a) * b) @ gated.out.T).detach(), atol=1e-6)
    plain = Dense(SWITCH, rng(1))
    np.testing.assert_allclose(plain(x).detach(), (torch.relu(x @ plain.into.T) @ plain.out.T).detach(), atol=1e-6)
