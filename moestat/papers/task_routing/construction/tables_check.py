"""Check every bullet of Theorem 4.2 for the weights whose head holds the tables."""

from __future__ import annotations

import numpy as np

from moestat.papers.task_routing.construction.check import ROWS, Check, softmax
from moestat.papers.task_routing.construction.conditions import is_determined
from moestat.papers.task_routing.construction.tables import Tables


def check_tables(built: Tables, rng: np.random.Generator, *, most: int = 50_000) -> Check:
    """Run all prefixes, or a random sample of ``most`` when there are more, through the expert of each alone.

    ``active`` is 1 where some neuron of that expert speaks.
    """
    model = built.model
    prefixes = model.knowledge.prefixes
    if len(prefixes) > most:
        prefixes = prefixes.take(np.sort(rng.choice(len(prefixes), most, replace=False)))
    total = len(prefixes)
    mass = np.empty(total)
    expert, said, active = np.empty((3, total), dtype=np.int64)
    for start in range(0, total, ROWS):
        rows = np.arange(start, min(start + ROWS, total))
        part = prefixes.take(rows)
        expert[rows] = built.route(part.tokens, part.length)
        hidden = built.activations(part.tokens, part.length, expert[rows])
        row, neuron = np.nonzero(hidden)
        logits = model.logits(model.level(row, hidden[row, neuron], len(part)))
        weight = softmax(logits)
        owner = np.repeat(np.arange(len(part)), np.diff(part.valid_start))
        mass[rows] = np.bincount(owner, weight[owner, part.valid_token], minlength=len(part))
        said[rows], active[rows] = np.argmax(logits, axis=1), (hidden > 0).any(axis=1)
    known = is_determined(prefixes, built.member, len(model.knowledge.words))
    none = np.zeros(total)
    return Check(prefixes, mass, expert, said, active, none > 0, none, known, model.epsilon)
