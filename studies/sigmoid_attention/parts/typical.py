r"""How typical a truth is: what least squares can learn of it, beside other truths of the same law.

A study of one drawn truth has no interval over truths. Where its truth lies among others is told by its Fisher line
(:mod:`moestat.losses.fisher`): a truth above all of m others is one that its law draws with a chance of 1 / (m + 1).
Why it lies there is told by its experts: what is known of an expert comes from inputs on which it is not zero and on
which the gate lets it be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from moestat.losses.fisher import CHUNK, fisher_line
from moestat.models.experts import activation, expert_features
from moestat.models.gates import gate_values, score_features
from moestat.models.regression import Model


class Features(NamedTuple):
    """What some truths are like, arrays (T,).

    ``line``: fisher line of L3 at n = 1, for the true number of atoms; divide by sqrt(n). ``nullity``: of the
    information matrix. Truths of one law share that of the gauge; one that has more holds directions that no data show.
    ``active``: the least share of inputs on which an expert is not zero: 1 for experts without a dead half. ``seen``:
    the least mean, over the inputs, of an expert's gate where the expert is not zero, and 0 where it is. ``smallest``:
    smallest eigenvalue of the information over its largest, those of the nullity left out.
    """

    line: np.ndarray
    nullity: np.ndarray
    active: np.ndarray
    seen: np.ndarray
    smallest: np.ndarray


@dataclass(frozen=True)
class Place:
    """Where some truths lie among others of their law.

    ``own``: of the T truths that are asked about; ``others``: of the m others.
    """

    own: Features
    others: Features

    @property
    def lines(self) -> tuple[np.ndarray, np.ndarray]:
        """The Fisher lines (T,) and (m,) at n = 1; infinite where more directions than the gauge's are not seen."""
        gauge = min(self.own.nullity.min(), self.others.nullity.min())
        own, others = (np.where(f.nullity > gauge, np.inf, f.line) for f in (self.own, self.others))
        return own, others

    @property
    def rank(self) -> np.ndarray:
        """The rank (T,) of each truth among the others by its line: 1 above all of them, m + 1 below all of them."""
        own, others = self.lines
        rank: np.ndarray = 1 + np.sum(others > own[:, None], axis=1)
        return rank

    @property
    def outside(self) -> np.ndarray:
        """Whether each truth (T,) has a higher or a lower line than all others: a chance of 2 / (m + 1) by the law."""
        own, others = self.lines
        outside: np.ndarray = (own > others.max()) | (own < others.min())
        return outside


def features(model: Model, truths: np.ndarray, x_points: np.ndarray, noise_variance: float) -> Features:
    """Return what truths are like.

    ``model``: the true model; ``truths`` (T, N*, P); ``x_points`` (m, d): points that stand for the law of x;
    ``noise_variance``: v > 0.
    """
    rows = []
    for theta in truths:
        line = fisher_line(model, theta, x_points, noise_variance)
        rows.append((line.at_one["L3"], line.nullity, *least_visible(model, theta, x_points), line.smallest))
    return Features(*np.array(rows, dtype=np.float64).reshape(-1, len(Features._fields)).T)


def least_visible(model: Model, theta: np.ndarray, x_points: np.ndarray) -> tuple[float, float]:
    """Return ``active`` and ``seen`` of :class:`Features` for one truth (N*, P)."""
    active, seen = np.zeros(len(theta)), np.zeros(len(theta))
    for start in range(0, len(x_points), CHUNK):
        x = x_points[start : start + CHUNK]
        output = activation(model.expert, theta[:, model.eta] @ expert_features(x), power=model.power)[0]
        gate = gate_values(model.gate, theta[:, : model.gate_size] @ score_features(x, model.score))
        active += np.sum(output != 0, axis=1)
        seen += np.sum(np.where(output != 0, gate, 0.0), axis=1)
    return float(active.min()) / len(x_points), float(seen.min()) / len(x_points)
