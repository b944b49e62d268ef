"""What a regression fit is scored against: the truth, or the list of pseudo-truths, and the Fisher line.

When the fitted model does not contain the truth (another gate, or a score without a part that the truth has), least
squares tends to a population minimum, and the target is the list of those that were found (sigmoid-attention, equation
(12): the infimum is over all minimisers). The list is named by :func:`prerequisite`, a JSON-like dict that says
everything it depends on, and comes from the cache, from the package, or a search. When the model contains the truth,
the infimum is over the continua of its representations with N atoms (:mod:`moestat.losses.minimisers`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from moestat import streams
from moestat.arrays import Device
from moestat.cache import cached
from moestat.fit.certificate import certify
from moestat.fit.global_search import Budget
from moestat.fit.gradient import perturb
from moestat.fit.newton import LADDER, problem_of
from moestat.fit.population import Points, of_cube, pseudo_truths
from moestat.losses.fisher import fisher_line
from moestat.losses.sandwich import sandwich_line
from moestat.models import truths
from moestat.models.regression import Model
from moestat.sentences import counted
from studies.sigmoid_attention.parts.regression_problem import Problem, draw_truth, embed, law_points

SEARCH_RADIUS = 0.05  # standard deviation per coordinate of the starts near the truth in the search for pseudo-truths
SEARCH_VERSION = 1  # of cached pseudo-truths: to be raised when their numbers change
LINE_VERSION = 2  # of cached Fisher and sandwich lines
FOLDER = Path(__file__).parent / "pseudo_truths"
"""Lists that come with the package: those of the paper's own problems, whose search takes minutes."""
VALUE = 1e-6  # largest relative difference of a shipped root mean square from the one computed again
DECREMENT = 1e-6
"""Largest Newton decrement, as a share of the loss: a thousand times the tolerance of the fit, for other machines."""
CERTIFICATE = ("rmse", "fresh_rmse", "gradient", "decrement", "box_hits")
SEARCHED = ("found", "distinct", "searched", "lower_left")


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
            forms = "L3 and L5 are infima over its forms with N atoms"
            return f"Losses are taken to the truth; {forms}, superfluous ones split off in any proportion or vanished."
        nearest = f"the nearest of {counted(len(self.measures), 'pseudo-truth')}, the population minima within 1 % of"
        text = f"Losses are taken to {nearest} the best (||f_G - f*|| = {self.rmse[0]:.4g})."
        if searched := self.certificate.get("searched"):
            text += f" The best was reached from {self.certificate['found']:.0f} of {searched:.0f} starts, "
            text += f"among {self.certificate['distinct']:.0f} different minima."
        return text

    @property
    def fisher_meaning(self) -> str:
        """What the Fisher line is, in one sentence."""
        error, bound = "Asymptotic error of least squares", "it is no bound for other estimators."
        if self.is_pseudo:
            return f"{error} beside the best pseudo-truth (sandwich covariance); {bound}"
        if not self.gaussian_noise:
            return f"{error} with the true number of experts; for noise that is not normal {bound}"
        end = "no regular estimator can be expected far below it in large samples."
        return f"{error} with the true number of experts; {end}"

    def lines(self, n: int) -> dict[str, float]:
        """Return the Fisher line at sample size n, with the rank and nullity of its matrix, and the certificate."""
        counts = ("rank", "nullity")
        fisher = {f"fisher_{name}": v if name in counts else v / np.sqrt(n) for name, v in self.fisher_at_one.items()}
        return fisher | {f"pseudo_{name}": number for name, number in self.certificate.items()}


@lru_cache(maxsize=64)  # arms of both gates and experts with ten truths: to read them again takes as long as to score
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

    def line(points: np.ndarray) -> Any:
        return fisher_line(problem.truth, problem.true_parameters(study_seed), points, problem.noise_variance)

    identity = {"data": problem.data_identity, "seed": study_seed, **problem.own}
    return _line("fisher", problem, identity, ("L1", "L3", "matched_sum", "rmse"), line)


