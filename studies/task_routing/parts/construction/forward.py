"""The forward pass of the constructed transformer, and its weights written out in full."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from studies.task_routing.parts.construction.inputs import inputs
from studies.task_routing.parts.construction.memoriser import Memoriser
from studies.task_routing.parts.construction.model import SHARPNESS, Construction, Expert
from studies.task_routing.parts.knowledge import Knowledge


def block_one(
    classes: np.ndarray,
    length: np.ndarray,
    embedding: np.ndarray,
    positions: np.ndarray,
    queries: np.ndarray,
    keys: np.ndarray,
    mixes: tuple[np.ndarray, ...],
    apart: bool,
) -> np.ndarray:
    """Block 1 after attention and residual at the last position: (B, used) for token classes (B, S).

    ``apart``: the first head, too, has coordinates of its own, else it is added to the embedding of the last token.
    """
    rows = np.arange(classes.shape[0])
    steps = np.arange(classes.shape[1])
    seen = steps < length[:, None]
    x = np.where(seen[..., None], embedding[classes] + positions[: classes.shape[1]], 0.0)
    last = x[rows, length - 1]
    out = [last] if apart else []
    for h, (query, key) in enumerate(zip(queries, keys, strict=True)):
        # linear maps of a sum of two embeddings: looked up, not multiplied again for every prefix
        scores = np.where(
            seen,
            np.sum(
                ((embedding @ key)[classes] + (positions @ key)[: classes.shape[1]]) * (last @ query)[:, None, :],
                axis=-1,
            ),
            -np.inf,
        )
        weight = np.exp(scores - scores.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        head = (weight[:, None, :] @ x)[:, 0]
        out.append(head if apart or h else head + last)
    own = len(out) - len(mixes)
    z = np.concatenate(out[:own], axis=1)
    if mixes:
        z = np.pad(z, ((0, 0), (0, mixes[0].shape[1] - z.shape[1])))
        for head, mix in zip(out[own:], mixes, strict=True):
            z = z + head @ mix
    return z


def pattern_vectors(
    knowledge: Knowledge,
    embedding: np.ndarray,
    positions: np.ndarray,
    queries: np.ndarray,
    keys: np.ndarray,
    mixes: tuple[np.ndarray, ...],
    *,
    apart: bool,
) -> np.ndarray:
    """Return block 1 (M, used) of every pattern; ``apart``: embedding and first head have coordinates of their own."""
    patterns = inputs(knowledge).patterns
    words = len(knowledge.words)
    classes = np.zeros((len(patterns), knowledge.max_length), dtype=np.int64)
    for row, pattern in enumerate(patterns):
        classes[row, : len(pattern)] = [knowledge.token_id.get(token, words) for token in pattern]
    length = np.array([len(pattern) for pattern in patterns])
    return block_one(classes, length, embedding, positions, queries, keys, mixes, apart)


def _subject(c: Construction, tokens: np.ndarray, length: np.ndarray) -> np.ndarray:
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
    scores = np.where(seen, scores * length[:, None], -np.inf)
    weight = np.exp(scores - scores.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    head = (weight[:, None, :] @ x)[:, 0]
    z = x[rows, length - 1].copy()
    z[:, layout.number_out] += head[:, layout.number]
    z[:, layout.member_out] += head[:, layout.member]
    return z


@dataclass(frozen=True)
class Pass:
    """What the transformer says after some prefixes."""

    logits: np.ndarray  # (B, n)
    expert: np.ndarray  # (B,) expert chosen by the router (MoE), or the task with the largest score (dense)
    active: np.ndarray  # (B, K) whether any neuron of the task is active (MoE: of the chosen expert only)
    outputs: np.ndarray  # (B, K, 2) what the neurons of every task add to the read-out (zero for experts not chosen)
    residual: np.ndarray  # (B, 2) what the residual stream adds to the read-out


def cast(c: Construction, dtype: type[np.floating]) -> Construction:
    """Return the construction with all its weights rounded to another precision (to show why float64 is needed)."""

    def narrow(m: Memoriser) -> Memoriser:
        return Memoriser(m.direction.astype(dtype), m.knots.astype(dtype), m.slopes.astype(dtype))

    names = (
        "embedding",
        "positions",
        "entity_number",
        "entity_member",
        "queries",
        "keys",
        "router_template",
        "output",
        "gates",
    )
    arrays = {name: getattr(c, name).astype(dtype) for name in (*names, "output", "gates")}
    experts = tuple(Expert(narrow(e.template), narrow(e.dictionary)) for e in c.experts)
    return replace(
        c,
        **arrays,
        mixes=tuple(mix.astype(dtype) for mix in c.mixes),
        experts=experts,
        leak=(c.leak[0].astype(dtype), c.leak[1].astype(dtype)),
    )


def forward(c: Construction, tokens: np.ndarray, length: np.ndarray) -> Pass:
    """Run the transformer on prefixes and return the output at their last position.

    ``c``: the weights; ``tokens`` (B, S): token ids, padded with -1, S <= L; ``length`` (B,): lengths, at least 1.
    """
    words = len(c.knowledge.words)
    classes = np.where(tokens >= 0, np.minimum(tokens, words), 0)
    z1 = block_one(classes, length, c.embedding, c.positions, c.queries, c.keys, c.mixes, c.repairs.reserved)
    z2 = _subject(c, tokens, length)
    batch, tasks = tokens.shape[0], len(c.experts)
    template_score = z1 @ c.router_template
    membership = z2[:, c.layout.member_out] if c.layout.members else np.ones_like(template_score)
    scores = template_score + c.router_member * membership
    expert = np.argmax(scores, axis=1)
    outputs = np.zeros((batch, tasks, 2), dtype=z1.dtype)
    active = np.zeros((batch, tasks), dtype=bool)
    number = z2[:, c.layout.number_out]
    for k, e in enumerate(c.experts):
        rows = np.flatnonzero(expert == k) if c.theorem == "moe" else np.arange(batch)
        gates: tuple[np.ndarray | float, np.ndarray | float] = (0.0, 0.0)
        if c.theorem == "dense" and c.repairs.joint_isolation:
            joint = c.gates[k] * (template_score[:, k] - 1.0 + 0.5 * (membership[:, k] - 1.0))
            gates = (joint, joint)
        elif c.theorem == "dense":
            gates = (c.gates[k] * (template_score[:, k] - 1.0), c.gates[k] * (membership[:, k] - 1.0))
        hidden = (
            e.template.hidden(e.template.project(z1[rows]), gates[0]),
            e.dictionary.hidden(number[rows] * e.dictionary.direction[0], gates[1]),
        )
        outputs[rows, k] = hidden[0] @ e.template.slopes + hidden[1] @ e.dictionary.slopes
        active[rows, k] = np.any(hidden[0] > 0, axis=1) | np.any(hidden[1] > 0, axis=1)
    residual = z1 @ c.leak[0] + z2 @ c.leak[1]
    return Pass(logits(c, outputs, residual), expert, active, outputs, residual)


def logits(c: Construction, outputs: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Return the logits (B, n) of the sum of the tasks' outputs, task by task, and of the residual stream."""
    total = plane_point(outputs, residual)
    # two products and a sum per entry, not a matrix product: the same prefix has the same bits in any batch
    return total[:, :1] * c.output[:, 0] + total[:, 1:] * c.output[:, 1]


def plane_point(outputs: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Return the point (B, 2) of the plane of logits: the tasks' outputs added one by one, then the residual stream.

    Adding task by task makes silent tasks exact zeros, so that a circuit on its own has the bits of the whole model.
    """
    total = np.zeros_like(residual)
    for k in range(outputs.shape[1]):
        total = total + outputs[:, k]
    return total + residual
