"""The sparse mixture of experts layer, and how competition trains its router (compete-smoe paper, sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from studies.compete_smoe.parts.expert_bank import ExpertBank
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
        scores = self._scores(z)
        self.auxiliary = None
        if not self.training:
            return self._mixture(z, scores).view(x.shape)
        if self.balance:
            self.auxiliary = self.balance * load_balance(scores, self.top_k)
        if not self.competes or self.competition is None:
            return self._mixture(z, scores).view(x.shape)
        how = self.competition
        # the router's objective moves the router alone: the tokens it sees are detached
        own = self._scores(z.detach()) if how.reading == "paper" else scores
        loss = how.weight * self._router_loss(z, own, how.reading)
        self.auxiliary = loss if self.auxiliary is None else self.auxiliary + loss
        if how.output == "competition":
            return self._won(z).view(x.shape)
        # the value of the scores, with alpha times their gradient with respect to the router
        return self._mixture(z, scores + (how.alpha - 1) * (own - own.detach())).view(x.shape)

    def _scores(self, z: torch.Tensor) -> torch.Tensor:
        """Return the router's scores, in single precision at least: ties in half of it would choose the experts."""
        if torch.is_autocast_enabled(z.device.type):
            with torch.autocast(z.device.type, enabled=False):
                return self.router(z.float())
        return self.router(z)

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
