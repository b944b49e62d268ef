"""Errors at one sample size: of a fit to data of a truth, or of any function of (n, rng): :func:`moestat.rate_study`.

Streams of random numbers are named by n alone, so that all arms of a study get the same draws.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field

from moestat import cache, callables, fit, streams, warned
from moestat.errors import InputError
from moestat.experiment import Cell, SettingsModel, assemble
from moestat.fit import end_points, population
from moestat.losses import general, voronoi
from moestat.models import truths
from moestat.models.general import FunctionModel
from moestat.models.regression import Model
from moestat.sentences import counted, listed, show
from moestat.status import Status

VERSION = 2
NOTHING = 1e-9  #: Share of the variance of y that a fit without noise may leave.
POINTS_LOG2 = 16  #: Of the points at which functions are compared, fixed in all replicates.


class Settings(SettingsModel):
    """Settings of a cell."""

    n: int = Field(ge=1)
    """The sample size."""
    code: dict[str, str]
    """What computes: name of each part -> digest."""
    fitted: int = Field(1, ge=1)
    """Of a model: the number of atoms that are fitted."""
    search: Literal["local", "global"] = "global"
    """Of a model: how they are searched."""
    noise: float = Field(0.1, ge=0)
    """Of a model: the standard deviation of the noise."""
    box: float = Field(5.0, gt=0)
    """Of a model: the largest absolute value of a parameter."""


@dataclass(frozen=True)
class Mixture:
    """The function of a model with its atoms (N, P)."""

    model: Model | FunctionModel
    atoms: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return its values (n,) at points (n, d)."""
        return np.asarray(self.model.predict(self.atoms, x))


