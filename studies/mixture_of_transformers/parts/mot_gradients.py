"""Orders of weights, attention and gradients in stages I and II: Lemmas 5, 6 and 11 to 14.

Algorithm 1's stage I with eta_r = eta is run to ``T1 = M sqrt(sigma_0) / eta``. Gradients are expectations: over all
kinds of samples of Definition 1, over the perturbation of the router, whose probabilities are integrated, and over the
noise tokens, of which draws and their negatives are averaged: the lemmas speak of small differences of such gradients
and of the largest of many, which an error in them would swamp. They are measured at the start; *early*, after ``eta T1
= sqrt(sigma_0)`` as in the proof of Lemma 11; where stage I ended (*trained*); and from what Proposition 1 promises
(*promised*): ``W = W_0 + sqrt(sigma_0) v_n``, every class at its own experts with equal probability.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.models import patches
from moestat.models.logistic import logistic_slope, softmax
from moestat.replicates import Row, Streams, each, steps
from studies.mixture_of_transformers.parts.model import Mixture, attend, attention_gradient, pool
from studies.mixture_of_transformers.parts.mot_measures import expert_class
from studies.mixture_of_transformers.parts.staged_training import Schedule, train

VERSION = 1

_NODES = 32  # of the quadrature; 16 are exact for 32 experts with equal scores
_ROWS = 512  # samples whose routing is integrated at a time

STATES = ("start", "early", "trained", "promised")

OF_START = {
    "start_weight": "largest |<W, X_l>| at the start, over sigma_0",
    "start_query_key": "largest |nu' W_KQ mu| at the start, over sigma_0",
    "start_attention": "largest difference between attentions to two signals at the start",
    "start_converse": "smallest such difference over that of the scores, where that is sigma_0 / 10 at least",
}
OVER_STATES = {
    "output": "largest |f| over experts and samples",
    "router_centre": "largest expected |<grad theta, c_n>|",
    "router_label": "largest expected |<grad theta, v_n>|",
    "router_sum": "largest entry of the sum of theta over the experts, over that of a theta",
    "class_difference": "expected <grad W, v> of the own class less that of the others, mean of sizes over experts",
    "gap_growth": "expected growth of <W, v> of the own class less that of the others, mean over experts",
    "gap_step": "the same along a step of length 1, eq. (8), mean over experts",
    "gap_widens": "share of experts whose expected step raises <W, v> of the own class more than that of the others",
    "expert_centre": "largest expected |<grad W, c_n>|",
    "own_pair": "expected growth of v_n' W_KQ v_n per step and rate, mean over experts",
    "other_growth": "largest expected growth of another nu' W_KQ mu, mean over experts",
    "other_pair": "largest expected growth or fall of another nu' W_KQ mu, mean over experts",
    "centre_pair": "expected growth or fall of c_n' W_KQ c_n, mean of sizes over experts",
    "label_centre_pair": "expected growth or fall of v_n' W_KQ c_n, mean of sizes over experts",
    "distractor_growth": "largest expected growth of a nu' W_KQ v_n', n' another class, mean over experts",
    "distractor_query": "largest expected growth or fall of a nu' W_KQ v_n', n' another class, mean over experts",
}
"""Variables of the start, and by state of the model, and what they are. A pair is key' W_KQ query; n is the expert's
own class, *the others* are the mean of the other classes."""


class Settings(SettingsModel):
    """Settings of a cell. *Ours*: not stated in the paper."""

    classes: int = Field(8, ge=2, description="N")
    experts: int = Field(32, ge=2, description="M")
    tokens: int = Field(5, ge=4, description="L (ours)")
    dimension: int = Field(32, ge=4, description="d, at least 2 N (ours)")
    token_noise: float = Field(0.5, ge=0, description="sigma_xi (ours)")
    start_scale: float = Field(0.1, gt=0, description="sigma_0")
    rate: float = Field(0.02, gt=0, description="eta and eta_r (ours)")
    repeats: int = Field(4, ge=1, description="ours: training samples of every kind, of 4 N (N - 1)")
    judged: int = Field(8, ge=1, description="ours: draws of the noise tokens, each with both signs, in an expectation")

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.dimension < 2 * self.classes:
            raise ValueError(f"dimension is {self.dimension}; {self.classes} classes need at least {2 * self.classes}")
        return self

    @property
    def steps(self) -> int:
        """T1."""
        return max(1, int(np.ceil(self.experts * np.sqrt(self.start_scale) / self.rate)))

    @property
    def early(self) -> int:
        """T1 of the proof of Lemma 11: an expert has moved by sqrt(sigma_0) at most."""
        return max(1, int(np.sqrt(self.start_scale) / self.rate))


class World(NamedTuple):
    """Signals (N, d), and samples of all kinds: tokens (n, L, d), labels and classes (n,)."""

    labels: np.ndarray
    centres: np.ndarray
    x: np.ndarray
    y: np.ndarray
    cluster: np.ndarray


def make_world(
    s: Settings, directions: patches.Dictionary, rng: np.random.Generator, repeats: int, *, mirrored: bool = False
) -> World:
    """Make samples of every class, distractor and pair of signs in turn; a model does not see the order of tokens.

    Mirrored, there are twice as many: each draw of noise tokens comes with its negative.
    """
    n = np.arange(s.classes)
    own, other, y, sign = (a.ravel() for a in np.meshgrid(n, n, [-1.0, 1.0], [-1.0, 1.0], indexing="ij"))
    kinds = np.tile(np.flatnonzero(own != other), repeats)
    noise = rng.standard_normal((len(kinds), s.tokens - 3, s.dimension)) * (s.token_noise / np.sqrt(s.dimension))
    if mirrored:
        kinds, noise = np.tile(kinds, 2), np.concatenate([noise, -noise])
    own, other, y, sign = own[kinds].astype(int), other[kinds].astype(int), y[kinds], sign[kinds]
    labels, centres = directions.labels, directions.centres
    signals = np.stack([centres[own], y[:, None] * labels[own], sign[:, None] * labels[other]], axis=1)
    return World(labels, centres, np.concatenate([signals, noise], axis=1), y, own)


def smallest_response(attention: np.ndarray, least: float) -> float:
    """Return the smallest difference of two attentions over that of their scores, among scores ``least`` apart.

    Scores of one query differ by what the logarithms of its attentions do; NaN where none are that far apart.

    ``attention`` (..., keys).
    """
    first, second = np.triu_indices(attention.shape[-1], 1)
    one, other = attention[..., first], attention[..., second]
    apart = np.abs(np.log(one) - np.log(other))
    far = apart >= least
    return float(np.min(np.abs(one - other)[far] / apart[far])) if far.any() else float("nan")


def routed(world: World, theta: np.ndarray) -> np.ndarray:
    """Return the probabilities with which every sample goes to every expert under the perturbation, (n, M)."""
    scores = world.x.sum(axis=1) @ theta.T
    return np.concatenate([argmax_probabilities(scores[k : k + _ROWS]) for k in range(0, len(scores), _ROWS)])


def argmax_probabilities(scores: np.ndarray) -> np.ndarray:
    """Return the probabilities that expert m has the largest of ``scores + r``, r independent from Unif[0, 1].

    With F the distribution function of r, ``P_m`` is the integral of ``prod_{j != m} F(t - h_j)`` over t from the
    largest score, below which a factor is 0, to h_m + 1. Gauss's quadrature is exact where no factor reaches 1 before.

    ``scores`` (n, M).
    """
    nodes, parts = np.polynomial.legendre.leggauss(_NODES)
    top = scores.max(axis=1)
    length = np.maximum(scores + 1.0 - top[:, None], 0.0)
    share = np.empty(scores.shape)
    for m in range(scores.shape[1]):
        t = top[:, None] + length[:, m, None] * (nodes + 1) / 2
        below = np.minimum(t[:, :, None] - scores[:, None, :], 1.0)
        below[:, :, m] = 1.0
        share[:, m] = length[:, m] / 2 * (below.prod(axis=2) @ parts)
    return share / share.sum(axis=1, keepdims=True)


def pure(of_expert: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Return the routing that Proposition 1 promises, (n, M); a class without an expert goes nowhere."""
    mine = (cluster[:, None] == of_expert).astype(float)
    return mine / np.maximum(mine.sum(axis=1, keepdims=True), 1.0)


