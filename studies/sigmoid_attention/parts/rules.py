"""Claims of the sigmoid-attention paper: slopes of a protocol, rows of the table of complexities, an inequality.

The functions serve claims of kind ``function``: ``claim.variable`` is the loss, ``claim.arm`` the arm, ``claim.at``
fixes the other axes of the grid. Slopes are per replicate, as everywhere; a replicate with a hole is left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from moestat import rates
from moestat.claims.rules import simultaneous
from moestat.claims.selection import NoAnswerError, variable
from moestat.rates import Estimate, bends
from moestat.rates.estimate import mean_interval, replicate_slopes
from moestat.study.spec import Claim


def largest_slope_gap(ds: xr.Dataset, claim: Claim, *, between: str = "start_rule", over: str = "n") -> Estimate:
    """Estimate the largest difference of slopes between any two values of the axis ``between``.

    Differences are paired by replicate. The interval covers all pairs at once (Bonferroni): its lower end is above a
    bound if some pair differs by more, its upper end is below if no pair does.
    """
    slopes, names, note, turns = _slopes(ds, claim, claim.variable, between, over)
    pairs = list(itertools.combinations(range(len(names)), 2))
    if not pairs:
        raise NoAnswerError(f"At least two values of {between} are needed; there is {', '.join(names)}.")
    gaps = np.stack([slopes[i] - slopes[j] for i, j in pairs])
    mean, low, high = simultaneous(gaps, claim.level)
    i, j = pairs[int(np.argmax(mean))]
    note = f"{names[i]} gives {slopes[i].mean():.2f}, {names[j]} gives {slopes[j].mean():.2f}; {note}"
    bend = bends.sentence({f"the line of {names[k]}": turns[k] for k in (i, j)})
    return Estimate(float(mean.max()), float(low.max()), float(high.max()), note, replicates=slopes.shape[1], bend=bend)


def largest_move(
    ds: xr.Dataset, claim: Claim, *, start: str = "", between: str = "start_rule", over: str = "n"
) -> Estimate:
    """Estimate the largest difference, over the axis ``between``, of the final slope to the slope at the start.

    ``start`` is the variable at the start, ``start_`` + ``claim.variable`` when empty. Interval as in
    :func:`largest_slope_gap`.
    """
    final, names, note, ended = _slopes(ds, claim, claim.variable, between, over)
    first, _, _, began = _slopes(ds, claim, start or f"start_{claim.variable}", between, over)
    if final.shape != first.shape:
        raise NoAnswerError(f"{claim.variable} and its start have values in different replicates.")
    mean, low, high = simultaneous(final - first, claim.level)
    worst = int(np.argmax(mean))
    note = f"{names[worst]}: {first[worst].mean():.2f} at the start, {final[worst].mean():.2f} at the end; {note}"
    bend = bends.sentence({"the line at the end": ended[worst], "the line at the start": began[worst]})
    return Estimate(float(mean.max()), float(low.max()), float(high.max()), note, replicates=final.shape[1], bend=bend)


def _slopes(
    ds: xr.Dataset, claim: Claim, name: str, between: str, over: str
) -> tuple[np.ndarray, list[str], str, list[str]]:
    """Return slopes (K, R) of the complete replicates, the names along ``between``, how many they are, and bends."""
    array = variable(ds, name, {"arm": claim.arm, **claim.at})
    every = slopes_of(array, [between], over)
    (slopes,) = paired([every])
    note = f"{slopes.shape[1]} of {every.shape[1]} replicates, {array.sizes[over]} sizes"
    return slopes, [str(value) for value in array[between].values], note, turns_of(array, [between], over, claim.level)


def slopes_of(array: xr.DataArray, axes: Sequence[str], over: str) -> np.ndarray:
    """Return the slopes of a variable, (points, replicates), NaN in replicates with a hole.

    ``array``: along ``axes``, ``over`` and replicate, with nothing else; ``axes``: their points are in row-major order;
    ``over``: the axis of the slopes.
    """
    values, sizes = _lines(array, axes, over)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where(values > 0, values, np.nan))
    slopes: np.ndarray = replicate_slopes(np.log(sizes), logs)
    return slopes


def turns_of(array: xr.DataArray, axes: Sequence[str], over: str, level: float) -> list[str]:
    """Return for every line of :func:`slopes_of` how it bends, as :func:`moestat.rates.bends.turn` says it."""
    values, sizes = _lines(array, axes, over)
    return [rates.fit(losses, over=sizes, level=level, draws=0).turn for losses in values]


def _lines(array: xr.DataArray, axes: Sequence[str], over: str) -> tuple[np.ndarray, np.ndarray]:
    """Return losses (points, sizes, replicates), and the sizes in increasing order."""
    left = [str(d) for d in array.dims if d not in (*axes, over, "replicate")]
    if left:
        raise NoAnswerError(f"{array.name} also runs over {', '.join(left)}; say under 'at' where it is taken.")
    losses = array.transpose(*axes, over, "replicate").sortby(over)
    if losses.sizes[over] < 2:
        raise NoAnswerError(f"A slope needs at least two values of {over}.")
    values: np.ndarray = losses.values.reshape(-1, losses.sizes[over], losses.sizes["replicate"])
    return values, losses[over].values.astype(np.float64)


def paired(sides: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Keep the replicates that are complete at every point of every side."""
    complete = np.all([np.isfinite(side).all(axis=0) for side in sides], axis=0)
    _refuse_few(int(complete.sum()))
    return [side[:, complete] for side in sides]


