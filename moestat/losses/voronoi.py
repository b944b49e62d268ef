r"""Voronoi losses between a fitted and a true mixing measure.

Every fitted atom belongs to the cell of the true atom that is nearest in (A, b, eta), without c (ties: the lowest
index). A loss sums, over the cells, what separates the atoms of a cell from its true atom; an empty cell costs
nothing. The theorems distinguish over-specified true atoms, whose cell holds two or more fitted atoms in the limit,
from exactly specified ones; on a fitted measure the cells themselves decide: a true atom is *over* when its cell holds
two or more atoms, and *exact* otherwise.

Softmax gates are brought into one gauge first. The shift of (A, b) is that of
:meth:`moestat.models.regression.Model.align`, the shift of c is the one that brings the log masses
:math:`\log \sum_{i \in A_j} e^{c_i}` of the occupied cells closest to :math:`c^*_j` in least squares, so that a truth
whose atom is split, c to c - log 2 twice, has its atoms in place.

Everywhere ``fitted`` is an array (..., N, P), and ``truth`` an array (N*, P), or (K, N*, P) for a list of K
pseudo-truths: the loss is then the infimum over the list.

Source: "sigmoid-attention", equations (9), (11), (12), (52) to (54) and section 4.1.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from moestat.arrays import Array, namespace
from moestat.models.regression import Model

BLOCKS = ("A", "b", "c", "eta")


@dataclass(frozen=True)
class Comparison:
    """What separates every fitted atom from every true atom, and which cell it is in.

    Attributes
    ----------
    cell : int array (..., N)
    member : array (..., N, N*)
        1 where atom i is in cell j, else 0.
    size : array (..., N*)
        Number of atoms per cell.
    square : dict of arrays (..., N, N*)
        Squared Euclidean (for A: Frobenius) distances per block "A", "b", "c", "eta".
    gamma : array (..., N)
        c of the fitted atoms, in the gauge of the comparison.
    weight, true_weight : arrays (..., N), (N*,)
        Weights of the mixing measures.
    """

    cell: Array
    member: Array
    size: Array
    square: dict[str, Array]
    gamma: Array
    weight: Array
    true_weight: Array

    def norm(self, block: str) -> Array:
        """Return the distances (..., N, N*) in one block."""
        return namespace(self.cell).sqrt(self.square[block])

    def in_cells(self, values: Array) -> Array:
        """Sum values (..., N, N*) over the atoms of each cell, (..., N*)."""
        return namespace(values).sum(values * self.member, axis=-2)

    @property
    def over(self) -> Array:
        """1 for true atoms whose cell holds two or more atoms, else 0, (..., N*)."""
        return namespace(self.size).astype(self.size > 1, self.member.dtype)

    @property
    def weight_error(self) -> Array:
        """| sum of the weights of a cell - true weight |, (..., N*)."""
        xp = namespace(self.weight)
        return xp.abs(xp.sum(self.weight[..., None] * self.member, axis=-2) - self.true_weight)


def compare(fitted: Array, truth: Array, model: Model) -> Comparison:
    """Compare fitted atoms (..., N, P) with one true measure (N*, P), softmax gates in one gauge.

    Raises
    ------
    ValueError
        If the numbers of coordinates do not fit the model.
    """
    xp = namespace(fitted, truth)
    for name, atoms in (("fitted", fitted), ("truth", truth)):
        if atoms.ndim < 2 or atoms.shape[-1] != model.atom_size:
            raise ValueError(
                f"{name} has shape {tuple(atoms.shape)}; its last axis must hold the {model.atom_size} coordinates of "
                "an atom"
            )
    fitted = model.align(fitted, truth)
    difference = fitted[..., :, None, :] - truth
    parts = {"A": model.a_matrix, "b": model.b, "eta": model.eta}
    square = {name: xp.sum(difference[..., part] ** 2, axis=-1) for name, part in parts.items()}
    cell = xp.argmin(square["A"] + square["b"] + square["eta"], axis=-1)
    same = cell[..., None] == xp.arange(truth.shape[-2], dtype=cell.dtype)
    member = xp.astype(same, fitted.dtype)
    size = xp.sum(member, axis=-2)
    gamma = fitted[..., 0]
    if model.gate == "softmax":
        apart = xp.max(xp.abs(truth[:, None, 1:] - truth[None, :, 1:]), axis=-1)
        coincident = xp.astype(apart == 0, fitted.dtype)
        gamma = gamma + _mass_shift(gamma, member, truth[..., 0], coincident)[..., None]
    square["c"] = (gamma[..., None] - truth[..., 0]) ** 2
    weight, true_weight = (model.weights(c[..., None]) for c in (gamma, truth[..., 0]))
    return Comparison(cell, member, size, square, gamma, weight, true_weight)


def _mass_shift(gamma: Array, member: Array, true_gamma: Array, coincident: Array) -> Array:
    """Return the mean over occupied true atoms of log sum exp(c*) - log sum_{i in A} exp(c_i), (...).

    True atoms that coincide in (A, b, eta) count together: their fitted atoms all sit in the cell of the first one.
    """
    xp = namespace(gamma)
    top = xp.max(gamma, axis=-1)[..., None]
    mass = (xp.sum(xp.exp(gamma - top)[..., None] * member, axis=-2)[..., None, :] @ coincident)[..., 0, :]
    true_mass = (xp.exp(true_gamma)[None, :] @ coincident)[0, :]
    occupied = xp.astype((xp.sum(member, axis=-2)[..., None, :] @ coincident)[..., 0, :] > 0, gamma.dtype)
    # a mass can underflow when the c of a fit are more than 700 apart
    log_mass = xp.log(xp.where(mass > 0, mass, xp.full_like(mass, 5e-324))) + top
    return xp.sum((xp.log(true_mass) - log_mass) * occupied, axis=-1) / xp.sum(occupied, axis=-1)


def infimum(loss: Callable[[Array, Array, Model], Array], fitted: Array, truth: Array, model: Model) -> Array:
    """Return a loss to one true measure (N*, P), or the smallest one over a list (K, N*, P) of them."""
    if truth.ndim == 2:
        return loss(fitted, truth, model)
    if truth.ndim != 3 or truth.shape[0] == 0:
        raise ValueError(f"truth has shape {tuple(truth.shape)}; allowed are (N*, P) and (K, N*, P) with K >= 1")
    xp = namespace(fitted, truth)
    return reduce(xp.minimum, (loss(fitted, truth[k, ...], model) for k in range(truth.shape[0])))


def cells(fitted: Array, truth: Array, model: Model) -> Array:
    """Return the cell of every fitted atom, an int array (..., N); ``truth`` is one measure (N*, P)."""
    return compare(fitted, truth, model).cell


def empty_cells(fitted: Array, truth: Array, model: Model) -> Array:
    """Return how many true atoms have no fitted atom in their cell, (...); ``truth`` is one measure (N*, P).

    Every loss below is blind to them.
    """
    size = compare(fitted, truth, model).size
    xp = namespace(size)
    return xp.sum(xp.astype(size == 0, size.dtype), axis=-1)


def L1(fitted: Array, truth: Array, model: Model) -> Array:
    r"""Loss of strongly identifiable experts (section 4.1.1).

    .. math::
        \sum_{j\,over} \Big|\sum_{i\in A_j} w_i - w^*_j\Big|
        + \sum_{j\,over}\sum_{i\in A_j} (\|\Delta A\|^2 + \|\Delta b\|^2 + \|\Delta\eta\|^2)
        + \sum_{j\,exact}\sum_{i\in A_j} (\|\Delta A\| + \|\Delta b\| + |\Delta c| + \|\Delta\eta\|)

    with w = sigmoid(c) or exp(c). Returns an array (...).
    """
    return infimum(_l1, fitted, truth, model)


def _l1(fitted: Array, truth: Array, model: Model) -> Array:
    k = compare(fitted, truth, model)
    squares = k.in_cells(k.square["A"] + k.square["b"] + k.square["eta"])
    return _total(k, k.weight_error + squares, k.in_cells(_norms(k)))


def L2r(fitted: Array, truth: Array, model: Model, r: float = 1.0) -> Array:
    r"""Loss of polynomial experts, equation (11): as :func:`L1`, every power replaced by r >= 1, eta = (a, beta).

    .. math::
        \sum_{j\,over} \Big|\sum_{i\in A_j} w_i - w^*_j\Big|
        + \sum_{j\,over}\sum_{i\in A_j}
            (\|\Delta A\|^r + \|\Delta b\|^r + \|\Delta a\|^r + |\Delta\beta|^r)
        + \sum_{j\,exact}\sum_{i\in A_j}
            (\|\Delta A\|^r + \|\Delta b\|^r + |\Delta c|^r + \|\Delta a\|^r + |\Delta\beta|^r)

    Returns an array (...).

    Raises
    ------
    ValueError
        If r < 1.
    """
    if not r >= 1:
        raise ValueError(f"r is {r}; it must be at least 1")

    def loss(fitted: Array, truth: Array, model: Model) -> Array:
        k = compare(fitted, truth, model)
        xp = namespace(fitted)
        # beta is the last coordinate of an atom, so a = eta without beta
        beta = (fitted[..., :, None, -1] - truth[:, -1]) ** 2
        a = xp.sum((fitted[..., :, None, model.eta] - truth[:, model.eta])[..., :-1] ** 2, axis=-1)
        both = sum(square ** (r / 2) for square in (k.square["A"], k.square["b"], a, beta))
        return _total(k, k.weight_error + k.in_cells(both), k.in_cells(both + k.square["c"] ** (r / 2)))

    return infimum(loss, fitted, truth, model)


def L3(fitted: Array, truth: Array, model: Model) -> Array:
    r"""Loss of weakly identifiable experts to the nearest pseudo-truth, equation (12).

    .. math::
        \sum_j\sum_{i\in A_j} (\|\Delta A\| + \|\Delta b\| + |\Delta c| + \|\Delta\eta\|)

    Returns an array (...).
    """
    return infimum(_l3, fitted, truth, model)


def _l3(fitted: Array, truth: Array, model: Model) -> Array:
    k = compare(fitted, truth, model)
    return namespace(fitted).sum(k.in_cells(_norms(k)), axis=-1)


def L4(fitted: Array, truth: Array, model: Model) -> Array:
    """:func:`L1` without b, for the partially quadratic score, equation (53)."""
    _only_partial("L4", model)
    return L1(fitted, truth, model)


def L5(fitted: Array, truth: Array, model: Model) -> Array:
    """:func:`L3` without b, for the partially quadratic score, equation (54)."""
    _only_partial("L5", model)
    return L3(fitted, truth, model)


def Lsm(fitted: Array, truth: Array, model: Model) -> Array:
    r"""Loss of softmax gates with strongly identifiable experts (arXiv 2410.11222).

    .. math::
        \sum_j \Big|\sum_{i\in A_j} e^{c_i} - e^{c^*_j}\Big|
        + \sum_{|A_j|>1}\sum_{i\in A_j} e^{c_i} (\|\Delta A\|^2 + \|\Delta b\|^2 + \|\Delta\eta\|^2)
        + \sum_{|A_j|=1}\sum_{i\in A_j} e^{c_i} (\|\Delta A\| + \|\Delta b\| + \|\Delta\eta\|)

    Returns an array (...). Unlike the others it sees empty cells, through the first sum.

    Raises
    ------
    ValueError
        If the gate is not the softmax.
    """
    if model.gate != "softmax":
        raise ValueError(f"Lsm is a loss of softmax gates; the gate is {model.gate!r}")
    return infimum(_lsm, fitted, truth, model)


def _lsm(fitted: Array, truth: Array, model: Model) -> Array:
    k = compare(fitted, truth, model)
    squares = k.square["A"] + k.square["b"] + k.square["eta"]
    norms = k.norm("A") + k.norm("b") + k.norm("eta")
    over, exact = (k.in_cells(k.weight[..., None] * part) for part in (squares, norms))
    return _total(k, k.weight_error + over, k.weight_error + exact)


def blocks(fitted: Array, truth: Array, model: Model) -> dict[str, Array]:
    """Return the errors by block and by kind of true atom, for tables of parameter rates.

    Parameters
    ----------
    fitted : array (..., N, P)
    truth : array (N*, P)
        One measure.

    Returns
    -------
    dict of arrays (...)
        ``"A_over"``, ``"A_exact"``, and so for b, c, eta: the sum of the norms of the block's error over the atoms in
        cells of that kind; blocks that the score does not have are left out. ``"weight_over"`` and
        ``"weight_exact"``: sums of | sum of the weights of a cell - true weight |. ``"cells_over"``,
        ``"cells_exact"``, ``"cells_empty"``: numbers of cells with two or more, one and no atoms. A sum over no cell
        is 0.
    """
    k = compare(fitted, truth, model)
    xp = namespace(fitted)
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


def _only_partial(name: str, model: Model) -> None:
    if model.score != "partial":
        raise ValueError(f"{name} is a loss of the partially quadratic score; the score is {model.score!r}")
