"""The least-squares estimator as the theorems define it: the lowest of many local minima, with a record of the search.

The loss of an over-specified or misspecified mixture has many local minima, which differ in what the atoms that the
truth does not need fit of the noise (or of the wrong gate). Here many starts compete for each data set:

1. the *local* estimator's own starts are fitted to the end; they are the yardstick;
2. starts near every known minimiser, random draws, and smaller fits with one atom more (all of
   :mod:`moestat.fit.search_starts`) are *raced*: a few Newton steps, on a part of the rows where there are many, then
   the better ones a few more; the survivors are fitted to the end on all rows;
3. rounds of replacements follow: the atom that the best fit needs least is taken out, and another put in, as in the
   split-and-merge moves of Ueda et al. (SMEM, Neural Computation 12, 2000) and the insertion steps of the sliding
   Frank-Wolfe algorithm (Denoyelle et al., Inverse Problems 36, 2019).

The search stops when ``agree`` of its fits, from independent starts, have ended at the best minimum and a round of
replacements has not led lower, and otherwise when its budget is spent. Nothing proves that the result is the global
minimum; how often the best was found, how many minima there are and what may be left (:mod:`moestat.fit.end_points`)
are part of the result. Populations (quadrature points with noiseless responses) are searched like samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from moestat.arrays import Array, namespace
from moestat.doors import takes_float64
from moestat.fit import end_points, search_starts
from moestat.fit.likelihood import check_settings
from moestat.fit.moments import Precision
from moestat.fit.newton import LADDER, Fit, from_each
from moestat.fit.search_starts import KINDS, Stream
from moestat.models.regression import Model

COARSE = 1e-6  #: Tolerance of the race, where a start that is done early need not be done well.
BASE_STEPS = 12  #: Newton steps of the smaller fits that an atom is put into.
BASES = 3  #: How many of the fits with one atom less, the lowest ones, get another atom.


@dataclass(frozen=True)
class Budget:
    """How much is searched."""

    near: int = 16  #: Starts in the first race, as of the next two kinds.
    random: int = 8
    inserted: int = 16
    screened: int = 512  #: Candidate atoms per race that the inserted ones are chosen from.
    rounds: int = 3  #: Races of replacements after the first race.
    replaced: int = 8  #: Starts in each of them.
    #: Newton steps of every heat of a race, and the share of its starts that goes on.
    heats: tuple[tuple[int, float], ...] = ((12, 0.5), (28, 0.5))
    rows: int = 16384  #: A race sees at most the first so many rows.
    #: No more rounds follow when the best minimum has been reached from so many independent starts, and the last round
    #: did not lower it.
    agree: int = 3

    def __post_init__(self) -> None:
        for least, names in ((0, "near random inserted rounds replaced"), (1, "screened rows agree")):
            check_settings(least, **{name: getattr(self, name) for name in names.split()})
        if any(steps < 1 or not 0 < share <= 1 for steps, share in self.heats):
            raise ValueError(f"heats is {self.heats}; every heat needs at least 1 step and a share in (0, 1]")

    def times(self, factor: float) -> Budget:
        """Return this budget with ``factor`` times as many starts, rounded up."""
        names = ("near", "random", "inserted", "screened", "replaced")
        counts: dict[str, Any] = {name: int(np.ceil(factor * getattr(self, name))) for name in names}
        return replace(self, **counts | {"screened": max(counts["screened"], 1)})


@dataclass(frozen=True)
class Search:
    """The best fit to one data set, and what the search for it saw. NumPy arrays."""

    fit: Fit  #: The lowest end point with its certificate, a batch of one; ``fit.start`` is its position in ``ends``.
    #: Kind of the start that led to it (:data:`moestat.fit.search_starts.KINDS`); of starts that tie, the first.
    kind: str
    ends: np.ndarray  #: (E, N, P), all end points on all rows, in the order in which they were found.
    loss: np.ndarray  #: (E,), and so the next two.
    status: np.ndarray
    end_kind: np.ndarray
    #: For every kind the last loss of each of its starts: at the end of its fit, or where it left the race (then on the
    #: rows of the race, with the smoothing of its first rung).
    start_losses: dict[str, np.ndarray]
    found: int  #: Number of end points, from independent starts, at the best minimum.
    distinct: int  #: Number of different minima among all end points.
    lower_left: float  #: The chance that something lower is left, see :mod:`moestat.fit.end_points`.
    gain: float  #: Residual sum of squares of the best local end point minus that of the best one.
    agreed: bool  #: Whether ``found`` is at least the number asked for.
    steps: float  #: Newton steps in all, those on a part of the rows counted by their share.


@takes_float64("x", "y", "local", "known", "smaller")
def global_search(
    model: Model,
    x: Array,
    y: Array,
    *,
    local: np.ndarray,
    known: np.ndarray,
    stream: Stream,
    smaller: np.ndarray | None = None,
    box: float = 5.0,
    budget: Budget | None = None,
    max_iterations: int = 2000,
    precision: Precision = "mixed",
) -> Search:
    """Search the lowest least-squares fit of one data set x (n, d), y (n,).

    Parameters
    ----------
    local : array (S, N, P)
        Starts of the local estimator, S >= 1.
    known : array (K, N, P)
        Known minimisers: of the population, say; splits of the truth, pseudo-truths.
    stream : callable
        ``stream(purpose)`` returns the random generator of a purpose.
    smaller : array (B, N - 1, P), optional
        Known minimisers with one atom less, which atoms are put into. Without them these are the best local end points
        without one atom, the lowest of them.
    """
    budget = Budget() if budget is None else budget
    shape = (local.shape[-2], model.atom_size) if local.ndim == 3 else None
    if shape is None or len(local) < 1 or known.shape[1:] != shape or len(known) < 1:
        wanted = f"(S, N, P) and (K, N, P) with P = {model.atom_size} and S, K at least 1"
        raise ValueError(f"local and known have shapes {local.shape} and {known.shape}; they must be {wanted}")
    if smaller is not None and smaller.shape[1:] != (shape[0] - 1, shape[1]):
        raise ValueError(f"smaller has shape {smaller.shape}; it must be (B, {shape[0] - 1}, {shape[1]})")
    run = _Run(model, x, y, box, budget, max_iterations, precision)
    run.finish(np.clip(local, -box, box), run.register("local", len(local)))
    before = float("inf")
    for round_ in range(1 + budget.rounds):
        if round_ > 1 and run.found >= budget.agree and not run.lowered(before):
            break
        before = float(run.loss.min())
        kind = "insert" if round_ == 0 else "replace"
        count = budget.inserted if round_ == 0 else budget.replaced
        bases = run.bases(smaller if round_ == 0 else None) if count and shape[0] > 1 else None
        entries = {}
        if round_ == 0:
            entries["near"] = search_starts.near(known, budget.near, stream, box=box)
            entries["random"] = search_starts.random(model, shape[0], budget.random, stream, box=box)
        if bases is not None:
            name = f"{kind}: search {kind}" if round_ == 0 else f"{kind} {round_}: search {kind}"
            entries[kind] = search_starts.inserted(model, x, y, bases, count, budget.screened, name, stream, box=box)
        run.race({kind: theta for kind, theta in entries.items() if len(theta)})
    return run.result()


class _Run(end_points.Record):
    """The state of one search."""

    def __init__(
        self, model: Model, x: Array, y: Array, box: float, budget: Budget, max_iterations: int, precision: Precision
    ) -> None:
        super().__init__(x.shape[0], float(namespace(x, y).var(y)))
        self.model, self.x, self.y, self.box, self.budget = model, x, y, box, budget
        self.options: dict[str, Any] = {"box": box, "precision": precision}
        self.max_iterations = max_iterations
        self.fits: list[Fit] = []
        self.losses = {kind: [] for kind in KINDS}

    def fit(self, theta: np.ndarray, rows: int, **options: Any) -> list[Fit]:
        """Fit one data set from many starts (S, N, P); one result per start."""
        fit = from_each(self.model, self.x[:rows, :], self.y[:rows], theta, **(self.options | options))
        self.steps += rows / self.n * float(fit.iterations.sum())
        return [Fit(**{name: value[k : k + 1] for name, value in vars(fit).items()}) for k in range(len(theta))]

    def register(self, kind: str, count: int) -> list[tuple[str, int]]:
        """Number so many more starts of a kind through."""
        first = len(self.losses[kind])
        self.losses[kind] += [np.nan] * count
        return [(kind, first + k) for k in range(count)]

    def finish(self, theta: np.ndarray, names: list[tuple[str, int]]) -> None:
        """Fit starts to the end on all rows."""
        fits = self.fit(theta, self.n, max_iterations=self.max_iterations)
        for fit, (kind, number) in zip(fits, names, strict=True):
            self.fits.append(fit)
            self.kinds.append(kind)
            self.losses[kind][number] = float(fit.loss[0])

    def race(self, entries: dict[str, np.ndarray]) -> None:
        """Run the heats, then fit the survivors to the end, the lowest first."""
        if not entries:
            return
        names = [name for kind, theta in entries.items() for name in self.register(kind, len(theta))]
        theta = np.concatenate(list(entries.values()))
        rows = min(self.budget.rows, self.n)
        rung = (LADDER[0],) if self.model.expert == "relu" else None
        for steps, share in self.budget.heats:
            fits = self.fit(theta, rows, ladder=rung, max_iterations=steps, tolerance=COARSE, certify_limit=False)
            loss = np.array([fit.smoothed_loss[0] for fit in fits])
            for k, (kind, number) in enumerate(names):
                self.losses[kind][number] = float(loss[k])
            ranked = np.argsort(np.where(np.isfinite(loss), loss, np.inf), kind="stable")
            going_on = ranked[: max(1, int(np.ceil(share * len(ranked))))]
            theta, names = np.stack([fits[k].theta[0] for k in going_on]), [names[k] for k in going_on]
        self.finish(theta, names)

    def bases(self, smaller: np.ndarray | None) -> np.ndarray:
        """Return fits with one atom less: of the given ones, or of the best end point without one of its atoms."""
        start = search_starts.without_one(self.best.theta[0]) if smaller is None else smaller
        fits = self.fit(
            np.clip(start, -self.box, self.box),
            min(self.budget.rows, self.n),
            ladder=LADDER[-1:] if self.model.expert == "relu" else None,
            max_iterations=BASE_STEPS,
            tolerance=COARSE,
            certify_limit=False,
        )
        order = np.argsort([float(fit.loss[0]) for fit in fits], kind="stable")[:BASES]
        return np.stack([fits[k].theta[0] for k in order])

    @property
    def values(self) -> np.ndarray:
        """Losses (E,) of the end points."""
        return np.array([float(fit.loss[0]) for fit in self.fits])

    @property
    def best(self) -> Fit:
        """The lowest end point."""
        return self.fits[self.winner]

    def result(self) -> Search:
        """Put the record together."""
        return Search(
            fit=replace(self.best, start=np.array([self.winner])),
            ends=np.stack([fit.theta[0] for fit in self.fits]),
            status=np.array([int(fit.status[0]) for fit in self.fits]),
            **self.told(self.loss, self.budget.agree),
        )
