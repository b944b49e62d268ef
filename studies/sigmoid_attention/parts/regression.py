"""Convergence rates of regression mixtures of experts (sigmoid-attention, sections 3, 4 and 5.1).

One cell fits one gate to data of one truth at one sample size, by one estimator, and measures how far the fitted
mixing measure is from its target: the truth, or the list of pseudo-truths when the fitted model does not contain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import xarray as xr

from moestat.arrays import Device, backend, to_numpy
from moestat.experiment import Cell
from moestat.fit.global_search import Search
from moestat.fit.gradient import perturb, sgd
from moestat.fit.newton import Fit, least_squares
from moestat.models import truths
from moestat.models.regression import Model
from moestat.sentences import counted
from moestat.status import Status
from studies.sigmoid_attention.parts import regression_search
from studies.sigmoid_attention.parts.regression_laws import law_of_noise, law_of_x
from studies.sigmoid_attention.parts.regression_problem import Problem, embed
from studies.sigmoid_attention.parts.regression_pseudo_truths import compute_pseudo_truths, near_truth, prerequisite
from studies.sigmoid_attention.parts.regression_scores import score, score_L3
from studies.sigmoid_attention.parts.regression_settings import Settings
from studies.sigmoid_attention.parts.regression_targets import Target, target_of

VERSION = 1

DEVICES = ("cpu", "cuda")
_FIT = tuple(field.name for field in fields(Fit))


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
    return fitted(cell, Settings(**cell.settings), replicates, device=device)


def fitted(cell: Cell, settings: Settings, replicates: Sequence[int], *, device: Device) -> xr.Dataset:
    """Fit and score the replicates of a cell whose settings are read."""
    if settings.truths == 1:
        return _run(cell, settings, settings.problem, replicates, device)
    by_truth = [[r for r in replicates if r % settings.truths == draw] for draw in range(settings.truths)]
    parts = [_run(cell, settings, settings.problem_of(draw), own, device) for draw, own in enumerate(by_truth) if own]
    targets = [target_of(settings.problem_of(draw), cell.study_seed, device=device) for draw in range(settings.truths)]
    joined = join(settings, targets, parts, replicates)
    joined.attrs["start_policy"] = start_policy(settings, targets[0])
    return joined


def _run(cell: Cell, settings: Settings, problem: Problem, replicates: Sequence[int], device: Device) -> xr.Dataset:
    """Fit and score replicates that have one truth."""
    target = target_of(problem, cell.study_seed, device=device)
    x, y = _draw(cell, settings, problem, target, replicates)
    starts = _starts(cell, settings, problem, target, replicates)
    xp = backend(device)
    x, y, starts = (xp.asarray(a) for a in (x, y, starts))

    searches: list[Search] = []
    if settings.estimator == "least_squares" and settings.search == "global":
        searches = regression_search.search(
            cell,
            problem,
            target,
            replicates,
            x,
            y,
            to_numpy(starts),
            n=settings.n,
            effort=settings.search_effort,
            max_iterations=settings.max_iterations,
            precision=settings.precision,
        )
        theta = np.concatenate([one.fit.theta for one in searches])
        diagnostics = _diagnostics(Fit(**{f: np.concatenate([getattr(one.fit, f) for one in searches]) for f in _FIT}))
        diagnostics |= regression_search.record(
            searches, settings.noise_variance, settings.search_effort, starts.shape[1]
        )
        diagnostics |= regression_search.bands(problem, target, searches, settings.n, settings.evaluation_log2)
        chosen = to_numpy(starts)[:, 0]
    elif settings.estimator == "least_squares":
        fit = least_squares(
            problem.fitted,
            x,
            y,
            starts,
            box=settings.box,
            max_iterations=settings.max_iterations,
            precision=settings.precision,
        )
        theta, diagnostics = to_numpy(fit.theta), _diagnostics(fit)
        chosen = to_numpy(starts)[np.arange(len(replicates)), to_numpy(fit.start)]
    else:
        order = [_order(cell, settings, r) for r in replicates]
        batch = settings.batch_size or settings.n
        fitted = sgd(
            problem.fitted,
            x,
            y,
            starts,
            epochs=settings.epochs,
            step=settings.step,
            batch_size=min(batch, settings.n),
            order=order,
        )
        theta, chosen = to_numpy(fitted)[:, 0], to_numpy(starts)[:, 0]
        diagnostics = _sgd_diagnostics(problem.fitted, theta, to_numpy(x), to_numpy(y), settings)

    variables: dict[str, tuple] = {}
    brief = settings.scores == "L3"
    losses = score_L3 if brief else score
    scored_ends = {"": theta} if brief else {"": theta, "start_": chosen}
    for prefix, parameters in scored_ends.items():
        scored = losses(problem, target, parameters, settings.evaluation_log2)
        variables |= {prefix + name: ("replicate", values) for name, values in scored.items()}
    if brief:
        variables["moved"] = ("replicate", np.linalg.norm((theta - chosen).reshape(len(theta), -1), axis=1))
        line = target.lines(settings.n).get("fisher_L3", np.nan)
        variables["line_L3"] = ("replicate", np.full(len(theta), line))
    residual = y - problem.truth.predict(xp.asarray(target.truth), x)
    variables["truth_loss"] = ("replicate", to_numpy(0.5 * xp.mean(residual**2, axis=-1)))
    variables |= diagnostics
    variables["theta"] = (("replicate", "atom", "coordinate"), theta)
    dataset = xr.Dataset(variables, coords={"replicate": np.asarray(replicates, dtype=np.int64)})
    for name, value in target.lines(settings.n).items():
        dataset[name] = value
    dataset["bound_rmse"] = rate_bound(settings)
    dataset["bound_rmse"].attrs["long_name"] = "sqrt(v p log n / n)"
    dataset.attrs |= {"target": target.description, "start_policy": start_policy(settings, target)}
    if target.fisher_at_one:
        dataset.attrs["fisher"] = target.fisher_meaning
    return dataset


def rate_bound(settings: Settings) -> float:
    """Return sqrt(v p log n / n), p fitted parameters: Proposition 1 with the constant that dimensions suggest."""
    parameters = settings.n_fitted * settings.problem.fitted.atom_size
    return float(np.sqrt(settings.noise_variance * parameters * np.log(settings.n) / settings.n))


def start_policy(settings: Settings, target: Target) -> str:
    """Say in one sentence where the optimiser starts."""
    if settings.estimator == "sgd":
        falls = f" n^{settings.radius_exponent:g}" if settings.radius_exponent else ""
        beside = target.is_pseudo and settings.start_at == "target"
        truth = "the truth" if settings.start_at == "target" else "the truth's parameters"
        place = "the best pseudo-truth" if beside else truth
        copied = ", one atom copied" if settings.superfluous == "copy" and not beside else ""
        return f"SGD starts near {place}{copied}, standard deviation per coordinate {settings.radius_scale:g}{falls}."
    place = "the pseudo-truth" if target.is_pseudo else "the truth"
    text = f"{counted(min(settings.starts, len(target.minimisers)), 'start')} near {place}"
    text += f", radius {settings.start_radius:g}"
    if settings.random_starts:
        text += f", and {counted(settings.random_starts, 'random start')}"
    if settings.search == "global":
        text += f", and a global search around them (effort {settings.search_effort:g})"
    return f"Least squares: {text}; the best end point counts; box |theta| <= {settings.box:g}."


def _draw(
    cell: Cell, settings: Settings, problem: Problem, target: Target, replicates: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the data; cells with the same truth and size share them, whatever is fitted."""
    drawn = [
        truths.sample(
            problem.truth,
            target.truth,
            settings.n,
            settings.noise_variance,
            cell.generator(r, "data", **problem.data_identity, n=settings.n),
            law_of_x=law_of_x(settings.law_of_x, settings.d),
            law_of_noise=law_of_noise(settings.law_of_noise),
        )
        for r in replicates
    ]
    return np.stack([x for x, _ in drawn]), np.stack([y for _, y in drawn])


