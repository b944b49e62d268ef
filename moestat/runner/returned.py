"""Which variables an experiment can return, as far as its tables and its source tell before anything is computed.

A name is possible if a ``variables.toml`` describes it, or if the source of the code that computes can give it
(:mod:`moestat.runner.possible`). What moestat's own experiments cannot return is refused before a run; of a user's own
code, whose names may come from anywhere (the columns of a file, say), it is said as a caution. What only the results
tell is said at the end of a run, which keeps them.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from moestat import own_files
from moestat.errors import InputError
from moestat.runner import labels
from moestat.runner.plan import Plan
from moestat.runner.possible import Source, modules_of
from moestat.sentences import counted, listed
from moestat.status import Status
from moestat.study import load
from moestat.study.presets import named, runs_arms
from moestat.study.spec import Claim, Study

if TYPE_CHECKING:
    import xarray as xr

OWN_RULES = "moestat.claims.rules:"
"""Rules whose ``variable`` is one of the results; what it is to another function is that one's own affair."""
MOST_TOLD = 8
SOME = 12
"""Variables that are named where none is near."""


class Use(NamedTuple):
    """A variable that a study file names: the key, as ``claims[0].variable ('id')``, the name, and the claim."""

    key: str
    name: str
    claim: Claim | None = None
    arm: str = ""


def uses(study: Study) -> Iterator[Use]:
    """Yield every variable that a study file wants of the results for its claims, rates, tables and figures."""
    for index, claim in enumerate(study.claims):
        if claim.kind == "function" and not claim.function.startswith(OWN_RULES):
            continue
        for key, arm in (("variable", claim.arm), ("versus_variable", claim.versus or claim.arm)):
            if name := getattr(claim, key):
                yield Use(f"claims[{index}].{key} ('{claim.id}')", name, claim, arm)
    for table, rates in (("rates", study.rates), ("parameters", study.parameters)):
        for index, rate in enumerate(rates):
            for key in ("loss", "reference", "start"):
                if name := getattr(rate, key):
                    yield Use(f"{table}[{index}].{key}", name)
    for index, name in enumerate(study.summaries):
        yield Use(f"summaries[{index}]", name)
    for index, figure in enumerate(study.figures):
        if figure.kind == "function":
            continue
        if figure.per:
            yield Use(f"figures[{index}].per ('{figure.name}')", figure.per)
        for place, panel in enumerate(figure.panels):
            for key in ("variable", "dashed", "reference"):
                if name := getattr(panel, key):
                    yield Use(f"figures[{index}].panels[{place}].{key} ('{figure.name}')", name)


def axes(study: Study) -> Iterator[Use]:
    """Yield every axis that a study file names for its claims, rates and figures, and that no grid of it has."""
    grid = {"arm", "replicate", *study.grid, *(axis for preset in study.presets.values() for axis in preset.grid)}
    for use in _axes(study):
        if use.name not in grid:
            yield use


def _axes(study: Study) -> Iterator[Use]:
    for index, claim in enumerate(study.claims):
        if claim.kind == "function" and not claim.function.startswith(OWN_RULES):
            continue
        if claim.kind.startswith("slope"):
            yield Use(f"claims[{index}].over ('{claim.id}')", claim.over, claim)
        for key in ("at", "versus_at"):
            for axis in getattr(claim, key) or ():
                yield Use(f"claims[{index}].{key} ('{claim.id}')", axis, claim)
    for table, rates in (("rates", study.rates), ("parameters", study.parameters)):
        for index, rate in enumerate(rates):
            yield Use(f"{table}[{index}].over ('{rate.loss}')", rate.over)
    for index, figure in enumerate(study.figures):
        if figure.kind == "function":
            continue
        for key in ("x", "hue", "y"):
            if name := getattr(figure, key):
                yield Use(f"figures[{index}].{key} ('{figure.name}')", name)
        for place, panel in enumerate(figure.panels):
            for axis in panel.at:
                yield Use(f"figures[{index}].panels[{place}].at ('{figure.name}')", axis)


# -- before a run ---------------------------------------------------------------------------------------------------


def refuse_unknown(plan: Plan) -> None:
    """Refuse a study that judges, fits, tabulates or draws what its experiment cannot return.

    Of a user's own code that is a caution.

    Raises
    ------
    InputError
        With one line for each: file, key, name, and the names that are near.
    """
    lines = [
        f"{plan.study_file.shown}: {use.key} is {use.name!r}, which the experiment "
        f"{plan.study_file.study.experiment!r} does not return{hint or '.'}"
        for use, hint in (_unknown(plan) if _is_ours(plan) else [])
    ]
    if lines:
        more = [f"... and {len(lines) - MOST_TOLD} more problems"] if len(lines) > MOST_TOLD else []
        raise InputError("\n".join(lines[:MOST_TOLD] + more))


