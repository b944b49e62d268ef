"""One decoder for language models: softmax or sigmoid attention, and any feed-forward module in its blocks.

Sources: the sigmoid-attention paper, section 5.2, eq. (85) and Table 3 (a Llama: RMSNorm before each part, ALiBi, norms
of queries and keys); CompeteSMoE, section 6.1 and appendix C (Switch Transformer and GLaM).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch.nn import functional as F

from moestat.training.vocabulary_loss import linear_cross_entropy

Attention = Literal["softmax", "sigmoid"]
Positions = Literal["alibi", "learned"]
Norm = Literal["rms", "layer"]
Activation = Literal["relu", "swiglu"]

LARGE_VOCABULARY = 4096  #: From here on the logits of a batch are never held all at once.


@dataclass(frozen=True)
class Shape:
    """Sizes and kinds of a decoder."""

    vocabulary: int  #: Number of symbols.
    length: int  #: The longest window.
    blocks: int
    width: int
    heads: int  #: It divides ``width``.
    hidden: int  #: Units of the dense feed-forward networks.
    #: Sigmoid attention has the bias -log(length), the *trained* length whatever the window is, so that what a prefix
    #: gives does not depend on what follows.
    attention: Attention = "softmax"
    #: Linear biases of the scores (Press et al. 2022), or an embedding of the position.
    positions: Positions = "learned"
    norm: Norm = "layer"  #: Before attention and feed-forward network, and at the end.
    query_key_norm: bool = False  #: RMSNorm, with a gain, of the queries and keys of each head.
    activation: Activation = "relu"  #: Of the dense feed-forward networks.
    fused: bool = True  #: Whether softmax attention uses PyTorch's fused kernel: the same numbers up to rounding.


def linear(generator: np.random.Generator, inputs: int, outputs: int, *, scale: float = 1.0) -> torch.nn.Parameter:
    """Return weights (outputs, inputs), normal with standard deviation ``scale`` / sqrt(inputs).

    Drawn with NumPy, so that a replicate is the same with every version of PyTorch.
    """
    drawn = generator.standard_normal((outputs, inputs)) * (scale * inputs**-0.5)
    return torch.nn.Parameter(torch.from_numpy(drawn.astype(np.float32)))


def alibi_slopes(heads: int) -> np.ndarray:
    """Return the slopes of ALiBi (Press et al. 2022): 2^(-8 i / heads), i = 1..heads, for a power of two.

    For other numbers those of the largest power of two below, and then every other one of twice that number.
    """
    power = 1 << (heads.bit_length() - 1)
    slopes = 2.0 ** (-8.0 * np.arange(1, power + 1) / power)
    more = 2.0 ** (-8.0 * np.arange(1, 2 * power + 1, 2) / (2 * power))
    return np.concatenate([slopes, more[: heads - power]])


class Normed(torch.nn.Module):
    """RMSNorm or LayerNorm of the last axis, with a gain and (LayerNorm) a shift."""

    def __init__(self, kind: Norm, width: int) -> None:
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(width))
        self.shift = torch.nn.Parameter(torch.zeros(width)) if kind == "layer" else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise."""
        if self.shift is not None:
            return F.layer_norm(x, self.gain.shape, self.gain, self.shift, eps=1e-5)
        return F.rms_norm(x, self.gain.shape, self.gain, eps=1e-6)


