r"""The Fisher line of competition-gated mixtures: what maximum likelihood would reach if nothing jumped.

Between its jumps the density is smooth in the parameters. With the information matrix
:math:`I = E[\nabla \log p\, \nabla \log p']` of that part alone, the estimate is asymptotically
:math:`N(\theta^*, I^{-1} / n)`, and every expected loss is a number times :math:`n^{-1/2}`: for
:math:`\sqrt{E h^2} \to \sqrt{\Delta' I \Delta / 8}` it is :math:`E \chi_p / \sqrt{8}` with p parameters, whatever the
truth. Where the density jumps at the routing boundaries, the boundaries tell more, and the line is no lower bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from moestat.losses.measures import competition_losses
from moestat.models.competition import Competition
from moestat.models.gaussian import check_atoms, check_inputs

_NODES = 24
_DRAWS = 512


class FisherLine(NamedTuple):
    """Expected losses at n = 1, to be divided by sqrt(n)."""

    root_hellinger_squared: float
    hellinger: float
    D: float


def information(model: Competition, truth: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the information matrix at each input, (N, k P, k P), by Gauss-Hermite rules for every expert's responses.

    ``truth`` (k, P); ``x`` (N, d).
    """
    check_atoms(truth, model.atom_size, name="truth")
    check_inputs(x, model.d)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    at = model.components(truth, x)
    total = np.zeros((len(x), truth.size, truth.size))
    for i in range(len(truth)):
        used = np.nonzero(np.exp(at.log_weight[i]) > 0)[0]
        if not used.size:
            continue
        y = at.mean[i, used, None] + math.sqrt(at.variance[i, 0]) * nodes
        points = np.repeat(x[used], _NODES, axis=0)
        score = model.score(truth, points, y.reshape(-1)).reshape(truth.size, len(used), _NODES)
        mass = np.exp(at.log_weight[i, used, None]) * weights / math.sqrt(2.0 * math.pi)
        total[used] += np.einsum("pxq,rxq,xq->xpr", score, score, mass, optimize=True)
    return total


def fisher_line(model: Competition, truth: np.ndarray, x: np.ndarray) -> FisherLine:
    """Return the line of a truth with inputs x (N, d) that stand for their law."""
    local = information(model, truth, x)
    values, vectors = np.linalg.eigh(local.mean(axis=0))
    if values[0] < 1e-10 * values[-1]:
        raise ValueError("The information matrix is singular: there is a direction that does not change the density.")
    p = truth.size
    noise = np.random.default_rng(20240304).standard_normal((_DRAWS, p))
    error = noise / np.sqrt(values) @ vectors.T
    small = 1e-4  # so small that every atom stays in its cell
    d = competition_losses(truth + small * error.reshape(-1, *truth.shape), truth, model)["D"] / small
    h = np.sqrt(np.maximum(np.einsum("sp,xpr,sr->sx", error, local, error, optimize=True), 0.0) / 8.0)
    chi = math.exp(math.lgamma((p + 1) / 2) - math.lgamma(p / 2)) * math.sqrt(2.0)
    return FisherLine(chi / math.sqrt(8.0), float(h.mean()), float(np.mean(d)))
