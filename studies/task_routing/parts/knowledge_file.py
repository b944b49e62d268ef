"""The user's own knowledge, from a file of JSON lines, and samples of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from moestat import bounded
from studies.task_routing.parts.knowledge import Knowledge, Task
from studies.task_routing.parts.template import KnowledgeError, Template

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
