"""What a regression fit is scored against: the truth, the list of pseudo-truths, and the Fisher line.

The truth is drawn once from the study seed. When the fitted model does not contain it (another gate, or a score
without a part that the truth has), the target is a list of population least-squares minima, found once and cached
(sigmoid-attention, equation (12): the infimum is over all minimisers that were found). When it contains the truth, the
infimum is over the continua of its representations with N atoms (:mod:`moestat.losses.minimisers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy.stats import qmc

from moestat import streams
from moestat.arrays import Device
from moestat.cache import cached
from moestat.fingerprint import digest, of
from moestat.fit.gradient import perturb
from moestat.fit.population import pseudo_truths, searched_pseudo_truths
from moestat.losses.fisher import fisher_line
from moestat.losses.sandwich import sandwich_line
from moestat.models import truths
from moestat.models.regression import Model
from moestat.papers.sigmoid_attention import shipped_targets
from moestat.sentences import counted

SEARCH_RADIUS = 0.05
"""Standard deviation per coordinate of the starts near the truth in the search for pseudo-truths."""
FISHER_LOG2 = 17
"""The information matrix is a mean over 2**FISHER_LOG2 Sobol points."""

CERTIFICATE = ("rmse", "fresh_rmse", "gradient", "decrement", "box_hits")
SEARCHED = ("found", "distinct", "searched", "lower_left")

_CONTAINED = {"full": ("full", "partial", "linear"), "partial": ("partial",), "linear": ("linear",)}


@dataclass(frozen=True)
class Problem:
    """A truth and a model to fit, without sample size, estimator or replicate."""

    truth: Model
    fitted: Model
    n_true: int
    n_fitted: int
    regime: Literal["dense", "sparse"]
    noise_variance: float
    box: float
    points_log2: int
    polish_log2: int
    starts: int
    own_code: str = ""
    pseudo_search: Literal["starts", "global"] = "starts"
    draw: int = 0

    @property
    def data_identity(self) -> dict[str, Any]:
        """What the draws of the data depend on, beside the sample size."""
        return ({"draw": self.draw} if self.draw else {}) | {
            "what": "regression data",
            "d": self.truth.d,
            "n_true": self.n_true,
            "gate": self.truth.gate,
            "score": self.truth.score,
            "expert": self.truth.expert,
            "power": self.truth.power,
            "regime": self.regime,
        }

    @property
    def own(self) -> dict[str, str]:
        """The code of the user's own gates and expert: part of what a cached result depends on."""
        return {"own_code": self.own_code} if self.own_code else {}

    @property
    def contains_truth(self) -> bool:
        """Whether the fitted model contains the truth."""
        return self.truth.gate == self.fitted.gate and self.truth.score in _CONTAINED[self.fitted.score]


@dataclass(frozen=True)
class Target:
    """What the fits of a problem are scored against, and where they start.

    Attributes
    ----------
    truth : array (N*, P)
        The truth, in the coordinates of the true model.
    measures : array (K, M, P)
        The truth (K = 1, M = N*) or the pseudo-truths (K kept minima, M = N), in the fitted model's coordinates.
    minimisers : array (K, N, P)
        Population minimisers with N atoms: the pseudo-truths, best first, or the truth with one atom split in equal
        parts, for each atom in turn, the last one first. Fits start near them. L3 and L5 are infima over the
        pseudo-truths, or over all representations of the truth with N atoms, of which these are some.
    is_pseudo : bool
        Whether ``measures`` are pseudo-truths.
    rmse : array (K,)
        Distance ||f_G - f*|| of each measure; zero for the truth.
    fisher_at_one : mapping
        Asymptotic errors at n = 1, which fall like n^(-1/2): of the oracle with N* atoms, or, for pseudo-truths, of
        least squares beside the best of them (the sandwich covariance).
    certificate : mapping
        For pseudo-truths what is known about the best: ``rmse``, ``fresh_rmse``, ``gradient``, ``decrement``,
        ``box_hits``, and, after a global search, ``found``, ``distinct``, ``searched``, ``lower_left``.
    """

    truth: np.ndarray
    measures: np.ndarray
    minimisers: np.ndarray
    is_pseudo: bool
    rmse: np.ndarray
    fisher_at_one: Mapping[str, float]
    certificate: Mapping[str, float] = field(default_factory=dict)

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
        return (
            "Asymptotic error of least squares with the true number of experts; no regular estimator can be expected "
            "far below it in large samples."
        )

    def lines(self, n: int) -> dict[str, float]:
        """Return the Fisher line at sample size n, with the rank and nullity of its matrix, and the certificate."""
        counts = ("rank", "nullity")
        fisher = {f"fisher_{name}": v if name in counts else v / np.sqrt(n) for name, v in self.fisher_at_one.items()}
        return fisher | {f"pseudo_{name}": number for name, number in self.certificate.items()}


