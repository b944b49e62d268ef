"""Step rules of full-batch training: gradient descent, normalised gradient descent, Adam.

A rule maps a gradient to the step that is subtracted from the parameters; axis 0 is the batch, and members do not see
each other.
"""

from __future__ import annotations

from typing import Literal, Protocol

from moestat.arrays import Array, namespace

Name = Literal["gd", "normalised", "adam"]


class StepRule(Protocol):
    """What turns a gradient into a step."""

    def step(self, gradient: Array) -> Array:
        """Return what is subtracted from the parameters."""


class Descent:
    """Gradient descent: ``rate * gradient``."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def step(self, gradient: Array) -> Array:
        """Return the step for a gradient."""
        return self.rate * gradient


class Normalised:
    """Normalised gradient descent: steps of length ``rate`` over ``axes``; where the gradient is 0, none."""

    def __init__(self, rate: float, axes: tuple[int, ...]) -> None:
        self.rate, self.axes = rate, axes

    def step(self, gradient: Array) -> Array:
        """Return the step for a gradient."""
        xp = namespace(gradient)
        # scaled first: squares of gradients below 1e-160 would vanish
        largest = xp.max(xp.abs(gradient), axis=self.axes, keepdims=True)
        scaled = gradient / xp.where(largest > 0, largest, xp.ones_like(largest))
        norm = xp.sqrt(xp.sum(scaled * scaled, axis=self.axes, keepdims=True))
        return self.rate * scaled / xp.where(norm > 0, norm, xp.ones_like(norm))


class Adam:
    """Adam (Kingma and Ba 2015) with its usual constants: beta = (0.9, 0.999), epsilon = 1e-8."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.taken = 0
        self.mean: Array = 0.0
        self.square: Array = 0.0

    def step(self, gradient: Array) -> Array:
        """Return the step for a gradient."""
        xp = namespace(gradient)
        self.taken += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient * gradient
        mean = self.mean / (1 - 0.9**self.taken)
        return self.rate * mean / (xp.sqrt(self.square / (1 - 0.999**self.taken)) + 1e-8)


def rule(name: Name, rate: float, axes: tuple[int, ...]) -> StepRule:
    """Return a fresh rule by name; ``axes`` is what a normalised step is normalised over."""
    if name == "gd":
        return Descent(rate)
    if name == "normalised":
        return Normalised(rate, axes)
    if name == "adam":
        return Adam(rate)
    raise ValueError(f"the step rule is {name!r}; allowed are 'gd', 'normalised' and 'adam'")
