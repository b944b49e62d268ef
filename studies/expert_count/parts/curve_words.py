"""What the paper says of the curves over M, and by what: words that its studies share with what judges them."""

from __future__ import annotations

from typing import Any

from moestat.study.rules import function

COUNTS = (4, 8, 16, 32, 64)
KINDS = {"mlp": "MLP experts", "cnn": "CNN experts"}
PEAKS = {"mlp": 16, "cnn": 8}
"""The M where the paper has the peak of each kind of experts."""
WORDS = {
    "few": "too few experts are worse: {kind} reach a higher accuracy with M = {peak} than with M = 4",
    "peak": "the accuracy of {kind} is highest at M = {peak}",
    "no-gain": "no M above {peak} gives {kind} more than one point of accuracy",
    "decline": "{kind} have a lower accuracy with M = 64 than with M = {peak}",
    "rise": "the dispatch entropy of {kind} is higher with M = 64 than with M = {peak}",
    "tie": "{kind} have the same accuracy with M = {peak} and twice as many, up to one point",
    "varies": "the accuracy of MLP experts varies more between runs than that of CNN experts",
    "last-mean": "{kind} have a higher mean accuracy with M = 64 than with M = 32",
    "last-variance": "{kind} vary more between runs with M = 64 than with M = 32",
    "patches-mlp": "{kind} with M = {peak} do worse at P = 8 than at P = 4",
    "patches-cnn": "{kind} with M = {peak} lose at most two points from P = 4 to P = 8",
}


def words(sentence: str, kind: str) -> str:
    """Return a sentence in words, without its full stop."""
    return WORDS[sentence].format(kind=KINDS[kind], peak=PEAKS[kind])


HALF = {"mlp": "a", "cnn": "b"}  # of Figures 1 and 2
FIGURE = {"few": "Fig. 1", "peak": "Fig. 1", "no-gain": "Fig. 1", "decline": "Fig. 1", "rise": "Fig. 2"}
"""The sentences on the curve of one kind of experts at P = 4, and the figure that each is about."""
BECAUSE = "the paper does not print n, sigma_0 and T, so that it may be any reading: half of them are asked for"
PRINTED = {"expert_rate": 0.001, "router_rate": "paper", "router": "auto", "routing_noise": 1.0} | {
    "evaluation_noise": False,
    **{"clusters": 4, "dimension": 50, "neurons": 8, "test_samples": 4000, "start": "equal", "input_scale": 1.0},
}
"""Settings of the experiment ``expert_count`` for the printed rates on inputs as Definition 1 has them."""


def add(
    study: Any, kind: str, *, at_steps: list[int], where: str, end: str = "", presets: list[str], **more: Any
) -> None:
    """Add the sentences on the curve of a kind of experts, true in at least half of the readings, to a study.

    ``at_steps``: the T that count; ``where``: the readings in words; ``end``: of the ids of the claims; ``more``: the
    number of first replicates to leave out, ``after``.
    """
    options = {"kind": kind, "at_steps": at_steps, **more}
    hindsight = "The words are those of expert_count_map, written after this run had been looked at."
    for sentence, figure in FIGURE.items():
        rule = function("studies.expert_count.parts.readings:share", options={"sentence": sentence, **options})
        study.claim(
            f"{sentence}-{kind}{end}",
            f"In at least half of the readings {words(sentence, kind)}, P = 4; {where}.",
            rule.at_least(0.5, predicted="1"),
            source=f"EC {figure}{HALF[kind]}, Results",
            because=BECAUSE,
            hindsight=hindsight,
            presets=presets,
        )
    if kind == "mlp":
        rule = function("studies.expert_count.parts.readings:share", options={"sentence": "tie", **options})
        study.ours(
            f"tie-{kind}{end}",
            f"In at least half of the readings {words('tie', kind)}, P = 4; {where}.",
            rule.at_least(0.5),
            source="ours: control of EC Fig. 1a: whether a peak at M = 16 can be told from one at 32",
            hindsight=hindsight,
            presets=presets,
        )
