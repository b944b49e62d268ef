"""Where a study takes its knowledge from: a small dataset, the generator, or a sample of the user's own file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from moestat import bounded, data_file
from moestat.experiment import SettingsModel
from studies.task_routing.parts.knowledge import END, OBJECT, SUBJECT, Knowledge, KnowledgeError, Task, Template
from studies.task_routing.parts.knowledge_second import sentences


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
    return size in FIXED or re.fullmatch(r"tiny|parity-[2-6]|second-[1-9]\d*x[1-9]\d*x[1-9]\d*", size) is not None


def named(size: str, rng: np.random.Generator) -> Knowledge:
    """Return a dataset by its name: of ``FIXED``, or ``parity-2``, say, or drawn: ``tiny``, ``second-5x3x20``."""
    if size == "tiny":
        return tiny(rng)
    if size.startswith("second-"):
        tasks, templates, pairs = map(int, size.removeprefix("second-").split("x"))
        return sentences(rng, tasks, templates, pairs)
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


Text = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]


class Relation(BaseModel):
    """A line of the file."""

    model_config = ConfigDict(extra="forbid")

    relation: Text
    templates: list[Text]
    pairs: list[tuple[Text, Text]]


def load(path: str | Path) -> Knowledge:
    """Read a user's own knowledge from a file of JSON lines, one relation per line.

    A line is ``{"relation": "P17", "templates": ["{subject} is located in {object}."], "pairs": [["Opachychi",
    "Ukraine"], ...]}``. Names need no quotation marks; blank lines are skipped.
    """
    path, where = Path(path), str(path)
    tasks = []
    try:
        for number, line in enumerate(bounded.read(path).decode("utf-8-sig").splitlines(), 1):
            where = f"{path}, line {number}"
            if line.strip():
                given = Relation.model_validate_json(line)
                tasks.append(Task(given.relation, tuple(map(Template.parse, given.templates)), tuple(given.pairs)))
        where = str(path)
        return Knowledge(tuple(tasks))
    except bounded.DataFileError as error:
        raise KnowledgeError(str(error)) from None
    except UnicodeDecodeError as error:
        raise KnowledgeError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"[{key}]" if isinstance(key, int) else str(key) for key in first["loc"])
        raise KnowledgeError(f"{where}: {f'{place}: ' if place else ''}{first['msg']}") from None
    except KnowledgeError as error:
        raise KnowledgeError(f"{where}: {error}") from None


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


_TEXT = (
    "the of in is was a an by for from to at with on as and that which its has had been known called named "
    "located found said listed described recorded since until through near within under over after before first "
    "later mainly often officially also originally currently widely formerly generally"
)
COMMON = _TEXT.split()
FEWEST_OBJECTS, ZIPF = 10, 0.7
LONGEST = 10
"""Tokens of a template, at most."""
_ONSETS = "b,br,c,ch,d,dr,f,fl,g,gr,h,j,k,l,m,n,p,pl,pr,qu,r,s,sh,sk,st,t,tr,v,w,z"
_VOWELS = "a,e,i,o,u,ai,ea,io,ou"
_CODAS = ",,l,m,n,r,s,t,nd,rk"


class _Names:
    """Pronounceable names that never repeat."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.taken = set(COMMON)
        self.parts = [sounds.split(",") for sounds in (_ONSETS, _VOWELS, _CODAS)]

    def new(self, syllables: int) -> str:
        while True:
            draw = [sounds[self.rng.integers(len(sounds))] for _ in range(syllables) for sounds in self.parts]
            name = "".join(draw)
            if name not in self.taken:
                self.taken.add(name)
                return name


def synthetic(
    rng: np.random.Generator,
    tasks: int,
    templates: int = 5,
    pairs: int = 200,
    *,
    subject_first: float = 0.6,
    shared_subjects: float = 0.1,
    shared_templates: int = 0,
) -> Knowledge:
    """Draw tasks, of so many templates and pairs, of the shape of the paper's WikiData5M sample.

    Every template holds a word of its own relation before the object, so that a prefix that shows an object belongs
    to one task; prefixes before that word may be shared by many tasks ("``*1`` is the", "the").

    ``subject_first``: share of templates that start with the subject; ``shared_subjects``: share of a table's subjects,
    which are distinct, that come from a pool common to all tasks; ``shared_templates``: so many templates of every task
    are common to all tasks (and hold no word of a relation). The number of distinct objects of a task is log-uniform
    from ``FEWEST_OBJECTS`` to ``pairs``, and they are drawn with weights 1 / rank**``ZIPF``.
    """
    if not 0 <= shared_templates <= templates:
        raise KnowledgeError(f"shared_templates is {shared_templates}; allowed are 0 to {templates}, all of a task's")
    names = _Names(rng)
    pool = [f"{names.new(2)} {names.new(2)}" for _ in range(max(2 * int(np.ceil(shared_subjects * pairs)), 1))]
    seen: set[Template] = set()
    everywhere = _templates(rng, shared_templates, [], subject_first, seen)
    out = []
    for k in range(tasks):
        own = [names.new(2) for _ in range(3)]
        chosen = everywhere + _templates(rng, templates - shared_templates, own, subject_first, seen)
        shared = int(round(shared_subjects * pairs))
        subjects = [pool[i] for i in rng.choice(len(pool), shared, replace=False)]
        subjects += [f"{names.new(2)} {names.new(2)}" for _ in range(pairs - shared)]
        low = min(FEWEST_OBJECTS, pairs)
        count = int(round(low * (pairs / low) ** rng.random()))
        objects = [f"{names.new(3)}" for _ in range(count)]
        weight = np.arange(1, count + 1) ** -ZIPF
        drawn = rng.choice(count, pairs, p=weight / weight.sum())
        table = tuple((subject, objects[i]) for subject, i in zip(subjects, drawn, strict=True))
        out.append(Task(f"R{k:02d} {own[0]}", tuple(chosen), table))
    return Knowledge(tuple(out))


def _templates(
    rng: np.random.Generator, count: int, own: list[str], subject_first: float, seen: set[Template]
) -> list[Template]:
    """Draw templates that are not in ``seen``, and enter them there."""
    chosen: list[Template] = []
    while len(chosen) < count:
        template = _template(rng, own, subject_first)
        if template not in seen:
            seen.add(template)
            chosen.append(template)
    return chosen


def _template(rng: np.random.Generator, own: list[str], subject_first: float) -> Template:
    """Draw one template: [before] *1 between *2 [after], a word of the relation at a random place before the object."""

    def common(low: int, high: int) -> list[str]:
        # few words carry most of the text, as in real language
        weight = 1.0 / np.arange(1, len(COMMON) + 1)
        count = int(rng.integers(low, high + 1))
        return [COMMON[i] for i in rng.choice(len(COMMON), count, p=weight / weight.sum(), replace=False)]

    def with_own(words: list[str]) -> list[str]:
        if not own:
            return words
        place = int(rng.integers(len(words) + 1))
        return [*words[:place], own[rng.integers(len(own))], *words[place:]]

    if rng.random() < subject_first:
        before, between = [], with_own(common(1, 4))
    else:
        before, between = with_own(common(1, 3)), common(1, 2)
    after = common(1, 2) if rng.random() < 0.3 else []
    room = LONGEST - 3 - len(before) - len(between)
    return Template((*before, SUBJECT, *between, OBJECT, *after[: max(room, 0)], END))
