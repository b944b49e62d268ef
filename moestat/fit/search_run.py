"""One global search while it runs: its fits, races and end points, and the record that remains of it.

See :mod:`moestat.fit.global_search` for the plan that it follows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from moestat.arrays import Array, namespace, to_numpy
from moestat.fit import end_points, search_starts
from moestat.fit.moments import Precision
from moestat.fit.newton import LADDER, Fit, least_squares
from moestat.fit.search_budget import Budget
from moestat.fit.search_starts import KINDS, Starts
from moestat.models.regression import Model

COARSE = 1e-6
"""Tolerance of the race, where a start that is done early need not be done well."""
BASE_STEPS = 12
"""Newton steps of the smaller fits that an atom is put into."""
BASES = 3
"""How many of the fits with one atom less, the lowest ones, get another atom."""


@dataclass(frozen=True)
class Search:
    """The best fit to one data set, and what the search for it saw. NumPy arrays.

    Attributes
    ----------
    fit : Fit
        The lowest end point with its certificate, a batch of one; ``fit.start`` is its position in ``ends``.
    kind : str
        Kind of the start that led to it (:data:`moestat.fit.search_starts.KINDS`); of starts that tie, the first.
    ends : array (E, N, P)
        All end points on all rows, in the order in which they were found.
    loss, status, end_kind : arrays (E,)
    start_losses : dict of arrays
        For every kind the last loss of each of its starts: at the end of its fit, or where it left the race (then on
        the rows of the race, with the smoothing of its first rung).
    found : int
        Number of end points, from independent starts, at the best minimum.
    distinct : int
        Number of different minima among all end points.
    lower_left : float
        The chance that something lower is left, after Boender and Rinnooy Kan (:mod:`moestat.fit.end_points`), from the
        end points of independent starts.
    gain : float
        Residual sum of squares of the best local end point minus that of the best one.
    agreed : bool
        Whether ``found`` is at least the number asked for.
    steps : int
        Newton steps in all, those on a part of the rows counted by their share.
    """

    fit: Fit
    kind: str
    ends: np.ndarray
    loss: np.ndarray
    status: np.ndarray
    end_kind: np.ndarray
    start_losses: dict[str, np.ndarray]
    found: int
    distinct: int
    lower_left: float
    gain: float
    agreed: bool
    steps: float


class SearchRun:
    """The state of one search: end points so far, losses of all starts, steps spent."""

    def __init__(
        self,
        model: Model,
        x: Array,
        y: Array,
        box: float,
        budget: Budget,
        max_iterations: int,
        precision: Precision,
    ) -> None:
        xp = namespace(x, y)
        self.model, self.x, self.y, self.box, self.budget = model, x, y, box, budget
        self.options: dict[str, Any] = {"box": box, "precision": precision}
        self.max_iterations = max_iterations
        self.n, self.variance = x.shape[0], float(xp.var(y))
        self.fits: list[Fit] = []
        self.kinds: list[str] = []
        self.losses: dict[str, dict[int, float]] = {kind: {} for kind in KINDS}
        self.started = dict.fromkeys(KINDS, 0)
        self.steps = 0.0

    def fit(self, theta: np.ndarray, rows: int, **options: Any) -> list[Fit]:
        """Fit one data set from many starts (S, N, P); one result per start."""
        xp = namespace(self.x)
        count = len(theta)
        x = xp.broadcast_to(self.x[:rows, :], (count, rows, self.x.shape[1]))
        y = xp.broadcast_to(self.y[:rows], (count, rows))
        together = least_squares(self.model, x, y, xp.asarray(theta)[:, None, ...], **(self.options | options))
        fields = {name: to_numpy(value) for name, value in vars(together).items()}
        fits = [Fit(**{name: value[k : k + 1] for name, value in fields.items()}) for k in range(count)]
        self.steps += rows / self.n * float(fields["iterations"].sum())
        return fits

    def register(self, starts: Starts) -> list[tuple[str, int]]:
        """Number the starts of a kind through."""
        first = self.started[starts.kind]
        self.started[starts.kind] += len(starts.theta)
        return [(starts.kind, first + k) for k in range(len(starts.theta))]

    def finish(self, starts: Starts, names: list[tuple[str, int]] | None = None) -> None:
        """Fit starts to the end on all rows."""
        names = self.register(starts) if names is None else names
        fits = self.fit(starts.theta, self.n, max_iterations=self.max_iterations)
        for fit, (kind, number) in zip(fits, names, strict=True):
            self.fits.append(fit)
            self.kinds.append(kind)
            self.losses[kind][number] = float(fit.loss[0])

    def race(self, entries: list[Starts]) -> None:
        """Run the heats, then fit the survivors to the end, the lowest first."""
        if not entries:
            return
        names = [name for entry in entries for name in self.register(entry)]
        theta = np.concatenate([entry.theta for entry in entries])
        rows = min(self.budget.rows, self.n)
        rung = (LADDER[0],) if self.model.expert == "relu" else None
        order = np.arange(len(names))
        for steps, share in self.budget.heats:
            fits = self.fit(theta, rows, ladder=rung, max_iterations=steps, tolerance=COARSE)
            loss = np.array([fit.smoothed_loss[0] for fit in fits])
            for k, name in enumerate(order):
                self.losses[names[name][0]][names[name][1]] = float(loss[k])
            ranked = np.argsort(np.where(np.isfinite(loss), loss, np.inf), kind="stable")
            going_on = ranked[: max(1, int(np.ceil(share * len(ranked))))]
            theta = np.stack([fits[k].theta[0] for k in going_on])
            order = order[going_on]
        self.finish(Starts("", theta), [names[k] for k in order])

    def bases(self, smaller: np.ndarray | None) -> np.ndarray:
        """Return fits with one atom less: of the given ones, or of the best end point without one of its atoms."""
        start = search_starts.without_one(self.best.theta[0]) if smaller is None else smaller
        fits = self.fit(
            np.clip(start, -self.box, self.box),
            min(self.budget.rows, self.n),
            ladder=LADDER[-1:] if self.model.expert == "relu" else None,
            max_iterations=BASE_STEPS,
            tolerance=COARSE,
        )
        order = np.argsort([float(fit.loss[0]) for fit in fits], kind="stable")[:BASES]
        return np.stack([fits[k].theta[0] for k in order])

    @property
    def loss(self) -> np.ndarray:
        """Losses (E,) of the end points; infinite where they are not finite."""
        values = np.array([float(fit.loss[0]) for fit in self.fits])
        return np.where(np.isfinite(values), values, np.inf)

    @property
    def best(self) -> Fit:
        """The lowest end point."""
        return self.fits[int(np.argmin(self.loss))]

    @property
    def independent(self) -> np.ndarray:
        """Which end points come from independent starts: replacements descend from the best fit."""
        return np.array([kind != "replace" for kind in self.kinds])

    def minima(self, which: np.ndarray | slice = slice(None)) -> end_points.Minima:
        """Sort some end points by minimum."""
        loss = self.loss
        return end_points.minima(loss[which], end_points.tolerance_of(float(loss.min()), self.n, self.variance))

    @property
    def found(self) -> int:
        """How many independent starts have ended at the best minimum."""
        return int(np.sum((self.minima().label == 0) & self.independent))

    @property
    def agreed(self) -> bool:
        """Whether the best minimum was reached as often as asked for."""
        return self.found >= self.budget.agree

    def lowered(self, before: float) -> bool:
        """Whether the best loss has fallen below ``before`` by more than what tells two minima apart."""
        best = float(self.loss.min())
        return before - best > end_points.tolerance_of(best, self.n, self.variance)

    def result(self) -> Search:
        """Put the record together."""
        loss = self.loss
        winner = int(np.argmin(loss))
        local = np.array([kind == "local" for kind in self.kinds])
        return Search(
            fit=replace(self.best, start=np.array([winner])),
            kind=self.kinds[winner],
            ends=np.stack([fit.theta[0] for fit in self.fits]),
            loss=loss,
            status=np.array([int(fit.status[0]) for fit in self.fits]),
            end_kind=np.array(self.kinds),
            start_losses={
                kind: np.array([losses[k] for k in sorted(losses)]) for kind, losses in self.losses.items() if losses
            },
            found=self.found,
            distinct=len(self.minima().count),
            lower_left=self.minima(self.independent).lower_left,
            gain=float(2.0 * self.n * (loss[local].min() - loss[winner])) if np.isfinite(loss[winner]) else np.nan,
            agreed=self.agreed,
            steps=self.steps,
        )
