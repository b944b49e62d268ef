r"""Expert activations :math:`\phi` of the experts :math:`E(x, \eta) = \phi(a'x + \beta)` and two derivatives.

An expert of the user's own is named by the import path of its function, ``"module:function"`` (see
:mod:`moestat.own`). A new one of ours is one function below plus its name in ``ACTIVATIONS``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, get_args

import array_api_compat
import numpy as np
from scipy import special

from moestat import own
from moestat.arrays import Array, clamp, namespace, to_numpy

Expert = Literal["relu", "gelu", "linear", "polynomial"]
EXPERTS: tuple[Expert, ...] = get_args(Expert)
HOMOGENEOUS: tuple[Expert, ...] = ("relu", "linear", "polynomial")
"""Experts with phi(t h) = t^degree phi(h) for t > 0: an atom splits exactly into several of them."""

Smoothing = float | Array
"""Half width tau of the ReLU's quadratic blend: a number, or an array that broadcasts with h."""

_INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)


def expert_features(x: Array) -> Array:
    """Return the features [x, 1] that the pre-activation h = a'x + beta is linear in.

    Takes ``x`` (..., n, d). Returns (..., d + 1, n): features before samples, so that ``eta @ features`` gives h.
    """
    xp = namespace(x)
    xt = xp.matrix_transpose(x)
    return xp.concat([xt, xp.ones_like(xt[..., :1, :])], axis=-2)


def activation(expert: str, h: Array, *, tau: Smoothing = 0.0, power: int = 1, order: int = 0) -> tuple[Array, ...]:
    """Return phi(h) and its first ``order`` derivatives, at most two, of pre-activations h = a'x + beta.

    ``tau``, for the ReLU only, a number or an array that broadcasts with h: on ``|h| < tau`` the kink is replaced by
    ``(h + tau)^2 / (4 tau)``, which has a continuous first derivative; 0 is the exact ReLU, with phi'(0) = phi''(0) =
    0. ``power`` is the degree of the polynomial expert.
    """
    if expert not in ACTIVATIONS:
        return own.load(expert)(h, order)
    return ACTIVATIONS[expert](h, tau, power, order)


def _relu(h: Array, tau: Smoothing, power: int, order: int) -> tuple[Array, ...]:
    xp = namespace(h)
    if isinstance(tau, float | int) and tau == 0:
        positive = xp.astype(h > 0, h.dtype)
        return (h * positive, positive, xp.zeros_like(h))[: order + 1]
    half = xp.asarray(tau, dtype=h.dtype) if isinstance(tau, float | int) else tau
    smooth = half > 0
    # where tau is 0 the ramp is a step: 1e200 h is far outside [0, 1] for every h but 0
    rate = 0.5 / xp.where(smooth, half, xp.ones_like(half))
    steep = xp.where(smooth, rate, xp.full_like(rate, 1e200))
    ramp = clamp(h * steep + 0.5 * xp.astype(smooth, h.dtype), 0.0, 1.0)
    value = half * (ramp * ramp) + clamp(h - half, 0.0, None)
    if order < 2:
        return (value, ramp)[: order + 1]
    inside = xp.astype((ramp > 0) & (ramp < 1), h.dtype)
    return value, ramp, inside * xp.where(smooth, rate, xp.zeros_like(rate))


def _normal_cdf(h: Array) -> Array:
    """Standard normal distribution function; the array API standard has no erf."""
    if isinstance(h, np.ndarray):
        return special.ndtr(h)
    if array_api_compat.is_cupy_array(h):
        from cupyx.scipy import special as cuda_special

        return cuda_special.ndtr(h)
    return namespace(h).asarray(special.ndtr(to_numpy(h)), dtype=h.dtype)


def _gelu(h: Array, tau: Smoothing, power: int, order: int) -> tuple[Array, ...]:
    xp = namespace(h)
    cdf = _normal_cdf(h)
    if order == 0:
        return (h * cdf,)
    density = xp.exp(-0.5 * h * h) * _INV_SQRT_2PI
    return (h * cdf, cdf + h * density, density * (2.0 - h * h))[: order + 1]


def _linear(h: Array, tau: Smoothing, power: int, order: int) -> tuple[Array, ...]:
    xp = namespace(h)
    return (h, xp.ones_like(h), xp.zeros_like(h))[: order + 1]


def _polynomial(h: Array, tau: Smoothing, power: int, order: int) -> tuple[Array, ...]:
    powers = [namespace(h).ones_like(h)]
    for _ in range(power):
        powers.append(powers[-1] * h)
    first = power * powers[power - 1]
    second = power * (power - 1) * powers[max(power - 2, 0)]
    return (powers[power], first, second)[: order + 1]


ACTIVATIONS: dict[str, Callable[[Array, Smoothing, int, int], tuple[Array, ...]]] = {
    "relu": _relu,
    "gelu": _gelu,
    "linear": _linear,
    "polynomial": _polynomial,
}
