"""Check every bullet of Theorems 4.1 and 4.2 on all prefixes and sentences of a dataset, or on a sample of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studies.task_routing.parts.construction.content import chunks, competitors, inputs, membership
from studies.task_routing.parts.knowledge import Knowledge, Prefixes

TOLERANCE = 1e-12
"""Total variation distance up to which two models say the same; probabilities of float64 are known to about 1e-16."""


@dataclass(frozen=True)
class Said:
    """What a model says after some prefixes."""

    logits: np.ndarray  # (B, n)
    expert: np.ndarray  # (B,) chosen by the router
    distance: np.ndarray
    """(B,) dense model: largest total variation distance to what the circuit of a task that generates it says alone."""


@dataclass(frozen=True)
class Model:
    """A constructed transformer."""

    knowledge: Knowledge
    epsilon: float  # probability that may be lost on invalid tokens

    def say(self, prefixes: Prefixes) -> Said:
        """Run it at the last position of some prefixes; the circuit of a task sets all neurons but its own to zero."""
        raise NotImplementedError


@dataclass(frozen=True)
class Check:
    """What was found on every prefix (W,); a whole sentence is one that nothing follows."""

    prefixes: Prefixes
    mass: np.ndarray  # probability of the valid next tokens
    said: np.ndarray  # token with the largest logit
    expert: np.ndarray
    distance: np.ndarray  # expert, distance: see Said
    determined: np.ndarray  # whether template and subject leave no tasks but those that generate the prefix
    single: np.ndarray  # whether exactly one task generates it; only then does the theorem say where it goes
    whole: np.ndarray  # whether it is a whole sentence
    misrouted: np.ndarray  # whether the expert belongs to no task that generates the prefix
    low_mass: np.ndarray  # whether the valid next tokens, if any, have a probability of 1 - epsilon or less
    differs: np.ndarray  # whether the circuit of some task that generates it says something else than the model

    def first(self, failed: np.ndarray, knowledge: Knowledge, theorem: str = "moe") -> str:
        """Describe the shortest prefix that fails, in words; empty when none does."""
        if not failed.any():
            return ""
        row = int(np.flatnonzero(failed)[0])
        names = [task.name for task in knowledge.tasks]
        mine = " or ".join(names[k] for k in np.flatnonzero(self.prefixes.compatible[row]))
        what = []
        if theorem == "moe" and self.misrouted[row]:
            what.append(f"routed to {names[self.expert[row]]}")
        if self.low_mass[row]:
            valid = [knowledge.vocabulary[token] for token in self.prefixes.valid(row)]
            allowed = " or ".join(valid) if len(valid) < 4 else f"one of {len(valid)} tokens"
            said = knowledge.vocabulary[self.said[row]]
            what.append(f"says {said} instead of {allowed} (mass on the valid tokens {self.mass[row]:.2g})")
        if self.differs[row]:
            what.append(f"a circuit alone says something else (distance {self.distance[row]:.2g})")
        return f"[{knowledge.decode(self.prefixes.tokens[row])}] of {mine}" + (f": {', '.join(what)}" if what else "")


def check(model: Model, rng: np.random.Generator, *, most: int = 50_000) -> Check:
    """Run a model on all prefixes and sentences of its dataset, or on a random sample of ``most`` of them."""
    knowledge, words = model.knowledge, len(model.knowledge.words)
    prefixes = inputs(knowledge)
    if len(prefixes) > most:
        prefixes = prefixes.take(np.sort(rng.choice(len(prefixes), most, replace=False)))
    rows = []
    for part in chunks(prefixes):
        out = model.say(part)
        largest = np.argmax(out.logits, axis=1)
        rows.append((valid_mass(part, softmax(out.logits)), largest, out.expert, out.distance))
    mass, said, expert, distance = (np.concatenate(column) for column in zip(*rows, strict=True))
    left = competitors(prefixes, membership(knowledge), words) & prefixes.pattern_tasks[prefixes.pattern]
    whole = np.diff(prefixes.valid_start) == 0
    return Check(
        prefixes,
        mass,
        said,
        expert,
        distance,
        determined=np.asarray((left == prefixes.compatible).all(axis=1)),
        single=prefixes.compatible.sum(axis=1) == 1,
        whole=whole,
        misrouted=~prefixes.compatible[np.arange(len(prefixes)), expert],
        low_mass=~(mass > 1.0 - model.epsilon) & ~whole,
        differs=distance > TOLERANCE,
    )


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return the softmax of (..., n) along the last axis."""
    weight = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


def variation(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the total variation distances (B,) of the probabilities of logits (B, n)."""
    return 0.5 * np.abs(softmax(one) - softmax(other)).sum(axis=1)


def valid_mass(prefixes: Prefixes, weight: np.ndarray) -> np.ndarray:
    """Return the sum (B,) of the probabilities (B, n) of the tokens that may follow the prefixes."""
    owner = np.repeat(np.arange(len(prefixes)), np.diff(prefixes.valid_start))
    return np.bincount(owner, weight[owner, prefixes.valid_token], minlength=len(prefixes))
