"""Build the transformer of Theorem 4.1 or 4.2: embeddings, heads, router, experts, output layer."""

from __future__ import annotations

from typing import Literal

import numpy as np

from studies.task_routing.parts.construction import memoriser
from studies.task_routing.parts.construction import router as router_fit
from studies.task_routing.parts.construction.content import DRAWS, KEY_SIZE, Content, draw_head, one_hot_embedding
from studies.task_routing.parts.construction.inputs import inputs, membership
from studies.task_routing.parts.construction.model import (
    Construction,
    Expert,
    Repairs,
    Theorem,
)
from studies.task_routing.parts.knowledge import Knowledge
from studies.task_routing.parts.template import OBJECT, SUBJECT, entity

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
