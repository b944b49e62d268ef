"""Claims about two models with the rate of each tuned: the rate is chosen by the number that is judged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate
from moestat.study.spec import Claim


def log_ratio_at_best(ds: xr.Dataset, claim: Claim, *, over: str = "tuning_rate") -> Estimate:
    """Estimate the log ratio of a variable in ``claim.arm`` to that in ``claim.versus``, each at its own best rate.

    The best rate of an arm has the lowest mean log over replicates, which is what is compared: a rate with a low median
    at which some runs diverge is not the best one by its mean. It is chosen on one half of the replicates (even, odd)
    and used for the other, so that no run is judged at the rate that it chose itself. Runs that are not finite count as
    worse than all others in the choice; one at a chosen rate leaves its replicate out, which is said.

    ``over``: the axis of rates, the same for both arms. Where a best rate is at its end and a better one beyond it
    could turn the verdict, nothing is decided.
    """
    return at_best_rates(ds, claim, over, lambda values: np.log(values).mean(axis=1))


def at_best_rates(ds: xr.Dataset, claim: Claim, over: str, centre: Callable[[np.ndarray], np.ndarray]) -> Estimate:
    """Estimate the log ratio of two arms, each at the rate with the lowest ``centre`` of the other half's replicates.

    ``over``: the axis of rates; ``centre``: takes values (rates, replicates), infinite where a run is not finite or 0,
    to one number for each rate.
    """
    logs, chosen, fixed = [], [], []
    for arm in (claim.arm, claim.versus):
        side = variable(ds, claim.variable, {"arm": arm, **claim.at}).transpose(over, "replicate")
        axis, value = side[over].values, side.values
        if value.shape[1] < 4:  # each half chooses for the other
            raise NoAnswerError(f"Two halves choose from four replicates at least, not from {value.shape[1]}.")
        each = np.where(np.isfinite(value) & (value > 0), value, np.inf)
        places = [int(np.argmin(centre(each[:, 1 - half :: 2]))) for half in (0, 1)]
        at_best = np.empty(value.shape[1])
        for half, place in enumerate(places):
            at_best[half::2] = each[place, half::2]
        logs.append(np.log(at_best))
        chosen.append({float(axis[place]) for place in places})
        fixed.append(bool(np.all((value == value[:1]) | (np.isnan(value) & np.isnan(value[:1])))))
    usable = np.isfinite(logs[0]) & np.isfinite(logs[1])
    if usable.sum() < 4:
        raise NoAnswerError(f"Only {usable.sum()} of {usable.size} replicates have both values at the best rates.")
    mean, _, low, high = (float(x) for x in rates.mean_interval((logs[0] - logs[1])[usable], claim.level))
    ends = {float(axis.min()), float(axis.max())}
    told = "; ".join(
        f"{arm} at its one rate"
        if one
        else f"{arm} at {over} {' or '.join(f'{rate:g}' for rate in sorted(best))}"
        + (" (an end of the sweep)" if ends & best else "")
        for arm, best, one in zip((claim.arm, claim.versus), chosen, fixed, strict=True)
    )
    lower, higher = (bool(ends & best) and not one for best, one in zip(chosen, fixed, strict=True))
    least, most = claim.region
    inside = least <= low and high <= most
    # a better rate of the arm would lower the ratio, one of its rival raise it
    open_end = (lower and (low > most or inside and least > -np.inf)) or (
        higher and (high < least or inside and most < np.inf)
    )
    reasons = ("A best rate is at an end of the sweep; a better one beyond it could turn this.",) if open_end else ()
    count = int(usable.sum())
    note = f"{count} of {usable.size} replicates; {told}"
    return Estimate(mean, low, high, note, reasons, counts_failures=True, replicates=count)
