r"""Equation (12) of sigmoid-attention to the *set* of population minimisers: the loss L3 (and L5) of Theorems 3 and 5.

The theorems bound

.. math:: \inf_{\bar G \in \overline{\mathcal M}_N} L_3(\hat G, \bar G),

over all measures with N atoms whose function is closest to the true one. Where the model contains a truth with N* < N
atoms, these are not N* points but continua: every one of the N - N* superfluous atoms may

* *vanish*: eta = 0 beside any gate (ReLU: any eta with a'x + beta <= 0 on the cube), for gates other than the softmax;
  for the softmax its weight may tend to 0, out of reach of all fitted atoms;
* *split* another one, in any proportion: for gates other than the softmax into eta and eta_j - eta (linear experts),
  t eta_j and (1 - t) eta_j (ReLU), t^(1/p) eta_j and (1 - t)^(1/p) eta_j (polynomials of degree p), and, where the gate
  is constant, into shares of its weight; for the softmax into shares t and 1 - t of the weight e^c of the atom, with
  experts whose mean, weighted by the shares, is eta_j (linear), or multiples of eta_j with that mean (ReLU), or equal
  ones;

and all softmax gates may be shifted together. Every atom of the fit is compared with the atom of the minimiser that is
nearest in (A, b, eta), as in :mod:`moestat.losses.voronoi`; atoms of the minimiser that no atom is nearest to cost
nothing, which is the paper's convention.

*What is computed.* The infimum over finitely many members of the continuum, which adapt to the fit: a vanishing atom at
the gate of each fitted atom; splits with shares on a grid and at the values that put one or two of the fitted atoms on
the minimiser. If every superfluous atom serves one fitted atom, and every half of a split atom at most one, the best of
these is the infimum over all; the best member is then improved by a pattern search. Several superfluous atoms
are placed one after the other, keeping the ``BEAM`` best. So the number is an upper bound, exact in the cases that
matter near a minimiser (for the softmax with one superfluous atom; with several it need not vanish where the infimum
does); the tests compare it with brute force. The box is not looked at.

*The quotient loss and this one.* For gates of the sigmoid kind in the dense regime the two take their infimum over the
same continua. They differ in what they forbid: the quotient loss (:mod:`moestat.losses.quotient`) makes every true atom
be represented, and adds up the vectors of all atoms of a split; equation (12) lets cells be empty. As soon as every
atom of the nearest minimiser has its own fitted atom they are equal (if c does not change which one is nearest): near
the minimisers, hence for rates, the quotient loss *is* the theorem's loss. It is not in the sparse regime, where the
theorem's loss is L1 to the truth itself; for the softmax gate, where it weighs atoms by e^c; nor to a list of
pseudo-truths, which are points.
"""

from __future__ import annotations

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.losses.gauge import shifts
from moestat.losses.pieces import Pieces, pieces_of
from moestat.losses.rays import ROUNDING, norm
from moestat.models.regression import Model

BEAM = 4
"""Partial representations that are kept while superfluous atoms are placed one after the other."""
REGAUGED = 3
"""Minimisers, the nearest ones, whose softmax gauge is chosen again at the end."""
POLISH = (0.1, 0.03, 0.01, 0.003, 0.001)
"""Steps of the pattern search."""


@takes_float64("fitted", "truth")
def L3_infimum(fitted: Array, truth: Array, model: Model) -> Array:
    """Return the infimum of equation (12) over the N-atom minimisers that a truth with N* <= N atoms has.

    For a partially quadratic score this is L5, equation (54).

    Parameters
    ----------
    fitted : array (..., N, P)
    truth : array (N*, P)

    Returns
    -------
    array (...)

    Raises
    ------
    ValueError
        If N < N*.
    """
    xp = namespace(fitted, truth)
    target = to_numpy(truth)
    n, m = fitted.shape[-2], target.shape[0]
    if n < m:
        raise ValueError(f"{n} fitted atoms cannot represent {m} true atoms")
    flat = to_numpy(fitted).reshape(-1, n, fitted.shape[-1])
    known = np.isfinite(flat).all(axis=(1, 2)) & np.isfinite(target).all()
    values = np.array(
        [nearest_minimiser(atoms, target, model)[0] if ok else np.nan for atoms, ok in zip(flat, known, strict=True)]
    )
    return xp.asarray(values.reshape(fitted.shape[:-2]), dtype=fitted.dtype)


@takes_float64("atoms", "truth", finite=True)
def nearest_minimiser(atoms: np.ndarray, truth: np.ndarray, model: Model) -> tuple[float, np.ndarray]:
    """Return the loss of one fit (N, P) and the minimiser (M, P), N* <= M <= N, that it is taken to.

    Atoms of the minimiser that no fitted atom is near are left out where they vanish. Softmax: the minimiser is in the
    gauge of the fit.
    """
    placed = []
    for shift in shifts(atoms, truth, model):
        moved = truth.copy()
        moved[:, : model.gate_size] -= shift
        placed.append(_place_superfluous(atoms, moved, model))
    placed.sort(key=lambda one: one[0])
    if model.gate == "softmax":
        placed = [_regauge(atoms, measure, model, loss) for loss, measure in placed[:REGAUGED]]
    return min(placed, key=lambda one: one[0])


@takes_float64("atoms", "measure")
def eq12(atoms: np.ndarray, measure: np.ndarray, model: Model) -> float:
    """Return equation (12) between a fit (N, P) and one measure (M, P), as they are, without any gauge."""
    cost, square = _distances(atoms, measure, model)
    return float(np.sum(cost[np.arange(len(atoms)), np.argmin(square, axis=1)]))


