"""Check every bullet of Theorem 4.1 for the weights in which one neuron at a time speaks."""

from __future__ import annotations

import numpy as np

from moestat.papers.task_routing.construction.build import membership
from moestat.papers.task_routing.construction.check import ROWS, TOLERANCE, Check, softmax
from moestat.papers.task_routing.construction.conditions import is_determined
from moestat.papers.task_routing.construction.isolated import Isolated


def circuits(built: Isolated) -> np.ndarray:
    """Return (K, N): the neurons that some prefix of the task makes active."""
    prefixes = built.knowledge.prefixes
    active = np.zeros((prefixes.compatible.shape[1], built.bias.shape[0]), dtype=bool)
    for start in range(0, len(prefixes), ROWS):
        rows = slice(start, start + ROWS)
        row, neuron = np.nonzero(built.activations(prefixes.tokens[rows], prefixes.length[rows]))
        which, task = np.nonzero(prefixes.compatible[rows][row])
        active[task, neuron[which]] = True
    return active


def check_isolated(built: Isolated, circuit: np.ndarray, rng: np.random.Generator, *, most: int = 50_000) -> Check:
    """Run the model and its circuits (K, N) on all prefixes, or on a random sample of ``most`` when there are more.

    A circuit keeps its own neurons and sets all others to zero. ``active`` counts neurons, not tasks.
    """
    prefixes = built.knowledge.prefixes
    if len(prefixes) > most:
        prefixes = prefixes.take(np.sort(rng.choice(len(prefixes), most, replace=False)))
    total = len(prefixes)
    mass, distance = np.empty(total), np.zeros(total)
    said, active = np.empty((2, total), dtype=np.int64)
    for start in range(0, total, ROWS):
        rows = np.arange(start, min(start + ROWS, total))
        part = prefixes.take(rows)
        hidden = built.activations(part.tokens, part.length)
        row, neuron = np.nonzero(hidden)
        value = hidden[row, neuron]
        whole = built.level(row, value, len(part))
        logits = built.logits(whole)
        weight = softmax(logits)
        owner = np.repeat(np.arange(len(part)), np.diff(part.valid_start))
        mass[rows] = np.bincount(owner, weight[owner, part.valid_token], minlength=len(part))
        said[rows], active[rows] = np.argmax(logits, axis=1), np.bincount(row, minlength=len(part))
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
