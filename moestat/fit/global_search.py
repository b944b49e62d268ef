r"""The least-squares estimator as the theorems define it: the lowest of many local minima, with a record of the search.

Least squares over at most N atoms means the argmin. The loss of an over-specified or misspecified mixture has many
local minima, which differ in what the atoms that the truth does not need fit of the noise (or of the wrong gate); one
start near the truth ends at one of them. Here many starts compete for each data set:

1. the *local* estimator's own starts are fitted to the end; they are the yardstick;
2. starts near every known minimiser, random draws, and smaller fits with one atom more, put in where a score statistic
   says that it pays (:mod:`moestat.fit.screening`), are *raced*: a few Newton steps, on a part of the rows where there
   are many, then the better ones a few more; the survivors are fitted to the end on all rows;
3. rounds of replacements follow: the atom that the best fit needs least is taken out, and another put in, as in the
   split-and-merge moves of Ueda, Nakano, Ghahramani, Hinton (SMEM algorithm for mixture models, Neural Computation 12,
   2000) and in the insertion steps of the sliding Frank-Wolfe algorithm (Denoyelle, Duval, Peyre, Soubies, The sliding
   Frank-Wolfe algorithm and its application to super-resolution microscopy, Inverse Problems 36, 2019).

The search stops when ``agree`` of its fits, from independent starts, have ended at the best minimum and a round of
replacements has not led lower, and otherwise when its budget is spent. Nothing proves that the result is the global
minimum; how often the best was found, how many minima there are and what may be left (:mod:`moestat.fit.end_points`)
are part of the result.

The same search serves samples and populations (quadrature points with noiseless responses).
"""

from __future__ import annotations

import numpy as np

from moestat.arrays import Array
from moestat.doors import takes_float64
from moestat.fit import search_starts
from moestat.fit.moments import Precision
from moestat.fit.search_budget import Budget
from moestat.fit.search_run import Search, SearchRun
from moestat.fit.search_starts import Starts, Stream
from moestat.models.regression import Model

__all__ = ["Budget", "Search", "global_search"]


@takes_float64("x", "y", "local", "known", "smaller")
def global_search(
    model: Model,
    x: Array,
    y: Array,
    *,
    local: np.ndarray,
    known: np.ndarray,
    stream: Stream,
    smaller: np.ndarray | None = None,
    box: float = 5.0,
    budget: Budget | None = None,
    max_iterations: int = 2000,
    precision: Precision = "mixed",
) -> Search:
    """Search the lowest least-squares fit of one data set.

    Parameters
    ----------
    model : Model
    x : array (n, d)
    y : array (n,)
    local : array (S, N, P)
        Starts of the local estimator, S >= 1.
    known : array (K, N, P)
        Known minimisers: of the population, say; splits of the truth, pseudo-truths.
    stream : callable
        ``stream(purpose)`` returns the random generator of a purpose.
    smaller : array (B, N - 1, P), optional
        Known minimisers with one atom less, which atoms are put into. Without them these are the best local end points
        without one atom, the lowest of them.
    box : float, default 5
    budget : Budget, optional
    max_iterations : int, default 2000
    precision : {"mixed", "double"}

    Returns
    -------
    Search

    Raises
    ------
    ValueError
        If shapes do not fit together.
    """
    budget = Budget() if budget is None else budget
    shape = (local.shape[-2], model.atom_size) if local.ndim == 3 else None
    if shape is None or len(local) < 1 or known.shape[1:] != shape or len(known) < 1:
        raise ValueError(
            f"local and known have shapes {local.shape} and {known.shape}; they must be (S, N, P) and (K, N, P) with "
            f"P = {model.atom_size} and S, K at least 1"
        )
    if smaller is not None and smaller.shape[1:] != (shape[0] - 1, shape[1]):
        raise ValueError(f"smaller has shape {smaller.shape}; it must be (B, {shape[0] - 1}, {shape[1]})")
    run = SearchRun(model, x, y, box, budget, max_iterations, precision)
    run.finish(Starts("local", np.clip(local, -box, box)))
    before = float("inf")
    for round_ in range(1 + budget.rounds):
        if round_ > 1 and run.agreed and not run.lowered(before):
            break
        before = float(run.loss.min())
        kind = "insert" if round_ == 0 else "replace"
        count = budget.inserted if round_ == 0 else budget.replaced
        bases = run.bases(smaller if round_ == 0 else None) if count and shape[0] > 1 else None
        entries = []
        if round_ == 0:
            entries += [
                search_starts.near(known, budget.near, stream, box=box),
                search_starts.random(model, shape[0], budget.random, stream, box=box),
            ]
        if bases is not None:
            name = kind if round_ == 0 else f"{kind} {round_}"
            entries.append(
                search_starts.inserted(model, x, y, bases, count, budget.screened, kind, _named(stream, name), box=box)
            )
        run.race([entry for entry in entries if len(entry.theta)])
    return run.result()


def _named(stream: Stream, name: str) -> Stream:
    return lambda purpose: stream(f"{name}: {purpose}")
