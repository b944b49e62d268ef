"""What the prefixes of a dataset ask of a router that sees the pattern of a prefix and its subject.

The router adds a score of the pattern and a large weight times the membership of the subject, so that only tasks with
the subject in their tables compete. A prefix then asks that some task that generates it beats every competitor that
its pattern excludes. Prefixes of one pattern with the same tasks and rivals ask the same; a prefix without rivals asks
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studies.task_routing.parts.knowledge import Prefixes


@dataclass(frozen=True)
class Conditions:
    """The distinct conditions of a dataset, one per row."""

    pattern: np.ndarray  # (Q,) index of the pattern
    tasks: np.ndarray  # (Q, K) whether the task generates the prefix
    rivals: np.ndarray  # (Q, K) whether the task competes but has no such pattern; at least one does

    @property
    def single(self) -> np.ndarray:
        """(Q,) whether one task alone generates the prefix; the theorems speak of no other."""
        return self.tasks.sum(axis=1) == 1

    def take(self, rows: np.ndarray, tasks: np.ndarray | None = None) -> Conditions:
        """Return some conditions, optionally with other ``tasks`` (Q, K) that have to win."""
        tasks = self.tasks if tasks is None else tasks
        return Conditions(self.pattern[rows], tasks[rows], self.rivals[rows])

    def met(self, scores: np.ndarray) -> np.ndarray:
        """Return (Q,) whether scores (M, K) of the patterns meet each condition."""
        here = scores[self.pattern]
        best = np.where(self.tasks, here, -np.inf).max(axis=1)
        return best > np.where(self.rivals, here, -np.inf).max(axis=1)


def competitors(prefixes: Prefixes, member: np.ndarray, words: int) -> np.ndarray:
    """Return (W, K): whether the subject of the prefix is one of the task's, and all tasks before the subject.

    ``prefixes``: any prefixes. ``member`` (n, K): whether the token is a subject of the task; all ones where the router
    does not see the subject. ``words``: number of tokens that are words; they come before the entities.
    """
    is_entity = prefixes.tokens >= words
    first = prefixes.tokens[np.arange(len(prefixes)), is_entity.argmax(axis=1)]
    before = ~np.asarray(is_entity.any(axis=1))
    return before[:, None] | (member[first] > 0)


def conditions(prefixes: Prefixes, member: np.ndarray, words: int) -> Conditions:
    """Collect the conditions of all prefixes; the parameters are those of :func:`competitors`."""
    rivals = competitors(prefixes, member, words) & ~prefixes.pattern_tasks[prefixes.pattern]
    rows = rivals.any(axis=1)
    distinct = np.unique(
        np.concatenate((prefixes.pattern[rows, None], prefixes.compatible[rows], rivals[rows]), axis=1), axis=0
    )
    count = prefixes.compatible.shape[1]
    return Conditions(distinct[:, 0], distinct[:, 1 : 1 + count] == 1, distinct[:, 1 + count :] == 1)


def is_determined(prefixes: Prefixes, member: np.ndarray, words: int) -> np.ndarray:
    """Return (W,) whether pattern and subject leave no task but those that generate the prefix.

    They do not where two tasks share a template and a subject: the object, or what follows it, then tells the task.
    """
    left = competitors(prefixes, member, words) & prefixes.pattern_tasks[prefixes.pattern]
    return np.asarray((left == prefixes.compatible).all(axis=1))
