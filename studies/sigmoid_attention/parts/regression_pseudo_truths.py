"""The search for the pseudo-truths of a regression problem: from an identity to the list, computed once and cached.

When the fitted model does not contain the truth (another gate, or a score without a part that the truth has), least
squares tends to a population minimum. The list of those that were found is named by ``prerequisite``, a JSON-like dict
that says everything it depends on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from moestat import streams
from moestat.arrays import Device
from moestat.cache import cached
from moestat.fit.certificate import certify
from moestat.fit.global_search import Budget
from moestat.fit.gradient import perturb
from moestat.fit.moments import Problem as Moments
from moestat.fit.newton import LADDER
from moestat.fit.population import Points, of_cube, pseudo_truths
from moestat.models import truths
from moestat.models.regression import Model
from studies.sigmoid_attention.parts.regression_laws import law_points
from studies.sigmoid_attention.parts.regression_problem import Problem, embed, true_model, true_parameters

SEARCH_RADIUS = 0.05  # standard deviation per coordinate of the starts near the truth in the search for pseudo-truths

SEARCH_VERSION = 1  # of cached pseudo-truths: to be raised when their numbers change

FOLDER = Path(__file__).parent / "pseudo_truths"
"""Lists that come with the package: those of the paper's own problems, whose search takes minutes."""
VALUE = 1e-6  # largest relative difference of a shipped root mean square from the one computed again
DECREMENT = 1e-6
"""Largest Newton decrement, as a share of the loss: a thousand times the tolerance of the fit, for other machines."""

CERTIFICATE = ("rmse", "fresh_rmse", "gradient", "decrement", "box_hits")
SEARCHED = ("found", "distinct", "searched", "lower_left")


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

    What is read is not believed: loss, gradient and Newton decrement are computed again on the points of the final
    polish. What is no minimum there is left out.
    """
    file = file_of(identity)
    if not file.is_file():
        return None
    with np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    truth_model, truth = true_model(identity["data"]), true_parameters(identity["data"], identity["seed"])
    model, points = fitted_model(identity), points_of(identity)(identity["polish_log2"], "polish")
    smooth = LADDER[-1] if model.expert == "relu" else 0.0
    values = truth_model.predict(truth, points)
    problem = Moments(model, arrays["theta"].shape[1], points[None], values[None], "double")
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


def ship(identity: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Path:
    """Write the list of a problem into the package's folder, and return the file."""
    file = file_of(identity)
    file.parent.mkdir(exist_ok=True)
    with file.open("wb") as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return file


def search(
    identity: Mapping[str, Any], *, budget: Budget | None = None, seed: int | None = None, device: Device = "cpu"
) -> dict[str, np.ndarray]:
    """Search the pseudo-truths that ``identity`` names.

    ``identity``: from :func:`prerequisite`; other ``starts`` or ``points_log2`` make a larger search of the same
    problem. ``budget``: of a global search. ``seed``: of the starts that a global search draws; that of ``identity`` if
    left out.

    Returns what :func:`compute_pseudo_truths` does.
    """
    truth_model, truth = true_model(identity["data"]), true_parameters(identity["data"], identity["seed"])
    fitted = fitted_model(identity)

    def target(x: np.ndarray) -> np.ndarray:
        return truth_model.predict(truth, x)

    starts = _starts(truth_model, truth, fitted, identity)
    options = {name: identity[name] for name in ("box", "points_log2", "polish_log2")}
    options |= {"device": device, "points": points_of(identity)}
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


def fitted_model(identity: Mapping[str, Any]) -> Model:
    """Return the fitted model of a :func:`prerequisite`."""
    data = identity["data"]
    return Model(identity["gate"], identity["score"], data["expert"], data["d"], data["power"])


def points_of(identity: Mapping[str, Any]) -> Points:
    """Return the points of a :func:`prerequisite` that stand for the law of x: Sobol points, or draws of an own law."""
    data = identity["data"]
    if data.get("law_of_x"):
        return partial(law_points, data["law_of_x"], data["d"])
    return of_cube(data["d"])


def _starts(truth_model: Model, truth: np.ndarray, fitted: Model, identity: Mapping[str, Any]) -> np.ndarray:
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
