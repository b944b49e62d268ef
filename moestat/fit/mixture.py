"""Maximum likelihood of Gaussian mixtures of experts for one's own data: :func:`maximum_likelihood` is the door.

The data are standardised, so that bounds mean the same in every unit. Many starts (planes through a few samples each,
neighbours in one half of them) go up by a few steps of EM and a trust-region Newton method with the exact Hessian, each
to the end. How many of them come to the best maximum says how sure it is; on many samples this is counted on a part of
them, from which the best distinct maxima go on.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from moestat.arrays import to_numpy
from moestat.doors import as_float64
from moestat.errors import InputError
from moestat.fit.gaussian_gate import GaussianGateLikelihood
from moestat.fit.likelihood import standard_errors
from moestat.fit.second_order import Ends
from moestat.fit.softmax_global import SURE, global_maximum
from moestat.fit.softmax_likelihood import pack, unpack
from moestat.fit.softmax_mle import SoftmaxLikelihood
from moestat.fit.trust_region import trust_region
from moestat.models import gaussian
from moestat.models.gates import pack_symmetric, unpack_symmetric
from moestat.models.gaussian_gate import GaussianGate
from moestat.models.softmax_gaussian import SoftmaxGaussian
from moestat.rounding import number
from moestat.sentences import counted, listed, nearest, show
from moestat.status import Status

GATES = ("softmax", "constant", "gaussian")
BOX = 100.0  #: Bound of gate and mean coordinates, for standardised data.
VARIANCES = (1e-4, 10.0)  #: Bounds of the experts' variances, times the variance of y, when nothing else is said.
SAME = 0.01  #: Log-likelihood units within which two ends are one maximum.
FEW, LEADERS = 2000, 5  #: Samples on which all starts go up, and distinct maxima that go on from there to all samples.
Likelihood = SoftmaxLikelihood | GaussianGateLikelihood
_EM_STEPS = 20


@dataclass(frozen=True, repr=False)
class MixtureFit:
    """The best maximum that was found; experts are in the order of their samples, the largest first.

    The tables have a row for each kind of parameter and a column for each expert, in the units of the data. Gates of
    the softmax are measured against that of expert 1, which is 0.
    """

    gate: str
    inputs: tuple[str, ...]  #: Names of the columns of x.
    parameters: pd.DataFrame
    #: From the observed information; NaN for a parameter on a bound or of an expert without samples, and for all where
    #: the information is singular.
    standard_errors: pd.DataFrame
    sandwich: pd.DataFrame  #: Standard errors that hold where the density is not of this family, too.
    theta: np.ndarray  #: (N, P), atoms in the order of the class of ``model``.
    model: SoftmaxGaussian | GaussianGate
    log_likelihood: float  #: Of y given x; with the Gaussian gate, of x and y.
    conditional: float  #: Log-likelihood of y given x, whatever the gate.
    count: int  #: Number of free parameters.
    n: int
    share: np.ndarray  #: (N,), mean responsibilities.
    gradient: float  #: Largest coordinate of the gradient of the mean log-likelihood, of standardised data.
    decrement: float  #: What the quadratic model says is still to be gained, in units of the log-likelihood.
    status: Status
    #: Distinct maxima, the best first: ``log_likelihood``, ``starts`` that came there, ``on_bound`` (variances on their
    #: lower bound), ``fewest`` (samples of the smallest expert).
    maxima: pd.DataFrame
    starts: int
    #: How many rounds of :func:`moestat.fit.softmax_global.global_maximum` came to the best maximum; None without that
    #: search, which is made for softmax gates of one input and three experts or more.
    rounds: int | None
    notes: tuple[str, ...] = ()  #: What a reader must know, a sentence each.

    @property
    def aic(self) -> float:
        """Akaike's criterion, smaller is better."""
        return 2 * self.count - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, smaller is better."""
        return float(np.log(self.n) * self.count - 2 * self.log_likelihood)

    def weights(self, x: Any) -> np.ndarray:
        """Return the gate values (m, N) at inputs of the form that was fitted."""
        return np.asarray(np.exp(self.model.components(self.theta, _inputs(x, self.inputs)[0]).log_weight)).T

    def predict(self, x: Any) -> np.ndarray:
        """Return the expected responses (m,) at inputs of the form that was fitted."""
        at = self.model.components(self.theta, _inputs(x, self.inputs)[0])
        return np.asarray(np.sum(np.exp(at.log_weight) * at.mean, axis=0))

    def __str__(self) -> str:
        return "\n".join([self._head(), self._table().to_string(), *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return f"<p>{html.escape(self._head())}</p>{self._table().to_html()}<ul>{notes}</ul>"

    def _head(self) -> str:
        return (
            f"{self.gate} gate, {counted(len(self.theta), 'expert')}, {counted(self.n, 'sample')}: log-likelihood "
            f"{self.log_likelihood:.3f}, {counted(self.count, 'parameter')}, AIC {self.aic:.2f}, BIC {self.bic:.2f}"
        )

    def _table(self) -> pd.DataFrame:
        error = self.standard_errors.map(lambda e: f" ({number(e, 2)})" if e > 0 else "")
        text = self.parameters.map(number) + error
        text.loc["samples"] = [f"{size:.1f}" for size in self.n * self.share]
        return text.rename(columns=lambda k: f"expert {k}")


def maximum_likelihood(
    x: Any,
    y: Any,
    *,
    experts: int,
    gate: str = "softmax",
    variances: tuple[float, float] | None = None,
    starts: int = 100,
    seed: int = 0,
) -> MixtureFit:
    """Fit a Gaussian mixture of linear experts to one data set, from starts of its own.

    Parameters
    ----------
    x : array (n,) or (n, d), list, DataFrame
        Inputs; a quadratic term is a column. Columns of a DataFrame keep their names.
    y : array (n,), list, Series
    experts : int
    gate : {"softmax", "constant", "gaussian"}
        Softmax of linear scores (:class:`moestat.models.softmax_gaussian.SoftmaxGaussian`); weights that do not depend
        on x, a mixture of regressions; or normalised Gaussian densities of x
        (:class:`moestat.models.gaussian_gate.GaussianGate`), fitted by the likelihood of x and y together.
    variances : (float, float), optional
        Bounds of the experts' variances, in units of y squared; by default 1e-4 and 10 times the variance of y. Without
        a lower one the likelihood is unbounded.
    starts : int
        How many.
    seed : int
        Of the starts: the same seed gives the same numbers.

    Raises
    ------
    moestat.errors.InputError
        If there is no such fit.
    """
    points, inputs = _inputs(x)
    values = _finite(y, "y")
    _check(points, values, inputs, experts, gate, starts, seed)
    n, data = len(values), _Standardised(points, values)
    ends = np.array(VARIANCES) if variances is None else _finite(variances, "variances") / data.size**2
    if ends.shape != (2,) or not 0 < ends[0] < ends[1]:
        raise InputError(f"variances is {show(variances)}; allowed are two numbers, 0 < lower < upper")
    bounds = float(ends[0]), float(ends[1])

    def likelihood(rows: np.ndarray) -> Likelihood:
        part = data.x[rows], data.y[rows], experts, BOX, bounds
        return GaussianGateLikelihood(*part) if gate == "gaussian" else SoftmaxLikelihood(*part, gate == "softmax")

    whole = likelihood(np.arange(n))
    count = int(np.sum(whole.lower < whole.upper))
    if n < count:
        raise InputError(f"{n} samples cannot determine {count} parameters; take fewer experts or columns")
    found, came, rounds = _searched(likelihood, data, experts, starts, seed)
    heights = n * (whole.shift - found.loss - np.log(data.size) - (gate == "gaussian") * np.log(data.scale).sum())
    atoms = [whole.atoms(free) for free in found.theta]
    shares = [gaussian.posterior(whole.model.components(t, data.x), data.y)[0].mean(axis=-1) for t in atoms]
    narrow = [int(np.sum(theta[:, -1] <= bounds[0] * (1 + 1e-9))) for theta in atoms]
    fewest = [n * share.min() for share in shares]
    maxima = pd.DataFrame({"log_likelihood": heights, "starts": came, "on_bound": narrow, "fewest": fewest})
    order = np.argsort(-shares[0], kind="stable")

    def report(free: np.ndarray) -> np.ndarray:
        return _rows(data.in_units(whole.atoms(free)[order], whole.model), whole.model, gate)

    tables = (report(found.theta[0]), *standard_errors(whole, found.theta[0], n, report))
    names, columns = _names(gate, inputs), range(1, experts + 1)
    parameters, observed, sandwich, held = (pd.DataFrame(table, names, columns) for table in tables)
    theta = data.in_units(atoms[0][order], whole.model)
    fit = MixtureFit(
        gate=gate,
        inputs=inputs,
        parameters=parameters,
        standard_errors=observed,
        sandwich=sandwich,
        theta=theta,
        model=whole.model,
        log_likelihood=float(heights[0]),
        conditional=float(np.sum(gaussian.log_density(whole.model, theta, points, values))),
        count=count,
        n=n,
        share=shares[0][order],
        gradient=float(found.gradient[0]),
        decrement=float(n * found.decrement[0]),
        status=Status(int(found.status[0])),
        maxima=maxima,
        starts=starts,
        rounds=rounds,
    )
    return replace(fit, notes=tuple(_notes(fit, held, bounds[0] * data.size**2)))


class _Standardised:
    """Data in standard deviations from their means, and the way back."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        self.middle, self.scale = x.mean(axis=0), x.std(axis=0)
        self.level, self.size = float(y.mean()), float(y.std())
        self.x, self.y = (x - self.middle) / self.scale, (y - self.level) / self.size

    def in_units(self, theta: np.ndarray, model: SoftmaxGaussian | GaussianGate) -> np.ndarray:
        """Return atoms (N, P) in the units of the data."""
        out = theta.copy()
        out[:, model.a] = self.size * theta[:, model.a] / self.scale
        out[:, model.beta] = self.level + self.size * theta[:, model.beta] - out[:, model.a] @ self.middle[:, None]
        out[:, -1] = self.size**2 * theta[:, -1]
        if isinstance(model, GaussianGate):
            spread = unpack_symmetric(theta[:, model.spread], model.d) * np.outer(self.scale, self.scale)
            out[:, model.centre] = self.middle + self.scale * theta[:, model.centre]
            out[:, model.spread] = pack_symmetric(spread)
        else:
            out[:, model.b] = theta[:, model.b] / self.scale
            out[:, model.c] -= out[:, model.b] @ self.middle[:, None]
        return out


