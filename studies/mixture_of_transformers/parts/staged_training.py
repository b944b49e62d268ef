"""Algorithm 1 of "Mixture-of-Transformers Learn Faster": three stages of the experts, the router all along.

Stage I trains the feed-forward weights by normalised gradient descent with frozen attention, eq. (8); stage II trains
the attention by gradient descent with frozen weights, eq. (9); stage III trains the weights again, eq. (10). At every
step the samples are routed by noisy scores and the router takes a gradient step, eq. (6).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from moestat.arrays import Array, namespace
from moestat.fit import kernel
from moestat.models.logistic import logistic_slope
from studies.mixture_of_transformers.parts.model import Mixture, MultiHead

LEAST = 1e-200
"""Samples with a smaller slope than this are left out of a gradient: their products would be denormal numbers."""

Observer = Callable[[int], None]  # called with the number of steps that were taken; it looks at the model itself
StepRule = Literal["gd", "normalised", "adam"]


@dataclass(frozen=True)
class Schedule:
    """What is trained when, and how fast."""

    specialised: int  # specialised, attended, end: T1, T2 and T: the last step of each stage
    attended: int
    end: int
    specialise_rate: float  # eta of stage I, eta_a, eta_r, and the rate of stage III (eta again in the paper)
    attention_rate: float
    router_rate: float
    tuning_rate: float
    tuning_rule: StepRule = "gd"  # step rule of stage III; gradient descent in the paper


def train(
    model: Mixture | MultiHead,
    y: Array,
    schedule: Schedule,
    noise: Iterator[Array] | None,
    observe: Observer,
    at: Collection[int],
) -> None:
    """Train a model in place.

    ``model``: a mixture without attention trains its weights by the rule of stage III in stage II as well. ``y`` (B,
    n): labels, -1.0 or 1.0. ``noise`` (B, M, n): the perturbation r of each step. None: no router is trained, and the
    samples stay where they were sent. ``observe``: called as ``observe(t)`` after t steps, for every t in ``at``.
    ``at``: between 0 and T.
    """
    xp = namespace(y)
    wanted = set(at)
    # an expert's step is normalised over its own weights, eq. (8); the single network's over all
    own = (2,) if isinstance(model, Mixture) else tuple(range(1, len(model.weights.shape)))
    specialise = step_rule("normalised", schedule.specialise_rate, own)
    tune = step_rule(schedule.tuning_rule, schedule.tuning_rate, own)
    router = model if isinstance(model, Mixture) and noise is not None else None
    model.freeze()
    compiled = None
    if isinstance(model, Mixture) and isinstance(model.x, np.ndarray) and kernel.vector_bits():
        from studies.mixture_of_transformers.parts.compiled_steps import CompiledSteps  # needs numba

        compiled = CompiledSteps(model, y, LEAST)
    for t in range(schedule.end):
        if t in wanted:
            observe(t)
        moves_attention = model.kq is not None and schedule.specialised <= t < schedule.attended
        if moves_attention and model.features is not None:
            model.thaw()
        elif not moves_attention and model.features is None:
            model.freeze()
        drawn = next(noise) if router is not None and noise is not None else None
        by_weight: Array | None = None
        by_theta: Array | None = None
        if compiled is not None and not moves_attention:
            by_weight, by_theta = compiled.gradients(drawn)
        else:
            if router is not None:
                router.route(drawn)
            f = model.forward()
            slope = logistic_slope(y * f) * y / y.shape[1]
            slope = xp.where(xp.abs(slope) > LEAST, slope, xp.zeros_like(slope))
            if router is not None:
                by_theta = router.router_gradient(f, y)
            if moves_attention:
                model.kq = model.kq - schedule.attention_rate * model.attention_gradient(slope)
            else:
                by_weight = model.weight_gradient(slope)
        if by_weight is not None:
            model.weights = model.weights - (specialise if t < schedule.specialised else tune)(by_weight)
        if router is not None and by_theta is not None:
            router.theta = router.theta - schedule.router_rate * by_theta
    if model.features is None:
        model.freeze()
    if schedule.end in wanted:
        observe(schedule.end)


def step_rule(name: StepRule, rate: float, axes: tuple[int, ...]) -> Callable[[Array], Array]:
    """Return what takes a gradient to the step that is subtracted; axis 0 is the batch.

    ``axes``: what a normalised step, of length ``rate``, is normalised over; where the gradient is 0, there is none.
    """

    def normalised(gradient: Array) -> Array:
        xp = namespace(gradient)
        # scaled first: squares of gradients below 1e-160 would vanish
        largest = xp.max(xp.abs(gradient), axis=axes, keepdims=True)
        scaled = gradient / xp.where(largest > 0, largest, xp.ones_like(largest))
        norm = xp.sqrt(xp.sum(scaled * scaled, axis=axes, keepdims=True))
        return rate * scaled / xp.where(norm > 0, norm, xp.ones_like(norm))

    if name == "adam":
        return _Adam(rate)
    return normalised if name == "normalised" else lambda gradient: rate * gradient


class _Adam:
    """Adam (Kingma and Ba 2015) with its usual constants: beta = (0.9, 0.999), epsilon = 1e-8."""

    def __init__(self, rate: float) -> None:
        self.rate, self.taken = rate, 0
        self.mean: Array = 0.0
        self.square: Array = 0.0

    def __call__(self, gradient: Array) -> Array:
        xp = namespace(gradient)
        self.taken += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient * gradient
        mean = self.mean / (1 - 0.9**self.taken)
        return self.rate * mean / (xp.sqrt(self.square / (1 - 0.999**self.taken)) + 1e-8)
