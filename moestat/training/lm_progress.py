"""How far the training of a language model is, in lines on the standard error stream."""

from __future__ import annotations

import sys
import time

import numpy as np

from moestat.training.lm_plan import Plan

LINE_EVERY = 60.0
"""Seconds between two lines."""


class Meter:
    """Says now and then how far a training run is; nothing of it enters the results.

    Parameters
    ----------
    title : str
        Names the run; nothing is said without it.
    plan : Plan
        What is to be done.
    done : int
        Steps that were done before.
    """

    def __init__(self, title: str, plan: Plan, done: int = 0) -> None:
        self.title, self.plan, self.done = title, plan, done
        self.began = self.last = time.monotonic()

    def tick(self, step: int, valid: np.ndarray) -> None:
        """Print a line if a minute has passed since the last one."""
        now = time.monotonic()
        if self.title and now - self.last >= LINE_EVERY and step < self.plan.steps:
            self.last = now
            print(self.line(step, valid), file=sys.stderr, flush=True)

    def line(self, step: int, valid: np.ndarray) -> str:
        """Return step, symbols per second, time left and last validation loss in one line."""
        elapsed = max(time.monotonic() - self.began, 1e-9)
        speed = (step - self.done) * self.plan.batch * self.plan.length / elapsed
        left = elapsed / max(1, step - self.done) * (self.plan.steps - step)
        known = valid[np.isfinite(valid)]
        loss = f", validation {known[-1]:.3f} nats" if known.size else ""
        minutes, seconds = divmod(round(left), 60)
        return (
            f"{self.title}: step {step} of {self.plan.steps}, {speed:,.0f} tokens/s, "
            f"about {minutes} min {seconds:02d} s left{loss}"
        )
