"""Rules of claims about mixtures of transformers: two halves at once, an open constant, how two losses go together.

Each function serves a claim of kind ``function``, ``f(ds, claim, **options) -> Estimate``; arms are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims import rules
from moestat.claims.orders import beside
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.study.spec import Claim


def _rows(ds: xr.Dataset, claim: Claim, *axes: str, name: str = "", arm: str = "", **at: Any) -> np.ndarray:
    """Return a variable of an arm, (replicates, axes); those of the claim, if none is named."""
    chosen = {"arm": arm or claim.arm, **claim.at, **at}
    return variable(ds, name or claim.variable, chosen).transpose("replicate", *axes).values


def _mean(found: np.ndarray, claim: Claim, note: str = "", least: int = 2, **more: Any) -> Estimate:
    """Return the mean over the replicates that have a number."""
    kept = found[np.isfinite(found)]
    if kept.size < least:
        raise NoAnswerError(f"Only {kept.size} of {found.size} replicates have a number.")
    mean, _, low, high = (float(value) for value in rates.mean_interval(kept, claim.level))
    told = f"{kept.size} of {found.size} replicates{note}"
    return Estimate(mean, low, high, told, replicates=int(kept.size), **more)


def largest_ratio(ds: xr.Dataset, claim: Claim, *, bound: Mapping[str, float]) -> Estimate:
    """Return the largest ratio of ``claim.variable`` to a bound over all cells: its constant is the limit of the rule.

    ``bound``: axes and their powers: ``{"start_scale": 0.5, "experts": -2}`` is sigma_0^0.5 / M^2.
    """
    ratio = variable(ds, claim.variable)
    if missing := sorted(set(bound) - set(map(str, ratio.dims))):
        raise NoAnswerError(f"{claim.variable} does not run over {', '.join(missing)}, which the bound has.")
    for axis, power in bound.items():
        ratio = ratio / ds[axis].astype(float) ** power
    return rules.largest(ds.assign({claim.variable: ratio}), claim)


def joint_slope(ds: xr.Dataset, claim: Claim, *, over: str = "tuning") -> Estimate:
    """Estimate the exponent a in ``L(claim.arm) = C L(claim.versus)^a`` at equal iterations of the last decade."""
    both = [_rows(ds, claim, over, arm=arm) for arm in (claim.arm, claim.versus)]
    t = ds[over].values.astype(np.float64)
    known = np.all([np.any(np.isfinite(a), axis=0) for a in both], axis=0)
    inside = known & (t >= t[known][-1] / 10)
    pairs = zip(*(np.log(a[:, inside]) for a in both), strict=True)
    slopes = [np.polyfit(b, a, 1)[0] if np.isfinite(a + b).all() else np.nan for a, b in pairs]
    return _mean(np.array(slopes), claim, f", {over} from {t[inside][0]:g} to {t[inside][-1]:g}")


def adds(ds: xr.Dataset, claim: Claim, *, since: str) -> Estimate:
    """Estimate by how much the log ratio of two arms at ``claim.at`` exceeds that at stage ``since``."""
    with np.errstate(invalid="ignore", divide="ignore"):
        after, before = (
            np.log(_rows(ds, claim, **at)) - np.log(_rows(ds, claim, arm=claim.versus, **at))
            for at in ({}, {"stage": since})
        )
        gain = after - before
    return _mean(gain, claim, f", paired; it was {float(before[np.isfinite(gain)].mean()):.4g} at stage {since}")


def _by_halves(
    values: np.ndarray, kept: np.ndarray, score: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, list[int]]:
    """Return what each kept replicate of (points, replicates) has at the lowest score of the other half, and where."""
    found, chosen = np.full(kept.size, np.nan), []
    for half in (0, 1):
        mine, others = (kept & (np.arange(kept.size) % 2 == part) for part in (half, 1 - half))
        if kept.sum() < 4 or not others.any():
            raise NoAnswerError(f"Two halves choose from four replicates at least; {kept.sum()} are whole.")
        chosen.append(int(np.argmin(score(values[:, others]))))
        found[mine] = values[chosen[-1], mine]
    return found, chosen


def best_of(
    ds: xr.Dataset, claim: Claim, *, over: str, arms: Sequence[str], lower: bool = False, open_ends: bool = True
) -> Estimate:
    """Estimate the mean of ``claim.variable`` at the best (highest mean, or ``lower``) of arms and values of ``over``.

    ``open_ends``: a better value may lie beyond an end; a best at an end then decides nothing against the statement.
    """
    axis, sign = ds[over].values, 1 if lower else -1
    values = np.concatenate([_rows(ds, claim, over, arm=arm).T for arm in arms])
    found, chosen = _by_halves(values, np.isfinite(values).all(axis=0), lambda other: sign * other.mean(axis=1))
    points = sorted({(arms[place // len(axis)], float(axis[place % len(axis)])) for place in chosen})
    ends = (axis.min(), axis.max())
    told = " or ".join(
        f"{arm} at {over} {at:g}" + (" (an end of the axis)" if at in ends else "") for arm, at in points
    )
    estimate = _mean(found, claim, f"; {told}")
    least, most = claim.region
    if open_ends and any(at in ends for _, at in points) and (estimate.low > most if lower else estimate.high < least):
        return replace(estimate, reasons=("The best is at an end; a better one beyond it could turn this.",))
    return estimate


def log_ratio_at_best(ds: xr.Dataset, claim: Claim, *, over: str = "tuning_rate") -> Estimate:
    """Estimate the log ratio of two arms, each at its own best value of the axis ``over``: the lowest mean log.

    A run that is not finite is worse than all others, and one at a chosen value leaves its replicate out. A best value
    at an end of the sweep decides nothing that a better one beyond it could turn.
    """
    axis, logs, told, ends = ds[over].values, [], [], []
    for arm in (claim.arm, claim.versus):
        values = _rows(ds, claim, over, arm=arm).T
        each = np.where(np.isfinite(values) & (values > 0), values, np.inf)
        best, chosen = _by_halves(each, np.ones(each.shape[1], dtype=bool), lambda other: np.log(other).mean(axis=1))
        logs.append(np.log(best))
        one = bool(np.all((values == values[:1]) | (np.isnan(values) & np.isnan(values[:1]))))
        rates_chosen = sorted({float(axis[place]) for place in chosen})
        ends.append(not one and bool({float(axis.min()), float(axis.max())} & set(rates_chosen)))
        rest = f"{over} {' or '.join(f'{rate:g}' for rate in rates_chosen)}" + (" (an end of the sweep)" * ends[-1])
        told.append(f"{arm} at its one rate" if one else f"{arm} at {rest}")
    with np.errstate(invalid="ignore"):
        estimate = _mean(logs[0] - logs[1], claim, f"; {'; '.join(told)}", least=4, counts_failures=True)
    (least, most), low, high = claim.region, estimate.low, estimate.high
    inside = least <= low and high <= most
    # a better value of the arm would lower the ratio, one of its rival raise it
    lower, higher = low > most or inside and least > -np.inf, high < least or inside and most < np.inf
    if ends[0] and lower or ends[1] and higher:
        return replace(estimate, reasons=("A best rate is at an end of the sweep; a better one could turn this.",))
    return estimate


def stage_mean(ds: xr.Dataset, claim: Claim, *, stage: str) -> Estimate:
    """Estimate the difference of the means of two arms over the epochs of a stage, not at its end alone."""
    epoch, names = ds["epoch"].values, [str(name) for name in ds["stage"].values]
    if stage not in names:
        raise NoAnswerError(f"There is no stage {stage!r} in this run, only {', '.join(names)}.")
    at = {axis: value for axis, value in {"arm": claim.arm, **claim.at}.items() if axis in ds["stage_end"].dims}
    last = variable(ds, "stage_end", at).transpose(..., "stage").values.reshape(-1, len(names))[0]
    place = names.index(stage)
    first = last[place - 1] if place else 0
    inside = (epoch > first) & (epoch <= last[place])
    ours, theirs = (_rows(ds, claim, "epoch", arm=arm)[:, inside].mean(axis=1) for arm in (claim.arm, claim.versus))
    return _mean(ours - theirs, claim, f", paired; epochs {first + 1:g} to {last[place]:g}")


def _worse(found: np.ndarray, claim: Claim) -> Estimate:
    """Return by which factor the worse of two halves misses its bound: 1 or less where both hold."""
    note = f", both halves hold in {int((found <= 1).sum())}"
    return _mean(found, claim, note, subject="What the worse half has of its bound")


def at_one_step(
    ds: xr.Dataset, claim: Claim, *, own: str, least: float, bounds: Mapping[str, float], over: str = "epoch"
) -> Estimate:
    """Estimate by what the worse half misses its bound, at the recorded step where it misses it by least.

    The halves are ``own`` at ``least`` or more, and ``claim.variable`` at the bound of the arm or less. In each
    replicate the best step of every arm is looked at, and of the arms (in ``bounds``) the worst.
    """
    worst = []
    for arm, bound in bounds.items():
        large, small = (_rows(ds, claim, over, name=name, arm=arm) for name in (own, ""))
        each = np.maximum(small / bound, np.divide(least, large, out=np.full_like(large, np.inf), where=large > 0))
        worst.append(np.where(np.isfinite(large) & np.isfinite(small), each, np.inf).min(axis=1))
    return _worse(np.max(worst, axis=0), claim)


def _two_largest(ds: xr.Dataset, claim: Claim, name: str = "", arm: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Return an expert's <W, v_n> for its class (Definition 2), the largest, and the next one; means over experts."""
    ordered = np.sort(_rows(ds, claim, "expert", "class", name=name, arm=arm), axis=-1)
    known = np.isfinite(ordered[..., -1])  # beyond M a whole row is NaN
    count = np.where(known.any(axis=-1), known.sum(axis=-1), np.nan)
    largest, second = (np.where(known, ordered[..., place], 0.0).sum(axis=-1) / count for place in (-1, -2))
    return largest, second


