"""Theorems 4.1 and 4.2 of the task-routing paper: build the transformer, then check it prefix by prefix.

A replicate is a dataset with its own generic weights. Nothing is estimated: a bullet of a theorem holds on a dataset
or it does not, and the first prefix on which it does not is named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from pydantic import Field, field_validator, model_validator

from moestat.data_file import with_digest
from moestat.experiment import Cell, SettingsModel
from moestat.papers.task_routing.construction import model
from moestat.papers.task_routing.construction.build import build
from moestat.papers.task_routing.construction.check import Check, check
from moestat.papers.task_routing.construction.forward import cast
from moestat.papers.task_routing.knowledge import Knowledge
from moestat.papers.task_routing.knowledge_sources import Source
from moestat.status import Status


class Settings(SettingsModel):
    """Settings of a cell."""

    size: str = Field("10x5x50", description="tasks x templates per task x pairs per task, or 'example' (the paper's)")
    theorem: Literal["moe", "dense"] = Field("moe", description="Theorem 4.2 or Theorem 4.1")
    router: Literal["one_hot", "argmax"] = Field("one_hot", description="'argmax' keeps the two heads of the print")
    repairs: str = Field("all", description="'all', 'none', 'all but heads', or 'heads + amplitude'")
    epsilon: float = Field(0.01, gt=0, lt=1)
    precision: Literal["float64", "float32"] = "float64"
    max_prefixes: int = Field(50_000, ge=1, description="with more prefixes a random sample of this size is checked")
    shared_subjects: float = Field(0.1, ge=0, le=1, description="share of subjects drawn from a pool of all tasks")
    subject_first: float = Field(0.6, ge=0, le=1, description="share of templates that start with the subject")
    shared_templates: int = Field(0, ge=0, description="templates of each task that all tasks have in common")
    file: str = Field("", description="the user's own JSON lines; synthetic knowledge when empty")
    file_sha256: str = Field("", description="SHA-256 of the file; found when empty, else it must be this")

    @model_validator(mode="before")
    @classmethod
    def _file(cls, given: Any) -> Any:
        return with_digest(given)

    @field_validator("size")
    @classmethod
    def _size(cls, size: str) -> str:
        if size != "example" and not re.fullmatch(r"[1-9]\d*x[1-9]\d*x[1-9]\d*", size):
            raise ValueError(f"size is {size!r}; allowed are 'example' and tasks x templates x pairs such as '10x5x50'")
        return size

    @field_validator("repairs")
    @classmethod
    def _repairs(cls, repairs: str) -> str:
        model.Repairs.parse(repairs)
        return repairs

    @model_validator(mode="after")
    def _router(self) -> Settings:
        if self.theorem == "dense" and self.router == "argmax":
            raise ValueError("router 'argmax' goes with theorem 'moe'; the dense model has no router")
        return self

    def source(self) -> Source:
        """Return where the knowledge comes from."""
        return Source.parse(
            self.size,
            file=self.file,
            file_sha256=self.file_sha256,
            shared_subjects=self.shared_subjects,
            subject_first=self.subject_first,
            shared_templates=self.shared_templates,
        )


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Build and check the construction on one dataset per replicate.

    The weights are NumPy arrays in float64 whatever the device is.

    Returns
    -------
    xarray.Dataset
        Sizes: ``tokens``, ``templates``, ``longest`` template, ``patterns``, ``prefixes``, of which ``checked`` and
        ``ambiguous`` (several tasks generate them: the theorems cannot mean them). Weights: ``heads`` in all, ``rank``
        of the template vectors, ``rank_bound`` for one content head, ``rank_excess`` over it, ``dependent``: patterns
        less rank, ``dimension_ratio``: coordinates in use over L|T| (larger block), ``width``: neurons of the largest
        expert or circuit, ``width_ratio``: over L|T(k)| + N (largest task), ``neurons`` in all, ``neurons_ratio``: over
        L|T| + N|K|, ``router_error`` against the one-hot target, ``inseparable``: whether the router's argmax is wrong
        on a pattern. Checks, as numbers of prefixes: ``misrouted``, ``low_mass``, ``circuit_differs``, each also
        ``_ambiguous`` (``low_mass`` counts both, the others one-task prefixes), ``failing``: any of them, and
        ``failing_share``; ``worst_mass``, ``most_active`` tasks at a prefix of one task; ``failure``: the shortest
        failing prefix in words, ``failure_ambiguous``: the shortest ambiguous one.
    """
    settings = Settings.model_validate(dict(cell.settings))
    rows = [_replicate(cell, settings, replicate) for replicate in replicates]
    variables = {name: ("replicate", np.array([row[name] for row in rows])) for name in rows[0]}
    return xr.Dataset(variables, coords={"replicate": np.asarray(replicates, dtype=np.int64)})


