"""``replay STUDY ARM N REPLICATE``: compute a replicate from its identity alone, compare it with the stored one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from moestat.errors import InputError
from moestat.runner import contract, experiments, origin, shard, store, worker
from moestat.runner.begin import cache_of, version_of
from moestat.runner.cells import PlannedCell
from moestat.runner.devices import resolve_device
from moestat.runner.difference import difference
from moestat.runner.plan import Plan
from moestat.runner.shard import Variable
from moestat.sentences import listed, nearest
from moestat.status import Status
from moestat.threads import one_thread


@dataclass
class Replay:
    """A replicate computed again. ``differences`` is None when nothing is stored to compare with."""

    planned: PlannedCell
    replicate: int
    variables: dict[str, Variable]
    attrs: dict[str, Any]
    stored: dict[str, Variable] | None = None
    differences: dict[str, str] | None = None
    remarks: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Whether what is stored is the same, bit for bit (True if nothing is)."""
        return not self.differences


def parse_place(plan: Plan, words: Sequence[str]) -> tuple[PlannedCell, int]:
    """Understand ``ARM VALUE... REPLICATE``, one value (``1000`` or ``n=1000``) for each axis of the grid.

    Raises
    ------
    InputError
        It says which arms, values or replicates there are.
    """
    axes = list(plan.axes)
    usage = f"the study needs: replay {plan.study_file.name} ARM {' '.join(a.upper() for a in axes)} REPLICATE"
    if len(words) != len(axes) + 2:
        raise InputError(f"{usage}; {len(words)} words were given")
    arm, *values, replicate = words
    names = [a.name for a in plan.arms]
    if arm not in names:
        raise InputError(f"there is no arm {arm!r}{nearest(arm, names) or ';'} allowed are {listed(names)}")
    coords: dict[str, Any] = {}
    for at, word in enumerate(values):
        key, equals, rest = word.partition("=")
        axis, text = (key, rest) if equals else (axes[at], word)
        if axis not in axes:
            raise InputError(f"there is no axis {axis!r}; allowed are {listed(axes)}")
        if axis in coords:
            raise InputError(f"{usage}; {axis} was given twice")
        coords[axis] = _coordinate(plan, axis, text)
    planned = plan.by_slot.get(_slot(arm, coords))
    if planned is None:
        raise InputError(f"arm {arm!r} has no cell at {coords}")
    if not replicate.isdigit() or int(replicate) >= 2**32:
        raise InputError(f"the replicate is {replicate!r}; allowed are 0 to 4294967295")
    return planned, int(replicate)


def _slot(arm: str, coords: Mapping[str, Any]) -> str:
    from moestat.runner.cells import slot_text

    return slot_text(arm, coords)


def _coordinate(plan: Plan, axis: str, text: str) -> Any:
    for value in plan.axes[axis]:
        if str(value) == text or str(value).lower() == text:
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                if float(text) == value:
                    return value
            except ValueError:
                continue
    raise InputError(f"{axis} is {text!r}; on the grid are {listed(plan.axes[axis])}")


def replay(plan: Plan, scan: store.Scan, out: Path, planned: PlannedCell, replicate: int, device: str) -> Replay:
    """Compute one replicate alone and compare it with the stored one."""
    version_of(plan)  # refuses code that changed since it was imported
    context = worker.Context(
        module_name=plan.module_name,
        search_path=tuple(experiments.search_path(plan.study_file)),
        root="",
        cache=cache_of(out),
        device=resolve_device(device, plan),
    )
    module = worker.enter_process(context)
    try:
        with one_thread():
            dataset = module.run(planned.cell, [replicate], device=context.device)
        variables, attrs = contract.check(dataset, planned.cell, [replicate])
    except (Exception, SystemExit) as error:  # a replicate that raises is a result like any other
        variables, attrs = contract.failed([replicate], Status.RAISED, worker.describe(error)), {}
    result = Replay(planned, replicate, variables, attrs)
    _compare(result, scan, context.device)
    return result


def _compare(result: Replay, scan: store.Scan, device: str) -> None:
    digest = result.planned.digest
    entries = store.in_order(scan.usable.get(digest, [])) + store.in_order(scan.stale.get(digest, []))
    for entry in entries:
        if result.replicate not in entry.replicates:
            continue
        header, stored = shard.read(entry.path)
        if entry.why:
            result.remarks.append(f"the stored replicate is stale: {', '.join(entry.why)}")
        row = header.replicates.index(result.replicate)
        result.stored = {
            name: Variable(v.dims, v.values[row : row + 1] if "replicate" in v.dims else v.values)
            for name, v in (stored | as_variables(header.attrs)).items()
        }
        result.differences = {}
        again = result.variables | as_variables(result.attrs)
        measured = {name for name, variable in result.variables.items() if variable.measured}
        if measured:
            result.remarks.append(f"measurements of the machine, which are not compared: {', '.join(sorted(measured))}")
        for name in sorted((result.stored.keys() | again.keys()) - measured):
            text = difference(result.stored.get(name), again.get(name))
            if text:
                result.differences[name] = text
        if result.differences:
            now = origin.here() | {"device": device}
            result.remarks.append(f"stored was computed by {origin.text(entry.provenance)}")
            result.remarks.append(f"now it was computed by {origin.text(now)}")
            if not entry.why and not origin.differences(entry.provenance, now):
                result.remarks.append("both name the same kernels and versions: the experiment is not repeatable")
        return


def as_variables(attrs: Mapping[str, Any]) -> dict[str, Variable]:
    """Return the attributes of a dataset, which are properties of the cell, as variables."""
    return {
        name: Variable((), np.asarray(value, dtype=object if isinstance(value, str) else None))
        for name, value in attrs.items()
    }
