r"""Seven steps of the proofs of Theorems 4.1 and 4.2 of "compete-smoe", as they are printed and repaired.

Nothing is fitted. At an input x with K winners, whose means g_i have both signs, :math:`p = \sum_i w_i f_i` with the
gate :math:`w = \mathrm{softmax}(|g|)` and normal densities :math:`f_i`.

- App. B.2, step 3: the functions :math:`f_i, \partial f_i / \partial g, \partial^2 f_i / \partial g^2` and p are said
  to be linearly independent in y. p is a combination of the f_i; *repaired*: without p.
- App. B.2: :math:`h \geq V` with :math:`h^2 = \frac12 \int (\sqrt{f_1} - \sqrt{f_2})^2`. *Repaired*:
  :math:`\sqrt2\, h \geq V`.
- App. B.1.1: the entropy integral, from :math:`\delta^2 / 2^{13}` to :math:`\delta`, is printed with log(1/t) and
  bounded by :math:`\Psi = \delta \sqrt{\log(1/\delta)}`. *Repaired*: with the root of log(1/t).
- App. B.1.2 (b): with :math:`m_2 \leq \sigma \leq m_3` and :math:`|g| \leq m_1` no density of an expert is said to
  exceed B, :math:`e^{-Y^2 / (8 m_3^2)} / (\sqrt{2 \pi}\, m_2)` beyond :math:`2 m_1` and without the exponential within.
  That is for a standard deviation sigma; section 4 calls it the variance. *Repaired*:
  :math:`e^{-Y^2 / (8 m_3)} / \sqrt{2 \pi m_2}`.
- App. B.1.2 (b): brackets :math:`L = \max\{p - \eta, 0\}`, :math:`U = \max\{p + \eta, B\}` are said to be no wider than
  min{2 eta, B}. *Repaired*: :math:`U = \min\{p + \eta, B\}`.
- App. B.1.2 (b): their width in L1 is said to be at most c eta. With the repaired brackets it is of the order
  :math:`\eta \sqrt{\log(1/\eta)}`, which is the *repaired* step.
- App. B.1.2 (b): brackets in L1 are said to be brackets in h, since the L1 norm is at most of the order of h. That is
  the wrong way round. *Repaired*: :math:`h^2 \leq \frac12 \|\cdot\|_1`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field
from scipy import special, stats

from moestat.experiment import SettingsModel
from moestat.replicates import Row, Streams, each

VERSION = 1

SHIFT = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0])  # distances of two normal densities, in standard deviations

LOG_INVERSE = 2.0 ** np.arange(10)  # log(1 / delta) of the entropy integral: delta from e^-1 to e^-512

ETA = 10.0 ** -np.array([1, 2, 3, 4, 6, 12])  # half-widths of the brackets; log(1 / eta) doubles at the end

LEAST = 1e-4  # down to this one a bracket is held against min{2 eta, B}: p + eta - (p - eta) is not exactly 2 eta

LARGEST_MEAN = 2.0  # m_1 of the envelope B

LARGEST = np.array([1.0, 0.5, 3.0])  # m_3, upper ends of the variances

SMALLEST = np.array([0.25, 0.1, 2.0])
"""m_2, their lower ends. With the first pair B as printed is an envelope: m_3 is its own square."""

FAR = 4  # brackets are looked at in so many times the range of y, at as many times the points, for their width

DEPENDENT = 1e-10  # singular values below this share of the largest count as 0


class Settings(SettingsModel):
    """Settings of a cell."""

    version: Literal["printed", "repaired"] = Field("printed", description="the steps as printed, or repaired")
    winners: int = Field(2, ge=1, le=4, description="K, winners at the input")
    points: int = Field(2001, ge=200, description="points y on which densities are compared")


@each(
    dims=dict.fromkeys(("width", "width_ratio", "distance_ratio"), ("eta",))
    | dict.fromkeys(("outside", "envelope_ratio"), ("largest_variance",))
    | {"variation_ratio": ("shift",), "integral_ratio": ("log_inverse",)},
    coords={"shift": SHIFT, "log_inverse": LOG_INVERSE, "eta": ETA, "largest_variance": LARGEST},
    finished="The steps were tried.",
    iterations=lambda s: s.points,
)
def run(s: Settings, streams: Streams) -> Row:
    """Try the steps on drawn means and variances.

    Per replicate ``deficit``, the size of the family of step 3 less its rank; ``residual``, of p on the rest of the
    family by least squares, relative to p; ``integral_growth``, the exponent of ``integral_ratio`` in log(1 / delta)
    over the last doubling; ``excess``, the largest width of a bracket over min{2 eta, B}, with eta from 1e-4 on, below
    which rounding counts; ``width_growth``, the exponent of ``width_ratio`` in log(1 / eta) over the last doubling;
    ``distance_growth``, that of ``distance_ratio`` in 1 / eta. Over ``shift``: ``variation_ratio``, V over h (printed)
    or over sqrt(2) h (repaired), of two normals. Over ``log_inverse``: ``integral_ratio``, the entropy integral over
    Psi. Over ``eta``: ``width``, the integral of U - L over y; of the repaired brackets ``width_ratio``, the same over
    eta (printed) or over eta sqrt(log(1 / eta)) (repaired), and ``distance_ratio``, the Hellinger distance of their
    ends over the width (printed), or twice its square over it (repaired). Over ``largest_variance``: ``outside``, how
    far a density leaves the bracket around one that is eta away, over eta; ``envelope_ratio``, the largest f / B.
    """
    y = np.linspace(-10.0, 10.0, s.points)
    far = np.linspace(-10.0 * FAR, 10.0 * FAR, FAR * (s.points - 1) + 1)
    integral = entropy_integral(LOG_INVERSE, s.version) / np.sqrt(LOG_INVERSE)
    limits = list(zip(SMALLEST, LARGEST, strict=True))
    rng = streams("winners", winners=s.winners)
    means = np.linspace(-2.0, 2.0, s.winners + 1)[:-1] + rng.uniform(0.1, 0.9, s.winners) * 4.0 / (s.winners + 1)
    places = rng.uniform(size=s.winners)
    other = means + rng.uniform(-0.01, 0.01, s.winners)
    first = limits[0]
    variances = first[0] + places * (first[1] - first[0])
    p = density(means, variances, y)
    bounds = [bracket(p, half, y, first, s.version) for half in ETA]
    width, distance = orders(density(means, variances, far), far, first, s.version)
    return {
        "deficit": deficit(means, variances, y, s.version),
        "residual": residual(means, variances, y),
        "variation_ratio": variation_ratio(SHIFT) / (1.0 if s.version == "printed" else np.sqrt(2.0)),
        "integral_ratio": integral,
        "integral_growth": np.log2(integral[-1] / integral[-2]),
        "excess": max(
            float(np.max((u - low) / np.minimum(2.0 * half, envelope(y, first, s.version))))
            for (low, u), half in zip(bounds, ETA, strict=True)
            if half >= LEAST
        ),
        "width": np.array([np.sum(u - low) * (y[1] - y[0]) for low, u in bounds]),
        "width_ratio": width,
        "width_growth": np.log2(width[-1] / width[-2]),
        "distance_ratio": distance,
        "distance_growth": np.log(distance[-1] / distance[-2]) / np.log(ETA[-2] / ETA[-1]),
        "outside": np.array([outside(means, other, places, limit, y, s.version) for limit in limits]),
        "envelope_ratio": np.array([envelope_ratio(limit, y, s.version) for limit in limits]),
    }


def density(means: np.ndarray, variances: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return p(y | x) of the winners."""
    return np.asarray(special.softmax(np.abs(means)) @ _normal(means, variances, y))


