"""What the studies of Figures 1 and 2 share: settings, what the paper says of each kind of expert, and the figure."""

from __future__ import annotations

from typing import Any

SETTINGS = dict(clusters=4, dimension=50, neurons=8, test_samples=4000, start="equal", expert_rate=0.001) | dict(
    router_rate="paper", router="auto", routing_noise=1.0, evaluation_noise=False
)
COUNTS = [4, 8, 16, 32, 64]
EXPERTS = {"mlp": ("MLP experts", "Fig. 1a", 16), "cnn": ("CNN experts", "Fig. 1b", 8)}
"""By kind: its name, its half of Figure 1, and the M where the paper has its peak."""

HIGHER = {"at_least": 0.0, "predicted": "> 0"}
LOWER = {"at_most": 0.0, "predicted": "< 0"}
BECAUSE = {
    "few": "the accuracy is highest at M = 16 with MLP experts and at M = 8 with CNN experts, so it is lower at M = 4",
    "plateau": "more experts than at the peak do not yield further gains: the same up to one point between any two M",
    "decline": "increasing M beyond the peak even reduces accuracy: read at the largest M",
    "best": "the paper does not say whether its accuracies are those of the last step or the best on the way",
    "along": "'the higher variance of the MLP-MoE across values of M' can also be read as variation along M",
}
VARIANCE = [
    ("variance", "last_accuracy", "", {"group": "MLP experts have the higher variance"}),
    (
        "variance-best",
        "best_accuracy",
        " at its best on the way",
        {"group": "MLP experts have the higher variance, at the best step", "because": BECAUSE["best"]},
    ),
]
"""Readings of the variance between runs: id, variable, when, keys of the claim."""
SUMMARIES = ["last_accuracy", "best_accuracy", "late_change", "last_train_accuracy", "last_entropy"]
SUMMARIES += ["last_experts_used", "best_step"]
WHEN = [("", "last_accuracy", "after the last step"), ("-best", "best_accuracy", "at its best on the way")]


def over_experts(pattern: str, **keys: Any) -> dict[str, Any]:
    """Return the figure of accuracy and entropy over M; ``pattern`` makes the arms of a kind of experts."""
    metrics = {"last_accuracy": "test accuracy", "last_entropy": "dispatch entropy (nats)"}
    return keys | {
        "kind": "lines",
        "x": "experts",
        "xlabel": "number of experts M",
        "logy": False,
        "panels": [
            {"title": name, "arms": [pattern.format(kind)], "variable": variable, "ylabel": label}
            for variable, label in metrics.items()
            for kind, (name, _, _) in EXPERTS.items()
        ],
        "options": {
            "within": {"last_accuracy": [0, 1], "last_entropy": [0, float("inf")]},
            "marks": {name: {"K log K": 5.5, "best in the paper": peak} for name, _, peak in EXPERTS.values()},
            "levels": {"last_entropy": {"log K": 1.386}},
        },
        "caption": "Figs. 1 and 2 of the paper, whose bars are standard deviations of five runs. log K is the entropy "
        "of random routing; below K log K experts some cluster is likely to have none at the start.",
    }
