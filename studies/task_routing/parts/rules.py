"""Claims of the task-routing paper: failures of a construction, of which there must be none, gaps and their trends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import xarray as xr
from scipy import stats

from moestat.claims import printed
from moestat.claims.estimates import seen
from moestat.claims.rules import gap as paired_gap
from moestat.claims.rules import largest, smallest
from moestat.claims.selection import NoAnswerError, at_point, listed, variable
from moestat.rates import Cases, Estimate
from moestat.rates.estimate import mean_interval
from moestat.study.spec import Claim


def worst(
    ds: xr.Dataset, claim: Claim, *, witness: str = "", without: str = "", exact: Mapping[str, float] | None = None
) -> Estimate:
    """Return the worst value of ``claim.variable`` over all datasets of ``claim.arm`` at ``claim.at``.

    The largest, or the smallest where the rule is a lower limit. A statement about every dataset is refuted by one: see
    :func:`moestat.claims.rules.largest`. Sizes count alike.

    ``witness``: a text variable of the results that names what fails; that of the first dataset against the rule goes
    into the note. ``without``: a value of the axis ``repairs``: the note compares with the same datasets there, which
    tells what a repair mends. ``exact``: errors of the weights, and how large each may be: ``{"router_error": 1e-10}``.
    Where one is larger, rounding has left other weights than those that the claim is about; such datasets are told in
    the note and decide nothing.
    """
    here = {"arm": claim.arm, **claim.at}
    inexact = []
    for name, most in (exact or {}).items():
        off = variable(ds, name, here) > most
        inexact += [f"{int(off.sum())} left out, {name} above {most:g}"] if off.any() else []
        ds = ds.assign({claim.variable: ds[claim.variable].where(~(ds[name] > most))})
    datasets = variable(ds, claim.variable, here)
    lower = claim.at_least is not None
    answer = (smallest if lower else largest)(ds, claim)
    low, high = claim.region
    against = ((datasets < low) | (datasets > high)).values
    known = int(np.isfinite(datasets.values).sum())
    note = [f"{'smallest' if lower else 'largest'} of {known} draws, {int(against.sum())} of them against the rule"]
    if witness and witness in ds:
        texts = at_point(ds[witness], here).transpose(*datasets.dims).values[against]
        note += [f"first: {text}" for text in texts[:1] if str(text)]
    if without:
        mended = variable(ds, claim.variable, {**here, "repairs": without}).values
        note.append(f"with repairs = {without} the largest is {np.nanmax(mended):g}")
    return replace(answer, note="; ".join(note + inexact))


def counted(ds: xr.Dataset, claim: Claim) -> Estimate:
    """Return the worst value of a count that holds by arithmetic, whatever is drawn: :func:`worst`, without cases.

    No draw puts it to the test, so that none bounds how often it fails.
    """
    answer = worst(ds, claim)
    return replace(answer, cases=None, note=f"{answer.note}; it holds by arithmetic, whatever is drawn")


def of_one_task(
    ds: xr.Dataset, claim: Claim, *, witness: str = "", exact: Mapping[str, float] | None = None
) -> Estimate:
    """Return the worst value over the datasets in which every prefix has one task: :func:`worst`, without the others.

    Theorem 4.2 speaks of the expert corresponding to the task of a prefix. Where tasks share beginnings (``ambiguous``
    above 0) some prefix has no such expert; those datasets are counted in the note and decide nothing.
    """
    return worst(ds, claim, witness=witness, exact={"ambiguous": 0, **(exact or {})})


def neurons_over_bound(ds: xr.Dataset, claim: Claim, *, tasks: Mapping[str, int]) -> Estimate:
    """Return the worst of all neurons over L|T| + N|K|, N the largest table and one more: :func:`worst`.

    The theorem has tables of fewer than N pairs. What is recorded, ``claim.variable``, takes the largest table for N:
    that is safe where the bound is to be kept, and too strict where it is to be exceeded.

    ``tasks``: number of tasks |K| for every value of the axis ``size``.
    """
    variable(ds, claim.variable, {"arm": claim.arm, **claim.at})
    sizes = ds["size"].values.tolist()
    if missing := [size for size in sizes if size not in tasks]:
        raise NoAnswerError(f"size = {missing[0]!r} has no number of tasks; there are some for {listed(tasks)}.")
    more = xr.DataArray([tasks[size] for size in sizes], dims="size", coords={"size": ds["size"]})
    bound = ds["neurons"] / ds[claim.variable] + more
    answer = worst(ds.assign({claim.variable: ds["neurons"] / bound}), claim)
    return replace(answer, note=f"{answer.note}; N is the largest table and one more")


def printed_spread(ds: xr.Dataset, claim: Claim, *, columns: Sequence[str], limit: float | None = None) -> Estimate:
    """Return by how much the rows of printed tables differ at most in one cell: a column of an arm.

    ``columns``: the columns that count; ``limit``: the share of cells whose rows differ by no more than that, in place
    of the largest difference.
    """
    table = variable(ds, claim.variable, claim.at).isel(replicate=0)
    there = table["column"].values.tolist()
    if missing := [column for column in columns if column not in there]:
        raise NoAnswerError(f"column = {missing[0]!r} is not in this table, which has {listed(there)}.")
    table = table.isel(column=[there.index(column) for column in columns])
    # printed decimals: 90.7 - 86.9 is 3.8
    cells = (table.max("row") - table.min("row")).round(9)
    if limit is not None:
        inside = int((cells <= limit).sum())
        value = inside / cells.size
        return Estimate(value, value, value, f"{inside} of {cells.size} cells", subject="The share", exact=True)
    place = np.unravel_index(int(np.argmax(cells.values)), cells.shape)
    at = ", ".join(f"{axis} {cells[axis].values[k]}" for axis, k in zip(cells.dims, place, strict=True))
    low, high = claim.region
    cases = Cases(cells.size, int(((cells >= low) & (cells <= high)).sum()))
    value = float(cells.max())
    note = f"largest of {cells.size} cells, at {at}"
    return Estimate(value, value, value, note, subject="The largest spread", exact=True, cases=cases)


def dealt(
    ds: xr.Dataset,
    claim: Claim,
    *,
    rule: Literal["lead", "share", "spread"],
    cells: Sequence[str],
    draws: int = 200,
    **options: Any,
) -> Estimate:
    """Return what a rule of printed tables does, with the share of random deals of the table that pass it in the note.

    A deal leaves every row its numbers and puts them into the cells, columns of arms, in a random order of its own.
    What such tables pass as well says nothing of the rows in one cell, only of the levels of whole rows.

    ``rule``: :func:`moestat.claims.printed.lead`, :func:`moestat.claims.printed.share` or :func:`printed_spread`;
    ``cells``: the columns whose numbers are dealt; ``draws``: deals, of a generator with a fixed seed; ``**options``:
    those of the rule.
    """
    rules: dict[str, Callable[..., Estimate]] = {"lead": printed.lead, "share": printed.share, "spread": printed_spread}
    judged = rules[rule]
    answer = judged(ds, claim, **options)
    table = _cells(ds, claim, cells)
    (low, high), passed = claim.region, 0
    other = ds[[claim.variable]].transpose("row", "arm", "column", "replicate").copy(deep=True)
    columns = [ds["column"].values.tolist().index(column) for column in cells]
    for values in _deals(table, draws):
        other[claim.variable].values[:, :, columns, 0] = values.reshape(len(values), -1, len(columns))
        passed += bool(low <= judged(other, claim, **options).value <= high)
    note = f"of the deals of every row's numbers over the {table.sizes['cell']} cells {passed} of {draws} pass, too"
    return replace(answer, note=f"{answer.note}; {note}")


def nearer_in_cells(
    ds: xr.Dataset, claim: Claim, *, cells: Sequence[str], of: Literal["mean", "largest"], draws: int = 2000
) -> Estimate:
    """Return the p-value of the spread of the rows in a cell, against random deals of every row over the cells.

    The share of deals (see :func:`dealt`), the table itself among them, whose spread, the mean or the largest over the
    cells, is no larger. A gap between whole rows is in all deals and makes no p-value small.
    """
    table = _cells(ds, claim, cells)

    def spread(values: np.ndarray) -> float:
        cells = np.ptp(values, axis=0)
        return float(cells.mean() if of == "mean" else cells.max())

    here = spread(table.values)
    there = np.array([spread(values) for values in _deals(table, draws)])
    # printed decimals, see printed_spread
    count = int((there <= here + 1e-9).sum())
    low, high = stats.binomtest(count, draws).proportion_ci(claim.level)
    note = f"{of} spread {here:.3g}, in deals {there.mean():.3g}; {count} of {draws} deals have no larger one"
    return Estimate((1 + count) / (1 + draws), float(low), float(high), note, subject="The p-value")


def _cells(ds: xr.Dataset, claim: Claim, cells: Sequence[str]) -> xr.DataArray:
    """Return a printed table (row, cell), a cell being a column of an arm."""
    table = variable(ds, claim.variable, claim.at).isel(replicate=0, drop=True)
    there = table["column"].values.tolist()
    if missing := [column for column in cells if column not in there]:
        raise NoAnswerError(f"column = {missing[0]!r} is not in this table, which has {listed(there)}.")
    return table.sel(column=list(cells)).stack(cell=("arm", "column")).transpose("row", "cell")


def _deals(table: xr.DataArray, draws: int) -> Iterator[np.ndarray]:
    """Yield the table with the numbers of every row in a random order."""
    rng = np.random.default_rng(0)
    for _ in range(draws):
        yield rng.permuted(table.values, axis=1)


def gap_for_its_share(ds: xr.Dataset, claim: Claim, *, share: str) -> Estimate:
    """Estimate the gap between ``claim.arm`` and ``claim.versus`` in ``claim.variable`` over ``share``, by replicate.

    What silencing an expert costs grows with the share of its task that goes to it; over that share it is the cost of
    what went there.
    """
    parts = variable(ds, claim.variable) / variable(ds, share)
    return paired_gap(ds.assign({claim.variable: parts}), claim, over=())


def visible_gap(ds: xr.Dataset, claim: Claim, *, visible: float) -> Estimate:
    """Estimate the gap between ``claim.arm`` and ``claim.versus`` at ``claim.at``, paired by replicate.

    ``visible``: a smaller gap, either way, decides nothing: a statement on what a figure shows is not about it.
    """
    return seen(paired_gap(ds, claim, over=()), visible, "too small to be seen in a figure")


def trend(ds: xr.Dataset, claim: Claim, *, along: str = "experts") -> Estimate:
    """Estimate by how much the gap between ``claim.arm`` and ``claim.versus`` grows per unit of ``along``.

    The least-squares slope of the gap in every replicate, other axes averaged; a t-interval over replicates, the
    independent units.
    """
    sides = [variable(ds, claim.variable, {"arm": arm, **claim.at}) for arm in (claim.arm, claim.versus)]
    gap = sides[0] - sides[1]
    if along not in gap.dims or gap.sizes[along] < 2:
        raise NoAnswerError(f"A trend needs two or more values of {along!r}.")
    averaged = gap.mean([axis for axis in gap.dims if axis not in ("replicate", along)], skipna=False)
    rows = averaged.transpose("replicate", along).dropna("replicate").values
    x = ds[along].values.astype(float)
    slopes = (rows - rows.mean(axis=1, keepdims=True)) @ (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    mean, _, low, high = (float(part) for part in mean_interval(slopes, claim.level))
    points = ", ".join(f"{value:g}: {gap:+.4g}" for value, gap in zip(x, rows.mean(axis=0), strict=True))
    return Estimate(mean, low, high, f"gap at {along} {points}; {len(rows)} replicates")


def cells_at_least(ds: xr.Dataset, claim: Claim, *, least: float, over: str = "experts") -> Estimate:
    """Estimate the share of cells along ``over`` where ``claim.arm`` less ``claim.versus`` is ``least`` or more.

    Gaps are paired by replicate, with t-intervals that cover all cells at once (Bonferroni). The interval of the share
    runs from the cells that lie in the region with their whole interval to those with some part of it.
    """
    sides = [variable(ds, claim.variable, {"arm": arm, **claim.at}) for arm in (claim.arm, claim.versus)]
    gap = sides[0] - sides[1]
    if over not in gap.dims or gap.sizes[over] < 2:
        raise NoAnswerError(f"A share of cells needs two or more values of {over!r}.")
    rows = gap.transpose("replicate", over).dropna("replicate").values
    mean, _, low, high = mean_interval(rows.T, 1 - (1 - claim.level) / rows.shape[1])
    value, lower, upper = (float(np.mean(end >= least)) for end in (mean, low, high))
    points = ", ".join(
        f"{value:g}: {m:+.3f} [{a:+.3f}, {b:+.3f}]"
        for value, m, a, b in zip(ds[over].values, mean, low, high, strict=True)
    )
    note = f"gap at {over} {points}, all at once; {len(rows)} replicates"
    # where every cell is decided the share is known, at the joint level
    known = lower == upper
    return Estimate(value, lower, upper, note, subject="The share of cells", exact=known, replicates=len(rows))