def cautions(plan: Plan) -> list[str]:
    """Say which variables of a study nothing in the user's own code is called."""
    found = [] if _is_ours(plan) else _unknown(plan)
    return [
        f"{use.key} is {use.name!r}, and nothing in the code of the experiment is called so{hint or '.'}"
        for use, hint in found
    ]


def _is_ours(plan: Plan) -> bool:
    return plan.module_name.startswith("moestat.")


def _unknown(plan: Plan) -> list[tuple[Use, str]]:
    """Return the variables that cannot be returned, each with the names that are near, as the end of a sentence."""
    if plan.study_file.study.reads:  # what it hands on of the results of others is not in its source
        return []
    described = labels.texts_of(plan.module_name)
    doubtful = [use for use in uses(plan.study_file.study) if not labels.meaning_of(use.name, described)[0]]
    other = [use for use in axes(plan.study_file.study) if use.name not in plan.axes]
    if not doubtful and not other:
        return []
    modules = modules_of(plan.module_name) + _of_readers(plan.study_file.study.experiment)
    source = Source(modules, _texts(plan))
    pools = ([name for name in described if "*" not in name], source.names)
    pools = pools if _is_ours(plan) else pools[::-1]
    some = f"; among its variables are {listed(pools[0][-SOME:])}" if _is_ours(plan) else ""  # its own come last
    found = [(use, near(use.name, *pools) or some) for use in doubtful if not source.may_name(use.name)]
    grid = f"; the axes of the grid are {listed(plan.axes)}"
    return found + [(use, near(use.name, plan.axes) or grid) for use in other if not source.may_name(use.name)]


def _texts(plan: Plan) -> set[str]:
    """Return the texts among the settings of a plan, of which a name may be made."""
    values = [value for planned in plan.cells for value in planned.cell.settings.values()]
    values += [item for value in values if isinstance(value, list | tuple) for item in value]
    return {value for value in values if isinstance(value, str)}


def _of_readers(experiment: str) -> list[str]:
    """Return the modules that add to the results of an experiment what studies that read them make of them.

    A record of a study holds such variables, so its claims may be about them.
    """
    tables = {}
    for name, path in load.known_studies().items():
        with contextlib.suppress(InputError):
            tables[name] = load.module(path)[1].tables
    readers = {
        str(table["reads"]).partition(":")[0]
        for table in tables.values()
        if table.get("reads")
        and any(tables.get(str(need), {}).get("experiment") == experiment for need in table.get("needs") or ())
    }
    adding = [reader for reader in sorted(readers) if "\ndef condensed(" in (own_files.source(reader) or "")]
    return [module for reader in adding for module in modules_of(reader)]


def near(name: str, *pools: Iterable[str]) -> str:
    """Return ``"; did you mean 'x' or 'y'?"`` for the nearest names of the first pool that has some, or nothing."""
    for pool in pools:
        if close := difflib.get_close_matches(name, list(pool), n=3, cutoff=0.6):
            *others, last = map(repr, close)
            return f"; did you mean {', '.join(others)} or {last}?" if others else f"; did you mean {last}?"
    return ""


# -- after a run ----------------------------------------------------------------------------------------------------


def absent(dataset: xr.Dataset, study: Study, preset: str) -> str:
    """Say which variables of claims the results do not hold, in arms that have any values; or return an empty text.

    Parameters
    ----------
    dataset : xarray.Dataset
        The collected results.
    study : Study
    preset : str
        The one that was run: claims that it does not judge are passed over.
    """
    held = [str(name) for name in dataset.data_vars]
    missing = [
        use
        for use in uses(study)
        if use.claim is not None
        and use.name not in held
        and named(preset, use.claim)
        and runs_arms(study, preset, use.claim)
        and _has_values(dataset, use.arm)
    ]
    if not missing:
        return ""
    added = Source(_of_readers(study.experiment))  # by them to a record, not to a run
    texts = [
        f"{use.key} is {use.name!r}{near(use.name, held) or '.'}" for use in missing if not added.may_name(use.name)
    ]
    if not texts:
        return ""
    shown = " ".join(texts[:MOST_TOLD]) + (f" And {len(texts) - MOST_TOLD} more." if len(texts) > MOST_TOLD else "")
    verb = "names a variable" if len(texts) == 1 else "name variables"
    return f"{counted(len(texts), 'claim')} {verb} that the results do not hold: {shown}"


def _has_values(dataset: xr.Dataset, arm: str) -> bool:
    status = dataset["status"]
    if arm in dataset["arm"].values.tolist():
        status = status.isel(arm=dataset["arm"].values.tolist().index(arm))
    elif arm and "*" not in arm:
        return False
    return bool(status.isin([int(s) for s in Status if s.has_value]).any())