class CausalAttention(torch.nn.Module):
    """Attention to this and earlier positions, by softmax or sigmoid (sigmoid-attention paper, eq. (85))."""

    bias: torch.Tensor

    def __init__(self, shape: Shape, generator: np.random.Generator) -> None:
        super().__init__()
        self.shape = shape
        d, size = shape.width, shape.width // shape.heads
        self.into = linear(generator, d, 3 * d)
        self.out = linear(generator, d, d, scale=(2 * shape.blocks) ** -0.5)
        self.query_norm = Normed("rms", size) if shape.query_key_norm else None
        self.key_norm = Normed("rms", size) if shape.query_key_norm else None
        self.register_buffer("bias", torch.from_numpy(score_bias(shape)), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, length, width) to the same."""
        batch, length, width = x.shape
        heads = self.shape.heads
        size = width // heads
        q, k, v = F.linear(x, self.into).view(batch, length, 3, heads, size).permute(2, 0, 3, 1, 4)
        if self.query_norm is not None and self.key_norm is not None:
            q, k = self.query_norm(q), self.key_norm(k)
        bias = self.bias[:, :length, :length]
        if self.shape.attention == "softmax" and self.shape.fused:
            if self.shape.positions == "learned":  # the bias is the mask alone
                mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        else:
            rows = batch * heads
            wide = bias if bias.shape[0] == 1 else bias.expand(batch, *bias.shape).reshape(rows, length, length)
            q, k, v = (part.reshape(rows, length, size) for part in (q, k, v))
            scores = torch.baddbmm(wide, q, k.transpose(1, 2), alpha=size**-0.5)
            weights = scores.softmax(dim=-1) if self.shape.attention == "softmax" else scores.sigmoid()
            mixed = torch.bmm(weights, v).view(batch, heads, length, size)
        return F.linear(mixed.transpose(1, 2).reshape(batch, length, width), self.out)


def score_bias(shape: Shape) -> np.ndarray:
    """Return what is added to the scores: (heads, length, length) with ALiBi, else (1, length, length).

    -infinity for later positions; ALiBi: minus slope times distance; sigmoid: minus log length.
    """
    place = np.arange(shape.length)
    distance = place[:, None] - place
    slopes = alibi_slopes(shape.heads) if shape.positions == "alibi" else np.zeros(1)
    bias = -slopes[:, None, None] * distance
    if shape.attention == "sigmoid":
        bias = bias - math.log(shape.length)
    return np.where(distance < 0, -np.inf, bias).astype(np.float32)


class Dense(torch.nn.Module):
    """A feed-forward network with one hidden layer: ReLU with biases, or SwiGLU without (Shazeer 2020)."""

    def __init__(self, shape: Shape, generator: np.random.Generator) -> None:
        super().__init__()
        d, hidden = shape.width, shape.hidden
        gated = shape.activation == "swiglu"
        self.into = linear(generator, d, hidden * (2 if gated else 1))
        self.out = linear(generator, hidden, d, scale=(2 * shape.blocks) ** -0.5)
        self.into_bias = None if gated else torch.nn.Parameter(torch.zeros(hidden))
        self.out_bias = None if gated else torch.nn.Parameter(torch.zeros(d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (..., width) to the same."""
        inside = F.linear(x, self.into, self.into_bias)
        if self.into_bias is None:
            gate, value = inside.chunk(2, dim=-1)
            return F.linear(F.silu(gate) * value, self.out)
        return F.linear(torch.relu(inside), self.out, self.out_bias)


class Block(torch.nn.Module):
    """Attention, then the feed-forward module, each on the normalised input and added to it."""

    def __init__(self, shape: Shape, feed_forward: torch.nn.Module, generator: np.random.Generator) -> None:
        super().__init__()
        self.attention_norm = Normed(shape.norm, shape.width)
        self.attention = CausalAttention(shape, generator)
        self.feed_forward_norm = Normed(shape.norm, shape.width)
        self.feed_forward = feed_forward

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, length, width) to the same."""
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class Decoder(torch.nn.Module):
    """A decoder that predicts the next symbol at every position.

    ``feed_forward(i)`` is called once, for block i = 0, 1, ..., and returns its feed-forward module, which maps (batch,
    length, width) to the same; dense networks of ``shape`` by default. The ``generator`` draws all other weights, in an
    order that does not depend on the kind of attention, norm or position: decoders that differ in these alone start
    from the same weights.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        feed_forward: Callable[[int], torch.nn.Module] | None = None,
        generator: np.random.Generator,
    ) -> None:
        super().__init__()
        if shape.width % shape.heads:
            raise ValueError(f"heads is {shape.heads}; it must divide width, which is {shape.width}")
        self.shape = shape
        make = feed_forward or (lambda _: Dense(shape, generator))
        d = shape.width
        self.embedding = linear(generator, d, shape.vocabulary)
        self.blocks = torch.nn.ModuleList(Block(shape, make(i), generator) for i in range(shape.blocks))
        self.norm = Normed(shape.norm, d)
        # small, so that the untrained model knows nothing: its loss is about log(vocabulary)
        self.head = linear(generator, d, shape.vocabulary, scale=0.1)
        self.head_bias = torch.nn.Parameter(torch.zeros(shape.vocabulary))
        self.position = linear(generator, d, shape.length) if shape.positions == "learned" else None

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Map symbols (batch, length) to the normalised output of the last block (batch, length, width)."""
        x = F.embedding(tokens, self.embedding)
        if self.position is not None:
            x = x + self.position[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def logits(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits of the next symbol (batch, length, vocabulary)."""
        return F.linear(self(tokens), self.head, self.head_bias)

    def loss(self, tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the mean cross-entropy, in nats, of the symbols ``target`` (batch, length) that follow ``tokens``."""
        output, wanted = self(tokens).view(-1, self.shape.width), target.reshape(-1)
        if self.shape.vocabulary >= LARGE_VOCABULARY:
            return linear_cross_entropy(output, self.head, self.head_bias, wanted)
        return F.cross_entropy(F.linear(output, self.head, self.head_bias), wanted)