def _starts(cell: Cell, settings: Settings, problem: Problem, target: Target, replicates: Sequence[int]) -> np.ndarray:
    """Start values (replicate, start, N, P) by the declared policy."""
    near = target.minimisers[: settings.starts]
    if settings.estimator == "sgd":
        radius = float(settings.radius_scale * float(settings.n) ** settings.radius_exponent)
    else:
        radius = settings.start_radius
    out = []
    for r in replicates:
        rng = cell.generator(r, "start", **problem.data_identity, n=settings.n)
        if settings.estimator == "sgd":
            near = _near(settings, problem, target, r)[None]
        # one direction for all radii and estimators: arms that differ in the radius only are paired
        starts = [perturb(point, radius, rng) for point in near]
        if settings.estimator == "least_squares" and settings.random_starts:
            rng = cell.generator(r, "random start", **problem.data_identity, n=settings.n)
            starts += [
                truths.ground_truth(problem.fitted, settings.n_fitted, "dense", rng)
                for _ in range(settings.random_starts)
            ]
        out.append(np.stack(starts))
    all_starts = np.stack(out)
    if settings.estimator == "sgd":
        return all_starts
    return np.clip(all_starts, -settings.box, settings.box)


def _near(settings: Settings, problem: Problem, target: Target, replicate: int) -> np.ndarray:
    """Return where SGD starts, (N, P), before it is perturbed: "near their ground-truth values" (App. E.1.2).

    Which atom is copied is not printed: it is another one in each truth, and in each further data set of a truth.
    """
    if target.is_pseudo and settings.start_at == "target":
        return target.minimisers[0]
    if settings.superfluous == "copy":
        atoms = embed(target.truth, problem.truth, problem.fitted)
        first = replicate % settings.truths + replicate // settings.truths
        copied = (first + np.arange(problem.n_fitted - problem.n_true)) % problem.n_true
        return np.concatenate([atoms, atoms[copied]])
    if target.is_pseudo:
        return near_truth(problem.truth, target.truth, problem.fitted, problem.n_fitted)
    return target.minimisers[0]