def measure(
    world: World, weights: np.ndarray, kq: np.ndarray, theta: np.ndarray, share: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the variables of :data:`OVER_STATES`; ``share`` (n, M) are the probabilities of the experts."""
    x, y, rows, classes = world.x, world.y, np.arange(len(weights)), len(world.labels)
    attention = [attend(x, each) for each in kq]
    pooled = np.stack([pool(x, p) for p in attention])  # (M, n, d)
    f = np.einsum("mnd,md->nm", pooled, weights)
    pi = softmax(x.sum(axis=1) @ theta.T)
    margin = y[:, None] * pi * f
    pull = share * logistic_slope(margin) * margin
    of_theta = (pull - pi * pull.sum(axis=1, keepdims=True)).T @ x.sum(axis=1) / len(y)
    slope = share * logistic_slope(y[:, None] * f) * y[:, None] / len(y)
    of_weights = np.einsum("nm,mnd->md", slope, pooled)
    on_labels = of_weights @ world.labels.T
    own = expert_class(weights @ world.labels.T)
    others = np.delete(on_labels.reshape(-1), rows * classes + own).reshape(len(rows), -1)
    lead = others.mean(axis=1) - on_labels[rows, own]  # a step is against the gradient
    length = np.linalg.norm(of_weights, axis=1)

    signals = np.concatenate([world.labels, world.centres])
    grown = np.empty((len(rows), len(signals), len(signals)))  # keys before queries
    for m, p in enumerate(attention):
        by_output = (slope[:, m, None] * (x @ weights[m]))[:, None, :] * np.ones_like(p)
        grown[m] = -signals @ attention_gradient(x, p, by_output) @ signals.T
    own_pair = grown[rows, own, own].copy()
    grown[rows, own, own] = 0.0  # what is left of a growth is at least 0: there is always a pair that does not grow
    other_pair = np.abs(grown).max(axis=(1, 2))
    centre_pair = np.abs(grown[rows, classes + own, classes + own])
    of_distractors = grown[:, :, :classes].copy()
    of_distractors[rows, :, own] = 0.0
    weight = np.abs(theta).max()
    return {
        "output": np.abs(f).max(),
        "router_centre": np.abs(of_theta @ world.centres.T).max(),
        "router_label": np.abs(of_theta @ world.labels.T).max(),
        "router_sum": np.abs(theta.sum(axis=0)).max() / weight if weight > 0 else np.zeros(()),
        "class_difference": np.mean(np.abs(lead)),
        "gap_growth": np.mean(lead),
        "gap_step": np.mean(np.divide(lead, length, out=np.zeros_like(lead), where=length > 0)),
        "gap_widens": np.mean(lead > 0),
        "expert_centre": np.abs(of_weights @ world.centres.T).max(),
        "own_pair": np.mean(own_pair),
        "other_growth": np.mean(grown.max(axis=(1, 2))),
        "other_pair": np.mean(other_pair),
        "centre_pair": np.mean(centre_pair),
        "label_centre_pair": np.mean(np.abs(grown[rows, own, classes + own])),
        "distractor_growth": np.mean(of_distractors.max(axis=(1, 2))),
        "distractor_query": np.mean(np.abs(of_distractors).max(axis=(1, 2))),
    }


@each(
    dims=dict.fromkeys(OVER_STATES, ("state",)),
    coords={"state": list(STATES)},
    attrs={name: {"long_name": text} for name, text in (OF_START | OVER_STATES).items()},
)
def run(s: Settings, streams: Streams) -> Row:
    """Run stage I and measure what the lemmas speak of.

    The variables of ``OF_START`` per replicate, those of ``OVER_STATES`` by ``state``. The device plays no part.
    """
    world = {"classes": s.classes, "dimension": s.dimension}
    directions = patches.dictionary(streams("directions", **world), s.classes, s.dimension)
    training = make_world(s, directions, streams("tokens: a", **world), s.repeats)
    judged = make_world(s, directions, streams("tokens: b", **world), s.judged, mirrored=True)
    scale = s.start_scale / np.sqrt(s.dimension)
    weights = scale * streams("start: weights", **world).standard_normal((s.experts, s.dimension))
    rng = streams("start: attention", dimension=s.dimension)
    kq = scale * rng.standard_normal((s.experts, s.dimension, s.dimension))
    idle = np.zeros((s.experts, s.dimension))
    model = Mixture(training.x[None], weights[None], kq[None], idle[None])
    rng = streams("perturbation", experts=s.experts, n=len(training.y))
    noise = (rng.random((1, s.experts, len(training.y))) for _ in range(s.steps))
    schedule = Schedule(s.steps, s.steps, s.steps, s.rate, s.rate, s.rate, s.rate)
    early: list[np.ndarray] = []

    def look(_: int) -> None:
        early.extend((model.weights[0].copy(), model.theta[0].copy()))

    train(model, training.y[None], schedule, noise, look, (s.early,))
    own = expert_class(weights @ directions.labels.T)
    promised = weights + np.sqrt(s.start_scale) * directions.labels[own]
    places = [(weights, idle), (early[0], early[1]), (model.weights[0], model.theta[0])]
    states = [measure(judged, w, kq, theta, routed(judged, theta)) for w, theta in places]
    states.append(measure(judged, promised, kq, idle, pure(own, judged.cluster)))
    signals = np.concatenate([directions.labels, directions.centres])
    attention = [attend(judged.x, each_kq)[:, :3, :3] for each_kq in kq]
    row = {
        "start_weight": float(np.abs(weights @ judged.x.reshape(-1, s.dimension).T).max()) / s.start_scale,
        "start_query_key": float(np.abs(signals @ kq @ signals.T).max()) / s.start_scale,
        "start_attention": max(float(np.ptp(p, axis=2).max()) for p in attention),
        "start_converse": min(smallest_response(p, s.start_scale / 10) for p in attention),
        **{name: np.array([state[name] for state in states]) for name in OVER_STATES},
    }
    return row | steps(row, s.steps)
