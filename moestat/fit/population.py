r"""Pseudo-truths: the N-atom functions closest to a target in :math:`L^2(\mu)`, :math:`\mu` the law of x.

Source: "sigmoid-attention", the set :math:`\overline{\mathcal M}_N` before equation (12). That set need not be a
point: what is returned is the *list* of local minima that were found with a loss close to the best one. It depends on
the box, on the starts and on the quadrature; all three are reported. Nothing proves that a better minimum does not
exist elsewhere. :func:`pseudo_truths` looks from given starts; :func:`searched_pseudo_truths` searches, as
:mod:`moestat.fit.global_search` does for samples, and says how often the best was found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from moestat.arrays import Device, backend, to_numpy
from moestat.doors import as_float64, takes_float64
from moestat.fit.global_search import Budget, global_search
from moestat.fit.lowest_minima import lowest_minima
from moestat.fit.moments import Precision
from moestat.fit.newton import LADDER, Fit, least_squares
from moestat.fit.points import Points, of_cube
from moestat.fit.search_starts import Stream
from moestat.models.regression import Model
from moestat.status import Status

EXPLORE = 0.1
"""Minima of the coarse search within this share of the best are polished; coarse quadrature errs by less."""
POLISHED = 6
"""At most so many minima of a search are polished."""


@dataclass(frozen=True)
class PseudoTruths:
    """Population minima, best first; NumPy arrays.

    Attributes
    ----------
    theta : array (K, N, P)
    rmse : array (K,)
        Root mean squared distance to the target on the polishing points.
    fresh_rmse : array (K,)
        The same on as many other points, which took no part in the fit: its difference to ``rmse`` is the error of
        the quadrature.
    status : int array (K,)
        :class:`moestat.status.Status` of the final fit.
    gradient, decrement, min_eigenvalue, box_hits : arrays (K,)
        The certificate, see :class:`moestat.fit.newton.Fit`.
    start : int array (K,)
        Index of the start that led here (the first one, if several did).
    scale : float
        Standard deviation of the target, in the units of ``rmse``.
    dropped : list of str
        Why each of the other starts is not in the list.
    found, distinct, searched : int
        After a search: how many of its fits, from independent starts, ended at the best minimum on the coarse points,
        at how many minima they ended in all, and how many starts there were; 0 for given starts.
    lower_left : float
        After a search: the chance that something lower is left (:mod:`moestat.fit.end_points`); 1 for given starts.
    """

    theta: np.ndarray
    rmse: np.ndarray
    fresh_rmse: np.ndarray
    status: np.ndarray
    gradient: np.ndarray
    decrement: np.ndarray
    min_eigenvalue: np.ndarray
    box_hits: np.ndarray
    start: np.ndarray
    scale: float
    dropped: list[str]
    found: int = 0
    distinct: int = 0
    searched: int = 0
    lower_left: float = 1.0


@takes_float64("starts")
def pseudo_truths(
    model: Model,
    target: Callable[[np.ndarray], np.ndarray] | tuple[Model, np.ndarray],
    starts: np.ndarray,
    *,
    box: float = 5.0,
    points_log2: int = 14,
    polish_log2: int = 17,
    keep: float = 0.01,
    points: Points | None = None,
    max_iterations: int = 1000,
    precision: Precision = "mixed",
    device: Device = "cpu",
) -> PseudoTruths:
    """Search the minima of ||f - f*|| over N-atom models in the box, from given starts.

    Every start is fitted to the noiseless target on 2**points_log2 points; the minima within 10 % of
    the best are polished on 2**polish_log2 points; those within ``keep`` of the best are kept. Minima that agree up to
    a permutation of their atoms (and the softmax gauge) are one.

    Parameters
    ----------
    model : Model
        The family that is fitted.
    target : callable or (Model, theta)
        The function f* from points (n, d) to values (n,), or a model with its parameters.
    starts : array (S, N, P)
        Where the search starts: near the truth, at random, or anywhere.
    box : float, default 5
        Bound on every coordinate; part of the definition of the minimum.
    points_log2, polish_log2 : int, default 14 and 17
        Binary logarithm of the numbers of points. At d = 8, 2**13 points overfit visibly.
    keep : float, default 0.01
        Relative excess of the root mean square up to which a minimum is kept.
    points : callable, optional
        The points, see :data:`Points`; scrambled Sobol points of [-1, 1]^d if left out.
    max_iterations : int, default 1000
    precision : {"mixed", "double"}
    device : {"cpu", "cuda"}

    Returns
    -------
    PseudoTruths

    Raises
    ------
    ValueError
        If an argument is out of range, or no start led to a finite loss.
    """
    _check(model, starts, points_log2, polish_log2, keep)
    function = _function(target)
    fit = _fitter(model, box, max_iterations, precision, device)
    points = points or of_cube(model.d)
    x = points(points_log2, "coarse")
    values = function(x)
    coarse = [fit(x, values, start, None) for start in starts]
    ends = np.stack([to_numpy(end.theta)[0] for end in coarse])
    rmse = np.array([np.sqrt(2.0 * to_numpy(end.loss)[0]) for end in coarse])
    candidates, dropped = lowest_minima(model, ends, rmse, EXPLORE, float(np.std(values)), f"on 2^{points_log2} points")
    return _polish(model, function, ends, candidates, dropped, fit, polish_log2, keep, points)


@takes_float64("starts")
def searched_pseudo_truths(
    model: Model,
    target: Callable[[np.ndarray], np.ndarray] | tuple[Model, np.ndarray],
    starts: np.ndarray,
    stream: Stream,
    *,
    budget: Budget | None = None,
    box: float = 5.0,
    points_log2: int = 14,
    polish_log2: int = 17,
    keep: float = 0.01,
    points: Points | None = None,
    max_iterations: int = 1000,
    precision: Precision = "mixed",
    device: Device = "cpu",
) -> PseudoTruths:
    """Search the minima of ||f - f*|| over N-atom models in the box by the search that samples get, too.

    The search (:func:`moestat.fit.global_search.global_search`) runs on the coarse points, noise-free; its lowest
    different minima within 10 % of the best, ``POLISHED`` at most, are polished and listed as by :func:`pseudo_truths`.

    Parameters
    ----------
    starts : array (S, N, P)
        Starts that are fitted to the end in any case, and around which others are drawn.
    stream : callable
        ``stream(purpose)`` returns the random generator of a purpose.
    budget : Budget, optional
    others
        As in :func:`pseudo_truths`.
    """
    _check(model, starts, points_log2, polish_log2, keep)
    function = _function(target)
    points = points or of_cube(model.d)
    x = points(points_log2, "coarse")
    values = function(x)
    xp = backend(device)
    search = global_search(
        model,
        xp.asarray(x),
        xp.asarray(values),
        local=starts,
        known=starts,
        stream=stream,
        box=box,
        budget=budget,
        max_iterations=max_iterations,
        precision=precision,
    )
    rmse = np.sqrt(2.0 * search.loss)
    candidates, dropped = lowest_minima(
        model, search.ends, rmse, EXPLORE, float(np.std(values)), f"on 2^{points_log2} points"
    )
    dropped += [
        f"start {k}: not among the {POLISHED} lowest minima on 2^{points_log2} points" for k in candidates[POLISHED:]
    ]
    fit = _fitter(model, box, max_iterations, precision, device)
    polished = _polish(model, function, search.ends, candidates[:POLISHED], dropped, fit, polish_log2, keep, points)
    return replace(
        polished,
        found=search.found,
        distinct=search.distinct,
        searched=sum(len(losses) for losses in search.start_losses.values()),
        lower_left=search.lower_left,
    )


Fitter = Callable[[np.ndarray, np.ndarray, np.ndarray, "tuple[float, ...] | None"], Fit]


def _fitter(model: Model, box: float, max_iterations: int, precision: Precision, device: Device) -> Fitter:
    def fit(points: np.ndarray, values: np.ndarray, start: np.ndarray, ladder: tuple[float, ...] | None) -> Fit:
        xp = backend(device)
        x, y, s = (xp.asarray(v) for v in (points[None], values[None], start[None, None]))
        return least_squares(model, x, y, s, box=box, ladder=ladder, max_iterations=max_iterations, precision=precision)

    return fit


def _check(model: Model, starts: np.ndarray, points_log2: int, polish_log2: int, keep: float) -> None:
    if starts.ndim != 3 or starts.shape[0] < 1 or starts.shape[-1] != model.atom_size:
        raise ValueError(f"starts has shape {starts.shape}; it must be (S, N, {model.atom_size}) with S at least 1")
    if not 1 <= points_log2 <= polish_log2 <= 30:
        raise ValueError(f"points_log2 is {points_log2} and polish_log2 {polish_log2}; 1 <= first <= second <= 30")
    if not keep >= 0:
        raise ValueError(f"keep is {keep}; it must be at least 0")


def _polish(
    model: Model,
    function: Callable[[np.ndarray], np.ndarray],
    ends: np.ndarray,
    candidates: list[int],
    dropped: list[str],
    fit: Fitter,
    polish_log2: int,
    keep: float,
    points: Points,
) -> PseudoTruths:
    """Fit the candidates again on many points and list the different ones that stay close to the best."""
    x = points(polish_log2, "polish")
    values = function(x)
    scale = float(np.std(values))
    last = (LADDER[-1],) if model.expert == "relu" else None  # earlier rungs would leave the basin
    polished = [fit(x, values, ends[k], last) for k in candidates]
    ends = np.stack([to_numpy(end.theta)[0] for end in polished])
    rmse = np.array([np.sqrt(2.0 * to_numpy(end.loss)[0]) for end in polished])
    labels = np.array(candidates)
    listed, more = lowest_minima(model, ends, rmse, keep, scale, f"on 2^{polish_log2} points", labels)
    x = points(polish_log2, "fresh")
    values = function(x)

    def column(name: str) -> np.ndarray:
        return np.array([to_numpy(getattr(polished[k], name))[0] for k in listed])

    return PseudoTruths(
        theta=ends[listed],
        rmse=rmse[listed],
        fresh_rmse=np.array([np.sqrt(np.mean((model.predict(ends[k], x) - values) ** 2)) for k in listed]),
        status=column("status"),
        gradient=column("gradient"),
        decrement=column("decrement"),
        min_eigenvalue=column("min_eigenvalue"),
        box_hits=column("box_hits"),
        start=labels[listed],
        scale=scale,
        dropped=dropped + more,
    )


def _function(
    target: Callable[[np.ndarray], np.ndarray] | tuple[Model, np.ndarray],
) -> Callable[[np.ndarray], np.ndarray]:
    if callable(target):
        return lambda x: as_float64(target(x), "target(x)")
    model, theta = target[0], as_float64(target[1], "target[1]")
    return lambda x: model.predict(theta, x)


def describe(minima: PseudoTruths) -> list[str]:
    """Say in sentences which minima there are, and what was dropped."""
    lines = [
        f"start {start}: root mean square {rmse:.6g} (fresh points {fresh:.6g}, target's standard deviation "
        f"{minima.scale:.4g}). {Status(int(status)).sentence} {hits} coordinates on the box."
        for start, rmse, fresh, status, hits in zip(
            minima.start, minima.rmse, minima.fresh_rmse, minima.status, minima.box_hits, strict=True
        )
    ]
    return lines + [f"dropped, {reason}" for reason in minima.dropped]