def weights(ds: xr.Dataset, claim: Claim, *, own: float, other: float) -> Estimate:
    """Estimate by what the worse half of eq. (11) misses its bound.

    The halves are <W, v_n> for an expert's class at ``own`` or more, and the next one at ``other`` or less.
    """
    largest, second = _two_largest(ds, claim)
    short = np.divide(own, largest, out=np.full_like(largest, np.inf), where=largest > 0)
    return _worse(np.where(np.isfinite(largest), np.maximum(second / other, short), np.nan), claim)


def weights_order(ds: xr.Dataset, claim: Claim, *, own: float, target: float) -> Estimate:
    """Estimate the log ratio of the second largest <W, v_n> in ``claim.arm`` to that in ``claim.versus``.

    It is judged as :func:`moestat.claims.orders.exponent` judges, and asked for where the largest is ``own`` or more.
    """
    logs = []
    for arm in (claim.arm, claim.versus):
        largest, second = _two_largest(ds, claim, arm=arm)
        if not rates.mean_interval(largest[np.isfinite(largest)], claim.level)[2] >= own:
            raise NoAnswerError(f"The largest projection is not {own:g} or more in {arm}.")
        with np.errstate(invalid="ignore", divide="ignore"):
            logs.append(np.log(second))
    return beside(logs[0] - logs[1], claim, target, "The mean log ratio of the projections on other classes")


def beside_own(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Estimate the log ratio of ``claim.variable`` to an expert's <W, v_n> for its class (Definition 2)."""
    own, _ = _two_largest(ds, claim, "after_on_labels")
    with np.errstate(invalid="ignore", divide="ignore"):
        return _mean(np.log(_rows(ds, claim)) - np.log(own), claim)
