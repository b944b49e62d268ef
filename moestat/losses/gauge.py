r"""The gauge of the softmax gate, chosen by the loss.

Adding one vector (c, b, A) to the gate of every atom leaves a softmax mixture as it is, so a loss between measures is
an infimum over these shifts, too. For sums of norms over the cells of fitted atoms, given the cells, the best shift of
each block is the geometric median of what separates the atoms from their true ones; cells and medians are found in
turn, from every pairing of a fitted with a true atom. What comes back is the list of shifts that end there, of which a
loss takes the one that is best for it. Each comes with several shifts of c, for which a split of a true atom's weight
is a matter of one log 2: the median over all atoms, that over the atoms alone in their cell, and the one that makes the
log masses of the cells equal to the true ones on average.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from moestat.doors import takes_float64
from moestat.losses.rays import equal_rows, nearest, norm
from moestat.models.regression import Model

HOPEFUL = 24
"""Pairings that are looked at after the first round."""
ROUNDS = 6
"""Rounds of cells and medians."""
WEISZFELD = 15
"""Steps of Weiszfeld's iteration per median."""
KEPT = 4
"""Shifts of (A, b) that are handed out, the best by equation (12) first."""


def candidates(fitted: np.ndarray, truth: np.ndarray, model: Model) -> np.ndarray:
    """Return fits (..., N, P) of a softmax gate in the gauges in question, (..., K, N, P).

    The first gauge is the one of least squares (:meth:`moestat.models.regression.Model.align`), with the c that makes
    the log masses of the occupied cells equal to the true ones on average; the others are those of :func:`shifts`.

    Parameters
    ----------
    fitted : array (..., N, P)
    truth : array (N*, P)
    """
    return _candidates(fitted.tobytes(), fitted.shape, truth.tobytes(), truth.shape, model)


@lru_cache(maxsize=12)
def _candidates(
    fitted: bytes, shape: tuple[int, ...], truth: bytes, true_shape: tuple[int, ...], model: Model
) -> np.ndarray:
    """Compute them once for all the losses of a fit."""
    size, target = model.gate_size, np.frombuffer(truth).reshape(true_shape)
    flat = np.frombuffer(fitted).reshape(-1, *shape[-2:])
    out = np.empty((len(flat), 1 + 3 * KEPT, *shape[-2:]))
    for k, atoms in enumerate(flat):
        if not (np.isfinite(atoms).all() and np.isfinite(target).all()):
            out[k] = np.nan  # of a fit that is not finite every loss is NaN
            continue
        first = model.align(atoms, target)
        first[:, 0] += _mass_shift(first, target)
        out[k] = first
        others = shifts(atoms, target, model)
        out[k, 1 : 1 + len(others)] = atoms
        out[k, 1 : 1 + len(others), :, :size] += others[:, None, :]
    out = out.reshape(*shape[:-2], *out.shape[1:])
    out.flags.writeable = False
    return out


