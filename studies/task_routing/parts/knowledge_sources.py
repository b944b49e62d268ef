"""Where a study takes its knowledge from: a small dataset, the generator, or a sample of the user's own file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from moestat import data_file
from studies.task_routing.parts.knowledge import Knowledge, Task
from studies.task_routing.parts.knowledge_file import load
from studies.task_routing.parts.knowledge_small import is_name, named
from studies.task_routing.parts.knowledge_synthetic import synthetic
from studies.task_routing.parts.template import KnowledgeError


def sample(knowledge: Knowledge, rng: np.random.Generator, tasks: int, templates: int, pairs: int) -> Knowledge:
    """Draw some tasks, some templates and some pairs of each from a larger dataset, without replacement."""
    if len(knowledge.tasks) < tasks:
        raise KnowledgeError(f"{tasks} tasks are asked for; the file has {len(knowledge.tasks)}")
    out = []
    for k in sorted(rng.choice(len(knowledge.tasks), tasks, replace=False)):
        task, parts = knowledge.tasks[k], []
        for what, have, want in (("templates", task.templates, templates), ("pairs", task.table, pairs)):
            if len(have) < want:
                raise KnowledgeError(f"{want} {what} per task are asked for; task {task.name!r} has {len(have)}")
        for have, want in ((task.templates, templates), (task.table, pairs)):
            parts.append(tuple(have[i] for i in sorted(rng.choice(len(have), want, replace=False))))
        out.append(Task(task.name, *parts))
    return Knowledge(tuple(out))


@dataclass(frozen=True)
class Source:
    """Where a study takes its knowledge from.

    ``size``: tasks x templates x pairs, such as ``"10x5x200"``, or the name of a small dataset. ``file``: the user's
    own, of which a sample is drawn, and ``file_sha256`` its digest; the other options are those of the generator.
    """

    OPTIONS: ClassVar = ("file", "file_sha256", "shared_subjects", "subject_first", "shared_templates")

    size: str
    file: str = ""
    file_sha256: str = ""
    shared_subjects: float = 0.1
    subject_first: float = 0.6
    shared_templates: int = 0

    @property
    def identity(self) -> dict[str, object]:
        """What the draw depends on, to be used as the identity of its random stream."""
        if is_name(self.size):
            return {"size": self.size}
        names = self.OPTIONS[1:2] if self.file else self.OPTIONS[2:]
        return {"size": self.size} | {name: getattr(self, name) for name in names}

    def draw(self, rng: np.random.Generator) -> Knowledge:
        """Return the knowledge."""
        if is_name(self.size):
            return named(self.size, rng)
        sizes = tuple(map(int, self.size.split("x")))
        if not self.file:
            return synthetic(rng, *sizes, **{name: getattr(self, name) for name in self.OPTIONS[2:]})
        knowledge = load(self.file)
        data_file.check(self.file, self.file_sha256)
        return sample(knowledge, rng, *sizes)
