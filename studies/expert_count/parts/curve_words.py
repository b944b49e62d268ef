"""What the paper says of the curves over M, and by what: words that its studies share with what judges them."""

from __future__ import annotations

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