def _finite(array: Any, name: str) -> np.ndarray:
    numbers = to_numpy(as_float64(array, name))
    if bad := int(np.sum(~np.isfinite(numbers))):
        raise InputError(f"{name} holds {bad} number(s) that are missing or not finite; allowed are finite numbers")
    return numbers


def _inputs(x: Any, names: tuple[str, ...] | None = None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return inputs (n, d) and the names of their columns: those that a fit has, if they are given."""
    columns = [str(name) for name in getattr(x, "columns", ())]
    if len(set(columns)) < len(columns):
        raise InputError(f"x has the columns {listed(columns)}; allowed are names that differ")
    if names and columns:
        if not set(names) <= set(columns):
            raise InputError(f"x has the columns {listed(columns)}; the fit has {listed(names)}")
        x, columns = x.iloc[:, [columns.index(name) for name in names]], list(names)
    array = _finite(x, "x")
    points = array[:, None] if array.ndim == 1 else array
    if points.ndim != 2 or 0 in points.shape:
        raise InputError(f"x has shape {array.shape}; allowed are (n,) and (n, d), no length of which is 0")
    d = points.shape[1]
    if names and d != len(names):
        raise InputError(f"x has {counted(d, 'column')}; the fit has {listed(names)}")
    plain = [str(getattr(x, "name", None) or "x")] if d == 1 else [f"x{k + 1}" for k in range(d)]
    return points, tuple(columns or plain)


def _check(
    x: np.ndarray, y: np.ndarray, names: tuple[str, ...], experts: int, gate: str, starts: int, seed: int
) -> None:
    """Refuse what has no maximum, or none that can be found."""
    if gate == "top-k":
        raise InputError(
            "gate is 'top-k', whose likelihood jumps where the best k experts change, so that neither EM nor a "
            "derivative finds or certifies its maximum; fit gate='softmax' and keep the k largest of weights(x)"
        )
    if gate not in GATES:
        raise InputError(f"gate is {show(gate)}{nearest(str(gate), GATES) or ';'} allowed are {listed(GATES)}")
    if y.shape != x.shape[:1]:
        raise InputError(f"y has shape {y.shape}; allowed is {x.shape[:1]}, a number for each row of x")
    for name, value in (("experts", experts), ("starts", starts), ("seed", seed)):
        least = int(name != "seed")
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
            raise InputError(f"{name} is {show(value)}; allowed are whole numbers from {least}")
    if experts > (distinct := len(np.unique(np.column_stack([x, y]), axis=0))):
        raise InputError(f"experts is {experts}, but only {distinct} of the samples are distinct")
    for name, column in (("y", y), *((f"column {name!r} of x", x[:, k]) for k, name in enumerate(names))):
        if np.ptp(column) == 0:
            raise InputError(f"{name} is constant ({column[0]:g}), so that nothing can be learnt from it; leave it out")
        if np.abs(column).max() > 1e100 or np.ptp(column) < 1e-100:
            raise InputError(f"{name} has numbers whose powers are beyond the range of float64; rescale it")
    if np.linalg.matrix_rank((x - x.mean(axis=0)) / x.std(axis=0), rtol=1e-9) < x.shape[1]:
        raise InputError(f"the columns {listed(names)} of x are linearly dependent; leave one out")


def _searched(
    likelihood: Callable[[np.ndarray], Likelihood], data: _Standardised, experts: int, starts: int, seed: int
) -> tuple[Ends, np.ndarray, int | None]:
    """Return the distinct ends, the best first, how many starts came to each, and the rounds that came to the best."""
    rng, n = np.random.default_rng([20261127, seed]), len(data.y)
    rows = np.sort(rng.permutation(n)[:FEW])
    few, rounds = likelihood(rows), None
    free = few.begin(*_planes(few.x, few.y, experts, starts, rng), _EM_STEPS)
    ends, came = _climbed(few, free, np.ones(starts, dtype=np.int64))
    if isinstance(few, SoftmaxLikelihood) and few.slopes and few.x.shape[1] == 1 and experts > 2:
        known = unpack(ends.theta[:LEADERS], experts)
        found = global_maximum(few.x[None], few.y[None], known[None], box=BOX, variances=few.variances)
        rounds = int(to_numpy(found.rounds_there)[0])
        ends, came = _climbed(few, np.concatenate([pack(found.theta), ends.theta]), np.append(0, came))
    if n > len(rows):
        ends, came = _climbed(likelihood(np.arange(n)), ends.theta[:LEADERS], came[:LEADERS])
    return ends, came, rounds


def _planes(
    x: np.ndarray, y: np.ndarray, experts: int, starts: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return planes (S, N, d + 1), intercepts first, and variances (S,)."""
    n, d = x.shape
    out = np.empty((starts, experts, d + 1))
    for s in range(starts):
        for k in range(experts):
            rows = rng.choice(n, min(d + 2, n), replace=False)
            if s % 2:
                near = np.argsort(np.sum((x - x[rows[0]]) ** 2, axis=1), kind="stable")
                rows = near[: min(max(3 * (d + 1), n // (2 * experts)), n)]
            out[s, k] = np.linalg.lstsq(np.column_stack([np.ones(len(rows)), x[rows]]), y[rows], rcond=None)[0]
    return out, rng.choice([0.03, 0.1, 0.3, 1.0], starts) / experts


def _climbed(like: Likelihood, free: np.ndarray, came: np.ndarray) -> tuple[Ends, np.ndarray]:
    """Return the distinct ends of the way up, the best first, and how many starts came to each."""
    ends = trust_region(like.problem, free, lower=like.lower, upper=like.upper, max_iterations=500)
    leaders, counts = list[int](), list[int]()
    for row in np.argsort(ends.loss, kind="stable"):
        if not leaders or len(like.y) * (ends.loss[row] - ends.loss[leaders[-1]]) > SAME:
            leaders.append(int(row))
            counts.append(0)
        counts[-1] += int(came[row])
    return Ends(**{field.name: getattr(ends, field.name)[leaders] for field in fields(ends)}), np.array(counts)


def _names(gate: str, inputs: tuple[str, ...]) -> list[str]:
    rows = ["gate", *(f"gate {x}" for x in inputs)] if gate == "softmax" else ["weight"]
    if gate == "gaussian":
        rows += [f"gate {part} {x}" for part in ("centre", "variance") for x in inputs]
        rows += [f"gate covariance {x} {z}" for k, x in enumerate(inputs) for z in inputs[k + 1 :]]
    return [*rows, "mean", *(f"mean {x}" for x in inputs), "variance"]


def _rows(theta: np.ndarray, model: Any, gate: str) -> np.ndarray:
    """Return the parameters that are reported, a column for each expert."""
    if gate == "softmax":
        rows = theta[:, model.gate] - theta[:1, model.gate]
    elif gate == "constant":
        rows = softmax(theta[:, :1], axis=0)
    else:
        spread = theta[:, model.spread] / np.where(np.arange(model.a.start - model.spread.start) < model.d, 1, 2**0.5)
        rows = np.concatenate([theta[:, : model.spread.start], spread], axis=1)
    return np.concatenate([rows, theta[:, model.beta], theta[:, model.a], theta[:, -1:]], axis=1).T


def _notes(fit: MixtureFit, held: pd.DataFrame, lower: float) -> Iterator[str]:
    """Say in sentences what a reader must know of a fit."""
    came, missed = int(fit.maxima["starts"][0]), 1 - 0.05 ** (1 / fit.starts)
    yield f"{fit.status.sentence} Largest gradient {fit.gradient:.1e}; still to be gained there {fit.decrement:.1e}."
    search = f" and {counted(fit.rounds, 'round')} of a search" if fit.rounds is not None else ""
    sure = f"a higher one to which {missed:.1%} of starts lead would have been missed with probability 5 %"
    if not came:
        sure = "the starts say nothing of what else was missed"
    yield f"{came} of {counted(fit.starts, 'start')}{search} came to this maximum; {sure}."
    if came < SURE and (fit.rounds or 0) < SURE:
        yield "It was not found again: there may be a higher one, for more starts or another seed."
    narrow = [k for k in held if held.loc["variance", k] and fit.parameters.loc["variance", k] < 1.5 * lower]
    if narrow:
        yield (
            f"Variances on their lower bound {number(lower)}: expert{'s' * (len(narrow) > 1)} {listed(narrow)}. The "
            "likelihood grows as it is lowered, without end where samples lie on a plane, so that BIC and "
            "AIC cannot choose the number of experts; take fewer experts, or a higher bound."
        )
        regular = fit.maxima[fit.maxima["on_bound"] == 0]
        for height, there in regular[["log_likelihood", "starts"]].head(1).to_numpy():
            some = f"{there:.0f} of {counted(fit.starts, 'start')}"
            yield f"The highest maximum with no variance on that bound has {height:.3f}; {some} came there."
    told = pd.DataFrame(held, copy=True)
    told.loc["variance", narrow] = False
    others = [f"{name} of expert {k}" for k in told for name in told.index[told[k]]]
    if others:
        yield f"On a bound, and without standard errors: {listed(others)}."
    for k, size in enumerate(fit.n * fit.share, start=1):
        if size < len(fit.inputs) + 2:
            some = "no samples" if size < 0.5 else f"{size:.1f} samples, fewer than its plane and variance have numbers"
            yield f"Expert {k} has {some}; take fewer experts."
    unknown = fit.standard_errors.isna() & ~held
    lost = [f"{name} of expert {k}" for k in held if fit.n * fit.share[k - 1] >= 0.5 for name in held.index[unknown[k]]]
    if fit.standard_errors.isna().to_numpy().all():
        yield "The information is singular, so that there are no standard errors."
    elif lost:
        yield f"Not determined by these data, and without standard errors: {listed(lost)}."
    if fit.gate == "gaussian":
        yield (
            "The log-likelihood is that of x and y together; that of y given x, which compares with other gates', is "
            f"{fit.conditional:.3f}."
        )
