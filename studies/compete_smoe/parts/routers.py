"""Routers of sparse mixtures of experts: scores of the experts for a token (compete-smoe paper, Table 1).

A router maps tokens (T, width) to scores (T, N); the gate is the softmax of the K largest, equation 2. Routers that
change in the course of the training have ``begin_step(step, steps)``, which is a function of the step alone: a run
that continues from a checkpoint routes as one that never stopped.

A router of one's own is a class or function of (width, experts, rng), named ``"module:name"`` and called once for each
SMoE layer. It returns a module from tokens to scores. What that adds to the task's loss it leaves in ``auxiliary``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Literal

import numpy as np
import torch

from moestat import own

Kind = Literal["smoe", "smoe_fixed", "xmoe", "stable_moe", "compete_smoe"]
Reading = Literal["paper", "published"]
"""Of the layer: as in the paper and the papers that it cites, or as in the code that its authors published."""
_TOKENS = 3


class LinearRouter(torch.nn.Module):
    """Scores z' W_r (SMoE; also the router that learns the competition); ``frozen``, it is that of SMoE-Fixed.

    W_r is uniform on +-1/sqrt(width); frozen, it gets no gradient, and the tokens do.
    """

    def __init__(self, width: int, experts: int, rng: np.random.Generator, *, frozen: bool = False) -> None:
        super().__init__()
        self.weight = _uniform(rng, width, experts).requires_grad_(not frozen)
        self.frozen = frozen

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """Return the scores (T, N) of tokens (T, width)."""
        return z @ (self.weight.detach() if self.frozen else self.weight)


class StableRouter(LinearRouter):
    """StableMoE (Dai et al. 2022): in stage 1 router and experts are trained, in stage 2 the router is frozen.

    The original distils its router into a smaller one in stage 1 and balances its load; neither is done here. The
    compete-smoe paper (section 6.1) describes a stage 1 of the router alone, which its source does not have.
    ``stage_one``: share of the steps that are stage 1; Dai et al. train 6 000 of 60 000 steps so.
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
        self.down = _uniform(rng, width, dimension)
        self.embeddings = _normal(rng, dimension, experts)
        self.log_temperature = torch.nn.Parameter(torch.tensor(np.log(0.3), dtype=torch.float32))

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """Return the scores (T, N) of tokens (T, width)."""
        unit = torch.nn.functional.normalize
        return unit(z @ self.down, dim=1) @ unit(self.embeddings, dim=0) / self.log_temperature.exp()


class UnitRouter(torch.nn.Module):
    """Inner products with experts' embeddings of norm 1: XMoE and StableMoE in the published code of CompeteSMoE.

    There XMoE projects a token to 8 dimensions (``dimension``) and StableMoE does not; neither token nor projection is
    normalised, no temperature divides the scores, and StableMoE's router learns to the end.
    """

    def __init__(self, width: int, experts: int, rng: np.random.Generator, *, dimension: int | None = None) -> None:
        super().__init__()
        self.down = None if dimension is None else _uniform(rng, width, dimension)
        self.embeddings = _normal(rng, dimension or width, experts)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """Return the scores (T, N) of tokens (T, width)."""
        return (z if self.down is None else z @ self.down) @ torch.nn.functional.normalize(self.embeddings, dim=0)


def _uniform(rng: np.random.Generator, width: int, columns: int) -> torch.nn.Parameter:
    bound = width**-0.5
    return torch.nn.Parameter(torch.from_numpy(rng.uniform(-bound, bound, (width, columns)).astype(np.float32)))


def _normal(rng: np.random.Generator, *size: int) -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.from_numpy(rng.standard_normal(size).astype(np.float32)))


def make(
    kind: str, width: int, experts: int, rng: np.random.Generator, *, stage_one: float = 0.1, reading: Reading = "paper"
) -> torch.nn.Module:
    """Return the router of a method; SMoE, SMoE-Fixed, StableMoE and CompeteSMoE start from the same weights.

    ``kind``: one of :data:`Kind`, or the import path of a router of one's own; ``width``, ``experts``: dimension of a
    token, N; ``rng`` draws the weights; ``stage_one``: of StableMoE; ``reading``: whose XMoE and StableMoE.
    """
    if own.is_path(kind):
        return _own(kind, width, experts, rng)
    if reading == "published" and kind in ("xmoe", "stable_moe"):
        return UnitRouter(width, experts, rng, dimension=8 if kind == "xmoe" else None)
    if kind == "xmoe":
        return CosineRouter(width, experts, rng)
    if kind == "stable_moe":
        return StableRouter(width, experts, rng, stage_one=stage_one)
    return LinearRouter(width, experts, rng, frozen=kind == "smoe_fixed")


def _own(path: str, width: int, experts: int, rng: np.random.Generator) -> torch.nn.Module:
    """Return the router that an import path names, once it has been seen to score tokens."""
    factory = _load(path)
    try:
        router = factory(width, experts, rng)
    except Exception as error:  # the user's code can fail in any way
        raise ValueError(f"{path!r} cannot be called with (width, experts, rng): {_told(error)}") from error
    if not isinstance(router, torch.nn.Module):
        raise ValueError(f"{path!r} returned a {type(router).__name__}; it must return a torch.nn.Module")
    router = router.float()
    try:
        with torch.no_grad():
            scores = router(torch.linspace(-1.0, 1.0, _TOKENS * width).view(_TOKENS, width))
    except Exception as error:
        raise ValueError(f"{path!r} cannot score tokens of shape ({_TOKENS}, {width}): {_told(error)}") from error
    if not isinstance(scores, torch.Tensor) or scores.shape != (_TOKENS, experts):
        got = tuple(scores.shape) if isinstance(scores, torch.Tensor) else type(scores).__name__
        raise ValueError(f"{path!r} gives scores {got} for tokens ({_TOKENS}, {width}); needed is {(_TOKENS, experts)}")
    if not bool(torch.isfinite(scores).all()):
        raise ValueError(f"{path!r} gives scores that are not finite")
    return router


def _load(path: str) -> Callable[[int, int, np.random.Generator], torch.nn.Module]:
    module_name, _, name = path.partition(":")
    try:
        factory = getattr(importlib.import_module(module_name), name)
    except Exception as error:  # a user's module can fail at import in any way
        raise ValueError(f"{path!r} cannot be imported: {_told(error)}") from error
    if not callable(factory):
        raise ValueError(f"{path!r} is a {type(factory).__name__}; it must be a class or function")
    return factory


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