def compute_sandwich(
    problem: Problem, needed: Mapping[str, Any], truth: np.ndarray, pseudo_truth: np.ndarray
) -> dict[str, float]:
    """Return the asymptotic errors of least squares beside a pseudo-truth at n = 1, from the cache or computed now."""

    def line(points: np.ndarray) -> Any:
        values = problem.truth.predict(truth, points)
        return sandwich_line(problem.fitted, pseudo_truth, points, values, problem.noise_variance, box=problem.box)

    identity = {"pseudo-truth": dict(needed), "search code": SEARCH_VERSION}
    return _line("sandwich", problem, identity, ("L1", "L3", "matched_sum", "rmse_pseudo"), line)


def _line(
    kind: str, problem: Problem, identity: dict[str, Any], names: tuple[str, ...], line: Callable[[np.ndarray], Any]
) -> dict[str, float]:
    if problem.noise_variance == 0:
        return {}

    def compute() -> dict[str, np.ndarray]:
        found = line(problem.evaluation_points(problem.fisher_log2))
        errors = {name: found.at_one[name] for name in names if name in found.at_one}
        return {n: np.asarray(v) for n, v in (errors | {"rank": found.rank, "nullity": found.nullity}).items()}

    identity |= {"noise_variance": problem.noise_variance, "points_log2": problem.fisher_log2, "code": LINE_VERSION}
    return {name: float(value) for name, value in cached(kind, identity, compute).items()}


def prerequisite(problem: Problem, study_seed: int) -> dict | None:
    """Return the identity of the pseudo-truth list that a problem needs, or None."""
    if problem.contains_truth:
        return None
    identity = {
        "data": problem.data_identity,
        "gate": problem.fitted.gate,
        "score": problem.fitted.score,
        "n_fitted": problem.n_fitted,
        "box": problem.box,
        "points_log2": problem.pseudo_points_log2,
        "polish_log2": problem.pseudo_polish_log2,
        "starts": problem.pseudo_starts,
        "seed": study_seed,
    }
    if problem.pseudo_search == "global":
        identity["search"] = "global"
    return identity | problem.own


def compute_pseudo_truths(identity: Mapping[str, Any], *, device: Device = "cpu") -> dict[str, np.ndarray]:
    """Return the pseudo-truths that ``identity`` names, from the cache, from the package, or searched now.

    Returns ``theta`` (K, N, P), best first, ``rmse`` (K,), and the numbers of ``Target.certificate``.
    """

    def compute() -> dict[str, np.ndarray]:
        known = shipped(identity)
        return search(identity, device=device) if known is None else known

    return cached("pseudo-truths", {**identity, "code": SEARCH_VERSION}, compute)


