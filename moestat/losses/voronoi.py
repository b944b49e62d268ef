r"""Voronoi losses between a fitted and a true mixing measure.

Every fitted atom belongs to the cell of the true atom that is nearest in (A, b, eta), without c (ties: the lowest
index). A loss sums, over the cells, what separates the atoms of a cell from its true atom; an empty cell costs
nothing. The theorems distinguish over-specified true atoms, whose cell holds two or more fitted atoms in the limit,
from exactly specified ones; on a fitted measure the cells themselves decide: a true atom is *over* when its cell holds
two or more atoms, and *exact* otherwise.

Softmax gates have a gauge: one vector added to the (c, b, A) of all atoms changes nothing. A loss is the least one over
the gauges of :func:`moestat.losses.gauge.candidates`, among which are the medians that are best for equation (12) and
the gauge of least squares in which a truth whose atom is split, c to c - log 2 twice, has its atoms in place. Cells and
blocks are those of the gauge with the least :func:`L3`.

Everywhere ``fitted`` is an array (..., N, P), and ``truth`` an array (N*, P), or (K, N*, P) for a list of K
pseudo-truths: the loss is then the infimum over the list. A fit that is not finite has the loss NaN.

Source: "sigmoid-attention", equations (9), (11), (12), (52) to (54) and section 4.1.1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.losses.comparison import Comparison, compared
from moestat.losses.gauge import candidates
from moestat.models.regression import Model

BLOCKS = ("A", "b", "c", "eta")


@takes_float64("fitted", "truth")
def compare(fitted: Array, truth: Array, model: Model) -> Comparison:
    """Compare fitted atoms (..., N, P) with one true measure (N*, P), softmax gates in the gauge of least L3."""
    xp = namespace(fitted, truth)
    gauged = _gauged(fitted, truth, model)
    best = xp.argmin(_l3(compared(gauged, truth, model)), axis=-1)
    chosen = xp.broadcast_to(best[..., None, None, None], (*fitted.shape[:-2], 1, *fitted.shape[-2:]))
    return compared(xp.take_along_axis(gauged, chosen, axis=-3)[..., 0, :, :], truth, model)


def _gauged(fitted: Array, truth: Array, model: Model) -> Array:
    """Return the fits in the gauges in question, (..., K, N, P); gates other than the softmax have one."""
    for name, atoms in (("fitted", fitted), ("truth", truth)):
        if atoms.ndim < 2 or atoms.shape[-1] != model.atom_size:
            raise ValueError(f"{name} has shape {tuple(atoms.shape)}; it must be (..., atoms, {model.atom_size})")
    if model.gate != "softmax":
        return fitted[..., None, :, :]
    xp = namespace(fitted, truth)
    return xp.asarray(candidates(to_numpy(fitted), to_numpy(truth), model).copy(), dtype=fitted.dtype)


def _least(cost: Callable[[Comparison], Array], fitted: Array, truth: Array, model: Model) -> Array:
    """Return the least cost of a comparison, over the gauges of a softmax and over a list of true measures."""

    def loss(fitted: Array, truth: Array, model: Model) -> Array:
        return namespace(fitted).min(cost(compared(_gauged(fitted, truth, model), truth, model)), axis=-1)

    return infimum(loss, fitted, truth, model)


@takes_float64("fitted", "truth")
def infimum(loss: Callable[[Array, Array, Model], Array], fitted: Array, truth: Array, model: Model) -> Array:
    """Return a loss to one true measure (N*, P), or the smallest one over a list (K, N*, P) of them."""
    if truth.ndim == 2:
        return loss(fitted, truth, model)
    if truth.ndim != 3 or truth.shape[0] == 0:
        raise ValueError(f"truth has shape {tuple(truth.shape)}; allowed are (N*, P) and (K, N*, P) with K >= 1")
    xp = namespace(fitted, truth)
    return reduce(xp.minimum, (loss(fitted, truth[k, ...], model) for k in range(truth.shape[0])))


def L1(fitted: Array, truth: Array, model: Model) -> Array:
    r"""Loss of strongly identifiable experts (section 4.1.1).

    .. math::
        \sum_{j\,over} \Big|\sum_{i\in A_j} w_i - w^*_j\Big|
        + \sum_{j\,over}\sum_{i\in A_j} (\|\Delta A\|^2 + \|\Delta b\|^2 + \|\Delta\eta\|^2)
        + \sum_{j\,exact}\sum_{i\in A_j} (\|\Delta A\| + \|\Delta b\| + |\Delta c| + \|\Delta\eta\|)

    with w = sigmoid(c) or exp(c).
    """

    def cost(k: Comparison) -> Array:
        squares = k.in_cells(k.square["A"] + k.square["b"] + k.square["eta"])
        return _total(k, k.weight_error + squares, k.in_cells(_norms(k)))

    return _least(cost, fitted, truth, model)


def L2r(fitted: Array, truth: Array, model: Model, r: float = 1.0) -> Array:
    r"""Loss of polynomial experts, equation (11).

    As :func:`L1`, every norm of the last two sums to the power r >= 1, and :math:`\|\Delta a\|^r + |\Delta\beta|^r` in
    place of that of eta = (a, beta).
    """
    if not r >= 1:
        raise ValueError(f"r is {r}; it must be at least 1")

    def cost(k: Comparison) -> Array:
        both = sum(square ** (r / 2) for square in (k.square["A"], k.square["b"], *k.eta_parts))
        return _total(k, k.weight_error + k.in_cells(both), k.in_cells(both + k.square["c"] ** (r / 2)))

    return _least(cost, fitted, truth, model)


def L3(fitted: Array, truth: Array, model: Model) -> Array:
    r"""Loss of weakly identifiable experts to the nearest of the measures that are given, equation (12).

    The theorems' loss is its infimum over all minimisers with N atoms. To a truth with fewer atoms that is
    :func:`moestat.losses.minimisers.L3_infimum`; this number need not tend to zero with it.

    .. math::
        \sum_j\sum_{i\in A_j} (\|\Delta A\| + \|\Delta b\| + |\Delta c| + \|\Delta\eta\|)
    """
    return _least(_l3, fitted, truth, model)


def _l3(k: Comparison) -> Array:
    return namespace(k.cell).sum(k.in_cells(_norms(k)), axis=-1)


def L4(fitted: Array, truth: Array, model: Model) -> Array:
    """:func:`L1` without b, for the partially quadratic score, equation (53)."""
    if model.score != "partial":
        raise ValueError(f"L4 is a loss of the partially quadratic score; the score is {model.score!r}")
    return L1(fitted, truth, model)


def Lsm(fitted: Array, truth: Array, model: Model) -> Array:
    r"""Loss of softmax gates with strongly identifiable experts (arXiv 2410.11222).

    .. math::
        \sum_j \Big|\sum_{i\in A_j} e^{c_i} - e^{c^*_j}\Big|
        + \sum_{|A_j|>1}\sum_{i\in A_j} e^{c_i} (\|\Delta A\|^2 + \|\Delta b\|^2 + \|\Delta\eta\|^2)
        + \sum_{|A_j|=1}\sum_{i\in A_j} e^{c_i} (\|\Delta A\| + \|\Delta b\| + \|\Delta\eta\|)

    Unlike the others it sees empty cells, through the first sum.
    """
    if model.gate != "softmax":
        raise ValueError(f"Lsm is a loss of softmax gates; the gate is {model.gate!r}")

    def cost(k: Comparison) -> Array:
        squares = k.square["A"] + k.square["b"] + k.square["eta"]
        norms = k.norm("A") + k.norm("b") + k.norm("eta")
        over, exact = (k.in_cells(k.weight[..., None] * part) for part in (squares, norms))
        return _total(k, k.weight_error + over, k.weight_error + exact)

    return _least(cost, fitted, truth, model)


def blocks(fitted: Array, truth: Array, model: Model) -> dict[str, Array]:
    """Return the errors by block and by kind of true atom, each (...), for tables of parameter rates.

    ``"A_over"``, ``"A_exact"``, and so for b, c, eta: the sum of the norms of the block's error over the atoms in cells
    of that kind; blocks that the score does not have are left out. ``"weight_over"`` and ``"weight_exact"``: sums of |
    sum of the weights of a cell - true weight |. ``"cells_over"``, ``"cells_exact"``, ``"cells_empty"``: numbers of
    cells with two or more, one and no atoms. A sum over no cell is 0. ``truth`` is one measure (N*, P).
    """
    k = compare(fitted, truth, model)
    xp = namespace(k.size)
    one = xp.astype(k.size == 1, k.size.dtype)
    kinds = {"over": k.over, "exact": one}
    absent = {"A": model.score == "linear", "b": model.score == "partial"}
    out = {
        f"{block}_{kind}": xp.sum(k.in_cells(k.norm(block)) * mask, axis=-1)
        for block in BLOCKS
        if not absent.get(block, False)
        for kind, mask in kinds.items()
    }
    out |= {f"weight_{kind}": xp.sum(k.weight_error * mask, axis=-1) for kind, mask in kinds.items()}
    kinds["empty"] = xp.astype(k.size == 0, k.size.dtype)
    return out | {f"cells_{kind}": xp.sum(mask, axis=-1) for kind, mask in kinds.items()}


def _norms(k: Comparison) -> Array:
    return k.norm("A") + k.norm("b") + k.norm("c") + k.norm("eta")


def _total(k: Comparison, over: Array, exact: Array) -> Array:
    """Sum the cells' costs (..., N*), each by its kind."""
    return namespace(over).sum(k.over * over + (1.0 - k.over) * exact, axis=-1)
