"""Many small decoders with sparse mixtures trained as one: every parameter has a first axis, the seeds.

A step of the stand-in costs 6 ms of one thread, most of it the calls of PyTorch, not their arithmetic. Here one call
serves all seeds; the sparse experts of S seeds are one bank of S N experts. The first weights are those of
``Decoder`` and ``SMoE``, whose training of a single seed this one agrees with to rounding (a test).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from moestat.training.corpus import Corpus
from moestat.training.decoder import Decoder
from moestat.training.lm_plan import Plan
from studies.compete_smoe.parts.smoe import Competition, policy

BLOCK = 32  # rows
MEASURES = ("entropy", "entropy_top_k", "overlap", "router_loss", "overlap_chance", "usage_entropy")


@dataclass(frozen=True)
class Objective:
    """What a router minimises in a step that competes: ``weight`` L_R + ``task`` NLL, and by what kind of step."""

    weight: float = 1.0  # factor of L_R; 0: none
    task: float = 1.0  # factor of NLL
    over: Literal["mean", "sum"] = "mean"  # of the squared differences of the N experts
    policy: Literal["winners", "all"] = "winners"  # the router's: softmax of the K largest scores, or of all of them
    output: Literal["router", "competition"] = "router"  # whose choice makes the output
    sgd: float = 0.0  # the router's rate of plain gradient steps, relative to Adam's; 0: Adam, as the other weights


class Bank(torch.autograd.Function):
    """sum_k gates[t, k] g(z_t; W_index[t, k]) for many small experts, as ``ExpertBank``; differentiable once.

    The tokens of an expert fill blocks of ``BLOCK`` rows, and all blocks are one batched product.
    """

    @staticmethod
    def forward(ctx: Any, z: Any, gates: Any, index: Any, w: Any, b: Any, v: Any, c: Any) -> Any:
        """Map tokens (T, d), gates and indices (T, K) and weights (E, d, h), (E, h), (E, h, d), (E, d) to (T, d)."""
        flat, experts = index.reshape(-1), len(w)
        counts, order = torch.bincount(flat, minlength=experts), flat.argsort(stable=True)
        blocks = (counts + BLOCK - 1) // BLOCK
        shift = (blocks.cumsum(0) - blocks) * BLOCK - (counts.cumsum(0) - counts)
        place = torch.arange(len(order)) + shift.repeat_interleave(counts)
        owner = torch.arange(experts).repeat_interleave(blocks)
        token = torch.zeros(len(owner) * BLOCK, dtype=torch.long).index_copy_(0, place, order // index.shape[1])
        where = torch.empty_like(place).index_copy_(0, order, place)
        x = z.index_select(0, token).view(-1, BLOCK, z.shape[1])
        w, b, v, c = (part.index_select(0, owner) for part in (w, b, v, c))
        hidden = torch.baddbmm(b[:, None], x, w).relu_()
        outside = torch.baddbmm(c[:, None], hidden, v).view(-1, z.shape[1])
        slots = outside.index_select(0, where).view(*index.shape, -1)
        ctx.save_for_backward(x, hidden, slots, gates, token, where, owner, w, v)
        ctx.experts = experts
        return (slots * gates[..., None]).sum(dim=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        """Return the gradients of tokens, gates and weights."""
        x, hidden, slots, gates, token, where, owner, w, v = ctx.saved_tensors
        share = gates.new_zeros(token.shape[0]).index_copy_(0, where, gates.reshape(-1))  # 0 where a block is not full
        above = grad.index_select(0, token).mul_(share[:, None]).view(x.shape)
        below = torch.ops.aten.threshold_backward(torch.bmm(above, v.mT), hidden, 0)
        back = torch.bmm(below, w.mT).view(-1, grad.shape[1]).index_select(0, where).view(slots.shape).sum(dim=1)
        parts = torch.bmm(x.mT, below), below.sum(dim=1), torch.bmm(hidden.mT, above), above.sum(dim=1)
        sums = [part.new_zeros(ctx.experts, *part.shape[1:]).index_add_(0, owner, part) for part in parts]
        return back, torch.linalg.vecdot(slots, grad[:, None]), None, *sums


class Stack:
    """Decoders of one shape; ``weights[name]`` is (S, ...) for the parameter ``name`` of a decoder."""

    def __init__(self, models: Sequence[Decoder], top_k: int) -> None:
        self.shape, self.top_k, self.size = models[0].shape, top_k, len(models)
        parts = [dict(model.named_parameters()) for model in models]
        self.weights = {name: torch.stack([p[name].detach() for p in parts]).requires_grad_() for name in parts[0]}
        self.experts = self.weights["blocks.0.feed_forward.experts.first"].shape[1]

    def norm(self, name: str, x: torch.Tensor) -> torch.Tensor:
        """Return the LayerNorm of x (S, T, width)."""
        plain = F.layer_norm(x, x.shape[-1:], eps=1e-5)
        return torch.addcmul(self.weights[f"{name}.shift"][:, None], plain, self.weights[f"{name}.gain"][:, None])

    def scores(self, block: int, z: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """Return the router's scores (S, T, N) of tokens (S, T, width); ``rows``: those of so many seeds alone."""
        weight = self.weights[router_of(block)]
        return torch.bmm(z, weight if rows is None else weight[rows])

    def every(self, block: int, z: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Return the outputs (R, N, T, width) of all experts of the seeds ``rows`` for their tokens z (R, T, width)."""
        w, b, v, c = (part[rows].flatten(0, 1) for part in self._bank(block))
        wide = z[:, None].expand(-1, self.experts, -1, -1).flatten(0, 1)
        inside = torch.baddbmm(b[:, None], wide, w).relu()
        return torch.baddbmm(c[:, None], inside, v).view(len(rows), self.experts, *z.shape[1:])

    def _bank(self, block: int) -> list[torch.Tensor]:
        names = ("first", "first_bias", "second", "second_bias")
        return [self.weights[f"blocks.{block}.feed_forward.experts.{name}"] for name in names]

    def mixture(self, block: int, z: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the mixture of the experts with the K largest scores, (S, T, width)."""
        best, index = scores.topk(self.top_k, dim=2)
        index = index + self.experts * torch.arange(len(z))[:, None, None]
        bank = [part.flatten(0, 1) for part in self._bank(block)]
        tokens = len(z) * z.shape[1]
        gates = best.softmax(dim=2).view(tokens, -1)
        return Bank.apply(z.reshape(tokens, -1), gates, index.view(tokens, -1), *bank).view(z.shape)

    def won(self, block: int, z: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Return the mixture of the winners for the seeds ``rows``, with gradients through their norms (3.1)."""
        outputs = self.every(block, z, rows)
        best, index = torch.linalg.vector_norm(outputs, dim=-1).topk(self.top_k, dim=1)
        chosen = outputs.gather(1, index[..., None].expand(-1, -1, -1, z.shape[2]))
        return (chosen * best.softmax(dim=1)[..., None]).sum(dim=1)

    def run(
        self, tokens: torch.Tensor, how: Objective | None = None, rivals: Sequence[torch.Tensor] = ()
    ) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
        """Map symbols (S, B, length) to the last output (S, B length, width).

        Beside it: what goes into each sparse layer, and each layer's L_R summed over its ``rivals``, the seeds that
        compete there; none without ``how``.
        """
        size, batch, length = tokens.shape
        shape, heads = self.shape, self.shape.heads
        w, d = self.weights, self.shape.width
        places = torch.arange(size)[:, None, None] * shape.vocabulary
        x = F.embedding(tokens + places, w["embedding"].view(-1, d))
        x = (x + w["position"][:, None, :length]).view(size, batch * length, d)
        mask = torch.full((length, length), -math.inf).triu(1)
        inputs, losses = [], []
        for i in range(shape.blocks):
            head = f"blocks.{i}"
            mixed = torch.bmm(self.norm(f"{head}.attention_norm", x), w[f"{head}.attention.into"].mT)
            mixed = mixed.view(size * batch, length, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
            q, k, v = mixed.reshape(3, -1, length, d // heads).unbind()  # small heads: products beat the fused kernel
            mixed = torch.bmm(torch.baddbmm(mask, q, k.mT, alpha=(d // heads) ** -0.5).softmax(dim=2), v)
            mixed = mixed.view(size * batch, heads, length, -1).transpose(1, 2).reshape(size, batch * length, d)
            x = x + torch.bmm(mixed, w[f"{head}.attention.out"].mT)
            z = self.norm(f"{head}.feed_forward_norm", x)
            rows = rivals[i] if how is not None else tokens.new_empty(0)
            y, loss = self._layer(i, z, how or Objective(), rows)
            inputs.append(z)
            losses.append(loss)
            x = x + y
        return self.norm("norm", x), inputs, losses

    def _layer(self, i: int, z: torch.Tensor, how: Objective, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a layer's output and L_R, summed over the seeds ``rows``; the router's objective moves it alone."""
        scores = self.scores(i, z)
        if not len(rows):
            return self.mixture(i, z, scores), z.new_zeros(())
        loss = z.new_zeros(())
        own = self.scores(i, z[rows].detach(), rows)
        if how.weight:
            with torch.no_grad():
                norms = torch.linalg.vector_norm(self.every(i, z[rows], rows), dim=-1).mT
            loss = how.weight * router_loss(own, norms, self.top_k, how).sum()
        if how.output == "competition":
            return self.mixture(i, z, scores).index_copy(0, rows, self.won(i, z[rows], rows)), loss
        # the value of the scores, with ``task`` times their gradient with respect to the router
        scores = scores.index_add(0, rows, (how.task - 1) * (own - own.detach()))
        return self.mixture(i, z, scores), loss

    def losses(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the cross-entropies (S,) in nats of the symbols ``target`` (S, B, length)."""
        logits = torch.baddbmm(self.weights["head_bias"][:, None], output, self.weights["head"].mT)
        each = F.cross_entropy(logits.flatten(0, 1), target.reshape(-1), reduction="none")
        return each.view(self.size, -1).mean(dim=1)


def router_loss(scores: torch.Tensor, norms: torch.Tensor, top_k: int, how: Objective) -> torch.Tensor:
    """Return L_R (R,) of scores (R, T, N) and the norms of all outputs, equation 3."""
    rows, _, experts = scores.shape
    flat = scores.flatten(0, 1)
    router = policy(flat, top_k) if how.policy == "winners" else flat.softmax(dim=1)
    apart = (router - policy(norms.flatten(0, 1), top_k)).square().view(rows, -1)
    return apart.mean(dim=1) * (experts if how.over == "sum" else 1)


@dataclass
class Trained:
    """What the training of a stack gave; arrays have a first axis of seeds."""

    valid: np.ndarray  # (S, checks), nats
    train: np.ndarray  # (S, checks), NaN at step 0
    share: np.ndarray  # (S,), mean over (step, layer) that competed of |grad L_R| / |grad NLL| on the router, weighted
    moved: np.ndarray  # (S,), distance of the router from its start over its start's norm, mean over layers
    seconds: float = 0.0  # of the CPU, in the steps


def train(
    stack: Stack, corpus: Corpus, plan: Plan, how: Objective, rivals: Sequence[Sequence[Competition]], batches: list
) -> Trained:
    """Train all seeds; those whose loss is not finite go on alone, for no seed sees another.

    ``rivals``: for every seed the competitions of its layers, whose coins count; ``batches``: its generator of windows.
    """
    weights, checks = stack.weights, plan.checks.tolist()
    routers = [router_of(i) for i in range(stack.shape.blocks)]
    plain = routers if how.sgd else []
    rest = [w for name, w in weights.items() if name not in plain]
    adam = torch.optim.AdamW(rest, lr=plan.rate, betas=plan.betas, weight_decay=0.0, fused=True)
    begin = [weights[name].detach().clone() for name in routers]
    coins = np.array([[[r.heads(t, plan.steps) for t in range(plan.steps)] for r in own] for own in rivals], dtype=bool)
    curve, nothing = np.full((stack.size, len(checks)), np.nan), np.zeros(stack.size)
    out = Trained(curve.copy(), curve.copy(), nothing.copy(), nothing.copy())
    ratios, met = np.zeros(stack.size), np.zeros(stack.size)
    best = {name: w.detach().clone() for name, w in weights.items()}
    _validate(stack, corpus, plan, out, 0, best)
    text = torch.from_numpy(corpus.train.astype(np.int64))
    window, running = np.arange(plan.length + 1), np.zeros(stack.size)
    clock = time.thread_time()
    for step in range(plan.steps):
        starts = np.stack([rng.integers(0, corpus.train.size - plan.length, plan.batch) for rng in batches])
        data = text[torch.from_numpy(starts[..., None] + window)]
        rows = [torch.from_numpy(np.flatnonzero(c)) for c in (coins[:, :, step].T if coins.size else [])]
        rows = rows or [torch.empty(0, dtype=torch.long)] * stack.shape.blocks
        output, _, extra = stack.run(data[..., :-1], how, rows)
        loss = stack.losses(output, data[..., 1:])
        own = {}
        for name, part in zip(routers, extra, strict=True):
            if part.requires_grad:
                own[name] = torch.autograd.grad(part, weights[name], retain_graph=True)[0]
        for w in weights.values():
            w.grad = None
        loss.sum().backward()
        for name, grad in own.items():
            whole = _gradient(weights[name])
            ours, task = (_length(g).double().numpy() for g in (grad, whole))
            seen = (ours > 0) & (task > 0)
            ratios[seen] += ours[seen] / task[seen]
            met += seen
            whole += grad
        clip(list(weights.values()), plan.clip)
        rate = plan.rate_at(step)
        adam.param_groups[0]["lr"] = rate
        adam.step()
        with torch.no_grad():
            for name in plain:
                weights[name] -= how.sgd * rate * _gradient(weights[name])
        running += loss.detach().double().numpy()
        if step + 1 in checks:
            at = checks.index(step + 1)
            out.seconds += time.thread_time() - clock
            out.train[:, at] = running / (checks[at] - checks[at - 1])
            running[:] = 0.0
            _validate(stack, corpus, plan, out, at, best)
            clock = time.thread_time()
    with torch.no_grad():
        far = [_length(weights[n] - w) / _length(w) for n, w in zip(routers, begin, strict=True)]
        for name, w in weights.items():
            w.copy_(best[name])
    out.share = np.divide(ratios, met, out=np.full(stack.size, np.nan), where=met > 0)
    out.moved = torch.stack(far).mean(dim=0).double().numpy()
    return out


def router_of(block: int) -> str:
    """Return the name of a block's router."""
    return f"blocks.{block}.feed_forward.router.weight"


def _gradient(weight: torch.Tensor) -> torch.Tensor:
    assert weight.grad is not None
    return weight.grad


def _length(x: torch.Tensor) -> torch.Tensor:
    """Return the norms (S,) of all entries but those of the first axis."""
    return torch.linalg.vector_norm(x.flatten(1), dim=1)


def clip(weights: Sequence[torch.Tensor], largest: float) -> None:
    """Scale the gradients of every seed to the norm ``largest`` where they exceed it."""
    grads = [w.grad for w in weights if w.grad is not None]
    each = torch.stack([_length(g) for g in grads])
    factor = (largest / (torch.linalg.vector_norm(each, dim=0) + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(factor.view(-1, *[1] * (g.ndim - 1)))


def _windows(text: np.ndarray, length: int, batch: int, limit: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    count = max(1, (min(limit, text.size - 1) if limit else text.size - 1) // length)
    kept = torch.from_numpy(text[: count * length + 1].astype(np.int64))
    pairs = kept[:-1].view(count, length), kept[1:].view(count, length)
    return list(zip(*(part.split(batch) for part in pairs), strict=True))


@torch.no_grad()
def evaluate(stack: Stack, text: np.ndarray, length: int, *, batch: int = 16, limit: int = 0) -> np.ndarray:
    """Return the mean cross-entropies (S,) of a text in nats, in windows one after the other."""
    total, count = np.zeros(stack.size), 0
    for given, wanted in _windows(text, length, batch, limit):
        output, _, _ = stack.run(given.expand(stack.size, -1, -1))
        total += len(given) * stack.losses(output, wanted.expand(stack.size, -1, -1)).double().numpy()
        count += len(given)
    return total / count


def _validate(stack: Stack, corpus: Corpus, plan: Plan, out: Trained, at: int, best: dict[str, torch.Tensor]) -> None:
    """Fill the curve, and remember the weights of the seeds that are at their best."""
    value = evaluate(stack, corpus.valid, plan.length, batch=plan.batch, limit=plan.validation)
    value = np.where(np.isfinite(value), value, np.nan)
    lowest = np.nanmin(out.valid[:, :at], axis=1) if at else np.full(stack.size, np.inf)
    out.valid[:, at] = value
    better = torch.from_numpy(np.flatnonzero(value < lowest))
    with torch.no_grad():
        for name, w in stack.weights.items():
            best[name][better] = w[better]


@torch.no_grad()
def routing(stack: Stack, text: np.ndarray, length: int, *, batch: int = 16, limit: int = 0) -> dict[str, np.ndarray]:
    """Return the measures of ``smoe_measures.Routing``, (S, layers) each, over a text."""
    size, layers, k = stack.size, stack.shape.blocks, stack.top_k
    sums, loads = np.zeros((4, size, layers)), np.zeros((2, size, layers, stack.experts))
    tokens, everyone = 0, torch.arange(size)
    for given, _ in _windows(text, length, batch, limit):
        _, inputs, _ = stack.run(given.expand(size, -1, -1))
        tokens += given.numel()
        for at, z in enumerate(inputs):
            scores = stack.scores(at, z)
            best, index = scores.topk(k, dim=2)
            norms = torch.linalg.vector_norm(stack.every(at, z, everyone), dim=-1).mT.contiguous()
            winners = norms.topk(k, dim=2).indices
            both = (index[..., None] == winners[..., None, :]).any(dim=3).double().mean(dim=2)
            apart = (policy(scores.flatten(0, 1), k) - policy(norms.flatten(0, 1), k)).square().mean(dim=1)
            parts = (_entropy(scores), _entropy(best), both, apart.view(size, -1))
            sums[:, :, at] += [part.double().sum(dim=1).numpy() for part in parts]
            for load, chosen in zip(loads, (index, winners), strict=True):
                flat = (chosen + stack.experts * everyone[:, None, None]).reshape(-1)
                load[:, at] += torch.bincount(flat, minlength=size * stack.experts).view(size, -1).numpy()
    share = loads / tokens
    chance, used = (share[0] * share[1]).sum(axis=-1) / k, share[0] / k
    even = -np.sum(used * np.log(np.where(used > 0, used, 1.0)), axis=-1)
    return dict(zip(MEASURES, (*sums / tokens, chance, even), strict=True))


def _entropy(scores: torch.Tensor) -> torch.Tensor:
    log_p = scores.log_softmax(dim=-1)
    return -(log_p.exp() * log_p).sum(dim=-1)
