r"""Pseudo-truths: the N-atom functions closest to a target in :math:`L^2(\mu)`, :math:`\mu` the law of x.

Source: "sigmoid-attention", the set :math:`\overline{\mathcal M}_N` before equation (12). That set need not be a
point: what is returned is the *list* of local minima that were found with a loss close to the best one. It depends on
the box, on the starts and on the quadrature; all three are reported. Nothing proves that a better minimum does not
exist elsewhere. With a stream of random numbers :func:`pseudo_truths` searches, as :mod:`moestat.fit.global_search`
does for samples, and says how often the best was found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules are imported when they are used

from moestat import streams
from moestat.arrays import Device, backend
from moestat.doors import as_float64, takes_float64
from moestat.fit import general, general_search
from moestat.fit.global_search import Budget, global_search
from moestat.fit.newton import LADDER, from_each
from moestat.fit.search_starts import Stream
from moestat.models.general import FunctionModel
from moestat.models.regression import Model

Points = Callable[[int, str], np.ndarray]
"""``points(log2, purpose)``: 2**log2 points (n, d) that stand for the law of x, always the same ones for a purpose."""
EXACT = 1e-6
"""Root mean squares below this share of the target's standard deviation are zero: the model contains the target."""
EXPLORE = 0.1
"""Minima of the coarse search within this share of the best are polished; coarse quadrature errs by less."""
POLISHED = 6  #: At most so many minima of a search are polished.


@dataclass(frozen=True)
class PseudoTruths:
    """Population minima, best first; NumPy arrays."""

    theta: np.ndarray  #: (K, N, P)
    rmse: np.ndarray  #: (K,), root mean squared distance to the target on the polishing points.
    fresh_rmse: np.ndarray  #: (K,), the same on as many other points: the difference is the error of the quadrature.
    status: np.ndarray  #: (K,) int, a :class:`moestat.status.Status` of the final fit.
    gradient: np.ndarray  #: (K,), as the next three of the certificate, see :class:`moestat.fit.newton.Fit`.
    decrement: np.ndarray
    min_eigenvalue: np.ndarray
    box_hits: np.ndarray
    start: np.ndarray  #: (K,) int, index of the start that led here (the first one, if several did).
    scale: float  #: Standard deviation of the target, in the units of ``rmse``.
    found: int = 0  #: After a search: how many fits from independent starts ended at the best coarse minimum.
    distinct: int = 0  #: At how many minima they ended in all.
    searched: int = 0  #: How many starts there were.
    lower_left: float = 1.0  #: The chance that something lower is left, see :mod:`moestat.fit.end_points`.


