"""Where a study takes its knowledge from: a small dataset, the generator, or a sample of the user's own file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from moestat import data_file
from moestat.experiment import SettingsModel
from studies.task_routing.parts.knowledge import Knowledge, Task
from studies.task_routing.parts.knowledge_file import load, sample
from studies.task_routing.parts.knowledge_synthetic import synthetic
from studies.task_routing.parts.template import END, OBJECT, SUBJECT, Template


def _of(*tasks: tuple[str, str, str]) -> Knowledge:
    """Return a dataset from (name, template, "subject object, subject object") per task."""
    return Knowledge(
        tuple(
            Task(name, (Template.parse(text),), tuple((pair.split()[0], pair.split()[1]) for pair in table.split(", ")))
            for name, text, table in tasks
        )
    )


def parity(bits: int) -> Knowledge:
    """Return two tasks that differ in the parity of a template's first words.

    Word i of a template is ``no<i>`` or ``yes<i>``, i = 1..bits, and all go on with "then *1 *2.": those with an even
    number of "yes" belong to one task.
    """
    chosen: tuple[list[Template], list[Template]] = ([], [])
    for choice in itertools.product((0, 1), repeat=bits):
        words = [f"{('no', 'yes')[bit]}{i}" for i, bit in enumerate(choice, 1)]
        chosen[sum(choice) % 2].append(Template((*words, "then", SUBJECT, OBJECT, END)))
    even, odd = (("Ada", "London"), ("Alan", "Paris")), (("Kurt", "Princeton"), ("Emmy", "Erlangen"))
    return Knowledge((Task("even", tuple(chosen[0]), even), Task("odd", tuple(chosen[1]), odd)))


FIXED = {
    # the paper's own, of section 3.1
    "example": _of(
        ("location", "*1 is in *2.", "Paris France, Madrid Spain"),
        ("language", "*1 is spoken widely in *2.", "English Canada, Hindi India"),
    ),
    "one-task": _of(("is", "*1 is *2.", "A B, C D")),
    "two-tasks": _of(("is", "*1 is *2.", "A B, C D"), ("was", "*1 was *2.", "E F, G H")),
    "one-template": _of(("first", "*1 is *2.", "A B, C D"), ("second", "*1 is *2.", "E F, G H")),
    "shared-subject": _of(
        ("born", "*1 was born in *2.", "Ada A, Alan B"), ("died", "*1 was buried in *2.", "Ada C, Kurt D")
    ),
    # after "A is B of" comes "in" and after "A is C of" comes "on": template, index, subject and last word are the
    # same, so that a head for the template and a head for the subject say the same after both
    "object-tells": _of(("in", "*1 is *2 of in.", "A B"), ("on", "*1 is *2 of on.", "A C")),
}
"""Datasets of one template per task, by name."""


def tiny(rng: np.random.Generator) -> Knowledge:
    """Draw one to three tasks of up to three templates and five pairs, of few words and names, which collide.

    Templates and subjects may be those of other tasks, and an object may be a subject.
    """
    words, names = np.array(["is", "in", "of"]), np.array(list("ABCDEF"))
    tasks = []
    for k in range(rng.integers(1, 4)):
        templates, table = [], []
        for _ in range(rng.integers(1, 4)):
            parts = [[str(word) for word in rng.choice(words, rng.integers(0, 3))] for _ in range(3)]
            templates.append(Template((*parts[0], SUBJECT, *parts[1], OBJECT, *parts[2], END)))
        for _ in range(rng.integers(1, 6)):
            table.append((str(rng.choice(names)), str(rng.choice(names))))
        tasks.append(Task(f"R{k}", tuple(dict.fromkeys(templates)), tuple(dict.fromkeys(table))))
    return Knowledge(tuple(tasks))


def is_name(size: str) -> bool:
    """Return whether a size names a dataset of this module."""
    return size in FIXED or size == "tiny" or re.fullmatch(r"parity-[2-6]", size) is not None


def named(size: str, rng: np.random.Generator) -> Knowledge:
    """Return a dataset by its name: one of ``FIXED``, ``parity-2`` to ``parity-6``, or a draw of ``tiny``."""
    if size == "tiny":
        return tiny(rng)
    return FIXED[size] if size in FIXED else parity(int(size.removeprefix("parity-")))


class KnowledgeSettings(SettingsModel):
    """Settings of where the knowledge of a replicate comes from."""

    shared_subjects: float = Field(0.1, ge=0, le=1, description="ours: share of subjects from a pool of all tasks")
    subject_first: float = Field(0.6, ge=0, le=1, description="ours: share of templates that start with the subject")
    file: str = Field("", description="the user's own JSON lines; synthetic knowledge when empty")
    file_sha256: str = Field("", description="SHA-256 of the file; found when empty, else it must be this")

    @model_validator(mode="before")
    @classmethod
    def _file(cls, given: Any) -> Any:
        return data_file.with_digest(given)

    @property
    def dataset(self) -> str:
        """Tasks x templates x pairs, such as ``"10x5x200"``, or the name of a small dataset."""
        raise NotImplementedError

    @property
    def identity(self) -> dict[str, Any]:
        """What the draw depends on, to be used as the identity of its random stream."""
        if is_name(self.dataset):
            return {"size": self.dataset}
        return {"size": self.dataset} | ({"file_sha256": self.file_sha256} if self.file else self._generator)

    @property
    def _generator(self) -> dict[str, Any]:
        names = ("shared_subjects", "subject_first", "shared_templates")
        return {name: getattr(self, name, 0) for name in names}

    def draw(self, rng: np.random.Generator) -> Knowledge:
        """Return the knowledge: a small dataset, one of the generator's, or a sample of the user's own."""
        if is_name(self.dataset):
            return named(self.dataset, rng)
        sizes = tuple(map(int, self.dataset.split("x")))
        if not self.file:
            return synthetic(rng, *sizes, **self._generator)
        knowledge = load(self.file)
        data_file.check(self.file, self.file_sha256)
        return sample(knowledge, rng, *sizes)


def read_data(settings: Mapping[str, Any]) -> None:
    """Read the user's data once, before the first replicate; what is wrong with them is told with its place."""
    load(settings["file"])
