r"""The least-squares argmin by two searches that share nothing but the data, and whether they agree.

One search from many starts says little about what it has missed. Two that draw everything apart and end at the same
residual sum of squares have met the same minimum, or two that no theorem tells apart: those of sigmoid-attention hold
for every point within v log n of the least residual sum of squares (v: noise variance; :mod:`moestat.fit.end_points`).
Within that width a data set is called *settled*, and within 0.1 v the two are the *same minimum*. Two searches can
still agree above the minimum; a longer one may tell.

A search counts Newton evaluations, and spends them in rounds:

1. The first round has random starts, drawn from the law of truths.
2. Later rounds take end points found before, one atom replaced by a random one (:func:`.search_starts.candidates`) or
   two. The end points are chosen by the residual sum of squares and by how often they have been chosen:
   each choice counts as so much of a higher sum (:data:`VISIT`), so that a neighbourhood that gives nothing is left.
3. The starts of a round are raced in heats of a few steps. After each, starts that head for an end point which is known,
   or for that of a better start, leave the race, as their functions show; of the others the lower ones go on. Most
   starts return to where they came from, and without this they win every race.
4. Those that are left are fitted to the end.

All searches of all data sets advance together, in full batches; no number depends on what is searched together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.fit import moves, search_starts
from moestat.fit.likelihood import check_settings
from moestat.fit.moments import Precision
from moestat.fit.newton import LADDER, Fit, least_squares
from moestat.models import truths
from moestat.models.regression import Model

SAME = 0.1  #: Two end points whose residual sums of squares differ by at most so many noise variances are one.
FIRST = 32  #: Starts of the first round.
ROUND = 24  #: Starts of a later one.
HEATS = ((12, 0.4), (28, 0.4))  #: Newton steps of every heat of a round, and the share of its starts that goes on.
LARGER_STEPS = 16  #: Newton steps of a fit with one atom more.
VISIT = 0.3  #: Every choice of an end point counts as so many noise variances above its residual sum of squares.
KEPT = 60  #: So many of the lowest end points are chosen from.
TWINS = 3.0
"""Two starts head for one end point if their functions differ by less: sum of squares over the data, noise variances."""
MARKS = 768  #: That sum is taken over the first so many samples, and scaled up.
ROUGH = 1e-6  #: Tolerance of all fits but the last one: a hundredth of a noise variance of the residual sum of squares.
END = 400  #: Newton steps at most of a start that has won its race.
BYTES, GPU_BYTES = 2**28, 2**32  #: Memory for copies of the data, one for each fit.


@dataclass(frozen=True)
class Found:
    """What one search found in one data set. NumPy arrays."""

    fit: Fit  #: The lowest end point, fitted to the end, with its certificate: a batch of one.
    ends: np.ndarray  #: (E, N, P), end points, the lowest (that of ``fit``) first.
    loss: np.ndarray  #: (E,), half their mean squared residuals.
    trace: np.ndarray  #: (T, 2), Newton evaluations spent after each round, and the lowest loss so far.

    @property
    def evaluations(self) -> float:
        """Newton evaluations spent."""
        return float(self.trace[-1, 0])


@dataclass(frozen=True)
class Settled:
    """Two searches of each of D data sets, and whether they agree."""

    first: list[Found]
    second: list[Found]
    rss: np.ndarray  #: (2, D), residual sums of squares of the two minimisers.
    apart: np.ndarray  #: (D,), how far apart they are, in noise variances.
    settled: np.ndarray  #: (D,) bool, whether by at most log n.
    same_minimum: np.ndarray  #: (D,) bool, whether by at most ``SAME``.


@takes_float64("x", "y")
def settle(
    model: Model,
    x: Array,
    y: Array,
    atoms: int,
    *,
    streams: tuple[Sequence[np.random.Generator], Sequence[np.random.Generator]],
    budget: int,
    noise_variance: float,
    box: float = 5.0,
    precision: Precision = "mixed",
) -> Settled:
    """Search the lowest least-squares fit with so many atoms to each of D data sets, twice.

    Parameters
    ----------
    x, y : arrays (D, n, d), (D, n)
    streams : two sequences of D random generators
        One generator for every data set and search; no two the same.
    budget : int
        Newton evaluations of each search of each data set: steps tried. A round that has begun is finished, which may
        take up to 2500 more.
    noise_variance : float
        The unit of differences of residual sums of squares, above 0.
    """
    problem, count, n = _Problem(model, x, y, atoms, noise_variance, box, precision), *x.shape[:2]
    found = _searched(problem, [rng for own in streams for rng in own], budget)
    first, second = found[:count], found[count:]
    rss = 2.0 * n * np.array([[one.loss[0] for one in own] for own in (first, second)])
    apart = np.abs(rss[0] - rss[1]) / noise_variance
    return Settled(first, second, rss, apart, apart <= np.log(n), apart <= SAME)


@takes_float64("x", "y")
def search(
    model: Model,
    x: Array,
    y: Array,
    atoms: int,
    *,
    streams: Sequence[np.random.Generator],
    budget: int,
    noise_variance: float,
    box: float = 5.0,
    precision: Precision = "mixed",
) -> list[Found]:
    """Search each of D data sets once; the arguments are those of :func:`settle`, with one generator a data set."""
    return _searched(_Problem(model, x, y, atoms, noise_variance, box, precision), streams, budget)


@dataclass(frozen=True)
class _Problem:
    """What all searches share: the data, which nothing is learnt from but through fits, and how fits are made."""

    model: Model
    x: Array
    y: Array
    atoms: int
    noise_variance: float
    box: float
    precision: Precision

    def fit(self, theta: np.ndarray, data: np.ndarray, **options: Any) -> Fit:
        """Fit each of M starts (M, N, P) to its data set (M,), so many at once as there is memory for."""
        xp = namespace(self.x, self.y)
        n, d = self.x.shape[1:]
        size = max(1, (GPU_BYTES if array_api_compat.is_cupy_array(self.x) else BYTES) // (8 * n * (d + 1)))
        parts = []
        for first in range(0, len(theta), size):
            own = slice(first, first + size)
            x, y = (xp.take(part, xp.asarray(data[own]), axis=0) for part in (self.x, self.y))
            starts = xp.asarray(theta[own])[:, None, ...]
            of = dict(box=self.box, precision=self.precision) | options
            parts.append(least_squares(self.model, x, y, starts, **of))
        return Fit(**{name: np.concatenate([to_numpy(getattr(p, name)) for p in parts]) for name in vars(parts[0])})

    def marks(self, theta: np.ndarray, data: int) -> np.ndarray:
        """Return functions (M, rows) of atoms (M, N, P), scaled so that squared distances are in noise variances."""
        xp, n = namespace(self.x), self.x.shape[1]
        rows = min(n, MARKS)
        values = to_numpy(self.model.predict(xp.asarray(theta), self.x[data, :rows, :]))
        return np.asarray(values) * np.sqrt(n / rows / self.noise_variance)


class _Line:
    """One search of one data set: the end points so far, how often each was chosen, what was spent."""

    def __init__(self, problem: _Problem, data: int, rng: np.random.Generator) -> None:
        self.problem, self.data, self.rng = problem, data, rng
        self.few = to_numpy(problem.x[data, : search_starts.FEW, :])
        self.ends = np.empty((0, problem.atoms, problem.model.atom_size))
        self.loss, self.chosen = np.empty(0), np.empty(0)
        self.marks = np.empty((0, min(problem.x.shape[1], MARKS)))  # at the end of the races, where starts are compared
        self.spent = 0.0
        self.trace: list[tuple[float, float]] = []

    def parents(self, count: int) -> list[int]:
        """Choose end points, each time the one whose sum, and what was added for earlier choices, is the lowest."""
        rss = 2.0 * self.problem.x.shape[1] * (self.loss[:KEPT] - self.loss[0]) / self.problem.noise_variance
        out = []
        for _ in range(count):
            out.append(int(np.argmin(rss + VISIT * self.chosen[:KEPT])))
            self.chosen[out[-1]] += 1
        return out

    def larger(self) -> np.ndarray:
        """Return end points with one atom more, (K, N + 1, P), as many as there are to be starts of a third of a round."""
        p = self.problem
        if not len(self.loss):
            return np.empty((0, p.atoms + 1, p.model.atom_size))
        count = max(1, ROUND // 3 // p.atoms)
        return np.stack([moves.added(p.model, self.few, self.ends[k], self.rng, p.box) for k in self.parents(count)])

    def starts(self, larger: np.ndarray) -> np.ndarray:
        """Return the starts of the next round (S, N, P); ``larger`` are fits with one atom more."""
        p, rng = self.problem, self.rng
        if not len(self.loss):
            law = [truths.ground_truth(p.model, p.atoms, "dense", rng) for _ in range(FIRST)]
            return np.clip(np.stack(law), -p.box, p.box)
        smaller = search_starts.without_one(larger).reshape(-1, *self.ends.shape[1:])
        parents = self.parents(max(0, ROUND - len(smaller)))
        made = [
            moves.halved(p.model, self.ends[k], rng)
            if turn % 2
            else moves.replaced(p.model, self.few, self.ends[k], rng, p.box)
            for turn, k in enumerate(parents)
        ]
        return np.clip(np.concatenate([smaller, np.stack(made)]), -p.box, p.box)

    def going_on(self, theta: np.ndarray, loss: np.ndarray, share: float) -> np.ndarray:
        """Return the positions of the lower starts that go on, none of which heads for a known end point or a better start."""
        marks = self.problem.marks(theta, self.data)
        most = int(np.ceil(share * len(theta)))
        out: list[int] = []
        for k in np.argsort(loss, kind="stable")[: int(np.isfinite(loss).sum())]:
            near = np.concatenate([self.marks, marks[out]])
            if len(out) < most and np.all(np.mean((near - marks[k]) ** 2, axis=1) * near.shape[1] > TWINS):
                out.append(int(k))
        return np.array(out, dtype=np.int64)

    def take(self, raced: np.ndarray, theta: np.ndarray, loss: np.ndarray) -> None:
        """Add end points (M, N, P), whose races left them at ``raced``, the lowest first; of twins one is kept."""
        fine = np.isfinite(loss)
        loss, ends = np.concatenate([self.loss, loss[fine]]), np.concatenate([self.ends, theta[fine]])
        marks = np.concatenate([self.marks, self.problem.marks(raced[fine], self.data)])
        chosen = np.concatenate([self.chosen, np.zeros(int(fine.sum()))])
        order = np.argsort(loss, kind="stable")
        self.loss, self.ends, self.marks, self.chosen = (part[order] for part in (loss, ends, marks, chosen))
        self.trace.append((self.spent, float(self.loss[0]) if len(self.loss) else np.inf))


def _searched(problem: _Problem, streams: Sequence[np.random.Generator], budget: int) -> list[Found]:
    """Search each data set once with every generator; the generators of all data sets, then the next ones of all."""
    check_settings(1, atoms=problem.atoms, budget=budget)
    if not problem.noise_variance > 0:
        raise ValueError(f"noise_variance is {problem.noise_variance}; it is the unit of a search, and must be above 0")
    lines = [_Line(problem, k % problem.x.shape[0], rng) for k, rng in enumerate(streams)]
    while active := [line for line in lines if line.spent < budget]:
        _round(problem, active)
    return [_found(line) for line in lines]


def _round(problem: _Problem, lines: list[_Line]) -> None:
    """Make, race and finish the starts of one round of some searches, all together."""
    owners = np.arange(len(lines))
    early: dict[str, Any] = dict(tolerance=ROUGH)
    if problem.model.expert == "relu":
        early["ladder"] = LADDER[:1]
    larger = [line.larger() for line in lines]
    which = np.repeat(owners, [len(one) for one in larger])
    if len(which):
        fit = _fitted(problem, lines, np.concatenate(larger), which, max_iterations=LARGER_STEPS, **early)
        larger = [fit.theta[which == k] for k in owners]
    starts = [line.starts(one) for line, one in zip(lines, larger, strict=True)]
    which, theta = np.repeat(owners, [len(one) for one in starts]), np.concatenate(starts)
    for steps, share in HEATS:
        fit = _fitted(problem, lines, theta, which, max_iterations=steps, **early)
        kept = []
        for k, line in enumerate(lines):
            own = np.flatnonzero(which == k)
            kept.append(own[line.going_on(fit.theta[own], fit.smoothed_loss[own], share)])
        go_on = np.concatenate(kept)
        theta, which = fit.theta[go_on], which[go_on]
    if len(which):
        raced, fit = theta, _fitted(problem, lines, theta, which, max_iterations=END, tolerance=ROUGH)
    for k, line in enumerate(lines):
        own = which == k
        line.take(raced[own], fit.theta[own], fit.loss[own])


def _fitted(problem: _Problem, lines: list[_Line], theta: np.ndarray, which: np.ndarray, **options: Any) -> Fit:
    """Fit starts of some searches, and charge each search with its steps; those with an atom more cost more."""
    fit = problem.fit(theta, np.array([line.data for line in lines])[which], **options)
    cost = np.bincount(which, fit.iterations, len(lines)) * (theta.shape[1] / problem.atoms) ** 2
    for line, spent in zip(lines, cost, strict=True):
        line.spent += float(spent)
    return fit


def _found(line: _Line) -> Found:
    """Return what a search has found, its lowest end point fitted to the end."""
    last = dict(ladder=LADDER[-1:]) if line.problem.model.expert == "relu" else {}
    fit = line.problem.fit(line.ends[:1], np.array([line.data]), **last)
    ends, loss = line.ends.copy(), line.loss.copy()
    if fit.loss[0] <= loss[0]:  # it is, but for rounding
        ends[0], loss[0] = fit.theta[0], fit.loss[0]
    return Found(fit, ends, loss, np.array(line.trace))
