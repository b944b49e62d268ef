r"""Distances between fitted and true mixing measures of the Gaussian mixtures of experts.

Every fitted atom belongs to the cell of the nearest true atom (ties: the lowest index). Everywhere ``fitted`` is an
array (..., N, P), ``truth`` an array (N*, P), and the result an array (...).

Competition gating ("CompeteSMoE", equations (8) and (9)): cells on (W, v). Softmax gating (arXiv 2305.03288, Theorems 1
and 2): cells on (b, a, beta, v). The softmax density does not change when one vector (t0, t1) is added to all gates
(c, b), so that D1 and D2 are infima over that shift.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy  # its submodules are imported when they are used

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.losses.comparison import cells_of
from moestat.losses.matching import paired
from moestat.models.competition import Competition
from moestat.models.gaussian import check_atoms
from moestat.models.gaussian_gate import GaussianGate
from moestat.models.softmax_gaussian import SoftmaxGaussian

RBAR = {1: 1.0, 2: 4.0, 3: 6.0}
"""The exponent rbar of a cell by its number of atoms. For four and more only rbar >= 7 is known; 7 is used."""

_SHIFT_STEPS = 200


def _norm(fitted: Array, truth: Array, part: slice) -> Array:
    """Return the Euclidean distances (..., N, N*) in some coordinates."""
    xp = namespace(fitted, truth)
    return xp.sqrt(xp.sum((fitted[..., :, None, part] - truth[:, part]) ** 2, axis=-1))


@takes_float64("fitted", "truth")
def competition_losses(fitted: Array, truth: Array, model: Competition) -> dict[str, Array]:
    """Return every distance of a competition-gated mixture (..., k, P) to the truth (k*, P), k* <= k, each (...).

    ``D``: equation (9), the sum of the K largest cell sums of ||dW|| + |dv|, which is the maximum over the K-subsets of
    cells; K of the model. ``D_weights``, ``D_variances``: the same with one of the two terms. ``matched``,
    ``matched_weights``, ``matched_variances``: sums over the best one-to-one pairing (for both terms, or for one).
    ``empty_cells``: how many true atoms have no fitted atom in their cell: D does not see them.
    """
    check_atoms(fitted, model.atom_size, name="fitted")
    check_atoms(truth, model.atom_size, name="truth", one=True)
    if model.active > truth.shape[0]:
        raise ValueError(f"D needs K <= k*, but K is {model.active} and truth holds {truth.shape[0]} experts")
    xp = namespace(fitted, truth)
    weights, variances = _norm(fitted, truth, model.w), _norm(fitted, truth, model.variance)
    _, member, size = cells_of(weights**2 + variances**2)

    def largest(cost: Array) -> Array:
        sums = xp.sort(xp.sum(cost * member, axis=-2), axis=-1, descending=True)
        return xp.sum(sums[..., : model.active], axis=-1)

    both = weights + variances
    return {
        "D": largest(both),
        "D_weights": largest(weights),
        "D_variances": largest(variances),
        "matched": paired(both),
        "matched_weights": paired(weights),
        "matched_variances": paired(variances),
        "empty_cells": xp.sum(xp.astype(size == 0, fitted.dtype), axis=-1),
    }


@takes_float64("fitted", "truth")
def softmax_losses(fitted: Array, truth: Array, model: SoftmaxGaussian) -> dict[str, Array]:
    r"""Return every distance of a softmax-gated mixture (..., N, P) to the truth (N*, P), N* <= N, each (...).

    .. math::
        D_1 = \inf_{t} \sum_j \Big| \sum_{i \in A_j} e^{c_i} - e^{c^*_j} \Big| + \sum_j \sum_{i \in A_j} e^{c_i}
        \big( \|\Delta b\| + \|\Delta a\| + |\Delta\beta| + |\Delta v| \big)

    and D2 with the powers rbar of ||db|| and |dbeta|, rbar / 2 of ||da|| and |dv| in cells with two atoms or more,
    rbar(2) = 4, rbar(3) = 6. ``matched``: the least sum over one-to-one pairings of the norms of the errors of (c, b),
    a, beta, v, gates shifted together by the least-squares shift of the pairing. ``<block>_<kind>`` for the blocks b,
    a, beta, v and the kinds over (cells with two atoms or more) and exact (with one): sums of the norms of the block's
    errors over the atoms in such cells, in the gauge of the pairing, and ``mass_<kind>``: sums of | sum of e^c in the
    cell - e^c* |, the fitted weights scaled to the total of the true ones; a sum over no cell is 0. ``cells_over``,
    ``cells_exact``, ``cells_empty``: numbers of such cells.

    The infimum over t1 is a convex problem, solved by reweighted least squares and compared with all kinks; given t1,
    that over t0 is piecewise linear in e^t0, and is taken over its kinks. (t0 -> -inf, which sends all fitted weights
    to zero at the price of the true ones, is not admitted.) Cells are those of the gauge in which the gates of the best
    pairing are closest.
    """
    check_atoms(fitted, model.atom_size, name="fitted")
    check_atoms(truth, model.atom_size, name="truth", one=True)
    aligned, matched = _align(fitted, truth, model)
    xp = namespace(fitted, truth)
    places = {"b": model.b, "a": model.a, "beta": model.beta, "v": model.variance}
    blocks = {name: _norm(aligned, truth, part) for name, part in places.items()}
    _, member, size = cells_of(blocks["b"] ** 2 + blocks["a"] ** 2 + blocks["beta"] ** 2 + blocks["v"] ** 2)
    c = aligned[..., 0]
    # all weights relative to the largest: its common factor is what the scale of D1 and D2 takes up
    weight, true = xp.exp(c - xp.max(c, axis=-1)[..., None]), xp.exp(truth[:, 0])
    own = xp.sum(member * size[..., None, :], axis=-1)  # size of the cell that an atom is in

    def at_home(values: Array) -> Array:
        return xp.sum(values * member, axis=-1)

    # what is left of the gates' slopes when each atom's true one is taken off: a common shift t1 may be too
    slopes = aligned[..., model.b] - xp.matmul(member, truth[:, model.b])
    out: dict[str, Array] = {}
    for name, power in (("D1", xp.ones_like(c)), ("D2", _powers(own))):
        half = xp.where(power > 1, 0.5 * power, power)
        shift = _common_shift(xp, slopes, weight, power)
        db = xp.sqrt(xp.sum((slopes - shift[..., None, :]) ** 2, axis=-1))
        rest = (
            db**power + at_home(blocks["beta"]) ** power + at_home(blocks["a"]) ** half + at_home(blocks["v"]) ** half
        )
        out[name] = _over_scales(xp, weight, true, member, rest)
    out["matched"] = matched
    mass = xp.matmul(weight[..., None, :], member)[..., 0, :]
    mass = xp.abs(mass * xp.sum(true) / xp.sum(weight, axis=-1)[..., None] - true)
    return out | _by_kind(blocks, mass, member, size)


@takes_float64("fitted", "truth")
def gaussian_gate_losses(fitted: Array, truth: Array, model: GaussianGate) -> dict[str, Array]:
    r"""Return every distance of a Gaussian-gated mixture (..., N, P) to the truth (N*, P), N* <= N, each (...).

    .. math::
        D_1 = \sum_j \Big| \sum_{i \in A_j} \pi_i - \pi^*_j \Big| + \sum_j \sum_{i \in A_j} \pi_i
        \big( \|\Delta c\| + \|\Delta\Gamma\| + \|\Delta a\| + |\Delta\beta| + |\Delta v| \big)

    and D2 with the powers rbar of ||dc|| and |dbeta|, rbar / 2 of ||dGamma|| and |dv|, and 2 of ||da||, or rbar / 2
    where c* = 0, in cells with two atoms or more: what the published scripts of arXiv 2305.07572 save as
    ``*_loss.npy``. Cells are by the sum of norms. The rest is as in :func:`softmax_losses`; no gauge is needed.
    """
    check_atoms(fitted, model.atom_size, name="fitted")
    check_atoms(truth, model.atom_size, name="truth", one=True)
    xp = namespace(fitted, truth)
    places = {"c": model.centre, "Gamma": model.spread, "a": model.a, "beta": model.beta, "v": model.variance}
    blocks = {name: _norm(fitted, truth, part) for name, part in places.items()}
    total = blocks["c"] + blocks["Gamma"] + blocks["a"] + blocks["beta"] + blocks["v"]
    _, member, size = cells_of(total)
    weight, own = fitted[..., 0], xp.sum(member * size[..., None, :], axis=-1)
    rbar = _powers(own)
    central = xp.matmul(member, xp.astype(xp.all(truth[:, model.centre] == 0, axis=-1), own.dtype)[:, None])[..., 0]
    half = xp.where(own > 1, 0.5 * rbar, rbar)
    power = {"c": rbar, "Gamma": half, "a": xp.where((own > 1) & (central == 0), 2.0 + 0.0 * half, half)}
    power |= {"beta": rbar, "v": half}
    mass = xp.abs(xp.matmul(weight[..., None, :], member)[..., 0, :] - truth[:, 0])
    parts = (xp.sum(error * member, axis=-1) ** power[name] for name, error in blocks.items())
    return {
        "D1": xp.sum(mass, axis=-1) + xp.sum(weight * xp.sum(total * member, axis=-1), axis=-1),
        "D2": xp.sum(mass, axis=-1) + xp.sum(weight * sum(parts), axis=-1),
        "matched": paired(total + _norm(fitted, truth, model.weight)),
        **_by_kind(blocks, mass, member, size),
    }


def _powers(own: Array) -> Array:
    """Return the exponents rbar of atoms in cells with so many."""
    xp = namespace(own)
    rbar = xp.full_like(own, 7.0)
    for atoms, exponent in RBAR.items():
        rbar = xp.where(own == atoms, xp.full_like(own, exponent), rbar)
    return rbar


def _by_kind(blocks: dict[str, Array], mass: Array, member: Array, size: Array) -> dict[str, Array]:
    """Return the errors of blocks (..., N, N*) and masses (..., N*) by kind of cell, and the numbers of such cells."""
    xp = namespace(mass)
    out: dict[str, Array] = {}
    kinds = {"over": size > 1, "exact": size == 1}
    errors = {name: xp.sum(error * member, axis=-1) for name, error in blocks.items()}
    for kind, is_kind in kinds.items():
        inside = xp.sum(member * xp.astype(is_kind, mass.dtype)[..., None, :], axis=-1)
        out |= {f"{name}_{kind}": xp.sum(error * inside, axis=-1) for name, error in errors.items()}
        out[f"mass_{kind}"] = xp.sum(mass * xp.astype(is_kind, mass.dtype), axis=-1)
    for kind, is_kind in (*kinds.items(), ("empty", size == 0)):
        out[f"cells_{kind}"] = xp.sum(xp.astype(is_kind, mass.dtype), axis=-1)
    return out


def _common_shift(xp: Any, slopes: Array, weight: Array, power: Array) -> Array:
    """Return the t (..., d) that minimises sum_i w_i ||u_i - t||^p_i, for u (..., N, d)."""

    def value(t: Array) -> Array:
        distance = xp.sqrt(xp.sum((slopes - t[..., None, :]) ** 2, axis=-1))
        return xp.sum(weight * distance**power, axis=-1)

    def keep(best: Array, least: Array, t: Array) -> tuple[Array, Array]:
        now = value(t)
        return xp.where((now < least)[..., None], t, best), xp.minimum(now, least)

    best = slopes[..., 0, :]
    least = value(best)
    for i in range(1, slopes.shape[-2]):
        best, least = keep(best, least, slopes[..., i, :])
    t = best
    # reweighted least squares; beyond power 2 the full step overshoots by a factor power - 1
    damping = 1.0 / xp.maximum(xp.max(power, axis=-1) - 1.0, xp.ones_like(least))[..., None]
    for _ in range(_SHIFT_STEPS):
        distance = xp.sqrt(xp.sum((slopes - t[..., None, :]) ** 2, axis=-1))
        pull = weight * power * xp.maximum(distance, xp.full_like(distance, 1e-12)) ** (power - 2.0)
        total = xp.sum(pull, axis=-1)[..., None]
        mean = xp.sum(pull[..., None] * slopes, axis=-2) / xp.maximum(total, xp.full_like(total, 1e-300))
        t = t + damping * (mean - t)
        best, least = keep(best, least, t)
    return best


def _over_scales(xp: Any, weight: Array, true: Array, member: Array, rest: Array) -> Array:
    """Minimise sum_j |s W_j - w*_j| + s sum_i w_i R_i over the s at which one cell has its true mass."""
    mass = xp.matmul(weight[..., None, :], member)[..., 0, :]
    cost = xp.sum(weight * rest, axis=-1)
    best = xp.full_like(cost, xp.inf)
    for j in range(true.shape[0]):
        filled = mass[..., j] > 0
        s = xp.where(filled, true[j] / xp.where(filled, mass[..., j], xp.ones_like(cost)), xp.zeros_like(cost))
        value = xp.sum(xp.abs(s[..., None] * mass - true), axis=-1) + s * cost
        best = xp.where(filled & (value < best), value, best)
    return best


def _align(fitted: Array, truth: Array, model: SoftmaxGaussian) -> tuple[Array, Array]:
    """Shift the gates to those of the best pairing with the truth; return the atoms and the cost of that pairing."""
    flat, target = to_numpy(fitted).reshape(-1, *fitted.shape[-2:]), to_numpy(truth)
    if flat.shape[1] < len(target):
        raise ValueError(f"{flat.shape[1]} fitted atoms cannot be paired with {len(target)} true atoms")
    aligned, costs = flat.copy(), np.full(len(flat), np.inf)
    for k, atoms in enumerate(flat):
        apart = atoms[:, None] - target
        fixed = sum(np.linalg.norm(apart[..., part], axis=-1) for part in (model.a, model.beta, model.variance))
        gates = target[None, :, model.gate] - atoms[:, None, model.gate]
        # pairing and shift in turn, from the shift that makes any two gates equal
        for shift in gates.reshape(-1, gates.shape[-1]):
            for _ in range(20):
                i, j = scipy.optimize.linear_sum_assignment(fixed + np.linalg.norm(gates - shift, axis=-1))
                before, shift = shift, gates[i, j].mean(axis=0)
                if np.allclose(before, shift, rtol=0, atol=1e-12):
                    break
            cost = (fixed + np.linalg.norm(gates - shift, axis=-1))[i, j].sum()
            if cost < costs[k]:
                costs[k], aligned[k] = cost, atoms
                aligned[k, :, model.gate] = atoms[:, model.gate] + shift
    xp = namespace(fitted)
    return (
        xp.reshape(xp.asarray(aligned, dtype=fitted.dtype), fitted.shape),
        xp.reshape(xp.asarray(costs, dtype=fitted.dtype), fitted.shape[:-2]),
    )
