"""Check every bullet of Theorem 4.2 for the weights whose embedding holds the tables."""

from __future__ import annotations

import numpy as np

from moestat.papers.task_routing.construction.check import Check
from moestat.papers.task_routing.construction.conditions import is_determined
from moestat.papers.task_routing.construction.inputs import inputs
from moestat.papers.task_routing.construction.prefixes import at_most, chunks, softmax, valid_mass
from moestat.papers.task_routing.construction.tables import Tables


def check_tables(built: Tables, rng: np.random.Generator, *, most: int = 50_000) -> Check:
    """Run all prefixes and sentences, or a random sample of ``most`` of them, through the expert of each alone.

    ``active`` is 1 where some neuron of that expert speaks.
    """
    model = built.model
    prefixes = at_most(inputs(model.knowledge), most, rng)
    total = len(prefixes)
    mass = np.empty(total)
    expert, said, active = np.empty((3, total), dtype=np.int64)
    for rows, part in chunks(prefixes):
        z1, attention = model.seen(part.tokens, part.length)
        expert[rows] = built.route(part.tokens, z1, attention)
        hidden = built.hidden(part.tokens, z1, attention, expert[rows])
        row, neuron = np.nonzero(hidden)
        logits = model.logits(model.level(row, hidden[row, neuron], len(part)))
        mass[rows], said[rows] = valid_mass(part, softmax(logits)), np.argmax(logits, axis=1)
        active[rows] = (hidden > 0).any(axis=1)
    known = is_determined(prefixes, built.member, len(model.knowledge.words))
    none = np.zeros(total)
    return Check(prefixes, mass, expert, said, active, none > 0, none, known, model.epsilon)
