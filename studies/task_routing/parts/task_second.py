"""The training of :mod:`studies.task_routing.parts.task_training` on sentences of the second generator."""

from __future__ import annotations

from typing import Any

import numpy as np

from moestat.replicates import Row, Streams, each
from studies.task_routing.parts import task_training
from studies.task_routing.parts.knowledge import Knowledge
from studies.task_routing.parts.knowledge_second import sentences

VERSION = 1


class Settings(task_training.Settings):
    """Settings of a cell; those of the first generator have no effect."""

    @property
    def _generator(self) -> dict[str, Any]:
        return {"generator": "second"}

    def draw(self, rng: np.random.Generator) -> Knowledge:
        """Return the knowledge of the second generator."""
        return sentences(rng, self.tasks, self.templates, self.pairs)


@each(dims=task_training.DIMS, coords=task_training.coords)
def run(s: Settings, streams: Streams) -> Row:
    """Train and evaluate one model per replicate, as :func:`studies.task_routing.parts.task_training.run` does."""
    return task_training.measured(s, streams)
