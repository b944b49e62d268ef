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

from studies.task_routing.parts.construction import memoriser
from studies.task_routing.parts.construction import router as router_fit
from studies.task_routing.parts.construction.check import Model, Said, variation
from studies.task_routing.parts.construction.content import (
    DRAWS,
    KEY_SIZE,
    Content,
    attention,
    draw_head,
    inputs,
    membership,
    one_hot_embedding,
)
from studies.task_routing.parts.construction.memoriser import Memoriser
from studies.task_routing.parts.knowledge import OBJECT, SUBJECT, Knowledge, Prefixes, entity

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


MENDED = Repairs()


def build(
    knowledge: Knowledge,
    rng: np.random.Generator,
    *,
    theorem: Theorem = "moe",
    repairs: Repairs = MENDED,
    router: Literal["one_hot", "argmax"] = "one_hot",
    epsilon: float = 0.01,
) -> Construction:
    """Construct the weights of Theorem 4.1 (``theorem="dense"``) or 4.2 (``"moe"``) on any dataset.

    ``rng`` draws queries, keys and directions. ``router``: the linear map that comes closest to the one-hot vectors of
    the proof, or, with two heads as the theorem has it, one whose argmax is right after every prefix, where one exists.
    Router and experts are fitted to one vector per pattern. No neuron is needed for whole sentences: nothing follows.
    """
    n, words, tasks = len(knowledge.vocabulary), len(knowledge.words), len(knowledge.tasks)
    block, members = knowledge.max_length * len(knowledge.templates), tasks if tasks > 1 else 0
    out, plane = (3 + members, 2) if repairs.reserved else (2, 0)
    second = out + 1 + members
    room = max(2 * block - second - plane, 2)
    embedding = one_hot_embedding(knowledge, room // 2 if repairs.reserved else room, rng)
    number = np.concatenate((np.zeros(words), np.arange(1, n - words + 1) / (n - words)))
    member = membership(knowledge)

    patterns = inputs(knowledge).pattern_tasks
    goes_on = np.arange(len(patterns)) < len(knowledge.prefixes.patterns)
    asked = router_fit.conditions(inputs(knowledge), member if repairs.subject_router else np.ones_like(member), words)
    draws, router_error, size = 1, np.nan, embedding[0].shape[1]
    if router == "argmax":
        for draws in range(1, DRAWS + 1):  # noqa: B007
            content = Content(*embedding, *draw_head(size, rng), apart=repairs.reserved)
            vectors = content.of_patterns(knowledge)
            weights, separable = router_fit.argmax(vectors, tasks, asked)
            if separable:
                break
        router_member = router_fit.member_weight(vectors @ weights)
    else:
        content, vectors = _independent(knowledge, embedding, room, rng, repairs)
        weights, router_error = router_fit.one_hot(vectors, patterns)
        router_member = 0.5
    head = Content(*embedding, content.queries[:1], content.keys[:1]).of_patterns(knowledge)[:, size:]

    basis = memoriser.plane(n)
    experts, errors = [], []
    for k in range(tasks):
        templates = vectors[patterns[:, k] & goes_on], _next_tokens(knowledge, k, basis, repairs)
        subjects, objects = table(knowledge, k)
        pairs = number[subjects][:, None], basis[objects]
        expert = Expert(memoriser.memorise(*templates, rng), memoriser.memorise(*pairs, rng))
        errors += [expert.template.error(*templates), expert.dictionary.error(*pairs)]
        experts.append(expert)
    used = vectors.shape[1]
    leak = (np.zeros((used, 2)), np.zeros((second, 2)))
    if not repairs.reserved:
        # a generic plane of each block of L|T| coordinates; what the residual stream holds there is read out too
        generic = [np.linalg.qr(rng.standard_normal((max(block, used, second), 2)))[0] for _ in range(2)]
        leak = (generic[0][:used], generic[1][:second])
    return Construction(
        knowledge=knowledge,
        theorem=theorem,
        repairs=repairs,
        epsilon=epsilon,
        members=members,
        out=out,
        content=content,
        entity_number=number,
        entity_member=member,
        router_template=weights,
        router_member=router_member if repairs.subject_router else 0.0,
        gates=np.array([_gate(e, vectors) for e in experts]),
        experts=tuple(experts),
        output=memoriser.scale(n, epsilon) * basis,
        leak=leak,
        facts={
            "heads": len(content.queries) + 1,
            "widths": np.array([e.template.width + e.dictionary.width for e in experts]),
            "coordinates": used + second + plane,
            # of block 1 over all patterns: what the router can use, the residual stream included
            "rank": int(np.linalg.matrix_rank(vectors)),
            # of the template vectors v_i(tau) of the proof: what the first content head says
            "head_rank": int(np.linalg.matrix_rank(head)),
            "router_error": router_error,
            "draws": draws,
            "fit_error": max(errors),
        },
    )


def _independent(
    knowledge: Knowledge,
    embedding: tuple[np.ndarray, np.ndarray],
    room: int,
    rng: np.random.Generator,
    repairs: Repairs,
) -> tuple[Content, np.ndarray]:
    """Draw generic content heads, one or as many as make the router's inputs independent, and these (M, used).

    A head writes into coordinates of its own while block 1 has ``room`` for them, after that into a generic mixture
    of all coordinates.
    """
    size, patterns = embedding[0].shape[1], len(inputs(knowledge).patterns)
    own = max(room // size - repairs.reserved, 1)
    queries, keys = np.zeros((2, 0, size, KEY_SIZE))
    mixes: tuple[np.ndarray, ...] = ()
    while True:
        draw = draw_head(size, rng)
        queries, keys = np.concatenate((queries, draw[0])), np.concatenate((keys, draw[1]))
        if len(queries) > own:
            mixes = (*mixes, rng.standard_normal((size, max(room, size))) / np.sqrt(size))
        content = Content(*embedding, queries, keys, mixes, repairs.reserved)
        vectors = content.of_patterns(knowledge)
        rank = int(np.linalg.matrix_rank(vectors))
        if not repairs.heads or rank == patterns or len(queries) >= own + 4 + patterns // size:
            return content, vectors


def _next_tokens(knowledge: Knowledge, task: int, basis: np.ndarray, repairs: Repairs) -> np.ndarray:
    """Return what a task says after each of its patterns: the next word; 0 where the next token is the object."""
    prefixes = knowledge.prefixes
    targets = []
    for row in np.flatnonzero(prefixes.pattern_tasks[:, task]):
        tokens = next_words(knowledge, task, prefixes.patterns[row])
        if repairs.representative and SUBJECT not in prefixes.patterns[row]:
            others = [next_words(knowledge, k, prefixes.patterns[row]) for k in range(len(knowledge.tasks))]
            tokens = np.sort(np.concatenate(others))
        targets.append(basis[tokens[:1] if repairs.representative else tokens].sum(axis=0))
    loud = float(basis.shape[0]) if repairs.amplitude else 1.0
    return loud * np.array(targets)


def next_words(knowledge: Knowledge, task: int, pattern: tuple[str, ...]) -> np.ndarray:
    """Return the tokens, objects excepted, that may follow a pattern in a task: words first, then its subjects."""
    templates = [template.tokens for template in knowledge.tasks[task].templates]
    follow = {tokens[len(pattern)] for tokens in templates if tokens[: len(pattern)] == pattern}
    words = knowledge.encode(sorted(follow - {SUBJECT, OBJECT}))
    if SUBJECT not in follow:
        return words
    return np.concatenate((words, knowledge.encode(entity(subject) for subject in knowledge.tasks[task].subjects)))


def table(knowledge: Knowledge, task: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens of the subjects of a task and of their objects (the first one of a subject with several)."""
    table = dict(reversed(knowledge.tasks[task].table))
    subjects = knowledge.encode(entity(subject) for subject in table)
    return subjects, knowledge.encode(entity(obj) for obj in table.values())


def _gate(expert: Expert, vectors: np.ndarray) -> float:
    """Return a factor that shuts off every neuron of a task at a score of -1/2, whatever the template and subject."""
    template = float(expert.template.project(vectors).max()) - expert.template.knots[0]
    dictionary = float(expert.dictionary.direction[0]) - expert.dictionary.knots[0]
    return 2.5 * max(template, dictionary, 1.0)
