"""Theorem 4.2 by hand for tasks of one template, "*1 is *2.", whose subjects differ: any number of tasks.

The weights have 2 L|T| = 8 coordinates: a token's level (k for a subject of task k, else 0), its place on a circle (2),
its position, copies of the subject's level and place (3), and a constant. One head looks at the first position and
copies; the other is silent. The router's scores 2 k a - k^2 are largest for the level a = k. An expert is a piecewise
linear map of 10 times the position plus a projection of the subject's place, with a knot for each pair and two more:
"is" at position 1, an object at each subject of position 2, and "." from position 3 on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studies.task_routing.parts.construction.check import Model, Said
from studies.task_routing.parts.construction.content import attention
from studies.task_routing.parts.construction.memoriser import plane
from studies.task_routing.parts.construction.model import table
from studies.task_routing.parts.knowledge import END, Knowledge, Prefixes

TEMPLATE = "*1 is *2."
LEVEL, PLACE, POSITION, COPIES, CONSTANT = 0, slice(1, 3), 3, slice(4, 7), 7
SIZE = 8
SHARPNESS = 60.0
PROJECTION = np.array([np.cos(0.3), np.sin(0.3)])
"""A direction in which no two of the places fall together."""


@dataclass(frozen=True)
class OneTemplate(Model):
    """The weights; an expert is ``bias + relu(z - knots) @ slopes``, z = 10 position + PROJECTION'place."""

    embedding: np.ndarray  # (n, SIZE)
    experts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]  # knots (W,), slopes (W, 2) and bias (2,)
    factor: float  # of what an expert writes

    def say(self, prefixes: Prefixes) -> Said:
        """Run the model on prefixes."""
        seen = np.arange(prefixes.tokens.shape[1]) < prefixes.length[:, None]
        x = np.where(seen[..., None], self.embedding[np.where(seen, prefixes.tokens, 0)], 0.0)
        x[..., POSITION] = np.where(seen, np.arange(1, seen.shape[1] + 1), 0)
        weight = attention(-SHARPNESS * x[..., POSITION], seen)
        last = x[np.arange(len(x)), prefixes.length - 1]
        last[:, COPIES] += np.einsum("bs,bsc->bc", weight, x[..., LEVEL : PLACE.stop])
        k = np.arange(1, len(self.experts) + 1)
        expert = np.argmax(2 * k * last[:, [COPIES.start]] - k**2 * last[:, [CONSTANT]], axis=1)
        z = 10 * last[:, POSITION] + last[:, COPIES.start + 1 : COPIES.stop] @ PROJECTION
        for row, one in enumerate(expert):
            knots, slopes, bias = self.experts[one]
            last[row, PLACE] += self.factor * (bias + np.maximum(z[row] - knots, 0.0) @ slopes)
        return Said(last[:, PLACE] @ plane(len(self.embedding)).T, np.asarray(expert), np.zeros(len(x)))


def build_one_template(knowledge: Knowledge, *, epsilon: float = 0.01) -> OneTemplate:
    """Construct the weights for tasks of ``TEMPLATE`` whose subjects differ, each with one object."""
    n, words = len(knowledge.vocabulary), [knowledge.token_id[word] for word in ("is", END)]
    place, embedding, experts = plane(n), np.zeros((n, SIZE)), []
    embedding[:, PLACE], embedding[:, CONSTANT] = place, 1.0
    for k in range(len(knowledge.tasks)):
        subjects, objects = table(knowledge, k)
        embedding[subjects, LEVEL] = k + 1
        at = 20 + place[subjects] @ PROJECTION
        order = np.argsort(at)
        knots = np.concatenate(([12.0], at[order], [28.0]))
        said = place[[words[0], *objects[order], words[1]]]
        slopes = np.diff(said, axis=0) / np.diff(knots)[:, None]
        flat = np.zeros((1, 2))
        experts.append((knots, np.diff(np.concatenate((flat, slopes, flat)), axis=0), said[0]))
    # places differ by this much along any of them; what the residual connection adds is less than 2
    margin = 2.0 * np.sin(np.pi / n) ** 2
    return OneTemplate(knowledge, epsilon, embedding, experts, (3.0 + np.log((n - 1) / epsilon)) / margin)
