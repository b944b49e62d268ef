"""What is measured of a top-1 mixture of patch experts at one step of its training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moestat import arrays
from moestat.arrays import Array
from moestat.losses import routing
from moestat.papers.expert_count import cubic_experts, expert_knowledge

OVER_STEPS = {
    "accuracy": "test accuracy",
    "train_accuracy": "training accuracy",
    "loss": "mean logistic loss on the test sample",
    "train_loss": "mean logistic loss on the training sample",
    "entropy": "dispatch entropy (nats)",
    "purity": "share of samples of the commonest cluster at their expert",
    "experts_used": "experts with at least one test sample",
    "share_used": "share of experts with at least one test sample",
    "effective_experts": "exp(entropy of the load)",
    "specialisation": "mean error off an expert's best cluster minus the error on it, by load",
    "best_cluster_error": "error of an expert on its best cluster, mean over experts",
    "own_error": "error of an expert on the cluster of its initial profession, mean over experts",
    "other_error": "error of an expert on the other clusters, mean over experts",
    "routed_to_own": "share of samples at an expert whose initial profession is their cluster",
    "routed_to_best": "share of samples at an expert whose best cluster is theirs",
    "clusters_with_best": "clusters that are the best one of some expert",
}
"""Variables with one number per replicate and step, and what they are."""

OVER_EXPERTS = {
    "expert_load": "share of the test samples at each expert",
    "dispatch": "share of the test samples by expert and cluster",
    "error": "error of each expert on each cluster",
}
"""Variables per expert, or per expert and cluster, and what they are."""


@dataclass(frozen=True)
class Sample:
    """A batch of samples: patches (B, n, P, d), the router's features, labels, clusters and noise in evaluation."""

    x: Array
    features: Array
    y: Array
    cluster: Array
    noise: Array | None

    def routed(self, theta: Array) -> tuple[Array, Array]:
        """Return the scores (B, n, M) and the expert (B, n) of each sample in evaluation."""
        xp = arrays.namespace(theta)
        scores = xp.matmul(self.features, theta)
        return scores, xp.argmax(scores if self.noise is None else scores + self.noise, axis=-1)


def measure(
    weights: Array, theta: Array, training: Sample, test: Sample, profession: Array, clusters: int
) -> dict[str, np.ndarray]:
    """Compute every variable of :data:`OVER_STEPS` and :data:`OVER_EXPERTS`, replicate first.

    Parameters
    ----------
    weights : (B, M, P or 1, J, d) array
    theta : (B, F, M) array
    training, test : Sample
    profession : (B, M) int array
        See :func:`.expert_knowledge.profession`.
    clusters : int
        K.
    """
    xp = arrays.namespace(weights, theta)
    experts = weights.shape[1]
    scores, expert = training.routed(theta)
    margin = training.y * cubic_experts.routed_outputs(weights, training.x, expert)
    out = {
        "train_accuracy": xp.mean(xp.astype(margin > 0, xp.float64), axis=-1),
        "train_loss": cubic_experts.mean_loss(scores, expert, margin),
    }
    scores, expert = test.routed(theta)
    margins = test.y[:, :, None] * cubic_experts.outputs(weights, test.x)
    margin = cubic_experts.at_expert(margins, expert)
    sent = routing.counts(expert, test.cluster, experts, clusters)
    load = routing.load(sent)
    error = expert_knowledge.error_by_cluster(~(margins > 0), test.cluster, clusters)
    own_error, other_error = expert_knowledge.own_cluster(error, profession)
    own_sent, _ = expert_knowledge.own_cluster(sent, profession)
    # the division of the experts after the training; where one is equally good on several clusters, its load decides
    division = xp.argmin(error - 1e-9 * sent / test.y.shape[-1], axis=-1)
    best_sent, _ = expert_knowledge.own_cluster(sent, division)
    used = routing.experts_used(sent)
    out |= {
        "accuracy": xp.mean(xp.astype(margin > 0, xp.float64), axis=-1),
        "loss": cubic_experts.mean_loss(scores, expert, margin),
        "entropy": routing.dispatch_entropy(sent),
        "purity": routing.purity(sent),
        "experts_used": used,
        "share_used": used / experts,
        "effective_experts": routing.effective_experts(sent),
        "specialisation": expert_knowledge.specialisation(error, load),
        "best_cluster_error": expert_knowledge.best_cluster_error(error),
        "own_error": xp.mean(own_error, axis=-1),
        "other_error": xp.mean(other_error, axis=-1),
        "routed_to_own": xp.sum(own_sent, axis=-1) / test.y.shape[-1],
        "routed_to_best": xp.sum(best_sent, axis=-1) / test.y.shape[-1],
        "clusters_with_best": expert_knowledge.clusters_with_expert(division, clusters),
        "expert_load": load,
        "dispatch": sent / test.y.shape[-1],
        "error": error,
    }
    return {name: arrays.to_numpy(value) for name, value in out.items()}
