"""What the proof of Theorem 1 says of weights, gradients and router on the way: Lemmas 10 to 15, 18 to 24, Prop. 3.

Algorithm 1 with the rates of the theorem, MLP experts and equal starts. The *exploration* stage ends at T_1 =
ceil(sqrt(sigma_0) / eta), the *router* stage at T_2 = ceil(1 / eta), as the remark behind Lemma 24 has it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pydantic import Field, model_validator

from moestat.experiment import SettingsModel
from moestat.models import patches
from moestat.replicates import Row, Streams, each, steps
from studies.expert_count.parts import cubic_experts
from studies.expert_count.parts.router_smoothness import probabilities
from studies.expert_count.parts.top_one import train

VERSION = 1

LARGEST = (
    *("projection", "output", "score", "uneven", "other_signal", "centre_signal", "noise_signal", "over_threshold"),
    *("aligned_most", "off_signals", "off_centres", "router_on_signals", "uneven_scores", "gate_ratio"),
)
LEAST = ("under_threshold", "least_probability")
LAST = ("gradient_ratio", "aligned", "own_signal", "router_gradient", "router_leads")
"""Variables by how the looks of a stage make one number; ``variables.toml`` says what they are."""


class Settings(SettingsModel):
    """Settings of a cell. *Ours*: not stated in the paper."""

    experts: int = Field(8, ge=1, description="M")
    clusters: int = Field(4, ge=2, description="K")
    patches: int = Field(4, ge=4, description="P, of which P - 3 hold noise")
    neurons: int = Field(8, ge=1, description="J")
    dimension: int = Field(1000, ge=4, description="d, at least 2 K (ours)")
    n: int = Field(2000, ge=1, description="training samples (ours)")
    start_scale: float = Field(0.1, gt=0, lt=1, description="sigma_0")
    expert_rate: float = Field(0.01, gt=0, lt=1, description="eta; the router's is M^2 eta")
    looks: int = Field(4, ge=2, description="ours: evenly spaced steps of each stage at which all is measured")
    probe: int = Field(200, ge=1, description="ours: samples for which routing probabilities are computed")

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.dimension < (least := 2 * self.clusters):
            raise ValueError(f"dimension is {self.dimension}; {self.clusters} clusters need at least {least}")
        if self.ends[0] < self.looks or self.ends[1] - self.ends[0] < self.looks:
            raise ValueError(
                f"expert_rate is {self.expert_rate} and start_scale {self.start_scale}; stages that end at "
                f"{self.ends[0]} and {self.ends[1]} steps have no {self.looks} looks each"
            )
        return self

    @property
    def ends(self) -> tuple[int, int]:
        """T_1 and T_2."""
        return int(np.ceil(np.sqrt(self.start_scale) / self.expert_rate)), int(np.ceil(1 / self.expert_rate))

    @property
    def seen(self) -> tuple[list[int], list[int]]:
        """The steps of each stage at which all is measured; its end is the last."""
        first, second = self.ends
        spans = np.linspace(0, first, self.looks + 1)[1:], np.linspace(first, second, self.looks + 1)[1:]
        return tuple([int(step) for step in np.ceil(span)] for span in spans)  # type: ignore[return-value]


class _Look:
    """One run: its data, its start, and what is measured of it at a step."""

    def __init__(self, s: Settings, streams: Streams) -> None:
        world = {"clusters": s.clusters, "dimension": s.dimension}
        self.s = s
        self.directions = patches.dictionary(streams("directions", **world), s.clusters, s.dimension)
        scalars, vectors = (streams(name, **world) for name in ("scalars", "vectors"))
        self.examples = patches.draw(scalars, vectors, self.directions, s.n, s.patches)
        rng = streams("start", neurons=s.neurons, **world)
        start = s.start_scale * rng.standard_normal((s.experts, 1, s.neurons, s.dimension))
        self.weights = np.repeat(start, s.patches, axis=1)
        best = np.reshape(start[:, 0] @ self.directions.labels.T, (s.experts, -1)).argmax(axis=1)
        self.neuron, self.profession = np.divmod(best, s.clusters)  # Definition 2
        self._draws = streams("routing noise: gradient", experts=s.experts)
        place = np.zeros((s.n, s.patches, 3), dtype=bool)
        place[np.arange(s.n)[:, None], self.examples.position, np.arange(3)] = True
        x = self.examples.x
        self._noise = x[np.logical_not(place).all(axis=2)]
        self._signals = np.where(place[:, :, 0, None] | place[:, :, 2, None], x, 0.0)
        self._centres = np.where(place[:, :, 1, None], x, 0.0).reshape(s.n, -1)

    def measure(self, weights: np.ndarray, theta: np.ndarray) -> dict[str, float]:
        """Return every variable of weights (M, P, J, d) and theta (P d, M)."""
        x, features = self.examples.x[None], self.examples.x.reshape(1, self.s.n, -1)
        scores = features[0] @ theta
        of_gradient = self._of_gradient(weights, x, features, scores)
        return self._of_experts(weights, x) | self._of_router(theta, scores) | of_gradient

    def _own(self, along: np.ndarray) -> np.ndarray:
        """Take the best neuron and its signal, (M, P), of products with signals (M, P, J, K)."""
        return along[np.arange(self.s.experts), :, self.neuron, self.profession]

    def _of_experts(self, weights: np.ndarray, x: np.ndarray) -> dict[str, float]:
        on_labels, on_centres = (weights @ u.T for u in (self.directions.labels, self.directions.centres))
        own = self._own(on_labels)
        others = np.abs(on_labels)
        others[np.arange(self.s.experts), :, self.neuron, self.profession] = 0.0
        noise = float(np.abs(weights.reshape(-1, self.s.dimension) @ self._noise.T).max())
        f = cubic_experts.outputs(weights[None], x)[0]
        of_signals = cubic_experts.outputs(weights[None], self._signals[None])[0]
        return {
            "projection": max(float(np.abs(on_labels).max()), float(np.abs(on_centres).max()), noise),
            "output": float(np.abs(f).max()),
            "other_signal": float(others.max()),
            "centre_signal": float(np.abs(on_centres).max()),
            "noise_signal": noise,
            "own_signal": float(np.mean(np.min(own, axis=1))),
            "off_signals": float(np.abs(f - of_signals).max()),
        }

    def _of_router(self, theta: np.ndarray, scores: np.ndarray) -> dict[str, float]:
        s, cluster = self.s, self.examples.cluster
        by_patch = theta.reshape(s.patches, s.dimension, s.experts)
        on_labels, on_centres = (u @ by_patch for u in (self.directions.labels, self.directions.centres))
        routed = np.asarray(probabilities(scores[: s.probe]))
        mine = cluster[: s.probe, None] == self.profession
        gates = cubic_experts.softmax(scores)
        spreads = [(_spread(scores, of, who), _spread(gates, of, who)) for of, who in self._clusters()]
        apart, gate = np.max(spreads, axis=0) if spreads else (0.0, 0.0)
        leader = self.profession[np.argmax(on_centres, axis=2)]  # (P, K)
        return {
            "score": float(np.abs(scores).max()),
            "uneven": float(np.abs(routed - 1 / s.experts).max()),
            "off_centres": float(np.abs(scores - self._centres @ theta).max()),
            "router_on_signals": float(np.abs(on_labels).max()),
            "least_probability": s.experts * float(np.min(routed[mine])),
            "uneven_scores": float(apart),
            "gate_ratio": float(gate / (2 * apart)) if apart > 0 else 0.0,
            "router_leads": float(np.mean(leader == np.arange(s.clusters))),
        }

    def _of_gradient(
        self, weights: np.ndarray, x: np.ndarray, features: np.ndarray, scores: np.ndarray
    ) -> dict[str, float]:
        s = self.s
        expert = np.argmax(scores + self._draws.random(scores.shape), axis=1)
        slope = cubic_experts.gradient(weights[None], x, features, self.examples.y[None], scores[None], expert[None])
        of_weights, of_theta = slope.weights[0], slope.theta[0].reshape(s.patches, s.dimension, s.experts)
        norm = np.sqrt(np.sum(of_weights**2, axis=(1, 2, 3)))
        along = -self._own(of_weights @ self.directions.labels.T)
        low, high = patches.Law().signal
        third_moment = (high**4 - low**4) / (4 * (high - low))
        leading = third_moment / (2 * s.clusters * s.experts**2 * s.patches)
        own = self._own(weights @ self.directions.labels.T)
        off = np.arange(s.clusters)[:, None] != self.profession  # (K, M)
        threshold = s.experts**2 * s.start_scale**1.8
        aligned = np.min(along, axis=1) / np.where(norm > 0, norm, 1.0)
        return {
            "gradient_ratio": float(np.sum(along) / np.sum(leading * 3 * own**2)),
            "over_threshold": float(norm.max()) / threshold,
            "under_threshold": float(norm.min()) / threshold,
            "aligned": float(np.mean(aligned)),
            "aligned_most": float(np.max(aligned)),
            "router_gradient": float(np.mean((self.directions.centres @ of_theta)[:, off])),
        }

    def _clusters(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield samples and experts of every cluster that has two experts or more."""
        for k in range(self.s.clusters):
            who, of = np.flatnonzero(self.profession == k), np.flatnonzero(self.examples.cluster == k)
            if who.size > 1 and of.size:
                yield of, who


