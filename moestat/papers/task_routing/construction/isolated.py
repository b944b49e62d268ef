"""Theorem 4.1 with two heads: a dense transformer in which one neuron at a time speaks.

The printed neurons memorise along a common direction, so that many are active at once and tasks have to be shut off as
wholes. Here every neuron is active after one kind of prefix only, which asks less of the heads (every pattern has to be
a vertex of the patterns' convex hull, not linearly independent of the others), keeps circuits apart exactly, and lets
tasks that share a beginning and a subject share neurons, as the theorem allows.

* A template neuron (p, w) says the word w after the pattern p. Before the subject there is one per pattern; after it,
  the first task (in a fixed order) that has both pattern and subject decides on the word, and the memberships of the
  subject form a decision list, which is a linear threshold.
* A dictionary neuron (k, s) says the object of the subject s in task k, after the patterns at which task k decides and
  has no word to say. The head shows the subject as a point of the circle, of which a half-plane holds that point alone.

The circuit of a task is every neuron that some prefix of the task makes active.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from moestat.papers.task_routing.construction import memoriser
from moestat.papers.task_routing.construction.build import DRAWS, draw_head, next_words, one_hot_embedding, table
from moestat.papers.task_routing.construction.forward import block_one, pattern_vectors
from moestat.papers.task_routing.construction.model import SHARPNESS
from moestat.papers.task_routing.knowledge import Knowledge
from moestat.papers.task_routing.template import SUBJECT, entity

MARGIN = 1e-6
"""Smallest margin of a face, for functionals with entries in [-1, 1], at which float64 still tells neurons apart."""

ALIKE = 1e-9
"""Difference of two scalar products of embeddings that counts as none."""


class NoFaceError(ValueError):
    """Some patterns cannot be cut off from others by a plane, whatever neuron is meant to do it."""


@dataclass(frozen=True)
class Isolated:
    """The weights. A neuron is ``relu(z1 @ faces[face] - offsets[face] + a2 @ codes + bias)`` and says one token.

    Times its loudness it is 1 or more where it is active.
    """

    knowledge: Knowledge
    epsilon: float
    embedding: np.ndarray
    """(classes, c) block-1 embedding."""
    positions: np.ndarray
    """(L - 1, c)."""
    queries: np.ndarray
    """(1, c, 16) of the content head."""
    keys: np.ndarray
    """(1, c, 16) of the content head."""
    values: np.ndarray
    """(n, 2 + K) what the subject head says of a token: its point of the circle, in whose tables it is; 0 for words."""
    faces: np.ndarray
    """(F, 2 c)."""
    offsets: np.ndarray
    """(F,)."""
    face: np.ndarray
    """(N,) face of every neuron."""
    codes: np.ndarray
    """(N, 2 + K) input weights on the subject."""
    bias: np.ndarray
    """(N,)."""
    loudness: np.ndarray
    """(N,) factor of the output weights."""
    token: np.ndarray
    """(N,) what the neuron says."""
    margin: float
    """Smallest margin of a face."""
    draws: int
    """Draws of queries and keys."""

    @property
    def coordinates(self) -> int:
        """Coordinates in use: embedding and content head, position, entity, subject twice, read-out."""
        return self.faces.shape[1] + 2 + 2 * self.values.shape[1] + 2

    def activations(self, tokens: np.ndarray, length: np.ndarray) -> np.ndarray:
        """Return the hidden layer (B, N) at the last position of prefixes (B, S), padded with -1."""
        words = len(self.knowledge.words)
        classes = np.where(tokens >= 0, np.minimum(tokens, words), 0)
        z1 = block_one(classes, length, self.embedding, self.positions, self.queries, self.keys, (), True)
        steps = np.arange(tokens.shape[1])
        seen = steps < length[:, None]
        scores = SHARPNESS * ((self.knowledge.max_length + 1) * (tokens >= words) - (steps + 1.0))
        scores = np.where(seen, scores * length[:, None], -np.inf)
        weight = np.exp(scores - scores.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        a2 = np.einsum("bs,bsv->bv", weight, self.values[np.where(seen, tokens, 0)])
        pre = (z1 @ self.faces.T - self.offsets)[:, self.face] + a2 @ self.codes.T + self.bias
        return np.maximum(pre, 0.0)

    def point(self, row: np.ndarray, neuron: np.ndarray, value: np.ndarray, count: int) -> np.ndarray:
        """Return the point (count, 2) of the plane of logits after ``count`` prefixes.

        The hidden layer is given by its active neurons: ``value`` at (``row``, ``neuron``). Neurons that are silent, or
        left out, are added to nothing, so that the bits are the same with and without them.
        """
        says = self.loudness[:, None] * memoriser.plane(len(self.knowledge.vocabulary))[self.token]
        parts = [np.bincount(row, value * says[neuron, axis], minlength=count) for axis in (0, 1)]
        return np.stack(parts, axis=1)

    def logits(self, point: np.ndarray) -> np.ndarray:
        """Return the logits (B, n) of points (B, 2)."""
        n = len(self.knowledge.vocabulary)
        basis = memoriser.plane(n)
        scale = memoriser.scale(n, self.epsilon)
        return scale * (point[:, :1] * basis[:, 0] + point[:, 1:] * basis[:, 1])


def isolate(knowledge: Knowledge, rng: np.random.Generator, *, epsilon: float = 0.01) -> Isolated:
    """Construct the weights; generic queries and keys are drawn again where some pattern is no vertex.

    The last half of the draws may use more than 2 L|T| coordinates.

    Raises
    ------
    NoFaceError
        If no draw makes every neuron possible.
    """
    words, length, tasks = len(knowledge.words), knowledge.max_length, len(knowledge.tasks)
    room = 2 * length * len(knowledge.templates) - 2 - 2 * (2 + tasks) - 2
    for draws in range(1, DRAWS + 1):
        size = max(room // 2, 1) if 2 * draws <= DRAWS else words + length
        embedding, positions = one_hot_embedding(words, length, size, rng)
        queries, keys = draw_head(embedding.shape[1], rng)
        vectors = pattern_vectors(knowledge, embedding, positions, queries, keys, (), apart=True)
        try:
            neurons = _Neurons(knowledge, vectors)
        except NoFaceError:
            if draws == DRAWS:
                raise
            continue
        break
    return Isolated(
        knowledge=knowledge,
        epsilon=epsilon,
        embedding=embedding,
        positions=positions,
        queries=queries,
        keys=keys,
        values=neurons.values,
        faces=np.array(neurons.faces),
        offsets=np.array(neurons.offsets),
        face=np.array(neurons.face),
        codes=np.array(neurons.codes),
        bias=np.array(neurons.bias),
        loudness=np.array(neurons.loudness),
        token=np.array(neurons.token),
        margin=neurons.margin,
        draws=draws,
    )


class _Neurons:
    """Collects the neurons of all tasks."""

    def __init__(self, knowledge: Knowledge, vectors: np.ndarray) -> None:
        self.knowledge, self.vectors = knowledge, vectors
        self.patterns, self.has = knowledge.prefixes.patterns, knowledge.prefixes.pattern_tasks
        self.shown = np.array([SUBJECT in pattern for pattern in self.patterns])
        subjects = list(dict.fromkeys(subject for task in knowledge.tasks for subject in task.subjects))
        self.subjects = knowledge.encode(entity(subject) for subject in subjects)
        angle = 2.0 * np.pi * np.arange(len(subjects)) / len(subjects)
        self.circle = np.stack((np.cos(angle), np.sin(angle)), axis=1)
        self.member = np.array([[subject in task.subjects for task in knowledge.tasks] for subject in subjects])
        self.values = np.zeros((len(knowledge.vocabulary), 2 + len(knowledge.tasks)))
        self.values[self.subjects] = np.concatenate((self.circle, self.member), axis=1)
        # what a task says after a pattern: the first word that may follow, -1: the object
        self.word = np.full(self.has.shape, -1)
        for row, task in np.argwhere(self.has):
            follow = next_words(knowledge, task, self.patterns[row])
            self.word[row, task] = follow[0] if follow.size else -1
        self.faces: list[np.ndarray] = []
        self.offsets: list[float] = []
        self.reach: list[float] = []
        self.face: list[int] = []
        self.codes: list[np.ndarray] = []
        self.bias: list[float] = []
        self.loudness: list[float] = []
        self.token: list[int] = []
        self.margin = np.inf
        self._templates()
        self._dictionaries()

    def _plane(self, inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
        """Return the normal of a plane: patterns outside lie 1 or more below every pattern inside."""
        x, base, size = self.vectors, self.vectors[inside[0]], self.vectors.shape[1]
        if not len(outside):
            return np.zeros(size)
        rows = np.concatenate((x[outside] - base, base - x[inside[1:]]))
        rows = np.concatenate((rows, (np.arange(len(rows)) < len(outside))[:, None]), axis=1)
        bounds = [(-1, 1)] * size + [(0, 1)]
        fit = linprog(-np.eye(size + 1)[-1], A_ub=rows, b_ub=np.zeros(len(rows)), bounds=bounds)
        if fit.status != 0 or fit.x[-1] < MARGIN:
            raise NoFaceError(f"after {' '.join(self.patterns[inside[0]])!r} no plane cuts off what has to be")
        self.margin = min(self.margin, float(fit.x[-1]))
        return np.asarray(fit.x[:-1] / fit.x[-1])

    def _vertex(self, row: int) -> np.ndarray:
        """Return the normal of a plane that cuts off one pattern.

        Where the last word and its position, which the residual stream shows, differ from those of the pattern, they
        exclude the others; the programme is left with patterns that end alike.
        """
        others = np.delete(np.arange(len(self.patterns)), row)
        last = self.vectors[:, : self.vectors.shape[1] // 2]
        behind = last[row] @ last[row] - last[others] @ last[row]
        alike = np.abs(behind) < ALIKE
        if np.any(behind[~alike] < 0.5):
            return self._plane(np.array([row]), others)
        face = self._plane(np.array([row]), others[alike])
        above = (self.vectors[others] - self.vectors[row]) @ face + 1.0
        face[: last.shape[1]] += np.max(above[~alike] / behind[~alike], initial=0.0) * last[row]
        return face

    def _face(self, face: np.ndarray, inside: np.ndarray) -> int:
        """Enter a face: at least 0 on the patterns inside."""
        scores = self.vectors @ face
        self.faces.append(face)
        self.offsets.append(float(scores[inside].min()))
        self.reach.append(float(scores.max() - self.offsets[-1]))
        return len(self.faces) - 1

    def _add(self, face: int, scale: float, code: np.ndarray, bias: float, token: int) -> None:
        self.face.append(face)
        # relu(scale face + code + bias), where the face may be that of many neurons: relu is homogeneous
        self.loudness.append(scale)
        self.codes.append(code / scale)
        self.bias.append(bias / scale)
        self.token.append(int(token))

    def _templates(self) -> None:
        """Add the neurons that say words."""
        for row in range(len(self.patterns)):
            tasks = np.flatnonzero(self.has[row])
            spoken = np.unique(self.word[row, tasks][self.word[row, tasks] >= 0])
            if not spoken.size:
                continue
            face = self._face(self._vertex(row), np.array([row]))
            nothing = np.zeros(self.values.shape[1])
            if not self.shown[row]:
                # every task that has the pattern may go on with the first of the words
                self._add(face, 2.0, nothing, 1.0, spoken[0])
                continue
            for word in spoken:
                code = nothing.copy()
                code[2 + tasks] = self._decision_list(tasks, self.word[row, tasks] == word)
                if np.any(self.member[:, tasks] @ code[2 + tasks] > 0):
                    self._add(face, 1.0 + float(np.abs(code).sum()), code, 0.0, word)

    def _decision_list(self, tasks: np.ndarray, says: np.ndarray) -> np.ndarray:
        """Return weights of memberships: at least 1 in sum for subjects whose first task ``says``, else at most -1."""
        weights = np.zeros(len(tasks))
        member = self.member[:, tasks]
        for i in range(len(tasks) - 1, -1, -1):
            later = np.abs(member[member[:, i], i + 1 :] * weights[i + 1 :]).sum(axis=1)
            weights[i] = (1.0 + later.max(initial=0.0)) * (1.0 if says[i] else -1.0)
        return weights

    def _dictionaries(self) -> None:
        """Add the neurons that say objects."""
        count = len(self.subjects)
        gap = min(2.0 * np.sin(np.pi / count) ** 2, 1.0) if count > 1 else 1.0
        known: dict[tuple[bytes, bytes], int] = {}
        for task in range(len(self.knowledge.tasks)):
            facts = dict(zip(*table(self.knowledge, task), strict=True))
            for s, subject in enumerate(self.subjects):
                if subject not in facts:
                    continue
                mine = self.shown[:, None] & self.has & self.member[s]
                speaks = mine.any(axis=1) & (mine.argmax(axis=1) == task) & (self.word[:, task] == -1)
                if not speaks.any():
                    continue
                rest = mine.any(axis=1) & ~speaks
                key = speaks.tobytes(), rest.tobytes()
                if key not in known:
                    inside = np.flatnonzero(speaks)
                    known[key] = self._face(self._plane(inside, np.flatnonzero(rest)), inside)
                face = known[key]
                # any other subject, or none, loses more on the circle than a pattern can give
                sharp = (2.0 + 2.0 * max(self.reach[face], 0.0)) / gap
                code = np.concatenate((sharp * self.circle[s], np.zeros(self.values.shape[1] - 2)))
                self._add(face, 2.0, code, 1.0 - sharp, facts[subject])
