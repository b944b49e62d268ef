"""A user's own router: a class or function of (width, experts, rng), named by its import path.

Wherever a router is a name, ``"module:name"`` names one of the user's. It is called once for each SMoE layer, and
returns a module that maps tokens (T, width) to scores (T, N)::

    class Steep(torch.nn.Module):
        def __init__(self, width, experts, rng):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.from_numpy(rng.standard_normal((width, experts))))

        def forward(self, z):
            return z @ self.weight

What the module adds to the task's loss it leaves in ``auxiliary``; a method ``begin_step(step, steps)`` is called
before every step.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np
import torch

_TOKENS = 3


def make(path: str, width: int, experts: int, rng: np.random.Generator) -> torch.nn.Module:
    """Return the router that an import path names, once it has been seen to score tokens.

    ``path``: ``"package.module:name"``; ``width``, ``experts``: dimension of a token, N; ``rng``: what the router draws
    its first weights from, so that a replicate is the same everywhere.
    """
    factory = load(path)
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


def load(path: str) -> Callable[[int, int, np.random.Generator], torch.nn.Module]:
    """Return the class or function that an import path names."""
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
