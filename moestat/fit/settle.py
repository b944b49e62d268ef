"""The least-squares argmin by two searches that draw everything apart, and whether they agree.

If both end at the same residual sum of squares they have met one minimum, or two that no theorem tells apart: those of
sigmoid-attention hold for every point within v log n of the least residual sum of squares (v: noise variance;
:mod:`moestat.fit.end_points`). Within that width a data set is *settled*; within 0.1 v the two are the *same minimum*.
Two searches can agree above the minimum all the same: a longer one may tell.

A search counts Newton evaluations, and spends them in rounds of starts:

1. The first are drawn from the law of truths; where points are told (``known``), as many lie around these. Later ones
   are end points of the search itself without an atom, and with one of many that promises most
   (:func:`moestat.fit.search_starts.screen`), with an atom halved in the place of another, or with atoms of another end
   point (:mod:`moestat.fit.moves`).
2. An end point is chosen for it by its residual sum of squares, to which each earlier choice adds ``VISIT`` v: so a
   neighbourhood that gives nothing is left, and taken up again when those above it have given nothing either.
3. The starts of a round are raced in heats of a few steps. After each the lower ones go on, without those that head
   for a known end point, or for that of a lower start, as their functions show: most starts return to where they came
   from, and would win every race.
4. Those that are left are fitted to the end.

All searches of all data sets share one batch, in which no search waits for another: it goes on as soon as its own
starts have ended. No number depends on what is searched together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from moestat.arrays import Array, namespace, to_numpy
from moestat.doors import takes_float64
from moestat.errors import InputError
from moestat.fit import moves, search_starts
from moestat.fit.likelihood import check_settings
from moestat.fit.moments import Precision
from moestat.fit.newton import LADDER, Fit, from_each
from moestat.fit.served import Fits, Search, serve
from moestat.models import truths
from moestat.models.regression import Model

Streams = Sequence[np.random.Generator]

SAME = 0.1  #: Two end points whose residual sums of squares differ by at most so many noise variances are one minimum.
WIDTH = 12  #: Starts of a round; the first has a third more.
HEATS = ((12, 0.4), (28, 0.4))  #: Newton steps of every heat of a round, and the share of its starts that goes on.
SCREENS, SCREENED = 2, 64  #: Screens of a round, and candidates of each; a quarter of a round's starts come of one.
FIXED, EACH = 5.0, 6.0
"""What a screen costs by its processor time: evaluations, and those for each candidate by its columns a parameter."""
VISIT, KEPT = 0.3, 60  #: What a choice of an end point adds; so many of the lowest are chosen from.
PARTNERS = 12  #: Atoms are taken from one of so many of the lowest end points.
TWINS = (5.0, 3.0)
"""After each heat starts are of one end point if the squared difference of their functions sums to this at most (v)."""
ROWS = 768  #: The sum is taken over the first so many samples, and scaled up.
FEW = 256  #: Atoms are matched by what they add to the function at the first so many samples.
ROUGH = 1e-6  #: Tolerance of all fits but the last one, a hundredth of v or less in the residual sum of squares.
END = 400  #: Newton steps at most of a start that has won its race.


@dataclass(frozen=True)
class Found:
    """What one search found in one data set. NumPy arrays."""

    fit: Fit  #: The lowest end point, fitted to the end, with its certificate: a batch of one.
    ends: np.ndarray  #: (E, N, P), end points, the lowest (that of ``fit``) first.
    loss: np.ndarray  #: (E,), half their mean squared residuals.
    trace: np.ndarray  #: (T, 2), Newton evaluations spent after each round, and the lowest loss; the last fit is free.

    @property
    def evaluations(self) -> float:
        """Newton evaluations."""
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


@takes_float64("x", "y", "known", finite=True)
def settle(
    model: Model,
    x: Array,
    y: Array,
    atoms: int,
    *,
    streams: tuple[Streams, Streams],
    budget: int,
    noise_variance: float,
    known: np.ndarray | None = None,
    width: int = WIDTH,
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
    noise_variance : float, above 0
    known : array (K, atoms, P) or (D, K, atoms, P), optional
        Points around which half of the first starts lie: forms of a known truth, say, or of every data set's own.
    width : int, default 12
        Starts of a round; the first has a third more. A hundred and many data sets keep a GPU busy.
    """
    count, n = x.shape[:2]
    found = _searched(_Problem(model, x, y, atoms, noise_variance, box, precision, width), streams, budget, known)
    first, second = found[:count], found[count:]
    rss = 2.0 * n * np.array([[one.loss[0] for one in own] for own in (first, second)])
    apart = np.abs(rss[0] - rss[1]) / noise_variance
    return Settled(first, second, rss, apart, apart <= np.log(n), apart <= SAME)


