"""What a regression fit is scored against: the truth, the list of pseudo-truths, and the Fisher line.

When the fitted model does not contain the truth, the target is a list of population least-squares minima
(sigmoid-attention, equation (12): the infimum is over all minimisers that were found). When it contains the truth, the
infimum is over the continua of its representations with N atoms (:mod:`moestat.losses.minimisers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from moestat.arrays import Device
from moestat.cache import cached
from moestat.losses.fisher import fisher_line
from moestat.losses.sandwich import sandwich_line
from moestat.models import truths
from moestat.sentences import counted
from studies.sigmoid_attention.parts.regression_problem import Problem, embed
from studies.sigmoid_attention.parts.regression_pseudo_truths import (
    CERTIFICATE,
    SEARCH_VERSION,
    SEARCHED,
    compute_pseudo_truths,
    prerequisite,
)

FISHER_VERSION = 1
SANDWICH_VERSION = 1  # of cached lines: to be raised when their numbers change


@dataclass(frozen=True)
class Target:
    """What the fits of a problem are scored against, and where they start.

    ``measures`` (K, M, P): the truth (K = 1, M = N*) or the pseudo-truths (K kept minima, M = N), in the fitted model's
    coordinates. ``minimisers`` (K, N, P): population minimisers with N atoms: the pseudo-truths, best first, or the
    truth with one atom split in equal parts, for each atom in turn, the last one first. Fits start near them. L3 and L5
    are infima over the pseudo-truths, or over all representations of the truth with N atoms, of which these are some.
    ``fisher_at_one``: asymptotic errors at n = 1, which fall like n^(-1/2): of the oracle with N* atoms, or, for
    pseudo-truths, of least squares beside the best of them (the sandwich covariance). ``certificate``: for
    pseudo-truths what is known about the best: ``rmse``, ``fresh_rmse``, ``gradient``, ``decrement``, ``box_hits``,
    and, after a global search, ``found``, ``distinct``, ``searched``, ``lower_left``. ``gaussian_noise``: whether the
    noise is normal, so that no regular estimator can be expected to beat least squares.
    """

    truth: np.ndarray  # (N*, P): the truth, in the coordinates of the true model
    measures: np.ndarray
    minimisers: np.ndarray
    is_pseudo: bool  # whether ``measures`` are pseudo-truths
    rmse: np.ndarray  # (K,): distance ||f_G - f*|| of each measure; zero for the truth
    fisher_at_one: Mapping[str, float]
    certificate: Mapping[str, float] = field(default_factory=dict)
    gaussian_noise: bool = True

    @property
    def description(self) -> str:
        """The target in one sentence."""
        if not self.is_pseudo:
            return (
                "Losses are taken to the truth; L3 and L5 are infima over its forms with N atoms, superfluous ones "
                "split off in any proportion or vanished."
            )
        text = (
            f"Losses are taken to the nearest of {counted(len(self.measures), 'pseudo-truth')}, the population minima "
            f"within 1 % of the best (||f_G - f*|| = {self.rmse[0]:.4g})."
        )
        if not self.certificate.get("searched"):
            return text
        return (
            f"{text} The best was reached from {self.certificate['found']:.0f} of {self.certificate['searched']:.0f} "
            f"starts, among {self.certificate['distinct']:.0f} different minima."
        )

    @property
    def fisher_meaning(self) -> str:
        """What the Fisher line is, in one sentence."""
        if self.is_pseudo:
            return (
                "Asymptotic error of least squares beside the best pseudo-truth (sandwich covariance); it is no bound "
                "for other estimators."
            )
        text = "Asymptotic error of least squares with the true number of experts; "
        if not self.gaussian_noise:
            return text + "for noise that is not normal it is no bound for other estimators."
        return text + "no regular estimator can be expected far below it in large samples."

    def lines(self, n: int) -> dict[str, float]:
        """Return the Fisher line at sample size n, with the rank and nullity of its matrix, and the certificate."""
        counts = ("rank", "nullity")
        fisher = {f"fisher_{name}": v if name in counts else v / np.sqrt(n) for name, v in self.fisher_at_one.items()}
        return fisher | {f"pseudo_{name}": number for name, number in self.certificate.items()}


@lru_cache(maxsize=16)
def target_of(problem: Problem, study_seed: int, *, device: Device = "cpu") -> Target:
    """Return the target of a problem; pseudo-truths and the Fisher line come from the cache where they can."""
    truth = problem.true_parameters(study_seed)
    gaussian = not problem.law_of_noise
    needed = prerequisite(problem, study_seed)
    if needed is None:
        own = embed(truth, problem.truth, problem.fitted)
        fisher = compute_fisher(problem, study_seed)
        splits = _splits(problem, own)
        return Target(truth, own[None], splits, False, np.zeros(1), fisher, gaussian_noise=gaussian)
    pseudo = compute_pseudo_truths(needed, device=device)
    certificate = {name: float(pseudo[f"best_{name}"]) for name in CERTIFICATE + SEARCHED if f"best_{name}" in pseudo}
    sandwich = compute_sandwich(problem, needed, truth, pseudo["theta"][0])
    return Target(truth, pseudo["theta"], pseudo["theta"], True, pseudo["rmse"], sandwich, certificate, gaussian)


def _splits(problem: Problem, truth: np.ndarray) -> np.ndarray:
    """Represent the truth with N atoms in the N* ways that split one atom, the last atom's split first."""
    if problem.n_fitted == problem.n_true:
        return truth[None]
    orders = [np.roll(np.arange(len(truth)), k) for k in range(len(truth))]
    return np.stack([truths.split(problem.fitted, truth[order], problem.n_fitted) for order in orders])


