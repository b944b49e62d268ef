"""Whether verdicts turn on the last digit: perturbed results, and the cells nearest to a rule's edge computed again.

Two processors need not agree to the last digit, and a fit with many minima may then end in another one. Verdicts that
such a difference changes are named. First all stored numbers are moved by one unit in the last place, at random,
several times. Then the cells of the claims that are nearest to the edge of their rule are computed again with other
kernels, take the place of the stored ones, and everything is judged again.

A count, too, can turn on a last digit: that of a number that was compared and not stored. Moving the count itself by
one unit in its last place would show nothing, or what no processor does (3 of 3 become 0.9999999999999998), so claims
that the first check does not move are told, and have their own share of the second.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import xarray as xr

from moestat.claims import verdicts
from moestat.claims.counts import is_at
from moestat.claims.verdicts import Verdict
from moestat.errors import InputError
from moestat.rounding import number
from moestat.runner import again, collect, origin, overview, store
from moestat.runner.cells import PlannedCell
from moestat.runner.devices import default_jobs, resolve_device
from moestat.runner.plan import Plan
from moestat.runner.progress import duration
from moestat.runner.request import Request
from moestat.study.patterns import fits
from moestat.study.spec import Claim

DRAWS = 8
"""How many times the last digits are moved."""
NEAREST = 3
"""Claims whose cells are computed again, and as many of those that rest on whole numbers."""
MOST_CELLS = 12
"""Cells that are computed again at most: the cheapest of each claim, then the next ones."""


@dataclass
class Sensitivity:
    """What a check showed: sentences, and the claims whose verdicts are not robust with what they become."""

    lines: list[str] = field(default_factory=list)
    fragile: dict[str, str] = field(default_factory=dict)


def check(request: Request, say: Callable[[str], None] = lambda text: None) -> Sensitivity:
    """Say which verdicts of a study that was run are not robust.

    Raises
    ------
    InputError
        If the study was not run to its end.
    StaleError
        If the results are of other settings or code.
    """
    request, plan, root, scan, code = overview.look(request)
    if request.accept_stale:
        store.accept_stale(scan)
    store.refuse_stale(scan, root)
    if missing := scan.tally()["missing"]:
        raise InputError(f"{missing} replicates are missing in {root}; complete them with: {request.command()}")
    study, preset = plan.study_file.study, plan.preset_name
    claims = {claim.id: claim for claim in verdicts.judged(study, preset)}
    dataset, _ = collect.collect(scan)
    stored = verdicts.judge(dataset, study, preset)
    result = Sensitivity()
    ranked = sorted(stored, key=lambda verdict: margin(verdict, claims[verdict.claim]))
    near = [v for v in ranked if math.isfinite(margin(v, claims[v.claim]))]
    if not near:
        result.lines.append("no verdict rests on a number, so none can turn on a digit")
        return result
    for verdict in near[:NEAREST]:
        share = margin(verdict, claims[verdict.claim])
        result.lines.append(
            f"{verdict.claim} ({verdict.verdict}) lies {share:.2g} of its size from the edge of its rule"
        )
    still = {verdict.claim for verdict in near}
    for draw in range(DRAWS):
        moved = verdicts.judge(perturbed(dataset, draw), study, preset)
        _compare(result, stored, moved, "with every stored number moved by one unit in the last place")
        still -= {old.claim for old, new in zip(stored, moved, strict=True) if _numbers(old) != _numbers(new)}
    turned = ", ".join(result.fragile) or "no verdict changes"
    result.lines.append(f"every stored number moved by one unit in the last place, {DRAWS} times: {turned}")
    whole = [verdict for verdict in near if verdict.claim in still]
    if whole:
        left = len(whole) - NEAREST
        result.lines.append(
            "resting on whole numbers, which this does not move: "
            + ", ".join(verdict.claim for verdict in whole[:NEAREST])
            + (f", and {left} that are farther from the edge and not tested" if left > 0 else "")
        )
    chosen = near[:NEAREST] + [verdict for verdict in whole[:NEAREST] if verdict not in near[:NEAREST]]
    cells = nearest_cells(plan, scan, [claims[verdict.claim] for verdict in chosen])
    other, lines = _elsewhere(request, plan, scan, code, cells, say)
    result.lines += lines
    if other is not None:
        before = set(result.fragile)
        _compare(result, stored, verdicts.judge(other, study, preset), "with cells computed by other kernels")
        turned = ", ".join(name for name in result.fragile if name not in before) or "no further verdict changes"
        result.lines.append(f"{distance(dataset, other)}: {turned}")
    return result


def margin(verdict: Verdict, claim: Claim) -> float:
    """Return how far an estimate's interval is from the edge of its rule, relative to their size; infinite without.

    >>> from moestat.study.spec import Claim
    >>> rule = dict(id="c", source="s", statement="t", kind="mean", variable="x", arm="a", at_most=2.0)
    >>> row = dict.fromkeys(Verdict.__dataclass_fields__, "") | {"estimate": 1.0, "ci_low": 0.5, "ci_high": 1.5}
    >>> margin(Verdict(**row), Claim(**rule))
    0.25
    """
    ends = [x for x in (verdict.estimate, verdict.ci_low, verdict.ci_high) if math.isfinite(x)]
    edges = [x for x in claim.region if math.isfinite(x)]
    gaps = [abs(end - edge) / max(abs(end), abs(edge), 1e-300) for end in ends for edge in edges]
    return min(gaps, default=math.inf)


def perturbed(dataset: xr.Dataset, draw: int) -> xr.Dataset:
    """Return the results with every float moved by one unit in the last place, up or down or not at all.

    Whole numbers stay as they are: they are counts, ranks, shares of all, zeros by construction. One unit in their last
    place is not what another kernel does to them; :func:`check` has them computed again.
    """
    random = np.random.default_rng(draw)
    moved = {}
    for name, array in dataset.data_vars.items():
        if array.dtype.kind == "f" and not array.attrs.get("measurement") and not array.attrs.get("binary"):
            steps = random.choice(np.array([-np.inf, np.nan, np.inf]), size=array.shape)
            fixed = np.isnan(steps) | (array.values == np.rint(array.values))
            values = np.where(fixed, array.values, np.nextafter(array.values, steps.astype(array.dtype)))
            moved[name] = array.copy(data=values)
    return dataset.assign(moved)


def nearest_cells(plan: Plan, scan: store.Scan, claims: Sequence[Claim]) -> list[PlannedCell]:
    """Return the cells that claims rest on: the cheapest of each, then the next ones, at most ``MOST_CELLS``."""
    chosen: dict[str, PlannedCell] = {}
    of_claims = [
        sorted((planned for planned in plan.cells if concerns(claim, planned)), key=lambda p: seconds(scan, [p]))
        for claim in claims
    ]
    for planned in itertools.chain.from_iterable(itertools.zip_longest(*of_claims)):
        if planned is not None and len(chosen) < MOST_CELLS:
            chosen.setdefault(planned.digest, planned)
    return list(chosen.values())


def concerns(claim: Claim, planned: PlannedCell) -> bool:
    """Whether a claim may rest on a cell: its arms, and the coordinates at which it is judged."""
    arms = [
        name for name in (claim.arm, claim.versus, *claim.options.get("arms", [])) if isinstance(name, str) and name
    ]
    if arms and not fits(planned.cell.arm, arms):
        return False
    coords = planned.cell.coords
    places = [claim.at] if claim.versus_at is None else [claim.at, claim.versus_at]
    return any(
        all(axis not in coords or bool(is_at(xr.DataArray(coords[axis]), value)) for axis, value in place.items())
        for place in places
    )


def seconds(scan: store.Scan, cells: Sequence[PlannedCell]) -> float:
    """Return how long the stored replicates of some cells took."""
    return sum(entry.seconds for planned in cells for entry in scan.usable.get(planned.digest, []))


def distance(one: xr.Dataset, two: xr.Dataset) -> str:
    """Say by how much two collections of the same results differ, relatively, and where most."""
    worst, place = 0.0, ""
    for name, array in one.data_vars.items():
        if array.dtype.kind != "f" or array.attrs.get("measurement") or name not in two:
            continue
        a, b = array.values, two[name].values
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))
        gap = np.where(np.isnan(a) == np.isnan(b), np.nan_to_num(gap), np.inf)
        if gap.size and gap.max() > worst:
            worst, place = float(gap.max()), str(name)
    return f"the largest relative difference is {number(worst)}, in {place}" if place else "all numbers are equal"


def _elsewhere(
    request: Request,
    plan: Plan,
    scan: store.Scan,
    code: dict[str, str],
    cells: list[PlannedCell],
    say: Callable[[str], None],
) -> tuple[xr.Dataset | None, list[str]]:
    """Compute cells with other kernels, and return the results with these in the place of the stored ones."""
    device = resolve_device(request.device, plan)
    jobs = request.jobs or default_jobs()
    took = duration(seconds(scan, cells) / jobs)
    say(f"computing {len(cells)} cells again with other kernels; they took {took} on {jobs} processors")
    with tempfile.TemporaryDirectory(prefix="moestat-") as name:
        folder = Path(name)
        again.compute(plan, cells, folder, device=device, jobs=jobs, environment=again.other_kernels())
        fresh = store.scan(folder, plan, code)
        stored = [entry for planned in cells for entry in scan.usable[planned.digest]]
        changes = origin.differences(_joint(stored), _joint(fresh.used))
        if not changes:
            return None, ["no other kernel computes these cells here, so they were not compared"]
        mixed = store.Scan(plan, usable=scan.usable | fresh.usable)
        dataset, _ = collect.collect(mixed)
    labels = "; ".join(planned.label for planned in cells)
    replicates = sum(len(entry.replicates) for entry in fresh.used)
    return dataset, [f"{replicates} replicates computed again ({', '.join(changes)}): {labels}"]


def _joint(entries: Sequence[store.Entry]) -> dict[str, object]:
    return origin.groups(entries)[0][0] if entries else {}


def _numbers(verdict: Verdict) -> str:
    return repr((verdict.estimate, verdict.ci_low, verdict.ci_high))


def _compare(result: Sensitivity, stored: Sequence[Verdict], moved: Sequence[Verdict], how: str) -> None:
    for old, new in zip(stored, moved, strict=True):
        if old.verdict != new.verdict:
            result.fragile.setdefault(old.claim, f"{old.verdict} becomes {new.verdict} {how}")
