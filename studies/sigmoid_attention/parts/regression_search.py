"""The global search of a regression cell: one search per replicate, its record, and the band of near-minimisers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moestat.arrays import Array
from moestat.experiment import Cell
from moestat.fit import end_points
from moestat.fit.global_search import Budget, Search, global_search
from moestat.fit.search_starts import KINDS, Stream
from moestat.models import truths
from studies.sigmoid_attention.parts.regression_problem import Problem
from studies.sigmoid_attention.parts.regression_scores import score
from studies.sigmoid_attention.parts.regression_settings import Settings
from studies.sigmoid_attention.parts.regression_targets import Target

BANDS = ("L1", "L2_1", "L2_2", "L3", "Lsm", "L4", "L5", "quotient", "matched", "nearest_expert", "rmse", "rmse_pseudo")
"""Losses that get a band: lowest and highest value over the near-minimisers that the search saw."""


def search(
    cell: Cell,
    settings: Settings,
    problem: Problem,
    target: Target,
    replicates: Sequence[int],
    x: Array,
    y: Array,
    starts: Array,
) -> list[Search]:
    """Search the least-squares fit of every replicate, around its local starts.

    The random numbers of a replicate are named by what defines its data, not by what is fitted.
    """
    smaller = None
    if not target.is_pseudo and problem.n_fitted > problem.n_true:
        smaller = truths.split(problem.fitted, target.measures[0], problem.n_fitted - 1)[None]

    def stream(replicate: int) -> Stream:
        return lambda purpose: cell.generator(replicate, purpose, **problem.data_identity, n=settings.n)

    return [
        global_search(
            problem.fitted,
            x[k, ...],
            y[k, ...],
            local=starts[k],
            known=target.minimisers,
            smaller=smaller,
            stream=stream(r),
            box=problem.box,
            budget=Budget().times(settings.search_effort),
            max_iterations=settings.max_iterations,
            precision=settings.precision,
        )
        for k, r in enumerate(replicates)
    ]


def record(searches: Sequence[Search], settings: Settings, n_local: int) -> dict:
    """Return what the searches saw.

    Per replicate ``search_kind`` (of the start that won), ``search_found`` (how many independent starts ended
    at the best minimum), ``search_distinct`` (different minima), ``search_ends``, ``search_lower_left`` (the chance
    that something lower is left), ``search_agreed``, ``search_steps``, ``search_gain`` (over the local fit, in the
    residual sum of squares divided by the noise variance), ``search_local_loss``; and ``search_loss`` (replicate,
    search_start), the last loss of every start, NaN for starts that were not needed, with ``search_start_kind``.
    """
    budget = Budget().times(settings.search_effort)
    counts = (n_local, budget.near, budget.random, budget.inserted, budget.rounds * budget.replaced)
    kinds = [kind for kind, count in zip(KINDS, counts, strict=True) for _ in range(count)]
    losses = np.full((len(searches), len(kinds)), np.nan)
    for k, one in enumerate(searches):
        for kind, seen in one.start_losses.items():
            first = kinds.index(kind)
            losses[k, first : first + len(seen)] = seen
    unit = settings.noise_variance if settings.noise_variance > 0 else np.nan
    return {
        "search_kind": np.asarray([s.kind for s in searches]),
        "search_found": np.asarray([s.found for s in searches]),
        "search_distinct": np.asarray([s.distinct for s in searches]),
        "search_ends": np.asarray([len(s.loss) for s in searches]),
        "search_lower_left": np.asarray([s.lower_left for s in searches]),
        "search_agreed": np.asarray([int(s.agreed) for s in searches]),
        "search_steps": np.asarray([s.steps for s in searches]),
        "search_gain": np.asarray([s.gain / unit for s in searches]),
        "search_local_loss": np.asarray([float(np.min(s.loss[s.end_kind == "local"])) for s in searches]),
        "search_loss": (("replicate", "search_start"), losses),
        "search_start_kind": ("search_start", np.asarray(kinds)),
    }


def bands(settings: Settings, problem: Problem, target: Target, searches: Sequence[Search]) -> dict:
    """Return the lowest and highest loss over the near-minimisers of every replicate.

    For every loss of ``BANDS`` that the problem has ``<loss>_near_low`` and ``_near_high`` (excess of at most v
    log n in the residual sum of squares), ``<loss>_wide_low`` and ``_wide_high`` (v p); and how many points these are
    over, ``near_count`` and ``wide_count``. The widths are those of :mod:`moestat.fit.end_points`.
    """
    n = settings.n
    widths = end_points.excesses(problem.noise_variance, n, problem.n_fitted * problem.fitted.atom_size)
    close = {name: [end_points.near(s.loss, n, excess) for s in searches] for name, excess in widths.items()}
    wide = close["wide"] if widths["wide"] >= widths["log"] else close["log"]
    points = np.concatenate([s.ends[chosen] for s, chosen in zip(searches, wide, strict=True)])
    losses = score(problem, target, points, settings.evaluation_log2)
    owner = np.repeat(np.arange(len(searches)), [chosen.sum() for chosen in wide])
    out: dict[str, np.ndarray] = {}
    for label, name in (("near", "log"), ("wide", "wide")):
        member = np.concatenate([one[chosen] for one, chosen in zip(close[name], wide, strict=True)])
        out[f"{label}_count"] = np.bincount(owner[member], minlength=len(searches))
        for loss in BANDS:
            if loss in losses:
                own = [losses[loss][(owner == k) & member] for k in range(len(searches))]
                out[f"{loss}_{label}_low"] = np.array([np.min(values) for values in own])
                out[f"{loss}_{label}_high"] = np.array([np.max(values) for values in own])
    return out
