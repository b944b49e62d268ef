"""The sparse mixture of experts layer, and how competition trains its router (compete-smoe paper, sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from studies.compete_smoe.parts.routers import Reading

Schedule = Callable[[int, int], float]
"""lambda(t): the probability of a competition in step t of so many steps."""
Form = Literal["constant", "falling", "rising"]


def schedule(probability: float, form: Form = "constant") -> Schedule:
    """Return lambda(t) with mean ``probability``: constant as in the paper, or linear from twice that to 0, or back."""

    def value(step: int, steps: int) -> float:
        place = (step + 0.5) / steps
        return probability * {"constant": 1.0, "falling": 2 * (1 - place), "rising": 2 * place}[form]

    return value


@dataclass(frozen=True)
class Competition:
    """How a layer competes (section 3.2, equations 3 to 5)."""

    schedule: Schedule  # lambda(t)
    key: int
    """Of the layer's coin: whether step t competes is a function of the key and t alone."""
    alpha: float = 5.0
    """Factor of the task's loss in the router's objective L_R + alpha NLL, equation 5, in a step that competes. The
    other weights minimise the task's loss as always. Under Adam it weighs the two parts, and steps with and without
    competition, against each other."""
    weight: float = 1.0  # factor of the router loss L_R, 1 in the paper
    output: Literal["router", "competition"] = "router"
    """Which routing makes the output in a step that competes. With the router's the task gives it a gradient, which
    equation 5 asks for; with the winners', as in section 3.1 and Fig. 1a, it learns from L_R alone."""
    reading: Reading = "paper"
    """Of L_R. In the paper it compares two policies over the K largest scores (equation 3) and moves the router alone;
    in the published code the router's is the softmax of all scores, and L_R moves experts and earlier layers too."""

    def heads(self, step: int, steps: int) -> bool:
        """Flip the coin of a step."""
        coin = np.random.Generator(np.random.Philox(key=self.key, counter=step)).random()
        return bool(coin < self.schedule(step, steps))