@takes_float64("starts")
def pseudo_truths(
    model: Model,
    target: Callable[[np.ndarray], np.ndarray] | tuple[Model, np.ndarray],
    starts: np.ndarray,
    *,
    stream: Stream | None = None,
    budget: Budget | None = None,
    box: float = 5.0,
    points_log2: int = 14,
    polish_log2: int = 17,
    keep: float = 0.01,
    points: Points | None = None,
    max_iterations: int = 1000,
    device: Device = "cpu",
) -> PseudoTruths:
    """Search the minima of ||f - f*|| over N-atom models in the box.

    Every start is fitted to the noiseless target on 2**points_log2 points; the minima within 10 % of the best are
    polished on 2**polish_log2 points; those within ``keep`` of the best are kept. Minima that agree up to a permutation
    of their atoms (and the softmax gauge) are one.

    Parameters
    ----------
    target : callable or (Model, theta)
        The function f* from points (n, d) to values (n,), or a model with its parameters.
    starts : array (S, N, P)
        Where the search starts: near the truth, at random, or anywhere.
    stream : callable, optional
        ``stream(purpose)`` returns the random generator of a purpose. With it the minima are searched by
        :func:`moestat.fit.global_search.global_search`, within ``budget``, which fits the starts to the end in any case
        and draws others around them; the ``POLISHED`` lowest at most are polished.
    box : float, default 5
        Bound on every coordinate; part of the definition of the minimum.
    points_log2, polish_log2 : int, default 14 and 17
        At d = 8, 2**13 points overfit visibly.
    points : callable, optional
        The points, see :data:`Points`; scrambled Sobol points of [-1, 1]^d if left out.
    """
    if starts.ndim != 3 or starts.shape[0] < 1 or starts.shape[-1] != model.atom_size:
        raise ValueError(f"starts has shape {starts.shape}; it must be (S, N, {model.atom_size}) with S at least 1")
    if not 1 <= points_log2 <= polish_log2 <= 30:
        raise ValueError(f"points_log2 is {points_log2} and polish_log2 {polish_log2}; 1 <= first <= second <= 30")
    if not keep >= 0:
        raise ValueError(f"keep is {keep}; it must be at least 0")
    xp = backend("cpu" if isinstance(model, FunctionModel) else device)  # functions take NumPy arrays

    def function(x: np.ndarray) -> np.ndarray:
        if callable(target):
            values: np.ndarray = as_float64(target(x), "target(x)")
        else:
            values = target[0].predict(as_float64(target[1], "target[1]"), x)
        return values

    points = points or of_cube(model.d)
    x = points(points_log2, "coarse")
    values = function(x)
    how: dict[str, Any] = {"box": box, "max_iterations": max_iterations}
    data = (xp.asarray(x), xp.asarray(values))
    record: dict[str, Any] = {}
    each = general.from_each if isinstance(model, FunctionModel) else from_each
    if stream is None:
        coarse = each(model, *data, starts, **how)
        ends, loss, most = coarse.theta, coarse.loss, len(starts)
    else:
        searched = general_search.search if isinstance(model, FunctionModel) else global_search
        search = searched(model, *data, local=starts, known=starts, stream=stream, budget=budget, **how)
        ends, loss, most = search.ends, search.loss, POLISHED
        record = {name: getattr(search, name) for name in ("found", "distinct", "lower_left")}
        record["searched"] = sum(len(losses) for losses in search.start_losses.values())
    chosen = lowest_minima(model, ends, np.sqrt(2.0 * loss), EXPLORE, float(np.std(values)))
    # the candidates again, on many points
    x, labels = points(polish_log2, "polish"), np.array(chosen[:most])
    values = function(x)
    scale = float(np.std(values))
    last = (LADDER[-1],) if model.expert == "relu" else None  # earlier rungs would leave the basin
    fit = each(model, xp.asarray(x), xp.asarray(values), ends[labels], ladder=last, **how)
    rmse = np.sqrt(2.0 * fit.loss)
    listed = lowest_minima(model, fit.theta, rmse, keep, scale)
    x = points(polish_log2, "fresh")
    values = function(x)
    names = ("status", "gradient", "decrement", "min_eigenvalue", "box_hits")
    return PseudoTruths(
        theta=fit.theta[listed],
        rmse=rmse[listed],
        fresh_rmse=np.array([np.sqrt(np.mean((model.predict(fit.theta[k], x) - values) ** 2)) for k in listed]),
        **{name: getattr(fit, name)[listed] for name in names},
        start=labels[listed],
        scale=scale,
        **record,
    )


def lowest_minima(model: Model, theta: np.ndarray, rmse: np.ndarray, share: float, scale: float) -> list[int]:
    """Return the positions of different minima close to the best, best first.

    ``theta`` (S, N, P) and ``rmse`` (S,) say where the fits ended, ``share`` by how much a minimum may exceed the best,
    ``scale`` the standard deviation of the target.
    """
    order = [int(k) for k in np.argsort(rmse, kind="stable")]
    best = rmse[order[0]]
    if not np.isfinite(best):
        raise ValueError("no start of the population search led to a finite loss; are target and starts finite?")
    limit = max((1.0 + share) * best, EXACT * scale)
    listed: list[int] = []
    for k in order:
        if rmse[k] <= limit and not any(same_minimum(model, theta[k], theta[j]) for j in listed):
            listed.append(k)
    return listed


@takes_float64("theta", "other", finite=True)
def same_minimum(model: Model, theta: np.ndarray, other: np.ndarray, *, tolerance: float = 1e-2) -> bool:
    """Return whether two sets of atoms (N, P) agree up to a permutation and the softmax gauge.

    Their distance (root of the sum of squares over matched atoms) is then at most ``tolerance`` times the norm of
    ``other``.
    """
    aligned = model.align(theta, other)
    if isinstance(model, FunctionModel):
        other = model.standard(other)
    square = np.sum((aligned[:, None] - other[None]) ** 2, axis=-1)
    matched = square[scipy.optimize.linear_sum_assignment(square)].sum()
    return bool(np.sqrt(matched) <= tolerance * np.linalg.norm(other))


def sobol(d: int, log2: int, seed: int, purpose: str) -> np.ndarray:
    """Return 2**log2 scrambled Sobol points (n, d) of [-1, 1]^d; different purposes are scrambled independently."""
    rng = streams.generator(seed, streams.key(points="sobol", d=d, log2=log2), 0, purpose)
    points: np.ndarray = 2.0 * scipy.stats.qmc.Sobol(d, scramble=True, seed=rng).random_base2(log2) - 1.0
    return points


def of_cube(d: int) -> Points:
    """Return the scrambled Sobol points of [-1, 1]^d, those of :func:`sobol` with seed 0."""
    return lambda log2, purpose: sobol(d, log2, 0, purpose)
