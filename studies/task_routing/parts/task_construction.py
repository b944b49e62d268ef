"""Theorems 4.1 and 4.2 of the task-routing paper: build the transformer, then check it prefix by prefix.

A replicate is a dataset with its own generic weights. Nothing is estimated: a bullet of a theorem holds on a dataset
or it does not, and the first prefix on which it does not is named.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from moestat.data_file import with_digest
from moestat.experiment import SettingsModel
from moestat.replicates import Row, Streams, each
from moestat.status import Status
from studies.task_routing.parts import knowledge_small
from studies.task_routing.parts.construction import model, parity
from studies.task_routing.parts.construction.arcs import find_star
from studies.task_routing.parts.construction.build import build
from studies.task_routing.parts.construction.check import Check, check
from studies.task_routing.parts.construction.forward import cast
from studies.task_routing.parts.construction.inputs import inputs
from studies.task_routing.parts.construction.isolated import check_isolated, circuits, isolate
from studies.task_routing.parts.construction.memoriser import wrong_peaks
from studies.task_routing.parts.construction.tables import build_tables, check_tables
from studies.task_routing.parts.knowledge import Knowledge
from studies.task_routing.parts.knowledge_sources import Source
from studies.task_routing.parts.task_training import read_data as read_data

VERSION = 1


class Settings(SettingsModel):
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
    repairs: str = Field("all", description="'all', 'none', 'all but heads', or 'heads + amplitude'")
    epsilon: float = Field(0.01, gt=0, lt=1, description="accuracy that the theorem is asked for")
    precision: Literal["float64", "float32"] = "float64"
    """Of the arithmetic."""
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
        name = size == "example" or knowledge_small.is_name(size)
        if not name and not re.fullmatch(r"[1-9]\d*x[1-9]\d*x[1-9]\d*", size):
            raise ValueError(
                f"size is {size!r}; allowed are tasks x templates x pairs such as '10x5x50', and the datasets "
                f"'example', {', '.join(map(repr, knowledge_small.FIXED))}, 'tiny' and "
                "'parity-2' to 'parity-6'"
            )
        return size

    @field_validator("repairs")
    @classmethod
    def _repairs(cls, repairs: str) -> str:
        model.Repairs.parse(repairs)
        return repairs

    @model_validator(mode="after")
    def _router(self) -> Settings:
        if self.router in (("argmax", "tables") if self.theorem == "dense" else ("none",)):
            raise ValueError(
                "routers 'argmax' and 'tables' go with theorem 'moe', and router 'none' with theorem 'dense'"
            )
        if self.router in ("tables", "none") and (self.repairs != "all" or self.precision != "float64"):
            raise ValueError(f"router {self.router!r} goes with repairs 'all' and precision 'float64'")
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


@each()
def run(s: Settings, streams: Streams) -> Row:
    """Build and check the construction on one dataset per replicate.

    The weights are NumPy arrays in float64 whatever the device is.

    Whole sentences count as prefixes. Sizes: ``tokens``, ``templates``, ``longest`` template, ``patterns``,
    ``prefixes``, of which ``checked``, ``whole`` sentences among these, ``ambiguous`` (several tasks generate them: the
    theorems cannot mean them) and ``untold`` (pattern and subject leave other tasks than those that generate the
    prefix). Weights: ``heads`` in all, ``rank`` of what the router sees of the patterns, ``dependent``: patterns less
    rank, ``head_rank`` of the first content head alone, ``rank_bound`` on it, ``rank_excess`` over that,
    ``dimension_ratio``: coordinates in use over 2 L|T|, ``width``: neurons of the largest expert or circuit,
    ``width_ratio``: over L|T(k)| + N (largest task), ``complexity_ratio`` and ``complexity_ratio_least``: largest and
    least over c(k), ``neurons`` in all, ``neurons_ratio``: over L|T| + N|K|, ``router_error`` against the one-hot
    target, ``inseparable``: whether the router's argmax fails a condition that the prefixes make, ``draws`` of queries
    and keys. Lemmas: ``fit_error`` of the memorisers (A.4), ``plane_wrong``: tokens whose own coordinate is not the
    only largest one (5.1). Whatever the weights, ``not_arcs``: whether three valid sets were found that are not all
    arcs of a polygon of tokens (:mod:`studies.task_routing.parts.construction.arcs`), and ``not_arcs_at``, after what.
    Checks, as numbers of prefixes: ``misrouted``, ``low_mass``, ``circuit_differs``, each also ``_ambiguous`` (only
    ``misrouted`` leaves these out), the first two also ``_told`` (not ``untold``), the first and the third also
    ``_whole`` (whole sentences), ``failing``: any of them, and ``failing_share``; ``circuit_distance``: largest total
    variation distance between model and circuit over all prefixes and all tasks that generate them; ``worst_mass``,
    ``most_active`` tasks at a prefix of one task; ``failure``: the shortest failing prefix in words,
    ``failure_ambiguous``: the shortest ambiguous one, ``failure_mass``: the shortest one with ``low_mass``.
    ``collision``: for the datasets ``parity-m``, the distance between a positive combination of what a router sees of
    one task and one of the other, for two generic heads of any kind (NaN elsewhere).
    """
    return _replicate(s, streams)


def _replicate(settings: Settings, streams: Streams) -> dict[str, Any]:
    source = settings.source()
    identity = source.identity
    knowledge = source.draw(streams("knowledge", **identity))
    if settings.router == "tables" or settings.router == "none":
        return _in_head(settings, streams, knowledge)
    built = build(
        knowledge,
        streams("weights", **identity),
        theorem=settings.theorem,
        repairs=model.Repairs.parse(settings.repairs),
        router=settings.router,
        epsilon=settings.epsilon,
    )
    if settings.precision == "float32":
        built = cast(built, np.float32)
    checked = check(built, streams("prefixes", **identity), most=settings.max_prefixes)
    collision = np.nan
    if settings.size.startswith("parity-"):
        bits = int(settings.size.removeprefix("parity-"))
        collision = parity.distance(bits, 2, streams("collision", **identity))
    own = {
        "rank": built.rank,
        "head_rank": built.head_rank,
        "rank_bound": built.rank_bound,
        "rank_excess": built.head_rank - built.rank_bound,
        "dependent": len(inputs(knowledge).patterns) - built.rank,
        "router_error": built.router_error,
        "inseparable": float(not built.separable),
        "fit_error": built.fit_error,
        "collision": collision,
    }
    widths = np.array([expert.width for expert in built.experts])
    sizes = _sizes(knowledge, widths, int(widths.sum()), built.heads, built.coordinates, built.draws)
    first, ambiguous = (checked.first(rows, knowledge, settings.theorem) for rows in _wrong(checked, settings.theorem))
    words = {"failure": first, "failure_ambiguous": ambiguous, "failure_mass": _low(checked, knowledge, settings)}
    return {**sizes, **own, **_findings(checked, settings.theorem), **words, **_outcome(built)}


OWN = ("rank", "head_rank", "rank_bound", "rank_excess", "dependent", "router_error", "inseparable", "fit_error")
"""What neurons that speak one at a time do not have, but ``inseparable`` behind a router."""


def _in_head(settings: Settings, streams: Streams, knowledge: Knowledge) -> dict[str, Any]:
    """Build and check the models whose embedding of a subject holds its objects: dense, and with a router."""
    identity = settings.source().identity
    weights = streams("weights", **identity)
    prefixes = streams("prefixes", **identity)
    own = dict.fromkeys((*OWN, "collision"), np.nan)
    if settings.router == "tables":
        routed = build_tables(knowledge, weights, epsilon=settings.epsilon)
        widths, coordinates, draws = routed.experts.sum(axis=1), routed.coordinates, routed.draws
        neurons = int(widths.sum())
        own["inseparable"] = float(not routed.separable)
        checked = check_tables(routed, prefixes, most=settings.max_prefixes)
    else:
        dense = isolate(knowledge, weights, epsilon=settings.epsilon)
        circuit = circuits(dense)
        widths, coordinates, draws = circuit.sum(axis=1), dense.coordinates, dense.draws
        neurons = len(dense.bias)
        checked = check_isolated(dense, circuit, prefixes, most=settings.max_prefixes)
    sizes = _sizes(knowledge, widths, neurons, 2, coordinates, draws)
    first, ambiguous = (checked.first(rows, knowledge, settings.theorem) for rows in _wrong(checked, settings.theorem))
    return {
        **sizes,
        **own,
        **_findings(checked, settings.theorem),
        "failure": first,
        "failure_ambiguous": ambiguous,
        "failure_mass": _low(checked, knowledge, settings),
        "status": int(Status.CONVERGED),
        "message": "The weights were built and the prefixes checked.",
        "iterations": 2,
    }


def _sizes(
    knowledge: Knowledge, widths: np.ndarray, neurons: int, heads: int, coordinates: int, draws: int
) -> dict[str, Any]:
    """Return what is counted in the weights; ``widths`` (K,) are the neurons of the experts or circuits."""
    longest, block = knowledge.max_length, knowledge.max_length * len(knowledge.templates)
    bounds = np.array([longest * len(task.templates) + knowledge.max_table for task in knowledge.tasks])
    per_complexity = widths / np.array([task.complexity for task in knowledge.tasks])
    star = find_star(knowledge.prefixes)
    return {
        "tokens": len(knowledge.vocabulary),
        "templates": len(knowledge.templates),
        "longest": longest,
        "patterns": len(inputs(knowledge).patterns),
        "prefixes": len(inputs(knowledge)),
        "heads": heads,
        "dimension_ratio": coordinates / (2 * block),
        "width": int(widths.max()),
        "width_ratio": float(np.max(widths / bounds)),
        "complexity_ratio": float(per_complexity.max()),
        "complexity_ratio_least": float(per_complexity.min()),
        "neurons": neurons,
        "neurons_ratio": neurons / (block + knowledge.max_table * len(knowledge.tasks)),
        "draws": draws,
        "plane_wrong": wrong_peaks(len(knowledge.vocabulary)),
        "not_arcs": int(star is not None),
        "not_arcs_at": star.words(knowledge) if star else "",
    }


def _wrong(checked: Check, theorem: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (W,) which prefixes fail a bullet, and which have no task of their own."""
    misrouted = checked.misrouted if theorem == "moe" else np.zeros_like(checked.single)
    # a circuit says what the model says after every prefix of its task, also where that is not the only one
    return (misrouted & checked.single) | checked.differs | checked.low_mass, ~checked.single


