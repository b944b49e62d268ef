"""A dataset on which the object alone tells the task, for the constructions.

It stands apart from :mod:`moestat.papers.task_routing.knowledge_small`, which the trainings read as well: their results
do not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moestat.papers.task_routing.knowledge import Knowledge, Task
from moestat.papers.task_routing.template import Template

NAME = "object-tells"


@dataclass(frozen=True)
class ObjectTells:
    """Two tasks with one subject and templates that differ in the last word only, read as a source of knowledge."""

    @property
    def identity(self) -> dict[str, object]:
        """What the draw depends on: the name."""
        return {"size": NAME}

    def draw(self, rng: np.random.Generator) -> Knowledge:
        """Return the dataset; nothing is drawn.

        After "A is B of" comes "in" and after "A is C of" comes "on". Template, index, subject and last word are the
        same, so that a head for the template and a head for the subject say the same after both.
        """
        return Knowledge(
            (
                Task("in", (Template.parse("*1 is *2 of in."),), (("A", "B"),)),
                Task("on", (Template.parse("*1 is *2 of on."),), (("A", "C"),)),
            )
        )