def _refuse_few(complete: int) -> None:
    if complete < 2:
        raise NoAnswerError(f"{complete} complete replicates give no interval; at least 2 are needed.")


def measured_slope(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Return the slope of a row with the interval that its source gives."""
    row = _row(ds, claim.arm)
    slope, low, high = (float(row[name]) for name in ("slope", "slope_low", "slope_high"))
    rest = tuple(float(row[f"converged_{end}"]) for end in ("low", "high"))
    reasons = _reasons(claim, [row], (low, high), rest)
    # the folder of all results belongs to one machine, and a claim is read on others
    source = "/".join(str(row["source_file"].values).split("/")[-3:])
    note = (
        f"{float(row['halving']):.3g} times the samples halve the error; {int(row['source_replicates'])} replicates, "
        f"{source} of {str(row['source_date'].values)[:10]}, sha256 {str(row['source_sha256'].values)[:12]}"
    )
    bend = bends.sentence({"the line": _turn(row)})
    return Estimate(slope, low, high, note, reasons, replicates=int(row["source_replicates"]), bend=bend)


def slope_lead(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Estimate the difference of two rows' slopes, paired by the replicates of their sources."""
    answer = _lead(ds, claim, "slopes", _reasons)
    turns = {"the first line": _turn(_row(ds, claim.arm)), "the second line": _turn(_row(ds, claim.versus))}
    return replace(answer, bend=bends.sentence(turns))


def level_lead(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Estimate the log ratio of two rows' errors at the largest size, paired by the replicates of their sources.

    What stands in the way of a rate does not stand in that of a level.
    """
    return _lead(ds, claim, "lasts", lambda claim, _, *intervals: _unsettled(claim, *intervals))


def _lead(ds: xr.Dataset, claim: Claim, name: str, reasons: Callable[..., tuple[str, ...]]) -> Estimate:
    rows = [_row(ds, arm) for arm in (claim.arm, claim.versus)]
    every, settled = (rows[0][of].values - rows[1][of].values for of in (name, f"{name}_converged"))
    complete = every[np.isfinite(every)]
    _refuse_few(complete.size)
    mean, _, low, high = (float(v) for v in mean_interval(complete, claim.level))
    left = settled[np.isfinite(settled)]
    rest = tuple(float(v) for v in mean_interval(left, claim.level)[2:]) if left.size > 1 else (np.nan, np.nan)
    why = reasons(claim, rows, (low, high), rest)
    return Estimate(mean, low, high, f"{complete.size} paired replicates", why, replicates=complete.size)


def _row(ds: xr.Dataset, arm: str) -> xr.Dataset:
    if arm not in ds["arm"].values:
        raise NoAnswerError(f"The arm {arm!r} is not part of this run.")
    return ds.sel(arm=arm).isel(replicate=0)


def _turn(row: xr.Dataset) -> str:
    """Return how the line of a row bends; empty where the results do not hold it."""
    return str(row["turn"].values) if "turn" in row else ""


def _reasons(
    claim: Claim, rows: Sequence[xr.Dataset], every: tuple[float, ...], settled: tuple[float, ...]
) -> tuple[str, ...]:
    """Say why an interval is not to be trusted: the reasons of its rows, and replicates that did not converge."""
    reasons = [text for row in rows if (text := str(row["reasons"].values))]
    return tuple(dict.fromkeys([*reasons, *_unsettled(claim, every, settled)]))


def _unsettled(claim: Claim, every: tuple[float, ...], settled: tuple[float, ...]) -> tuple[str, ...]:
    if _place(claim, settled) == _place(claim, every):
        return ()
    return ("The verdict hangs on replicates of the source that did not converge.",)


def _place(claim: Claim, interval: tuple[float, ...]) -> str:
    """Say where an interval lies with respect to the region of the rule; an interval of NaN lies nowhere."""
    low, high = claim.region
    if not interval[0] <= interval[1]:
        return "nowhere"
    if low <= interval[0] and interval[1] <= high:
        return "inside"
    return "outside" if interval[1] < low or interval[0] > high else "across"
