r"""Derivatives of an expert in its parameters, up to order two: in closed form, or of any function by Cauchy's formula.

A numerical dependency is a singular value at rounding level, so derivatives of a user's function must be exact to
rounding as well. Where the function takes complex parameters, its Taylor coefficients are Fourier coefficients on a
circle, which loses no digits. Where it does not, central differences of order eight are the fallback. Both are done
for two step sizes: points where they disagree (next to a kink) are left out, and what disagreement is left sets the
level below which a singular value counts as zero.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from moestat.models import experts

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""E(x, eta): points (m, d) and parameters (size,) to values (m,)."""

ROUNDING = 1e-13
CIRCLE = 32
RADIUS = 0.05
STEP = 0.01
KINK = 1e-6


@dataclass(frozen=True)
class Jet:
    """Values (m,), first (m, E) and second (m, E, E) derivatives of an expert in its parameters, at m points."""

    value: np.ndarray
    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True)
class Parametric:
    """An expert whose derivatives can be had."""

    names: tuple[str, ...]  #: Names of its parameters.
    jet: Callable[[np.ndarray, np.ndarray], tuple[Jet, np.ndarray, float]]  #: And usable points, relative error.
    two_layer: bool  #: Whether it is (lambda) phi(a'x + beta) with parameters a, beta (, lambda).
    scaled: int  #: Number of parameters, from the first, that the expert phi(a'x + beta) may be homogeneous in.


def activation(name: str, power: int, h: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return phi, phi' and phi'' of a named expert at h."""
    if name == "tanh":
        t = np.tanh(h)
        slope = 1.0 - t * t
        return t, slope, -2.0 * t * slope
    return experts.activation(name, h, power=power, order=2)


NAMES = (*experts.EXPERTS, "tanh")


def two_layer(name: str, d: int, power: int, outer_scale: bool) -> Parametric:
    """Return the expert phi(a'x + beta), or lambda phi(a'x + beta), with derivatives in closed form."""

    def jet(x: np.ndarray, eta: np.ndarray) -> tuple[Jet, np.ndarray, float]:
        h = x @ eta[:d] + eta[d]
        return assemble(x, activation(name, power, h), eta[-1] if outer_scale else None), np.ones(len(x), bool), 0.0

    slopes = ("a",) if d == 1 else tuple(f"a{k + 1}" for k in range(d))
    return Parametric((*slopes, "beta", *(("lambda",) if outer_scale else ())), jet, True, d + 1)


def assemble(x: np.ndarray, phi: tuple[np.ndarray, ...], scale: float | None) -> Jet:
    """Return the jet of (scale) phi(a'x + beta) from phi, phi' and phi'' at h."""
    e = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    value, first = phi[0], phi[1][:, None] * e
    second = phi[2][:, None, None] * e[:, :, None] * e[:, None, :]
    if scale is None:
        return Jet(value, first, second)
    size = e.shape[1] + 1
    wide = np.zeros((len(x), size, size))
    wide[:, :-1, :-1] = scale * second
    wide[:, :-1, -1] = wide[:, -1, :-1] = first
    return Jet(scale * value, np.concatenate([scale * first, value[:, None]], axis=1), wide)


def numerical(function: Function, names: tuple[str, ...]) -> Parametric:
    """Return an expert from a function alone; see the module's text."""

    def jet(x: np.ndarray, eta: np.ndarray) -> tuple[Jet, np.ndarray, float]:
        rule, step = (_circle, RADIUS) if _takes_complex(function, x, eta) else (_differences, STEP)
        fine, coarse = _jet(function, rule, x, eta, step), _jet(function, rule, x, eta, 1.5 * step)
        scale = np.max(np.abs(fine.second), initial=0.0) + np.max(np.abs(fine.first)) + np.max(np.abs(fine.value))
        gap = np.max(np.abs(fine.second - coarse.second), axis=(1, 2)) + np.max(
            np.abs(fine.first - coarse.first), axis=1
        )
        usable = gap <= KINK * scale
        error = float(np.max(gap[usable], initial=0.0) / scale)
        return fine, usable, error

    return Parametric(names, jet, False, len(names))


def _takes_complex(function: Function, x: np.ndarray, eta: np.ndarray) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            value = np.asarray(function(x, eta + 1e-3j))
    except (TypeError, ValueError, np.exceptions.ComplexWarning):
        return False
    return np.iscomplexobj(value) and bool(np.any(np.imag(value) != 0))


Rule = Callable[[Function, np.ndarray, np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]]


def _jet(function: Function, rule: Rule, x: np.ndarray, eta: np.ndarray, step: float) -> Jet:
    """Return the jet from second-order expansions along the axes and along sums of two axes."""
    size = eta.size
    axes = np.eye(size)
    value = np.asarray(function(x, eta), dtype=np.float64)
    first, own = zip(*(rule(function, x, eta, axes[k], step) for k in range(size)), strict=True)
    second = np.empty((len(x), size, size))
    for j in range(size):
        second[:, j, j] = own[j]
        for k in range(j):
            both = rule(function, x, eta, axes[j] + axes[k], step)[1]
            second[:, j, k] = second[:, k, j] = 0.5 * (both - own[j] - own[k])
    return Jet(value, np.stack(first, axis=1), second)


def _circle(
    function: Function, x: np.ndarray, eta: np.ndarray, direction: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return first and second derivatives along a direction, by the trapezoidal rule in Cauchy's formula."""
    angles = 2 * np.pi * np.arange(CIRCLE) / CIRCLE
    values = np.stack([function(x, eta + radius * np.exp(1j * t) * direction) for t in angles])
    first, second = ((np.exp(-1j * k * angles) @ values).real / (CIRCLE * radius**k) for k in (1, 2))
    return first, 2.0 * second


_FIRST = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])
_SECOND = np.array([8 / 5, -1 / 5, 8 / 315, -1 / 560])


def _differences(
    function: Function, x: np.ndarray, eta: np.ndarray, direction: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return first and second derivatives along a direction by central differences of order eight."""
    centre = function(x, eta)
    ahead = np.stack([function(x, eta + k * step * direction) for k in range(1, 5)])
    behind = np.stack([function(x, eta - k * step * direction) for k in range(1, 5)])
    first = _FIRST @ (ahead - behind) / step
    return first, _SECOND @ (ahead + behind - 2.0 * centre) / step**2
