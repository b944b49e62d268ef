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

from studies.task_routing.parts.construction.check import Model, Said, variation
from studies.task_routing.parts.construction.content import Content, attention
from studies.task_routing.parts.construction.memoriser import Memoriser
from studies.task_routing.parts.knowledge import Prefixes

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
class Construction(Model):
    """The constructed transformer, and in ``facts`` what was counted on the way, by the names of the results."""

    theorem: Theorem
    repairs: Repairs
    members: int  # tasks of which block 2 says whether a token is a subject: none where there is a single task
    out: int  # coordinate of block 2 from which on the subject head writes
    content: Content
    entity_number: np.ndarray  # (n,) number of an entity in (0, 1], 0 for words
    entity_member: np.ndarray  # (n, K) membership, all ones for words
    router_template: np.ndarray  # (used, K) router on block 1
    router_member: float  # router weight of the subject's membership
    gates: np.ndarray  # (K,) factor of the score that shuts off the neurons of a task (dense model)
    experts: tuple[Expert, ...]
    output: np.ndarray  # (n, 2) logits of the plane: scale times (cos, sin)
    leak: tuple[np.ndarray, np.ndarray]
    """Read-out (., 2) of the two blocks' other coordinates; zero when the read-out coordinates are reserved."""
    facts: dict[str, Any]

    def say(self, prefixes: Prefixes) -> Said:
        """Run it on prefixes, task by task."""
        expert, outputs, residual = self.forward(prefixes.tokens, prefixes.length)
        whole = plane_point(outputs, residual)
        logits, distance = self.logits(whole), np.zeros(len(prefixes))
        for k in range(len(self.experts) if self.theorem == "dense" else 0):
            alone = np.zeros_like(outputs)
            alone[:, k] = outputs[:, k]
            circuit = plane_point(alone, residual)
            # the logits are a function of these two numbers: where they are the same, the logits are
            other = np.flatnonzero(prefixes.compatible[:, k] & ~np.all(circuit == whole, axis=1))
            gap = variation(self.logits(circuit[other]), logits[other])
            distance[other] = np.maximum(distance[other], gap)
        return Said(logits, expert, distance)

    def forward(self, tokens: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, ...]:
        """Run tokens (B, S), padded with -1, of lengths (B,), and return what is said at the last position.

        The expert (B,) chosen by the router, or the task with the largest score (dense); what the neurons of every task
        (B, K, 2; of the chosen expert only, MoE) and the residual stream (B, 2) add to the read-out.
        """
        c = self
        z1 = c.content.of_tokens(c.knowledge, tokens, length)
        z2 = subject(c, tokens, length)
        batch, tasks = tokens.shape[0], len(c.experts)
        template_score = z1 @ c.router_template
        membership = z2[:, c.out + 1 :] if c.members else np.ones_like(template_score)
        expert = np.argmax(template_score + c.router_member * membership, axis=1)
        outputs = np.zeros((batch, tasks, 2), dtype=z1.dtype)
        number = z2[:, c.out]
        for k, e in enumerate(c.experts):
            rows = np.flatnonzero(expert == k) if c.theorem == "moe" else np.arange(batch)
            gates: list[np.ndarray | float] = [0.0, 0.0]
            if c.theorem == "dense":
                scores = template_score[:, k] - 1.0, membership[:, k] - 1.0
                joint = c.gates[k] * (scores[0] + 0.5 * scores[1])
                gates = [joint] * 2 if c.repairs.joint_isolation else [c.gates[k] * score for score in scores]
            spoken = e.template.hidden(e.template.project(z1[rows]), gates[0])
            known = e.dictionary.hidden(number[rows] * e.dictionary.direction[0], gates[1])
            outputs[rows, k] = spoken @ e.template.slopes + known @ e.dictionary.slopes
        return expert, outputs, z1 @ c.leak[0] + z2 @ c.leak[1]

    def logits(self, point: np.ndarray) -> np.ndarray:
        """Return the logits (B, n) of points (B, 2) of the plane."""
        # two products and a sum per entry, not a matrix product: the same prefix has the same bits in any batch
        return point[:, :1] * self.output[:, 0] + point[:, 1:] * self.output[:, 1]


def plane_point(outputs: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Return the point (B, 2) of the plane of logits: the tasks' outputs (B, K, 2) added one by one, then the residual.

    Adding task by task makes silent tasks exact zeros, so that a circuit on its own has the bits of the whole model.
    """
    total = np.zeros_like(residual)
    for k in range(outputs.shape[1]):
        total = total + outputs[:, k]
    return total + residual


def subject(c: Construction, tokens: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Block 2 after attention and residual at the last position: (B, size) for tokens (B, S).

    Position, whether it is an entity, its number, of which tasks it is a subject; and number and tasks of the subject,
    which the head writes from ``c.out`` on: behind these, or onto them.
    """
    rows, steps = np.arange(tokens.shape[0]), np.arange(tokens.shape[1])
    seen = steps < length[:, None]
    known = np.where(seen, tokens, 0)
    x = np.zeros((*tokens.shape, c.out + 1 + c.members), dtype=c.output.dtype)
    x[..., 0] = steps + 1
    x[..., 1] = known >= len(c.knowledge.words)
    x[..., 2] = c.entity_number[known]
    x[..., 3 : 3 + c.members] = c.entity_member[known][..., : c.members]
    scores = SHARPNESS * (c.knowledge.max_length + 1) * x[..., 1]
    if c.repairs.first_entity:
        scores = scores - SHARPNESS * x[..., 0]
    # the query is the position of the last token: 1 or more, which makes the softmax no less sharp
    weight = attention(scores * length[:, None], seen)
    z = x[rows, length - 1].copy()
    z[:, c.out :] += (weight[:, None, :] @ x)[:, 0, 2 : 3 + c.members]
    return z


def cast(value: Any, dtype: type[np.floating]) -> Any:
    """Return weights with all their numbers rounded to another precision (to show why float64 is needed)."""
    if isinstance(value, np.ndarray):
        return value.astype(dtype) if value.dtype.kind == "f" else value
    if isinstance(value, tuple):
        return tuple(cast(part, dtype) for part in value)
    if isinstance(value, Construction | Content | Expert | Memoriser):
        return replace(value, **{field.name: cast(getattr(value, field.name), dtype) for field in fields(value)})
    return value
