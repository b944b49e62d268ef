r"""The last steps to the maximum of a likelihood that jumps: many small moves, judged by the samples near the jumps.

The log-likelihood of a competition-gated mixture is smooth but for the samples whose K-th and (K+1)-th expert are
close: a move of the parameters by order 1/n changes the winners of a few samples, and each of them may gain or lose a
number of order one. Newton's method does not see these changes. Here, round by round, many moves are tried, random ones
and those that take one sample to the other side (:func:`crossings`): for the samples nearest to a jump their
effect is computed exactly, for all others from score and curvature. The best move of a round is then computed exactly
on all samples, and made if it is a gain.

The moves are pseudo-random, and the same for every fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from moestat.arrays import Array, namespace
from moestat.fit import active_set
from moestat.fit.competition_likelihood import Data, Slopes, hard_log_density, likelihood_problem, scores, slopes
from moestat.fit.likelihood import Space
from moestat.fit.second_order import Gram
from moestat.models.blocks import member_blocks
from moestat.models.competition import Competition
from moestat.models.gaussian import Components, log_joint, log_sum_exp
from moestat.status import Status

MOVES = 256  #: Moves tried per round.
PATIENCE = 8  #: A fit has ended when so many rounds in a row have gained nothing to speak of.
GAINED = 0.02  #: What a round must gain, in units of the log-likelihood.
_NEWTON = (1.0, 0.5, 0.25, 0.1, 0.03)  # lengths of the steps along the smooth part's Newton direction
TARGETS = 8  #: Samples per fit that are taken across.
STAYING = 5  #: Most others that are asked to stay, for each of them.
LOSES = 0.3  #: What a sample must lose by a move to be asked to stay, in units of the log-likelihood.
_PAST = 0.01  # how far past a boundary, in units of 1 / n, the order of the distances between margins


@dataclass(frozen=True)
class Searched(active_set.Rows):
    """Where M fits are in a search, and in the end where they stopped."""

    members: Array
    replicate: Array  #: (M,) int, whose data a fit sees.
    free: Array  #: (M, p)
    at: Gram  #: Loss, gradient and curvature there.
    idle: Array  #: (M,) int, rounds in a row that have gained nothing.
    rounds: Array  #: (M,) int

    @property
    def status(self) -> Array:
        """(M,) int: CONVERGED when no move of several rounds gained anything; LIMIT; NOT_FINITE."""
        ended = self.idle >= PATIENCE, Status.CONVERGED
        lost = ~namespace(self.idle).isfinite(self.at.loss), Status.NOT_FINITE
        return active_set.coded(self.idle, Status.LIMIT, ended, lost)


def local_search(
    model: Competition, data: Data, owner: Array, free: Array, space: Space, max_rounds: int = 120
) -> Searched:
    """Improve M fits by small random moves; arguments as in :func:`competition_likelihood.likelihood_problem`."""
    xp = namespace(free)
    problem = likelihood_problem(model, data, owner, 0.0, space.variances[0])
    rng = np.random.default_rng(20240202)

    def ended(batch: Searched) -> tuple[Searched, Array]:
        return batch, (batch.idle >= PATIENCE) | (batch.rounds >= max_rounds)

    def step(batch: Searched) -> Searched:
        noise = _noise(rng, model, batch.free, data.n)
        moved = space.clip(batch.free + _best_move(model, data, batch.replicate, batch.free, batch.at, noise))
        at, trial = batch.at, problem(moved, batch.members)
        better, gained = trial.loss < at.loss, data.n * (at.loss - trial.loss) > GAINED
        return replace(
            batch,
            free=xp.where(better[:, None], moved, batch.free),
            at=trial.where(better, at),
            idle=xp.where(gained, xp.zeros_like(batch.idle), batch.idle + 1),
            rounds=batch.rounds + 1,
        )

    members = xp.arange(free.shape[0], dtype=xp.int64)
    none = xp.zeros_like(members)
    return active_set.run(
        Searched(members, owner, free, problem(free, members), none, none), ended, Searched.take, step
    )


def _noise(rng: np.random.Generator, model: Competition, free: Array, n: int) -> Array:
    """Return random moves (MOVES, p) of lengths between 0.3 / n and 3 / sqrt(n); every other one moves one expert."""
    xp = namespace(free)
    size = free.shape[-1]
    scale = np.exp(rng.uniform(math.log(0.3 / n), math.log(3.0 / math.sqrt(n)), (MOVES, 1)))
    moves = scale * rng.standard_normal((MOVES, size))
    expert = rng.integers(size // model.atom_size, size=(MOVES // 2, 1))
    moves[::2] *= np.arange(size)[None, :] // model.atom_size == expert
    return xp.asarray(moves, dtype=free.dtype)


def _best_move(model: Competition, data: Data, replicate: Array, free: Array, at: Gram, noise: Array) -> Array:
    """Return the most promising move (M, p): a Newton step, a random move, both, or one sample's way across."""
    xp = namespace(free)
    near = min(data.n, 64 + 4 * math.isqrt(data.n))
    best = []
    for block in member_blocks(free.shape[0], 4 * noise.shape[0] * near, free):
        point = free[block, :]
        features, y = _nearest(model, data, replicate[block], point, near)
        here = slopes(model, point, features, y, 0.0)
        own = scores(here, features)
        slope = -data.n * at.gradient[block, :] - xp.sum(own, axis=-1)
        curve = data.n * at.gram[block, ...] - xp.matmul(own, xp.matrix_transpose(own))
        covariance = _covariance(data.n * at.gram[block, ...])
        newton = -data.n * xp.matmul(covariance, at.gradient[block, :, None])[..., 0]
        steps = [t * newton[:, None, :] for t in _NEWTON]
        some = xp.asarray([_NEWTON[i % len(_NEWTON)] if i % 4 == 3 else 0.0 for i in range(noise.shape[0])])
        tried = [*steps, noise[None, :, :] + some[None, :, None] * newton[:, None, :]]
        if model.active < point.shape[-1] // model.atom_size:
            tried.append(crossings(model, point, features, y, here.log_density, covariance, data.n))
        moves = xp.concat(tried, axis=1)
        smooth = xp.matmul(moves, slope[..., None])[..., 0] - 0.5 * xp.sum(moves * xp.matmul(moves, curve), axis=-1)
        moved = hard_log_density(model, point[:, None, :] + moves, features[:, None, :, :], y[:, None, :])
        promise = smooth + xp.sum(moved - here.log_density[:, None, :], axis=-1)
        promise = xp.where(xp.isfinite(promise), promise, xp.full_like(promise, -xp.inf))
        chosen = xp.argmax(promise, axis=1)[:, None, None]
        best.append(
            xp.take_along_axis(moves, xp.broadcast_to(chosen, (point.shape[0], 1, point.shape[1])), axis=1)[:, 0, :]
        )
    return xp.concat(best)