def _mass_shift(atoms: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean over occupied true atoms of log sum exp(c*) - log sum_{i in A} exp(c_i).

    True atoms that coincide in (A, b, eta) count together: their fitted atoms all sit in the cell of the first one.
    """
    cell = np.argmin(np.sum((atoms[:, None, 1:] - truth[:, 1:]) ** 2, axis=-1), axis=1)
    group = equal_rows(truth[:, 1:])
    apart = [
        np.logaddexp.reduce(truth[group == g, 0]) - np.logaddexp.reduce(atoms[group[cell] == g, 0])
        for g in np.unique(group[cell])
    ]
    return float(np.mean(apart))


@takes_float64("atoms", "truth", finite=True)
def shifts(atoms: np.ndarray, truth: np.ndarray, model: Model) -> np.ndarray:
    """Return the best shifts (K, Q), K <= 3 KEPT, of the gate coordinates of one fit (N, P) towards a truth (N*, P).

    For gates without a gauge it is one shift, zero.
    """
    if model.gate != "softmax":
        return np.zeros((1, model.gate_size))
    return _shifts(atoms.tobytes(), truth.tobytes(), model)


@lru_cache(maxsize=1024)
def _shifts(fitted: bytes, target: bytes, model: Model) -> np.ndarray:
    """Compute them once for all the losses of a fit."""
    size = model.gate_size
    atoms, truth = (np.frombuffer(part).reshape(-1, model.atom_size) for part in (fitted, target))
    gate, true_gate = atoms[:, :size], truth[:, :size]
    expert = np.sum((atoms[:, None, size:] - truth[:, size:]) ** 2, axis=-1)
    parts = [part for part in (model.a_matrix, model.b) if part.stop > part.start]
    shift = np.concatenate([(true_gate - gate[:, None]).reshape(-1, size), [model.align(atoms, truth)[0, :size]]])
    shift[-1] -= gate[0]
    of = np.arange(len(shift))  # where each pairing is among the distinct shifts: those with the same cells are one
    cost, best, before = np.full(len(shift), np.inf), shift, [b""] * len(shift)
    medians: dict[bytes, np.ndarray] = {}
    for _ in range(ROUNDS):
        cell = nearest((gate + shift[:, None, :])[..., 1:], true_gate[:, 1:], expert)
        # c takes no part in the cells, so its shift can be the best one for them at once
        apart = true_gate[cell] - gate
        shift = shift.copy()
        shift[:, 0] = np.median(apart[..., 0], axis=1)
        now = sum(np.sum(norm(apart[..., part] - shift[:, None, part]), axis=1) for part in (*parts, model.c))
        now = now + np.sum(norm(atoms[:, size:] - truth[cell][..., size:]), axis=1)
        if len(of) > HOPEFUL:
            of = np.argsort(now, kind="stable")[:HOPEFUL]
            cost, best = cost[of], best[of]
        lower = now[of] < cost
        cost, best = np.where(lower, now[of], cost), np.where(lower[:, None], shift[of], best)
        cells = [cell[k].tobytes() for k in of]
        if cells == before:
            break
        before = cells
        distinct = list(dict.fromkeys(cells))
        new = [one for one in distinct if one not in medians]
        rows = [int(of[cells.index(one)]) for one in new]
        for part in parts if new else ():
            shift[rows, part] = geometric_median(apart[rows][..., part])
        medians |= dict(zip(new, shift[rows], strict=True))
        shift, of = np.stack([medians[one] for one in distinct]), np.array([distinct.index(one) for one in cells])
    out: list[np.ndarray] = []
    for k in np.argsort(cost, kind="stable"):
        if all(np.abs(best[k] - other)[1:].max(initial=0.0) > 1e-9 for other in out):
            out.append(best[k])
        if len(out) == KEPT:
            break
    every = np.concatenate([_with_intercepts(gate + one, true_gate, expert, one) for one in out])
    every.flags.writeable = False
    return every


def _with_intercepts(moved: np.ndarray, true_gate: np.ndarray, expert: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Return a shift (Q,) with each of the shifts of c, the best for equation (12) first."""
    cell = nearest(moved[:, 1:], true_gate[:, 1:], expert)
    size = np.bincount(cell, minlength=len(true_gate))
    apart = true_gate[cell, 0] - moved[:, 0]
    alone = size[cell] == 1
    log_mass = [np.logaddexp.reduce(moved[cell == j, 0]) for j in np.flatnonzero(size)]
    more = [0.0, np.mean(true_gate[size > 0, 0] - log_mass)]
    if alone.any():
        more.append(float(np.median(apart[alone])))
    out = np.repeat(shift[None], len(more), axis=0)
    out[:, 0] += more
    return out


def geometric_median(points: np.ndarray) -> np.ndarray:
    """Return the points (..., q) with the least sum of distances to ``points`` (..., N, q).

    Weiszfeld's iteration; where one of the points itself is as good, it is that point.
    """
    at = np.median(points, axis=-2)
    least = 1e-12 * (np.max(np.abs(points), axis=(-2, -1), keepdims=True)[..., 0] + 1e-100)
    spare = np.empty_like(points)
    for _ in range(WEISZFELD):
        np.square(np.subtract(points, at[..., None, :], out=spare), out=spare)
        weight = 1.0 / (np.sqrt(np.add.reduce(spare, axis=-1)) + least)
        np.multiply(weight[..., None], points, out=spare)
        at = np.add.reduce(spare, axis=-2) / np.add.reduce(weight, axis=-1)[..., None]
    choices = np.concatenate([points, at[..., None, :]], axis=-2)
    total = np.sum(norm(choices[..., :, None, :] - points[..., None, :, :]), axis=-1)
    pick = np.argmin(total, axis=-1)[..., None, None]
    median: np.ndarray = np.take_along_axis(choices, pick, axis=-2)[..., 0, :]
    return median
