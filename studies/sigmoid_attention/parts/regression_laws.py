"""A truth, a law of x and a law of the noise of the user's own: functions named by import path, checked when named.

In a study file each is ``"module:function"``, see :mod:`moestat.own`::

    def two_atoms(model):  # the truth: rows of atoms, in the order of the coordinates of the model
        theta = np.zeros((2, model.atom_size))
        theta[:, model.b], theta[:, model.eta] = [[1.0], [-1.0]], [[1.0, 0.0], [2.0, 0.5]]
        return theta

    def normal(rng, n, d):  # n points of the law of x
        return rng.standard_normal((n, d))

    def laplace(rng, n):  # n draws of mean 0 and variance 1, independent of x
        return rng.laplace(size=n) / np.sqrt(2.0)

The noise is multiplied by the root of the setting ``noise_variance``. It does not get x: the Fisher line, the sandwich
line and the widths of the near-minimisers are those of noise of one variance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from moestat import own, streams
from moestat.models.regression import Model
from moestat.models.truths import LawOfNoise, LawOfX, standard_normal, uniform

TRIED = 64  # points that a law of x is tried on
NOISE_DRAWS = 2**20  # draws on which mean and variance of a law of the noise are checked
MEAN, VARIANCE = 0.02, 0.05
"""Largest distances of the two from 0 and 1 there: the heavy tails of a t-distribution with 3 degrees stay below."""


def law_of_x(path: str, d: int) -> LawOfX:
    """Return the law of x that an import path names, or the uniform one of [-1, 1]^d for "".

    ``path``: of a function ``(rng, n, d) -> array (n, d)``.
    """
    return _law_of_x(path, own.imported(path), d) if path else uniform


@lru_cache(maxsize=16)
def _law_of_x(path: str, function: Callable[..., Any], d: int) -> LawOfX:
    def law(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        return _drawn(path, lambda: function(rng, n, d), "f(rng, n, d)", (n, d))

    _repeatable(path, lambda rng: law(rng, TRIED, d))
    return law


def law_of_noise(path: str) -> LawOfNoise:
    """Return the law of the noise that an import path names, or the standard normal one for "".

    ``path``: of a function ``(rng, n) -> array (n,)`` of mean 0 and variance 1.
    """
    return _law_of_noise(path, own.imported(path)) if path else standard_normal


@lru_cache(maxsize=16)
def _law_of_noise(path: str, function: Callable[..., Any]) -> LawOfNoise:
    def law(rng: np.random.Generator, n: int) -> np.ndarray:
        return _drawn(path, lambda: function(rng, n), "f(rng, n)", (n,))

    draws = _repeatable(path, lambda rng: law(rng, NOISE_DRAWS))
    mean, variance = float(draws.mean()), float(draws.var())
    if abs(mean) > MEAN or abs(variance - 1.0) > VARIANCE:
        raise ValueError(
            f"{path!r} has mean {mean:.3g} and variance {variance:.3g} over 2^20 draws; a law of the noise has mean 0 "
            "and variance 1, and is multiplied by the root of noise_variance"
        )
    return law


def true_atoms(truth: str | Sequence[Sequence[float]], model: Model) -> tuple[tuple[float, ...], ...]:
    """Return the atoms of an explicit truth, rows of P numbers; no rows for "".

    ``truth``: an import path of a function ``(model) -> array (N*, P)``, or the rows. ``model``: the true model; its
    docstring has the order of the coordinates.
    """
    if not truth:
        return ()
    if isinstance(truth, str):
        function = own.imported(truth)
        rows = _evaluated(truth, lambda: np.asarray(function(model), dtype=np.float64), "f(model)")
    else:
        widths = {len(row) for row in truth}
        rows = np.asarray(truth, dtype=np.float64) if len(widths) == 1 else np.zeros((len(truth), 0))
    name = repr(truth) if isinstance(truth, str) else "truth"
    if rows.ndim != 2 or rows.shape[1] != model.atom_size or not np.all(np.isfinite(rows)):
        parts = {"c": model.c, "b": model.b, "A": model.a_matrix, "a and beta": model.eta}
        order = ", ".join(f"{size} for {part}" for part, s in parts.items() if (size := s.stop - s.start))
        raise ValueError(f"{name} must be rows of {model.atom_size} finite numbers, one row for each atom: {order}")
    return tuple(tuple(float(value) for value in row) for row in rows)


def law_points(path: str, d: int, log2: int, purpose: str) -> np.ndarray:
    """Return 2**log2 points of an own law of x, always the same ones for a purpose; different purposes are independent.

    They stand for the law in population quantities, as Sobol points do for the uniform one; their error is that of
    independent draws.
    """
    rng = streams.generator(0, streams.key(points="own law", d=d, log2=log2), 0, purpose)
    return law_of_x(path, d)(rng, 2**log2, d)


def _repeatable(path: str, draw: Callable[[np.random.Generator], np.ndarray]) -> np.ndarray:
    first, second = draw(np.random.default_rng(0)), draw(np.random.default_rng(0))
    if not np.array_equal(first, second):
        raise ValueError(f"{path!r} gave different numbers for one seed; it must draw from the generator it is given")
    return first


def _drawn(path: str, draw: Callable[[], np.ndarray], call: str, shape: tuple[int, ...]) -> np.ndarray:
    values = _evaluated(path, lambda: np.asarray(draw(), dtype=np.float64), call)
    if values.shape != shape or not np.all(np.isfinite(values)):
        raise ValueError(f"{path!r} must return finite numbers of shape {shape} for {call}; it gave {values.shape}")
    return values


def _evaluated(path: str, function: Callable[[], np.ndarray], call: str) -> np.ndarray:
    try:
        return function()
    except Exception as error:  # the user's function can fail in any way
        raise ValueError(f"{path!r} cannot be evaluated as {call}: {type(error).__name__}: {error}") from error
