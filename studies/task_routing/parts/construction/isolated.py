"""Theorem 4.1 with two heads: a dense transformer with one neuron for each pattern of the dataset.

The printed neurons memorise along a common direction, so that many are active at once, tasks have to be shut off as
wholes, and a task needs N neurons for its table. The theorem counts the hidden layer alone. Here the dictionary stands
in the embedding layer, of which the theorem counts the coordinates and not what they hold: the embedding of a subject
has its objects as numbers, the subject's head passes them on (its value map is the identity on them), and the hidden
layer only has to choose among what it says:

* What comes next is a function of pattern and subject. Where several tasks have both, the first one (in a fixed order)
  decides. The functions of all patterns are written into as few numbers per subject as hold them: two patterns share a
  number where they agree on the subjects that both see.
* A neuron belongs to a pattern, a vertex of the patterns' convex hull, and is silent after all others and after whole
  sentences. After its own it passes on the number that it reads, or its bias where the next token does not depend on
  the subject.
* A number in (0, 1] is a token: the logits are linear in (y, 1), a plane as in Lemma 5.1, and largest for the token
  whose level is nearest.

So one neuron at a time speaks, and the circuit of a task, every neuron that some prefix of it makes active, is one
neuron for each of its patterns: at most the sum of |template| - 1 over its templates, which is less than L|T(k)|,
whatever templates, subjects and objects the tasks share. That is the second bullet for every dataset whose patterns
have two such heads and whose coordinates fit into 2 L|T|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from studies.task_routing.parts.construction import memoriser
from studies.task_routing.parts.construction.build import (
    DRAWS,
    draw_head,
    membership,
    next_words,
    one_hot_embedding,
    table,
)
from studies.task_routing.parts.construction.check import TOLERANCE, Check
from studies.task_routing.parts.construction.conditions import is_determined
from studies.task_routing.parts.construction.forward import block_one, pattern_vectors
from studies.task_routing.parts.construction.inputs import inputs
from studies.task_routing.parts.construction.model import SHARPNESS
from studies.task_routing.parts.construction.prefixes import at_most, chunks, softmax, valid_mass
from studies.task_routing.parts.knowledge import Knowledge
from studies.task_routing.parts.template import SUBJECT

MARGIN = 1e-6
"""Smallest margin of a face, for functionals with entries in [-1, 1], at which float64 still tells neurons apart."""

ALIKE = 1e-9  # difference of two scalar products of embeddings that counts as none

NOTHING = -1  # token of a pattern with a subject that no task has after it


class NoFaceError(ValueError):
    """Some patterns cannot be cut off from others by a plane, whatever neuron is meant to do it."""


@dataclass(frozen=True)
class Isolated:
    """The weights. The neuron of a pattern is ``relu(z1 @ face - offset + a2 @ code + bias)``, and y is their sum."""

    knowledge: Knowledge
    epsilon: float
    embedding: np.ndarray  # (classes, c) block-1 embedding
    positions: np.ndarray  # (L, c)
    queries: np.ndarray  # (1, c, 16) of the content head
    keys: np.ndarray  # (1, c, 16) of the content head
    values: np.ndarray
    """(n, v) coordinates of the embedding of a token, which the subject head passes on: levels; 0 for no subject."""
    faces: np.ndarray  # (M, 2 c) of the patterns
    offsets: np.ndarray  # (M,)
    codes: np.ndarray  # (M, v) input weights on the subject
    bias: np.ndarray  # (M,)
    margin: float  # smallest margin of a face
    draws: int  # draws of queries and keys

    @property
    def coordinates(self) -> int:
        """Coordinates in use: embedding and content head, position, entity, subject twice, y and a constant one."""
        return self.faces.shape[1] + 2 + 2 * self.values.shape[1] + 2

    def activations(self, tokens: np.ndarray, length: np.ndarray) -> np.ndarray:
        """Return the hidden layer (B, M) at the last position of prefixes (B, S), padded with -1."""
        return self.hidden(tokens, *self.seen(tokens, length))

    def hidden(self, tokens: np.ndarray, z1: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the hidden layer (B, M) from what the heads see of prefixes (B, S), see :meth:`seen`."""
        a2 = np.einsum("bs,bsv->bv", weight, self.values[np.where(tokens >= 0, tokens, 0)])
        return np.maximum(z1 @ self.faces.T - self.offsets + a2 @ self.codes.T + self.bias, 0.0)

    def seen(self, tokens: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return block 1 (B, 2 c) at the last position, and the attention (B, S) of the subject's head there."""
        words = len(self.knowledge.words)
        classes = np.where(tokens >= 0, np.minimum(tokens, words), 0)
        z1 = block_one(classes, length, self.embedding, self.positions, self.queries, self.keys, (), True)
        steps = np.arange(tokens.shape[1])
        seen = steps < length[:, None]
        scores = SHARPNESS * ((self.knowledge.max_length + 1) * (tokens >= words) - (steps + 1.0))
        scores = np.where(seen, scores * length[:, None], -np.inf)
        weight = np.exp(scores - scores.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        return z1, weight

    def level(self, row: np.ndarray, value: np.ndarray, count: int) -> np.ndarray:
        """Return y (count,) after ``count`` prefixes.

        The hidden layer is given by its active neurons: ``value`` at ``row``. Neurons that are silent, or left out, are
        added to nothing, so that a sum is the same with and without them.
        """
        return np.bincount(row, value, minlength=count)

    def logits(self, level: np.ndarray) -> np.ndarray:
        """Return the logits (B, n) of y (B,)."""
        n = len(self.knowledge.vocabulary)
        basis = memoriser.parabola(n)
        return memoriser.parabola_scale(n, self.epsilon) * (level[:, None] * basis[:, 0] + basis[:, 1])


def isolate(knowledge: Knowledge, rng: np.random.Generator, *, epsilon: float = 0.01, reserved: int = 0) -> Isolated:
    """Construct the weights; generic queries and keys are drawn again where some pattern is no vertex.

    The last half of the draws may use more than 2 L|T| coordinates; the others leave ``reserved`` of these free.
    """
    words, length = len(knowledge.words), knowledge.max_length
    values, codes, bias = memory(knowledge)
    room = 2 * length * len(knowledge.templates) - 2 - 2 * values.shape[1] - 2 - reserved
    for draws in range(1, DRAWS + 1):
        size = max(room // 2, 1) if 2 * draws <= DRAWS else words + 1 + length
        embedding, positions = one_hot_embedding(words, length, size, rng)
        queries, keys = draw_head(embedding.shape[1], rng)
        vectors = pattern_vectors(knowledge, embedding, positions, queries, keys, (), apart=True)
        try:
            normals = [vertex(vectors, row, knowledge) for row in range(len(bias))]
        except NoFaceError:
            if draws == DRAWS:
                raise
            continue
        break
    # the other patterns lie 2 or more below, and no number that is read is above 1
    faces = 2.0 * np.array([normal for normal, _ in normals])
    return Isolated(
        knowledge=knowledge,
        epsilon=epsilon,
        embedding=embedding,
        positions=positions,
        queries=queries,
        keys=keys,
        values=values,
        faces=faces,
        offsets=np.sum(faces * vectors[: len(bias)], axis=1),
        codes=codes,
        bias=bias,
        margin=min(margin for _, margin in normals),
        draws=draws,
    )


def next_token(knowledge: Knowledge) -> tuple[np.ndarray, np.ndarray]:
    """Return what comes next (M, S) for every pattern and subject, and the tokens (S,) of the subjects.

    Of the tasks that have both the first one decides; before the subject every column is the same. ``NOTHING`` where
    no task has both.
    """
    prefixes = knowledge.prefixes
    tables = [dict(zip(*table(knowledge, k), strict=True)) for k in range(len(knowledge.tasks))]
    subjects = np.array(list(dict.fromkeys(subject for facts in tables for subject in facts)))
    out = np.full((len(prefixes.patterns), len(subjects)), NOTHING)
    member = np.array([np.isin(subjects, list(facts)) for facts in tables])
    objects = np.array([[facts.get(subject, NOTHING) for subject in subjects] for facts in tables])
    for row, pattern in enumerate(prefixes.patterns):
        words = {int(k): next_words(knowledge, int(k), pattern) for k in np.flatnonzero(prefixes.pattern_tasks[row])}
        if SUBJECT not in pattern:
            # every task that has the pattern may go on with the first of the tokens
            out[row] = min(int(follow[0]) for follow in words.values())
            continue
        for k, follow in words.items():
            free = member[k] & (out[row] == NOTHING)
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


def vertex(x: np.ndarray, row: int, knowledge: Knowledge) -> tuple[np.ndarray, float]:
    """Return a normal that puts every other pattern 1 or more below one of the patterns ``x`` (M, p); and its margin.

    Where the last word and its position, which the residual stream shows, differ from those of the pattern, they
    exclude the others; the programme is left with patterns that end alike.
    """
    others = np.delete(np.arange(len(x)), row)
    last = x[:, : x.shape[1] // 2]
    behind = last[row] @ last[row] - last[others] @ last[row]
    alike = np.abs(behind) < ALIKE
    whole = bool(np.any(behind[~alike] < 0.5))
    below = x[others if whole else others[alike]] - x[row]
    normal, margin = np.zeros(x.shape[1]), np.inf
    if len(below):
        bounds = [(-1, 1)] * x.shape[1] + [(0, 1)]
        rows = np.concatenate((below, np.ones((len(below), 1))), axis=1)
        fit = linprog(-np.eye(len(bounds))[-1], A_ub=rows, b_ub=np.zeros(len(rows)), bounds=bounds)
        if fit.status != 0 or fit.x[-1] < MARGIN:
            raise NoFaceError(f"after {' '.join(knowledge.prefixes.patterns[row])!r} no plane cuts off what has to be")
        margin = float(fit.x[-1])
        normal = np.asarray(fit.x[:-1] / margin)
    if not whole:
        above = (x[others] - x[row]) @ normal + 1.0
        normal[: last.shape[1]] += np.max(above[~alike] / behind[~alike], initial=0.0) * last[row]
    return normal, margin


def circuits(built: Isolated) -> np.ndarray:
    """Return (K, N): the neurons that some prefix or whole sentence of the task makes active."""
    prefixes = inputs(built.knowledge)
    active = np.zeros((prefixes.compatible.shape[1], built.bias.shape[0]), dtype=bool)
    for _, part in chunks(prefixes):
        row, neuron = np.nonzero(built.activations(part.tokens, part.length))
        which, task = np.nonzero(part.compatible[row])
        active[task, neuron[which]] = True
    return active


def check_isolated(built: Isolated, circuit: np.ndarray, rng: np.random.Generator, *, most: int = 50_000) -> Check:
    """Run the model and its circuits (K, N) on all prefixes and sentences, or on a random sample of ``most`` of them.

    A circuit keeps its own neurons and sets all others to zero. ``active`` counts neurons, not tasks.
    """
    prefixes = at_most(inputs(built.knowledge), most, rng)
    total = len(prefixes)
    mass, distance = np.empty(total), np.zeros(total)
    said, active = np.empty((2, total), dtype=np.int64)
    for rows, part in chunks(prefixes):
        hidden = built.activations(part.tokens, part.length)
        row, neuron = np.nonzero(hidden)
        value = hidden[row, neuron]
        whole = built.level(row, value, len(part))
        logits = built.logits(whole)
        weight = softmax(logits)
        mass[rows], said[rows] = valid_mass(part, weight), np.argmax(logits, axis=1)
        active[rows] = np.bincount(row, minlength=len(part))
        for k in range(circuit.shape[0]):
            kept = circuit[k, neuron]
            alone = built.level(row[kept], value[kept], len(part))
            # the logits are a function of this number: where it is the same, they are
            other = np.flatnonzero(part.compatible[:, k] & (alone != whole))
            gap = 0.5 * np.abs(softmax(built.logits(alone[other])) - weight[other]).sum(axis=1)
            distance[rows[other]] = np.maximum(distance[rows[other]], gap)
    known = is_determined(prefixes, membership(built.knowledge), len(built.knowledge.words))
    none = np.zeros(total, dtype=np.int64)
    return Check(prefixes, mass, none, said, active, distance > TOLERANCE, distance, known, built.epsilon)
