"""How much the probabilities of noisy top-1 routing move when the scores move.

Lemma 1 of "On the Impact of Expert Count in Mixture of Experts": for scores h and h' of M experts under Unif[0, 1]
noise, ``max |p - p'| <= M^2 max |h - h'|``; Lemma 9 of "Mixture-of-Transformers Learn Faster" has ``(kappa M)^2``
for noise with a density of at most kappa, here Unif[0, width]. A replicate is a pair of score vectors. The
probabilities are simulated, as a router would produce them, and computed exactly by quadrature, see
:func:`probabilities`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from moestat.arrays import Array, namespace
from moestat.experiment import SettingsModel
from moestat.replicates import Row, Streams, each

VERSION = 1

CHUNK = 4096  # draws of the noise that are held at once


class Settings(SettingsModel):
    """Settings of a cell; all of them are ours, the lemma needs none."""

    experts: int = Field(8, ge=2, le=256, description="M")
    pair: Literal["random", "tied"] = Field(
        "random", description="scores N(0, scale^2) moved in a random direction, or ties of which one expert is raised"
    )
    scale: float = Field(0.5, ge=0, description="standard deviation of random scores")
    distance: float = Field(0.05, gt=0, description="max |h - h'|")
    width: float = Field(1.0, gt=0, description="the noise is Unif[0, width], of density kappa = 1 / width")
    draws: int = Field(20_000, ge=1, description="draws of the noise in the simulated probabilities")


def _pair(s: Settings, rng: np.random.Generator) -> np.ndarray:
    """Draw h and h', (2, M), at the exact distance."""
    if s.pair == "tied":
        h = np.zeros(s.experts)
        raised = np.arange(s.experts) == rng.integers(s.experts)
        direction = np.where(raised, 1.0, -1.0)
    else:
        h = s.scale * rng.standard_normal(s.experts)
        direction = rng.uniform(-1, 1, s.experts)
        direction /= np.max(np.abs(direction))
    return np.stack([h, h + s.distance * direction])


def _simulate(scores: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Return the frequencies of the experts, (2, M), over the same Unif[0, 1] noise for both score vectors."""
    count = np.zeros(scores.shape)
    for start in range(0, draws, CHUNK):
        noise = rng.random((min(CHUNK, draws - start), scores.shape[1]))
        for i, h in enumerate(scores):
            count[i] += np.bincount(np.argmax(h + noise, axis=1), minlength=scores.shape[1])
    return count / draws


@each(
    finished="The probabilities were computed.",
    iterations=lambda s: s.draws,
    of_cell=lambda s: {"bound": float((s.experts / s.width) ** 2)},
)
def run(s: Settings, streams: Streams) -> Row:
    """Compare routing probabilities before and after a move of the scores.

    Per replicate ``change``, max |p - p'|; ``ratio``, the change over max |h - h'|; ``share_of_bound``, the ratio over
    (M / width)^2; each also ``..._simulated``; ``simulation_error``, the largest difference between simulated and exact
    probabilities in binomial standard errors. ``bound`` is (M / width)^2.
    """
    scaled = _pair(s, streams("scores", pair=s.pair, experts=s.experts, scale=s.scale)) / s.width
    exact = np.asarray(probabilities(scaled))  # an argmax does not see the unit
    simulated = _simulate(scaled, s.draws, streams("noise", experts=s.experts))
    error = np.abs(simulated - exact) / np.sqrt(np.maximum(exact * (1 - exact), 1 / s.draws) / s.draws)
    out = {"simulation_error": np.max(error)}
    for name, (p, q) in {"": exact, "_simulated": simulated}.items():
        change = np.max(np.abs(p - q))
        ratio = change / s.distance
        out |= {f"change{name}": change, f"ratio{name}": ratio}
        out[f"share_of_bound{name}"] = ratio / (s.experts / s.width) ** 2
    return out


def probabilities(scores: Array) -> Array:
    """Return the probability of each expert to be chosen.

    ``scores`` (..., M): h.

    The probabilities are exact up to rounding. Memory grows like M^3 / 2 per leading entry.
    """
    xp = namespace(scores)
    experts = scores.shape[-1]
    nodes, weights = (xp.asarray(a) for a in np.polynomial.legendre.leggauss(experts // 2 + 1))
    largest = xp.max(scores, axis=-1, keepdims=True)
    h = scores - largest  # a common shift changes nothing
    ends = xp.sort(xp.where(h > -1, h + 1, xp.zeros_like(h)), axis=-1)
    starts = xp.concat([xp.zeros_like(largest), ends[..., :-1]], axis=-1)
    half = (ends - starts)[..., None] / 2
    v = starts[..., None] + half * (1 + nodes)  # (..., pieces, nodes)
    below = v[..., None] - h[..., None, None, :]  # (..., pieces, nodes, M)
    capped = xp.where(below < 1, below, xp.ones_like(below))
    # the nodes of a piece of length 0 lie on its ends: they get no weight, and must not divide by 0
    safe = xp.where(capped > 0, capped, xp.ones_like(capped))
    density = xp.where(below < 1, xp.prod(capped, axis=-1, keepdims=True) / safe, xp.zeros_like(safe))
    return xp.sum(density * (half * weights)[..., None], axis=(-3, -2))
