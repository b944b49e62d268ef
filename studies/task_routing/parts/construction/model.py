"""Theorems 4.1 and 4.2 of the task-routing paper as explicit weights in float64.

The model is one transformer layer: content heads and a subject head, residual, a feed-forward network (dense) or one
expert per task behind a top-1 router (MoE), residual, a linear output layer. The 2 L|T| coordinates are two blocks and
the plane that is read out. Block 1 sees words, "an entity" and positions; block 2 sees who the entity is. Coordinates
that no weight touches are zero and are not stored.

The proof as printed does not hold in general. ``Repairs`` lists what was mended, each repair on its own switch; the
construction with none of them is our most favourable reading of the print.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from studies.task_routing.parts.construction.memoriser import Memoriser
from studies.task_routing.parts.knowledge import Knowledge

Theorem = Literal["moe", "dense"]

SHARPNESS = 60.0
"""Difference of two attention scores at which the smaller one has no effect in float64 (exp(-60) = 9e-27)."""


@dataclass(frozen=True)
class Repairs:
    """What is mended in the printed construction; all of it by default."""

    heads: bool = True
    """One-hot router only. Printed: one content head, whose outputs are "linearly independent for generic weights";
    their rank is at most |words| + L. Mended: as many as make the router's inputs independent."""
    subject_router: bool = True
    """Printed: the router sees the template alone. Mended: it also sees in whose tables the subject is."""
    amplitude: bool = True
    """Printed: both blocks write into one plane of logits, and the dictionary speaks at every position after the
    subject, so that the largest logit is at the angle between. Mended: the template block is n times louder."""
    representative: bool = True
    """Printed: the target is a combination of the vectors of all valid tokens, which peaks at their mean angle. Mended:
    it is one valid token; before the subject the same one in every task that shares the pattern."""
    first_entity: bool = True
    """Printed: the second head attends to the dictionary tokens, after the object to both. Mended: to the first."""
    reserved: bool = True
    """Printed: the residual connections are left out, so that the last token's own embedding is added to what heads
    and network say. Mended: these write into coordinates that no embedding uses."""
    joint_isolation: bool = True
    """Dense model only. Printed: the neurons of a task see the subject alone or the template alone. Mended: one score,
    of both, shuts off all of them."""

    @classmethod
    def parse(cls, text: str) -> Repairs:
        """Read ``"all"``, ``"none"`` (as printed), ``"all but heads"`` or a sum such as ``"heads + amplitude"``."""
        names = [field.name for field in fields(cls)]
        rest = text.strip().removeprefix("all but ") if text.strip() not in ("all", "none") else ""
        listed = [name.strip() for name in rest.split("+")] if rest else []
        if not set(listed) <= set(names):
            raise ValueError(
                f"repairs is {text!r}; allowed are 'all', 'none', 'all but' or nothing before a sum of "
                f"{' + '.join(names)}"
            )
        most = text.strip().startswith("all")
        return cls(**{name: (name in listed) != most for name in names})


@dataclass(frozen=True)
class Expert:
    """The neurons of one task: a template block on block 1 and a dictionary block on the subject's number."""

    template: Memoriser
    dictionary: Memoriser


@dataclass(frozen=True)
class Layout:
    """Which coordinate of block 2 holds what; the first three are position, whether it is an entity, and its number."""

    members: int  # coordinates of a membership, none for a single task
    member: slice  # in whose tables the token is a subject
    number_out: int  # where the subject head writes the number of the subject
    member_out: slice  # where it writes the membership of the subject
    size: int  # coordinates of block 2
    plane: int  # coordinates that are kept free for the read-out

    position, is_entity, number = 0, 1, 2

    @classmethod
    def of(cls, tasks: int, reserved: bool) -> Layout:
        """Return the layout for so many tasks; ``reserved``: what the head writes has coordinates of its own."""
        members = tasks if tasks > 1 else 0
        member = slice(3, 3 + members)
        if not reserved:
            return cls(members, member, cls.number, member, 3 + members, 0)
        return cls(members, member, 3 + members, slice(4 + members, 4 + 2 * members), 4 + 2 * members, 2)


@dataclass(frozen=True)
class Weights:
    """The weights, and in ``facts`` what was counted on the way, by the names of the results."""

    knowledge: Knowledge
    theorem: Theorem
    repairs: Repairs
    epsilon: float
    layout: Layout
    embedding: np.ndarray  # (classes, c) block-1 embedding of a word, or of any entity (the last row)
    positions: np.ndarray  # (L, c) block-1 position embedding
    entity_number: np.ndarray  # (n,) number of an entity in (0, 1], 0 for words
    entity_member: np.ndarray  # (n, K) membership, all ones for words
    queries: np.ndarray  # (H, c, 16) of the content heads
    keys: np.ndarray  # (H, c, 16) of the content heads
    mixes: tuple[np.ndarray, ...]
    """(c, used) output matrices of the last content heads, for which block 1 has no coordinates of their own left."""
    router_template: np.ndarray  # (used, K) router on block 1
    router_member: float  # router weight of the subject's membership
    gates: np.ndarray  # (K,) factor of the score that shuts off the neurons of a task (dense model)
    experts: tuple[Expert, ...]
    output: np.ndarray  # (n, 2) logits of the plane: scale times (cos, sin)
    leak: tuple[np.ndarray, np.ndarray]
    """Read-out (., 2) of the two blocks' other coordinates; zero when the read-out coordinates are reserved."""
    facts: dict[str, Any]


def cast(value: Any, dtype: type[np.floating]) -> Any:
    """Return weights with all their numbers rounded to another precision (to show why float64 is needed)."""
    if isinstance(value, np.ndarray):
        return value.astype(dtype) if value.dtype.kind == "f" else value
    if isinstance(value, tuple):
        return tuple(cast(part, dtype) for part in value)
    if isinstance(value, Weights | Expert | Memoriser):
        return replace(value, **{field.name: cast(getattr(value, field.name), dtype) for field in fields(value)})
    return value
