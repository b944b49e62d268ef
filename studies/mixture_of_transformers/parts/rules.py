"""Claims about mixtures of transformers: stage lengths with censoring, and how two losses go together.

Each function serves a claim of kind ``function``: ``f(ds, claim, **options) -> Estimate``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from moestat import rates, streams
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.rates.estimate import replicate_slopes
from moestat.study.spec import Claim
from studies.mixture_of_transformers.parts.rules_tuned import at_best_rates

DRAWS = 2000  # bootstrap draws behind the interval of a slope of medians


def median_slope(
    ds: xr.Dataset,
    claim: Claim,
    *,
    over: str = "experts",
    least: float = 0.0,
    points: Mapping[str, float] | None = None,
) -> Estimate:
    """Estimate the exponent of the median of a waiting time along ``over``; a time that is NaN was not reached.

    A median needs only half of the runs, so censored times count as longer than all others. The interval is a
    percentile bootstrap over replicates (draws in which a median is censored leave that point out). Points with a
    censored median are left out of the slope, which is then a lower bound of an increase: it is said, and with fewer
    than three points there is no answer.

    ``over``: the axis; ``least``: points of the axis below it are left out (too few experts to cover the classes, say);
    ``points``: arms and where each of them stands on ``over``, which is then no axis of the results but a name for the
    note: for settings that bring others along (an eta for which T1 is longer).
    """
    if points:
        each = [variable(ds, claim.variable, {"arm": arm, **claim.at}) for arm in points]
        axis = xr.DataArray(list(points.values()), dims=over, name=over)
        array = xr.concat(each, axis, coords="minimal", compat="override", join="exact")
    else:
        array = variable(ds, claim.variable, {"arm": claim.arm, **claim.at})
    array = array.transpose(over, "replicate")
    array = array.isel({over: np.flatnonzero(array[over].values >= least)})
    times = np.where(np.isfinite(array.values), np.maximum(array.values, 1.0), np.inf)
    x = np.log(array[over].values.astype(np.float64))
    slope, used = _median_slope(x, times)
    if used.sum() < 3:
        raise NoAnswerError(f"Only {used.sum()} of {used.size} medians of {claim.variable} are not censored.")
    rng = streams.generator(0, streams.key(use="median_slope"), 0, "bootstrap")
    count = times.shape[1]
    draws = np.array([_median_slope(x, times[:, rng.integers(count, size=count)])[0] for _ in range(DRAWS)])
    tail = (1 - claim.level) / 2
    low, high = np.nanquantile(draws, (tail, 1 - tail))
    medians = np.median(times, axis=1)
    by_point = ", ".join(
        f"{axis}: {median:.4g}" if np.isfinite(median) else f"{axis}: not reached by half"
        for axis, median in zip(array[over].values, medians, strict=True)
    )
    lost = int(np.sum(~np.isfinite(times)))
    note = f"medians by {over} {by_point}; {lost} of {times.size} times are censored"
    return Estimate(float(slope), float(low), float(high), note, counts_failures=True, replicates=count)


def _median_slope(x: np.ndarray, times: np.ndarray) -> tuple[float, np.ndarray]:
    with np.errstate(invalid="ignore"):
        medians = np.median(times, axis=1)
    used = np.isfinite(medians)
    if used.sum() < 2:
        return np.nan, used
    return float(replicate_slopes(x[used], np.log(medians[used])[:, None])[0]), used


def joint_slope(ds: xr.Dataset, claim: Claim, *, over: str = "tuning", decades: float = 1.0) -> Estimate:
    """Estimate the exponent a in ``L(claim.arm) = C L(claim.versus)^a`` at equal iterations.

    One regression per replicate, over the last ``decades`` decades of ``over``; their mean with a t-interval.
    """
    both = [
        variable(ds, claim.variable, {"arm": arm, **claim.at}).transpose("replicate", over)
        for arm in (claim.arm, claim.versus)
    ]
    t = both[0][over].values.astype(np.float64)
    known = np.all([np.any(np.isfinite(a.values), axis=0) for a in both], axis=0)
    inside = known & (t >= t[known][-1] / 10**decades)
    ours, theirs = (np.log(a.values[:, inside]) for a in both)
    whole = np.all(np.isfinite(ours) & np.isfinite(theirs), axis=1)
    slopes = np.array([np.polyfit(b, a, 1)[0] for a, b in zip(ours[whole], theirs[whole], strict=True)])
    mean, _, low, high = rates.mean_interval(slopes, claim.level)
    note = f"{slopes.size} of {whole.size} replicates, {over} from {t[inside][0]:g} to {t[inside][-1]:g}"
    return Estimate(float(mean), float(low), float(high), note, replicates=slopes.size)


def tuned_log_ratio(ds: xr.Dataset, claim: Claim, *, over: str = "tuning_rate") -> Estimate:
    """Estimate the log ratio of a variable in ``claim.arm`` to that in ``claim.versus``, each at its own best rate.

    The best rate of an arm has the lowest median over replicates. It is chosen on one half of the replicates (even,
    odd) and used for the other, so that no run is judged at the rate that it chose itself. Runs that are not finite
    count as worse than all others in the choice; one at a chosen rate leaves its replicate out, which is said, and
    below four replicates there is no answer.

    ``over``: the axis of rates, the same for both arms. A best rate at its end is said in the note, and where a better
    one beyond it could turn the verdict, nothing is decided.
    """
    return at_best_rates(ds, claim, over, lambda values: np.median(values, axis=1))


def own_class(ds: xr.Dataset, claim: Claim, *, of: str, to: str = "") -> Estimate:
    """Estimate what an expert's weights have along its own class n* = argmax <W, v_n> (Definition 2), or beside it.

    ``of`` is "own", <W, v_n*>; "other", the largest <W, v_n> of another class; or "centre", |<W, c_n*>|: means over the
    experts, then over replicates; or "variable", ``claim.variable`` as it is. With ``to``, or with ``claim.versus``, it
    is the log ratio of the mean of ``of`` to that of ``to`` (else of ``of``) in ``claim.versus`` (else in
    ``claim.arm``), paired by replicate.
    """

    def values(arm: str, name: str) -> np.ndarray:
        at = {"arm": arm, **claim.at}
        if name == "variable":
            return variable(ds, claim.variable, at).transpose("replicate").values
        labels = variable(ds, "after_on_labels", at).transpose("replicate", "expert", "class").values
        ordered = np.sort(labels, axis=-1)
        if name == "centre":
            centres = variable(ds, "after_on_centres", at).transpose("replicate", "expert", "class").values
            place = np.argmax(np.where(np.isfinite(labels), labels, -np.inf), axis=-1)
            each = np.abs(np.take_along_axis(centres, place[..., None], axis=-1)[..., 0])
        else:
            each = ordered[..., {"own": -1, "other": -2}[name]]
        used = np.isfinite(each)  # beyond M there is no expert
        return np.sum(np.where(used, each, 0.0), axis=-1) / np.where(used.any(axis=-1), used.sum(axis=-1), np.nan)

    found = values(claim.arm, of)
    if to or claim.versus:
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.log(found) - np.log(values(claim.versus or claim.arm, to or of))
    usable = np.isfinite(found)
    if usable.sum() < 2:
        raise NoAnswerError(f"Only {usable.sum()} of {usable.size} replicates have a number.")
    mean, _, low, high = rates.mean_interval(found[usable], claim.level)
    note = f"{usable.sum()} of {usable.size} replicates"
    return Estimate(float(mean), float(low), float(high), note, replicates=int(usable.sum()))
