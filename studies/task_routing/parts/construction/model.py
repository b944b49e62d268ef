"""Theorem 4.2 of the task-routing paper as explicit weights in float64.

The model is one transformer layer: content heads and a subject head, residual, one expert per task behind a top-1
router, residual, a linear output layer. The 2 L|T| coordinates are two blocks and the plane that is read out. Block 1
sees words, "an entity" and positions; block 2 sees who the entity is. Coordinates that no weight touches are zero and
are not stored.

The proof as printed does not hold (``arguments.py``). Mended are: the router also sees in whose tables the subject is;
of several valid tokens one is said, before the subject the same one in every task that shares the pattern; the template
block is n times as loud as the dictionary block, which speaks at every position after the subject; the subject's head
attends to the first entity alone; heads and network write into coordinates that no embedding uses.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from studies.task_routing.parts.construction import memoriser
from studies.task_routing.parts.construction import router as router_fit
from studies.task_routing.parts.construction.check import Model, Said
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

SHARPNESS = 60.0
"""Difference of two attention scores at which the smaller one has no effect in float64 (exp(-60) = 9e-27)."""


@dataclass(frozen=True)
class Expert:
    """The neurons of one task: a template block on block 1 and a dictionary block on the subject's number."""

    template: Memoriser
    dictionary: Memoriser