def _low(checked: Check, knowledge: Knowledge, settings: Settings) -> str:
    """Describe the shortest prefix with too little probability on the valid next tokens."""
    return checked.first(checked.low_mass, knowledge, settings.theorem)


def _findings(checked: Check, theorem: str) -> dict[str, Any]:
    """Return what the check found on the prefixes."""
    single = checked.single
    misrouted = checked.misrouted if theorem == "moe" else np.zeros_like(single)
    wrong, _ = _wrong(checked, theorem)
    return {
        "checked": len(checked.prefixes),
        "whole": int(checked.whole.sum()),
        "ambiguous": int((~single).sum()),
        "misrouted": int((misrouted & single).sum()),
        "misrouted_ambiguous": int((misrouted & ~single).sum()),
        "misrouted_whole": int((misrouted & single & checked.whole).sum()),
        "misrouted_told": int((misrouted & checked.determined).sum()),
        "low_mass": int(checked.low_mass.sum()),
        "low_mass_ambiguous": int((checked.low_mass & ~single).sum()),
        "low_mass_told": int((checked.low_mass & checked.determined).sum()),
        "untold": int((~checked.determined).sum()),
        "worst_mass": float(checked.mass[~checked.whole].min()),
        "circuit_differs": int(checked.differs.sum()),
        "circuit_differs_ambiguous": int((checked.differs & ~single).sum()),
        "circuit_differs_whole": int((checked.differs & checked.whole).sum()),
        "circuit_distance": float(checked.distance.max()),
        "most_active": int(checked.active[single].max(initial=0)),
        "failing": int(wrong.sum()),
        "failing_share": float(wrong.mean()),
    }


def _outcome(built: model.Construction) -> dict[str, Any]:
    """Return how the construction ended: whether the heads asked for made the template vectors independent."""
    status, message = Status.CONVERGED, "The weights were built and the prefixes checked."
    patterns = len(inputs(built.knowledge).patterns)
    if built.repairs.heads and np.isfinite(built.router_error) and built.rank < patterns:
        status = Status.LIMIT
        message = (
            f"the width L|T| = {built.block} has room for {built.heads - 1} content heads, which give the {patterns} "
            f"template vectors a rank of {built.rank}"
        )
    return {"status": int(status), "message": message, "iterations": built.heads}
