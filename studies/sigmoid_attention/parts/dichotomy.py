r"""The dichotomy of section 3 of "sigmoid-attention": when can measures with an atom too many represent f*?

The section argues with two fitted atoms that tend to one true atom (A*, b*, eta*): then f tends to f* only if

.. math:: \sigma(s + c_1) + \sigma(s + c_2) = \sigma(s + c^*), \qquad s = x'A^*x + b^{*\prime} x,

for almost every x, which needs (A*, b*) = 0. A measure with an atom too many represents f* in other ways, too: the
atom may have an output of 0, be a share of a homogeneous expert, or (:math:`\mathcal M_N` holds all measures with *at
most* N atoms) be left out. Even where an expert is kept from 0 and cannot be split, an atom whose gate is at the lower
end of the box weighs sigma(-B).

A replicate is a truth with one atom too many to come, the gate of its last atom multiplied by ``gate``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field
from scipy.optimize import minimize

from moestat.experiment import SettingsModel
from moestat.models import gates
from moestat.models.experts import HOMOGENEOUS, Expert, activation, expert_features
from moestat.models.regression import Model
from moestat.models.truths import ground_truth
from moestat.replicates import Row, Streams, each

VERSION = 1

STARTS = np.array([[0.0, 0.0], [2.0, -2.0], [-2.0, -4.5], [4.5, -4.5], [-1.0, -1.0]])
"""Where the search for the two intercepts starts."""


class Settings(SettingsModel):
    """Settings of a cell."""

    expert: Expert = "relu"
    """Activation of the expert."""
    power: int = Field(1, ge=1, description="degree of a polynomial expert")
    gate: float = Field(1.0, ge=0, description="factor on (A*, b*) of the last true atom; 0: it has a constant gate")
    d: int = Field(3, ge=1, description="input dimension")
    n_true: int = Field(3, ge=2, description="true experts")
    box: float = Field(5.0, gt=0, description="the intercepts are kept in [-box, box]")
    points_log2: int = Field(11, ge=8, description="log2 of the number of points, uniform on the cube")


def closest_together(score: np.ndarray, c: float, output: np.ndarray, box: float) -> tuple[float, np.ndarray]:
    """Return the least distance (root mean square) of two atoms at one true atom, over their intercepts, and these.

    ``score`` (m,): the true score without its intercept; ``output`` (m,): the expert's.
    """
    target = 1.0 / (1.0 + np.exp(-(score + c)))

    def square(both: np.ndarray) -> tuple[float, np.ndarray]:
        pair = 1.0 / (1.0 + np.exp(-(score + both[:, None])))
        difference = pair.sum(axis=0) - target
        value = np.mean((difference * output) ** 2)
        return float(value), 2.0 * np.mean(difference * output**2 * pair * (1.0 - pair), axis=1)

    options: dict[str, Any] = dict(bounds=[(-box, box)] * 2, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-14})
    starts = np.vstack([STARTS, [c - 1.0, c - 1.0]])
    best = min((minimize(square, start, jac=True, **options) for start in starts), key=lambda end: end.fun)
    return float(np.sqrt(best.fun)), np.asarray(best.x)


@each(finished="The truth was represented.", iterations=len(STARTS))
def run(s: Settings, streams: Streams) -> Row:
    """Represent a truth with one atom too many in the ways that there are.

    Per replicate distances to f*, in units of the root mean square of the last true atom: ``together``, both atoms at
    the last true one, intercepts in the box at their best; ``vanished``, the atom too many has eta = 0; ``split``, it
    has half of the expert (NaN if the expert is not homogeneous); ``faint``, it is a copy of the last true one with (A,
    b) = 0 and the intercept -box. ``nearest``: the least of the last three.
    """
    model = Model("sigmoid", "full", s.expert, s.d, s.power)
    rng = streams("truth", d=s.d, n_true=s.n_true)
    truth = ground_truth(model, s.n_true, "dense", rng)
    truth[-1, 1 : model.gate_size] *= s.gate
    x = rng.uniform(-1.0, 1.0, (2**s.points_log2, s.d))
    target, last = model.predict(truth, x), truth[-1]
    score = last[1 : model.gate_size] @ gates.score_features(x, model.score)[1:]
    output = activation(model.expert, last[model.eta] @ expert_features(x), power=model.power)[0]
    unit = float(np.sqrt(np.mean(model.predict(last[None], x) ** 2)))
    distance, _ = closest_together(score, float(last[0]), output, s.box)
    null, faint = last.copy(), last.copy()
    null[model.eta] = 0.0
    faint[: model.gate_size] = 0.0
    faint[0] = -s.box
    ways = {"vanished": np.vstack([truth, null]), "faint": np.vstack([truth, faint])}
    if s.expert in HOMOGENEOUS:
        half = last.copy()
        half[model.eta] *= 0.5 ** (1.0 / s.power)
        ways["split"] = np.vstack([truth[:-1], half, half])
    row = {name: float(np.sqrt(np.mean((model.predict(g, x) - target) ** 2))) / unit for name, g in ways.items()}
    row = {"split": np.nan} | row
    return row | {"nearest": float(np.nanmin(list(row.values()))), "together": distance / unit}