def _nearest(model: Competition, data: Data, owner: Array, free: Array, count: int) -> tuple[Array, Array]:
    """Return features (M, q, count) and responses of the samples that are nearest to a change of winners."""
    xp = namespace(free)
    theta = xp.reshape(free, (free.shape[0], -1, model.atom_size))
    features, y = xp.take(data.features, owner, axis=0), xp.take(data.y, owner, axis=0)
    if count == data.n or theta.shape[1] <= model.active:
        return features[..., :count], y[:, :count]
    g, _ = model.outputs(theta[..., model.w], features)
    size = xp.sort(xp.abs(g), axis=-2, descending=True)
    gap = size[..., model.active - 1, :] - size[..., model.active, :]
    index = xp.argsort(gap, axis=-1, stable=True)[:, :count]
    wide = xp.broadcast_to(index[:, None, :], (*features.shape[:2], count))
    return xp.take_along_axis(features, wide, axis=-1), xp.take_along_axis(y, index, axis=-1)


def _covariance(curve: Array) -> Array:
    """Return H^-1 (M, p, p), a ridge keeping it finite where an expert sees no samples."""
    unit, scaled = _scaled(curve, 1e-8)
    return unit[:, :, None] * namespace(curve).linalg.inv(scaled) * unit[:, None, :]


def _scaled(gram: Array, ridge: float) -> tuple[Array, Array]:
    """Return factors (M, p) of coordinates, and the matrices (M, p, p) that these bring to a unit diagonal and more."""
    xp = namespace(gram)
    diagonal = xp.linalg.diagonal(gram)
    unit = 1.0 / xp.sqrt(xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal)))
    added = ridge + xp.astype(diagonal <= 0, gram.dtype)
    eye = xp.eye(gram.shape[-1], dtype=gram.dtype)
    return unit, gram * unit[:, :, None] * unit[:, None, :] + eye * added[:, None, :]


def left_to_gain(at: Gram, held: Array, n: int) -> Array:
    """Return what the quadratic model says is still to be gained on this piece, in units of the log-likelihood.

    Where a fit sits at a jump this does not vanish: the model sees no jumps. ``held`` are coordinates (M, p) that
    cannot move.
    """
    xp = namespace(held)
    free = xp.astype(~held, at.gradient.dtype)
    gradient = at.gradient * free
    gram = at.gram * free[:, :, None] * free[:, None, :]
    return 0.5 * n * xp.sum(gradient * xp.matmul(_covariance(gram), gradient[..., None])[..., 0], axis=-1)


