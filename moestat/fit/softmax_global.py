"""The global maximum of the likelihood, with softmax gates: rounds of inserted components, until one is found again.

An over-fitted mixture has many maxima. The fit with two experts fewer, at most, has few: the experts of the best point
that is known are taken out one after the other, each time the one that costs least, and the rest goes up again. Each
round builds a fit from there: candidates for one more expert are screened or cut off from another one (both in
:mod:`moestat.fit.softmax_starts`), the best of them go up, the best distinct fits get another one or each other's, and
when the number is full each expert is exchanged once. A round knows nothing of the best point but that base, so that
coming to it again says something: the search ends when enough rounds have. Experts are exchanged in the best point as
well where a round has ended below it.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.fit.likelihood import LikelihoodFit, distinct
from moestat.fit.search_starts import without_one
from moestat.fit.softmax_mle import maximum_likelihood, rough_maxima
from moestat.fit.softmax_starts import cut_starts, inserted_starts

ROUNDS = 8  #: At most.
AGAIN = 0.1  #: Log-likelihood units within which two rounds have come to the same point.
ENOUGH = 4  #: The search ends when so many rounds have come to the best point.
SURE = 2  #: A point that fewer rounds have come to was not found again: it may not be the maximum.
DEPTH = 2  #: Experts that a round inserts, at most.
INSERTED, EXCHANGED = (512, 8), (192, 4)
"""Candidates tried and starts kept for a fit that gets another expert: on the way up, and in place of another one."""

CUTS = 4  #: Starts in which one of its experts is cut in two, for every fit that gets another expert.
FAR = 8  #: Starts of a data set that go further than a few steps: where a cut leads shows late.
MANY = 1000
"""Samples from which on fewer candidates are tried, by the square root: the likelihood has fewer small maxima."""

WIDTH = 4  #: Distinct fits that get another expert.
PAIRED = 8  #: Distinct fits with the first new expert that are put together, two by two.


@takes_float64("x", "y", "starts", "truth")
def global_maximum(
    x: Array,
    y: Array,
    starts: Array,
    *,
    truth: Array | None = None,
    box: float = 100.0,
    variances: tuple[float, float] = (1e-2, 1e2),
    kept: int = 4,
    rounds: int = ROUNDS,
    enough: int = ENOUGH,
) -> LikelihoodFit:
    """Fit softmax-gated Gaussian mixtures of experts, and search until the best point has been found again.

    Arguments are those of :func:`moestat.fit.softmax_mle.maximum_likelihood`, for x (B, n, 1), and: at most ``rounds``
    of insertion, for fits of three experts or more, and no further one for a data set of which ``enough`` have ended at
    the best point. In the result ``start`` and ``start_log_likelihood`` are those of the starts.
    """
    how: dict[str, Any] = {"box": box, "variances": variances}
    first = maximum_likelihood(x, y, starts, truth=truth, kept=kept, **how)
    xp, atoms = namespace(x, y, starts), starts.shape[-2]
    there = np.zeros(len(y), dtype=np.int64)
    if atoms < 3 or rounds < 1:
        return replace(first, rounds_there=xp.asarray(there))
    theta, height = np.array(to_numpy(first.theta)), np.array(to_numpy(first.log_likelihood))
    base = _base(x, y, theta, max(atoms - DEPTH, 2), how)
    for number in range(rounds):
        going = np.nonzero(there < enough)[0]
        if not len(going):
            break
        inputs, responses = (xp.take(part, xp.asarray(going), axis=0) for part in (x, y))
        found, reached = _round(inputs, responses, base[going], atoms, number, how)
        above = reached - height[going]
        there[going] = np.where(above > AGAIN, 1, there[going] + (above >= -AGAIN))
        up = going[above > 0]
        theta[up], height[up] = found[above > 0], reached[above > 0]
        lower = going[above < -AGAIN]
        if len(lower):
            inputs, responses = (xp.take(part, xp.asarray(lower), axis=0) for part in (x, y))
            theta[lower], reached = _exchanged(inputs, responses, theta[lower], height[lower], number, how)
            there[lower] = np.where(reached > height[lower] + AGAIN, 0, there[lower])
            height[lower] = reached
    # gates are bounded against the last atom's, so that which one is last matters where the box does
    each_last = np.stack([np.roll(theta, k, axis=1) for k in range(atoms)], axis=1)
    last = maximum_likelihood(x, y, xp.asarray(each_last), truth=truth, em_steps=0, coarsest=y.shape[1], **how)
    return replace(_better(first, last), rounds_there=xp.asarray(there))


def _base(x: Array, y: Array, theta: np.ndarray, atoms: int, how: dict[str, Any]) -> np.ndarray:
    """Return fits (B, atoms, 5): of each measure, the expert that costs least is taken out, and the rest goes up."""
    while theta.shape[1] > atoms:
        found, loss = _up(x, y, without_one(theta), how)
        theta = found[np.arange(len(found)), np.argmin(loss, axis=1)]
    return theta


def _round(
    x: Array, y: Array, base: np.ndarray, atoms: int, number: int, how: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Insert experts up to the full number, exchange each once; return points (B, atoms, 5) and log-likelihoods."""
    points, owner, pairs = base, np.arange(len(base)), None
    while True:
        more = 1 if points.shape[1] == atoms - 1 else 2
        starts = _inserted(x, y, points, owner, number, (INSERTED[0], more * INSERTED[1]), how)
        if pairs is not None:
            starts = np.concatenate([starts, pairs], axis=1)
        found, loss = _up(x, y, starts, how)
        if found.shape[2] == atoms:
            break
        if found.shape[2] == base.shape[1] + 1 == atoms - 1:
            pairs = _pairs(found, loss)
        points, owner = _best(found, loss, WIDTH)
    return _exchanged(x, y, _best(found, loss, 1)[0], -np.min(loss, axis=1), number, how)