def _order(cell: Cell, settings: Settings, replicate: int) -> np.ndarray:
    """The order of the samples in every epoch, (epochs, n)."""
    if settings.batch_size in (0, settings.n):
        return np.empty(0)  # all samples at once have no order
    rng = cell.generator(replicate, "order", n=settings.n)
    order = [rng.permutation(settings.n) for _ in range(settings.epochs)]
    return np.asarray(order, dtype=np.int64).reshape(settings.epochs, settings.n)


def _diagnostics(fit: Fit) -> dict[str, tuple]:
    names = ("status", "iterations", "loss", "gradient", "decrement", "min_eigenvalue", "box_hits", "start")
    rename = {"loss": "train_loss", "start": "start_index"}
    out: dict[str, tuple] = {rename.get(name, name): ("replicate", to_numpy(getattr(fit, name))) for name in names}
    out["message"] = ("replicate", np.asarray(fit.message()))
    return out


def _sgd_diagnostics(
    model: Model, theta: np.ndarray, x: np.ndarray, y: np.ndarray, settings: Settings
) -> dict[str, tuple]:
    """SGD has no stopping criterion: it is done when its epochs are, unless it left the real numbers."""
    loss, gradient = model.gradient(theta, x, y)
    finite = np.isfinite(loss) & np.isfinite(theta).all(axis=(-2, -1))
    status = np.where(finite, Status.CONVERGED, Status.NOT_FINITE).astype(np.int64)
    sentence = f"SGD ran its {settings.epochs} epochs; it has no criterion of convergence."
    message = np.where(finite, sentence, Status.NOT_FINITE.sentence)
    return {
        "status": ("replicate", status),
        "message": ("replicate", message),
        "iterations": ("replicate", np.full(len(loss), settings.epochs)),
        "train_loss": ("replicate", loss),
        "gradient": ("replicate", np.abs(gradient).max(axis=(-2, -1))),
    }


LEAST = ("fisher_rank", "pseudo_found", "pseudo_searched")
"""Of these the truth with the lowest value counts for the cell; of every other count or certificate the highest."""


def join(
    settings: Settings, targets: Sequence[Target], parts: Sequence[xr.Dataset], replicates: Sequence[int]
) -> xr.Dataset:
    """Put the replicates of several truths together, in the order asked for.

    ``settings``: of the cell; ``truths`` is above 1. ``targets``: one for every truth of the cell. ``parts``: the
    replicates of every truth that any of them has, from ``regression.run``.

    As ``regression.run``, with ``truth`` (the number of each replicate's truth). What belongs to a truth, and so was no
    property of a replicate, is taken over all truths of the cell whichever replicates are asked for: the geometric mean
    of a Fisher line, the worst number of a certificate.
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
    if targets[0].fisher_at_one:
        dataset.attrs["fisher"] = f"Geometric mean over the truths. {targets[0].fisher_meaning}"
    dataset.attrs["target"] = (
        f"Each of {settings.truths} truths has every {settings.truths}th replicate. {targets[0].description}"
        if not targets[0].is_pseudo
        else f"Each of {settings.truths} truths has every {settings.truths}th replicate. Losses are taken to the "
        "nearest of the pseudo-truths of the replicate's own truth, its population minima within 1 % of the best."
    )
    return dataset