class SMoE(torch.nn.Module):
    """sum over the K best experts of softmax(TopK(s))_i g(z; W_i), equation 2.

    ``balance``: weight of the load-balancing loss of Fedus et al. (2022); the paper trains without. ``auxiliary``: what
    the last forward pass in training adds to the task's loss.
    """

    def __init__(
        self,
        experts: ExpertBank,
        router: torch.nn.Module,
        *,
        top_k: int = 2,
        competition: Competition | None = None,
        balance: float = 0.0,
    ) -> None:
        super().__init__()
        self.experts, self.router = experts, router
        self.top_k, self.competition, self.balance = top_k, competition, balance
        self.competes = False
        self.auxiliary: torch.Tensor | None = None

    def begin_step(self, step: int, steps: int) -> None:
        """Decide whether the layer competes in step ``step`` (from 0) of ``steps``."""
        self.competes = self.competition is not None and self.competition.heads(step, steps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (..., width) to the same shape."""
        z = x.reshape(-1, x.shape[-1])
        scores = self.router(z)
        self.auxiliary = None
        if not self.training:
            return self._mixture(z, scores).view(x.shape)
        if self.balance:
            self.auxiliary = self.balance * load_balance(scores, self.top_k)
        if not self.competes or self.competition is None:
            return self._mixture(z, scores).view(x.shape)
        how = self.competition
        # the router's objective moves the router alone: the tokens it sees are detached
        own = self.router(z.detach()) if how.reading == "paper" else scores
        loss = how.weight * self._router_loss(z, own, how.reading)
        self.auxiliary = loss if self.auxiliary is None else self.auxiliary + loss
        if how.output == "competition":
            return self._won(z).view(x.shape)
        # the value of the scores, with alpha times their gradient with respect to the router
        return self._mixture(z, scores + (how.alpha - 1) * (own - own.detach())).view(x.shape)

    def _router_loss(self, z: torch.Tensor, scores: torch.Tensor, reading: Reading) -> torch.Tensor:
        if reading == "paper":
            return router_loss(scores, self.experts.norms(z), self.top_k)
        norms = torch.linalg.vector_norm(self.experts.every(z), dim=-1).t()
        return torch.nn.functional.mse_loss(scores.softmax(dim=1), policy(norms, self.top_k))

    def _mixture(self, z: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        best, index = scores.topk(self.top_k, dim=1)
        return self.experts(z, best.softmax(dim=1), index)

    def _won(self, z: torch.Tensor) -> torch.Tensor:
        """Return the mixture of the winners of the competition, with gradients through their norms (section 3.1)."""
        outputs = self.experts.every(z)
        best, index = torch.linalg.vector_norm(outputs, dim=-1).t().topk(self.top_k, dim=1)
        chosen = outputs[index, torch.arange(z.shape[0], device=z.device)[:, None]]
        return (chosen * best.softmax(dim=1)[..., None]).sum(dim=1)


def policy(scores: torch.Tensor, top_k: int) -> torch.Tensor:
    """Return softmax(TopK(s, K)) as rows (T, N) with N - K zeros, equation 1."""
    best, index = scores.topk(top_k, dim=1)
    return torch.zeros_like(scores).scatter(1, index, best.softmax(dim=1))


def router_loss(scores: torch.Tensor, competition: torch.Tensor, top_k: int) -> torch.Tensor:
    """Return L_R, the mean squared difference (over tokens and experts) of the two policies, equation 3."""
    return torch.nn.functional.mse_loss(policy(scores, top_k), policy(competition, top_k))


def load_balance(scores: torch.Tensor, top_k: int) -> torch.Tensor:
    """Return N sum_i (share of the assignments to i) (mean probability of i), 1 for an even load."""
    experts = scores.shape[1]
    sent = torch.bincount(scores.topk(top_k, dim=1).indices.reshape(-1), minlength=experts)
    return experts * (sent / sent.sum() * scores.softmax(dim=1).mean(dim=0)).sum()


class ExpertBank(torch.nn.Module):
    """N experts g(z; W_i) = W_i2' relu(W_i1' z + b_i1) + b_i2 of ``hidden`` units.

    Weights are uniform on +-1/sqrt(inputs), drawn with NumPy: a replicate is the same with every version of PyTorch.
    """

    def __init__(self, width: int, hidden: int, experts: int, rng: np.random.Generator) -> None:
        super().__init__()

        def uniform(inputs: int, *size: int) -> torch.nn.Parameter:
            bound = inputs**-0.5
            return torch.nn.Parameter(torch.from_numpy(rng.uniform(-bound, bound, size).astype(np.float32)))

        self.first, self.first_bias = uniform(width, experts, width, hidden), uniform(width, experts, hidden)
        self.second, self.second_bias = uniform(hidden, experts, hidden, width), uniform(hidden, experts, width)

    def _weights(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        return self.first, self.first_bias, self.second, self.second_bias

    def forward(self, z: torch.Tensor, gates: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        """Return sum_k gates[t, k] g(z_t; W_index[t, k]), (T, width); on the CPU differentiable once.

        ``z`` (T, width): tokens; ``gates`` (T, K): weights of the chosen experts ``index`` (T, K).
        """
        if z.device.type == "cpu":
            return _Sorted.apply(z, gates, index, *self._weights())
        return self.padded(z, gates, index)

    def padded(self, z: torch.Tensor, gates: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        """Return the same as :meth:`forward`, computed as one batch of slices padded to the length of the longest."""
        tokens, top_k = index.shape
        flat = index.reshape(-1)
        order = flat.argsort(stable=True)
        counts = torch.bincount(flat, minlength=self.first.shape[0])
        longest = int(counts.max())
        sent = flat[order]
        rank = torch.arange(flat.shape[0], device=z.device) - (counts.cumsum(0) - counts)[sent]
        place = sent * longest + rank
        rows = z.new_zeros(counts.shape[0] * longest, z.shape[1]).index_copy(0, place, z[order // top_k])
        inside = torch.baddbmm(self.first_bias[:, None], rows.view(-1, longest, z.shape[1]), self.first).relu()
        out = torch.baddbmm(self.second_bias[:, None], inside, self.second).view(-1, z.shape[1])
        slots = out[place[_inverse(order)]].view(tokens, top_k, -1)
        return (slots * gates[..., None]).sum(dim=1)

    def every(self, z: torch.Tensor) -> torch.Tensor:
        """Return the outputs (N, T, width) of all experts for all tokens."""
        inside = torch.baddbmm(self.first_bias[:, None], z.expand(len(self.first), *z.shape), self.first).relu()
        return torch.baddbmm(self.second_bias[:, None], inside, self.second)

    @torch.no_grad()
    def norms(self, z: torch.Tensor) -> torch.Tensor:
        """Return the competition scores s_C (T, N), the norms of all experts' outputs (section 3.1), without gradient.

        On the CPU one expert at a time, whose outputs stay in the cache.
        """
        if z.device.type != "cpu":
            return torch.linalg.vector_norm(self.every(z), dim=-1).t()
        out = z.new_empty(len(self.first), z.shape[0])
        inside, output = z.new_empty(z.shape[0], self.first.shape[2]), torch.empty_like(z)
        for first, first_bias, second, second_bias, row in zip(*self._weights(), out, strict=True):
            torch.addmm(first_bias, z, first, out=inside).relu_()
            torch.addmm(second_bias, inside, second, out=output)
            torch.linalg.vector_norm(output, dim=1, out=row)
        return out.t()


def _inverse(order: torch.Tensor) -> torch.Tensor:
    """Return the inverse of a permutation."""
    back = torch.empty_like(order)
    back[order] = torch.arange(order.shape[0], device=order.device)
    return back


class _Sorted(torch.autograd.Function):
    """The sparse mixture on the CPU: sort the tokens by expert, then one slice after the other."""

    @staticmethod
    def forward(ctx: Any, z: Any, gates: Any, index: Any, first: Any, bias: Any, second: Any, second_bias: Any) -> Any:
        flat = index.reshape(-1)
        order = flat.argsort(stable=True)
        counts = torch.bincount(flat, minlength=first.shape[0]).tolist()
        token, back = order // index.shape[1], _inverse(order)
        rows = z.index_select(0, token)
        inside, outside = rows.new_empty(rows.shape[0], first.shape[2]), torch.empty_like(rows)
        slices = (rows.split(counts), inside.split(counts), outside.split(counts))
        for x, h, y, w, b, v, c in zip(*slices, first, bias, second, second_bias, strict=True):
            torch.addmm(b, x, w, out=h).relu_()
            torch.addmm(c, h, v, out=y)
        slots = outside.index_select(0, back).view(*index.shape, -1)
        ctx.save_for_backward(rows, inside, slots, gates, token, order, back, first, second)
        ctx.counts = counts
        return (slots * gates[..., None]).sum(dim=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        rows, inside, slots, gates, token, order, back, first, second = ctx.saved_tensors
        grad_gates = torch.linalg.vecdot(slots, grad[:, None])
        above = grad.index_select(0, token).mul_(gates.reshape(-1).index_select(0, order)[:, None])
        below = torch.empty_like(rows)
        grads = (torch.empty_like(first), first.new_empty(first.shape[0], first.shape[2]))
        grads_second = (torch.empty_like(second), second.new_empty(second.shape[0], second.shape[2]))
        slices = (part.split(ctx.counts) for part in (rows, inside, above, below))
        weights = (*grads, *grads_second, first.mT, second.mT)
        for x, h, g, out, w, b, v, c, first_t, second_t in zip(*slices, *weights, strict=True):
            torch.mm(h.t(), g, out=v)
            torch.sum(g, dim=0, out=c)
            hidden = torch.ops.aten.threshold_backward(torch.mm(g, second_t), h, 0)
            torch.mm(x.t(), hidden, out=w)
            torch.sum(hidden, dim=0, out=b)
            torch.mm(hidden, first_t, out=out)
        grad_z = below.index_select(0, back).view_as(slots).sum(dim=1)
        return grad_z, grad_gates, None, *grads, *grads_second
