"""Routers of sparse mixtures of experts: scores of the experts for a token (compete-smoe paper, Table 1).

A router maps tokens (T, width) to scores (T, N); the gate is the softmax of the K largest, equation 2. Routers that
change in the course of the training have ``begin_step(step, steps)``, which is a function of the step alone: a run
that continues from a checkpoint routes as one that never stopped.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from moestat import own
from studies.compete_smoe.parts import own_router

Kind = Literal["smoe", "smoe_fixed", "xmoe", "stable_moe", "compete_smoe"]
Reading = Literal["paper", "published"]
"""Of the layer: as in the paper and the papers that it cites, or as in the code that its authors published."""


class LinearRouter(torch.nn.Module):
    """Scores z' W_r (SMoE; also the router that learns the competition); frozen, it is that of SMoE-Fixed.

    Parameters
    ----------
    width, experts : int
        Dimension of a token, N.
    rng : numpy.random.Generator
        Draws W_r, uniform on +-1/sqrt(width).
    frozen : bool
        Whether W_r keeps its value (it gets no gradient; the tokens do).
    """

    def __init__(self, width: int, experts: int, rng: np.random.Generator, *, frozen: bool = False) -> None:
        super().__init__()
        bound = width**-0.5
        start = rng.uniform(-bound, bound, (width, experts)).astype(np.float32)
        self.weight = torch.nn.Parameter(torch.from_numpy(start), requires_grad=not frozen)
        self.frozen = frozen

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """Return the scores (T, N) of tokens (T, width)."""
        return z @ (self.weight.detach() if self.frozen else self.weight)


class StableRouter(LinearRouter):
    """StableMoE (Dai et al. 2022): in stage 1 router and experts are trained, in stage 2 the router is frozen.

    The original distils its router into a smaller one in stage 1 and balances its load; neither is done here. The
    compete-smoe paper (section 6.1) describes a stage 1 of the router alone, which its source does not have.

    Parameters
    ----------
    stage_one : float
        Share of the steps that are stage 1; Dai et al. train 6 000 of 60 000 steps so.
    """

    def __init__(self, width: int, experts: int, rng: np.random.Generator, *, stage_one: float = 0.1) -> None:
        super().__init__(width, experts, rng)
        self.stage_one = stage_one

    def begin_step(self, step: int, steps: int) -> None:
        """Set the stage of step ``step`` (from 0) of ``steps``."""
        self.frozen = step >= self.stage_one * steps


class CosineRouter(torch.nn.Module):
    """XMoE (Chi et al. 2022): cosines of a low-dimensional projection and the experts' embeddings over a temperature.

    The projection has N/2 dimensions and the temperature, which is learnt, starts at 0.3, as there.
    """

    def __init__(self, width: int, experts: int, rng: np.random.Generator) -> None:
        super().__init__()
        dimension = max(2, experts // 2)
        bound = width**-0.5
        down = rng.uniform(-bound, bound, (width, dimension)).astype(np.float32)
        embeddings = rng.standard_normal((dimension, experts)).astype(np.float32)
        self.down = torch.nn.Parameter(torch.from_numpy(down))
        self.embeddings = torch.nn.Parameter(torch.from_numpy(embeddings))
        self.log_temperature = torch.nn.Parameter(torch.tensor(np.log(0.3), dtype=torch.float32))

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """Return the scores (T, N) of tokens (T, width)."""
        unit = torch.nn.functional.normalize
        return unit(z @ self.down, dim=1) @ unit(self.embeddings, dim=0) / self.log_temperature.exp()


class UnitRouter(torch.nn.Module):
    """Inner products with experts' embeddings of norm 1: XMoE and StableMoE in the published code of CompeteSMoE.

    There XMoE projects a token to 8 dimensions and StableMoE does not; neither token nor projection is normalised, no
    temperature divides the scores, and StableMoE's router learns to the end.

    Parameters
    ----------
    width, experts : int
        Dimension of a token, N.
    rng : numpy.random.Generator
        Draws the weights.
    dimension : int, optional
        Of the projection; without it the embeddings are as wide as the token.
    """

    def __init__(self, width: int, experts: int, rng: np.random.Generator, *, dimension: int | None = None) -> None:
        super().__init__()
        self.down: torch.nn.Parameter | None = None
        if dimension is not None:
            bound = width**-0.5
            self.down = torch.nn.Parameter(
                torch.from_numpy(rng.uniform(-bound, bound, (width, dimension)).astype(np.float32))
            )
        embeddings = rng.standard_normal((dimension or width, experts)).astype(np.float32)
        self.embeddings = torch.nn.Parameter(torch.from_numpy(embeddings))

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """Return the scores (T, N) of tokens (T, width)."""
        return (z if self.down is None else z @ self.down) @ torch.nn.functional.normalize(self.embeddings, dim=0)


def make(
    kind: str, width: int, experts: int, rng: np.random.Generator, *, stage_one: float = 0.1, reading: Reading = "paper"
) -> torch.nn.Module:
    """Return the router of a method; SMoE, SMoE-Fixed, StableMoE and CompeteSMoE start from the same weights.

    Parameters
    ----------
    kind : str
        One of :data:`Kind`, or the import path of a router of one's own.
    width, experts : int
        Dimension of a token, N.
    rng : numpy.random.Generator
        Draws the weights.
    stage_one : float
        Of StableMoE.
    reading : {"paper", "published"}
        Whose XMoE and StableMoE.
    """
    if own.is_path(kind):
        return own_router.make(kind, width, experts, rng)
    if reading == "published" and kind in ("xmoe", "stable_moe"):
        return UnitRouter(width, experts, rng, dimension=8 if kind == "xmoe" else None)
    if kind == "xmoe":
        return CosineRouter(width, experts, rng)
    if kind == "stable_moe":
        return StableRouter(width, experts, rng, stage_one=stage_one)
    return LinearRouter(width, experts, rng, frozen=kind == "smoe_fixed")