def _replicate(cell: Cell, settings: Settings, replicate: int) -> dict[str, Any]:
    source = settings.source()
    identity = source.identity
    knowledge = source.draw(cell.generator(replicate, "knowledge", **identity))
    built = build(
        knowledge,
        cell.generator(replicate, "weights", **identity),
        theorem=settings.theorem,
        repairs=model.Repairs.parse(settings.repairs),
        router=settings.router,
        epsilon=settings.epsilon,
    )
    if settings.precision == "float32":
        built = cast(built, np.float32)
    found = check(built, cell.generator(replicate, "prefixes", **identity), most=settings.max_prefixes)
    return {**_sizes(built), **_findings(built, found), **_outcome(built)}


def _sizes(built: model.Construction) -> dict[str, Any]:
    """Return what is counted in the weights."""
    knowledge: Knowledge = built.knowledge
    widths = np.array([expert.width for expert in built.experts])
    bounds = np.array([built.width_bound(k) for k in range(len(built.experts))])
    all_neurons = built.block + knowledge.max_table * len(knowledge.tasks)
    return {
        "tokens": len(knowledge.vocabulary),
        "templates": len(knowledge.templates),
        "longest": knowledge.max_length,
        "patterns": len(knowledge.prefixes.patterns),
        "prefixes": len(knowledge.prefixes),
        "rank": built.rank,
        "rank_bound": built.rank_bound,
        "rank_excess": built.rank - built.rank_bound,
        "dependent": len(knowledge.prefixes.patterns) - built.rank,
        "heads": built.heads,
        "dimension_ratio": max(built.used) / built.block,
        "width": int(widths.max()),
        "width_ratio": float(np.max(widths / bounds)),
        "neurons": int(widths.sum()),
        "neurons_ratio": float(widths.sum() / all_neurons),
        "router_error": built.router_error,
        "inseparable": not built.separable,
    }


def _findings(built: model.Construction, found: Check) -> dict[str, Any]:
    """Return what the check found on the prefixes."""
    single = found.single
    misrouted = found.misrouted if built.theorem == "moe" else np.zeros_like(single)
    wrong = ((misrouted | found.differs) & single) | found.low_mass
    return {
        "checked": len(found.prefixes),
        "ambiguous": int((~single).sum()),
        "misrouted": int((misrouted & single).sum()),
        "misrouted_ambiguous": int((misrouted & ~single).sum()),
        "low_mass": int(found.low_mass.sum()),
        "low_mass_ambiguous": int((found.low_mass & ~single).sum()),
        "worst_mass": float(found.mass.min()),
        "circuit_differs": int((found.differs & single).sum()),
        "circuit_differs_ambiguous": int((found.differs & ~single).sum()),
        "most_active": int(found.active[single].max(initial=0)),
        "failing": int(wrong.sum()),
        "failing_share": float(wrong.mean()),
        "failure": found.first(wrong, built),
        "failure_ambiguous": found.first(~single, built),
    }


def _outcome(built: model.Construction) -> dict[str, Any]:
    """Return how the construction ended: whether the heads asked for made the template vectors independent."""
    status, message = Status.CONVERGED, "The weights were built and the prefixes checked."
    patterns = len(built.knowledge.prefixes.patterns)
    if built.repairs.heads and np.isfinite(built.router_error) and built.rank < patterns:
        status = Status.LIMIT
        message = (
            f"the width L|T| = {built.block} has room for {built.heads - 1} content heads, which give the {patterns} "
            f"template vectors a rank of {built.rank}"
        )
    return {"status": int(status), "message": message, "iterations": built.heads}
