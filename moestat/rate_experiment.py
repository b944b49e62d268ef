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
from moestat.fit.general import unidentified
from moestat.losses import general, voronoi
from moestat.models import coordinates, truths
from moestat.models.general import FunctionModel
from moestat.models.regression import Model
from moestat.rates.data import LOSS
from moestat.sentences import counted, listed, show
from moestat.status import Status

VERSION = 4
NOTHING = 1e-9  #: Share of the variance of y that a fit without noise may leave.
OWN = ("voronoi", "rmse", "excess")  #: Losses of a model.
KEPT = {"theta", "truth", "floor", "flat_directions", "train_loss", "truth_loss", "target", "start_policy"}
KEPT |= {"status", "message", "iterations", "box_hits", "search_ends", "search_found", *OWN}
"""Names in results that no loss of the user's has."""
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
    starts: int = Field(8, ge=1)
    """Of a model: the number of random starts that are fitted to their ends."""
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

    @property
    def own(self) -> np.ndarray | None:
        """The atoms of the truth, if they are of the model."""
        return self.truth.atoms if isinstance(self.truth, Mixture) and self.truth.model is self.model else None

    def code_parts(self) -> dict[str, Any]:
        """Return what it means by parts that a user knows by name, for :func:`moestat.callables.code_of`."""
        model = self.model
        parts: dict[str, Any] = {"model": model}
        if isinstance(model, FunctionModel):
            rest = (model.gate_size, model.expert_size, model.d, model.blocks)
            parts = {"gate": model.gate, "expert": model.expert, "model": rest}
            parts |= {"gate_derivative": model.gate_derivative, "expert_derivative": model.expert_derivative}
            parts |= {f"invariance {number}": one for number, one in enumerate(model.invariances)}
        parts |= {"truth": self.truth if self.own is None else self.own, "x": self.x, "law_of_noise": self.law_of_noise}
        return parts | {f"loss {name}": loss for name, loss in self.losses.items()}

    def searches(self, fitted: int) -> bool:
        """Whether what fits are compared with is searched: nobody knows yet whether the model contains the truth."""
        return self.own is None or (isinstance(self.model, FunctionModel) and fitted > len(self.own))

    def points(self, log2: int, purpose: str) -> np.ndarray:
        """Return 2**log2 points (n, d) that stand for the law of x."""
        if self.x is truths.uniform:
            return population.sobol(self.model.d, log2, 0, purpose)
        return self.x(streams.generator(0, streams.key(points="law of x"), 0, purpose), 2**log2, self.model.d)

    def measures(self, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
        """Return the atoms (K, N, P) that fits are compared with, and the values (m,) at the points of the best.

        They are those of the truth, or, where the model does not contain it, its pseudo-truths: the nearest functions
        with as many atoms as are fitted.
        """
        x = self.points(POINTS_LOG2, "polish")
        if self.own is not None and not self.searches(settings.fitted):
            return self.own[None], self.truth(x)
        identity = {"version": VERSION, "code": settings.code, "fitted": settings.fitted, "box": settings.box}
        theta = cache.cached("rate-pseudo-truth", identity, lambda: {"theta": self._pseudo(settings)})["theta"]
        return theta, np.asarray(self.model.predict(theta[0], x))

    def _pseudo(self, settings: Settings) -> np.ndarray:
        x = self.points(13, "coarse")
        y = self.truth(x)
        box: dict[str, Any] = {"box": settings.box}
        if (atoms := self.own) is not None:  # do they make it with some of them split, or with others added?
            count, more = len(atoms), settings.fitted - len(atoms)
            split = atoms[[[*range(count), *((k + np.arange(more)) % count)] for k in range(count)]]
            rng = streams.generator(0, streams.key(use="added atoms"), 0, "starts")
            added = [np.concatenate([atoms, rng.standard_normal((more, self.model.atom_size))]) for _ in range(8)]
            for starts in (split, added):
                near = fit.least_squares(self.model, x, y, np.clip(starts, -settings.box, settings.box), **box)
                if near.loss[0] <= NOTHING * np.var(y):
                    return atoms[None]
        coarse = fit.least_squares(self.model, x, y, atoms=settings.fitted, search="global", **box)
        options = box | {"polish_log2": POINTS_LOG2, "points": self.points}
        return population.pseudo_truths(self.model, self.truth, coarse.theta, **options).theta  # type: ignore[arg-type]


def carried(settings: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the code that workers need."""
    return [settings["code"]]


def prerequisites(cell: Cell) -> list[dict[str, Any]]:
    """Return the pseudo-truth that cells of an arm share, if the model may not contain the truth."""
    task = callables.get(cell.settings["code"]).get("model")
    mine = isinstance(task, Fitted) and task.searches(cell.settings["fitted"])
    return [{**cell.settings, "n": 1}] if mine else []


def prepare(prerequisite: dict[str, Any], *, device: str) -> None:
    """Leave it in the cache."""
    settings = Settings(**prerequisite)
    callables.get(settings.code)["model"].measures(settings)


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Return losses of each replicate, with its status and message; of a model also the atoms, fitted and true."""
    settings = Settings(**cell.settings)
    ((name, task),) = callables.get(settings.code).items()
    made = _fitted(task, settings) if isinstance(task, Fitted) else None
    one, of_cell = made or (_called(name, task, settings), xr.Dataset())
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
    losses = rows[0].keys() - (KEPT if made else {"status", "message"})
    attrs = {key: {"long_name": key} | LOSS for key in losses} | dict.fromkeys(OWN if made else (), LOSS)
    ds = assemble(replicates, rows, dims={"theta": ("atom", "coordinate")}, attrs=attrs)
    return ds.assign(of_cell.data_vars).assign_coords(of_cell.coords).assign_attrs(of_cell.attrs)


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


def _fitted(task: Fitted, settings: Settings) -> tuple[Callable[[Stream], dict[str, Any]], xr.Dataset]:
    """Return what fits one data set, and what all data sets of a cell have in common."""
    model, points = task.model, task.points(POINTS_LOG2, "polish")
    atoms, best = task.measures(settings)
    values = task.truth(points)
    least = np.mean((best - values) ** 2)
    distance: Callable[..., Any] = general.voronoi if isinstance(model, FunctionModel) else voronoi.L1

    def one(stream: Stream) -> dict[str, Any]:
        laws: dict[str, Any] = {"law_of_x": task.x, "law_of_noise": task.law_of_noise}
        x, y = truths.sample(model, task.truth, settings.n, settings.noise**2, stream("data"), **laws)
        how: dict[str, Any] = {"search": settings.search, "rng": stream("fit"), "box": settings.box}
        found = fit.least_squares(model, x, y, settings.starts, atoms=settings.fitted, **how)
        theta, status, message = found.theta[0], int(found.status[0]), found.message()[0]
        at_truth = 0.5 * np.mean((y - model.predict(atoms[0], x)) ** 2)
        if found.loss[0] > at_truth * (1 + 1e-9) + NOTHING * np.var(y):
            status, message = int(Status.WORSE_THAN_TRUTH), f"{Status.WORSE_THAN_TRUTH.sentence} {message}"
        f = np.asarray(model.predict(theta, points))
        lowest = end_points.tolerance_of(float(found.loss[0]), settings.n, float(np.var(y)))
        minima = end_points.minima(np.asarray(found.start_losses[0]), lowest).count
        row = {
            "theta": theta,
            "train_loss": float(found.loss[0]),
            "truth_loss": float(at_truth),
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

    floor = 0.0 if least <= NOTHING * np.var(values) else math.sqrt(least)
    name = getattr(task.truth, "__name__", "a function")
    truth = f"truth {name}" if not isinstance(task.truth, Mixture) else f"truth of {len(task.truth.atoms)} atoms"
    told = np.array2string(atoms[0], precision=6, separator=", ", threshold=1000).replace("\n", "")
    target = f"{model!r}; {truth}; {counted(settings.fitted, 'fitted atom')} compared with {told}"
    starts = f"{settings.starts} random starts" + ", then a global search" * (settings.search == "global")
    ds = xr.Dataset(
        {
            "truth": (("measure", "true_atom", "coordinate"), atoms),
            "floor": ((), floor),
            "flat_directions": ((), unidentified(model, atoms[0], points[:1024])),
        },
        coords={"coordinate": np.array(coordinates.names(model), dtype=object)},
        attrs={"target": target, "start_policy": starts},
    )
    return one, ds


def refuse(task: Fitted, fitted: int, box: float) -> None:
    """Refuse a truth that is no function of x, or that a fit cannot come to."""
    x = task.x(np.random.default_rng(0), 5, task.model.d)
    if np.shape(x) != (5, task.model.d):
        raise InputError(f"x returned shape {np.shape(x)}; allowed is (n, d) = (5, {task.model.d})")
    with np.errstate(all="ignore"):
        f, far = task.truth(x), task.truth(task.points(10, "coarse"))
    if np.shape(f) != (5,):
        raise InputError(f"the truth returned shape {np.shape(f)} at points {x.shape}; allowed is (n,)")
    if bad := int(np.sum(~np.isfinite(far))):
        raise InputError(f"the function of the truth is not finite at {bad} of {len(far)} points of the law of x")
    if task.own is not None:
        most, atoms = np.abs(task.own).max(), len(task.own)
        if not most <= box:
            raise InputError(f"atoms of the truth have coordinates up to {most:.3g}, outside the box of {box:g}")
        if fitted < atoms:
            told = f"{counted(fitted, 'atom')} cannot be fitted to a truth of {atoms}"
            raise InputError(f"{told}; give the truth as a function, and fits are compared with its pseudo-truth")
