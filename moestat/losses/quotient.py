r"""The quotient loss: the distance to the truth modulo its exact other representations.

A mixing measure is not determined by its regression function when experts are positively homogeneous
(ReLU, linear): two atoms with the gate of a true atom and the experts t eta and (1 - t) eta give the same function, and
so does any atom with eta = 0, wherever its gate is. The minimisers of the population risk are then a continuum, and
losses to one point of it, such as L1 and L3, measure where in the continuum a fit happens to lie. The quotient loss
is the paper's L3 with its infimum over minimisers taken over these continua,

.. math::
    Q(G, G^*) = \inf_{\theta' \in R(G^*)} \sum_{i=1}^N
        (\|A_i - A_i'\| + \|b_i - b_i'\| + |c_i - c_i'| + \|\eta_i - \eta_i'\|),

where R(G*) holds the N-atom representations of f_{G*} that arise as follows (sigmoid gate). Every true atom j gets a
cell of at least one fitted atom; atoms in no cell are null.

* *Null atoms*: eta' = 0, any gate; for ReLU any eta' with a'x + beta <= 0 on the cube [-1, 1]^d. Cost: the distance
  of eta to these.
* *Split atoms* (ReLU, linear): the atoms of a cell have the gate of the true atom; sum eta' = eta* for linear
  experts (cost: || sum eta - eta* ||), eta'_i = t_i eta*, t_i >= 0, sum t_i = 1 for ReLU, where only positively
  parallel experts merge (cost: the minimum over t).
* *Constant gates* (A*, b*) = 0, the sparse regime: ReLU and linear experts trade c against eta, so that c is not
  compared, and the vectors sigmoid(c_i) eta_i stand for eta_i above, a unit of which costs 1 / sigmoid(c_i). Besides,
  sigmoid(s) + sigmoid(-s) = 1, so two atoms with opposite gates (s, eta) and (-s, eta) together are an atom of constant
  gate: such a mirror pair costs || A + A' || + || b + b' || + | c + c' | + || eta - eta' ||, and enters the sum with
  (eta + eta') / 2 at 2 per unit. At most one pair per cell. For GELU an atom of constant gate splits by weight:
  atoms in one cell cost | sum sigmoid(c_i) - sigmoid(c*) | + sum(|| A || + || b || + || eta - eta* ||).
* *Merged truth* (linear): true atoms with equal gates count as one with the sum of their eta, all true atoms of
  constant gate as one with the sum of their sigmoid(c) eta.

The infimum over cells and null atoms is exact (dynamic programming over sets of atoms). Q = 0 exactly when the fit is
one of these representations, so Q = 0 implies f_G = f_{G*}. Not in R(G*), hence counted as distance: what linear
experts owe to sigmoid(s) h = h - sigmoid(-s) h, true ReLUs that are linear on the whole cube, and the splits of
polynomial experts of degree 2 or more, for which, as for GELU, a cell of a non-constant gate has one atom.

A gate of the user's own (:mod:`moestat.own`) is treated like the sigmoid one, without the rules for constant gates; an
expert of the user's own like GELU. Symmetries that only they have (of an even gate, say) count as distance.

For the softmax gate the representations are sums of weights, and the loss is stated in them: w = exp(c), A_j the atoms
whose (A, b) and expert are nearest,

.. math::
    Q = \sum_{groups} \Big|\sum_{i} w_i - \sum_j w^*_j\Big|
        + \sum_j \Big(\sum_{i\in A_j} w_i (\|\Delta A\| + \|\Delta b\|) + E_j\Big),

with E_j = || sum w_i eta_i - w* eta* || for linear experts, the minimum of sum || w_i eta_i - t_i w* eta* || over
t >= 0, sum t = 1 for ReLU, and sum w_i || eta_i - eta* || for the others. A group holds the true atoms of equal (A, b)
for ReLU and linear experts (their masses are not told apart by f), and one true atom otherwise. Nearest is
meant in (A, b) and the direction of eta for ReLU, in (A, b) for linear, in (A, b, eta) for the other experts. The gauge
of (A, b) is the one of least loss among those reached from every pairing of one atom with one cell by averaging over
the cells; that of c makes the log masses of the groups equal to the true ones on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.losses.rays import (
    equal_rows,
    merge_cost,
    merging,
    nearest,
    norm,
    null_projection,
    ray_distance,
    summed_by_group,
)
from moestat.losses.voronoi import infimum
from moestat.models.gates import gate_values
from moestat.models.regression import Model

MOST_PAIRS = 2_000_000  #: Largest number of steps of the exact infimum, per cell and fitted measure.
GAUGE_ROUNDS = 3  # of averaging that a gauge of the softmax is refined by
GAUGES_AT_A_TIME = 24  # whose atoms are merged together, the most promising first


@takes_float64("fitted", "truth")
def quotient(fitted: Array, truth: Array, model: Model) -> Array:
    """Return the quotient loss (see the module's text), (...), of fits (..., N, P), N >= N*.

    ``truth`` is (N*, P), or a list (K, N*, P), over which it is the infimum.
    """
    xp = namespace(fitted, truth)
    loss = _softmax if model.gate == "softmax" else _by_atom
    values = infimum(loss, to_numpy(fitted).reshape(-1, *fitted.shape[-2:]), to_numpy(truth), model)
    return xp.asarray(values.reshape(fitted.shape[:-2]), dtype=fitted.dtype)


@dataclass(frozen=True)
class _Truth:
    """True cells: their gates, vectors (eta*, or sigmoid(c*) eta* where the gate is constant) and kinds."""

    atoms: np.ndarray
    vector: np.ndarray
    constant: np.ndarray


@dataclass(frozen=True)
class _Sets:
    """The sets of at most ``most`` of N atoms, with a table of unions of disjoint sets for the dynamic program.

    Every entry of the table has the mask of the atoms used so far (``left``), the position of a set disjoint from it
    (``right``), and the mask of both; it is sorted by ``union``, whose entries begin at ``start``.
    """

    members: np.ndarray  #: (S, most) int, atoms of each set, filled up with -1.
    left: np.ndarray
    right: np.ndarray
    union: np.ndarray
    start: np.ndarray


@lru_cache(maxsize=16)
def _sets(n: int, most: int) -> _Sets:
    pairs = sum(comb(n, size) * 2 ** (n - size) for size in range(1, most + 1))
    if pairs > MOST_PAIRS:
        needed = f"{n} fitted atoms with up to {most} of them in a cell need {pairs} steps for the quotient loss"
        raise ValueError(f"{needed}; allowed are {MOST_PAIRS}")
    chosen = [s for size in range(1, most + 1) for s in combinations(range(n), size)]
    code = np.array([sum(1 << i for i in s) for s in chosen])
    members = np.array([[*s, *[-1] * (most - len(s))] for s in chosen])
    masks = np.arange(1 << n)
    right, left = np.nonzero((masks[None, :] & code[:, None]) == 0)
    union = left | code[right]
    order = np.argsort(union, kind="stable")
    left, right, union = left[order], right[order], union[order]
    start = np.flatnonzero(np.r_[True, union[1:] != union[:-1]])
    return _Sets(members, left, right, union[start], start)


def _by_atom(fitted: np.ndarray, truth: np.ndarray, model: Model) -> np.ndarray:
    kind = merging(model)
    constant = np.all(truth[:, 1 : model.gate_size] == 0, axis=1) & (model.gate == "sigmoid")
    vector = truth[:, model.eta]
    if kind != "none":
        vector = np.where(constant[:, None], gate_values("sigmoid", truth[:, :1]) * vector, vector)
    if kind == "linear":
        # with c out of the key, all constant gates are one
        key = np.where(constant[:, None], 0.0, truth[:, : model.gate_size])
        first, vector = summed_by_group(equal_rows(key), vector)
        truth, constant = truth[first], constant[first]
    cells = _Truth(truth, vector, constant)
    n, m = fitted.shape[-2], len(truth)
    if n < m:
        raise ValueError(f"{n} fitted atoms cannot represent {m} true atoms")
    sets = _sets(n, n - m + 1)
    null = norm(fitted[..., model.eta] - null_projection(fitted[..., model.eta], kind))
    return np.array([_member(*one, cells, model, kind, sets) for one in zip(fitted, null, strict=True)])


def _member(atoms: np.ndarray, null: np.ndarray, cells: _Truth, model: Model, kind: str, sets: _Sets) -> float:
    """Return the loss of one fitted measure: the cheapest disjoint choice of a set for every cell."""
    n = len(atoms)
    best = np.full(1 << n, np.inf)
    best[0] = 0.0
    for cost in _cell_costs(atoms, cells, model, kind, sets.members):
        new = np.full(1 << n, np.inf)
        new[sets.union] = np.minimum.reduceat(best[sets.left] + cost[sets.right], sets.start)
        best = new
    free = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 0
    return float(np.min(best + free @ null))


def _cell_costs(atoms: np.ndarray, cells: _Truth, model: Model, kind: str, members: np.ndarray) -> np.ndarray:
    """Return the cost (cells, sets) of every set of atoms as the content of every true cell."""
    there = members >= 0
    eta = atoms[:, model.eta]
    weight = gate_values("sigmoid", atoms[:, :1])[:, 0]
    if kind != "none":
        factor = np.where(cells.constant[:, None], weight, 1.0)
        vectors, price = (factor[..., None] * eta)[:, members] * there[..., None], (1.0 / factor)[:, members]
        merged = merge_cost(vectors, price, np.broadcast_to(there, price.shape), cells.vector[:, None], kind)
    out = []
    for j, (true, vector, constant) in enumerate(zip(cells.atoms, cells.vector, cells.constant, strict=True)):
        difference = atoms - true
        shape = norm(difference[:, model.a_matrix]) + norm(difference[:, model.b])
        gamma = np.abs(difference[:, 0])
        if kind == "none":
            each = shape + gamma + norm(eta - vector)
            cost = np.sum(each[members] * there, axis=1)
            several = there[:, 1] if members.shape[1] > 1 else np.zeros(len(members), dtype=bool)
            if constant:
                mass = np.abs(np.sum(weight[members] * there, axis=1) - gate_values("sigmoid", true[:1])[0])
                cost = np.where(several, np.sum((each - gamma)[members] * there, axis=1) + mass, cost)
            else:
                cost = np.where(several, np.inf, cost)
        else:
            cost = np.sum((shape if constant else shape + gamma)[members] * there, axis=1) + merged[j]
            if constant:
                pair = _with_mirror_pair(atoms, shape, vectors[j], price[j], vector, model, kind, members)
                cost = np.minimum(cost, pair)
        out.append(cost)
    return np.array(out)


def _with_mirror_pair(
    atoms: np.ndarray, shape: np.ndarray, vectors: np.ndarray, price: np.ndarray, target: np.ndarray, model: Model,
    kind: str, members: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the cost (sets,) of a cell of constant gate when two of its atoms form a mirror pair."""
    there = members >= 0
    best = np.full(len(members), np.inf)
    eta = atoms[:, model.eta]
    for p, q in combinations(range(members.shape[1]), 2):
        rows = there[:, q]
        i, j = members[rows, p], members[rows, q]
        total = atoms[i] + atoms[j]
        gate = sum(norm(total[:, part]) for part in (model.a_matrix, model.b, model.c))
        rest = there[rows].copy()
        rest[:, [p, q]] = False
        # the pair takes the place of its first atom; its second place stays empty
        v, k, used = vectors[rows].copy(), price[rows].copy(), rest.copy()
        v[:, p], v[:, q], k[:, p], used[:, p] = 0.5 * (eta[i] + eta[j]), 0.0, 2.0, True
        cost = gate + norm(eta[i] - eta[j]) + np.sum(shape[members[rows]] * rest, axis=1)
        best[rows] = np.minimum(best[rows], cost + merge_cost(v, k, used, target, kind))
    return best


def _softmax(fitted: np.ndarray, truth: np.ndarray, model: Model) -> np.ndarray:
    kind = merging(model)
    n, m = fitted.shape[-2], len(truth)
    if n < m:
        raise ValueError(f"{n} fitted atoms cannot represent {m} true atoms")
    masses = np.exp(truth[:, 0])
    group = equal_rows(truth[:, 1 : model.gate_size]) if kind != "none" else np.arange(m)
    target = masses[:, None] * truth[:, model.eta]
    group_of_cell = group
    if kind == "linear":
        first, target = summed_by_group(group, target)
        truth, group_of_cell = truth[first], np.arange(first.size)
    cells = _SoftmaxTruth(
        truth[:, 1 : model.gate_size],
        truth[:, model.eta],
        target,
        np.eye(group.max() + 1)[group_of_cell],
        np.bincount(group, weights=masses),
    )
    return np.array([_softmax_member(atoms, cells, model, kind) for atoms in fitted])


@dataclass(frozen=True)
class _SoftmaxTruth:
    """True cells of a softmax gate: (A, b), eta, w* eta*, the group of each cell (one-hot), and the groups' masses."""

    gate: np.ndarray
    eta: np.ndarray
    target: np.ndarray
    group: np.ndarray
    mass: np.ndarray


def _softmax_member(atoms: np.ndarray, cells: _SoftmaxTruth, model: Model, kind: str) -> float:
    """Return the loss of one fitted measure in the best of the gauges reached from pairing one atom with one cell."""
    gate, eta = atoms[:, 1 : model.gate_size], atoms[:, model.eta]
    if kind == "linear":
        apart = np.zeros((len(atoms), len(cells.gate)))
    elif kind == "relu":
        apart = ray_distance(eta, cells.eta) ** 2
    else:
        apart = np.sum((eta[:, None, :] - cells.eta) ** 2, axis=-1)
    share = np.exp(atoms[:, 0] - np.max(atoms[:, 0]))
    share = share / np.sum(share)
    shifts = (cells.gate - gate[:, None, :]).reshape(-1, gate.shape[1])
    tried = []
    for _ in range(1 + GAUGE_ROUNDS):
        moved = gate + shifts[:, None, :]
        near = nearest(moved, cells.gate, apart)
        step = cells.gate[near] - moved
        shifts = shifts + np.sum(share[:, None] * step, axis=1)
        tried.append((near, step))
    near, step = (np.concatenate(one) for one in zip(*tried, strict=True))
    member = near[..., None] == np.arange(len(cells.gate))
    # the gauge of c: masses of the occupied groups closest to the true ones, in logarithms
    mass = np.sum(share[:, None] * (member @ cells.group), axis=1)
    log_ratio = np.log(np.where(mass > 0, cells.mass / np.where(mass > 0, mass, 1.0), 1.0))
    scale = np.exp(np.sum(log_ratio, axis=1) / np.sum(mass > 0, axis=1))[:, None]
    w = share * scale
    split = (model.a_matrix, model.b)
    far = np.asarray(sum(norm(step[..., part.start - 1 : part.stop - 1]) for part in split))
    norms = np.where(member, far[..., None], 0.0)
    total = np.sum(np.abs(mass * scale - cells.mass), axis=1) + np.sum(w[..., None] * norms, axis=(1, 2))
    if kind == "none":
        return float(np.min(total + np.sum(w[..., None] * member * np.sqrt(apart), axis=(1, 2))))
    # an atom of weight 0, which an empty cell can move
    vectors = np.concatenate([w[..., None] * eta, np.zeros((len(w), 1, eta.shape[1]))], axis=1)
    least = np.inf
    # what merging adds depends on the cells alone, so of the gauges with the same ones the cheapest is best
    cheapest: dict[bytes, int] = {}
    for k in np.argsort(total):
        cheapest.setdefault(near[k].tobytes(), int(k))
    order = np.array(list(cheapest.values()))
    for rows in np.array_split(order, -(-len(order) // GAUGES_AT_A_TIME)):
        rows = rows[~(total[rows] >= least)]  # merging only adds to the total: a gauge that is dear already cannot win
        if not rows.size:
            break
        cost = total[rows]
        used = np.concatenate([member[rows], np.ones((len(rows), 1, len(cells.target)), dtype=bool)], axis=1)
        used = np.moveaxis(used, -1, 0)
        merged = merge_cost(vectors[rows] * used[..., None], used * 1.0, used, cells.target[:, None, :], kind)
        for each in merged:
            cost = cost + each
        least = np.minimum(least, np.min(cost))
    return float(least)
