"""Cross-entropy of a linear output layer without ever holding all logits.

The gradient of the loss is known as soon as the logits are, so both are computed in the forward pass, a block of rows
at a time, in place: half the time and a fraction of the memory of the textbook composition.
"""

from __future__ import annotations

from typing import Any

import torch

ROWS = 96
"""Rows per block: the block's logits stay in the cache. Fixed, so that results do not depend on anything else."""


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, target: torch.Tensor) -> Any:
        count = x.shape[0]
        grad_x = torch.empty_like(x)
        grad_weight, grad_bias, loss = torch.zeros_like(weight), torch.zeros_like(bias), x.new_zeros(())
        for start in range(0, count, ROWS):
            part, wanted = x[start : start + ROWS], target[start : start + ROWS, None]
            z = torch.addmm(bias, part, weight.t())
            z.sub_(z.amax(dim=1, keepdim=True))
            at_target = z.gather(1, wanted)
            total = z.exp_().sum(dim=1, keepdim=True)
            loss += (total.log() - at_target).sum()
            z.div_(total)
            z.scatter_add_(1, wanted, torch.full_like(at_target, -1.0))
            torch.mm(z, weight, out=grad_x[start : start + ROWS])
            grad_weight.addmm_(z.t(), part)
            grad_bias += z.sum(dim=0)
        ctx.save_for_backward(grad_x / count, grad_weight / count, grad_bias / count)
        return loss / count

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        grad_x, grad_weight, grad_bias = ctx.saved_tensors
        return grads[0] * grad_x, grads[0] * grad_weight, grads[0] * grad_bias, None


def linear_cross_entropy(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, target: torch.Tensor
) -> torch.Tensor:
    """Return the mean cross-entropy in nats of ``softmax(x weight' + bias)`` at the targets.

    It is differentiable once in x (rows, d), weight (classes, d) and bias (classes,); ``target`` (rows,) is int64.
    """
    return _CrossEntropy.apply(x, weight, bias, target)
