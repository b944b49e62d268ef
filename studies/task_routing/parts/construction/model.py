"""Theorems 4.1 and 4.2 of the task-routing paper as explicit weights in float64.

The model is one transformer layer: content heads and a subject head, residual, a feed-forward network (dense) or one
expert per task behind a top-1 router (MoE), residual, a linear output layer. The 2 L|T| coordinates are two blocks and
the plane that is read out. Block 1 sees words, "an entity" and positions; block 2 sees who the entity is. Coordinates
that no weight touches are zero and are not stored; ``construction.full.full_weights`` writes them out.

The proof as printed does not hold in general. ``Repairs`` lists what was mended, each repair on its own switch; the
construction with none of them is our most favourable reading of the print.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from studies.task_routing.parts.construction import memoriser
from studies.task_routing.parts.knowledge import Knowledge

Theorem = Literal["moe", "dense"]

SHARPNESS = 60.0
"""Difference of two attention scores at which the smaller one has no effect in float64 (exp(-60) = 9e-27)."""


@dataclass(frozen=True)
class Repairs:
    """What is mended in the printed construction; all of it by default."""

    heads: bool = True
    """One-hot router only. Printed: one content head whose outputs v_i(tau) are "linearly independent for generic
    weights". They lie in the span of the word and position embeddings, so their rank is at most |words| + L.
    Mended: as many content heads as make the router's inputs independent."""
    subject_router: bool = True
    """Printed: the router sees the template block only, so two tasks whose templates begin alike are routed alike.
    Mended: it also sees in whose tables the subject is."""
    amplitude: bool = True
    """Printed: both blocks write into the same plane of logits, and the dictionary block speaks at every position
    after the subject, so the largest logit is at the angle between. Mended: the template block is n times louder."""
    representative: bool = True
    """Printed: the target is a linear combination of the vectors of all valid tokens, which peaks at their mean
    angle. Mended: the target is one valid token; before the subject it is the same one in every task that shares the
    pattern, so that the tasks' outputs agree where they add up."""
    first_entity: bool = True
    """Printed: the second head attends to the dictionary tokens, after the object to both of them. Mended: only to
    the first."""
    reserved: bool = True
    """Printed: the residual connections are left out, so that the last token's own embedding is added to what the
    heads and the network say. Mended: these write into coordinates that no embedding uses."""
    joint_isolation: bool = True
    """Dense model only. Printed: the dictionary neurons of a task see the subject alone and the template neurons the
    template alone, so each may be active in a task that the other excludes. Mended: all neurons of a task are shut
    off by the same score, of template and subject together."""

    @classmethod
    def parse(cls, text: str) -> Repairs:
        """Read ``"all"``, ``"none"`` (as printed), ``"all but heads"`` or a sum such as ``"heads + amplitude"``."""
        names = [field.name for field in fields(cls)]
        rest = text.strip().removeprefix("all but ") if text.strip() not in ("all", "none") else ""
        listed = [name.strip() for name in rest.split("+")] if rest else []
        wrong = [name for name in listed if name not in names]
        if wrong:
            raise ValueError(
                f"repairs is {text!r}; allowed are 'all', 'none', 'all but' or nothing before a sum of "
                f"{' + '.join(names)}"
            )
        most = text.strip().startswith("all")
        return cls(**{name: (name in listed) != most for name in names})


@dataclass(frozen=True)
class Expert:
    """The neurons of one task: a template block on block 1 and a dictionary block on the subject's number."""

    template: memoriser.Memoriser
    dictionary: memoriser.Memoriser

    @property
    def width(self) -> int:
        """Number of hidden neurons."""
        return self.template.width + self.dictionary.width


@dataclass(frozen=True)
class Layout:
    """Which coordinate of block 2 holds what.

    Block 1 is the embedding [words, entity, positions], then what every content head says. Membership takes no
    coordinates where there is a single task.
    """

    tasks: int
    reserved: bool

    position, is_entity, number = 0, 1, 2

    @property
    def members(self) -> int:
        """Coordinates of a membership."""
        return self.tasks if self.tasks > 1 else 0

    @property
    def member(self) -> slice:
        """Embedding: in whose tables the entity is a subject (all ones for words)."""
        return slice(3, 3 + self.members)

    @property
    def number_out(self) -> int:
        """Where the subject head writes the number of the subject."""
        return 3 + self.members if self.reserved else self.number

    @property
    def member_out(self) -> slice:
        """Where the subject head writes the membership of the subject."""
        return slice(4 + self.members, self.size) if self.reserved else self.member

    @property
    def size(self) -> int:
        """Coordinates of block 2."""
        return 4 + 2 * self.members if self.reserved else 3 + self.members

    @property
    def plane(self) -> int:
        """Coordinates that are kept free for the read-out."""
        return 2 if self.reserved else 0


@dataclass(frozen=True)
class Construction:
    """The weights, and what was counted on the way."""

    knowledge: Knowledge
    theorem: Theorem
    repairs: Repairs
    epsilon: float
    layout: Layout
    token_class: np.ndarray  # (n,) row of ``embedding`` of every token: itself for words, the last row for entities
    embedding: np.ndarray  # (classes, c) block-1 embedding
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
    rank: int  # rank of block 1 over all patterns: what the router can use, the residual stream included
    head_rank: int  # rank of the template vectors v_i(tau) of the proof: what the first content head says
    rank_bound: int  # bound on the rank of one content head, whole sentences among what it reads: |words| + L
    router_error: float  # largest error of the linear router against its target (one-hot router)
    separable: bool  # whether the router's argmax is right under every condition that the prefixes make
    draws: int  # draws of queries and keys until a router was found (argmax router), or all that were tried
    fit_error: float  # largest error of a memoriser on its points, relative to its largest output (Lemma A.4 has 0)

    @property
    def heads(self) -> int:
        """Number of attention heads, the subject head included."""
        return int(self.queries.shape[0]) + 1

    @property
    def block(self) -> int:
        """Coordinates of a block by the theorem, L|T|."""
        return self.knowledge.max_length * len(self.knowledge.templates)

    @property
    def coordinates(self) -> int:
        """Coordinates in use: both blocks and the plane that is read out; the theorem has 2 L|T|."""
        return self.router_template.shape[0] + self.layout.size + self.layout.plane