@dataclass(frozen=True)
class Construction(Model):
    """The constructed transformer, and in ``facts`` what was counted on the way, by the names of the results."""

    members: int  # tasks of which block 2 says whether a token is a subject: none where there is a single task
    out: int  # coordinate of block 2 from which on the subject head writes
    content: Content
    entity_number: np.ndarray  # (n,) number of an entity in (0, 1], 0 for words
    entity_member: np.ndarray  # (n, K) membership, all ones for words
    router_template: np.ndarray  # (used, K) router on block 1
    router_member: float  # router weight of the subject's membership
    experts: tuple[Expert, ...]
    output: np.ndarray  # (n, 2) logits of the plane: scale times (cos, sin)
    facts: dict[str, Any]

    def say(self, prefixes: Prefixes) -> Said:
        """Run it on prefixes."""
        expert, point = self.forward(prefixes.tokens, prefixes.length)
        return Said(self.logits(point), expert, np.zeros(len(prefixes)))

    def forward(self, tokens: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Run tokens (B, S), padded with -1, of lengths (B,).

        Returns the expert (B,) that the router chooses at the last position, and the point (B, 2) of the plane of
        logits that it says.
        """
        z1 = self.content.of_tokens(self.knowledge, tokens, length)
        z2 = subject(self, tokens, length)
        template_score = z1 @ self.router_template
        membership = z2[:, self.out + 1 :] if self.members else np.ones_like(template_score)
        expert = np.argmax(template_score + self.router_member * membership, axis=1)
        point = np.zeros((tokens.shape[0], 2), dtype=z1.dtype)
        number = z2[:, self.out]
        for k, e in enumerate(self.experts):
            rows = np.flatnonzero(expert == k)
            known = e.dictionary.hidden(number[rows] * e.dictionary.direction[0])
            point[rows] = e.template(z1[rows]) + known @ e.dictionary.slopes
        return expert, point

    def logits(self, point: np.ndarray) -> np.ndarray:
        """Return the logits (B, n) of points (B, 2) of the plane."""
        # two products and a sum per entry, not a matrix product: the same prefix has the same bits in any batch
        return point[:, :1] * self.output[:, 0] + point[:, 1:] * self.output[:, 1]


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


def build(
    knowledge: Knowledge,
    rng: np.random.Generator,
    *,
    router: Literal["one_hot", "argmax"] = "one_hot",
    epsilon: float = 0.01,
) -> Construction:
    """Construct the weights of Theorem 4.2 on any dataset.

    ``rng`` draws queries, keys and directions. ``router``: the linear map that comes closest to the one-hot vectors of
    the proof, or, with two heads as the theorem has it, one whose argmax is right after every prefix, where one exists.
    Router and experts are fitted to one vector per pattern. No neuron is needed for whole sentences: nothing follows.
    """
    n, words, tasks = len(knowledge.vocabulary), len(knowledge.words), len(knowledge.tasks)
    block, members = knowledge.max_length * len(knowledge.templates), tasks if tasks > 1 else 0
    out = 3 + members
    second = out + 1 + members
    room = max(2 * block - second - 2, 2)
    embedding = one_hot_embedding(knowledge, room // 2, rng)
    number = np.concatenate((np.zeros(words), np.arange(1, n - words + 1) / (n - words)))
    member = membership(knowledge)

    patterns = inputs(knowledge).pattern_tasks
    goes_on = np.arange(len(patterns)) < len(knowledge.prefixes.patterns)
    asked = router_fit.conditions(inputs(knowledge), member, words)
    draws, router_error, size = 1, np.nan, embedding[0].shape[1]
    if router == "argmax":
        for draws in range(1, DRAWS + 1):  # noqa: B007
            content = Content(*embedding, *draw_head(size, rng))
            vectors = content.of_patterns(knowledge)
            weights, separable = router_fit.argmax(vectors, tasks, asked)
            if separable:
                break
        router_member = router_fit.member_weight(vectors @ weights)
    else:
        content, vectors = _independent(knowledge, embedding, room, rng)
        weights, router_error = router_fit.one_hot(vectors, patterns)
        router_member = 0.5
    basis = memoriser.plane(n)
    experts = []
    for k in range(tasks):
        templates = vectors[patterns[:, k] & goes_on], _next_tokens(knowledge, k, basis)
        subjects, objects = table(knowledge, k)
        pairs = number[subjects][:, None], basis[objects]
        experts.append(Expert(memoriser.memorise(*templates, rng), memoriser.memorise(*pairs, rng)))
    used = vectors.shape[1]
    return Construction(
        knowledge=knowledge,
        epsilon=epsilon,
        members=members,
        out=out,
        content=content,
        entity_number=number,
        entity_member=member,
        router_template=weights,
        router_member=router_member,
        experts=tuple(experts),
        output=memoriser.scale(n, epsilon) * basis,
        facts={
            "heads": len(content.queries) + 1,
            "widths": np.array([e.template.width + e.dictionary.width for e in experts]),
            "coordinates": used + second + 2,
            # of block 1 over all patterns: what the router can use, the residual stream included
            "rank": int(np.linalg.matrix_rank(vectors)),
            "router_error": router_error,
            "draws": draws,
        },
    )


def _independent(
    knowledge: Knowledge,
    embedding: tuple[np.ndarray, np.ndarray],
    room: int,
    rng: np.random.Generator,
) -> tuple[Content, np.ndarray]:
    """Draw generic content heads, one or as many as make the router's inputs independent, and these (M, used).

    A head writes into coordinates of its own while block 1 has ``room`` for them, after that into a generic mixture
    of all coordinates.
    """
    size, patterns = embedding[0].shape[1], len(inputs(knowledge).patterns)
    own = max(room // size - 1, 1)
    queries, keys = np.zeros((2, 0, size, KEY_SIZE))
    mixes: tuple[np.ndarray, ...] = ()
    while True:
        draw = draw_head(size, rng)
        queries, keys = np.concatenate((queries, draw[0])), np.concatenate((keys, draw[1]))
        if len(queries) > own:
            mixes = (*mixes, rng.standard_normal((size, max(room, size))) / np.sqrt(size))
        content = Content(*embedding, queries, keys, mixes)
        vectors = content.of_patterns(knowledge)
        rank = int(np.linalg.matrix_rank(vectors))
        if rank == patterns or len(queries) >= own + 4 + patterns // size:
            return content, vectors


def _next_tokens(knowledge: Knowledge, task: int, basis: np.ndarray) -> np.ndarray:
    """Return what a task says after each of its patterns: the next word; 0 where the next token is the object."""
    prefixes = knowledge.prefixes
    targets = []
    for row in np.flatnonzero(prefixes.pattern_tasks[:, task]):
        tokens = next_words(knowledge, task, prefixes.patterns[row])
        if SUBJECT not in prefixes.patterns[row]:
            others = [next_words(knowledge, k, prefixes.patterns[row]) for k in range(len(knowledge.tasks))]
            tokens = np.sort(np.concatenate(others))
        targets.append(basis[tokens[:1]].sum(axis=0))
    return len(basis) * np.array(targets)


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
