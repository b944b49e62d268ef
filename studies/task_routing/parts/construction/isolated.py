"""Theorem 4.1 with two heads: a dense transformer with one neuron for each pattern of the dataset.

The theorem counts the neurons of the hidden layer, not what an embedding holds. So the embedding of a subject has its
objects as numbers, the subject's head passes them on, and the hidden layer only chooses among what it says:

* What comes next is a function of pattern and subject; where several tasks have both, the first one decides. Two
  patterns share a number where they agree on the subjects that both see.
* A neuron belongs to a pattern, a vertex of the patterns' convex hull, and is silent after all others and after whole
  sentences. After its own it passes on the number that it reads, or its bias where the subject does not matter.
* A number in (0, 1] is a token: the logits are linear in (y, 1), a plane as in Lemma 5.1, and largest for the token
  whose level is nearest.

One neuron at a time speaks, and the circuit of a task, every neuron that some prefix of it makes active, is one neuron
for each of its patterns: less than L|T(k)|, whatever the tasks share and however large the tables are.

``Tables`` deals these neurons out to experts, for Theorem 4.2: an expert is the circuit of its task, with copies of the
neurons that tasks share. The router is a linear map of what the content head says, whose largest entry is right, and a
large weight on the membership of the subject, which the subject's head passes on.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linprog

from studies.task_routing.parts.construction import memoriser
from studies.task_routing.parts.construction import router as router_fit
from studies.task_routing.parts.construction.check import Model, Said, variation
from studies.task_routing.parts.construction.content import (
    DRAWS,
    Content,
    attention,
    chunks,
    draw_head,
    inputs,
    membership,
    one_hot_embedding,
)
from studies.task_routing.parts.construction.model import SHARPNESS, next_words, table
from studies.task_routing.parts.knowledge import SUBJECT, Knowledge, Prefixes

MARGIN = 1e-6
"""Smallest margin of a face, for functionals with entries in [-1, 1], at which float64 still tells neurons apart."""
ALIKE = 1e-9
"""Difference of two scalar products of embeddings that counts as none."""
NOTHING = -1
"""Token of a pattern with a subject that no task has after it."""


class NoFaceError(ValueError):
    """Some patterns cannot be cut off from others by a plane, whatever neuron is meant to do it."""


@dataclass(frozen=True)
class Isolated(Model):
    """The weights. The neuron of a pattern is ``relu(z1 @ face - offset + a2 @ code + bias)``, and y is their sum."""

    content: Content
    values: np.ndarray  # (n, v) levels that the subject's head passes on; 0 for no subject
    faces: np.ndarray  # (M, 2 c) of the patterns
    offsets: np.ndarray  # (M,)
    codes: np.ndarray  # (M, v) input weights on the subject
    bias: np.ndarray  # (M,)
    draws: int  # draws of queries and keys

    @property
    def facts(self) -> dict[str, Any]:
        """What is counted in the weights, by the names of the results.

        The coordinates are those of embedding and content head, position, entity, subject twice, y and a constant one.
        """
        coordinates = self.faces.shape[1] + 2 + 2 * self.values.shape[1] + 2
        widths = self.circuits.sum(axis=1)
        return {
            "heads": 2,
            "widths": widths,
            "neurons": len(self.bias),
            "coordinates": coordinates,
            "draws": self.draws,
        }

    @cached_property
    def circuits(self) -> np.ndarray:
        """(K, M) the neurons that some prefix or whole sentence of the task makes active."""
        active = np.zeros((len(self.knowledge.tasks), len(self.bias)), dtype=bool)
        for part in chunks(inputs(self.knowledge)):
            row, neuron = np.nonzero(self.hidden(part.tokens, *self.seen(part.tokens, part.length)))
            which, task = np.nonzero(part.compatible[row])
            active[task, neuron[which]] = True
        return active

    def seen(self, tokens: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return block 1 (B, 2 c) at the last position, and the attention (B, S) of the subject's head there."""
        z1 = self.content.of_tokens(self.knowledge, tokens, length)
        steps, is_entity = np.arange(tokens.shape[1]), tokens >= len(self.knowledge.words)
        scores = SHARPNESS * ((self.knowledge.max_length + 1) * is_entity - (steps + 1.0))
        return z1, attention(scores * length[:, None], steps < length[:, None])

    def hidden(self, tokens: np.ndarray, z1: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the hidden layer (B, M) from what the heads see of prefixes (B, S), see :meth:`seen`."""
        a2 = np.einsum("bs,bsv->bv", weight, self.values[np.where(tokens >= 0, tokens, 0)])
        return np.maximum(z1 @ self.faces.T - self.offsets + a2 @ self.codes.T + self.bias, 0.0)

    def logits(self, level: np.ndarray) -> np.ndarray:
        """Return the logits (B, n) of y (B,)."""
        n = len(self.knowledge.vocabulary)
        basis = memoriser.parabola(n)
        return memoriser.parabola_scale(n, self.epsilon) * (level[:, None] * basis[:, 0] + basis[:, 1])

    def say(self, prefixes: Prefixes) -> Said:
        """Run the model on prefixes, and every circuit."""
        hidden = self.hidden(prefixes.tokens, *self.seen(prefixes.tokens, prefixes.length))
        row, neuron = np.nonzero(hidden)
        value, count = hidden[row, neuron], len(prefixes)
        # neurons that are silent, or left out, are added to nothing: a sum is the same with and without them
        whole = np.bincount(row, value, minlength=count)
        logits, distance = self.logits(whole), np.zeros(count)
        for k, circuit in enumerate(self.circuits):
            kept = circuit[neuron]
            alone = np.bincount(row[kept], value[kept], minlength=count)
            # the logits are a function of this number: where it is the same, they are
            other = np.flatnonzero(prefixes.compatible[:, k] & (alone != whole))
            gap = variation(self.logits(alone[other]), logits[other])
            distance[other] = np.maximum(distance[other], gap)
        return Said(logits, np.zeros(count, dtype=np.int64), distance)


def isolate(knowledge: Knowledge, rng: np.random.Generator, *, epsilon: float = 0.01, reserved: int = 0) -> Isolated:
    """Construct the weights; generic queries and keys are drawn again where some pattern is no vertex.

    The last half of the draws may use more than 2 L|T| coordinates; the others leave ``reserved`` of these free.
    """
    words, length = len(knowledge.words), knowledge.max_length
    values, codes, bias = memory(knowledge)
    room = 2 * length * len(knowledge.templates) - 2 - 2 * values.shape[1] - 2 - reserved
    for draws in range(1, DRAWS + 1):
        size = max(room // 2, 1) if 2 * draws <= DRAWS else words + 1 + length
        embedding = one_hot_embedding(knowledge, size, rng)
        content = Content(*embedding, *draw_head(embedding[0].shape[1], rng))
        vectors = content.of_patterns(knowledge)
        try:
            # the other patterns lie 2 or more below, and no number that is read is above 1
            faces = 2.0 * np.array([vertex(vectors, row, knowledge) for row in range(len(bias))])
        except NoFaceError:
            if draws == DRAWS:
                raise
            continue
        break
    offsets = np.sum(faces * vectors[: len(bias)], axis=1)
    return Isolated(knowledge, epsilon, content, values, faces, offsets, codes, bias, draws)


def next_token(knowledge: Knowledge) -> tuple[np.ndarray, np.ndarray]:
    """Return what comes next (M, S) for every pattern and subject, and the tokens (S,) of the subjects.

    Of the tasks that have both the first one decides; before the subject every column is the same. ``NOTHING`` where
    no task has both.
    """
    prefixes = knowledge.prefixes
    tables = [dict(zip(*table(knowledge, k), strict=True)) for k in range(len(knowledge.tasks))]
    subjects = np.array(list(dict.fromkeys(subject for facts in tables for subject in facts)))
    out = np.full((len(prefixes.patterns), len(subjects)), NOTHING)
    objects = np.array([[facts.get(subject, NOTHING) for subject in subjects] for facts in tables])
    for row, pattern in enumerate(prefixes.patterns):
        words = {int(k): next_words(knowledge, int(k), pattern) for k in np.flatnonzero(prefixes.pattern_tasks[row])}
        if SUBJECT not in pattern:
            # every task that has the pattern may go on with the first of the tokens
            out[row] = min(int(follow[0]) for follow in words.values())
            continue
        for k, follow in words.items():
            free = (objects[k] != NOTHING) & (out[row] == NOTHING)
            out[row, free] = follow[0] if follow.size else objects[k, free]
    return out, subjects


def memory(knowledge: Knowledge) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the values (n, v) that the subject's head passes on, and codes (M, v) and bias (M,) of their neurons."""
    said, subjects = next_token(knowledge)
    columns: list[np.ndarray] = []
    holder = np.full(len(said), -1)
    for row, tokens in enumerate(said):
        known = tokens != NOTHING
        if len(set(tokens[known].tolist())) == 1:
            continue
        for number, column in enumerate(columns):
            both = known & (column != NOTHING)
            if np.array_equal(tokens[both], column[both]):
                columns[number] = np.where(known, tokens, column)
                holder[row] = number
                break
        else:
            columns.append(tokens)
            holder[row] = len(columns) - 1
    values = np.zeros((len(knowledge.vocabulary), len(columns)))
    if columns:
        # a level is (token + 1) / n, and nothing is 0
        values[subjects] = (np.array(columns).T + 1.0) / len(values)
    codes = np.zeros((len(said), len(columns)))
    reads = np.flatnonzero(holder >= 0)
    codes[reads, holder[reads]] = 1.0
    bias = np.where(holder >= 0, 0.0, (said.max(axis=1) + 1.0) / len(values))
    return values, codes, bias


def vertex(x: np.ndarray, row: int, knowledge: Knowledge) -> np.ndarray:
    """Return a normal that puts every other pattern 1 or more below one of the patterns ``x`` (M, p).

    Where the last word and its position, which the residual stream shows, differ from those of the pattern, they
    exclude the others; the programme is left with patterns that end alike.
    """
    others = np.delete(np.arange(len(x)), row)
    last = x[:, : x.shape[1] // 2]
    behind = last[row] @ last[row] - last[others] @ last[row]
    alike = np.abs(behind) < ALIKE
    whole = bool(np.any(behind[~alike] < 0.5))
    below = x[others if whole else others[alike]] - x[row]
    normal = np.zeros(x.shape[1])
    if len(below):
        bounds = [(-1, 1)] * x.shape[1] + [(0, 1)]
        rows = np.concatenate((below, np.ones((len(below), 1))), axis=1)
        fit = linprog(-np.eye(len(bounds))[-1], A_ub=rows, b_ub=np.zeros(len(rows)), bounds=bounds)
        if fit.status != 0 or fit.x[-1] < MARGIN:
            raise NoFaceError(f"after {' '.join(knowledge.prefixes.patterns[row])!r} no plane cuts off what has to be")
        normal = np.asarray(fit.x[:-1] / float(fit.x[-1]))
    if not whole:
        above = (x[others] - x[row]) @ normal + 1.0
        normal[: last.shape[1]] += np.max(above[~alike] / behind[~alike], initial=0.0) * last[row]
    return normal


@dataclass(frozen=True)
class Tables(Isolated):
    """The weights of the dense model, its neurons dealt out to experts behind a router."""

    router_template: np.ndarray  # (2 c, K) router on block 1
    router_member: float  # router weight of the subject's membership
    member: np.ndarray  # (n, K) whether the token is a subject of the task; ones for words

    @property
    def facts(self) -> dict[str, Any]:
        """Those of the dense model, but for copies of neurons, and the membership of a token and of the subject."""
        found = super().facts
        found["coordinates"] += members(self.knowledge)
        return found | {"neurons": int(found["widths"].sum())}

    def say(self, prefixes: Prefixes) -> Said:
        """Run prefixes through the expert of each alone."""
        tokens, count = prefixes.tokens, len(prefixes)
        z1, weight = self.seen(tokens, prefixes.length)
        subject = np.einsum("bs,bsk->bk", weight, self.member[np.where(tokens >= 0, tokens, 0)])
        expert = np.argmax(z1 @ self.router_template + self.router_member * subject, axis=1)
        hidden = np.where(self.circuits[expert], self.hidden(tokens, z1, weight), 0.0)
        row, neuron = np.nonzero(hidden)
        logits = self.logits(np.bincount(row, hidden[row, neuron], minlength=count))
        return Said(logits, np.asarray(expert), np.zeros(count))


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
    )
