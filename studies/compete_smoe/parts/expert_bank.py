"""N two-layer experts, applied to the tokens that were sent to them: sparse, and all of them for a competition.

On the CPU the tokens are sorted by expert and every expert works on its slice; the gradient is written out, because
autograd's bookkeeping of a slice costs as much as its products. On other devices the slices are padded to one length
and multiplied as a batch, which needs one number from the device and no loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable


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