@takes_float64("x", "y", "known", finite=True)
def search(
    model: Model,
    x: Array,
    y: Array,
    atoms: int,
    *,
    streams: Streams,
    budget: int,
    noise_variance: float,
    known: np.ndarray | None = None,
    width: int = WIDTH,
    box: float = 5.0,
    precision: Precision = "mixed",
) -> list[Found]:
    """Search each of D data sets once; the arguments are those of :func:`settle`, with one generator a data set."""
    return _searched(_Problem(model, x, y, atoms, noise_variance, box, precision, width), [streams], budget, known)


@dataclass(frozen=True)
class _Problem:
    """What all searches share: the data, and how fits are made."""

    model: Model
    x: Array
    y: Array
    atoms: int
    noise_variance: float
    box: float
    precision: Precision
    width: int

    def marks(self, theta: np.ndarray, data: int) -> np.ndarray:
        """Return functions of atoms (M, N, P), whose mean squared differences are in noise variances over the data."""
        xp, n = namespace(self.x), self.x.shape[1]
        values: np.ndarray = to_numpy(self.model.predict(xp.asarray(theta), self.x[data, : min(ROWS, n), :]))
        return values * float(np.sqrt(n / self.noise_variance))


class _Line:
    """One search of one data set: the end points so far, how often each was chosen, what was spent."""

    def __init__(self, problem: _Problem, data: int, rng: np.random.Generator, known: np.ndarray) -> None:
        self.problem, self.data, self.rng, self.known = problem, data, rng, known
        self.few = to_numpy(problem.x[data, : min(FEW, problem.x.shape[1]), :])
        self.ends = np.empty((0, problem.atoms, problem.model.atom_size))
        self.loss, self.chosen = np.empty(0), np.empty(0)
        self.marks = np.empty((0, min(problem.x.shape[1], ROWS)))  # where their races ended
        self.spent = 0.0
        self.trace: list[tuple[float, float]] = []

    def parents(self, count: int) -> list[int]:
        """Choose so many end points, one after the other."""
        rss = 2.0 * self.problem.x.shape[1] * (self.loss[:KEPT] - self.loss[0]) / self.problem.noise_variance
        out = []
        for _ in range(count):
            out.append(int(np.argmin(rss + VISIT * self.chosen[:KEPT])))
            self.chosen[out[-1]] += 1
        return out

    def starts(self) -> np.ndarray:
        """Return the starts of the next round, (S, N, P)."""
        model, box, rng = self.problem.model, self.problem.box, self.rng
        if not len(self.loss):
            first = self.problem.width * 4 // 3
            law = [truths.ground_truth(model, self.problem.atoms, "dense", rng) for _ in range(first)]
            near = search_starts.near(self.known, first if len(self.known) else 0, lambda purpose: rng, box=box)
            both: np.ndarray = np.concatenate([near, np.clip(np.stack(law), -box, box)])
            return both
        made = [start for k in self.parents(SCREENS) for start in self.screened(self.ends[k])]
        for turn, k in enumerate(self.parents(self.problem.width - len(made))):
            if turn % 3 < 2 or len(self.loss) == 1:
                made.append(moves.halved(model, self.ends[k], rng))
            else:
                partner = int(rng.integers(min(PARTNERS, len(self.loss)) - 1))
                other = self.ends[partner + (partner >= k)]
                made.append(moves.crossed(model, self.few, self.ends[k], other, rng))
        inside: np.ndarray = np.clip(np.stack(made), -box, box)
        return inside

    def screened(self, theta: np.ndarray) -> list[np.ndarray]:
        """Return starts with one atom replaced by those of ``SCREENED`` random ones that promise most."""
        p, data = self.problem, self.data
        base = np.delete(theta, self.rng.integers(len(theta)), axis=0)
        law = np.full(p.model.atom_size, p.model.d**-0.5)
        drawn = search_starts.candidates(p.model, p.x[data, ...], base, SCREENED, law, self.rng, box=p.box)
        placed, gain = search_starts.screen(p.model, p.x[data, ...], p.y[data, ...], base, drawn, box=p.box)
        self.spent += FIXED + EACH * SCREENED * (p.model.expert_size + 1) / theta.size
        chosen = np.argsort(-gain, kind="stable")[: p.width // 4]
        return [np.concatenate([base, placed[k : k + 1]]) for k in chosen]

    def going_on(self, theta: np.ndarray, loss: np.ndarray, share: float, twins: float) -> np.ndarray:
        """Return the positions of the starts (M, N, P) that go on, the lowest first."""
        marks = self.problem.marks(theta, self.data)
        others = (cdist(marks, self.marks, "sqeuclidean") / marks.shape[1]).min(axis=1, initial=np.inf)
        out: list[int] = []
        for k in np.argsort(loss, kind="stable"):
            apart = np.mean((marks[out] - marks[k]) ** 2, axis=1).min(initial=others[k])
            if len(out) < share * len(theta) and np.isfinite(loss[k]) and apart > twins:
                out.append(int(k))
        return np.array(out, dtype=np.int64)

    def rounds(self, budget: int) -> Search:
        """Make, race and finish the starts of one round after the other, until the budget is spent."""
        while self.spent < budget:
            theta = self.starts()
            for (steps, share), twins in zip(HEATS, TWINS, strict=True):
                if not len(theta):
                    break
                raced = yield Fits(theta, steps, race=True)
                self.spent += float(raced["iterations"].sum())
                theta = raced["theta"][self.going_on(raced["theta"], raced["smoothed_loss"], share, twins)]
            ended, loss = theta, np.empty(0)
            if len(theta):
                ends = yield Fits(theta, END, race=False)
                self.spent += float(ends["iterations"].sum())
                ended, loss = ends["theta"], ends["loss"]
            self.take(theta, ended, loss)

    def take(self, raced: np.ndarray, theta: np.ndarray, loss: np.ndarray) -> None:
        """Add end points (M, N, P), whose races left them at ``raced``."""
        new = (loss, theta, self.problem.marks(raced, self.data), np.zeros(len(loss)))
        old = (self.loss, self.ends, self.marks, self.chosen)
        loss, *rest = (np.concatenate(pair) for pair in zip(old, new, strict=True))
        order = np.argsort(loss, kind="stable")[: int(np.isfinite(loss).sum())]
        self.loss, self.ends, self.marks, self.chosen = (part[order] for part in (loss, *rest))
        self.trace.append((self.spent, float(self.loss[0]) if len(order) else np.inf))


def _searched(problem: _Problem, streams: Sequence[Streams], budget: int, known: np.ndarray | None) -> list[Found]:
    """Search every data set once with its generator of each sequence; results in that order."""
    if not isinstance(problem.model, Model):
        raise InputError(
            "settle and search take models whose gate and experts are names or files; for one of functions there is "
            "least_squares(..., search='global')"
        )
    check_settings(1, budget=budget)
    check_settings(2, atoms=problem.atoms)
    check_settings(4, width=problem.width)
    if not problem.noise_variance > 0:
        raise ValueError(f"noise_variance is {problem.noise_variance}; it is the unit of a search, and must be above 0")
    sets = problem.x.shape[0]
    if wrong := [len(own) for own in streams if len(own) != sets]:
        raise ValueError(f"streams has {wrong[0]} generators; each of {sets} data sets needs its own")
    shape = (problem.atoms, problem.model.atom_size)
    told = np.empty((0, *shape)) if known is None else known
    each = told if told.ndim == 4 else np.broadcast_to(told, (sets, *told.shape))
    if each.ndim != 4 or each.shape[2:] != shape or len(each) != sets:
        wanted = f"(K, {shape[0]}, {shape[1]}) or ({sets}, K, {shape[0]}, {shape[1]})"
        raise ValueError(f"known has shape {told.shape}; it must be {wanted}")
    lines = [_Line(problem, k, rng, each[k]) for own in streams for k, rng in enumerate(own)]
    searches = [(line.data, line.rounds(budget)) for line in lines]
    how: dict[str, Any] = dict(box=problem.box, tolerance=ROUGH, precision=problem.precision)
    serve(searches, problem.model, problem.x, problem.y, problem.atoms, **how)
    return _found(problem, lines)


def _found(problem: _Problem, lines: list[_Line]) -> list[Found]:
    """Fit the lowest end points of all searches to the end."""
    last: dict[str, Any] = dict(ladder=LADDER[-1:]) if problem.model.expert == "relu" else {}
    last |= dict(box=problem.box, precision=problem.precision, data=np.array([line.data for line in lines]))
    fits = from_each(problem.model, problem.x, problem.y, np.stack([line.ends[0] for line in lines]), **last)
    out = []
    for k, line in enumerate(lines):
        fit = Fit(**{name: value[k : k + 1] for name, value in vars(fits).items()})
        ends, loss, trace = line.ends.copy(), line.loss.copy(), np.array(line.trace)
        ends[0], loss[0], trace[-1, 1] = fit.theta[0], fit.loss[0], fit.loss[0]
        out.append(Found(fit, ends, loss, trace))
    return out
