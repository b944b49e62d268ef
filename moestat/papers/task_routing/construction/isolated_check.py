"""Check every bullet of Theorem 4.1 for the weights in which one neuron at a time speaks."""

from __future__ import annotations

import numpy as np

from moestat.papers.task_routing.construction.build import membership
from moestat.papers.task_routing.construction.check import TOLERANCE, Check
from moestat.papers.task_routing.construction.conditions import is_determined
from moestat.papers.task_routing.construction.inputs import inputs
from moestat.papers.task_routing.construction.isolated import Isolated
from moestat.papers.task_routing.construction.prefixes import at_most, chunks, softmax, valid_mass


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
