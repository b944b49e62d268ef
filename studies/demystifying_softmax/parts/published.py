"""What the published scripts of arXiv 2305.03288 save: fits in a layout of their own, losses in a gauge of their own.

The density does not change when one vector is added to the gates of all atoms, so that a loss must not, either:
:func:`moestat.losses.measures.softmax_losses` takes the infimum over that vector. The scripts pin the gate of the last
atom at zero instead, for the truth and for the fit, and compare what comes out. With as many atoms as the truth that
is the same in the limit, if the last atom is a fit of the last true one. With more atoms it is not: where that true
atom is fitted by m atoms of equal gates, their weights sum to m in place of 1, and the loss keeps m - 1. Cells are by
sums of norms there, not by the norm of the whole atom.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from moestat.doors import takes_float64
from moestat.losses.measures import RBAR
from moestat.models.softmax_gaussian import SoftmaxGaussian

_FOUR_OR_MORE = 7.0


@takes_float64("gate", "mean", "variance")
def from_blocks(gate: Any, mean: Any, variance: Any) -> np.ndarray:
    """Return parameters (S, R, N, 2 d + 3) of softmax-gated Gaussian mixtures from three arrays.

    This is the layout in which the scripts of arXiv 2305.03288 save their fits, ``*_beta.npy``, ``*_A.npy`` and
    ``*_Sigma.npy``: coordinates before atoms, intercepts first, and the gate of the last atom left out, for it is zero.

    ``gate`` (S, R, d + 1, N - 1) or (S, R, d + 1, N): ``[c, b]``; ``mean`` (S, R, d + 1, N): ``[beta, a]``;
    ``variance`` (S, R, 1, N) or (S, R, N): variances, not standard deviations.
    """
    if mean.ndim != 4 or mean.shape[2] < 2:
        raise ValueError(f"mean has shape {mean.shape}; it must be (sizes, replicates, d + 1, atoms)")
    shape = (*mean.shape[:2], mean.shape[3])
    if variance.shape not in (shape, (*shape[:2], 1, shape[2])):
        raise ValueError(f"variance has shape {variance.shape}; it must be {(*shape[:2], 1, shape[2])} or {shape}")
    if gate.shape not in (mean.shape, (*mean.shape[:3], mean.shape[3] - 1)):
        raise ValueError(
            f"gate has shape {gate.shape}; it must be {mean.shape}, or with {shape[2] - 1} atoms, the last gate being 0"
        )
    missing = mean.shape[3] - gate.shape[3]
    gate = np.concatenate([gate, np.zeros((*mean.shape[:3], missing))], axis=-1)
    # in a fit that failed the gate that was left out is no more known than the others
    gate = np.where(np.isnan(gate).any(axis=(2, 3), keepdims=True), np.nan, gate)
    rows = [gate, mean[..., 1:, :], mean[..., :1, :], variance.reshape(*shape[:2], 1, shape[2])]
    return np.swapaxes(np.concatenate(rows, axis=2), 2, 3)


@takes_float64("fitted", "truth")
def published_losses(fitted: Any, truth: Any, model: SoftmaxGaussian) -> dict[str, np.ndarray]:
    """Return losses of softmax-gated mixtures without any shift of the gates.

    ``fitted`` (..., N, P); ``truth`` (N*, P).

    Returns ``loss``: what the scripts save, for N > N* the formula of D2
    (:func:`moestat.losses.measures.softmax_losses`) without the infimum, and for N = N* that of D1 without the errors
    of atoms that share a cell; ``mass``: its first sum, of | sum of e^c in the cell - e^c* |. NaN for a fit that is not
    finite.
    """
    if truth.ndim != 2 or fitted.ndim < 2 or not model.atom_size == fitted.shape[-1] == truth.shape[-1]:
        raise ValueError(f"fitted and truth have shapes {fitted.shape} and {truth.shape}; atoms have {model.atom_size}")
    if fitted.shape[-2] < len(truth):
        raise ValueError(f"fitted holds {fitted.shape[-2]} atoms; it must hold at least the {len(truth)} true ones")

    def distance(part: slice) -> np.ndarray:
        norm: np.ndarray = np.linalg.norm(fitted[..., :, None, part] - truth[:, part], axis=-1)
        return norm

    b, beta, a, v = (distance(part) for part in (model.b, model.beta, model.a, model.variance))
    total = b + beta + a + v
    member = np.argmin(total, axis=-1)[..., None] == np.arange(len(truth))
    own = np.sum(member * member.sum(axis=-2)[..., None, :], axis=-1)
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
    losses = {"loss": d2 if fitted.shape[-2] > len(truth) else mass + alone, "mass": mass}
    known = np.all(np.isfinite(fitted), axis=(-2, -1)) & np.all(fitted[..., -1] > 0, axis=-1)
    return {name: np.where(known, values, np.nan) for name, values in losses.items()}
