"""Theorem 4.2 with the tables in the embedding: experts of one neuron for each pattern of their task.

The expert of a task is its circuit in :mod:`studies.task_routing.parts.construction.isolated`, however large its table
is; experts that share neurons have copies of them. The router is a linear map of what the content head says, whose
largest entry is right, and a large weight on the membership of the subject, which the subject's head passes on.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from studies.task_routing.parts.construction import router as router_fit
from studies.task_routing.parts.construction.check import Said
from studies.task_routing.parts.construction.content import DRAWS
from studies.task_routing.parts.construction.inputs import inputs, membership
from studies.task_routing.parts.construction.isolated import Isolated, isolate
from studies.task_routing.parts.knowledge import Knowledge, Prefixes


@dataclass(frozen=True)
class Tables(Isolated):
    """The weights of the dense model, its neurons dealt out to experts behind a router."""

    router_template: np.ndarray  # (2 c, K) router on block 1
    router_member: float  # router weight of the subject's membership
    member: np.ndarray  # (n, K) whether the token is a subject of the task; ones for words
    separable: bool  # whether the router's argmax is right under every condition that the prefixes make

    @property
    def facts(self) -> dict[str, Any]:
        """Those of the dense model, but for copies of neurons, and the membership of a token and of the subject."""
        found = super().facts
        found["coordinates"] += members(self.knowledge)
        return found | {"neurons": int(found["widths"].sum()), "inseparable": float(not self.separable)}

    def say(self, prefixes: Prefixes) -> Said:
        """Run prefixes through the expert of each alone; ``active`` is 1 where some neuron of it speaks."""
        tokens, count = prefixes.tokens, len(prefixes)
        z1, weight = self.seen(tokens, prefixes.length)
        subject = np.einsum("bs,bsk->bk", weight, self.member[np.where(tokens >= 0, tokens, 0)])
        expert = np.argmax(z1 @ self.router_template + self.router_member * subject, axis=1)
        hidden = np.where(self.circuits[expert], self.hidden(tokens, z1, weight), 0.0)
        row, neuron = np.nonzero(hidden)
        logits = self.logits(np.bincount(row, hidden[row, neuron], minlength=count))
        active = np.asarray((hidden > 0).any(axis=1), dtype=np.int64)
        return Said(logits, np.asarray(expert), active, np.zeros(count))


def members(knowledge: Knowledge) -> int:
    """Return the coordinates of the memberships, of a token and of the subject; none where there is a single task."""
    tasks = len(knowledge.tasks)
    return 2 * tasks if tasks > 1 else 0


def build_tables(knowledge: Knowledge, rng: np.random.Generator, *, epsilon: float = 0.01) -> Tables:
    """Construct the weights; generic queries and keys are drawn again where no router exists for them."""
    member, draws, separable = membership(knowledge), 0, False
    asked = router_fit.conditions(inputs(knowledge), member, len(knowledge.words))
    while not separable and draws < DRAWS:
        model = isolate(knowledge, rng, epsilon=epsilon, reserved=members(knowledge))
        draws += model.draws
        vectors = model.content.of_patterns(knowledge)
        weights, separable = router_fit.argmax(vectors, len(knowledge.tasks), asked)
    given = {field.name: getattr(model, field.name) for field in fields(model)} | {"draws": draws}
    return Tables(
        **given,
        router_template=weights,
        router_member=router_fit.member_weight(vectors @ weights),
        member=member,
        separable=separable,
    )
