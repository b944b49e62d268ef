"""What the modules of studies share: methods, designs of truths, sizes of a training, why some verdicts are neutral."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moestat.study.rules import Rule, function

DESIGNS = {
    "continuous": ("no jump", "Without a jump at the boundaries"),
    "variance": ("variance jumps", "Where the variance jumps"),
    "sign": ("mean jumps, few", "Where the mean jumps at few boundaries"),
    "mean": ("mean jumps, many", "Where the mean jumps at half of the boundaries"),
}
"""Truths in which every expert wins at half of the inputs: label, and the case that a claim names."""
METHODS = {
    "smoe": "SMoE",
    "smoe-fixed": "SMoE-Fixed",
    "xmoe": "XMoE",
    "stable-moe": "StableMoE",
    "compete-smoe": "CompeteSMoE",
}
"""Arms of the five methods with their labels; with underscores they are the setting ``router``."""


def lead(variable: str, arm: str, others: Iterable[str], *, lower: bool) -> Rule:
    """Estimate by how much an arm is below, or above, the best of others, which may hold it."""
    return function("moestat.claims.rules:lead", variable, arm, options={"others": list(others), "lower": lower})


def small(
    steps: int, every: int, seeds: int, expected: str, *, settings: dict[str, Any] | None = None, **keys: Any
) -> dict[str, Any]:
    """Return the keys of a preset: 83 thousand weights, ``steps`` of 16 windows of 32 characters of the plays."""
    about = f"83 thousand weights on nineteen plays: {steps} steps of 16 windows of 32 characters, {seeds} seeds."
    training = {"blocks": 2, "width": 32, "length": 32, "batch": 16, "steps": steps, "every": every}
    training |= {"validation": 8192, "test": 32_768} | (settings or {})
    return {"about": about, "expected": expected, "replicates": seeds, "block": 1, "settings": training} | keys


def paper(size: str, expected: str, *, settings: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """Return the keys of the preset of the paper's size, five seeds of 60 000 steps."""
    about = (
        f"The paper's size ({size}), windows of 512, batches of 48, 60 000 steps; on the plays unless `file` is enwik8."
    )
    training = {"size": size, "steps": 60_000, "batch": 48, "rate": 0.0007, "warmup": 0.05, "every": 1000}
    training |= {"validation": 0} | (settings or {})
    return {"about": about, "expected": expected, "replicates": 5, "block": 1, "settings": training} | keys


def differences(
    title: str, of: str, variable: str, baseline: list[Any], ylabel: str, over: str = "", less: str = ""
) -> dict[str, Any]:
    """Return the keys of a figure of differences to a baseline, an arm and its value of the axis ``over``, in pairs.

    ``less``: a variable that is taken off ``variable`` before.
    """
    return {
        "kind": "function",
        "title": title,
        "function": "studies.compete_smoe.parts.router_figure:differences",
        "options": {"variable": variable, "baseline": baseline, "over": over, "ylabel": ylabel, "less": less},
        "caption": f"{of} of the paper: differences to SMoE with the same first weights and batches; small marks are "
        "seeds, bars 95 % t-intervals of the mean; a bar across 0 decides nothing.",
    }
