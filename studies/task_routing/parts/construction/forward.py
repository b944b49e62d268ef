"""The forward pass of the constructed transformer."""

from __future__ import annotations

from typing import Any

import numpy as np

from studies.task_routing.parts.construction.check import Said, variation
from studies.task_routing.parts.construction.inputs import inputs
from studies.task_routing.parts.construction.model import SHARPNESS, Weights
from studies.task_routing.parts.knowledge import Knowledge, Prefixes


def attention(scores: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return the softmax (B, S) of scores over the positions that are seen."""
    scores = np.where(seen, scores, -np.inf)
    weight = np.exp(scores - scores.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    return np.asarray(weight)


def block_one(
    classes: np.ndarray,
    length: np.ndarray,
    embedding: np.ndarray,
    positions: np.ndarray,
    queries: np.ndarray,
    keys: np.ndarray,
    mixes: tuple[np.ndarray, ...] = (),
    apart: bool = True,
) -> np.ndarray:
    """Block 1 after attention and residual at the last position: (B, used) for token classes (B, S).

    ``apart``: the first head, too, has coordinates of its own, else it is added to the embedding of the last token.
    """
    seen = np.arange(classes.shape[1]) < length[:, None]
    x = np.where(seen[..., None], embedding[classes] + positions[: classes.shape[1]], 0.0)
    last = x[np.arange(classes.shape[0]), length - 1]
    out = [last] if apart else []
    for h, (query, key) in enumerate(zip(queries, keys, strict=True)):
        # linear maps of a sum of two embeddings: looked up, not multiplied again for every prefix
        looked_up = (embedding @ key)[classes] + (positions @ key)[: classes.shape[1]]
        weight = attention(np.sum(looked_up * (last @ query)[:, None, :], axis=-1), seen)
        head = (weight[:, None, :] @ x)[:, 0]
        out.append(head if apart or h else head + last)
    own = len(out) - len(mixes)
    z = np.concatenate(out[:own], axis=1)
    if mixes:
        z = np.pad(z, ((0, 0), (0, mixes[0].shape[1] - z.shape[1])))
        for head, mix in zip(out[own:], mixes, strict=True):
            z = z + head @ mix
    return z


def pattern_vectors(knowledge: Knowledge, *weights: np.ndarray, **how: Any) -> np.ndarray:
    """Return block 1 (M, used) of every pattern; what follows ``length`` in :func:`block_one` is given."""
    patterns = inputs(knowledge).patterns
    words = len(knowledge.words)
    classes = np.zeros((len(patterns), knowledge.max_length), dtype=np.int64)
    for row, pattern in enumerate(patterns):
        classes[row, : len(pattern)] = [knowledge.token_id.get(token, words) for token in pattern]
    length = np.array([len(pattern) for pattern in patterns])
    return block_one(classes, length, *weights, **how)


def token_classes(knowledge: Knowledge, tokens: np.ndarray) -> np.ndarray:
    """Return the row of the block-1 embedding of tokens: entities share the last one."""
    return np.where(tokens >= 0, np.minimum(tokens, len(knowledge.words)), 0)


def subject(c: Weights, tokens: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Block 2 after attention and residual at the last position: (B, size) for tokens (B, S)."""
    rows, steps = np.arange(tokens.shape[0]), np.arange(tokens.shape[1])
    seen = steps < length[:, None]
    known = np.where(seen, tokens, 0)
    layout = c.layout
    x = np.zeros((*tokens.shape, layout.size), dtype=c.output.dtype)
    x[..., layout.position] = steps + 1
    x[..., layout.is_entity] = known >= len(c.knowledge.words)
    x[..., layout.number] = c.entity_number[known]
    if layout.members:
        x[..., layout.member] = c.entity_member[known]
    scores = SHARPNESS * (c.knowledge.max_length + 1) * x[..., layout.is_entity]
    if c.repairs.first_entity:
        scores = scores - SHARPNESS * x[..., layout.position]
    # the query is the position of the last token: 1 or more, which makes the softmax no less sharp
    weight = attention(scores * length[:, None], seen)
    head = (weight[:, None, :] @ x)[:, 0]
    z = x[rows, length - 1].copy()
    z[:, layout.number_out] += head[:, layout.number]
    z[:, layout.member_out] += head[:, layout.member]
    return z


class Construction(Weights):
    """The constructed transformer."""

    def say(self, prefixes: Prefixes) -> Said:
        """Run it on prefixes; the circuit of a task keeps its own neurons and sets all others to zero."""
        expert, active, outputs, residual = self.forward(prefixes.tokens, prefixes.length)
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
        return Said(logits, expert, active.sum(axis=1), distance)

    def forward(self, tokens: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, ...]:
        """Run tokens (B, S), padded with -1, of lengths (B,), and return what is said at the last position.

        The expert (B,) chosen by the router, or the task with the largest score (dense); whether any neuron of the task
        is active (B, K), of the chosen expert only (MoE); what the neurons of every task (B, K, 2) and the residual
        stream (B, 2) add to the read-out.
        """
        c, layout = self, self.layout
        classes = token_classes(c.knowledge, tokens)
        z1 = block_one(classes, length, c.embedding, c.positions, c.queries, c.keys, c.mixes, c.repairs.reserved)
        z2 = subject(c, tokens, length)
        batch, tasks = tokens.shape[0], len(c.experts)
        template_score = z1 @ c.router_template
        membership = z2[:, layout.member_out] if layout.members else np.ones_like(template_score)
        expert = np.argmax(template_score + c.router_member * membership, axis=1)
        outputs, active = np.zeros((batch, tasks, 2), dtype=z1.dtype), np.zeros((batch, tasks), dtype=bool)
        number = z2[:, layout.number_out]
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
            active[rows, k] = np.any(spoken > 0, axis=1) | np.any(known > 0, axis=1)
        return expert, active, outputs, z1 @ c.leak[0] + z2 @ c.leak[1]

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