def compute_fisher(problem: Problem, study_seed: int) -> dict[str, float]:
    """Return the asymptotic errors of the oracle at n = 1, from the cache or computed now."""
    if problem.noise_variance == 0:
        return {}
    identity = {
        "data": problem.data_identity,
        "noise_variance": problem.noise_variance,
        "seed": study_seed,
        "points_log2": problem.fisher_log2,
        "code": FISHER_VERSION,
        **problem.own,
    }

    def compute() -> dict[str, np.ndarray]:
        truth, points = problem.true_parameters(study_seed), problem.evaluation_points(problem.fisher_log2)
        line = fisher_line(problem.truth, truth, points, problem.noise_variance)
        values = {name: line.at_one[name] for name in ("L1", "L3", "matched_sum", "rmse") if name in line.at_one}
        return {name: np.asarray(v) for name, v in (values | {"rank": line.rank, "nullity": line.nullity}).items()}

    return {name: float(value) for name, value in cached("fisher", identity, compute).items()}


def compute_sandwich(
    problem: Problem, needed: Mapping[str, Any], truth: np.ndarray, pseudo_truth: np.ndarray
) -> dict[str, float]:
    """Return the asymptotic errors of least squares beside a pseudo-truth at n = 1, from the cache or computed now."""
    if problem.noise_variance == 0:
        return {}
    identity = {
        "pseudo-truth": dict(needed),
        "search code": SEARCH_VERSION,
        "noise_variance": problem.noise_variance,
        "points_log2": problem.fisher_log2,
        "code": SANDWICH_VERSION,
    }

    def compute() -> dict[str, np.ndarray]:
        points = problem.evaluation_points(problem.fisher_log2)
        values = problem.truth.predict(truth, points)
        line = sandwich_line(problem.fitted, pseudo_truth, points, values, problem.noise_variance, box=problem.box)
        names = ("L1", "L3", "matched_sum", "rmse_pseudo")
        errors = {name: line.at_one[name] for name in names} | {"rank": line.rank, "nullity": line.nullity}
        return {name: np.asarray(v) for name, v in errors.items()}

    return {name: float(value) for name, value in cached("sandwich", identity, compute).items()}
