"""Convergence rates of regression mixtures of experts (sigmoid-attention, sections 3, 4 and 5.1).

One cell fits one gate to data of one truth at one sample size, by one estimator, and measures how far the fitted mixing
measure is from its target: the truth, or the list of pseudo-truths when the fitted model does not contain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import xarray as xr

from moestat.arrays import Array, Device, backend, to_numpy
from moestat.experiment import Cell
from moestat.fit.gradient import sgd
from moestat.fit.newton import Fit, least_squares
from moestat.models.regression import Model
from moestat.status import Status
from studies.sigmoid_attention.parts import regression_search, regression_starts
from studies.sigmoid_attention.parts.regression_problem import Problem
from studies.sigmoid_attention.parts.regression_pseudo_truths import compute_pseudo_truths, prerequisite
from studies.sigmoid_attention.parts.regression_scores import score, score_L3
from studies.sigmoid_attention.parts.regression_settings import Settings
from studies.sigmoid_attention.parts.regression_targets import Target, target_of

VERSION = 1

DEVICES = ("cpu", "cuda")


def prerequisites(cell: Cell) -> list[dict]:
    """Return the lists of pseudo-truths that this cell is scored against, if its model does not contain the truth."""
    settings = Settings(**cell.settings)
    wanted = [prerequisite(settings.problem_of(draw), cell.study_seed) for draw in range(settings.truths)]
    return [one for one in wanted if one is not None]


def prepare(prerequisite: dict, *, device: Device) -> None:
    """Compute a list of pseudo-truths and leave it in the cache."""
    compute_pseudo_truths(prerequisite, device=device)


def run(cell: Cell, replicates: Sequence[int], *, device: Device = "cpu") -> xr.Dataset:
    """Fit and score the replicates of one cell.

    Losses (``L1`` ... ``rmse``), the same at the start (``start_L1`` ...), solver diagnostics, the fitted parameters
    ``theta`` (replicate, atom, coordinate), and without replicate the Fisher line (``fisher_*``), the bound of the
    function error (``bound_rmse``) and the certificate of the pseudo-truth (``pseudo_*``). With ``scores = "L3"`` there
    are the losses of :func:`~.regression_scores.score_L3` at the end alone, and beside them ``moved``, the distance
    from start to end, and ``line_L3``, the Fisher line of the own truth. After a global search also its record
    (``search_*``) and the bands of near-minimisers (``<loss>_near_low``, ...), see
    :mod:`studies.sigmoid_attention.parts.regression_search`; the start is then the first local one.
    """
    settings = Settings(**cell.settings)
    if settings.truths == 1:
        return _of_one_truth(cell, settings, settings.problem, replicates, device)
    problems = [settings.problem_of(draw) for draw in range(settings.truths)]
    by_truth = [[r for r in replicates if r % settings.truths == draw] for draw in range(settings.truths)]
    parts = [
        _of_one_truth(cell, settings, problem, own, device)
        for problem, own in zip(problems, by_truth, strict=True)
        if own
    ]
    return _join(settings, [target_of(one, cell.study_seed, device=device) for one in problems], parts, replicates)


def _of_one_truth(
    cell: Cell, settings: Settings, problem: Problem, replicates: Sequence[int], device: Device
) -> xr.Dataset:
    """Fit and score replicates that have one truth."""
    target = target_of(problem, cell.study_seed, device=device)
    x, y = regression_starts.data(cell, settings, problem, target, replicates)
    starts = regression_starts.starts(cell, settings, problem, target, replicates)
    xp = backend(device)
    x, y, starts = (xp.asarray(a) for a in (x, y, starts))
    theta, start, variables = _fitted(cell, settings, problem, target, replicates, x, y, starts)
    if settings.scores == "L3":
        ends = {"": score_L3(problem, target, theta, settings.evaluation_log2)}
        line = target.lines(settings.n).get("fisher_L3", np.nan)
        moved = np.linalg.norm((theta - start).reshape(len(theta), -1), axis=1)
        ends[""] |= {"moved": moved, "line_L3": np.full(len(theta), line)}
    else:
        points = {"": theta, "start_": start}
        ends = {prefix: score(problem, target, at, settings.evaluation_log2) for prefix, at in points.items()}
    variables |= {prefix + name: values for prefix, losses in ends.items() for name, values in losses.items()}
    residual = y - problem.truth.predict(xp.asarray(target.truth), x)
    variables["truth_loss"] = to_numpy(0.5 * xp.mean(residual**2, axis=-1))
    dataset = xr.Dataset(
        {name: value if isinstance(value, tuple) else ("replicate", value) for name, value in variables.items()}
        | {"theta": (("replicate", "atom", "coordinate"), theta)},
        coords={"replicate": np.asarray(replicates, dtype=np.int64)},
    )
    dataset = dataset.assign(target.lines(settings.n))
    dataset["bound_rmse"] = rate_bound(settings)
    dataset["bound_rmse"].attrs["long_name"] = "sqrt(v p log n / n)"
    dataset.attrs |= {"target": target.description, "start_policy": regression_starts.policy(settings, target)}
    if target.fisher_at_one:
        dataset.attrs["fisher"] = target.fisher_meaning
    return dataset


def _fitted(
    cell: Cell,
    settings: Settings,
    problem: Problem,
    target: Target,
    replicates: Sequence[int],
    x: Array,
    y: Array,
    starts: Array,
) -> tuple[np.ndarray, np.ndarray, dict]:
    """Return the fits and where they started, (R, N, P) each, and what is known of the fits."""
    first = to_numpy(starts)[:, 0]
    if settings.estimator == "sgd":
        order = [regression_starts.order(cell, settings, r) for r in replicates]
        batch = min(settings.batch_size or settings.n, settings.n)
        how: dict[str, Any] = dict(epochs=settings.epochs, step=settings.step, batch_size=batch, order=order)
        theta = to_numpy(sgd(problem.fitted, x, y, starts, **how))[:, 0]
        return theta, first, _of_sgd(problem.fitted, theta, to_numpy(x), to_numpy(y), settings)
    if settings.search == "global":
        searches = regression_search.search(cell, settings, problem, target, replicates, x, y, to_numpy(starts))
        fit = Fit(**{f.name: np.concatenate([getattr(s.fit, f.name) for s in searches]) for f in fields(Fit)})
        known = _of_least_squares(fit) | regression_search.record(searches, settings, starts.shape[1])
        return to_numpy(fit.theta), first, known | regression_search.bands(settings, problem, target, searches)
    limits: dict[str, Any] = dict(
        box=settings.box, max_iterations=settings.max_iterations, precision=settings.precision
    )
    fit = least_squares(problem.fitted, x, y, starts, **limits)
    chosen = to_numpy(starts)[np.arange(len(replicates)), to_numpy(fit.start)]
    return to_numpy(fit.theta), chosen, _of_least_squares(fit)


def _of_least_squares(fit: Fit) -> dict:
    names = ("status", "iterations", "loss", "gradient", "decrement", "min_eigenvalue", "box_hits", "start")
    rename = {"loss": "train_loss", "start": "start_index"}
    known = {rename.get(name, name): to_numpy(getattr(fit, name)) for name in names}
    return known | {"message": np.asarray(fit.message())}


def _of_sgd(model: Model, theta: np.ndarray, x: np.ndarray, y: np.ndarray, settings: Settings) -> dict:
    """SGD has no stopping criterion: it is done when its epochs are, unless it left the real numbers."""
    loss, gradient = model.gradient(theta, x, y)
    finite = np.isfinite(loss) & np.isfinite(theta).all(axis=(-2, -1))
    sentence = f"SGD ran its {settings.epochs} epochs; it has no criterion of convergence."
    return {
        "status": np.where(finite, Status.CONVERGED, Status.NOT_FINITE).astype(np.int64),
        "message": np.where(finite, sentence, Status.NOT_FINITE.sentence),
        "iterations": np.full(len(loss), settings.epochs),
        "train_loss": loss,
        "gradient": np.abs(gradient).max(axis=(-2, -1)),
    }


def rate_bound(settings: Settings) -> float:
    """Return sqrt(v p log n / n), p fitted parameters: Proposition 1 with the constant that dimensions suggest."""
    parameters = settings.n_fitted * settings.problem.fitted.atom_size
    return float(np.sqrt(settings.noise_variance * parameters * np.log(settings.n) / settings.n))


LEAST = ("fisher_rank", "pseudo_found", "pseudo_searched")
"""Of these the truth with the lowest value counts for the cell; of every other count or certificate the highest."""


def _join(
    settings: Settings, targets: Sequence[Target], parts: Sequence[xr.Dataset], replicates: Sequence[int]
) -> xr.Dataset:
    """Put the replicates of several truths together, in the order asked for, with ``truth``, the number of each.

    What belongs to a truth, and so was no property of a replicate, is taken over all truths of the cell whichever
    replicates are asked for: the geometric mean of a Fisher line, the worst number of a certificate.
    """
    own = [part.drop_vars([name for name in part.data_vars if "replicate" not in part[name].dims]) for part in parts]
    dataset = xr.concat(own, dim="replicate", join="outer", combine_attrs="drop").sel(replicate=list(replicates))
    dataset["truth"] = ("replicate", np.asarray(replicates, dtype=np.int64) % settings.truths)
    lines = [target.lines(settings.n) for target in targets]
    for name in lines[0]:
        values = np.array([line[name] for line in lines])
        if name.startswith("fisher_") and name not in ("fisher_rank", "fisher_nullity"):
            dataset[name] = float(np.exp(np.mean(np.log(values))))
        else:
            dataset[name] = float(values.min() if name in LEAST else values.max())
    dataset["bound_rmse"] = parts[0]["bound_rmse"]
    first = targets[0]
    if first.fisher_at_one:
        dataset.attrs["fisher"] = f"Geometric mean over the truths. {first.fisher_meaning}"
    nearest = (
        "Losses are taken to the nearest of the pseudo-truths of the replicate's own truth, its population minima "
        "within 1 % of the best."
    )
    each = f"Each of {settings.truths} truths has every {settings.truths}th replicate."
    dataset.attrs["target"] = f"{each} {nearest if first.is_pseudo else first.description}"
    dataset.attrs["start_policy"] = regression_starts.policy(settings, first)
    return dataset