def embed(theta: np.ndarray, source: Model, destination: Model) -> np.ndarray:
    """Write atoms of one score in the coordinates of another: new parts are zero, parts that it lacks are dropped.

    Parameters
    ----------
    theta : array (..., N, P_source)

    Returns
    -------
    array (..., N, P_destination)
    """
    out = np.zeros((*theta.shape[:-1], destination.atom_size))
    for block in ("c", "b", "a_matrix", "eta"):
        part, place = theta[..., getattr(source, block)], getattr(destination, block)
        if part.shape[-1] and place.stop > place.start:
            out[..., place] = part
    return out


def draw_truth(
    model: Model, n_true: int, regime: Literal["dense", "sparse"], study_seed: int, draw: int = 0
) -> np.ndarray:
    """Draw truth number ``draw`` (N*, P) from the study seed; gates, experts, scores and regimes share the draw."""
    number = {"draw": draw} if draw else {}
    identity = streams.key(what="regression truth", d=model.d, n_true=n_true, **number)
    return truths.ground_truth(model, n_true, regime, streams.generator(study_seed, identity, 0, "truth"))


@lru_cache(maxsize=8)
def evaluation_points(d: int, log2: int) -> np.ndarray:
    """Return 2**log2 scrambled Sobol points on [-1, 1]^d, always the same ones."""
    points = 2.0 * qmc.Sobol(d, scramble=True, rng=np.random.default_rng(20250917)).random_base2(log2) - 1.0
    points.flags.writeable = False
    return points


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
        "points_log2": problem.points_log2,
        "polish_log2": problem.polish_log2,
        "starts": problem.starts,
        "seed": study_seed,
    }
    if problem.pseudo_search == "global":
        identity["search"] = "global"
    return identity | problem.own


def compute_pseudo_truths(identity: Mapping[str, Any], *, device: Device = "cpu") -> dict[str, np.ndarray]:
    """Return the pseudo-truths that ``identity`` names, from the cache or computed now.

    Returns
    -------
    dict
        ``theta`` (K, N, P), best first, ``rmse`` (K,), and the numbers of ``Target.certificate``.
    """
    data = identity["data"]
    truth_model = Model(data["gate"], data["score"], data["expert"], data["d"], data["power"])
    fitted = Model(identity["gate"], identity["score"], data["expert"], data["d"], data["power"])
    truth = draw_truth(truth_model, data["n_true"], data["regime"], identity["seed"], data.get("draw", 0))

    def target(x: np.ndarray) -> np.ndarray:
        return truth_model.predict(truth, x)

    def compute() -> dict[str, np.ndarray]:
        known = shipped_targets.load(identity, fitted, target)
        if known is not None:
            return known
        starts = _search_starts(truth_model, truth, fitted, identity)
        options = {name: identity[name] for name in ("box", "points_log2", "polish_log2")} | {"device": device}
        if identity.get("search") == "global":
            key = streams.key(what="pseudo-truth search", d=fitted.d, n_true=len(truth), n_fitted=identity["n_fitted"])
            search = searched_pseudo_truths(
                fitted, target, starts, lambda purpose: streams.generator(identity["seed"], key, 0, purpose), **options
            )
        else:
            search = pseudo_truths(fitted, target, starts, **options)
        certificate = {name: getattr(search, name)[0] for name in CERTIFICATE}
        if search.searched:
            certificate |= {name: getattr(search, name) for name in SEARCHED}
        return {"theta": search.theta, "rmse": search.rmse} | {
            f"best_{name}": np.asarray(value, dtype=np.float64) for name, value in certificate.items()
        }

    return cached("pseudo-truths", {**identity, "code": _search_code()}, compute)


