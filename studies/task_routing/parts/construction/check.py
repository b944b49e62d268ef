"""Check every bullet of Theorems 4.1 and 4.2 on all prefixes and sentences of a dataset, or on a sample of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studies.task_routing.parts.construction.conditions import is_determined
from studies.task_routing.parts.construction.forward import forward, logits, plane_point
from studies.task_routing.parts.construction.inputs import inputs, is_whole
from studies.task_routing.parts.construction.model import Construction
from studies.task_routing.parts.construction.prefixes import at_most, chunks, softmax, valid_mass
from studies.task_routing.parts.knowledge import Knowledge, Prefixes

TOLERANCE = 1e-12
"""Total variation distance up to which two models say the same; probabilities of float64 are known to about 1e-16."""


@dataclass(frozen=True)
class Check:
    """What was found, one entry per prefix; a whole sentence is one that nothing follows."""

    prefixes: Prefixes  # the prefixes and sentences that were checked
    mass: np.ndarray  # (W,) probability of the valid next tokens
    expert: np.ndarray  # (W,) expert chosen by the router
    said: np.ndarray  # (W,) token with the largest logit
    active: np.ndarray  # (W,) number of tasks with an active neuron (MoE: 0 or 1, of the chosen expert)
    differs: np.ndarray
    """(W,) dense model: whether the circuit of some task that generates the prefix and the model say something else."""
    distance: np.ndarray
    """(W,) dense model: the largest total variation distance between what such a circuit and the model say."""
    determined: np.ndarray  # (W,) whether template and subject tell which tasks generate the prefix
    epsilon: float

    @property
    def single(self) -> np.ndarray:
        """(W,) whether exactly one task generates the prefix; only then does the theorem say where it goes."""
        return self.prefixes.compatible.sum(axis=1) == 1

    @property
    def whole(self) -> np.ndarray:
        """(W,) whether it is a whole sentence."""
        return is_whole(self.prefixes)

    @property
    def misrouted(self) -> np.ndarray:
        """(W,) whether the expert belongs to no task that generates the prefix."""
        return ~self.prefixes.compatible[np.arange(len(self.prefixes)), self.expert]

    @property
    def low_mass(self) -> np.ndarray:
        """(W,) whether the valid next tokens, if there are any, have a probability of 1 - epsilon or less."""
        return ~(self.mass > 1.0 - self.epsilon) & ~self.whole

    def first(self, failed: np.ndarray, knowledge: Knowledge, theorem: str = "moe") -> str:
        """Describe the shortest prefix that fails, in words; empty when none does."""
        rows = np.flatnonzero(failed)
        if rows.size == 0:
            return ""
        row = int(rows[0])
        names = [task.name for task in knowledge.tasks]
        mine = " or ".join(names[k] for k in np.flatnonzero(self.prefixes.compatible[row]))
        what = []
        if theorem == "moe" and self.misrouted[row]:
            what.append(f"routed to {names[self.expert[row]]}")
        if self.low_mass[row]:
            valid = [knowledge.vocabulary[token] for token in self.prefixes.valid(row)]
            allowed = " or ".join(valid) if len(valid) < 4 else f"one of {len(valid)} tokens"
            said = knowledge.vocabulary[self.said[row]]
            what.append(f"says {said} instead of {allowed} (mass on the valid tokens {self.mass[row]:.2g})")
        if self.differs[row]:
            what.append(f"a circuit alone says something else (distance {self.distance[row]:.2g})")
        return f"[{knowledge.decode(self.prefixes.tokens[row])}] of {mine}" + (f": {', '.join(what)}" if what else "")


def check(construction: Construction, rng: np.random.Generator, *, most: int = 50_000) -> Check:
    """Run the constructed transformer on all prefixes and sentences, or on a random sample of ``most`` of them.

    Routing, probability of the valid next tokens and, for the dense model, the distance of the probabilities of circuit
    and model, which differ where it is above ``TOLERANCE``. The circuit of a task keeps its own neurons and sets all
    others to zero.
    """
    knowledge = construction.knowledge
    prefixes = at_most(inputs(knowledge), most, rng)
    total = len(prefixes)
    mass, said = np.empty(total), np.empty(total, dtype=np.int64)
    expert, active = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    distance = np.zeros(total)
    for rows, part in chunks(prefixes):
        out = forward(construction, part.tokens, part.length)
        weight = softmax(out.logits)
        mass[rows], said[rows] = valid_mass(part, weight), np.argmax(out.logits, axis=1)
        expert[rows], active[rows] = out.expert, out.active.sum(axis=1)
        if construction.theorem == "dense":
            whole = plane_point(out.outputs, out.residual)
            for k in range(out.outputs.shape[1]):
                alone = np.zeros_like(out.outputs)
                alone[:, k] = out.outputs[:, k]
                # the logits are a function of these two numbers: where they are the same, the logits are
                equal = np.all(plane_point(alone, out.residual) == whole, axis=1)
                other = np.flatnonzero(part.compatible[:, k] & ~equal)
                circuit = softmax(logits(construction, alone[other], out.residual[other]))
                gap = 0.5 * np.abs(circuit - weight[other]).sum(axis=1)
                distance[rows[other]] = np.maximum(distance[rows[other]], gap)
    known = is_determined(prefixes, construction.entity_member, len(knowledge.words))
    return Check(prefixes, mass, expert, said, active, distance > TOLERANCE, distance, known, construction.epsilon)
