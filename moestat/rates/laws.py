r"""Which law errors follow: a power of the size, of its logarithm, of both, a power above a floor, a change of slope.

Each law is fitted to the mean log errors by least squares. Its parameters have intervals over replicates by the delta
method: what a replicate's deviation from the fitted curve moves them by, to first order, is a sample of each.

Over two decades a power of n and one of log n bend away from each other by less than a few per cent, so that the
criterion seldom decides between them: the p-value of a law says whether the replicates reject it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from moestat.arrays import to_numpy
from moestat.doors import as_float64
from moestat.rates.data import arm_of, series
from moestat.rates.estimate import Estimate, wider
from moestat.rates.loglog import RateFit, fit, fit_array
from moestat.rounding import estimate as rounded

EXACT = 1e-20  #: A mean square of residuals of logs below this one is rounding.
NESTED = 1e-6  #: The share of a direction that is not a law's own; below this one it is rounding.
FORMS: Mapping[str, str] = {
    "power": "{scale} n^{slope}",
    "log": "{scale} (log n)^{power}",
    "power and log": "{scale} n^{slope} (log n)^{power}",
    "floor": "{floor} + {scale} n^{slope}",
    "change": "n^{first} up to n = {place}, n^{second} beyond",
}


@dataclass(frozen=True)
class Law:
    """A fitted law; its text is the formula, with 95 % intervals (or those of the fit's level) of what it is about."""

    name: str  #: ``power``, ``log``, ``power and log``, ``floor`` or ``change``.
    parameters: Mapping[str, Estimate]
    curve: np.ndarray  #: (S,): Its values at the sizes.
    tangent: np.ndarray  #: (S, parameters): What each parameter moves of the log of the curve, at most 1.
    #: Akaike's criterion for few sizes, of the mean log errors with one common variance: the smaller, the better.
    #: Infinite where the sizes are too few for it: k parameters need k + 3.
    aicc: float
    #: P-value of the law being right: a t-test over replicates, in the direction in which the best other law departs.
    p: float = math.nan

    def __str__(self) -> str:
        shown: dict[str, str] = {}
        for name, e in self.parameters.items():
            value, ends = rounded(e.value, e.low, e.high)
            shown[name] = f"{e.value:.3g}" if name == "scale" else f"{value} {ends}".rstrip()
        return FORMS[self.name].format(**shown)


@dataclass(frozen=True, repr=False)
class LawComparison:
    """How laws fare on the same losses: in the order of their criterion, the best first, those without one last."""

    laws: tuple[Law, ...]
    reasons: tuple[str, ...]  #: Why the series cannot be trusted, as in :func:`moestat.rates.fit`.
    level: float

    @property
    def compatible(self) -> tuple[str, ...]:
        """The laws that are not rejected at 1 - level; a p-value that does not exist rejects nothing."""
        return tuple(law.name for law in self.laws if not law.p < 1 - self.level)

    def __str__(self) -> str:
        if not self.laws:
            return "\n".join(["There is nothing to compare.", *self.reasons])
        ranked = math.isfinite(self.laws[0].aicc)
        lines = ["   AICc      p  law" + ", the best first" * ranked]
        for law in self.laws:
            criterion = f"{law.aicc - self.laws[0].aicc:.1f}" if math.isfinite(law.aicc) else "-"
            p = f"{law.p:.3f}" if math.isfinite(law.p) else "-"
            lines.append(f"{criterion:>7}  {p:>5}  {law.name + ':':14} {law}")
        if unranked := [law for law in self.laws if not math.isfinite(law.aicc)]:
            lines.append(
                f"{unranked[0].curve.size} sizes are too few to rank laws of "
                f"{min(len(law.parameters) for law in unranked)} parameters or more; judge them by p (small: the law "
                "does not fit) and by their intervals."
            )
        if "floor" not in [law.name for law in self.laws]:
            few = np.unique(self.laws[0].curve).size < 4
            lines.append(f"floor: not fitted, {'of fewer than 4 sizes' if few else 'the line does not flatten'}.")
        return "\n".join([*lines, *self.reasons])

    __repr__ = __str__


def compare_laws(
    values: Any,
    *,
    over: Any,
    window: tuple[float, float] | None = None,
    level: float = 0.95,
    replicate: Hashable = "replicate",
    loss: str | None = None,
) -> LawComparison:
    """Compare laws on losses at sizes that are all above 1; arguments are those of :func:`moestat.rates.fit`.

    A CSV file or a DataFrame is read as by :func:`moestat.rates.table`, ``loss`` names its column.
    """
    if isinstance(values, str | Path | pd.DataFrame):
        found, *_ = series(values, over, loss=loss, replicate=replicate)
        one = found[arm_of(loss if loss in found else None, [*found])]
        line = fit_array(one.losses, one.sizes, window, level)
    elif isinstance(over, str):
        line = fit(values, over=over, window=window, level=level, replicate=replicate)
    else:
        line = fit_array(to_numpy(as_float64(values, "values")), to_numpy(as_float64(over, "over")), window, level)
    return compared(line)


def compared(line: RateFit) -> LawComparison:
    """Compare laws on the losses of a line."""
    if np.any(line.sizes <= 1):
        raise ValueError("a log law needs sizes above 1")
    return LawComparison(laws(line), line.reasons, line.level)


def laws(line: RateFit) -> tuple[Law, ...]:
    """Return the laws that a fit's sizes are enough for, the best first."""
    many = np.unique(line.sizes).size
    found = [law for law in _fitted(line) if many > len(law.parameters)] if line.complete and many > 2 else []
    found.sort(key=lambda law: law.aicc)
    # a law that is right leaves nothing of a mean in the direction of the best one, or of the next one, beside its own
    logs = np.log(line.losses)
    for place, law in enumerate(found):
        toward = (
            np.log(found[1 if place == 0 else 0].curve / law.curve) if len(found) > 1 else np.zeros(line.sizes.size)
        )
        beside = toward - law.tangent @ (np.linalg.pinv(law.tangent) @ toward)
        along = beside @ (logs - np.log(law.curve)[:, None])
        apart = np.linalg.norm(beside) > NESTED * np.linalg.norm(toward)  # else a law of which the other one is a case
        known = along.size > 1 and apart and np.std(along) > EXACT
        found[place] = replace(law, p=float(scipy.stats.ttest_1samp(along, 0.0).pvalue) if known else math.nan)
    return tuple(found)


def of_bent(line: RateFit) -> list[Law]:
    """Return what a bent line may be: the best law and the one with a floor that shows, if nothing rejects them.

    The power law is none, nor is a law that the sizes are too few to rank, but for the floor.
    """
    found = laws(line)
    best = [law for law in found[:1] if law.name != "power" and math.isfinite(law.aicc)]
    best += [law for law in found[len(best) :] if law.name == "floor" and law.parameters["floor"].low > 0]
    return [law for law in best if not law.p < 1 - line.level]


def _fitted(line: RateFit) -> Iterator[Law]:
    x, logs = np.log(line.sizes), np.log(line.losses)
    y, one = np.mean(logs, axis=1), np.ones(x.size)

    def law(name: str, names: str, theta: np.ndarray, curve: np.ndarray, jacobian: np.ndarray) -> Law:
        # to first order, a replicate's own parameters, whose mean is that of the fit
        # each in a unit of its own: the floor under losses of 1e-12 would outweigh all else, that under 1e-200 vanish
        largest = np.max(np.abs(jacobian), axis=0)
        unit = np.where(largest > 0, largest, 1.0)
        moved = np.linalg.pinv(jacobian / unit) @ (logs - curve[:, None])
        found = {
            key: _shifted(value, each, scale, line.level)
            for key, value, each, scale in zip(names.split(), theta, moved, 1 / unit, strict=True)
        }
        found |= {key: _exp(found[key]) for key in ("scale", "place") if key in found}
        return Law(name, found, np.exp(curve), jacobian / unit, _aicc(y - curve, theta.size))

    designs = {"power": ("scale slope", [one, x])}
    if np.all(x > 0):
        designs |= {"log": ("scale power", [one, np.log(x)])}
        designs |= {"power and log": ("scale slope power", [one, x, np.log(x)])}
    for name, (names, columns) in designs.items():
        design = np.stack(columns, axis=1)
        theta = np.linalg.lstsq(design, y, rcond=None)[0]
        yield law(name, names, theta, design @ theta, design)
    if line.slope < 0 and (solved := _with_floor(x, y)) is not None:
        yield law("floor", "scale floor slope", *solved)
    if np.unique(x).size > 4:
        yield law("change", "level first second place", *_with_change(x, y))


def _with_floor(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Fit log(E + exp(c + s x)); return parameters (c, E, s), curve and Jacobian, or None where no floor E shows."""
    unit = np.min(y)

    def curve(theta: np.ndarray) -> np.ndarray:
        return np.asarray(np.logaddexp(np.log(theta[1]), theta[0] + theta[2] * (x - x[0])))

    def jacobian(theta: np.ndarray) -> np.ndarray:
        share = np.exp(theta[0] + theta[2] * (x - x[0]) - curve(theta))
        return np.stack([share, np.exp(-curve(theta)), share * (x - x[0])], axis=1)

    found = []
    for slope in (-1.5, -0.6, -0.25):
        start = [np.log(max(np.exp(y[0] - unit) - 0.5, 0.05)), 0.5, slope]
        solved = scipy.optimize.least_squares(
            lambda theta: curve(theta) - (y - unit),
            start,
            jacobian,
            bounds=([-np.inf, 1e-12, -20.0], [np.inf, np.inf, -1e-3]),
            x_scale="jac",
            **dict.fromkeys(("xtol", "ftol", "gtol"), 1e-12),
        )
        found.append(solved)
    theta = min(found, key=lambda solved: solved.cost).x
    if theta[1] < 1e-6 or theta[2] > -2e-3 or theta[2] < -19:
        return None
    shape, scale = jacobian(theta), np.exp(unit)
    # in the user's units: c at n = 1, E times the unit
    shape = shape @ np.array([[1.0, 0.0, x[0]], [0.0, 1 / scale, 0.0], [0.0, 0.0, 1.0]])
    return np.array([theta[0] + unit - theta[2] * x[0], theta[1] * scale, theta[2]]), curve(theta) + unit, shape


def _with_change(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit two lines that meet; return parameters (level, first slope, second slope, place), curve and Jacobian."""
    inner = np.unique(x)

    def solved(place: float) -> tuple[float, np.ndarray, np.ndarray]:
        beyond = np.maximum(x - place, 0.0)
        design = np.stack([np.ones(x.size), x - beyond, beyond], axis=1)
        theta = np.linalg.lstsq(design, y, rcond=None)[0]
        return float(np.sum((y - design @ theta) ** 2)), theta, design

    grid = np.linspace(inner[1], inner[-2], 101)
    near, step = min(grid, key=lambda place: solved(place)[0]), grid[1] - grid[0]
    ends = max(near - step, inner[1]), min(near + step, inner[-2])
    place = float(scipy.optimize.minimize_scalar(lambda place: solved(place)[0], bounds=ends, method="bounded").x)
    _, theta, design = solved(place)
    turn = (theta[1] - theta[2]) * (x > place)
    return np.append(theta, place), design @ theta, np.column_stack([design, turn])


def _shifted(value: float, moved: np.ndarray, unit: float, level: float) -> Estimate:
    """Return a parameter with the interval of its samples, which are deviations of mean 0, in some unit."""
    around = wider(moved - np.mean(moved), level)  # the mean is 0 but at a bound, and at a corner
    low, high = (float(value + unit * end) for end in (around.low, around.high))
    return Estimate(float(value), low, high, se=float(unit * around.se))


def _exp(e: Estimate) -> Estimate:
    value, low, high = (float(np.exp(min(end, 700.0))) for end in (e.value, e.low, e.high))
    return Estimate(value, low, high, se=value * e.se)


def _aicc(residual: np.ndarray, parameters: int) -> float:
    """Return Akaike's corrected criterion with one common variance; infinite for too few sizes."""
    from statsmodels.tools.eval_measures import aicc  # a slow import

    size, free = residual.size, parameters + 1
    if size - free - 1 <= 0:
        return math.inf
    variance = max(float(np.mean(residual**2)), EXACT)
    return float(aicc(-0.5 * size * (np.log(2 * np.pi * variance) + 1), size, free))
