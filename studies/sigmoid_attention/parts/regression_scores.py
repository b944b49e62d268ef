"""Every loss of a regression fit, in one dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from moestat.losses import function, matching, minimisers, voronoi
from moestat.losses.regression import regression_losses
from moestat.models.regression import Model
from studies.sigmoid_attention.parts.regression_problem import Problem, evaluation_points
from studies.sigmoid_attention.parts.regression_targets import Target


def score(problem: Problem, target: Target, theta: np.ndarray, evaluation_log2: int) -> dict[str, np.ndarray]:
    """Return the losses of fitted parameters, one array (R,) per loss.

    ``theta`` (R, N, P): fitted parameters. Members that are not finite get NaN in every loss. ``evaluation_log2``: the
    function error is taken on 2**evaluation_log2 points of the law of x.

    Returns ``L1``, ``L2_1``, ``L2_2`` (L2r with r = 1 and 2), ``L3``, for a softmax gate ``Lsm``, for a partially
    quadratic score ``L4`` and ``L5``, ``quotient``, ``matched``, ``nearest_expert``, ``rmse`` (to f*), for
    pseudo-truths ``rmse_pseudo`` (to the nearest pseudo-truth's function); against the measure of the target that is
    nearest (least L3) ``empty_cells``, the blocks (``A_over``, ``A_exact``, ...), and from them ``over_atom``,
    ``exact_atom`` and the blocks per atom ``A_over_atom``, ... (:func:`per_atom`).
    """
    finite = np.isfinite(theta).all(axis=(-2, -1))
    usable = np.where(finite[:, None, None], theta, 0.0)
    model, measures = problem.fitted, target.measures
    losses = regression_losses(usable, measures if target.is_pseudo else measures[0], model)
    losses["nearest_expert"] = matching.nearest_expert(usable, measures, model)
    blocks = _nearest_blocks(usable, measures, model)
    losses |= {"empty_cells": blocks["cells_empty"]} | blocks | per_atom(blocks, problem.n_fitted)
    points = problem.evaluation_points(evaluation_log2)
    losses["rmse"] = function.rmse(model, usable, _true_values(problem, target, evaluation_log2), points)
    if target.is_pseudo:
        distances = [function.rmse(model, usable, model.predict(g, points), points) for g in measures]
        losses["rmse_pseudo"] = np.min(distances, axis=0)
    return {name: np.where(finite, values, np.nan) for name, values in losses.items()}


def score_L3(problem: Problem, target: Target, theta: np.ndarray, evaluation_log2: int) -> dict[str, np.ndarray]:
    """Return the loss of Fig. 1 alone, in both readings of it, and the function error, one array (R,) each.

    ``problem``, ``target``, ``theta``, ``evaluation_log2``: as of :func:`score`.

    Returns ``L3`` to the set of population minimisers, which Theorem 3 bounds; ``L3_to_truth`` to the truth itself with
    its N* atoms, as the legend of Fig. 1 writes it (to pseudo-truths, which have N atoms, it is ``L3``); ``rmse``.
    """
    finite = np.isfinite(theta).all(axis=(-2, -1))
    usable = np.where(finite[:, None, None], theta, 0.0)
    model, points = problem.fitted, problem.evaluation_points(evaluation_log2)
    losses = {"L3": to_minimisers(usable, target, model)}
    literal = [minimisers.eq12(atoms, target.measures[0], model) for atoms in usable]
    losses["L3_to_truth"] = losses["L3"] if target.is_pseudo else np.array(literal)
    losses["rmse"] = function.rmse(model, usable, _true_values(problem, target, evaluation_log2), points)
    return {name: np.where(finite, values, np.nan) for name, values in losses.items()}


def to_minimisers(theta: np.ndarray, target: Target, model: Model) -> np.ndarray:
    """Return equation (12) (L3, and L5 where the score has no b) to the set of population minimisers, (R,)."""
    if target.is_pseudo:
        return voronoi.L3(theta, target.measures, model)
    return minimisers.L3_infimum(theta, target.measures[0], model)


def _nearest_blocks(theta: np.ndarray, measures: np.ndarray, model: Model) -> dict[str, np.ndarray]:
    """Return the blocks of :func:`moestat.losses.voronoi.blocks` against the measure with the least L3."""
    nearest = np.argmin([voronoi.L3(theta, g, model) for g in measures], axis=0)
    per_measure = [voronoi.blocks(theta, g, model) for g in measures]
    return {
        name: np.take_along_axis(np.stack([f[name] for f in per_measure]), nearest[None], 0)[0]
        for name in per_measure[0]
    }


def per_atom(blocks: Mapping[str, np.ndarray], n_fitted: int) -> dict[str, np.ndarray]:
    """Return the error of a fitted atom, apart for over-specified and exactly specified true atoms.

    Sums over cells grow with the number of atoms in them, so the rates of the two kinds (n^(-1/4) and n^(-1/2) in
    section 4.1.1 of sigmoid-attention) are read off means over atoms. As in equation (9), c counts in exact cells only.

    ``blocks`` (R,): from :func:`moestat.losses.voronoi.blocks`; ``n_fitted``: number N of fitted atoms.

    Returns ``over_atom``: mean of ||dA|| + ||db|| + ||deta|| over the fitted atoms in cells with two or more atoms;
    ``exact_atom``: mean of ||dA|| + ||db|| + |dc| + ||deta|| over those in cells with one; and the same of every block
    alone: ``A_over_atom``, ``A_exact_atom``, ... NaN where there is no such cell.
    """
    exact_count = blocks["cells_exact"]
    counts = {"over": n_fitted - exact_count, "exact": exact_count}
    parts = {"over": ("A", "b", "eta"), "exact": ("A", "b", "c", "eta")}
    out: dict[str, np.ndarray] = {}
    for kind, count in counts.items():
        sums = {part: blocks[f"{part}_{kind}"] for part in voronoi.BLOCKS if f"{part}_{kind}" in blocks}
        sums = {f"{part}_{kind}": total for part, total in sums.items()} | {
            kind: np.asarray(sum(total for part, total in sums.items() if part in parts[kind]))
        }
        out |= {
            f"{name}_atom": np.where(count > 0, total / np.maximum(count, 1), np.nan) for name, total in sums.items()
        }
    return out


def _true_values(problem: Problem, target: Target, log2: int) -> np.ndarray:
    return _values(problem.truth, target.truth.tobytes(), target.truth.shape, log2, problem.law_of_x)


@lru_cache(maxsize=4)
def _values(model: Model, truth: bytes, shape: tuple[int, int], log2: int, law_of_x: str) -> np.ndarray:
    """Evaluate f* once per process: every block of every cell needs the same values."""
    return model.predict(np.frombuffer(truth).reshape(shape), evaluation_points(model.d, log2, law_of_x))
