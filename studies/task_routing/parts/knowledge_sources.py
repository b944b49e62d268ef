"""Where a study takes its knowledge from: the paper's example, the generator, a sample of the user's own file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from moestat import data_file
from studies.task_routing.parts.knowledge import Knowledge, Task
from studies.task_routing.parts.knowledge_file import load
from studies.task_routing.parts.knowledge_small import is_name, named
from studies.task_routing.parts.knowledge_synthetic import synthetic
from studies.task_routing.parts.template import KnowledgeError, Template


def paper_example() -> Knowledge:
    """Return the two tasks of the paper's example (section 3.1)."""
    return Knowledge(
        (
            Task("location", (Template.parse("*1 is in *2."),), (("Paris", "France"), ("Madrid", "Spain"))),
            Task(
                "language", (Template.parse("*1 is spoken widely in *2."),), (("English", "Canada"), ("Hindi", "India"))
            ),
        )
    )


def sample(knowledge: Knowledge, rng: np.random.Generator, tasks: int, templates: int, pairs: int) -> Knowledge:
    """Draw some tasks, some templates and some pairs of each from a larger dataset, without replacement."""
    if len(knowledge.tasks) < tasks:
        raise KnowledgeError(f"{tasks} tasks are asked for; the file has {len(knowledge.tasks)}")
    out = []
    for k in sorted(rng.choice(len(knowledge.tasks), tasks, replace=False)):
        task = knowledge.tasks[k]
        for what, have, want in (("templates", len(task.templates), templates), ("pairs", len(task.table), pairs)):
            if have < want:
                raise KnowledgeError(f"{want} {what} per task are asked for; task {task.name!r} has {have}")
        out.append(
            Task(
                task.name,
                tuple(task.templates[i] for i in sorted(rng.choice(len(task.templates), templates, replace=False))),
                tuple(task.table[i] for i in sorted(rng.choice(len(task.table), pairs, replace=False))),
            )
        )
    return Knowledge(tuple(out))


@dataclass(frozen=True)
class Source:
    """Where a study takes its knowledge from: a small dataset, the generator, or a sample of the user's own file."""

    size: str
    tasks: int = 0
    templates: int = 0
    pairs: int = 0
    file: str = ""
    file_sha256: str = ""
    shared_subjects: float = 0.1
    subject_first: float = 0.6
    shared_templates: int = 0

    @classmethod
    def parse(cls, size: str, **options: Any) -> Source:
        """Read a size such as ``"10x5x200"`` (tasks x templates x pairs), or the name of a small dataset."""
        small = size == "example" or is_name(size)
        tasks, templates, pairs = (0, 0, 0) if small else map(int, size.split("x"))
        return cls(size, tasks, templates, pairs, **options)

    @property
    def identity(self) -> dict[str, object]:
        """What the draw depends on, to be used as the identity of its random stream."""
        if not self.tasks:
            return {"size": self.size}
        if self.file:
            return {"size": self.size, "file_sha256": self.file_sha256}
        return {
            "size": self.size,
            "subject_first": self.subject_first,
            "shared_subjects": self.shared_subjects,
            "shared_templates": self.shared_templates,
        }

    def draw(self, rng: np.random.Generator) -> Knowledge:
        """Return the knowledge."""
        if self.size == "example":
            return paper_example()
        if not self.tasks:
            return named(self.size, rng)
        if not self.file:
            return synthetic(
                rng,
                self.tasks,
                self.templates,
                self.pairs,
                shared_subjects=self.shared_subjects,
                subject_first=self.subject_first,
                shared_templates=self.shared_templates,
            )
        knowledge = load(self.file)
        data_file.check(self.file, self.file_sha256)
        return sample(knowledge, rng, self.tasks, self.templates, self.pairs)
