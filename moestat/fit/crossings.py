r"""Moves that take one sample across a boundary between winners and leave the others on their side.

A sample on the wrong side of a boundary may cost tens of units of log-likelihood, and the other side may be a
hundredth of a standard error away; but a random move that takes it across mostly takes others along, which lose as
much. Here the samples that would gain most are taken one by one: the least move, in the metric of the curvature, that
changes the winners of such a sample follows from the derivatives of the samples' margins; others that lose by it are
asked to stay, and the least move is computed again.
"""

from __future__ import annotations

from moestat.arrays import Array, namespace
from moestat.fit.competition_likelihood import Slopes, hard_log_density, scores
from moestat.models.competition import Competition
from moestat.models.gaussian import Components, log_joint, log_sum_exp

TARGETS = 8  #: Samples per fit that are taken across.
STAYING = 5  #: Most others that are asked to stay, for each of them.
LOSES = 0.3  #: What a sample must lose by a move to be asked to stay, in units of the log-likelihood.
_PAST = 0.01  # how far past a boundary, in units of 1 / n, the order of the distances between margins


def crossings(
    model: Competition, free: Array, features: Array, y: Array, log_density: Array, covariance: Array, n: int
) -> Array:
    """Return moves (M, T (STAYING + 1), p) for T samples of each fit, T being ``TARGETS`` or m if that is less.

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
        gram = xp.matmul(xp.matrix_transpose(a), b)
        diagonal = xp.linalg.diagonal(gram)
        unit = 1.0 / xp.sqrt(xp.where(diagonal > 0, diagonal, xp.ones_like(diagonal)))
        # two margins may depend on the parameters in nearly the same way: goals that contradict each other then give
        # a long move, which loses
        ridge = 1e-10 + xp.astype(diagonal <= 0, gram.dtype)
        gram = gram * unit[:, :, None] * unit[:, None, :] + xp.eye(gram.shape[-1], dtype=gram.dtype) * ridge[:, None, :]
        weight = unit * xp.linalg.solve(gram, (unit * goal[:, t, :] * on)[..., None])[..., 0]
        parts.append(xp.matmul(b, weight[..., None])[..., 0])
    return xp.stack(parts, axis=1)
