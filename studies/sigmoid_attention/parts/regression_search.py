"""The global search of a regression cell: one search per replicate, its record, and the band of near-minimisers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moestat.arrays import Array
from moestat.experiment import Cell
from moestat.fit import end_points
from moestat.fit.global_search import Budget, Search, global_search
from moestat.fit.moments import Precision
from moestat.fit.search_starts import KINDS, Stream
from moestat.models import truths
from studies.sigmoid_attention.parts.regression_problem import Problem
from studies.sigmoid_attention.parts.regression_scores import score
from studies.sigmoid_attention.parts.regression_targets import Target

BANDS = ("L1", "L2_1", "L2_2", "L3", "Lsm", "L4", "L5", "quotient", "matched", "nearest_expert", "rmse", "rmse_pseudo")
"""Losses that get a band: lowest and highest value over the near-minimisers that the search saw."""


def search(
    cell: Cell,
    problem: Problem,
    target: Target,
    replicates: Sequence[int],
    x: Array,
    y: Array,
    starts: Array,
    *,
    n: int,
    effort: float,
    max_iterations: int,
    precision: Precision,
) -> list[Search]:
    """Search the least-squares fit of every replicate; data and starts as ``regression.run``.

    The random numbers of a replicate are named by what defines its data, not by what is fitted.
    """
    smaller = None
    if not target.is_pseudo and problem.n_fitted > problem.n_true:
        smaller = truths.split(problem.fitted, target.measures[0], problem.n_fitted - 1)[None]
    return [
        global_search(
            problem.fitted,
            x[k, ...],
            y[k, ...],
            local=starts[k],
            known=target.minimisers,
            smaller=smaller,
            stream=_stream(cell, problem, r, n),
            box=problem.box,
            budget=Budget().times(effort),
            max_iterations=max_iterations,
            precision=precision,
        )
        for k, r in enumerate(replicates)
    ]


def _stream(cell: Cell, problem: Problem, replicate: int, n: int) -> Stream:
    return lambda purpose: cell.generator(replicate, purpose, **problem.data_identity, n=n)


def record(searches: Sequence[Search], noise_variance: float, effort: float, n_local: int) -> dict[str, tuple]:
    """Return what the searches saw, as variables of a dataset.

    Per replicate ``search_kind`` (of the start that won), ``search_found`` (how many independent starts ended
    at the best minimum), ``search_distinct`` (different minima), ``search_ends``, ``search_lower_left`` (the chance
    that something lower is left), ``search_agreed``, ``search_steps``, ``search_gain`` (over the local fit, in the
    residual sum of squares divided by the noise variance), ``search_local_loss``; and ``search_loss`` (replicate,
    search_start), the last loss of every start, NaN for starts that were not needed, with ``search_start_kind``.
    """
    budget = Budget().times(effort)
    counts = (n_local, budget.near, budget.random, budget.inserted, budget.rounds * budget.replaced)
    kinds = [kind for kind, count in zip(KINDS, counts, strict=True) for _ in range(count)]
    losses = np.full((len(searches), len(kinds)), np.nan)
    for k, one in enumerate(searches):
        for kind, seen in one.start_losses.items():
            first = kinds.index(kind)
            losses[k, first : first + len(seen)] = seen
    unit = noise_variance if noise_variance > 0 else np.nan
    rows = {
        "search_kind": [s.kind for s in searches],
        "search_found": [s.found for s in searches],
        "search_distinct": [s.distinct for s in searches],
        "search_ends": [len(s.loss) for s in searches],
        "search_lower_left": [s.lower_left for s in searches],
        "search_agreed": [int(s.agreed) for s in searches],
        "search_steps": [s.steps for s in searches],
        "search_gain": [s.gain / unit for s in searches],
        "search_local_loss": [float(np.min(s.loss[s.end_kind == "local"])) for s in searches],
    }
    out: dict[str, tuple] = {name: ("replicate", np.asarray(values)) for name, values in rows.items()}
    out["search_loss"] = (("replicate", "search_start"), losses)
    out["search_start_kind"] = ("search_start", np.asarray(kinds))
    return out


def bands(
    problem: Problem, target: Target, searches: Sequence[Search], n: int, evaluation_log2: int
) -> dict[str, tuple]:
    """Return the lowest and highest loss over the near-minimisers of every replicate.

    For every loss of ``BANDS`` that the problem has ``<loss>_near_low`` and ``_near_high`` (excess of at most v
    log n in the residual sum of squares), ``<loss>_wide_low`` and ``_wide_high`` (v p); and how many points these are
    over, ``near_count`` and ``wide_count``. The widths are those of :mod:`moestat.fit.end_points`.
    """
    widths = end_points.excesses(problem.noise_variance, n, problem.n_fitted * problem.fitted.atom_size)
    close = {name: [end_points.near(s.loss, n, excess) for s in searches] for name, excess in widths.items()}
    wide = close["wide"] if widths["wide"] >= widths["log"] else close["log"]
    points = np.concatenate([s.ends[chosen] for s, chosen in zip(searches, wide, strict=True)])
    losses = score(problem, target, points, evaluation_log2)
    owner = np.repeat(np.arange(len(searches)), [chosen.sum() for chosen in wide])
    out: dict[str, tuple] = {}
    for label, name in (("near", "log"), ("wide", "wide")):
        member = np.concatenate([one[chosen] for one, chosen in zip(close[name], wide, strict=True)])
        out[f"{label}_count"] = ("replicate", np.bincount(owner[member], minlength=len(searches)))
        for loss in BANDS:
            if loss in losses:
                own = [losses[loss][(owner == k) & member] for k in range(len(searches))]
                out[f"{loss}_{label}_low"] = ("replicate", np.array([np.min(values) for values in own]))
                out[f"{loss}_{label}_high"] = ("replicate", np.array([np.max(values) for values in own]))
    return out
