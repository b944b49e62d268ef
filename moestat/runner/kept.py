"""What ``results.nc`` holds beyond what is asked for: a plain command keeps it, any other says what it drops.

``--replicates 40`` or ``--set n=[100, 200, 400]`` grow the results of a study. The plain command afterwards means these
results, not a smaller copy of them, as long as they are complete, so that keeping them costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moestat.errors import UserError
from moestat.runner import hdf5, manifest_file, plan, results
from moestat.runner.request import Request, no_word
from moestat.sentences import listed


@dataclass(frozen=True)
class Extent:
    """The size of collected results: the number of replicates, the values of each axis, and whether none is missing."""

    replicates: int
    axes: Mapping[str, tuple[Any, ...]]
    complete: bool


def extent(root: Path) -> Extent | None:
    """Return the size of the results in a folder; None where there are none that can be read."""
    path = root / results.NAME
    if not path.is_file():
        return None
    import h5netcdf  # for three of a hundred variables: xarray opens all of them, for half a second

    try:
        if results.altered(path):
            return None
        hdf5.check(path)
        with h5netcdf.File(path, "r", decode_vlen_strings=True) as file:
            dims = file["status"].dimensions if "status" in file.variables else tuple(file.dimensions)
            axes = {dim: _values(file[dim]) for dim in dims if dim != "replicate" and dim in file.variables}
            replicates = file.dimensions["replicate"].size if "replicate" in file.dimensions else 0
            return Extent(replicates, axes, int(file.attrs.get("count_missing", 1)) == 0)
    except (UserError, *results.UNREADABLE):  # it is made again
        return None


def _values(coordinate: Any) -> tuple[Any, ...]:
    values = coordinate[...]
    return tuple((values.astype(bool) if coordinate.attrs.get("dtype") == "bool" else values).tolist())


def of_dataset(ds: Any) -> Extent:
    """Return the size of a collected dataset."""
    dims = ds["status"].dims if "status" in ds else ds.dims
    axes = {str(dim): tuple(ds[dim].values.tolist()) for dim in dims if dim != "replicate" and dim in ds.coords}
    return Extent(int(ds.sizes.get("replicate", 0)), axes, int(ds.attrs.get("count_missing", 1)) == 0)


def widened(request: Request, planned: plan.Plan, root: Path) -> tuple[Request, list[str]]:
    """Return the request for all that the command line had grown the results to, and what is to be said about it.

    Parameters
    ----------
    request : Request
    planned : Plan
        What the request asks for by itself.
    root : Path
        The folder of the results.
    """
    study = planned.study_file.study
    if request.fresh or study.reads:
        return request, []
    asked = manifest_file.cached(root).get("request", {})
    if not asked.get("replicates") and not asked.get("settings"):
        return request, []
    there = extent(root)
    if there is None or not there.complete:
        return request, []
    changes: dict[str, Any] = {}
    said = []
    if request.replicates is None and asked.get("replicates") == there.replicates > planned.replicates:
        changes["replicates"] = there.replicates
        said.append(f"{there.replicates} replicates (--replicates {planned.replicates} for fewer)")
    settings = dict(request.settings)
    for axis, values in (asked.get("settings") or {}).items():
        before = planned.axes.get(axis) or _single(planned, axis)
        if axis in settings or not before or not isinstance(values, list) or no_word(values):
            continue
        if tuple(values) == there.axes.get(axis) and set(before) < set(values):
            settings[axis] = values
            said.append(f"{axis} = {listed(values)} (--set {axis}={','.join(map(str, before))} for fewer)")
    if not said:
        return request, []
    changes["settings"] = settings
    return replace(request, **changes), [f"kept what was computed here before: {'; '.join(said)}"]


def _single(planned: plan.Plan, key: str) -> tuple[Any, ...]:
    """Return the value of a setting that all cells share, or nothing."""
    values = {repr(cell.cell.settings.get(key)): cell.cell.settings.get(key) for cell in planned.cells}
    only = next(iter(values.values())) if len(values) == 1 else None
    return (only,) if isinstance(only, bool | int | float | str) else ()


def dropped(root: Path, ds: Any) -> list[str]:
    """Say what the results in a folder hold that those which are about to replace them do not.

    The shards stay in any case, so what is dropped comes back with the command that asks for it.
    """
    before = extent(root)
    if before is None:
        return []
    now = of_dataset(ds)
    lost = []
    if now.replicates < before.replicates:
        lost.append(f"{before.replicates - now.replicates} of {before.replicates} replicates")
    for axis, values in before.axes.items():
        gone = [value for value in values if value not in now.axes.get(axis, ())]
        if gone:
            lost.append(f"{axis} = {listed(gone, 8)}")
    if not lost:
        return []
    return [
        f"{results.NAME} no longer holds {'; '.join(lost)}, which this command does not ask for; the shards are kept, "
        "and the command that computed them brings them back at once"
    ]