@dataclass(frozen=True)
class Fitted:
    """A model that is fitted to data of a truth, and what its fits are compared with."""

    model: Model | FunctionModel
    truth: Callable[[np.ndarray], np.ndarray]
    x: truths.LawOfX
    law_of_noise: truths.LawOfNoise
    losses: Mapping[str, Callable[..., float]]

    def points(self, log2: int, purpose: str) -> np.ndarray:
        """Return 2**log2 points (n, d) that stand for the law of x."""
        if self.x is truths.uniform:
            return population.sobol(self.model.d, log2, 0, purpose)
        return self.x(streams.generator(0, streams.key(points="law of x"), 0, purpose), 2**log2, self.model.d)

    def measures(self, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
        """Return the atoms (K, N, P) that fits are compared with, and the values (m,) at the points of the best.

        They are those of the truth, or its pseudo-truths, the nearest functions with as many atoms as are fitted.
        """
        x = self.points(POINTS_LOG2, "polish")
        if isinstance(self.truth, Mixture) and self.truth.model is self.model:
            return self.truth.atoms[None], self.truth(x)
        identity = {"version": VERSION, "code": settings.code, "fitted": settings.fitted, "box": settings.box}
        theta = cache.cached("rate-pseudo-truth", identity, lambda: {"theta": self._pseudo(settings)})["theta"]
        return theta, np.asarray(self.model.predict(theta[0], x))

    def _pseudo(self, settings: Settings) -> np.ndarray:
        x = self.points(13, "coarse")
        y = self.truth(x)
        coarse = fit.least_squares(self.model, x, y, atoms=settings.fitted, search="global", box=settings.box)
        options: dict[str, Any] = {"box": settings.box, "polish_log2": POINTS_LOG2, "points": self.points}
        found = population.pseudo_truths(self.model, self.truth, coarse.theta, **options)  # type: ignore[arg-type]
        return found.theta


def carried(settings: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the code that workers need."""
    return [settings["code"]]


def prerequisites(cell: Cell) -> list[dict[str, Any]]:
    """Return the pseudo-truth that cells of an arm share, if the model does not contain the truth."""
    task = callables.get(cell.settings["code"]).get("model")
    mine = isinstance(task, Fitted) and not (isinstance(task.truth, Mixture) and task.truth.model is task.model)
    return [{**cell.settings, "n": 1}] if mine else []


def prepare(prerequisite: dict[str, Any], *, device: str) -> None:
    """Leave it in the cache."""
    settings = Settings(**prerequisite)
    callables.get(settings.code)["model"].measures(settings)


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Return the losses of each replicate, with its status and message."""
    settings = Settings(**cell.settings)
    ((name, task),) = callables.get(settings.code).items()
    one = _fitted(task, settings) if isinstance(task, Fitted) else _called(name, task, settings)
    rows = []
    for replicate in replicates:
        with warned.each():
            rows.append(one(partial(cell.generator, replicate, n=settings.n)))
    if changed := callables.changed(settings.code):
        raise ValueError(
            f"{listed(changed)} changed while {name} computed, so its numbers may depend on the order of the work; "
            f"make it inside {name}, or copy it there"
        )
    for replicate, row in zip(replicates, rows, strict=True):
        if row.keys() != rows[0].keys():
            both = f"{listed(rows[0])} in replicate {replicates[0]} and {listed(row)} in {replicate}"
            raise ValueError(f"{name} returned {both}; allowed are the same names each time")
    return assemble(replicates, rows)


Stream = Callable[[str], np.random.Generator]


def _shared_generators() -> tuple[Any, ...]:
    """Return the states of the generators of the whole process."""
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002
    return state["state"]["key"].tobytes(), state["state"]["pos"], random.getstate()


def _called(name: str, function: Callable[..., Any], settings: Settings) -> Callable[[Stream], dict[str, Any]]:
    def one(stream: Stream) -> dict[str, Any]:
        before = _shared_generators()
        given = function(settings.n, stream("data"))
        if _shared_generators() != before:
            raise ValueError(
                f"{name} drew from a generator of the whole process, so its numbers depend on the order of the work; "
                "draw from the one that it is handed: rng.normal(), not np.random.normal()"
            )
        row = dict(given) if isinstance(given, Mapping) else {"loss": given}
        wrong = [key for key, value in row.items() if not (_number(value) and isinstance(key, str))]
        if wrong or not row:
            what = f"{show(row[wrong[0]])} for {wrong[0]!r}" if isinstance(given, Mapping) and row else show(given)
            raise TypeError(f"{name} returned {what}; allowed are a number, and a dictionary of names and numbers")
        row = {key: float(value) for key, value in row.items()}
        bad = [key for key, value in row.items() if not math.isfinite(value)]
        status = Status.NOT_FINITE if bad else Status.CONVERGED
        return row | {"status": int(status), "message": f"{listed(bad)} not finite." if bad else "Returned."}

    return one


def _number(value: Any) -> bool:
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iuf"


def _fitted(task: Fitted, settings: Settings) -> Callable[[Stream], dict[str, Any]]:
    model, points = task.model, task.points(POINTS_LOG2, "polish")
    atoms, best = task.measures(settings)
    values = task.truth(points)
    least = np.mean((best - values) ** 2)
    contained = isinstance(task.truth, Mixture) and task.truth.model is model and len(atoms[0]) <= settings.fitted
    distance: Callable[..., Any] = general.voronoi if isinstance(model, FunctionModel) else voronoi.L1

    def one(stream: Stream) -> dict[str, Any]:
        laws: dict[str, Any] = {"law_of_x": task.x, "law_of_noise": task.law_of_noise}
        x, y = truths.sample(model, task.truth, settings.n, settings.noise**2, stream("data"), **laws)
        how: dict[str, Any] = {"search": settings.search, "rng": stream("fit"), "box": settings.box}
        found = fit.least_squares(model, x, y, atoms=settings.fitted, **how)
        theta, status, message = found.theta[0], int(found.status[0]), found.message()[0]
        at_truth = 0.5 * np.mean((y - task.truth(x)) ** 2) * (1 + 1e-9) + NOTHING * np.var(y)
        if contained and found.loss[0] > at_truth:
            status, message = int(Status.WORSE_THAN_TRUTH), f"{Status.WORSE_THAN_TRUTH.sentence} {message}"
        f = np.asarray(model.predict(theta, points))
        lowest = end_points.tolerance_of(float(found.loss[0]), settings.n, float(np.var(y)))
        minima = end_points.minima(np.asarray(found.start_losses[0]), lowest).count
        row = {
            "box_hits": int(found.box_hits[0]),
            "search_ends": int(minima.sum()),  # starts that were fitted to their ends
            "search_found": int(minima[0]),  # those of them that ended at the best minimum
            "voronoi": float(distance(theta, atoms, model)),
            "rmse": math.sqrt(np.mean((f - best) ** 2)),
            "excess": float(np.mean((f - values) ** 2) - least),
        }
        for name, loss in task.losses.items():
            value = loss(theta, atoms, model)
            if not _number(value):
                raise TypeError(f"the loss {name!r} returned {show(value)}; allowed is a number")
            row[name] = float(value)
        return {**row, "status": status, "message": message}

    return one


def refuse(task: Fitted, fitted: int, box: float) -> None:
    """Refuse a truth that is no function of x, or that a fit cannot come to."""
    x = task.x(np.random.default_rng(0), 5, task.model.d)
    if np.shape(x) != (5, task.model.d):
        raise InputError(f"x returned shape {np.shape(x)}; allowed is (n, d) = (5, {task.model.d})")
    if np.shape(f := task.truth(x)) != (5,):
        raise InputError(f"the truth returned shape {np.shape(f)} at points {x.shape}; allowed is (n,)")
    if isinstance(task.truth, Mixture) and task.truth.model is task.model:
        most, atoms = np.abs(task.truth.atoms).max(), len(task.truth.atoms)
        if not most <= box:
            raise InputError(f"atoms of the truth have coordinates up to {most:.3g}, outside the box of {box:g}")
        if fitted < atoms:
            told = f"{counted(fitted, 'atom')} cannot be fitted to a truth of {atoms}"
            raise InputError(f"{told}; give the truth as a function, and fits are compared with its pseudo-truth")