def family(means: np.ndarray, variances: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return f_i and its first two derivatives in the mean at y, (3 K, N), in units of the standard deviation."""
    z = (y - means[:, None]) / np.sqrt(variances)[:, None]
    f = _normal(means, variances, y)
    return np.concatenate([f, z * f, (z * z - 1.0) * f])


def deficit(means: np.ndarray, variances: np.ndarray, y: np.ndarray, version: str) -> float:
    """Return how many functions of the family of step 3 are combinations of the others."""
    rows = family(means, variances, y)
    if version == "printed":
        rows = np.vstack([rows, density(means, variances, y)])
    sizes = np.linalg.svd(rows / np.linalg.norm(rows, axis=1, keepdims=True), compute_uv=False)
    return float(np.sum(sizes < DEPENDENT * sizes[0]))


def residual(means: np.ndarray, variances: np.ndarray, y: np.ndarray) -> float:
    """Return what is left of p, relative to it, when it is explained by the f_i and their derivatives."""
    rows, p = family(means, variances, y), density(means, variances, y)
    found = np.linalg.lstsq(rows.T, p, rcond=None)[0]
    return float(np.linalg.norm(p - found @ rows) / np.linalg.norm(p))


def variation_ratio(shift: np.ndarray) -> np.ndarray:
    """Return V / h of two normal densities of variance 1 with means that are ``shift`` apart."""
    variation = special.erf(shift / np.sqrt(8.0))
    return np.asarray(variation / np.sqrt(-np.expm1(-(shift**2) / 8.0)))


def entropy_integral(log_inverse: np.ndarray, version: str) -> np.ndarray:
    r"""Return :math:`\int_{\delta^2 / 2^{13}}^\delta H(t)\, dt / \delta` with H = log(1/t), or its root (repaired)."""
    start, end = log_inverse, 2.0 * log_inverse + 13.0 * np.log(2.0)  # of log(1/t)
    if version == "printed":
        return np.asarray(start + 1.0 - np.exp(start - end) * (end + 1.0))
    inside = special.gammaincc(1.5, start) - special.gammaincc(1.5, end)
    return np.asarray(special.gamma(1.5) * inside * np.exp(start))


def envelope(y: np.ndarray, limits: tuple[float, float], version: str) -> np.ndarray:
    """Return B(y) for variances between the limits m_2 and m_3."""
    smallest, largest = limits
    scale, height = (largest**2, smallest) if version == "printed" else (largest, np.sqrt(smallest))
    tail = np.where(np.abs(y) >= 2.0 * LARGEST_MEAN, np.exp(-(y**2) / (8.0 * scale)), 1.0)
    return np.asarray(tail / (np.sqrt(2.0 * np.pi) * height))


def envelope_ratio(limits: tuple[float, float], y: np.ndarray, version: str) -> float:
    """Return the largest f(y) / B(y) of densities at the ends of the ranges of mean and variance, and at mean 0."""
    means, variances = np.meshgrid([-LARGEST_MEAN, 0.0, LARGEST_MEAN], limits)
    return float(np.max(_normal(means.ravel(), variances.ravel(), y) / envelope(y, limits, version)))


def bracket(
    centre: np.ndarray, eta: float, y: np.ndarray, limits: tuple[float, float], version: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return L and U around a density."""
    upper = np.maximum if version == "printed" else np.minimum
    return np.maximum(centre - eta, 0.0), np.asarray(upper(centre + eta, envelope(y, limits, version)))


def orders(
    centre: np.ndarray, y: np.ndarray, limits: tuple[float, float], version: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the width of repaired brackets, and the distance of their ends, over what the proof has them to be."""
    step, width, squared = y[1] - y[0], np.empty(len(ETA)), np.empty(len(ETA))
    for k, half in enumerate(ETA):
        lower, upper = bracket(centre, half, y, limits, "repaired")
        width[k] = np.sum(upper - lower) * step
        squared[k] = 0.5 * np.sum((np.sqrt(upper) - np.sqrt(lower)) ** 2) * step
    if version == "printed":
        return width / ETA, np.sqrt(squared) / width
    return width / (ETA * np.sqrt(-np.log(ETA))), 2.0 * squared / width


def outside(
    means: np.ndarray, other: np.ndarray, places: np.ndarray, limits: tuple[float, float], y: np.ndarray, version: str
) -> float:
    """Return how far the density with the other means leaves the bracket around it, in units of their distance."""
    variances = limits[0] + places * (limits[1] - limits[0])
    p, near = density(means, variances, y), density(other, variances, y)
    eta = float(np.max(np.abs(p - near)))
    lower, upper = bracket(p, eta, y, limits, version)
    return float(np.max(np.maximum(np.maximum(lower - near, near - upper), 0.0))) / eta


def _normal(means: np.ndarray, variances: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(stats.norm.pdf(y, means[:, None], np.sqrt(variances)[:, None]))
