r"""D1 and D2 of softmax-gated mixtures with the gates as they were fitted, as in the published scripts.

The density does not change when one vector is added to the gates of all atoms, so that a loss must not, either:
:func:`moestat.losses.measures.softmax_losses` takes the infimum over that vector. The published scripts pin the gate of
the last atom at zero instead, for the truth and for the fit, and compare what comes out. With as many atoms as the
truth that is the same in the limit, if the last atom is a fit of the last true one. With more atoms it is not: where
that true atom is fitted by m atoms of equal gates, their weights sum to m in place of 1, and the loss keeps m - 1.

Source: the scripts of arXiv 2305.03288; cells are by sums of norms there, not by the norm of the whole atom.
"""

from __future__ import annotations

import numpy as np

from moestat.losses.measures import RBAR
from moestat.models.gaussian import check_atoms
from moestat.models.softmax_gaussian import SoftmaxGaussian

_FOUR_OR_MORE = 7.0


def fitted_gauge_losses(fitted: np.ndarray, truth: np.ndarray, model: SoftmaxGaussian) -> dict[str, np.ndarray]:
    """Return losses of softmax-gated mixtures without any shift of the gates.

    Parameters
    ----------
    fitted : array (..., N, P)
    truth : array (N*, P), N* <= N

    Returns
    -------
    dict of arrays (...)
        ``D1``, ``D2``: the formulas of :func:`moestat.losses.measures.softmax_losses` without the infimum; ``mass``:
        their first sum, of | sum of e^c in the cell - e^c* |; ``published``: what the scripts save, D2 for N > N*, and
        for N = N* D1 without the errors of atoms that share a cell. ``cells_over``, ``cells_exact``, ``cells_empty``:
        numbers of cells with two atoms or more, one, and none.

    Raises
    ------
    ValueError
        If shapes do not fit the model, numbers are not finite, variances are not positive, or N < N*.
    """
    if truth.ndim != 2:
        raise ValueError(f"truth has shape {truth.shape}; it must be (atoms, {model.atom_size})")
    check_atoms(fitted, model.atom_size, name="fitted")
    check_atoms(truth, model.atom_size, name="truth")
    if fitted.shape[-2] < len(truth):
        raise ValueError(f"fitted holds {fitted.shape[-2]} atoms; it must hold at least the {len(truth)} true ones")

    def distance(part: slice) -> np.ndarray:
        norm: np.ndarray = np.linalg.norm(fitted[..., :, None, part] - truth[:, part], axis=-1)
        return norm

    b, beta, a, v = (distance(part) for part in (model.b, model.beta, model.a, model.variance))
    total = b + beta + a + v
    member = np.argmin(total, axis=-1)[..., None] == np.arange(len(truth))
    size = member.sum(axis=-2)
    own = np.sum(member * size[..., None, :], axis=-1)
    weight = np.exp(fitted[..., 0])
    mass = np.sum(np.abs(np.sum(weight[..., None] * member, axis=-2) - np.exp(truth[:, 0])), axis=-1)
    power = np.full(own.shape, _FOUR_OR_MORE)
    for atoms, rbar in RBAR.items():
        power[own == atoms] = rbar
    half = np.where(own > 1, 0.5 * power, 1.0)
    at_home = [np.sum(part * member, axis=-1) for part in (b, beta, a, v, total)]
    powered = at_home[0] ** power + at_home[1] ** power + at_home[2] ** half + at_home[3] ** half
    alone = np.sum(weight * at_home[4] * (own == 1), axis=-1)
    d2 = mass + np.sum(weight * powered, axis=-1)
    return {
        "D1": mass + np.sum(weight * at_home[4], axis=-1),
        "D2": d2,
        "published": d2 if fitted.shape[-2] > len(truth) else mass + alone,
        "mass": mass,
        "cells_over": np.sum(size > 1, axis=-1).astype(np.float64),
        "cells_exact": np.sum(size == 1, axis=-1).astype(np.float64),
        "cells_empty": np.sum(size == 0, axis=-1).astype(np.float64),
    }
