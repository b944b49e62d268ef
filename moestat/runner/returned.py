"""Whether results hold the variables that the claims of a study name; said at the end of a run, which keeps them."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from moestat.runner import experiments, needs
from moestat.sentences import counted, listed
from moestat.status import Status
from moestat.study.presets import named, runs_arms
from moestat.study.spec import Claim, Study

if TYPE_CHECKING:
    import xarray as xr

OWN_RULES = "moestat.claims.rules:"
"""Rules whose ``variable`` is one of the results; what it is to another function is that one's own affair."""


def absent(dataset: xr.Dataset, study: Study, preset: str) -> str:
    """Say which variables of the claims of a preset the results do not hold, in arms that have any values, or nothing.

    Where another study condenses these results, a claim may be about what that adds to a record.
    """
    held, texts = [str(name) for name in dataset.data_vars], []
    for index, claim in enumerate(study.claims):
        if not named(preset, claim) or not runs_arms(study, preset, claim):
            continue
        for key, name, arm in _names(claim):
            if name and name not in held and _has_values(dataset, arm):
                near = listed(map(repr, difflib.get_close_matches(name, held)))
                hint = f"; did you mean {near.replace(', ', ' or ')}?" if near != "none" else "."
                texts.append(f"claims[{index}].{key} ('{claim.id}') is {name!r}{hint}")
    if not texts or any(
        experiments.condenser(reader) for reader, _ in needs.readers(str(dataset.attrs["study"]), preset)
    ):
        return ""
    verb = "names a variable" if len(texts) == 1 else "name variables"
    more = f" And {len(texts) - 8} more." if len(texts) > 8 else ""
    return f"{counted(len(texts), 'claim')} {verb} that the results do not hold: {' '.join(texts[:8])}{more}"


def _names(claim: Claim) -> list[tuple[str, str, str]]:
    """Return (key, variable, arm) of what a claim names."""
    if claim.kind == "function" and not claim.function.startswith(OWN_RULES):
        return []
    versus = claim.versus or claim.arm
    return [("variable", claim.variable, claim.arm), ("versus_variable", claim.versus_variable, versus)]


def _has_values(dataset: xr.Dataset, arm: str) -> bool:
    status = dataset["status"]
    if arm in dataset["arm"].values.tolist():
        status = status.isel(arm=dataset["arm"].values.tolist().index(arm))
    elif arm and "*" not in arm:
        return False
    return bool(status.isin([int(s) for s in Status if s.has_value]).any())