def file_of(identity: Mapping[str, Any]) -> Path:
    """Return the file in which the package keeps a list, whether it exists or not."""
    canonical = json.dumps(dict(identity), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return FOLDER / f"{hashlib.sha256(canonical.encode()).hexdigest()[:20]}.npz"


def shipped(identity: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
    """Return the shipped list of a problem, or None where there is none, or its best is not to be trusted.

    Loss, gradient and Newton decrement are computed again on the points of the final polish; what is no minimum there
    is left out.
    """
    file = file_of(identity)
    if not file.is_file():
        return None
    with np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    truth_model, truth, model, points_of = parts_of(identity)
    points = points_of(identity["polish_log2"], "polish")
    smooth = LADDER[-1] if model.expert == "relu" else 0.0
    values = truth_model.predict(truth, points)
    problem = problem_of(model, arrays["theta"].shape[1], points[None], values[None], "double")
    minima = []
    for k, (theta, rmse) in enumerate(zip(arrays["theta"], arrays["rmse"], strict=True)):
        loss = problem.loss(theta[None], 0.0)
        seal = certify(problem, theta[None], smooth, identity["box"], DECREMENT * loss)
        stored = abs(np.sqrt(2.0 * loss[0]) - rmse) <= VALUE * rmse
        if stored and seal["decrement"][0] <= DECREMENT * loss[0] and not seal["escaped"][0]:
            minima.append(k)
        elif k == 0 or not stored:
            return None
    return arrays | {name: arrays[name][minima] for name in ("theta", "rmse")}


def search(
    identity: Mapping[str, Any], *, budget: Budget | None = None, seed: int | None = None, device: Device = "cpu"
) -> dict[str, np.ndarray]:
    """Search the pseudo-truths that ``identity`` names, and return what :func:`compute_pseudo_truths` does.

    Other ``starts`` or ``points_log2`` than those of :func:`prerequisite` make a larger search of the same problem;
    ``budget`` is that of a global search, and ``seed`` that of the starts it draws, else that of ``identity``.
    """
    truth_model, truth, fitted, points = parts_of(identity)

    def target(x: np.ndarray) -> np.ndarray:
        return truth_model.predict(truth, x)

    starts = _starts(truth_model, truth, fitted, identity)
    options = {name: identity[name] for name in ("box", "points_log2", "polish_log2")}
    options |= {"device": device, "points": points}
    if identity.get("search") == "global":
        key = streams.key(what="pseudo-truth search", d=fitted.d, n_true=len(truth), n_fitted=identity["n_fitted"])
        own_seed = identity["seed"] if seed is None else seed
        options |= {"stream": lambda purpose: streams.generator(own_seed, key, 0, purpose), "budget": budget}
    found = pseudo_truths(fitted, target, starts, **options)
    certificate = {name: getattr(found, name)[0] for name in CERTIFICATE}
    if found.searched:
        certificate |= {name: getattr(found, name) for name in SEARCHED}
    return {"theta": found.theta, "rmse": found.rmse} | {
        f"best_{name}": np.asarray(value, dtype=np.float64) for name, value in certificate.items()
    }


def parts_of(identity: Mapping[str, Any]) -> tuple[Model, np.ndarray, Model, Points]:
    """Return what a :func:`prerequisite` names: true model, truth (N*, P), fitted model, and points of the law of x.

    Points are Sobol points, or draws of an own law.
    """
    data = identity["data"]
    of_both = (data["expert"], data["d"], data["power"])
    true, fitted = (Model(one["gate"], one["score"], *of_both) for one in (data, identity))
    if "atoms" in data:
        truth = np.array(data["atoms"], dtype=np.float64)
    else:
        truth = draw_truth(true, data["n_true"], data["regime"], identity["seed"], data.get("draw", 0))
    law = data.get("law_of_x")
    return true, truth, fitted, partial(law_points, law, data["d"]) if law else of_cube(data["d"])


def _starts(truth_model: Model, truth: np.ndarray, fitted: Model, identity: Mapping[str, Any]) -> np.ndarray:
    """Start half of the search at the truth's numbers with the other gate, perturbed, half at draws of the truths."""
    key = streams.key(what="pseudo-truth starts", d=fitted.d, n_true=len(truth), n_fitted=identity["n_fitted"])
    rng = streams.generator(identity["seed"], key, 0, "start")
    near = near_truth(truth_model, truth, fitted, identity["n_fitted"])
    starts = [
        truths.ground_truth(fitted, identity["n_fitted"], "dense", rng) if k % 2 else perturb(near, SEARCH_RADIUS, rng)
        for k in range(identity["starts"])
    ]
    return np.clip(np.stack(starts), -identity["box"], identity["box"])


def near_truth(truth_model: Model, truth: np.ndarray, fitted: Model, n_fitted: int) -> np.ndarray:
    """Return the truth's numbers (N, P) as parameters of the fitted model, its last atom split."""
    common = Model(fitted.gate, truth_model.score, fitted.expert, fitted.d, fitted.power)
    return embed(truths.split(common, truth, n_fitted), common, fitted)
