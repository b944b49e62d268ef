"""How a language model is trained: steps, batches, the schedule of the rate, when it is validated.

Sources: the sigmoid-attention paper, Table 3 (AdamW, warm-up, cosine to a tenth); CompeteSMoE, section 6.1 (Adam, the
rate falls as 1/sqrt(step), the weights with the lowest validation loss are tested).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

Schedule = Literal["cosine", "inverse_sqrt"]


@dataclass(frozen=True)
class Plan:
    """How a model is trained."""

    steps: int
    batch: int  #: Windows per step.
    length: int  #: Symbols per window.
    rate: float  #: The largest rate.
    #: After the warm-up, from ``rate``: half a cosine to ``final`` times it, or ``rate`` sqrt(warm-up / step).
    schedule: Schedule = "cosine"
    warmup: float = 0.2  #: Share of the steps in which the rate rises linearly.
    final: float = 0.1  #: Last rate of the cosine, as a share of ``rate``.
    betas: tuple[float, float] = (0.9, 0.95)  #: Of AdamW.
    decay: float = 1e-4  #: Weight decay of AdamW, of matrices only; 0 is Adam.
    clip: float = 1.0  #: Largest norm of the gradient.
    every: int = 100  #: Steps between two validations; there is one before the first and one after the last step too.
    validation: int = 0  #: Symbols of the validation part that are used, from its start; 0 for all.
    keep_best: bool = False  #: End with the weights of the lowest validation loss, not the last ones.

    def rate_at(self, step: int) -> float:
        """Return the rate of step 0..steps-1."""
        warm = max(1, round(self.warmup * self.steps))
        if step < warm:
            return self.rate * (step + 1) / warm
        if self.schedule == "inverse_sqrt":
            return self.rate * math.sqrt(warm / (step + 1))
        done = (step + 1 - warm) / max(1, self.steps - warm)
        return self.rate * (self.final + (1 - self.final) * 0.5 * (1 + math.cos(math.pi * done)))

    @property
    def checks(self) -> np.ndarray:
        """The numbers of steps after which the model is validated."""
        return np.unique(np.append(np.arange(0, self.steps + 1, self.every), self.steps))
