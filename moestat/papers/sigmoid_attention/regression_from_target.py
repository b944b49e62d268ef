"""The published protocol, started beside the measure that its loss is taken to (sigmoid-attention, App. E.1, Fig. 1).

The paper starts its fits "near their ground-truth values". A gate that is not that of the data cannot be the truth,
and its loss is taken to the nearest minimiser of the population. ``regression`` reads "ground truth" as the numbers of
the truth, whatever gate they are given; here it is the target of the loss, which for the gate of the data is the same.
Data, directions of the starts and orders of the samples are those of ``regression``: cells of the two are paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import xarray as xr

from moestat.arrays import Device, backend, to_numpy
from moestat.experiment import Cell
from moestat.fit.gradient import RadiusRule, perturb, sgd
from moestat.papers.sigmoid_attention import regression, regression_settings, several_truths
from moestat.papers.sigmoid_attention.regression_problem import Problem
from moestat.papers.sigmoid_attention.regression_scores import score
from moestat.papers.sigmoid_attention.regression_targets import Target, target_of

DEVICES = ("cpu", "cuda")


class Settings(regression_settings.Settings):
    """Those of ``regression`` that belong to the protocol; the ones of least squares do nothing."""

    estimator: Literal["sgd"] = "sgd"
    """SGD as in the paper."""


def prerequisites(cell: Cell) -> list[dict]:
    """Return the lists of pseudo-truths that this cell starts at and is scored against."""
    return regression.prerequisites(cell)


def prepare(prerequisite: dict, *, device: Device) -> None:
    """Compute a list of pseudo-truths and leave it in the cache."""
    regression.prepare(prerequisite, device=device)


def run(cell: Cell, replicates: Sequence[int], *, device: Device = "cpu") -> xr.Dataset:
    """Run the protocol in the replicates of one cell, and score where it starts and where it ends.

    Returns
    -------
    xarray.Dataset
        Losses (``L3`` ... ``rmse``), the same at the start (``start_L3`` ...), what is known of an end point of SGD,
        and the fitted parameters ``theta``; see ``regression.run``.
    """
    settings = Settings(**cell.settings)
    targets = [target_of(settings.problem_of(k), cell.study_seed, device=device) for k in range(settings.truths)]
    parts = []
    for draw, target in enumerate(targets):
        own = [r for r in replicates if r % settings.truths == draw]
        if own:
            parts.append(_run(cell, settings, settings.problem_of(draw), target, own, device))
    joined = parts[0] if settings.truths == 1 else several_truths.join(settings, targets, parts, replicates)
    joined.attrs["start_policy"] = start_policy(settings, targets[0])
    return joined


def start_policy(settings: Settings, target: Target) -> str:
    """Say in one sentence where the optimiser starts."""
    place = "the best pseudo-truth" if target.is_pseudo else "the truth"
    rule = RadiusRule(settings.radius_scale, settings.radius_exponent)
    return f"SGD starts near {place}, standard deviation per coordinate {rule}."


def _run(
    cell: Cell, settings: Settings, problem: Problem, target: Target, replicates: Sequence[int], device: Device
) -> xr.Dataset:
    """Run and score replicates that have one truth."""
    # the helpers of regression stay where they are: a move would make every result of it stale
    x, y = regression._draw(cell, settings, problem, target, replicates)
    radius = RadiusRule(settings.radius_scale, settings.radius_exponent).radius(settings.n)
    streams = [cell.generator(r, "start", **problem.data_identity, n=settings.n) for r in replicates]
    starts = np.stack([perturb(target.minimisers[0], radius, rng) for rng in streams])
    xp = backend(device)
    fitted = sgd(
        problem.fitted,
        xp.asarray(x),
        xp.asarray(y),
        xp.asarray(starts[:, None]),
        epochs=settings.epochs,
        step=settings.step,
        batch_size=min(settings.batch_size or settings.n, settings.n),
        order=[regression._order(cell, settings, r) for r in replicates],
    )
    theta = to_numpy(fitted)[:, 0]
    variables: dict[str, tuple] = {}
    for prefix, parameters in (("", theta), ("start_", starts)):
        for name, values in score(problem, target, parameters, settings.evaluation_log2).items():
            variables[prefix + name] = ("replicate", values)
    variables |= regression._sgd_diagnostics(problem.fitted, theta, x, y, settings)
    variables["theta"] = (("replicate", "atom", "coordinate"), theta)
    dataset = xr.Dataset(variables, coords={"replicate": np.asarray(replicates, dtype=np.int64)})
    for name, value in target.lines(settings.n).items():
        dataset[name] = value
    dataset["bound_rmse"] = regression.rate_bound(settings)
    dataset["bound_rmse"].attrs["long_name"] = "sqrt(v p log n / n)"
    dataset.attrs["target"] = target.description
    if target.fisher_at_one:
        dataset.attrs["fisher"] = target.fisher_meaning
    return dataset
