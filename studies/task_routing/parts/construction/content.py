"""Block 1 of the constructions: embeddings of words, of "an entity" and of positions, and what content heads say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studies.task_routing.parts.construction.inputs import inputs
from studies.task_routing.parts.knowledge import Knowledge

KEY_SIZE = 16
DRAWS = 8
"""Queries and keys that are tried until they serve; one generic draw is enough as a rule."""


@dataclass(frozen=True)
class Content:
    """Embeddings and content heads.

    ``apart``: the first head, too, has coordinates of its own, else it is added to the embedding of the last token.
    """

    embedding: np.ndarray  # (classes, c) of a word, or of any entity (the last row)
    positions: np.ndarray  # (L, c)
    queries: np.ndarray  # (H, c, KEY_SIZE)
    keys: np.ndarray  # (H, c, KEY_SIZE)
    mixes: tuple[np.ndarray, ...] = ()
    """(c, used) output matrices of the last heads, for which there are no coordinates of their own left."""
    apart: bool = True

    def block(self, classes: np.ndarray, length: np.ndarray) -> np.ndarray:
        """Return block 1 after attention and residual at the last position: (B, used) for classes (B, S)."""
        seen = np.arange(classes.shape[1]) < length[:, None]
        x = np.where(seen[..., None], self.embedding[classes] + self.positions[: classes.shape[1]], 0.0)
        last = x[np.arange(classes.shape[0]), length - 1]
        out = [last] if self.apart else []
        for h, (query, key) in enumerate(zip(self.queries, self.keys, strict=True)):
            # linear maps of a sum of two embeddings: looked up, not multiplied again for every prefix
            looked_up = (self.embedding @ key)[classes] + (self.positions @ key)[: classes.shape[1]]
            weight = attention(np.sum(looked_up * (last @ query)[:, None, :], axis=-1), seen)
            head = (weight[:, None, :] @ x)[:, 0]
            out.append(head if self.apart or h else head + last)
        own = len(out) - len(self.mixes)
        z = np.concatenate(out[:own], axis=1)
        if self.mixes:
            z = np.pad(z, ((0, 0), (0, self.mixes[0].shape[1] - z.shape[1])))
            for head, mix in zip(out[own:], self.mixes, strict=True):
                z = z + head @ mix
        return z

    def of_tokens(self, knowledge: Knowledge, tokens: np.ndarray, length: np.ndarray) -> np.ndarray:
        """Return block 1 (B, used) of tokens (B, S), padded with -1."""
        return self.block(np.where(tokens >= 0, np.minimum(tokens, len(knowledge.words)), 0), length)

    def of_patterns(self, knowledge: Knowledge) -> np.ndarray:
        """Return block 1 (M, used) of every pattern; that of a prefix depends on its pattern alone."""
        patterns, words = inputs(knowledge).patterns, len(knowledge.words)
        classes = np.zeros((len(patterns), knowledge.max_length), dtype=np.int64)
        for row, pattern in enumerate(patterns):
            classes[row, : len(pattern)] = [knowledge.token_id.get(token, words) for token in pattern]
        return self.block(classes, np.array([len(pattern) for pattern in patterns]))


def attention(scores: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the softmax (B, S) of scores over the positions that are seen."""
    scores = np.where(seen, scores, -np.inf)
    weight = np.exp(scores - scores.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    return np.asarray(weight)


def one_hot_embedding(knowledge: Knowledge, room: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return embeddings of the token classes and of the positions in at most ``room`` coordinates.

    One-hot vectors where these fit; else their image under a generic map with orthonormal columns.
    """
    classes, length = len(knowledge.words) + 1, knowledge.max_length  # entities share the last class
    size = classes + length
    embedding, positions = np.eye(classes, size), np.eye(length, size, k=classes)
    if size > room:
        generic = np.linalg.qr(rng.standard_normal((size, size)))[0][:, :room]
        embedding, positions = embedding @ generic, positions @ generic
    return embedding, positions


def draw_head(size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw generic queries and keys (1, size, KEY_SIZE) of one content head."""
    queries, keys = rng.standard_normal((2, 1, size, KEY_SIZE)) / KEY_SIZE**0.25
    return queries, keys
