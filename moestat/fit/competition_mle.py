"""Maximum likelihood for competition-gated Gaussian mixtures of experts, many replicates and starts at once.

The choice of the winners makes the likelihood discontinuous and full of local maxima. Four stages:

1. all starts, on the first few thousand samples: the choice is smoothed at a temperature that falls step by step, and
   followed by Adam;
2. a trust-region Gauss-Newton method on the score (Berndt, Hall, Hall and Hausman 1974); the best distinct points go
   on to all samples, where the temperature falls once more, from a lower level, down to the hard choice;
3. local search (:mod:`moestat.fit.local_search`) among the jumps, for which derivatives are blind;
4. hops (basin hopping, Wales and Doye 1997): the best point is thrown out by a few standard errors, pseudo-randomly and
   the same for every fit, and the search done again from there, until enough points have come back to it. That other
   starts come to the best point shows little, for they miss its higher neighbours, too.

Where the likelihood jumps, a maximum is not a stationary point: ``gradient`` and ``decrement`` of the result vanish for
continuous densities only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from moestat.arrays import Array, namespace
from moestat.doors import takes_float64
from moestat.fit import active_set
from moestat.fit.competition_likelihood import Data, gradients, likelihood_problem, pack, unpack
from moestat.fit.likelihood import LikelihoodFit, Pool, Space, check_problem, check_settings, distinct
from moestat.fit.linalg import symmetric_eigen
from moestat.fit.local_search import Searched, left_to_gain, local_search
from moestat.fit.second_order import Gram, free_coordinates, hits
from moestat.models.competition import Competition

KEPT = 2  #: Most points per replicate that go on to all samples, and to the local search, when nothing else is said.
AGAIN = 0.1  #: Log-likelihood units within which a point counts as one that was come to again.
HOPS = 20  #: Most rounds of hops, when nothing else is said.
ENOUGH = 12  #: Thrown-out points that must have come back to the best one, for the hops to end.
SCALES = (0.5, 1.0, 2.0, 4.0)
"""Lengths of the hops in standard errors; two of each per round, the second in the coordinates of one expert."""

_LEAST = 1e-8  # curvature, relative to the largest, below which a direction is left alone by hops
_REHEATED = (0.02, 0.007, 0.0025, 0.0008)  # temperatures on all samples, before the last one and the hard choice
_WARMEST, _RATE = 1.0, 0.05  # the first temperature, in units of |g|, and step length of Adam; it falls to a tenth
_STEPS = 15  # of Gauss-Newton at most, at each temperature


@dataclass(frozen=True)
class _Space(Space):
    """The parameter space in free coordinates, and the model."""

    model: Competition


@takes_float64("x", "y", "starts", "truth")
def maximum_likelihood(
    model: Competition,
    x: Array,
    y: Array,
    starts: Array,
    *,
    truth: Array | None = None,
    box: float = 20.0,
    variances: tuple[float, float] = (1e-2, 1e2),
    adam_steps: int = 300,
    coarsest: int = 2000,
    search_rounds: int = 120,
    kept: int = KEPT,
    hops: int = HOPS,
) -> LikelihoodFit:
    """Fit competition-gated Gaussian mixtures of experts.

    Arguments are those of :func:`moestat.fit.softmax_mle.maximum_likelihood`, but for atoms ``[W, v]`` (see
    :class:`moestat.models.competition.Competition`), of whose weights ``box`` bounds the absolute value, and for

    Parameters
    ----------
    adam_steps : int
        Steps of Adam, on the first ``coarsest`` samples.
    search_rounds : int
        Rounds of the local search, at most, which has converged when several in a row gained nothing; 0 leaves it out.
    kept : int
        Most distinct points per replicate that go on to all samples, and to the local search.
    hops : int
        Most rounds in which points thrown out from the best one are searched from; they end when 12 came back.
    """
    replicates, n, count, atoms = check_problem(model, x, y, starts, truth, variances)
    if model.active > atoms:
        raise ValueError(f"active is {model.active}, but starts holds only {atoms} experts")
    if not box > 0:
        raise ValueError(f"box is {box}; it must be positive")
    check_settings(1, coarsest=coarsest, kept=kept)
    check_settings(0, adam_steps=adam_steps, search_rounds=search_rounds, hops=hops)
    xp = namespace(x, y, starts)
    data = Data(model.features(x), y)
    both = (([end] * model.weight_size + [math.log(v)]) * atoms for end, v in zip((-box, box), variances, strict=True))
    lower, upper = (xp.asarray(ends, dtype=starts.dtype) for ends in both)
    space = _Space(lower, upper, variances, model)
    free = space.clip(xp.reshape(pack(starts), (replicates * count, -1)))
    few = data.first(coarsest)
    coldest = max(0.003, 20.0 / few.n)
    pool = Pool.of(free, replicates, adam_steps)
    pool = replace(pool, free=_anneal(few, space, xp.asarray(pool.owner), free, coldest, adam_steps))
    pool = _gauss_newton(few, space, pool, 0.0)
    led = np.tile(np.arange(count), (replicates, 1))
    if data.n > few.n:
        pool = _continued(pool, few.n, led, kept)
        coldest = 20.0 / n  # a few dozen samples are then between two experts
        for t in (*(t for t in _REHEATED if t > 2.0 * coldest), coldest):
            pool = _gauss_newton(data, space, pool, t)
        pool = _gauss_newton(data, space, pool, 0.0)
    reached = np.full((replicates, count), np.nan)
    reached[pool.owner, pool.start] = pool.loss
    pool, end = _search(data, space, _continued(pool, n, led, kept), search_rounds)
    np.fmin.at(reached, (pool.owner, pool.start), pool.loss)
    best, end, back = _hops(data, space, pool, end, search_rounds, kept, hops, reached)
    reached = np.where(led >= 0, np.take_along_axis(reached, np.maximum(led, 0), axis=1), reached)
    at = end.at
    held = ~free_coordinates(best.free, at.gradient, space.lower, space.upper)
    return LikelihoodFit.of(
        *(model, truth, x, y, xp.asarray(space.log_likelihood(best.loss, n)), end.status),
        theta=unpack(best.free, atoms),
        gradient=xp.max(xp.abs(xp.where(held, xp.zeros_like(at.gradient), at.gradient)), axis=-1),
        decrement=left_to_gain(at, held, n),
        iterations=xp.asarray(best.iterations),
        box_hits=hits(best.free, space.lower, space.upper),
        start=xp.asarray(best.start),
        start_log_likelihood=xp.asarray(space.log_likelihood(reached, n)),
        hops_back=xp.asarray(back),
    )


def _anneal(data: Data, space: _Space, owner: Array, free: Array, coldest: float, steps: int) -> Array:
    """Follow the smoothed likelihood down the temperatures by Adam (Kingma and Ba 2015)."""
    xp = namespace(free)
    mean, square = xp.zeros_like(free), xp.zeros_like(free)
    for step in range(steps):
        share = step / max(steps - 1, 1)
        temperature = _WARMEST ** (1 - share) * coldest**share
        gradient = gradients(space.model, data, owner, temperature)(free)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient * gradient
        unbiased = mean / (1 - 0.9 ** (step + 1)), square / (1 - 0.99 ** (step + 1))
        free = space.clip(free + _RATE * 0.1**share * unbiased[0] / (xp.sqrt(unbiased[1]) + 1e-8))
    return free


def _gauss_newton(data: Data, space: _Space, pool: Pool, temperature: float) -> Pool:
    owner = namespace(pool.free).asarray(pool.owner)
    problem = likelihood_problem(space.model, data, owner, temperature, space.variances[0])
    return pool.climbed(problem, space, (1e-2 if temperature else 1e-9) / data.n, _STEPS)[0]


def _continued(pool: Pool, n: int, led: np.ndarray, kept: int) -> Pool:
    """Return the best distinct points of each replicate.

    ``led`` (B, S) holds, for each start, the start that has gone on in its place (-1 when it fell behind), and is
    brought up to date.
    """
    rows, twin = distinct(pool.owner, pool.loss, n, kept)
    for row, other in enumerate(twin):
        starts = led[pool.owner[row]]
        starts[starts == pool.start[row]] = pool.start[other] if other >= 0 else -1
    return pool.take(rows)


def _search(data: Data, space: _Space, pool: Pool, rounds: int) -> tuple[Pool, Searched]:
    owner = namespace(pool.free).asarray(pool.owner)
    end = local_search(space.model, data, owner, pool.free, space, rounds)
    return pool.moved(end.free, end.rounds, end.at.loss), end


def thrown_out(free: Array, at: Gram, n: int, number: int, atom_size: int) -> Array:
    """Return points (M, W, p) around ``free`` (M, p): normal steps whose covariance is that of the estimate.

    The curvature ``at`` is that of the mean log-likelihood of n samples; each round, by its number, has its own steps.
    """
    xp = namespace(free)
    size = free.shape[-1]
    rng = np.random.default_rng([20240303, number])
    noise = np.repeat(np.array(SCALES), 2)[:, None] * rng.standard_normal((2 * len(SCALES), size))
    values, vectors = symmetric_eigen(n * at.gram)
    # a direction in which there is next to no curvature is left alone: the estimate's error in it has no scale
    flat = values < _LEAST * xp.max(values, axis=-1)[:, None]
    error = xp.where(flat, xp.zeros_like(values), 1.0 / xp.sqrt(xp.where(flat, xp.ones_like(values), values)))
    steps = xp.matmul(xp.asarray(noise)[None, :, :] * error[:, None, :], xp.matrix_transpose(vectors))
    expert = rng.integers(size // atom_size, size=len(noise))
    mask = np.ones(noise.shape)
    mask[1::2] = np.arange(size)[None, :] // atom_size == expert[1::2, None]
    return free[:, None, :] + steps * xp.asarray(mask)[None, :, :]


def _hops(
    data: Data, space: _Space, pool: Pool, end: Searched, rounds: int, kept: int, hops: int, reached: np.ndarray
) -> tuple[Pool, Searched, np.ndarray]:
    """Hop until enough thrown-out points have come back to the best one of each replicate, or ``hops`` times.

    ``reached`` is brought up to date. Returns the best points, and how many others came within ``AGAIN`` of them.
    """
    xp = namespace(pool.free)
    rows = pool.best()
    best, end = pool.take(rows), end.take(xp.asarray(rows))
    back = np.zeros(len(rows), dtype=np.int64)
    for number in range(hops):
        active = np.nonzero(back < ENOUGH)[0]
        if not len(active):
            break
        at = end.take(xp.asarray(active)).at
        out = best.take(active)
        out = out.thrown(space.clip(thrown_out(out.free, at, data.n, number, space.model.atom_size)))
        for temperature in (20.0 / data.n, 0.0):
            out = _gauss_newton(data, space, out, temperature)
        chosen, twin = distinct(out.owner, out.loss, data.n, kept)
        below, low = _search(data, space, out.take(chosen), rounds)
        # where each thrown-out point ended, infinite where it fell behind; chosen points are in the order of the rows
        place = np.full(len(twin), -1)
        place[chosen] = np.arange(len(chosen))
        ends = np.where(twin >= 0, below.loss[place[np.maximum(twin, 0)]], np.inf).reshape(len(active), -1)
        before = best.loss[active]
        both, all_ends = best.join(below), active_set.concatenate([end, low])
        rows = both.best()
        best, end = both.take(rows), all_ends.take(xp.asarray(rows))
        now = best.loss[active]
        there = np.sum(data.n * (ends - now[:, None]) <= AGAIN, axis=1)
        # a better point than before is one of those that were thrown out, and has not been come back to before
        back[active] = np.where(data.n * (before - now) > AGAIN, there - 1, back[active] + there)
        np.fmin.at(reached, (best.owner, best.start), best.loss)
    return best, end, back
