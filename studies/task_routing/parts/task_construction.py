"""Theorems 4.1 and 4.2 of the task-routing paper: build the transformer, then check it prefix by prefix.

A replicate is a dataset with its own generic weights. Nothing is estimated: a bullet of a theorem holds on a dataset
or it does not, and the first prefix on which it does not is named.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from moestat.replicates import Row, Streams, each
from moestat.status import Status
from studies.task_routing.parts import knowledge_sources
from studies.task_routing.parts.construction.check import Check, check
from studies.task_routing.parts.construction.content import inputs
from studies.task_routing.parts.construction.isolated import Isolated, build_tables, isolate
from studies.task_routing.parts.construction.model import Construction, build, cast
from studies.task_routing.parts.knowledge import Knowledge
from studies.task_routing.parts.knowledge_sources import KnowledgeSettings
from studies.task_routing.parts.knowledge_sources import read_data as read_data

VERSION = 1


class Settings(KnowledgeSettings):
    """Settings of a cell."""

    size: str = Field("10x5x50", description="tasks x templates per task x pairs per task, or a small dataset by name")
    theorem: Literal["moe", "dense"] = Field("moe", description="Theorem 4.2 or Theorem 4.1")
    router: Literal["one_hot", "argmax", "tables", "none"] = Field(
        "one_hot",
        description=(
            "'argmax', 'tables' (moe; the head for the subject holds the tables) and 'none' (dense, a neuron at a time "
            "speaks) have the two heads of the theorems"
        ),
    )
    epsilon: float = Field(0.01, gt=0, lt=1, description="accuracy that the theorem is asked for")
    precision: Literal["float64", "float32"] = "float64"
    """Of the arithmetic."""
    max_prefixes: int = Field(50_000, ge=1, description="with more prefixes a random sample of this size is checked")
    shared_templates: int = Field(0, ge=0, description="templates of each task that all tasks have in common")

    @property
    def dataset(self) -> str:
        """The size."""
        return self.size

    @field_validator("size")
    @classmethod
    def _size(cls, size: str) -> str:
        if not knowledge_sources.is_name(size) and not re.fullmatch(r"[1-9]\d*x[1-9]\d*x[1-9]\d*", size):
            raise ValueError(
                f"size is {size!r}; allowed are tasks x templates x pairs such as '10x5x50', and the datasets "
                f"{', '.join(map(repr, knowledge_sources.FIXED))}, 'tiny', 'parity-2' to 'parity-6' and 'second-5x3x20'"
            )
        return size

    @model_validator(mode="after")
    def _router(self) -> Settings:
        if (self.theorem == "dense") != (self.router == "none"):
            raise ValueError("router 'none' goes with theorem 'dense', and every other router with theorem 'moe'")
        if self.router in ("tables", "none") and self.precision != "float64":
            raise ValueError(f"router {self.router!r} goes with precision 'float64'")
        return self


@each()
def run(s: Settings, streams: Streams) -> Row:
    """Build and check the construction on one dataset per replicate.

    Whole sentences count as prefixes; ``variables.toml`` says what every variable is. Some prefixes are *ambiguous*
    (several tasks generate them: the theorems cannot mean them) or *untold* (pattern and subject leave other tasks than
    those that generate the prefix); ``*_told`` counts the rest. ``rank`` and ``router_error`` are NaN where the weights
    have no such thing.
    """
    knowledge = s.draw(streams("knowledge", **s.identity))
    rng = streams("weights", **s.identity)
    built: Construction | Isolated
    if s.router == "tables":
        built = build_tables(knowledge, rng, epsilon=s.epsilon)
    elif s.router == "none":
        built = isolate(knowledge, rng, epsilon=s.epsilon)
    else:
        built = build(knowledge, rng, router=s.router, epsilon=s.epsilon)
        built = cast(built, np.float32) if s.precision == "float32" else built
    found = check(built, streams("prefixes", **s.identity), most=s.max_prefixes)
    facts = dict.fromkeys(OWN, np.nan) | built.facts
    sizes = _sizes(knowledge, facts.pop("widths"), facts.pop("coordinates"), facts)
    counts = _findings(found, knowledge, s.theorem)
    return facts | sizes | counts | _outcome(knowledge, facts)


OWN = ("rank", "router_error")
"""What not all weights have."""


def _sizes(knowledge: Knowledge, widths: np.ndarray, coordinates: int, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what is counted; ``widths`` (K,) are the neurons of the experts or circuits."""
    longest, block = knowledge.max_length, knowledge.max_length * len(knowledge.templates)
    patterns, neurons = len(inputs(knowledge).patterns), facts.get("neurons", int(widths.sum()))
    bounds = np.array([longest * len(task.templates) + knowledge.max_table for task in knowledge.tasks])
    per_complexity = widths / np.array([task.complexity for task in knowledge.tasks])
    return {
        "patterns": patterns,
        "prefixes": len(inputs(knowledge)),
        "dependent": patterns - facts["rank"],
        "dimension_ratio": coordinates / (2 * block),
        "width_ratio": float(np.max(widths / bounds)),
        "complexity_ratio": float(per_complexity.max()),
        "complexity_ratio_least": float(per_complexity.min()),
        "neurons": neurons,
        "neurons_ratio": neurons / (block + knowledge.max_table * len(knowledge.tasks)),
    }


def _findings(found: Check, knowledge: Knowledge, theorem: str) -> dict[str, Any]:
    """Count the prefixes on which a bullet fails, and name the shortest."""
    single, told = found.single, found.determined
    misrouted = found.misrouted if theorem == "moe" else np.zeros_like(single)
    # a circuit says what the model says after every prefix of its task, also where that is not the only one
    wrong = (misrouted & single) | found.differs | found.low_mass
    counts = {
        "ambiguous": ~single,
        "misrouted": misrouted & single,
        "misrouted_told": misrouted & told,
        "low_mass": found.low_mass,
        "low_mass_told": found.low_mass & told,
        "untold": ~told,
        "circuit_differs_whole": found.differs & found.whole,
        "failing": wrong,
    }
    named = {"failure": wrong, "failure_ambiguous": ~single, "failure_mass": found.low_mass}
    return {
        "checked": len(found.prefixes),
        **{name: int(rows.sum()) for name, rows in counts.items()},
        "failing_share": float(wrong.mean()),
        "worst_mass": float(found.mass[~found.whole].min()),
        "circuit_distance": float(found.distance.max()),
        **{name: found.first(rows, knowledge, theorem) for name, rows in named.items()},
    }


def _outcome(knowledge: Knowledge, facts: dict[str, Any]) -> dict[str, Any]:
    """Return how the construction ended: whether the heads asked for made the template vectors independent."""
    status, message = Status.CONVERGED, "The weights were built and the prefixes checked."
    rank, patterns = facts["rank"], len(inputs(knowledge).patterns)
    if np.isfinite(facts["router_error"]) and rank < patterns:
        status, block = Status.LIMIT, knowledge.max_length * len(knowledge.templates)
        message = (
            f"the width L|T| = {block} has room for {facts['heads'] - 1} content heads, which give the {patterns} "
            f"template vectors a rank of {rank}"
        )
    return {"status": int(status), "message": message, "iterations": facts["heads"]}