def _distances(atoms: np.ndarray, others: np.ndarray, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return the summed norms and the squared distances without c, (N, M) each, between atoms (N, P) and (M, P)."""
    difference = atoms[:, None, :] - others
    cost = sum(norm(difference[..., part]) for part in (model.a_matrix, model.b, model.c, model.eta))
    return np.asarray(cost), np.sum(difference[..., 1:] ** 2, axis=-1)


def _place_superfluous(atoms: np.ndarray, truth: np.ndarray, model: Model) -> tuple[float, np.ndarray]:
    beam = [(eq12(atoms, truth, model), truth)]
    for _ in range(len(atoms) - len(truth)):
        entries: dict[float, np.ndarray] = {}
        for loss, base in beam:
            entries.setdefault(loss, base)  # the atom vanishes where nobody is
            pieces, rows = pieces_of(atoms, base, model), np.concatenate([base, atoms])
            losses = losses_with(atoms, rows, pieces, model)
            for k in np.argsort(losses, kind="stable")[:BEAM]:
                entries.setdefault(float(losses[k]), pieces.measure(rows, len(base), int(k), model))
        beam = sorted(entries.items(), key=lambda entry: entry[0])[:BEAM]
    return min((_polish(atoms, measure, truth, model, loss) for loss, measure in beam), key=lambda end: end[0])


def losses_with(atoms: np.ndarray, rows: np.ndarray, pieces: Pieces, model: Model) -> np.ndarray:
    """Return equation (12) for every choice (C,): only two columns of the distances change, and there for few atoms."""
    n, m = len(atoms), len(rows) - len(atoms)
    cost, square = _distances(atoms, rows[:m], model)
    # nearest of the rows that stay, for each row that may change and (last) for none
    rest = np.repeat(square[None], m + 1, axis=0)
    rest[np.arange(m), :, np.arange(m)] = np.inf
    cell = np.argmin(rest, axis=2)
    rest, rest_cost = np.min(rest, axis=2), cost[np.arange(n), cell]
    gap = rows[:, None, : model.gate_size] - atoms[:, : model.gate_size]
    gate, gate_square = norm(gap[..., model.a_matrix]) + norm(gap[..., model.b]), np.sum(gap[..., 1:] ** 2, axis=-1)
    # atoms that a half can be nearest to: its gate alone is no farther than the nearest of the rows that stay
    k, i = np.nonzero(gate_square[pieces.gates] <= (1 + ROUNDING) * rest[pieces.j])
    j, at = pieces.j[k], pieces.gates[k]
    # layouts are fixed, for they decide how sums are rounded
    expert = norm(np.subtract(atoms[i][:, None, model.eta], pieces.eta[k], order="C"))
    near = np.concatenate([gate_square[at, i, None] + expert**2, rest[j, i, None]], axis=1)
    near[j < 0, 0] = np.inf
    # where rounding decides, as between halves with equal experts, the sums over all coordinates do
    ordered = np.sort(near, axis=1)
    tied = np.flatnonzero(ordered[:, 1] <= (1 + ROUNDING) * ordered[:, 0])
    for half in (0, 1):
        some = tied[j[tied] >= 0] if half == 0 else tied
        exact = atoms[i[some]] - pieces.half(rows, k[some], half, model)
        near[some, half] = np.sum(exact[:, 1:] ** 2, axis=-1)
    each = gate[at, i, None] + np.abs(atoms[i, :1] - pieces.c[k]) + expert
    own = np.where(near[:, 0] <= near[:, 2], each[:, 0], rest_cost[j, i])
    costs = np.array(rest_cost[pieces.j], order="C")
    costs[k, i] = np.where(near[:, 1] < np.minimum(near[:, 0], near[:, 2]), each[:, 1], own)
    total: np.ndarray = np.sum(costs, axis=1)
    return total


def _polish(
    atoms: np.ndarray, measure: np.ndarray, truth: np.ndarray, model: Model, loss: float
) -> tuple[float, np.ndarray]:
    """Improve the gates of vanishing atoms by a pattern search along the fitted atoms; the rest is where it is best."""
    if model.gate == "softmax":
        return loss, measure
    for k in range(len(truth), len(measure)):
        if np.abs(measure[k, model.eta]).max() > 0:
            continue
        for step in POLISH:
            moved = measure[k] + step * (atoms - measure[k])
            moved[:, model.eta] = 0.0
            cost, square = (np.repeat(whole[None], len(moved), axis=0) for whole in _distances(atoms, measure, model))
            cost[:, :, k], square[:, :, k] = (own.T for own in _distances(atoms, moved, model))
            cell = np.argmin(square, axis=2)[..., None]
            values = np.sum(np.take_along_axis(cost, cell, axis=2)[..., 0], axis=1)
            best = int(np.argmin(values))
            if values[best] < loss:
                loss, measure = float(values[best]), measure.copy()
                measure[k] = moved[best]
    return loss, measure


def _regauge(atoms: np.ndarray, measure: np.ndarray, model: Model, loss: float) -> tuple[float, np.ndarray]:
    """Shift a minimiser once more, now that its superfluous atoms are placed."""
    start = measure
    for shift in shifts(atoms, start, model):
        moved = start.copy()
        moved[:, : model.gate_size] -= shift
        value = eq12(atoms, moved, model)
        if value < loss:
            loss, measure = value, moved
    return loss, measure