def _spread(values: np.ndarray, of: np.ndarray, who: np.ndarray) -> float:
    return float(np.max(np.ptp(values[np.ix_(of, who)], axis=1)))


@each(dims=dict.fromkeys((*LARGEST, *LEAST, *LAST, "growth"), ("stage",)), coords={"stage": ["exploration", "router"]})
def run(s: Settings, streams: Streams) -> Row:
    """Train through both stages and measure what the lemmas speak of.

    The device plays no part.
    """
    look = _Look(s, streams)
    measured: dict[int, dict[str, float]] = {}
    draws = streams("routing noise", experts=s.experts, n=s.n)
    x = look.examples.x
    train(
        *(x[None], x.reshape(1, s.n, -1), look.examples.y[None], look.weights[None]),
        np.zeros((1, s.patches * s.dimension, s.experts)),
        (draws.random((1, s.n, s.experts)) for _ in range(s.ends[1])),
        steps=s.ends[1],
        expert_rate=s.expert_rate,
        router_rate=s.experts**2 * s.expert_rate,
        observe=lambda step, w, theta: measured.__setitem__(step, look.measure(w[0], theta[0])),
        at={step for stage in s.seen for step in stage},
    )
    row = {}
    for names, pick in ((LARGEST, np.max), (LEAST, np.min), (LAST, lambda looks: looks[-1])):
        for name in names:
            row[name] = np.array([pick([measured[step][name] for step in stage]) for stage in s.seen])
    halves = [(stage[s.looks // 2 - 1], stage[-1]) for stage in s.seen]
    grown = [(measured[b]["own_signal"] - measured[a]["own_signal"]) / (b - a) for a, b in halves]
    row["growth"] = np.array(grown) / s.expert_rate
    return row | steps(row, s.ends[1])
