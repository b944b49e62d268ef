"""Every loss of a regression fit, and how far the losses of near-minimisers go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from moestat.fit import end_points
from moestat.fit.global_search import Search
from moestat.losses import function, matching, minimisers, voronoi
from moestat.losses.regression import regression_losses
from moestat.models.regression import Model
from studies.sigmoid_attention.parts.regression_problem import Problem, evaluation_points
from studies.sigmoid_attention.parts.regression_targets import Target

Losses = dict[str, np.ndarray]
WORST = ("L1", "L2_1", "L2_2", "L3", "Lsm", "L4", "L5", "quotient", "matched", "nearest_expert", "rmse", "rmse_pseudo")
"""Losses whose highest value over the near-minimisers of a global search is kept."""


def score(problem: Problem, target: Target, theta: np.ndarray, evaluation_log2: int) -> Losses:
    """Return the losses of fitted parameters, one array (R,) per loss.

    ``theta`` (R, N, P): fitted parameters. Members that are not finite get NaN in every loss. ``evaluation_log2``: the
    function error is taken on 2**evaluation_log2 points of the law of x.

    Returns ``L1``, ``L2_1``, ``L2_2`` (L2r with r = 1 and 2), ``L3``, for a softmax gate ``Lsm``, for a partially
    quadratic score ``L4`` and ``L5``, ``quotient``, ``matched``, ``nearest_expert``, ``rmse`` (to f*), for
    pseudo-truths ``rmse_pseudo`` (to the nearest pseudo-truth's function); against the measure of the target that is
    nearest (least L3) ``empty_cells``, the blocks (``A_over``, ``A_exact``, ...), and from them ``over_atom``,
    ``exact_atom`` and the blocks per atom ``A_over_atom``, ... (:func:`per_atom`).
    """

    def losses_of(usable: np.ndarray) -> Losses:
        model, measures = problem.fitted, target.measures
        losses = regression_losses(usable, measures if target.is_pseudo else measures[0], model)
        losses["nearest_expert"] = matching.nearest_expert(usable, measures, model)
        blocks = _nearest_blocks(usable, measures, model)
        losses |= {"empty_cells": blocks["cells_empty"]} | blocks | per_atom(blocks, problem.n_fitted)
        functions = [(problem.truth, target.truth), *((model, g) for g in measures if target.is_pseudo)]
        losses["rmse"], *pseudo = _rmse(problem, functions, usable, evaluation_log2)
        if target.is_pseudo:
            losses["rmse_pseudo"] = np.min(pseudo, axis=0)
        return losses

    return _where_finite(theta, losses_of)


def score_L3(problem: Problem, target: Target, theta: np.ndarray, evaluation_log2: int) -> Losses:
    """Return the loss of Fig. 1 alone, in both readings of it, and the function error, one array (R,) each.

    With the arguments of :func:`score`: ``L3`` to the set of population minimisers, which Theorem 3 bounds;
    ``L3_to_truth`` to the truth itself with its N* atoms, as the legend of Fig. 1 writes it (to pseudo-truths, which
    have N atoms, it is ``L3``); ``rmse``.
    """

    def losses_of(usable: np.ndarray) -> Losses:
        model, first = problem.fitted, target.measures[0]
        if target.is_pseudo:
            L3 = literal = voronoi.L3(usable, target.measures, model)
        else:
            L3 = minimisers.L3_infimum(usable, first, model)
            literal = np.array([minimisers.eq12(atoms, first, model) for atoms in usable])
        rmse = _rmse(problem, [(problem.truth, target.truth)], usable, evaluation_log2)[0]
        return {"L3": L3, "L3_to_truth": literal, "rmse": rmse}

    return _where_finite(theta, losses_of)


def _where_finite(theta: np.ndarray, losses_of: Callable[[np.ndarray], Losses]) -> Losses:
    """Return losses, NaN for members that are not finite."""
    finite = np.isfinite(theta).all(axis=(-2, -1))
    losses = losses_of(np.where(finite[:, None, None], theta, 0.0))
    return {name: np.where(finite, values, np.nan) for name, values in losses.items()}


def _nearest_blocks(theta: np.ndarray, measures: np.ndarray, model: Model) -> Losses:
    """Return the blocks of :func:`moestat.losses.voronoi.blocks` against the measure with the least L3."""
    nearest = np.argmin([voronoi.L3(theta, g, model) for g in measures], axis=0)
    each = [voronoi.blocks(theta, g, model) for g in measures]
    return {name: np.take_along_axis(np.stack([f[name] for f in each]), nearest[None], 0)[0] for name in each[0]}


def per_atom(blocks: Mapping[str, np.ndarray], n_fitted: int) -> Losses:
    """Return the error of a fitted atom, apart for over-specified and exactly specified true atoms.

    Sums over cells grow with the number of atoms in them, so the rates of the two kinds (n^(-1/4) and n^(-1/2) in
    section 4.1.1 of sigmoid-attention) are read off means over atoms. As in equation (9), c counts in exact cells only.

    From :func:`moestat.losses.voronoi.blocks` (R,) and the number N of fitted atoms ``over_atom``: mean of ||dA|| +
    ||db|| + ||deta|| over the fitted atoms in cells with two or more atoms; ``exact_atom``: mean of ||dA|| + ||db|| +
    |dc| + ||deta|| over those in cells with one; and the same of every block alone: ``A_over_atom``, ``A_exact_atom``,
    ... NaN where there is no such cell.
    """
    exact_count = blocks["cells_exact"]
    out: Losses = {}
    for kind, count, parts in [("over", n_fitted - exact_count, "A b eta"), ("exact", exact_count, "A b c eta")]:
        sums = {part: blocks[f"{part}_{kind}"] for part in voronoi.BLOCKS if f"{part}_{kind}" in blocks}
        whole = np.asarray(sum(total for part, total in sums.items() if part in parts.split()))
        for name, total in {**{f"{part}_{kind}": total for part, total in sums.items()}, kind: whole}.items():
            out[f"{name}_atom"] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return out


def worst(problem: Problem, target: Target, n: int, evaluation_log2: int, searches: Sequence[Search]) -> Losses:
    """Return ``<loss>_wide_high``, the highest value over the near-minimisers of every search, for losses of ``WORST``.

    These are the end points whose residual sum of squares exceeds the least by at most v p, p parameters; see
    :mod:`moestat.fit.end_points`.
    """
    excess = end_points.excesses(problem.noise_variance, n, problem.n_fitted * problem.fitted.atom_size)["wide"]
    near = [end_points.near(s.loss, n, excess) for s in searches]
    points = np.concatenate([s.ends[chosen] for s, chosen in zip(searches, near, strict=True)])
    losses = score(problem, target, points, evaluation_log2)
    last = np.cumsum([chosen.sum() for chosen in near])[:-1]
    each = {name: np.split(losses[name], last) for name in WORST if name in losses}
    return {f"{name}_wide_high": np.array([np.max(values) for values in own]) for name, own in each.items()}


def _rmse(problem: Problem, functions: Sequence[tuple[Model, np.ndarray]], theta: np.ndarray, log2: int) -> np.ndarray:
    """Return the errors (K, R) of fitted functions, from each of K functions, given by model and parameters."""
    values = [_values(model, g.tobytes(), g.shape, log2, problem.law_of_x) for model, g in functions]
    return function.rmse(problem.fitted, theta, np.stack(values), problem.evaluation_points(log2))


@lru_cache(maxsize=16)
def _values(model: Model, theta: bytes, shape: tuple[int, int], log2: int, law_of_x: str) -> np.ndarray:
    """Evaluate a function once per process: every block of every cell needs the same values."""
    return model.predict(np.frombuffer(theta).reshape(shape), evaluation_points(model.d, log2, law_of_x))
