"""Convergence rates of regression mixtures of experts (sigmoid-attention, sections 3, 4 and 5.1).

One cell fits one gate to data of one truth at one sample size, by one estimator, and measures how far the fitted mixing
measure is from its target: the truth, or the list of pseudo-truths when the fitted model does not contain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import xarray as xr

from moestat import own, streams
from moestat.arrays import Array, Device, backend, to_numpy
from moestat.experiment import Cell
from moestat.fit.global_search import Budget, Search, global_search
from moestat.fit.gradient import on_all_samples, perturb, sgd
from moestat.fit.newton import Fit, least_squares
from moestat.fit.rates import Fits
from moestat.models import truths
from moestat.models.regression import Model
from moestat.sentences import counted
from moestat.status import Status
from studies.sigmoid_attention.parts.regression_problem import Problem, Settings, embed, law_of_noise, law_of_x
from studies.sigmoid_attention.parts.regression_scores import score, score_L3, worst
from studies.sigmoid_attention.parts.regression_targets import (
    Target,
    compute_pseudo_truths,
    near_truth,
    prerequisite,
    target_of,
)

VERSION = 1

DEVICES = ("cpu", "cuda")
SHARED = 2**20
"""Numbers of the largest x that is kept for the next arm."""


def prerequisites(cell: Cell) -> list[dict]:
    """Return the lists of pseudo-truths that this cell is scored against, if its model does not contain the truth."""
    settings = Settings(**cell.settings)
    wanted = [prerequisite(settings.problem_of(draw), cell.study_seed) for draw in range(settings.truths)]
    return [one for one in wanted if one is not None]


def prepare(prerequisite: dict, *, device: Device) -> None:
    """Compute a list of pseudo-truths and leave it in the cache."""
    compute_pseudo_truths(prerequisite, device=device)


def fits(cell: Cell, replicates: Sequence[int]) -> list[Fits]:
    """Return the least-squares fits that a block makes at once.

    There are none of other estimators, and none of a user's own gate or expert, for which a GPU has no kernels.
    """
    s = Settings(**cell.settings)
    if s.estimator == "sgd" or s.search == "global" or own.is_path(s.fitted_gate) or own.is_path(s.expert):
        return []
    return [Fits(len(replicates) * s.starts, s.n, s.n_fitted * s.problem.fitted.atom_size)] if replicates else []


def run(cell: Cell, replicates: Sequence[int], *, device: Device = "cpu") -> xr.Dataset:
    """Fit and score the replicates of one cell.

    Losses (:func:`~.regression_scores.score`), the same at the start (``start_L1`` ...), solver diagnostics, the fitted
    parameters ``theta`` (replicate, atom, coordinate), and without replicate the Fisher line (``fisher_*``), the bound
    of the function error (``bound_rmse``) and the certificate of the pseudo-truth (``pseudo_*``). With ``scores =
    "L3"`` there are the losses of :func:`~.regression_scores.score_L3` at the end alone, ``moved``, the distance from
    start to end, and ``line_L3``, the Fisher line of the own truth. After a global search also its record
    (``search_*``) and :func:`~.regression_scores.worst`; the start is then the first local one.
    """
    settings = Settings(**cell.settings)
    batches = [
        Batch.of(cell, settings, draw, [r for r in replicates if r % settings.truths == draw], device)
        for draw in range(settings.truths)
    ]
    there = [batch for batch in batches if batch.replicates]
    # least squares fits all of a block at once, which keeps a GPU busy; the others take one truth after the other
    local = settings.estimator != "sgd" and settings.search != "global"
    groups = [there] if local else [[batch] for batch in there]
    parts = [part for group in groups for part in _fitted_and_scored(group, device)]
    place = {r: k for k, r in enumerate(r for batch in there for r in batch.replicates)}
    order = [place[r] for r in replicates]
    variables = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}
    return _dataset(settings, [batch.target for batch in batches], variables, replicates)


@dataclass(frozen=True)
class Batch:
    """Replicates of a cell that have one truth, and are fitted together."""

    cell: Cell
    settings: Settings
    problem: Problem
    target: Target
    replicates: Sequence[int]

    @classmethod
    def of(cls, cell: Cell, settings: Settings, draw: int, replicates: Sequence[int], device: Device = "cpu") -> Batch:
        """Return the replicates of a cell that have the truth number ``draw``."""
        problem = settings.problem_of(draw)
        return cls(cell, settings, problem, target_of(problem, cell.study_seed, device=device), replicates)

    def stream(self, replicate: int, purpose: str) -> np.random.Generator:
        """Return a stream that is named by what defines the data: cells with one truth and size share it."""
        return self.cell.generator(replicate, purpose, **self.problem.data_identity, n=self.settings.n)

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Draw x (R, n, d) and y (R, n); cells with the same truth and size share them, whatever is fitted."""
        x, y, _ = self.draws()
        return x, y

    def draws(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what :meth:`data` does, and f*(x) (R, n)."""
        s, truth = self.settings, self.problem.truth
        shared = replace(self.problem, fitted=truth, n_fitted=self.problem.n_true)
        draw = _drawn if s.n * s.d <= SHARED else _drawn.__wrapped__
        x, y, values = zip(*(draw(shared, self.cell.study_seed, s.n, r) for r in self.replicates), strict=True)
        return np.stack(x), np.stack(y), np.stack(values)

    def starts(self) -> np.ndarray:
        """Return start values (replicate, start, N, P) by the declared policy.

        One direction for all radii and estimators: arms that differ in the radius only are paired.
        """
        s, out = self.settings, []
        for r in self.replicates:
            rng = self.stream(r, "start")
            if s.estimator == "sgd":
                radius = float(s.radius_scale * float(s.n) ** s.radius_exponent)
                out.append(perturb(self._near(r), radius, rng)[None])
            else:
                near = [perturb(point, s.start_radius, rng) for point in self.target.minimisers[: s.starts]]
                out.append(np.clip(np.stack(near), -s.box, s.box))
        return np.stack(out)

    def _near(self, replicate: int) -> np.ndarray:
        """Return where SGD starts, (N, P), before it is perturbed: "near their ground-truth values" (App. E.1.2).

        Which atom is copied is not printed: it is another one in each truth, and in each further data set of a truth.
        """
        s, problem, target = self.settings, self.problem, self.target
        at_target = target.is_pseudo and s.start_at == "target"
        if s.superfluous == "copy" and not at_target:
            atoms = embed(target.truth, problem.truth, problem.fitted)
            first = replicate % s.truths + replicate // s.truths
            copied = (first + np.arange(problem.n_fitted - problem.n_true)) % problem.n_true
            return np.concatenate([atoms, atoms[copied]])
        if target.is_pseudo and not at_target:
            return near_truth(problem.truth, target.truth, problem.fitted, problem.n_fitted)
        return target.minimisers[0]

    def order(self, replicate: int) -> np.ndarray:
        """Return the order of the samples in every epoch of SGD, (epochs, n); of all samples at once there is none."""
        s = self.settings
        if s.batch_size in (0, s.n):
            return np.empty(0)
        rng = self.cell.generator(replicate, "order", n=s.n)
        return np.array([rng.permutation(s.n) for _ in range(s.epochs)], dtype=np.int64).reshape(s.epochs, s.n)


@lru_cache(maxsize=8)
def _drawn(problem: Problem, study_seed: int, n: int, replicate: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw x (n, d), y (n,) and f*(x) (n,) of a replicate; the arms that share them follow each other."""
    values = np.empty(0)

    def truth(x: np.ndarray) -> np.ndarray:
        nonlocal values
        values = problem.truth.predict(problem.true_parameters(study_seed), x)
        return values

    rng = streams.generator(study_seed, streams.key(**problem.data_identity, n=n), replicate, "data")
    laws: dict[str, Any] = dict(law_of_x=law_of_x(problem.law_of_x, problem.truth.d))
    laws["law_of_noise"] = law_of_noise(problem.law_of_noise)
    x, y = truths.sample(problem.truth, truth, n, problem.noise_variance, rng, **laws)
    return x, y, values


def _fitted_and_scored(batches: Sequence[Batch], device: Device) -> list[dict[str, np.ndarray]]:
    """Fit replicates of some truths, and score them; the variables for each truth, replicates first."""
    xp = backend(device)
    drawn = [(*batch.draws(), batch.starts()) for batch in batches]
    most = max(starts.shape[1] for *_, starts in drawn)
    # a truth with fewer starts has its first one several times: the first of equal ends counts
    even = [(*data, starts[:, [*range(starts.shape[1]), *[0] * (most - starts.shape[1])]]) for *data, starts in drawn]
    x, y, values, starts = (xp.asarray(np.concatenate(part)) for part in zip(*even, strict=True))
    theta, start, variables = _fitted(batches[0], x, y, starts)
    variables |= {"theta": theta, "start": start, "truth_loss": to_numpy(0.5 * xp.mean((y - values) ** 2, axis=-1))}
    ends = np.cumsum([len(batch.replicates) for batch in batches])
    rows = [slice(end - len(batch.replicates), end) for batch, end in zip(batches, ends.tolist(), strict=True)]
    return [_scored(batch, {k: v[own] for k, v in variables.items()}) for batch, own in zip(batches, rows, strict=True)]


def _scored(batch: Batch, variables: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the variables of replicates of one truth with their losses, in the place of where they started."""
    settings, problem, target = batch.settings, batch.problem, batch.target
    theta, start = variables["theta"], variables.pop("start")
    if settings.scores == "L3":
        variables |= score_L3(problem, target, theta, settings.evaluation_log2)
        variables["moved"] = np.linalg.norm((theta - start).reshape(len(theta), -1), axis=1)
        variables["line_L3"] = np.full(len(theta), target.lines(settings.n).get("fisher_L3", np.nan))
        return variables
    for prefix, at in {"": theta, "start_": start}.items():
        losses = score(problem, target, at, settings.evaluation_log2)
        variables |= {prefix + name: values for name, values in losses.items()}
    return variables


def _dataset(
    settings: Settings, targets: Sequence[Target], variables: dict[str, np.ndarray], replicates: Sequence[int]
) -> xr.Dataset:
    """Put together what was computed of the replicates, and what belongs to the truths of their cell.

    Of several truths the latter is taken over all of the cell, whichever replicates are asked for: the geometric mean
    of a Fisher line, the worst number of a certificate; and ``truth`` is the number of each replicate's own.
    """
    first, several = targets[0], settings.truths > 1
    if several:
        variables["truth"] = np.asarray(replicates, dtype=np.int64) % settings.truths
    of_cell: dict[str, float] = {}
    lines = [target.lines(settings.n) for target in targets]
    for name in lines[0]:
        values = np.array([line[name] for line in lines])
        if not several:
            of_cell[name] = lines[0][name]
        elif name.startswith("fisher_") and name not in ("fisher_rank", "fisher_nullity"):
            of_cell[name] = float(np.exp(np.mean(np.log(values))))
        else:
            of_cell[name] = float(values.min() if name in LEAST else values.max())
    # Proposition 1 with the constant that dimensions suggest, of p fitted parameters
    size, n = settings.n_fitted * settings.problem.fitted.atom_size, settings.n
    bound = xr.Variable((), float(np.sqrt(settings.noise_variance * size * np.log(n) / n)))
    bound.attrs["long_name"] = "sqrt(v p log n / n)"
    dims = {"theta": ("replicate", "atom", "coordinate")}
    dataset = xr.Dataset(
        {name: (dims.get(name, ("replicate",)), value) for name, value in variables.items()}
        | {name: ((), value) for name, value in of_cell.items()}
        | {"bound_rmse": bound},
        coords={"replicate": np.asarray(replicates, dtype=np.int64)},
    )
    dataset.attrs |= {"target": first.description, "start_policy": policy(settings, first)}
    if first.fisher_at_one:
        dataset.attrs["fisher"] = f"{'Geometric mean over the truths. ' * several}{first.fisher_meaning}"
    if several:
        nearest = "Losses are taken to the nearest of the pseudo-truths of the replicate's own truth, its population "
        nearest += "minima within 1 % of the best."
        each = f"Each of {settings.truths} truths has every {settings.truths}th replicate."
        dataset.attrs["target"] = f"{each} {nearest if first.is_pseudo else first.description}"
    return dataset


def policy(settings: Settings, target: Target) -> str:
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
    if settings.search == "global":
        text += f", and a global search around them (effort {settings.search_effort:g})"
    return f"Least squares: {text}; the best end point counts; box |theta| <= {settings.box:g}."


def _fitted(batch: Batch, x: Array, y: Array, starts: Array) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return the fits and where they started, (R, N, P) each, and what is known of the fits."""
    s, model, first = batch.settings, batch.problem.fitted, to_numpy(starts)[:, 0]
    if s.estimator == "sgd":
        how: dict[str, Any] = dict(epochs=s.epochs, step=s.step, batch_size=min(s.batch_size or s.n, s.n))
        theta = to_numpy(sgd(model, x, y, starts, order=[batch.order(r) for r in batch.replicates], **how))[:, 0]
        return theta, first, _of_sgd(model, theta, to_numpy(x), to_numpy(y), s)
    if s.search == "global":
        searches = _searched(batch, x, y, to_numpy(starts))
        fit = Fit(**{f.name: np.concatenate([getattr(one.fit, f.name) for one in searches]) for f in fields(Fit)})
        known = _of_least_squares(fit) | _of_search(searches, s.noise_variance)
        return to_numpy(fit.theta), first, known | worst(batch.problem, batch.target, s.n, s.evaluation_log2, searches)
    fit = least_squares(model, x, y, starts, box=s.box, max_iterations=s.max_iterations, precision=s.precision)
    chosen = to_numpy(starts)[np.arange(len(first)), to_numpy(fit.start)]
    return to_numpy(fit.theta), chosen, _of_least_squares(fit)


def _searched(batch: Batch, x: Array, y: Array, starts: np.ndarray) -> list[Search]:
    """Search the fit of every replicate around its local starts, with random numbers named by what defines the data."""
    s, problem, target = batch.settings, batch.problem, batch.target
    more = not target.is_pseudo and problem.n_fitted > problem.n_true
    return [
        global_search(
            problem.fitted,
            x[k, ...],
            y[k, ...],
            local=starts[k],
            known=target.minimisers,
            smaller=truths.split(problem.fitted, target.measures[0], problem.n_fitted - 1)[None] if more else None,
            stream=partial(batch.stream, r),
            box=problem.box,
            budget=Budget().times(s.search_effort),
            max_iterations=s.max_iterations,
            precision=s.precision,
        )
        for k, r in enumerate(batch.replicates)
    ]


def _of_search(searches: Sequence[Search], noise_variance: float) -> dict[str, np.ndarray]:
    """Return what the searches saw, one number for each replicate."""
    unit = noise_variance if noise_variance > 0 else np.nan
    known = {
        "found": [s.found for s in searches],  # independent starts that ended at the best minimum
        "distinct": [s.distinct for s in searches],  # minima
        "ends": [len(s.loss) for s in searches],
        "lower_left": [s.lower_left for s in searches],  # the chance of it
        "agreed": [int(s.agreed) for s in searches],
        "gain": [s.gain / unit for s in searches],  # over the local fit, in the residual sum of squares
        "local_loss": [float(np.min(s.loss[s.end_kind == "local"])) for s in searches],
    }
    return {f"search_{name}": np.asarray(values) for name, values in known.items()}


def _of_least_squares(fit: Fit) -> dict[str, np.ndarray]:
    names = ("status", "iterations", "loss", "gradient", "decrement", "min_eigenvalue", "box_hits", "start")
    rename = {"loss": "train_loss", "start": "start_index"}
    known = {rename.get(name, name): to_numpy(getattr(fit, name)) for name in names}
    return known | {"message": np.asarray(fit.message())}


def _of_sgd(model: Model, theta: np.ndarray, x: np.ndarray, y: np.ndarray, settings: Settings) -> dict[str, np.ndarray]:
    """SGD has no stopping criterion: it is done when its epochs are, unless it left the real numbers."""
    if settings.batch_size in (0, settings.n):  # by the code that made the steps
        loss, gradient = (part[:, 0] for part in on_all_samples(model, theta.shape[1], x, y)(theta[:, None]))
    else:
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


LEAST = ("fisher_rank", "pseudo_found", "pseudo_searched")
"""Of these the truth with the lowest value counts for the cell; of every other count or certificate the highest."""
