"""Starts of a fit of a mixture of functions, and the search for its lowest minimum.

Many random starts race: a few steps on a part of the rows, then the better ones a few more; the survivors are fitted to
the end on all rows. Rounds of replacements follow: each atom of the best fit in turn gives way to random ones, and
these race again. The search ends when a round leads no lower and enough of its fits, from independent starts, have
ended at the best minimum, and otherwise when its budget is spent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from moestat.fit import end_points
from moestat.fit.general import Problem, descend, fit_of
from moestat.fit.global_search import COARSE, Budget, Search
from moestat.fit.search_starts import Stream, near
from moestat.fit.second_order import Ends
from moestat.models.general import FunctionModel

BUDGET = Budget(near=16, random=112, inserted=0, rounds=6, replaced=48, heats=((4, 0.25), (12, 0.25)), rows=2048)
SCALES = (1.0, 0.5, 2.0)  #: Standard deviations of random parameters, in turn, for samples whose mean square is 1.
RIDGE = 1e-3  #: Of the regression on linear experts, relative to the mean square of its columns.


def random_starts(
    model: FunctionModel, x: np.ndarray, y: np.ndarray, atoms: int, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Return ``count`` random starts (S, N, P) for one data set x (n, d), y (n,), in its scale.

    Parameters are normal with standard deviations s / rms(x), s by :data:`SCALES`. Experts that are linear in their
    parameters are then fitted to y by least squares, given the gate.
    """
    theta = _drawn(model, x, atoms, count, rng)
    return _regressed(model, x, y, theta) if model.linear else theta


def _drawn(model: FunctionModel, x: np.ndarray, atoms: int, count: int, rng: np.random.Generator) -> np.ndarray:
    scale = np.array(SCALES)[np.arange(count) % 3] / np.sqrt(np.mean(x**2) or 1.0)
    theta: np.ndarray = scale[:, None, None] * rng.standard_normal((count, atoms, model.atom_size))
    return theta


