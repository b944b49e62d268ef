"""The user's own knowledge, from a file of JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from moestat import bounded
from studies.task_routing.parts.knowledge import Knowledge, Task
from studies.task_routing.parts.template import KnowledgeError, Template


def load(path: str | Path) -> Knowledge:
    """Read a user's own knowledge from a file of JSON lines, one relation per line.

    A line is ``{"relation": "P17", "templates": ["{subject} is located in {object}."], "pairs": [["Opachychi",
    "Ukraine"], ...]}``. Names need no quotation marks; blank lines are skipped.
    """
    path = Path(path)
    try:
        lines = bounded.read(path).decode("utf-8-sig").splitlines()
    except bounded.DataFileError as error:
        raise KnowledgeError(str(error)) from None
    except UnicodeDecodeError as error:
        raise KnowledgeError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    tasks = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                tasks.append(_task(json.loads(line)))
            except KnowledgeError as error:
                raise KnowledgeError(f"{path}, line {number}: {error}") from None
            except RecursionError:
                raise KnowledgeError(f"{path}, line {number}: not JSON that can be read (nested too deep)") from None
            except ValueError as error:  # a number of 5000 digits is one, too
                raise KnowledgeError(f"{path}, line {number}: not JSON ({error})") from None
    try:
        return Knowledge(tuple(tasks))
    except KnowledgeError as error:
        raise KnowledgeError(f"{path}: {error}") from None


def _task(record: Any) -> Task:
    """Turn one JSON object into a task."""
    keys = {"relation", "templates", "pairs"}
    if not isinstance(record, dict) or set(record) != keys:
        given = ", ".join(sorted(record)) if isinstance(record, dict) else type(record).__name__
        raise KnowledgeError(f"a line must be an object with the keys relation, templates and pairs; found {given}")
    name, templates, pairs = record["relation"], record["templates"], record["pairs"]
    if not isinstance(name, str) or not name:
        raise KnowledgeError(f"relation is {name!r}; it must be a non-empty text")
    if not isinstance(templates, list) or not all(isinstance(text, str) for text in templates):
        raise KnowledgeError("templates must be a list of texts")
    if not isinstance(pairs, list):
        raise KnowledgeError("pairs must be a list of [subject, object] texts")
    for i, pair in enumerate(pairs):
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise KnowledgeError(f"pairs[{i}] is {pair!r}; it must be [subject, object], two texts")
    table = tuple((str(subject).strip(), str(obj).strip()) for subject, obj in pairs)
    return Task(name, tuple(Template.parse(text) for text in templates), table)
