r"""Distances between measures of a model that is made of functions, :class:`moestat.models.general.FunctionModel`.

Atoms are compared in the standard form that the model's invariances give them, and in the shift of its method
``align``. Everywhere ``fitted`` is (..., N, P), and ``truth`` (N*, P), or a list (K, N*, P) of measures, over which a
loss is the infimum. A fit that is not finite has the loss NaN. Fisher and sandwich lines are those of
:mod:`moestat.losses.fisher` and :mod:`moestat.losses.sandwich`, errors of the function :mod:`moestat.losses.function`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from moestat.doors import takes_float64
from moestat.errors import InputError
from moestat.losses.matching import paired
from moestat.models.general import FunctionModel
from moestat.sentences import nearest

Exponents = Mapping[str, float | tuple[float, float]]


@takes_float64("fitted", "truth")
def voronoi(
    fitted: np.ndarray, truth: np.ndarray, model: FunctionModel, exponents: Exponents | None = None
) -> np.ndarray:
    r"""Return the Voronoi loss (...) with an exponent for each block and kind of true atom.

    .. math::
        \sum_{j\,exact} \sum_{i \in A_j} \sum_b \|\Delta_b\|^{r_b} + \sum_{j\,over} \sum_{i \in A_j} \sum_b
        \|\Delta_b\|^{\bar r_b}

    A_j are the fitted atoms that are nearest to true atom j (where atoms have places: the j-th alone); it is over where
    they are two or more.

    Parameters
    ----------
    exponents : mapping of blocks to r or (r of exact atoms, r of over-specified ones)
        (1, 2), as in the loss of strongly identifiable experts, for blocks that are left out.
    """
    powers = _powers(exponents, model)

    def loss(distance: dict[str, np.ndarray], cell: np.ndarray, over: np.ndarray) -> np.ndarray:
        own = np.take_along_axis(over, cell, axis=-1)  # of every fitted atom, whether its cell is over
        total = np.zeros(cell.shape)
        for name, (exact, several) in powers.items():
            norm = np.take_along_axis(distance[name], cell[..., None], axis=-1)[..., 0]
            total += np.where(own, norm**several, norm**exact)
        return np.asarray(total.sum(axis=-1))

    return _infimum(lambda *given: loss(*_cells(*given)), fitted, truth, model)


@takes_float64("fitted", "truth")
def matched(fitted: np.ndarray, truth: np.ndarray, model: FunctionModel) -> np.ndarray:
    """Return the least sum over one-to-one pairs of true and fitted atoms of the blocks' distances, (...).

    This is the distance in the quotient by permutations and invariances; fitted atoms that are left over cost nothing.
    """

    def loss(fitted: np.ndarray, truth: np.ndarray, model: FunctionModel) -> np.ndarray:
        total = np.asarray(sum(_distances(fitted, truth, model).values()))
        if model.exchangeable:
            return np.asarray(paired(total))
        _same_places(fitted, truth)
        return np.asarray(np.trace(total, axis1=-2, axis2=-1))

    return _infimum(loss, fitted, truth, model)


def _powers(exponents: Exponents | None, model: FunctionModel) -> dict[str, tuple[float, float]]:
    given = dict(exponents or {})
    powers = {}
    for name in model.blocks:
        value = given.pop(name, (1.0, 2.0))
        both = tuple(value) if isinstance(value, tuple | list) else (value, value)
        if len(both) != 2 or not all(isinstance(r, int | float) and r > 0 for r in both):
            raise InputError(f"the exponent of {name} is {value!r}; allowed are a positive number and a pair of them")
        powers[name] = both
    for name in given:
        raise InputError(f"exponents names {name!r}; the model's blocks are {', '.join(powers)}{nearest(name, powers)}")
    return powers


def _infimum(loss, fitted: np.ndarray, truth: np.ndarray, model: FunctionModel) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Return the least loss over a list of measures, NaN for fits, or with measures, that are not finite."""
    for name, atoms in (("fitted", fitted), ("truth", truth)):
        if atoms.ndim < 2 or atoms.shape[-1] != model.atom_size:
            raise InputError(f"{name} has shape {atoms.shape}; it must be (..., atoms, {model.atom_size})")
    if truth.ndim > 3 or truth.shape[0] == 0:
        raise InputError(f"truth has shape {truth.shape}; allowed are (N*, P) and (K, N*, P) with K >= 1")
    known = np.isfinite(fitted).all(axis=(-2, -1))
    usable = np.where(known[..., None, None], fitted, 1.0)
    losses = [_loss_to(one, usable, loss, model) for one in (truth if truth.ndim == 3 else truth[None])]
    return np.where(known, np.min(losses, axis=0), np.nan)


def _loss_to(truth: np.ndarray, fitted: np.ndarray, loss, model: FunctionModel) -> np.ndarray:  # type: ignore[no-untyped-def]
    return np.asarray(loss(fitted, truth, model)) if np.isfinite(truth).all() else np.full(fitted.shape[:-2], np.nan)


def _distances(fitted: np.ndarray, truth: np.ndarray, model: FunctionModel) -> dict[str, np.ndarray]:
    """Return the norms (..., N, N*) of the differences of all atoms, by block."""
    difference = model.align(fitted, truth)[..., :, None, :] - model.standard(truth)
    return {name: np.linalg.norm(difference[..., place], axis=-1) for name, place in model.blocks.items()}


def _cells(
    fitted: np.ndarray, truth: np.ndarray, model: FunctionModel
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Return the distances by block, the cell (..., N) of each fitted atom, and which true atoms are over (..., N*)."""
    distance = _distances(fitted, truth, model)
    if model.exchangeable:
        cell = np.argmin(sum(part**2 for part in distance.values()), axis=-1)
    else:
        _same_places(fitted, truth)
        cell = np.broadcast_to(np.arange(len(truth)), fitted.shape[:-1])
    return distance, cell, _sizes(cell, len(truth)) > 1


def _sizes(cell: np.ndarray, count: int) -> np.ndarray:
    return np.asarray((cell[..., None] == np.arange(count)).sum(axis=-2))


def _same_places(fitted: np.ndarray, truth: np.ndarray) -> None:
    if fitted.shape[-2] != len(truth):
        raise InputError(
            f"the atoms of this gate have places, for its weights change when atoms change places, so that "
            f"{fitted.shape[-2]} fitted atoms cannot be compared with {len(truth)} true ones; fit {len(truth)}"
        )