def _regressed(model: FunctionModel, x: np.ndarray, y: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Put the linear experts of starts (S, N, P) where they fit the first rows best."""
    k, e = model.gate_size, model.expert_size
    x, y = x[:2048], y[:2048]
    features = model.expert(x, np.eye(e))  # (n, e): output l of an expert whose parameter l alone is 1
    out = theta.copy()
    for start in out:
        columns = (model.gate(x, start[:, :k])[:, :, None] * features[:, None]).reshape(len(x), -1)
        square = columns.T @ columns
        square[np.diag_indices_from(square)] += RIDGE * np.trace(square) / len(square) + 1e-300
        if np.isfinite(square).all():
            start[:, k:] = np.linalg.solve(square, columns.T @ y).reshape(-1, e)
    return out


def search(
    model: FunctionModel,
    x: np.ndarray,
    y: np.ndarray,
    *,
    local: np.ndarray,
    known: np.ndarray,
    stream: Stream,
    box: float = 5.0,
    budget: Budget | None = None,
    max_iterations: int = 400,
    tolerance: float = 1e-9,
) -> Search:
    """Search the lowest fit of one data set x (n, d), y (n,).

    Arguments are those of :func:`moestat.fit.global_search.global_search`; there are no starts of kind "insert".
    """
    budget = budget or BUDGET
    run = _Run(model, x, y, local.shape[1], box, budget, max_iterations, tolerance)
    run.finish(np.clip(local, -box, box), ["local"] * len(local))
    for round_ in range(1 + budget.rounds):
        before = float(run.loss.min())
        if round_ == 0:
            drawn = random_starts(model, x, y, run.atoms, budget.random, stream("search random"))
            entries = [("near", near(known, budget.near, stream, box=box)), ("random", drawn)]
        else:
            entries = [("replace", run.replaced(budget.replaced, stream(f"search replace {round_}")))]
        run.race([(kind, np.clip(theta, -box, box)) for kind, theta in entries if len(theta)])
        if round_ > 0 and not run.lowered(before) and run.found >= budget.agree:
            break
    return run.result()


class _Run(end_points.Record):
    """The state of one search."""

    def __init__(
        self, model: FunctionModel, x: np.ndarray, y: np.ndarray, atoms: int, box: float, budget: Budget, *how: Any
    ) -> None:
        super().__init__(len(y), float(np.var(y)))
        self.model, self.x, self.y, self.atoms, self.box, self.budget = model, x, y, atoms, box, budget
        self.max_iterations, self.tolerance = how
        self.ends: list[Ends] = []

    def fit(self, theta: np.ndarray, rows: int, steps: int, tolerance: float) -> Ends:
        """Go down from starts (S, N, P) on the first rows."""
        problem = self.problem(len(theta), rows)
        flat = np.ascontiguousarray(theta.reshape(len(theta), -1))
        ends = descend(problem, flat, np.arange(len(flat)), self.box, steps, tolerance)
        self.steps += rows / self.n * float(ends.iterations.sum())
        return ends

    def problem(self, members: int, rows: int) -> Problem:
        return Problem(self.model, self.atoms, self.x[None, :rows], self.y[None, :rows], np.zeros(members, dtype=int))

    def finish(self, theta: np.ndarray, kinds: list[str]) -> None:
        """Fit starts to the end on all rows."""
        ends = self.fit(theta, self.n, self.max_iterations, self.tolerance)
        self.ends.append(ends)
        self.kinds += kinds
        for kind, loss in zip(kinds, ends.loss, strict=True):
            self.losses.setdefault(kind, []).append(float(loss))

    def race(self, entries: list[tuple[str, np.ndarray]]) -> None:
        """Run the heats, then fit the survivors to the end."""
        kinds = [kind for kind, theta in entries for _ in theta]
        theta = np.concatenate([theta for _, theta in entries])
        for steps, share in self.budget.heats:
            ends = self.fit(theta, min(self.budget.rows, self.n), steps, COARSE)
            order = np.argsort(np.where(np.isfinite(ends.loss), ends.loss, np.inf), kind="stable")
            on = order[: max(1, int(np.ceil(share * len(order))))]
            for k in order[len(on) :]:
                self.losses.setdefault(kinds[k], []).append(float(ends.loss[k]))
            theta, kinds = ends.theta[on].reshape(len(on), *theta.shape[1:]), [kinds[k] for k in on]
        self.finish(theta, kinds)

    def replaced(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Return the best fit with one of its atoms replaced by a random one, each in turn."""
        best = self.all.theta[self.winner].reshape(self.atoms, -1)
        drawn = _drawn(self.model, self.x, 1, count, rng)[:, 0]
        starts = np.repeat(best[None], count, axis=0)
        starts[np.arange(count), np.arange(count) % self.atoms] = drawn
        return _regressed(self.model, self.x, self.y, starts) if self.model.linear else starts

    @property
    def all(self) -> Ends:
        """All end points."""
        return Ends(*(np.concatenate(parts) for parts in zip(*(vars(e).values() for e in self.ends), strict=True)))

    @property
    def values(self) -> np.ndarray:
        """Losses (E,) of the end points."""
        return np.asarray(self.all.loss)

    def result(self) -> Search:
        """Certify the best end point and put the record together."""
        every, loss, winner = self.all, self.loss, self.winner
        chosen = Ends(*(value[[winner]] for value in vars(every).values()))
        problem = self.problem(1, self.n)
        numbers = (np.array([winner]), loss[None], every.status[None])
        fit = fit_of(problem, chosen, np.array([0]), self.box, self.max_iterations, self.tolerance, *numbers)
        ends = every.theta.reshape(len(loss), self.atoms, -1)
        ends[winner], loss[winner] = fit.theta[0], fit.loss[0]
        return Search(fit=fit, ends=ends, status=every.status, **self.told(loss, self.budget.agree))
