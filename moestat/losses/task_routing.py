"""How closely experts follow tasks, from counts (E, K) of the tokens of task k at expert e."""

from __future__ import annotations

import numpy as np

from moestat.doors import takes_float64
from moestat.losses import routing


@takes_float64("counts")
def mutual_information(counts: np.ndarray) -> float:
    """Return the mutual information in bits of expert and task (plug-in estimate).

    For tasks spread evenly over E experts it is log2 E at most, and 0 when every task uses the experts alike; a model
    that sends everything to one expert has 0 too, although every task then has a favourite.
    """
    tasks = np.log(routing.effective_experts(counts.T))
    return float(max(tasks - routing.dispatch_entropy(counts), 0.0) / np.log(2.0))


@takes_float64("counts")
def usage_entropy(counts: np.ndarray) -> float:
    """Return the entropy in bits of the experts' loads; log2 E when all carry the same."""
    return float(np.log2(routing.effective_experts(counts)))


@takes_float64("counts")
def top_share(counts: np.ndarray) -> float:
    """Return the mean over tasks of the share of a task's tokens that its favourite expert gets."""
    return float(np.mean(counts.max(axis=0) / counts.sum(axis=0)))
