"""The data of a regression cell, and where its estimators start: draws that arms with one truth share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moestat.experiment import Cell
from moestat.fit.gradient import perturb
from moestat.models import truths
from moestat.sentences import counted
from studies.sigmoid_attention.parts.regression_laws import law_of_noise, law_of_x
from studies.sigmoid_attention.parts.regression_problem import Problem, embed
from studies.sigmoid_attention.parts.regression_pseudo_truths import near_truth
from studies.sigmoid_attention.parts.regression_settings import Settings
from studies.sigmoid_attention.parts.regression_targets import Target


def data(
    cell: Cell, settings: Settings, problem: Problem, target: Target, replicates: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Draw x (R, n, d) and y (R, n); cells with the same truth and size share them, whatever is fitted."""
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


def starts(cell: Cell, settings: Settings, problem: Problem, target: Target, replicates: Sequence[int]) -> np.ndarray:
    """Return start values (replicate, start, N, P) by the declared policy.

    One direction for all radii and estimators: arms that differ in the radius only are paired.
    """
    out = []
    for r in replicates:
        rng = cell.generator(r, "start", **problem.data_identity, n=settings.n)
        if settings.estimator == "sgd":
            radius = float(settings.radius_scale * float(settings.n) ** settings.radius_exponent)
            out.append(perturb(_near(settings, problem, target, r), radius, rng)[None])
        else:
            near = [perturb(point, settings.start_radius, rng) for point in target.minimisers[: settings.starts]]
            out.append(np.clip(np.stack(near), -settings.box, settings.box))
    return np.stack(out)


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


def order(cell: Cell, settings: Settings, replicate: int) -> np.ndarray:
    """Return the order of the samples in every epoch of SGD, (epochs, n); of all samples at once there is none."""
    if settings.batch_size in (0, settings.n):
        return np.empty(0)
    rng = cell.generator(replicate, "order", n=settings.n)
    permutations = [rng.permutation(settings.n) for _ in range(settings.epochs)]
    return np.asarray(permutations, dtype=np.int64).reshape(settings.epochs, settings.n)


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
