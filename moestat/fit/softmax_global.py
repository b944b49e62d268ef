"""A longer search for the global maximum of the likelihood, with softmax gates: rounds of screened components.

:func:`moestat.fit.softmax_mle.maximum_likelihood` goes up from starts and splits; here each round takes every
expert out of the best fit, screens candidates for its place (:mod:`moestat.fit.component_screening`) and goes up from
the best of them.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from moestat.arrays import Array
from moestat.fit.component_screening import screened_starts
from moestat.fit.likelihood import LikelihoodFit
from moestat.fit.softmax_mle import maximum_likelihood

ROUNDS = 6


def global_maximum(
    x: Array,
    y: Array,
    starts: Array,
    *,
    truth: Array | None = None,
    box: float = 100.0,
    variances: tuple[float, float] = (1e-2, 1e2),
    kept: int = 4,
    split_rounds: int = 1,
    rounds: int = ROUNDS,
) -> LikelihoodFit:
    """Fit softmax-gated Gaussian mixtures of experts, with rounds of screened components after the usual way.

    Parameters
    ----------
    x : array (B, n, 1)
        NumPy arrays.
    y : array (B, n)
    starts : array (B, S, N, 5)
    truth, box, variances, kept, split_rounds
        See :func:`moestat.fit.softmax_mle.maximum_likelihood`.
    rounds : int
        Of screening.

    Returns
    -------
    LikelihoodFit
        Of each data set the fit with the highest likelihood; ``start`` and ``start_log_likelihood`` are those of the
        usual way.

    Raises
    ------
    ValueError
        As :func:`moestat.fit.softmax_mle.maximum_likelihood` and
        :func:`moestat.fit.component_screening.screened_starts`.
    """
    how = {"truth": truth, "box": box, "variances": variances, "kept": kept}
    best = maximum_likelihood(x, y, starts, split_rounds=split_rounds, **how)  # type: ignore[arg-type]
    if starts.shape[-2] < 2:
        return best
    for number in range(rounds):
        theta = np.asarray(best.theta)
        more = screened_starts(x, y, theta, box=box, least_variance=variances[0], number=number)
        best = _better(best, maximum_likelihood(x, y, more, split_rounds=0, **how))  # type: ignore[arg-type]
    return best


def _better(old: LikelihoodFit, new: LikelihoodFit) -> LikelihoodFit:
    """Take of each data set the fit with the higher likelihood."""
    up = np.asarray(new.log_likelihood) > np.asarray(old.log_likelihood)
    changes = {}
    for field in fields(old):
        one, two = getattr(old, field.name), getattr(new, field.name)
        if field.name in ("start", "start_log_likelihood") or not isinstance(one, np.ndarray):
            continue
        changes[field.name] = np.where(up.reshape(-1, *[1] * (one.ndim - 1)), two, one)
    return replace(old, **changes)