def _exchanged(
    x: Array, y: Array, theta: np.ndarray, height: np.ndarray, number: int, how: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Insert an expert in place of each one of the points (B, N, 5); return the best points and log-likelihoods."""
    fewer = without_one(theta)
    owner = np.repeat(np.arange(len(theta)), theta.shape[1])
    starts = _inserted(x, y, fewer.reshape(-1, *fewer.shape[2:]), owner, number, EXCHANGED, how)
    found, loss = _up(x, y, starts, how)
    up = -np.min(loss, axis=1) > height
    return np.where(up[:, None, None], _best(found, loss, 1)[0], theta), np.maximum(height, -np.min(loss, axis=1))


def _up(x: Array, y: Array, starts: np.ndarray, how: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return where the starts (B, S, N, 5) lead, and minus the log-likelihoods (B, S)."""
    rows = _middle_last(starts)
    pinned = np.take_along_axis(starts, rows[..., None], axis=2)
    found, reached = rough_maxima(x, y, namespace(x, y).asarray(pinned), kept=FAR, **how)
    return np.take_along_axis(to_numpy(found), rows[..., None], axis=2), -to_numpy(reached)


def _middle_last(theta: np.ndarray) -> np.ndarray:
    """Return rows (..., N) that exchange the last atom and the one with the middle slope of the gate.

    Gates are bounded against the last atom's: against the middle one they may differ twice as much.
    """
    atoms = theta.shape[-2]
    middle = np.argsort(theta[..., 1], axis=-1)[..., [(atoms - 1) // 2]]
    rows = np.broadcast_to(np.arange(atoms), theta.shape[:-1])
    return np.where(rows == middle, atoms - 1, np.where(rows == atoms - 1, middle, rows))


def _inserted(
    x: Array, y: Array, points: np.ndarray, owner: np.ndarray, number: int, tried: tuple[int, int], how: dict[str, Any]
) -> np.ndarray:
    """Return starts (B, S, N + 1, 5) with one more expert than the points, of which every data set has as many."""
    inputs, responses = to_numpy(x)[owner], to_numpy(y)[owner]
    share = min(1.0, math.sqrt(MANY / y.shape[1]))
    candidates, keep = max(int(share * tried[0]), 16), math.ceil(max(share, 0.5) * tried[1])
    starts = inserted_starts(inputs, responses, points, number=number, candidates=candidates, keep=keep, **how)
    cut = cut_starts(inputs, responses, points, keep=CUTS, **how)
    starts = np.concatenate([starts, cut], axis=1)
    return starts.reshape(len(y), -1, *starts.shape[2:])


def _best(found: np.ndarray, loss: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the best distinct points (B most, N, 5) and whose they are; where there are fewer, some twice."""
    owner = np.repeat(np.arange(len(loss)), most)
    return found[owner, np.concatenate([_distinct(of_one, most) for of_one in loss])], owner


def _distinct(loss: np.ndarray, most: int) -> np.ndarray:
    rows, _ = distinct(np.zeros(len(loss), dtype=np.int64), loss, 1, most)
    return np.resize(rows, most)


def _pairs(found: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Return starts (B, S, N + 1, 5): the best distinct points, each with the last expert of another one."""
    out = []
    for points, of_one in zip(found, loss, strict=True):
        best = points[_distinct(of_one, PAIRED)]
        for one in range(PAIRED):
            for two in range(one):
                a, b = best[one].copy(), best[two].copy()
                # both have the expert that differs least at gate zero
                kept = np.argmin(np.sum(np.abs(a[:-1, 2:4] - b[:-1, 2:4]), axis=1))
                a[:, :2] -= a[kept, :2]
                b[:, :2] -= b[kept, :2]
                out.append(np.concatenate([a, b[-1:]]))
    return np.stack(out).reshape(len(found), -1, *out[0].shape)


def _better(old: LikelihoodFit, new: LikelihoodFit) -> LikelihoodFit:
    """Take of each data set the fit with the higher likelihood."""
    up = to_numpy(new.log_likelihood) > to_numpy(old.log_likelihood)
    xp = namespace(old.theta)
    changes = {}
    for field in fields(old):
        one, two = getattr(old, field.name), getattr(new, field.name)
        if field.name in ("start", "start_log_likelihood") or one is None or two is None:
            continue
        changes[field.name] = xp.where(xp.asarray(up.reshape(-1, *[1] * (one.ndim - 1))), two, one)
    return replace(old, **changes)
