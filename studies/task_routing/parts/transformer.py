"""The one-layer mixture-of-experts transformer of the task-routing paper, its training and its completions.

See section 3.2, section 6.2 and appendix B. A step is written out, without autograd: at these sizes (width 30, some 400
tokens a step) autograd spends as long on its own records as on the arithmetic. All weights are one vector and so are
their derivatives, the logits are written a block of rows at a time, and what is large into memory that is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from studies.task_routing.parts.knowledge import Knowledge, Sentences

if TYPE_CHECKING:
    from studies.task_routing.parts.task_training import Settings


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


Loss = Literal["ce", "load_balance", "router"]

ROOM = 1 << 18  # logits per block, which stays in the cache. Fixed, so that results do not depend on anything else.

LOG2E = math.log2(math.e)

LARGEST = 100.0
"""Rows whose largest power of two is within this of zero need no shift: sums of 10^5 fit single precision."""


def output_gradient(
    x: torch.Tensor, target: torch.Tensor, weight: torch.Tensor, grad_weight: torch.Tensor, room: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean cross-entropy () of ``softmax(x weight' + bias)`` at the targets and its gradient in x.

    ``x`` (rows, d); ``target`` (rows,); ``weight`` (classes, d + 2): weights, bias, and a column of ones;
    ``grad_weight`` (classes, d + 2): overwritten: the gradient, of which the last column means nothing; ``room`` (rows
    of a block, classes): overwritten.
    """
    count, size = x.shape
    # times the two last columns of the weights: the bias, and nothing
    wide = torch.cat((x, x.new_tensor([[1.0, 0.0]]).expand(count, 2)), dim=1)
    binary = wide * LOG2E  # powers of two take a third of the time of powers of e
    grad_wide, sums, largest = torch.empty_like(wide), x.new_empty(count, 1), x.new_zeros(count, 1)
    grad_weight.zero_()
    for start in range(0, count, len(room)):
        part = slice(start, min(start + len(room), count))
        z = torch.mm(binary[part], weight.t(), out=room[: part.stop - start])
        top = z.amax(dim=1, keepdim=True)
        if not float(top.abs().max()) <= LARGEST:
            largest[part] = top
            z -= top
        z.exp2_()
        torch.mm(z, weight, out=grad_wide[part])
        # the column of ones has the sum of the row
        sums[part] = grad_wide[part, size + 1 :]
        grad_weight.addmm_(z.t(), wide[part] / (sums[part] * count))
    chosen = weight.index_select(0, target)
    loss = (sums.log() + largest / LOG2E).mean() - (wide * chosen).sum() / count
    grad_weight.index_add_(0, target, wide, alpha=-1.0 / count)
    return loss, (grad_wide[:, :size] / sums - chosen[:, :size]) / count