def crossings(
    model: Competition, free: Array, features: Array, y: Array, log_density: Array, covariance: Array, n: int
) -> Array:
    """Return moves (M, T (STAYING + 1), p) that take one sample across a boundary between winners and others not.

    A sample on the wrong side may cost tens of units of log-likelihood, and the other side may be a hundredth of a
    standard error away; but a random move that takes it across mostly takes others along, which lose as much. The least
    move, in the metric of the curvature, that changes the winners of a sample follows from the derivatives of the
    samples' margins; others that lose by it are asked to stay, and the least move is computed again, for the T =
    ``TARGETS`` samples (m if that is less) that would gain most.

    Features (M, q, m), responses and log-densities (M, m) are of samples near a boundary, of n in all; the covariance
    (M, p, p) is the inverse of the curvature of the log-likelihood. Not all experts win.
    """
    xp = namespace(free)
    margin, slope, swapped = _margins(model, free, features, y)
    across = xp.matmul(covariance, slope)
    spread = xp.maximum(xp.sum(slope * across, axis=-2), xp.full_like(margin, xp.finfo(free.dtype).smallest_normal))
    worth = swapped - log_density - 0.5 * margin * margin / spread
    worth = xp.where(xp.isfinite(worth), worth, xp.full_like(worth, -xp.inf))
    count, past = y.shape[-1], _PAST / n
    chosen = xp.argsort(worth, axis=-1, descending=True, stable=True)[:, : min(TARGETS, count), None]
    goal = -past - xp.take_along_axis(margin, chosen[..., 0], axis=-1)[..., None]
    used, index = xp.ones_like(goal), xp.reshape(xp.arange(count), (1, 1, count))
    moves = [_least_move(slope, across, chosen, goal, used)]
    for _ in range(STAYING):
        move = moves[-1]
        moved = hard_log_density(model, free[:, None, :] + move, features[:, None, :, :], y[:, None, :])
        crossed = margin[:, None, :] + xp.matmul(move, slope) < 0
        for place in range(chosen.shape[-1]):
            crossed = crossed & (chosen[..., place][..., None] != index)
        lost = xp.where(crossed, log_density[:, None, :] - moved, xp.zeros_like(moved))
        worst = xp.argmax(lost, axis=-1)[..., None]
        more = xp.astype(xp.take_along_axis(lost, worst, axis=-1) > LOSES, free.dtype)
        back = past - xp.take_along_axis(margin, worst[..., 0], axis=-1)[..., None]
        chosen, used = xp.concat([chosen, worst], axis=-1), xp.concat([used, more], axis=-1)
        goal = xp.concat([goal, xp.minimum(back, xp.zeros_like(back))], axis=-1)
        moves.append(_least_move(slope, across, chosen, goal, used))
    return xp.concat(moves, axis=1)


def _margins(model: Competition, free: Array, features: Array, y: Array) -> tuple[Array, Array, Array]:
    """Return by how much the last winner leads (M, m), its derivative (M, p, m), and log p if the next one won."""
    xp = namespace(free)
    theta = xp.reshape(free, (free.shape[0], -1, model.atom_size))
    g, bend = model.outputs(theta[..., model.w], features)
    size, log_variance = xp.abs(g), theta[..., model.variance]
    rank = model.rank(size)
    last, next_one = rank == model.active - 1, rank == model.active
    sign = xp.astype(last, g.dtype) - xp.astype(next_one, g.dtype)
    through = sign * xp.sign(g) if bend is None else sign * xp.sign(g) * bend
    margin = xp.sum(sign * size, axis=-2)
    slope = scores(Slopes(margin, through, xp.zeros_like(through)), features)
    winners = ((rank < model.active) & ~last) | next_one
    logits = xp.where(winners, size, xp.full_like(size, -xp.inf))
    joint = log_joint(Components(logits, g, xp.exp(log_variance)), y)
    return margin, slope, log_sum_exp(joint) - log_sum_exp(logits)


def _least_move(slope: Array, across: Array, chosen: Array, goal: Array, used: Array) -> Array:
    """Return the least moves (M, T, p) that change the margins of the chosen samples (M, T, S) by ``goal``."""
    xp = namespace(slope)
    parts = []
    for t in range(chosen.shape[1]):
        wide = xp.broadcast_to(chosen[:, t, :][:, None, :], (*slope.shape[:2], chosen.shape[-1]))
        on = used[:, t, :]
        a, b = (xp.take_along_axis(part, wide, axis=-1) * on[:, None, :] for part in (slope, across))
        # two margins may depend on the parameters in nearly the same way: goals that contradict each other then give
        # a long move, which loses
        unit, gram = _scaled(xp.matmul(xp.matrix_transpose(a), b), 1e-10)
        weight = unit * xp.linalg.solve(gram, (unit * goal[:, t, :] * on)[..., None])[..., 0]
        parts.append(xp.matmul(b, weight[..., None])[..., 0])
    return xp.stack(parts, axis=1)
