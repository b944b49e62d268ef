"""The constructed transformer written out: every matrix of the textbook architecture, zeros included.

The forward pass of the checks skips coordinates and products that are zero. These matrices leave nothing out; they
are large (the embedding alone is n x 2 L|T|) and serve small datasets, tests and readers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studies.task_routing.parts.construction.model import SHARPNESS, Construction


@dataclass(frozen=True)
class Head:
    """One attention head: q = x W_Q, k = x W_K, softmax(q k') x W_V W_O (scale of the scores inside W_Q and W_K)."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    output: np.ndarray


@dataclass(frozen=True)
class Network:
    """One feed-forward network: relu(x W1 + b1) W2."""

    first: np.ndarray
    bias: np.ndarray
    second: np.ndarray


@dataclass(frozen=True)
class FullWeights:
    """All weights of the one-layer transformer."""

    embedding: np.ndarray  # (n, d)
    positions: np.ndarray  # (L, d)
    heads: tuple[Head, ...]
    router: np.ndarray  # (d, K)
    networks: tuple[Network, ...]  # the experts of the MoE model, or the blocks of neurons of the dense one
    unembedding: np.ndarray  # (n, d)


def full_weights(c: Construction) -> FullWeights:
    """Write out all weights; d is 2 L|T|, or more where that does not suffice."""
    used = block = c.router_template.shape[0]
    d, n, layout = max(2 * c.block, c.coordinates), c.output.shape[0], c.layout
    size, heads = c.embedding.shape[1], c.queries.shape[0]
    second = slice(block, block + layout.size)

    embedding = np.zeros((n, d))
    embedding[:, :size] = c.embedding[c.token_class]
    embedding[:, block + layout.is_entity] = np.arange(n) >= len(c.knowledge.words)
    embedding[:, block + layout.number] = c.entity_number
    embedding[:, second][:, layout.member] = c.entity_member[:, : layout.members]
    positions = np.zeros((c.positions.shape[0], d))
    positions[:, :size] = c.positions
    positions[:, block + layout.position] = np.arange(c.positions.shape[0]) + 1

    attention = []
    for h in range(heads):
        query, key = np.zeros((2, d, c.queries.shape[2]))
        query[:size], key[:size] = c.queries[h], c.keys[h]
        output = np.zeros((size, d))
        own, place = heads - len(c.mixes), (h + c.repairs.reserved) * size
        if h < own:
            output[:, place : place + size] = np.eye(size)
        else:
            output[:, :used] = c.mixes[h - own]
        attention.append(Head(query, key, np.eye(d, size), output))
    query, key = np.zeros((2, d, 1))
    query[block + layout.position] = 1.0
    key[block + layout.is_entity] = SHARPNESS * (c.knowledge.max_length + 1)
    key[block + layout.position] = -SHARPNESS if c.repairs.first_entity else 0.0
    value, output = np.zeros((d, 1 + layout.members)), np.zeros((1 + layout.members, d))
    value[block + layout.number, 0] = output[0, block + layout.number_out] = 1.0
    value[second][layout.member, 1:] = output[1:, second][:, layout.member_out] = np.eye(layout.members)
    attention.append(Head(query, key, value, output))

    router = np.zeros((d, layout.tasks))
    router[:used] = c.router_template
    if layout.members:
        router[second][layout.member_out] = c.router_member * np.eye(layout.tasks)

    read = np.zeros((d, 2))
    if c.repairs.reserved:
        read[d - 2, 0] = read[d - 1, 1] = 1.0
        write = (read, read)
    else:
        read[:used] = c.leak[0]
        read[second] = c.leak[1]
        write = _right_inverses(read, block)
    networks = tuple(_network(c, k, d, block, write) for k in range(layout.tasks))
    return FullWeights(embedding, positions, tuple(attention), router, networks, c.output @ read.T)


def _right_inverses(read: np.ndarray, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Return per block the (d, 2) directions that the read-out maps to the identity."""
    out = []
    for part in (slice(0, block), slice(block, len(read))):
        write = np.zeros_like(read)
        write[part] = np.linalg.pinv(read[part]).T
        out.append(write)
    return out[0], out[1]


def _network(c: Construction, k: int, d: int, block: int, write: tuple[np.ndarray, np.ndarray]) -> Network:
    """Write out the neurons of one task, template block first."""
    expert, layout, used = c.experts[k], c.layout, c.router_template.shape[0]
    template, dictionary = expert.template, expert.dictionary
    first = np.zeros((d, expert.width))
    bias = -np.concatenate((template.knots, dictionary.knots))
    first[:used, : template.width] = template.direction[:, None]
    first[block + layout.number_out, template.width :] = dictionary.direction[0]
    if c.theorem == "dense":
        member = block + layout.member_out.start + k
        # a single task has no membership to look at: what would be added for it is the same for every prefix
        if c.repairs.joint_isolation:
            first[:used] += c.gates[k] * c.router_template[:, k, None]
            bias = bias - c.gates[k]
            if layout.members:
                first[member] += 0.5 * c.gates[k]
                bias = bias - 0.5 * c.gates[k]
        else:
            first[:used, : template.width] += c.gates[k] * c.router_template[:, k, None]
            bias[: template.width] -= c.gates[k]
            if layout.members:
                first[member, template.width :] += c.gates[k]
                bias[template.width :] -= c.gates[k]
    second = np.concatenate((template.slopes @ write[0].T, dictionary.slopes @ write[1].T))
    return Network(first, bias, second)
