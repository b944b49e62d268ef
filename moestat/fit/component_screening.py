"""New starts for mixtures of experts with softmax gates: the component that raises the likelihood most, out of many.

The likelihood of an over-fitted mixture has many maxima, which differ in the few samples that the spare expert fits.
Splits of experts that are there rarely come near them. Here one expert is taken out of a fit, and hundreds of
candidates for its place are tried, each a line through two neighbouring samples that the others fit badly, with a
variance, a slope of its gate and four heights of it. Their likelihoods need one pass over the samples and no
derivative; the best few that differ are starts. For one-dimensional inputs.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

CANDIDATES = 500
"""Per expert that is taken out."""
STARTS = 4
"""Of them are kept."""

_HEIGHTS = (-4.0, -2.0, -0.5, 1.0)  # log-odds of the new expert at the sample it goes through
_NEIGHBOURS = 40
_STEEP = (1.0, 80.0)  # slopes of the gate, relative to that of another expert
_WIDE = 20.0  # largest variance over the smallest
_FLOOR = 1e-3  # of the density, in the odds of a sample to be gone through


def screened_starts(
    x: np.ndarray,
    y: np.ndarray,
    theta: np.ndarray,
    *,
    box: float,
    least_variance: float,
    number: int = 0,
    candidates: int = CANDIDATES,
    keep: int = STARTS,
) -> np.ndarray:
    """Return the starts in which another component replaces one of each measure.

    Parameters
    ----------
    x : array (B, n, 1)
    y : array (B, n)
    theta : array (B, N, 5)
        Fits, atoms ``[c, b, a, beta, v]`` with N >= 2.
    box : float
        Bound on gate and mean coordinates.
    least_variance : float
        Lower bound on the variances.
    number : int
        Of the round; each has candidates of its own, the same for every measure.
    candidates, keep : int
        Tried, and kept, per expert that is taken out.

    Returns
    -------
    array (B, N keep, N, 5)

    Raises
    ------
    ValueError
        If the inputs have more than one dimension.
    """
    if x.shape[-1] != 1:
        raise ValueError(f"x has {x.shape[-1]} dimensions; screening draws lines, for one-dimensional inputs")
    out = []
    for inputs, responses, atoms in zip(x[..., 0], y, theta, strict=True):
        rng = np.random.default_rng([20230504, number])
        parts = []
        for removed in range(len(atoms)):
            others = np.delete(atoms, removed, axis=0)
            new = _best(inputs, responses, others, rng, box, least_variance, candidates, keep)
            parts.append(np.concatenate([np.broadcast_to(others, (keep, *others.shape)), new[:, None]], axis=1))
        out.append(np.concatenate(parts))
    return np.stack(out)


def _best(
    x: np.ndarray,
    y: np.ndarray,
    others: np.ndarray,
    rng: np.random.Generator,
    box: float,
    least_variance: float,
    candidates: int,
    keep: int,
) -> np.ndarray:
    """Return the atoms (keep, 5) that raise the likelihood of the others most."""
    scores = others[:, 0] + x[:, None] * others[:, 1]
    total = logsumexp(scores, axis=1)
    density = np.exp(logsumexp(scores + _log_normal(x, y, others), axis=1) - total)
    drawn, through = _draw(x, y, others, density, rng, box, least_variance, candidates)
    heights = total[through] - drawn[:, 1] * x[through]
    value, height = np.full(candidates, -np.inf), np.zeros(candidates)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        gate = np.exp(np.minimum(heights[:, None] + drawn[:, 1:2] * x - total, 60.0).astype(np.float32))
        weighted = gate * np.exp(_log_normal(x, y, drawn).T.astype(np.float32))
        known = density.astype(np.float32)
        for log_odds in _HEIGHTS:
            odds = np.float32(math.exp(log_odds))
            now = np.log((known + odds * weighted) / (1 + odds * gate)).sum(axis=1)
            better = now > value
            value[better], height[better] = now[better], (heights + log_odds)[better]
    drawn[:, 0] = np.clip(height, -box, box)
    order = np.argsort(-value)
    chosen: list[int] = []
    for k in order:  # the best that differ in the place or in the slope of the line
        apart = [abs(x[through[k]] - x[through[j]]) > 0.01 or abs(drawn[k, 2] - drawn[j, 2]) > 2.0 for j in chosen]
        if all(apart):
            chosen.append(int(k))
        if len(chosen) == keep:
            break
    chosen += [int(k) for k in order if int(k) not in chosen][: keep - len(chosen)]
    return drawn[chosen]


def _draw(
    x: np.ndarray,
    y: np.ndarray,
    others: np.ndarray,
    density: np.ndarray,
    rng: np.random.Generator,
    box: float,
    least_variance: float,
    count: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw candidates (count, 5), without height of the gate, and the sample that each goes through."""
    odds = 1.0 / np.maximum(density, _FLOOR)
    one = rng.choice(len(x), count, p=odds / odds.sum())
    order = np.argsort(x)
    rank = np.empty(len(x), dtype=np.int64)
    rank[order] = np.arange(len(x))
    away = rng.integers(1, _NEIGHBOURS, count) * rng.choice([-1, 1], count)
    two = order[np.clip(rank[one] + away, 0, len(x) - 1)]
    run = x[two] - x[one]
    slope = np.divide(y[two] - y[one], run, out=np.zeros(count), where=np.abs(run) > 1e-9)
    slope = np.clip(slope, -0.9 * box, 0.9 * box)
    level = np.clip(y[one] - slope * x[one], -0.9 * box, 0.9 * box)
    variance = least_variance * np.exp(rng.uniform(0.0, math.log(_WIDE), count))
    steep = np.exp(rng.uniform(math.log(_STEEP[0]), math.log(_STEEP[1]), count))
    steep = steep * rng.choice([-1.0, 1.0], count) + rng.choice(others[:, 1], count)
    atoms = np.stack([np.zeros(count), np.clip(steep, -box, box), slope, level, variance], axis=1)
    return atoms, one


def _log_normal(x: np.ndarray, y: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """Return log N(y_i; a_k x_i + beta_k, v_k), (n, K)."""
    off = y[:, None] - x[:, None] * atoms[:, 2] - atoms[:, 3]
    return np.asarray(-0.5 * (off * off / atoms[:, 4] + np.log(2 * np.pi * atoms[:, 4])))
