r"""The least-squares estimator, from given starts, with a certificate.

:math:`\hat\theta` minimises :math:`\tfrac12 \mathrm{mean} (Y - f_\theta(X))^2` over the box
:math:`|\theta| \le` ``box``. The box is part of the estimator: over-specified models have no minimiser in a bounded
region otherwise (an atom whose output vanishes has a free gate).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import array_api_compat
import numpy as np

from moestat.arrays import Array, free_bytes, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.fit import cuda, kernel
from moestat.fit.active_set import State, take
from moestat.fit.cuda_problem import problem_on_device
from moestat.fit.descent import Settings, Starts, descend
from moestat.fit.moments import Precision, Problem, layout, rows_per_chunk
from moestat.models.regression import Model
from moestat.status import Status

LADDER = (0.1, 0.01, 0.001)  #: Half widths of the quadratic blend that replaces the ReLU's kink, in turn.
BATCH_BYTES = 24 * 2**20  #: On a processor; on a GPU a quarter of the free memory.


@dataclass(frozen=True)
class Fit:
    """Local least-squares fits; every field is an array with the batch first."""

    theta: Array  #: (B, N, P), the best end point over the starts.
    loss: Array  #: (B,), half the mean squared residual at ``theta``, without smoothing.
    smoothed_loss: Array  #: (B,), the loss that was minimised: with the ReLU's kink smoothed by the last rung.
    #: (B,) int, a :class:`moestat.status.Status`; ``CONVERGED`` means that ``decrement`` is below the tolerance and
    #: that no direction of negative curvature leads lower.
    status: Array
    iterations: Array  #: (B,) int, steps tried from the winning start, all rungs together.
    #: (B,), largest absolute entry of the gradient over the free coordinates (those that the box does not hold).
    gradient: Array
    #: (B,), Newton decrement, half g' |H|^-1 g over the free coordinates, exact Hessian, float64, no damping.
    decrement: Array
    #: (B,), smallest eigenvalue of the exact Hessian over the free coordinates, the softmax gauge left out.
    min_eigenvalue: Array
    box_hits: Array  #: (B,) int, number of coordinates on the box.
    start: Array  #: (B,) int, index of the start that won.
    start_losses: Array  #: (B, S), loss (without smoothing) at the end of every start.
    start_status: Array  #: (B, S) int
    #: (B,) int, Cholesky factorisations for the steps: more damping, and a way to the box, take more than one. Empty if
    #: they were not counted.
    factorisations: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    #: (B,), of a mixture of functions: the directions that leave f as it is and were left out of the eigenvalues.
    flat: Array = field(default_factory=lambda: np.zeros(0))

    def message(self) -> list[str]:
        """Say for every member how its fit ended, in one sentence."""
        names = ("status", "loss", "gradient", "decrement", "min_eigenvalue", "box_hits")
        rows = zip(*(to_numpy(getattr(self, name)) for name in names), strict=True)
        counts = to_numpy(self.flat) if len(self.flat) else np.zeros(len(self.status))
        flat = [f" ({count:.0f} flat directions left out)" if count else "" for count in counts]
        return [
            f"{Status(int(status)).sentence} Loss {loss:.6g}, projected gradient {gradient:.1e}, Newton decrement "
            f"{decrement:.1e}, smallest free eigenvalue {smallest:.1e}{left}, {hits} coordinates on the box."
            for (status, loss, gradient, decrement, smallest, hits), left in zip(rows, flat, strict=True)
        ]


@takes_float64("x", "y", "starts")
def least_squares(
    model: Model,
    x: Array,
    y: Array,
    starts: Array,
    *,
    box: float = 5.0,
    ladder: Sequence[float] | None = None,
    max_iterations: int = 2000,
    tolerance: float = 1e-9,
    precision: Precision = "mixed",
    batch_bytes: int | None = None,
    certify_limit: bool = True,
) -> Fit:
    """Fit a regression mixture by least squares in a box, from every start, and keep the best end point.

    Damped Gauss-Newton steps first, exact Newton steps once Gauss-Newton has stopped to pay; identity damping after
    Nielsen; coordinates on the box are held while the gradient pushes outwards. ReLU experts are smoothed by the
    rungs of a ladder in turn. A member stops when its Newton decrement is below ``tolerance`` times its loss (or
    1e-15 times the variance of y), which is then checked in float64 with the eigenvalues of the exact Hessian; a
    saddle point is left along its direction of negative curvature.

    This is a *local* minimiser near the starts. Nothing here says that it is the global one.

    Parameters
    ----------
    x, y : arrays (B, n, d), (B, n)
    starts : array (B, S, N, P)
        Coordinates outside the box are moved onto it.
    box : float, default 5
        Bound on the absolute value of every coordinate.
    ladder : sequence of float, default (0.1, 0.01, 0.001) for ReLU experts and (0,) for the others
        Half widths of the smoothing, decreasing, in turn.
    max_iterations : int, default 2000
        Steps tried from one start, all rungs together. At d = 8 a fit takes 30 to 300; where atoms cancel (d = 1,
        linear experts) it creeps along a valley to the box and may need 1000.
    tolerance : float, default 1e-9
        Newton decrement, as a share of the loss, at which a fit has converged.
    precision : {"mixed", "double"}
        "mixed": the products that make the Hessian run in float32 (not near the end of a fit without noise, nor after
        a refusal by the certificate); loss, gradient, factorisation and certificate are float64 in both.
    batch_bytes : int, optional
        Memory for the arrays of one batch; it decides how many members are computed together, and nothing else.
    certify_limit : bool, default True
        If False, fits that run out of steps end without a certificate: NaN for decrement and smallest eigenvalue.
    """
    options: dict[str, Any] = {"precision": precision, "batch_bytes": batch_bytes, "certify_limit": certify_limit}
    xp = namespace(x, y, starts)
    if starts.ndim != 4 or starts.shape[0] != x.shape[0]:
        wanted = f"(B, S, N, P) with B = {x.shape[0]} and P = {model.atom_size}"
        raise ValueError(f"starts has shape {tuple(starts.shape)}; it must be {wanted}")
    (batch, s), every = starts.shape[:2], xp.reshape(starts, (-1, *starts.shape[2:]))
    ends = _ends(model, x, y, every, np.repeat(np.arange(batch), s), box, ladder, max_iterations, tolerance, **options)
    start_losses, start_status = (xp.reshape(ends[name], (batch, s)) for name in ("loss", "status"))
    comparable = xp.where(xp.isfinite(start_losses), start_losses, xp.asarray(float("inf"), dtype=x.dtype))
    start = xp.argmin(comparable, axis=-1)
    best = take(ends, xp.arange(batch) * s + start)
    return Fit(**best, start=start, start_losses=start_losses, start_status=start_status)


@takes_float64("x", "y", "starts")
def from_each(
    model: Model,
    x: Array,
    y: Array,
    starts: np.ndarray,
    *,
    data: np.ndarray | None = None,
    box: float = 5.0,
    ladder: Sequence[float] | None = None,
    max_iterations: int = 2000,
    tolerance: float = 1e-9,
    **options: Any,
) -> Fit:
    """Fit data sets from each of M starts (M, N, P), and return every end: a :class:`Fit` of NumPy arrays, M rows.

    The data are one set x (n, d), y (n,) for all starts, or D of them, x (D, n, d), y (D, n), of which ``data`` (M,)
    names that of every start. They are not copied for each. Other arguments are those of :func:`least_squares`.
    """
    if data is None:
        x, y, data = x[None, ...], y[None, ...], np.zeros(len(starts), dtype=np.int64)
    if data.shape != (len(starts),) or not np.isin(data, np.arange(x.shape[0])).all():
        raise ValueError(f"data must name one of the {x.shape[0]} data sets for each of the {len(starts)} starts")
    ends = _ends(model, x, y, namespace(x, y).asarray(starts), data, box, ladder, max_iterations, tolerance, **options)
    known = {name: to_numpy(value) for name, value in ends.items()}
    start = np.zeros(len(starts), dtype=np.int64)
    return Fit(**known, start=start, start_losses=known["loss"][:, None], start_status=known["status"][:, None])


def _ends(
    model: Model,
    x: Array,
    y: Array,
    starts: Array,
    data: np.ndarray,
    box: float,
    ladder: Sequence[float] | None,
    max_iterations: int,
    tolerance: float,
    precision: Precision = "mixed",
    batch_bytes: int | None = None,
    certify_limit: bool = True,
) -> State:
    """Return where the fits of data sets (D, n, d), (D, n) end, from starts (M, N, P) of the data sets named (M,)."""
    xp = namespace(x, y, starts)
    settings = settings_of(model, box, ladder, tolerance)
    if not max_iterations > 0:
        raise ValueError(f"max_iterations is {max_iterations}; it must be above 0")
    if precision not in ("mixed", "double"):
        raise ValueError(f"precision is {precision!r}; allowed are mixed, double")
    if x.ndim != 3 or x.shape[-1] != model.d:
        raise ValueError(f"x has shape {tuple(x.shape)}; it must be (B, n, d) with d = {model.d}")
    if tuple(y.shape) != tuple(x.shape[:2]):
        raise ValueError(f"y has shape {tuple(y.shape)}; it must be (B, n) = {tuple(x.shape[:2])}")
    if starts.ndim != 3 or starts.shape[-1] != model.atom_size:
        raise ValueError(f"starts has shape {tuple(starts.shape)}; it must end with (N, P) with P = {model.atom_size}")
    feed = _Listed(starts, data, int(max_iterations), certify_limit)
    apart = 2 * x.shape[0] > starts.shape[0]
    at_once, most = sizes(model, starts.shape[1], x, apart, batch_bytes)
    for first in range(0, x.shape[0], at_once):
        sets = slice(first, min(first + at_once, x.shape[0]))
        problem = problem_of(model, starts.shape[1], x[sets, ...], y[sets, ...], precision)
        feed.only(sets)
        descend(problem, xp.var(y[sets, ...], axis=-1), feed, settings, most)
    return feed.ends()


def settings_of(model: Model, box: float, ladder: Sequence[float] | None, tolerance: float) -> Settings:
    """Return what all members of a descent share; without a ladder the rungs of :func:`least_squares`."""
    rungs = (LADDER if model.expert == "relu" else (0.0,)) if ladder is None else tuple(float(tau) for tau in ladder)
    return Settings(float(box), rungs, float(tolerance))


class _Listed:
    """Starts that are all known before (a :class:`moestat.fit.descent.Feed`), those of some data sets at a time."""

    def __init__(self, starts: Array, data: np.ndarray, steps: int, certified: bool) -> None:
        self.starts, self.data, self.steps, self.certified = starts, data, steps, certified
        self.ended: list[tuple[np.ndarray, dict[str, Any]]] = []

    def only(self, sets: slice) -> None:
        """Hand over the starts of these data sets from now on."""
        self.first = sets.start
        self.waiting = np.flatnonzero((self.data >= sets.start) & (self.data < sets.stop))

    def take(self, most: int) -> Starts | None:
        """Hand over the next ones."""
        member, self.waiting = self.waiting[:most], self.waiting[most:]
        if not len(member):
            return None
        xp = namespace(self.starts)
        theta = xp.take(self.starts, xp.asarray(member), axis=0)
        return Starts(theta, member, self.data[member] - self.first, self.steps, certified=self.certified)

    def give(self, member: np.ndarray, ends: dict[str, Any]) -> None:
        """Keep the ends."""
        self.ended.append((member, ends))

    def ends(self) -> State:
        """Return all ends in the order of the starts, arrays of the device."""
        xp, parts = namespace(self.starts), [ends for _, ends in self.ended]
        place = np.argsort(np.concatenate([member for member, _ in self.ended]))
        theta = xp.take(xp.concat([part["theta"] for part in parts]), xp.asarray(place), axis=0)
        rest = [name for name in parts[0] if name != "theta"]
        numbers = {name: xp.asarray(np.concatenate([part[name] for part in parts])[place]) for name in rest}
        return {"theta": theta, **numbers}


def sizes(model: Model, n_atoms: int, x: Array, apart: bool, batch_bytes: int | None = None) -> tuple[int, int]:
    """Return how many data sets, and how many members, are computed together: as many as the memory for a batch holds.

    Half of it, on a GPU, is for the data and their features. ``apart`` says that most members have data of their own.
    """
    on_gpu = array_api_compat.is_cupy_array(x)
    if batch_bytes is None:
        batch_bytes = free_bytes(x) // 4 if on_gpu else BATCH_BYTES
    n, p = x.shape[1], n_atoms * model.atom_size
    rows = min(n, rows_per_chunk(model, n_atoms, x))
    counts = layout(model, n_atoms).sizes
    # of a chunk: gates, experts and weights of pairs, and monomials while they are made; of a data set, features
    chunk, own, matrices = n_atoms * (15 + 2 * n_atoms) + counts[0], 2 * model.atom_size, 6
    if on_gpu and cuda.serves(model):  # weights alone; monomials of data of its own
        chunk, matrices = 2 * n_atoms * n_atoms + 8 * n_atoms + sum(counts) * apart, 10
    numbers = rows * chunk + matrices * p * p
    if on_gpu:
        most = min(cuda.MEMBERS, max(1, int(batch_bytes // (8 * numbers))))
        return max(1, int(batch_bytes // (16 * own * n))), most
    most = max(1, int(batch_bytes // (8 * (numbers + own * n * (x.shape[0] > 1)))))
    return most, most


def problem_of(model: Model, n_atoms: int, x: Array, y: Array, precision: Precision) -> Problem:
    """Return the problems of a batch, compiled for this processor or GPU where that is possible."""
    if kernel.serves(x):
        from moestat.fit.compiled_problem import CompiledProblem  # needs numba, and half a second to import it

        return CompiledProblem(model, n_atoms, x, y, precision)
    return problem_on_device(model, n_atoms, x, y, precision)
