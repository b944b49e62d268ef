"""Theorem 4.2 with the tables in the embedding: experts of one neuron for each pattern of their task.

The printed expert of a task holds its table, with a neuron for each pair. As in the dense model of
:mod:`studies.task_routing.parts.construction.isolated`, the embedding of a subject may hold its objects instead, which
the subject's head passes on, and the theorem counts neurons of experts alone. The expert of a task is then its circuit
in that model, one neuron for each of the task's patterns, however large its table is; experts that share neurons have
copies of them. The router is the one of :mod:`studies.task_routing.parts.construction.build`: a linear map of what the
content head says, whose largest entry is right, and a large weight on the membership of the subject, which the
subject's head passes on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studies.task_routing.parts.construction import router as router_fit
from studies.task_routing.parts.construction.build import DRAWS, membership
from studies.task_routing.parts.construction.check import Check
from studies.task_routing.parts.construction.conditions import conditions, is_determined
from studies.task_routing.parts.construction.forward import pattern_vectors
from studies.task_routing.parts.construction.inputs import inputs
from studies.task_routing.parts.construction.isolated import Isolated, circuits, isolate
from studies.task_routing.parts.construction.prefixes import at_most, chunks, softmax, valid_mass
from studies.task_routing.parts.knowledge import Knowledge


@dataclass(frozen=True)
class Tables:
    """The weights: heads, neurons and read-out of ``model``, dealt out to experts behind a router."""

    model: Isolated
    experts: np.ndarray  # (K, M) whether the expert has the neuron
    router_template: np.ndarray  # (2 c, K) router on block 1
    router_member: float  # router weight of the subject's membership
    member: np.ndarray  # (n, K) whether the token is a subject of the task; ones for words
    separable: bool  # whether the router's argmax is right under every condition that the prefixes make
    draws: int  # draws of queries and keys

    @property
    def coordinates(self) -> int:
        """Coordinates in use: those of the dense model, and the membership of a token and of the subject."""
        return self.model.coordinates + members(self.model.knowledge)

    def route(self, tokens: np.ndarray, z1: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the chosen expert (B,) from what the heads see of prefixes (B, S), see :meth:`Isolated.seen`."""
        subject = np.einsum("bs,bsk->bk", weight, self.member[np.where(tokens >= 0, tokens, 0)])
        return np.argmax(z1 @ self.router_template + self.router_member * subject, axis=1)

    def hidden(self, tokens: np.ndarray, z1: np.ndarray, weight: np.ndarray, expert: np.ndarray) -> np.ndarray:
        """Return the hidden layer (B, M) of the experts (B,): the neurons that an expert has not are silent."""
        return np.where(self.experts[expert], self.model.hidden(tokens, z1, weight), 0.0)


def members(knowledge: Knowledge) -> int:
    """Return the coordinates of the memberships, of a token and of the subject; none where there is a single task."""
    tasks = len(knowledge.tasks)
    return 2 * tasks if tasks > 1 else 0


def build_tables(knowledge: Knowledge, rng: np.random.Generator, *, epsilon: float = 0.01) -> Tables:
    """Construct the weights; generic queries and keys are drawn again where no router exists for them."""
    member = membership(knowledge)
    asked = conditions(inputs(knowledge), member, len(knowledge.words))
    draws = 0
    while True:
        model = isolate(knowledge, rng, epsilon=epsilon, reserved=members(knowledge))
        draws += model.draws
        vectors = pattern_vectors(
            knowledge, model.embedding, model.positions, model.queries, model.keys, (), apart=True
        )
        fit = router_fit.argmax(vectors, len(knowledge.tasks), asked)
        if fit.separable or draws >= DRAWS:
            break
    scores = vectors @ fit.weights
    return Tables(
        model=model,
        experts=circuits(model),
        router_template=fit.weights,
        # above any difference of two scores of a pattern: tasks without the subject do not compete
        router_member=1.0 + float(np.max(scores.max(axis=1) - scores.min(axis=1))),
        member=member,
        separable=fit.separable,
        draws=draws,
    )


def check_tables(built: Tables, rng: np.random.Generator, *, most: int = 50_000) -> Check:
    """Run all prefixes and sentences, or a random sample of ``most`` of them, through the expert of each alone.

    ``active`` is 1 where some neuron of that expert speaks.
    """
    model = built.model
    prefixes = at_most(inputs(model.knowledge), most, rng)
    total = len(prefixes)
    mass = np.empty(total)
    expert, said, active = np.empty((3, total), dtype=np.int64)
    for rows, part in chunks(prefixes):
        z1, attention = model.seen(part.tokens, part.length)
        expert[rows] = built.route(part.tokens, z1, attention)
        hidden = built.hidden(part.tokens, z1, attention, expert[rows])
        row, neuron = np.nonzero(hidden)
        logits = model.logits(model.level(row, hidden[row, neuron], len(part)))
        mass[rows], said[rows] = valid_mass(part, softmax(logits)), np.argmax(logits, axis=1)
        active[rows] = (hidden > 0).any(axis=1)
    known = is_determined(prefixes, built.member, len(model.knowledge.words))
    none = np.zeros(total)
    return Check(prefixes, mass, expert, said, active, none > 0, none, known, model.epsilon)