def _search_code() -> str:
    """Version of the code behind pseudo-truths: a change of it makes a new entry."""
    search = (pseudo_truths, searched_pseudo_truths, shipped_targets.load, _search_starts, draw_truth, Model)
    return digest(of(*search))


def _search_starts(truth_model: Model, truth: np.ndarray, fitted: Model, identity: Mapping[str, Any]) -> np.ndarray:
    """Starts of the search: the truth's coordinates with the other gate, perturbed, and draws from the law of truths.

    Half of the starts are of each kind; one that is near the truth comes first.
    """
    key = streams.key(what="pseudo-truth starts", d=fitted.d, n_true=len(truth), n_fitted=identity["n_fitted"])
    rng = streams.generator(identity["seed"], key, 0, "start")
    near = near_truth(truth_model, truth, fitted, identity["n_fitted"])
    starts = []
    for k in range(identity["starts"]):
        if k % 2 == 0:
            starts.append(perturb(near, SEARCH_RADIUS, rng))
        else:
            starts.append(truths.ground_truth(fitted, identity["n_fitted"], "dense", rng))
    return np.clip(np.stack(starts), -identity["box"], identity["box"])


def near_truth(truth_model: Model, truth: np.ndarray, fitted: Model, n_fitted: int) -> np.ndarray:
    """Return the truth's numbers (N, P) as parameters of the fitted model, its last atom split."""
    common = Model(fitted.gate, truth_model.score, fitted.expert, fitted.d, fitted.power)
    return embed(truths.split(common, truth, n_fitted), common, fitted)


@lru_cache(maxsize=16)
def target_of(problem: Problem, study_seed: int, *, device: Device = "cpu") -> Target:
    """Return the target of a problem; pseudo-truths and the Fisher line come from the cache where they can."""
    truth = draw_truth(problem.truth, problem.n_true, problem.regime, study_seed, problem.draw)
    needed = prerequisite(problem, study_seed)
    if needed is None:
        own = embed(truth, problem.truth, problem.fitted)
        fisher = compute_fisher(problem, study_seed)
        return Target(truth, own[None], _splits(problem, own), False, np.zeros(1), fisher)
    pseudo = compute_pseudo_truths(needed, device=device)
    certificate = {name: float(pseudo[f"best_{name}"]) for name in CERTIFICATE + SEARCHED if f"best_{name}" in pseudo}
    sandwich = compute_sandwich(problem, needed, truth, pseudo["theta"][0])
    return Target(truth, pseudo["theta"], pseudo["theta"], True, pseudo["rmse"], sandwich, certificate)


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
        "points_log2": FISHER_LOG2,
        "code": digest(of(fisher_line, evaluation_points, draw_truth)),
        **problem.own,
    }

    def compute() -> dict[str, np.ndarray]:
        truth = draw_truth(problem.truth, problem.n_true, problem.regime, study_seed, problem.draw)
        points = evaluation_points(problem.truth.d, FISHER_LOG2)
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
        "search code": _search_code(),
        "noise_variance": problem.noise_variance,
        "points_log2": FISHER_LOG2,
        "code": digest(of(sandwich_line)),
    }

    def compute() -> dict[str, np.ndarray]:
        points = evaluation_points(problem.truth.d, FISHER_LOG2)
        values = problem.truth.predict(truth, points)
        line = sandwich_line(problem.fitted, pseudo_truth, points, values, problem.noise_variance, box=problem.box)
        names = ("L1", "L3", "matched_sum", "rmse_pseudo")
        errors = {name: line.at_one[name] for name in names} | {"rank": line.rank, "nullity": line.nullity}
        return {name: np.asarray(v) for name, v in errors.items()}

    return {name: float(value) for name, value in cached("sandwich", identity, compute).items()}