class Gradient:
    """The weights of a transformer as one vector, and the gradient of its loss as another.

    ``model``: its parameters become views of ``weights``; ``loss``: the cross-entropy alone, or with an auxiliary loss
    (section 6.2); ``weight``: lambda, weight of the auxiliary loss.
    """

    def __init__(self, model: TaskTransformer, loss: Loss, weight: float) -> None:
        self.shape, self.gate, self.loss, self.weight = model.shape, model.gate, loss, weight
        named = dict(model.named_parameters())
        self.weights = torch.cat([value.detach().reshape(-1) for value in named.values()])
        self.gradient = torch.zeros_like(self.weights)
        self.w: dict[str, torch.Tensor] = {}
        self.g: dict[str, torch.Tensor] = {}
        start = 0
        for name, value in named.items():
            part = slice(start, start + value.numel())
            self.w[name], self.g[name] = (whole[part].view(value.shape) for whole in (self.weights, self.gradient))
            value.data = self.w[name]
            start = part.stop
        wide = self.shape.vocabulary, self.shape.width + 2
        self._out, self._grad_out = self.weights.new_ones(wide), self.weights.new_empty(wide)
        self._room = self.weights.new_empty(max(ROOM // self.shape.vocabulary, 1), self.shape.vocabulary)
        self._products = self.weights.new_empty(0)
        self._future = torch.full((self.shape.length, self.shape.length), float("-inf")).triu(1)[..., None]

    def __call__(self, tokens: torch.Tensor, rows: torch.Tensor, target: torch.Tensor, task: torch.Tensor) -> float:
        """Return the cross-entropy of a batch (nats per token), and leave the gradient of the loss in ``gradient``.

        ``tokens`` (B, S): token ids; padding on the right may hold any id. ``rows`` (R,): positions b * S + s that have
        a next token. ``target`` (R,): the next tokens. ``task`` (R,): the tasks of their sentences.
        """
        w, g, (batch, steps) = self.w, self.g, tokens.shape
        d, heads, experts, count = self.shape.width, self.shape.heads, self.shape.experts, rows.shape[0]
        size, flat = d // heads, tokens.reshape(-1)

        x = (w["embedding"].index_select(0, flat).view(batch, steps, d) + w["position"][:steps]).view(-1, d)
        qkv = torch.addmm(w["qkv_bias"], x, w["qkv"])
        # (head size, S, B heads) each: every step runs along the long last axis, as in TaskTransformer
        parts = qkv.view(batch, steps, 3, heads, size).permute(2, 4, 1, 0, 3).reshape(3, size, steps, batch * heads)
        q, k, v = parts
        q = q * size**-0.5
        times = self._times(size, steps, batch * heads)
        attention, dscores = parts.new_empty(2, steps, steps, batch * heads)
        torch.sum(times(q[:, :, None], k[:, None]), dim=0, out=dscores)
        torch.softmax(dscores.add_(self._future[:steps, :steps]), dim=1, out=attention)
        head = times(attention, v[:, None]).sum(dim=2).view(size, steps, batch, heads)
        head = head.permute(2, 1, 3, 0).reshape(-1, d).index_select(0, rows)
        z = x.index_select(0, rows) + torch.addmm(w["mix_bias"], head, w["mix"])

        p = torch.softmax(z @ w["router"], dim=-1)
        expert = p.argmax(dim=-1, keepdim=True)
        hot = torch.zeros_like(p).scatter_(1, expert, 1.0)
        chosen = hot * p if self.gate else hot
        inside = torch.addmm(w["first_bias"], z, w["first"]).relu_().view(count, experts, -1)
        gated = (inside * chosen[..., None]).view(count, -1)
        output = torch.addmm(z, gated, w["second"]).addmm_(chosen, w["second_bias"])

        self._out[:, :d], self._out[:, d] = w["out"], w["out_bias"]
        loss, dout = output_gradient(output, target, self._out, self._grad_out, self._room)
        g["out"].copy_(self._grad_out[:, :d])
        g["out_bias"].copy_(self._grad_out[:, d])

        torch.mm(gated.t(), dout, out=g["second"])
        torch.mm(chosen.t(), dout, out=g["second_bias"])
        dgated = (dout @ w["second"].t()).view(count, experts, -1)
        dinside = (dgated * chosen[..., None]).mul_(inside > 0).view(count, -1)
        torch.mm(z.t(), dinside, out=g["first"])
        torch.sum(dinside, dim=0, out=g["first_bias"])
        dz = torch.addmm(dout, dinside, w["first"].t())
        drouter = self._router(p, hot, task)
        if self.gate:
            dchosen = torch.addmm((dgated * inside).sum(dim=-1), dout, w["second_bias"].t())
            drouter = drouter + (dchosen * chosen).sum(dim=-1, keepdim=True) * (hot - p)
        torch.mm(z.t(), drouter, out=g["router"])
        dz.addmm_(drouter, w["router"].t())
        torch.mm(head.t(), dz, out=g["mix"])
        torch.sum(dz, dim=0, out=g["mix_bias"])

        dhead = x.new_zeros(x.shape).index_copy_(0, rows, dz @ w["mix"].t())
        dhead = dhead.view(batch, steps, heads, size).permute(3, 1, 0, 2).reshape(size, steps, -1)
        dparts = torch.empty_like(parts)
        torch.sum(times(attention, dhead[:, :, None]), dim=1, out=dparts[2])
        torch.sum(times(dhead[:, :, None], v[:, None]), dim=0, out=dscores)
        dscores.mul_(attention).addcmul_(attention, dscores.sum(dim=1, keepdim=True), value=-1.0)
        torch.sum(times(dscores, k[:, None]), dim=2, out=dparts[0])
        dparts[0] *= size**-0.5
        torch.sum(times(dscores, q[:, :, None]), dim=1, out=dparts[1])
        dqkv = dparts.view(3, size, steps, batch, heads).permute(3, 2, 0, 4, 1).reshape(-1, 3 * d)
        torch.mm(x.t(), dqkv, out=g["qkv"])
        torch.sum(dqkv, dim=0, out=g["qkv_bias"])
        dx = (dqkv @ w["qkv"].t()).index_add_(0, rows, dz)
        g["position"].zero_()
        torch.sum(dx.view(batch, steps, d), dim=0, out=g["position"][:steps])
        g["embedding"].zero_().index_add_(0, flat, dx)
        return float(loss)

    def _times(self, *shape: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        """Return a product of arrays that broadcast to (head size, S, S, B heads); each overwrites the last."""
        size, steps, last = shape
        if self._products.numel() < size * steps * steps * last:
            self._products = self._products.new_empty(size * steps * steps * last)
        room = self._products[: size * steps * steps * last].view(size, steps, steps, last)
        return lambda a, b: torch.mul(a, b, out=room)

    def _router(self, p: torch.Tensor, hot: torch.Tensor, task: torch.Tensor) -> torch.Tensor:
        """Return the gradient (R, E) of the auxiliary loss in the router's scores; p = softmax(scores)."""
        count, experts = p.shape
        if self.loss == "load_balance":
            # E sum_e (mean probability)(share of tokens); the share has no derivative
            share = hot.mean(dim=0)
            return (self.weight * experts / count) * p * (share - p @ share[:, None])
        if self.loss == "router":
            # mean -log probability of the expert of the token's task, which is task mod E
            asked = torch.zeros_like(p).scatter_(1, (task % experts)[:, None], 1.0)
            return (self.weight / count) * (p - asked)
        return torch.zeros_like(p)


def holdout(sentences: Sentences, s: Settings, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Split the rows of the sentences into training and test rows.

    By sentences, so that the other templates of a pair are seen in training, or by pairs, with all their sentences.
    """
    count = sentences.length.shape[0]
    test = np.zeros(count, dtype=bool)
    if s.split == "sentences":
        test[rng.permutation(count)[: round(s.test_share * count)]] = True
    else:
        for k in range(int(sentences.task.max()) + 1):
            mine = sentences.task == k
            pairs = int(sentences.pair[mine].max()) + 1
            test |= mine & np.isin(sentences.pair, rng.permutation(pairs)[: round(s.test_share * pairs)])
    return np.flatnonzero(~test), np.flatnonzero(test)


def train(
    model: TaskTransformer, sentences: Sentences, rows: np.ndarray, s: Settings, rng: np.random.Generator
) -> np.ndarray:
    """Train with Adam on some rows of the sentences; return the mean cross-entropy (nats per token) of every epoch."""
    tokens, length = np.maximum(sentences.tokens, 0), sentences.length
    gradient = Gradient(model, s.loss, s.weight)
    # one vector of weights: Adam takes its step in one pass
    gradient.weights.grad = gradient.gradient
    optimiser = torch.optim.Adam([gradient.weights], lr=s.rate, fused=True)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, s.decay)
    curve = np.zeros(s.epochs)
    for epoch in range(s.epochs):
        order = rng.permutation(rows)
        total, count = 0.0, 0
        for start in range(0, order.shape[0], s.batch):
            batch = order[start : start + s.batch]
            steps = int(length[batch].max()) - 1
            real = np.arange(steps) < length[batch, None] - 1
            target = torch.from_numpy(tokens[batch, 1 : steps + 1][real])
            task = torch.from_numpy(np.repeat(sentences.task[batch], length[batch] - 1))
            loss = gradient(
                torch.from_numpy(tokens[batch, :steps]), torch.from_numpy(np.flatnonzero(real)), target, task
            )
            total, count = total + loss * target.shape[0], count + target.shape[0]
            optimiser.step()
        schedule.step()
        curve[epoch] = total / count
    return curve


def experts_chosen(model: TaskTransformer, sentences: Sentences, rows: np.ndarray, *, chunk: int = 500) -> np.ndarray:
    """Return the expert (rows, L - 1) of every token of some sentences that has a next one; -1 elsewhere."""
    out = np.full((rows.shape[0], sentences.tokens.shape[1] - 1), -1, dtype=np.int64)
    with torch.no_grad():
        for start in range(0, rows.shape[0], chunk):
            part = rows[start : start + chunk]
            real = np.arange(out.shape[1]) < sentences.length[part, None] - 1
            tokens = torch.from_numpy(np.maximum(sentences.tokens[part, :-1], 0))
            expert = model(tokens, torch.from_numpy(np.flatnonzero(real))).expert.numpy()
            out[start : start + chunk][real] = expert
    return out


def complete(model: TaskTransformer, tokens: np.ndarray, length: np.ndarray, end: int) -> np.ndarray:
    """Complete prefixes greedily until the token ``end`` or the longest length; padded with -1.

    ``tokens`` (B, L): token ids, of which the first ``length`` (B,), 1 to L - 1, are given.
    """
    longest = tokens.shape[1]
    out = np.where(np.arange(longest) < length[:, None], tokens, -1)
    reach = length.copy()
    open_rows = np.arange(out.shape[0])
    with torch.no_grad():
        while open_rows.size:
            steps = int(reach[open_rows].max())
            part = torch.from_numpy(np.maximum(out[open_rows, :steps], 0))
            positions = torch.from_numpy(np.arange(open_rows.size) * steps + reach[open_rows] - 1)
            said = model.logits(model(part, positions)).argmax(dim=-1).numpy()
            out[open_rows, reach[open_rows]] = said
            reach[open_rows] += 1
            open_rows = open_rows[(said != end) & (reach[open_rows] < longest)]
    return out


def in_dataset(knowledge: Knowledge, rows: np.ndarray) -> np.ndarray:
    """Return (B,) whether token rows (B, L), padded with -1, are sentences of the dataset."""
    known = {row.tobytes() for row in knowledge.sentences.tokens.astype(np.int64)}
    return np.array([row.tobytes() in known for row in np.ascontiguousarray(rows, dtype=np.int64)])
