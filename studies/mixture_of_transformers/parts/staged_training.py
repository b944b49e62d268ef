"""Algorithm 1 of "Mixture-of-Transformers Learn Faster": three stages of the experts, the router all along.

Stage I trains the feed-forward weights by normalised gradient descent with frozen attention, eq. (8); stage II trains
the attention by gradient descent with frozen weights, eq. (9); stage III trains the weights again, eq. (10). At every
step the samples are routed by noisy scores and the router takes a gradient step, eq. (6). **Joint** training is the
rival of Fig. 5: weights, attention and router take a gradient step each, at every step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from moestat.arrays import Array, namespace
from moestat.fit import kernel
from moestat.models.logistic import logistic_slope
from studies.mixture_of_transformers.parts.model import Mixture
from studies.mixture_of_transformers.parts.multi_head import MultiHead
from studies.mixture_of_transformers.parts.step_rules import Descent, Name, rule

LEAST = 1e-200
"""Samples with a smaller slope than this are left out of a gradient: their products would be denormal numbers."""

Observer = Callable[[int], None]  # called with the number of steps that were taken; it looks at the model itself


@dataclass(frozen=True)
class Schedule:
    """What is trained when, and how fast.

    ``specialise_rate``, ``attention_rate``, ``router_rate``, ``tuning_rate``: eta of stage I, eta_a, eta_r, and the
    rate of stage III (eta again in the paper); ``tuning_router``: whether the router goes on in stage III (as in the
    paper), or routes without noise and stays as it is.
    """

    specialised: int  # specialised, attended, end: T1, T2 and T: the last step of each stage
    attended: int
    end: int
    specialise_rate: float
    attention_rate: float
    router_rate: float
    tuning_rate: float
    tuning_rule: Name = "gd"  # step rule of stage III; gradient descent in the paper
    tuning_router: Literal["on", "frozen"] = "on"
    joint: bool = False  # train all at once, by the rates of stages II and III


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
    has_attention = model.kq is not None
    whole = tuple(range(1, len(model.weights.shape)))
    # an expert's step is normalised over its own weights, eq. (8); the single network's over all
    own = (2,) if isinstance(model, Mixture) else whole
    specialise = rule("normalised", schedule.specialise_rate, own)
    tune = rule(schedule.tuning_rule, schedule.tuning_rate, own)
    attention = Descent(schedule.attention_rate)
    router = model if isinstance(model, Mixture) and noise is not None else None
    model.freeze()
    compiled = None
    if isinstance(model, Mixture) and isinstance(model.x, np.ndarray) and kernel.vector_bits():
        from studies.mixture_of_transformers.parts.compiled_steps import CompiledSteps  # needs numba

        compiled = CompiledSteps(model, y, LEAST)
    for t in range(schedule.end):
        if t in wanted:
            observe(t)
        moves_attention = has_attention and (schedule.joint or schedule.specialised <= t < schedule.attended)
        moves_weights = schedule.joint or not moves_attention
        if moves_attention and model.features is not None:
            model.thaw()
        elif not moves_attention and model.features is None:
            model.freeze()
        if router is not None and t == schedule.attended and schedule.tuning_router == "frozen" and not schedule.joint:
            router.route(None)
            router = None
        drawn = next(noise) if router is not None and noise is not None else None
        rule_now = specialise if t < schedule.specialised and not schedule.joint else tune
        by_weight: Array | None
        by_theta: Array | None
        if compiled is not None and not moves_attention:
            by_weight, by_theta = compiled.gradients(drawn)
        else:
            if router is not None:
                router.route(drawn)
            f = model.forward()
            slope = logistic_slope(y * f) * y / y.shape[1]
            slope = xp.where(xp.abs(slope) > LEAST, slope, xp.zeros_like(slope))
            by_weight = model.weight_gradient(slope) if moves_weights else None
            by_theta = None if router is None else router.router_gradient(f, y)
            if moves_attention:
                model.kq = model.kq - attention.step(model.attention_gradient(slope))
        if by_weight is not None:
            model.weights = model.weights - rule_now.step(by_weight)
        if router is not None and by_theta is not None:
            router.theta = router.theta - schedule.router_rate * by_theta
    if model.features is None:
        model.freeze()
    if schedule.end in wanted:
        observe(schedule.end)
