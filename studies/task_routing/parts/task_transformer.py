"""The one-layer mixture-of-experts transformer of the task-routing paper (section 3.2, appendix B)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class Shape:
    """Sizes of the transformer; width, hidden and heads are the paper's."""

    vocabulary: int
    length: int
    experts: int
    width: int = 30
    hidden: int = 10
    heads: int = 10


@dataclass(frozen=True)
class Routed:
    """What the layer computes at some positions (rows)."""

    output: torch.Tensor  # (rows, width) input of the output layer
    scores: torch.Tensor  # (rows, E) logarithms of the router's probabilities
    expert: torch.Tensor  # (rows,) the expert with the largest one


class TaskTransformer(torch.nn.Module):
    """Token and position embeddings, causal attention, top-1 experts, output layer; residuals, no normalisation.

    ``rng`` draws the weights as PyTorch does by default, with NumPy, so that they are the same with every version.
    ``gate``: whether the expert's output is multiplied with its probability (Fedus et al. 2022). The paper's formula
    has no such factor; the cross-entropy then has no gradient with respect to the router.
    """

    def __init__(self, shape: Shape, rng: np.random.Generator, *, gate: bool = True) -> None:
        super().__init__()
        self.shape, self.gate = shape, gate
        d, hidden = shape.width, shape.hidden

        def uniform(inputs: int, *size: int) -> torch.nn.Parameter:
            bound = inputs**-0.5
            return torch.nn.Parameter(torch.from_numpy(rng.uniform(-bound, bound, size).astype(np.float32)))

        def normal(*size: int) -> torch.nn.Parameter:
            return torch.nn.Parameter(torch.from_numpy(rng.standard_normal(size).astype(np.float32)))

        self.embedding, self.position = normal(shape.vocabulary, d), normal(shape.length, d)
        self.qkv, self.qkv_bias = uniform(d, d, 3 * d), uniform(d, 3 * d)
        self.mix, self.mix_bias = uniform(d, d, d), uniform(d, d)
        self.router = uniform(d, d, shape.experts)
        self.first, self.first_bias = uniform(d, d, shape.experts * hidden), uniform(d, shape.experts * hidden)
        self.second = uniform(hidden, shape.experts * hidden, d)
        self.second_bias = uniform(hidden, shape.experts, d)
        self.out, self.out_bias = uniform(d, shape.vocabulary, d), uniform(d, shape.vocabulary)

    def forward(self, tokens: torch.Tensor, rows: torch.Tensor) -> Routed:
        """Run the layer.

        ``tokens`` (B, S): token ids; padding on the right may hold any id, the attention is causal. ``rows`` (rows,):
        positions b * S + s at which the experts and the output are wanted.
        """
        batch, steps = tokens.shape
        heads, d = self.shape.heads, self.shape.width
        x = torch.nn.functional.embedding(tokens, self.embedding) + self.position[:steps]
        # (3, head size, S, B heads): every step below runs along the long last axis, several times faster than
        # products and softmaxes of S x S matrices with S about 10
        q, k, v = (
            torch.addmm(self.qkv_bias, x.view(-1, d), self.qkv)
            .view(batch, steps, 3, heads, d // heads)
            .permute(2, 4, 1, 0, 3)
            .reshape(3, d // heads, steps, batch * heads)
        )
        future = torch.ones(steps, steps, dtype=torch.bool).triu(1)[..., None]
        scores = (q[:, :, None] * k[:, None]).sum(dim=0) * (d // heads) ** -0.5
        attention = scores.masked_fill(future, float("-inf")).softmax(dim=1)
        head = (attention * v[:, None]).sum(dim=2).view(-1, steps, batch, heads)
        head = head.permute(2, 1, 3, 0).reshape(-1, d).index_select(0, rows)
        z = x.view(-1, d).index_select(0, rows) + torch.addmm(self.mix_bias, head, self.mix)

        log_p = torch.log_softmax(z @ self.router, dim=-1)
        expert = log_p.argmax(dim=-1)
        chosen = torch.nn.functional.one_hot(expert, self.shape.experts).to(z.dtype)
        if self.gate:
            chosen = chosen * log_p.exp()
        # all experts in two products, the others' hidden units times zero: cheaper than sorting for 10 units each
        inside = torch.relu(torch.addmm(self.first_bias, z, self.first)).view(-1, self.shape.experts, self.shape.hidden)
        network = (inside * chosen[..., None]).view(z.shape[0], -1) @ self.second + chosen @ self.second_bias
        return Routed(z + network, log_p, expert)

    def logits(self, routed: Routed) -> torch.Tensor:
        """Return the logits (rows, vocabulary)."""
        return torch.addmm(self.out_bias, routed.output, self.out.t())
