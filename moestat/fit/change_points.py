"""New starts for mixtures of experts with softmax gates: an expert cut in two where its line or variance changes.

An expert that is cut at one input is a maximum of its own for nearly every input, as a steep gate moves past a sample
only downhill; and of most of them no step of EM and no candidate of :mod:`moestat.fit.component_screening` comes near,
since both halves have nearly the line of the whole. But for a cut with the gate's steepest slope the two best lines are
weighted regressions, so that all cuts of an expert are tried in one pass over sums of moments. For one-dimensional
inputs.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from moestat.doors import takes_float64

_LEAST = 2.5  # weight of samples that a half keeps, at least: a line through two has no error
_STEEP = 0.75  # of the gate at a cut, relative to the box
_APART = 0.04  # of the samples, between two cuts of an expert that are kept


@takes_float64("x", "y", "theta")
def cut_starts(
    x: np.ndarray,
    y: np.ndarray,
    theta: np.ndarray,
    *,
    box: float,
    variances: tuple[float, float],
    keep: int,
) -> np.ndarray:
    """Return the starts in which an expert of a measure is cut in two.

    Parameters
    ----------
    x : array (B, n, 1)
    y : array (B, n)
    theta : array (B, N, 5)
        Fits, atoms ``[c, b, a, beta, v]``.
    box : float
        Bound on gate and mean coordinates; the gates of the two halves differ in slope by three quarters of it.
    variances : (float, float)
        Bounds on the variances.
    keep : int
        Cuts of each measure, the best first.

    Returns
    -------
    array (B, keep, N + 1, 5)
        The new component is the last one.

    Raises
    ------
    ValueError
        If the inputs have more than one dimension.
    """
    if x.shape[-1] != 1:
        raise ValueError(f"x has {x.shape[-1]} dimensions; an expert is cut at one input, of one dimension")
    return np.stack([_cuts(*of_one, box, variances, keep) for of_one in zip(x[..., 0], y, theta, strict=True)])


def _cuts(
    x: np.ndarray, y: np.ndarray, theta: np.ndarray, box: float, variances: tuple[float, float], keep: int
) -> np.ndarray:
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    c, b, a, beta, v = theta.T
    off = y[:, None] - x[:, None] * a - beta
    weight = softmax(c + x[:, None] * b - 0.5 * (off * off / v + np.log(v)), axis=1)
    powers = np.stack([np.ones_like(x), x, x * x, y, x * y, y * y], axis=-1)
    moments = np.cumsum(weight[..., None] * powers[:, None], axis=0)  # (n, N, 6)
    left, whole = moments[:-1], moments[-1]
    gain = _height(left, variances) + _height(whole - left, variances) - _height(whole, variances)
    enough = (left[..., 0] >= _LEAST) & (whole[:, 0] - left[..., 0] >= _LEAST)
    gain = np.where(enough, gain, -np.inf)
    apart = max(int(_APART * len(x)), 1)
    starts = []
    for _ in range(keep):
        at, k = np.unravel_index(np.argmax(gain), gain.shape)
        gain[max(at - apart, 0) : at + apart + 1, k] = -np.inf
        halves = np.array([_line(some, variances) for some in (left[at, k], whole[k] - left[at, k])])
        # with too few samples for another cut the halves are what the expert was
        halves = halves if enough[at, k] else np.tile(theta[k, 2:], (2, 1))
        starts.append(_cut(theta, int(k), 0.5 * (x[at] + x[at + 1]), halves, box))
    return np.stack(starts)


def _cut(theta: np.ndarray, k: int, at: float, halves: np.ndarray, box: float) -> np.ndarray:
    """Return the measure whose expert k is cut at an input into two of the lines and variances (2, 3)."""
    out = np.concatenate([theta, theta[k : k + 1]])
    out[[k, -1], 2:] = halves
    # the gates that rise more than the old one take over on the right, where they do so now among themselves
    right = np.append(theta[:, 1] > theta[k, 1], True)
    out[right, :2] += _STEEP * box * np.array([-at, 1.0])
    # measured against the middle one, they are within the box as far as can be
    out[:, :2] -= out[np.argsort(out[:, 1])[len(theta) // 2], :2]
    out[:, :4] = np.clip(out[:, :4], -box, box)
    return out


def _line(moments: np.ndarray, variances: tuple[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return slope, level and variance of the weighted regression with sums of moments (..., 6)."""
    w, sx, sxx, sy, sxy, syy = np.moveaxis(moments, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mx, my = sx / w, sy / w
        varied = np.maximum(sxx / w - mx * mx, 1e-12)
        a = (sxy / w - mx * my) / varied
        v = syy / w - my * my - a * a * varied
    return a, my - a * mx, np.clip(np.nan_to_num(v), *variances)


def _height(moments: np.ndarray, variances: tuple[float, float]) -> np.ndarray:
    """Return the weighted log-likelihood of the best line, up to a constant that halves and whole share."""
    w, sx, sxx, sy, sxy, syy = np.moveaxis(moments, -1, 0)
    a, beta, v = _line(moments, variances)
    squares = syy - 2 * a * sxy - 2 * beta * sy + a * a * sxx + 2 * a * beta * sx + beta * beta * w
    return -0.5 * (w * np.log(v) + squares / v)  # type: ignore[no-any-return]  # np.moveaxis says too little
