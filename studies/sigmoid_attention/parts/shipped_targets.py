"""Pseudo-truths that come with the package: those of the paper's own problems, whose search takes minutes.

They do not change from run to run, so they are searched once and kept in ``pseudo_truths/`` beside this module, one
file per problem, named by what the problem is. What is read is not believed: at the stored parameters loss, gradient
and Newton decrement are computed again on the points of the final polish. What is no minimum there is left out, and a
list whose best fails is searched anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from moestat.fit.certificate import certify
from moestat.fit.moments import Problem
from moestat.fit.newton import LADDER
from moestat.fit.population import Points
from moestat.models.regression import Model

FOLDER = Path(__file__).parent / "pseudo_truths"
VALUE = 1e-6  # largest relative difference of a stored root mean square from the one computed again
DECREMENT = 1e-6
"""Largest Newton decrement, as a share of the loss: a thousand times the tolerance of the fit, for other machines."""


def file_of(identity: Mapping[str, Any]) -> Path:
    """Return the file of a problem, whether it exists or not.

    ``identity``: from :func:`studies.sigmoid_attention.parts.regression_pseudo_truths.prerequisite`.
    """
    canonical = json.dumps(dict(identity), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return FOLDER / f"{hashlib.sha256(canonical.encode()).hexdigest()[:20]}.npz"


def load(
    identity: Mapping[str, Any], model: Model, target: Callable[[np.ndarray], np.ndarray], points_of: Points
) -> dict[str, np.ndarray] | None:
    """Return the shipped pseudo-truths of a problem that are minima, or None where the best is not to be trusted.

    ``model``: the model that is fitted; ``target``: the true function, from points (n, d) to values (n,);
    ``points_of``: the points that stand for the law of x, see :data:`moestat.fit.population.Points`.
    """
    file = file_of(identity)
    if not file.is_file():
        return None
    with np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    points = points_of(identity["polish_log2"], "polish")
    values = target(points)
    smooth = LADDER[-1] if model.expert == "relu" else 0.0
    problem = Problem(model, arrays["theta"].shape[1], points[None], values[None], "double")
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


def save(identity: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Path:
    """Write the pseudo-truths of a problem into the package's folder, and return the file."""
    file = file_of(identity)
    file.parent.mkdir(exist_ok=True)
    with file.open("wb") as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return file
