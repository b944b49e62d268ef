"""How typical the drawn truths of a regression study are, and the sentence of its report that says so.

The forty truths beside them are draws 1 to 40 of the same law from a seed of its own, so that studies of one law share
them. They are computed once and kept in the cache; no result depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from moestat.cache import cached
from moestat.rounding import number
from moestat.threads import one_thread
from studies.sigmoid_attention.parts.regression_problem import Problem
from studies.sigmoid_attention.parts.regression_settings import Settings
from studies.sigmoid_attention.parts.regression_targets import compute_fisher
from studies.sigmoid_attention.parts.typical import Features, Place, features

EXPERIMENTS = ("regression", "regression_from_target")
VERSION = 1  # of cached features: to be raised when their numbers change
SEED = 0
DRAWS = range(1, 41)
LOG2 = 15
"""The others' information is a mean over the first 2**LOG2 of the points of the study's own truths. With all of them
their lines would be lower by 0.5 %, that of an outlier six times as high by 3 %."""
MOST = 9
"""With more truths a study has intervals over truths, which say how they scatter; the brief scores have their lines."""


def place_of(problem: Problem, study_seed: int, truths: int = 1) -> Place:
    """Return where the drawn truths of a study lie among forty others of their law.

    Parameters
    ----------
    problem : Problem
        Its truth is drawn, and its noise variance above 0.
    truths : int, default 1
        The study has the draws 0 to ``truths`` - 1.
    """
    if problem.atoms:
        raise ValueError("the truth is explicit: a design, and no draw of a law")
    if problem.noise_variance == 0:
        raise ValueError("noise_variance is 0; a Fisher line needs noise")
    own = _features(problem, study_seed, range(truths), problem.fisher_log2)
    return Place(own, _features(problem, SEED, DRAWS, LOG2))


def _features(problem: Problem, seed: int, draws: Sequence[int], log2: int) -> Features:
    """Return the features of draws of a law, from the cache or computed now; lines scale with the noise's deviation."""
    law = replace(problem, draw=0)
    identity = {
        "law": law.data_identity,
        "seed": seed,
        "draws": list(draws),
        "points_log2": log2,
        "code": VERSION,
        **problem.own,
    }

    def compute() -> dict[str, np.ndarray]:
        drawn = np.stack([replace(law, draw=draw).true_parameters(seed) for draw in draws])
        with one_thread():  # the last bits of a sum depend on the number of threads
            return features(law.truth, drawn, law.evaluation_points(log2), 1.0)._asdict()

    found = cached("typical", identity, compute)
    return Features(**found | {"line": np.sqrt(problem.noise_variance) * found["line"]})


def said(experiment: str, settings: Mapping[str, Any], seed: int) -> str:
    """Say in a sentence or two how typical the truths of an arm are; nothing where its intervals are over truths.

    Parameters
    ----------
    experiment : str
        Name of the experiment.
    settings : mapping
        Of a cell; the line is told at its ``n``.
    seed : int
        Of the study.
    """
    if experiment not in EXPERIMENTS:
        return ""
    try:
        known = Settings(**settings)
    except ValueError:  # a record of other settings than today's
        return ""
    problem = known.problem
    if problem.atoms:
        return "The truth is given: a design, not a draw of a law."
    if not known.noise_variance or known.truths > MOST and known.scores == "all":
        return ""
    if known.truths > MOST:
        lines = [compute_fisher(known.problem_of(k), seed)["L3"] / np.sqrt(known.n) for k in range(known.truths)]
        return f"{_head(lines, known.n)}, median {shown(float(np.median(lines)))}."
    return sentence(place_of(problem, seed, known.truths), known.n)


def sentence(place: Place, n: int) -> str:
    """Say where truths lie among others at sample size n, and of those that lie above all of them why."""
    own, others = (lines / np.sqrt(n) for lines in place.lines)
    text = f"{_head(own, n)}; {len(others)} other truths of the same law have {told(others)}"
    far = np.flatnonzero(place.outside).tolist()
    if not far:
        where = "all of the study's inside that range" if len(own) > 1 else f"{place.rank[0] - 1} of them higher"
        return f"{text}, {where}."
    return " ".join([f"{text}.", *(_outlier(place, k, shown(own[k])) for k in far)])


def _head(lines: Sequence[float] | np.ndarray, n: int) -> str:
    """Tell the Fisher lines of a study's own truths at sample size n."""
    head = f"The {len(lines)} truths have Fisher lines" if len(lines) > 1 else "The truth has a Fisher line"
    return f"{head} of {', '.join(map(shown, lines))} (L3, N* known, n = {n})"


def told(lines: np.ndarray) -> str:
    """Return the range and the median of Fisher lines; one is infinite where a direction is not seen."""
    finite = lines[np.isfinite(lines)]
    lost = len(lines) - len(finite)
    infinite = f", {lost} of them infinity (a direction that no data show)" if lost else ""
    low, middle = lines.min(), np.median(lines)
    return f"{shown(low)} to {shown(np.max(finite, initial=low))}{infinite}, median {shown(float(middle))}"


def _outlier(place: Place, k: int, line: str) -> str:
    """Say that truth number k lies outside of the range of the others, and what its experts are like if it is above."""
    if place.rank[k] > 1:
        return f"An outlier: {line} is lower than any of these."
    own, others = place.own, place.others
    active = f"{number(100 * own.active[k], 2)} % of the inputs (of the others: {_range(100 * others.active)} %)"
    seen = f"{number(own.seen[k], 2)} ({_range(others.seen)})"
    smallest = f"{number(own.smallest[k], 2)} of the largest ({_range(others.smallest)})"
    return (
        f"An outlier: {line} is higher than any of these. Its least active expert is not zero on {active}; the mean "
        f"gate of its least visible one, counted where that is not zero, is {seen}; the smallest eigenvalue of its "
        f"information is {smallest}."
    )


def shown(line: float) -> str:
    """Return a line as it is printed.

    >>> shown(17.247), shown(1097.3), shown(np.inf)
    ('17.2', '1097', 'infinity')
    """
    if not np.isfinite(line):
        return "infinity"
    return f"{line:.0f}" if line >= 100 else number(line, 3)


def _range(values: np.ndarray) -> str:
    return f"{number(values.min(), 2)} to {number(values.max(), 2)}"
