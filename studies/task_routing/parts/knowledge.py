"""Templates, knowledge tasks, the sentences and the prefixes they generate (task-routing paper, section 3.1).

A template is a string of tokens with the wildcards ``*1`` (subject) and ``*2`` (object). Entities are atomic: the token
of an entity is its name in quotation marks, so that none is ever mistaken for a word. Every template ends in ``"."``,
which occurs nowhere else, so that no sentence is a prefix of another one. A task is a set of templates with a table of
(subject, object) pairs; its sentences are all instantiations. A dataset is a set of tasks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

SUBJECT, OBJECT, END = "*1", "*2", "."

_PIECE = re.compile(r'\{subject\}|\{object\}|[,;:!?()]|[^\s",;:!?(){}]+')
_WILDCARDS = {"{subject}": SUBJECT, "{object}": OBJECT}


class KnowledgeError(ValueError):
    """A template, a table or a file of knowledge is not usable; the message says where and why."""


def tokenize(text: str) -> tuple[str, ...]:
    """Split a template into tokens: ``{subject}`` and ``{object}`` (or ``*1`` and ``*2``) are the wildcards.

    Punctuation is a token of its own, and a final full stop is the end-of-sentence token.

    >>> tokenize("{subject}, is located in {object}.")
    ('*1', ',', 'is', 'located', 'in', '*2', '.')
    """
    body = text.strip()
    ends = body.endswith(END)
    body = body.removesuffix(END)
    if rest := _PIECE.sub(" ", body).strip():
        raise KnowledgeError(
            f"{text!r} has a stray {rest[0]!r}; names enter only through the wildcards {{subject}} and {{object}}, the "
            "only braces that are allowed"
        )
    tokens = tuple(_WILDCARDS.get(piece, piece) for piece in _PIECE.findall(body))
    return (*tokens, END) if ends else tokens


def entity(name: str) -> str:
    """Return the token of an entity: its name in quotation marks."""
    return f'"{name}"'


@dataclass(frozen=True)
class Template:
    """A template: tokens with ``*1`` once, then ``*2`` once, and the end-of-sentence token last (Def. 3.1)."""

    tokens: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what is not a template."""
        told = f"template {' '.join(self.tokens)!r}"
        for wildcard, name in ((SUBJECT, "{subject}"), (OBJECT, "{object}")):
            if (count := self.tokens.count(wildcard)) != 1:
                raise KnowledgeError(f"{told} holds {name} {count} times; it must hold it exactly once")
        if self.tokens.index(SUBJECT) > self.tokens.index(OBJECT):
            raise KnowledgeError(f"{told} names the object before the subject; {{subject}} must come first")
        if self.tokens.count(END) != 1 or self.tokens[-1] != END:
            raise KnowledgeError(f"{told} must hold a single full stop token, at its end")

    @classmethod
    def parse(cls, text: str) -> Template:
        """Read a template such as ``"{subject} is located in {object}."``; a missing full stop is added."""
        tokens = tokenize(text)
        return cls(tokens if tokens[-1:] == (END,) else (*tokens, END))

    def fill(self, subject: str, obj: str) -> tuple[str, ...]:
        """Return the sentence in which the wildcards are replaced by two entities."""
        replace = {SUBJECT: entity(subject), OBJECT: entity(obj)}
        return tuple(replace.get(token, token) for token in self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class Task:
    """A knowledge task: a table of (subject, object) pairs and a set of templates (Def. 3.2)."""

    name: str
    templates: tuple[Template, ...]
    table: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        """Refuse an empty or repetitive task."""
        for what, items in (("templates", [" ".join(t.tokens) for t in self.templates]), ("pairs", self.table)):
            if not items:
                raise KnowledgeError(f"task {self.name!r} has no {what}")
            if twice := [item for item, count in Counter(items).items() if count > 1]:
                raise KnowledgeError(f"task {self.name!r} holds {twice[0]!r} twice among its {what}")
        if bad := [name for pair in self.table for name in pair if not name or '"' in name]:
            raise KnowledgeError(f"task {self.name!r}: {bad[0]!r} is no entity name (empty, or a quotation mark in it)")

    @property
    def subjects(self) -> tuple[str, ...]:
        """Distinct subjects of the table, in its order."""
        return tuple(dict.fromkeys(subject for subject, _ in self.table))

    @property
    def complexity(self) -> int:
        """Combined length of the templates plus the number of pairs (c(k), Def. 3.2)."""
        return sum(map(len, self.templates)) + len(self.table)


@dataclass(frozen=True)
class Sentences:
    """All sentences of a dataset, one row per (task, template, pair); padded with -1."""

    tokens: np.ndarray  # (S, L) token ids
    length: np.ndarray  # (S,) number of tokens, the end-of-sentence token included
    task: np.ndarray  # (S,) index of the task
    template: np.ndarray  # (S,) index into ``Knowledge.templates``
    pair: np.ndarray  # (S,) index of the pair in the task's table


@dataclass(frozen=True)
class Prefixes:
    """Every distinct prefix that has a next token, with what may follow it and who can have said it."""

    tokens: np.ndarray  # (W, L - 1) token ids, padded with -1
    length: np.ndarray  # (W,) number of tokens, at least 1
    pattern: np.ndarray  # (W,) index into ``patterns``: the prefix with its entities replaced by the wildcards
    compatible: np.ndarray  # (W, K) whether the task generates the prefix
    valid_start: np.ndarray  # (W + 1,) offsets into ``valid_token``
    valid_token: np.ndarray
    """Valid next tokens V(w) of all prefixes, one after the other, over all tasks of the dataset."""
    patterns: tuple[tuple[str, ...], ...]  # the M distinct template prefixes
    pattern_tasks: np.ndarray  # (M, K) whether the task has a template that starts with the pattern

    def __len__(self) -> int:
        return int(self.length.shape[0])

    def valid(self, index: int) -> np.ndarray:
        """Return the valid next tokens of one prefix."""
        return self.valid_token[self.valid_start[index] : self.valid_start[index + 1]]

    def take(self, rows: np.ndarray) -> Prefixes:
        """Return the prefixes of some rows, in their order."""
        counts = np.diff(self.valid_start)[rows]
        start = np.concatenate(([0], np.cumsum(counts)))
        within = np.arange(start[-1]) - np.repeat(start[:-1], counts)
        valid_token = self.valid_token[np.repeat(self.valid_start[rows], counts) + within]
        by_row = {name: getattr(self, name)[rows] for name in ("tokens", "length", "pattern", "compatible")}
        return replace(self, **by_row, valid_start=start, valid_token=valid_token)


@dataclass(frozen=True)
class Knowledge:
    """A knowledge dataset: the tasks, and through them all templates (Def. 3.3)."""

    tasks: tuple[Task, ...]

    def __post_init__(self) -> None:
        """Refuse a dataset without tasks or with two tasks of one name."""
        if not self.tasks:
            raise KnowledgeError("a knowledge dataset needs at least one task")
        if twice := [name for name, count in Counter(task.name for task in self.tasks).items() if count > 1]:
            raise KnowledgeError(f"task names must be different; given twice: {', '.join(sorted(twice))}")

    @cached_property
    def templates(self) -> tuple[Template, ...]:
        """The distinct templates of all tasks."""
        return tuple(dict.fromkeys(template for task in self.tasks for template in task.templates))

    @property
    def max_length(self) -> int:
        """Length L of the longest template."""
        return max(map(len, self.templates))

    @property
    def max_table(self) -> int:
        """Size N of the largest table."""
        return max(len(task.table) for task in self.tasks)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Tokens that templates are made of, sorted; the end-of-sentence token is the last one."""
        words = {token for template in self.templates for token in template.tokens} - {SUBJECT, OBJECT, END}
        return (*sorted(words), END)

    @cached_property
    def entities(self) -> tuple[str, ...]:
        """Tokens of the entities in order of appearance (subjects of a table before its objects)."""
        names: dict[str, None] = {}
        for task in self.tasks:
            names.update(dict.fromkeys(task.subjects))
            names.update(dict.fromkeys(obj for _, obj in task.table))
        return tuple(map(entity, names))

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """All tokens: the words, then the entities. The position is the token's id."""
        return self.words + self.entities

    @cached_property
    def token_id(self) -> dict[str, int]:
        """Token -> id."""
        return {token: i for i, token in enumerate(self.vocabulary)}

    def encode(self, tokens: Iterable[str]) -> np.ndarray:
        """Return token ids."""
        return np.array([self.token_id[token] for token in tokens], dtype=np.int64)

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """Return the text of token ids; padding (-1) is left out."""
        return " ".join(self.vocabulary[i] for i in ids if i >= 0)

    @cached_property
    def sentences(self) -> Sentences:
        """Return every sentence: all templates of a task with all its pairs, task by task."""
        index, parts = {template: i for i, template in enumerate(self.templates)}, []
        for k, task in enumerate(self.tasks):
            subjects, objects = (self.encode(map(entity, names)) for names in zip(*task.table, strict=True))
            count = len(task.table)
            for template in task.templates:
                row = np.full((count, self.max_length), -1, dtype=np.int64)
                for i, token in enumerate(template.tokens):
                    row[:, i] = {SUBJECT: subjects, OBJECT: objects}.get(token, self.token_id.get(token, -1))
                about = (np.full(count, value) for value in (len(template), k, index[template]))
                parts.append((row, *about, np.arange(count)))
        return Sentences(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    @property
    def prefixes(self) -> Prefixes:
        """Return every distinct prefix of length 1 to |template| - 1, shorter ones first.

        V(w) and the compatible tasks are taken over the whole dataset, as in Theorems 4.1 and 4.2.
        """
        return self._tree[0]

    @property
    def prefix_of(self) -> np.ndarray:
        """Return (S, L - 1): the row in ``prefixes`` of the first i + 1 tokens of every sentence, -1 for the whole."""
        return self._tree[1]

    @cached_property
    def _tree(self) -> tuple[Prefixes, np.ndarray]:
        sentences, n, tasks = self.sentences, len(self.vocabulary), len(self.tasks)
        patterns: dict[tuple[str, ...], int] = {}
        pattern_of = np.full((len(self.templates), self.max_length), -1, dtype=np.int64)
        for t, template in enumerate(self.templates):
            for i in range(1, len(template)):
                pattern_of[t, i] = patterns.setdefault(template.tokens[:i], len(patterns))
        pattern_tasks = np.zeros((len(patterns), tasks), dtype=bool)
        for k, task in enumerate(self.tasks):
            for template in task.templates:
                for i in range(1, len(template)):
                    pattern_tasks[patterns[template.tokens[:i]], k] = True

        node = np.zeros(sentences.length.shape[0], dtype=np.int64)
        prefix_of = np.full((node.shape[0], self.max_length - 1), -1, dtype=np.int64)
        levels: list[tuple[np.ndarray, ...]] = []
        total = 0
        for i in range(1, self.max_length):
            alive = np.flatnonzero(sentences.length > i)
            # a prefix is known by its parent and its last token: one sort per level, no loop over sentences
            _, first, inverse = np.unique(
                node[alive] * n + sentences.tokens[alive, i - 1], return_index=True, return_inverse=True
            )
            node[alive] = inverse
            prefix_of[alive, i - 1] = total + inverse
            total += first.shape[0]
            rows = alive[first]
            tokens = np.where(np.arange(self.max_length - 1) < i, sentences.tokens[rows, :-1], -1)
            compatible = np.zeros((rows.shape[0], tasks), dtype=bool)
            compatible[inverse, sentences.task[alive]] = True
            follow = np.unique(inverse * n + sentences.tokens[alive, i])
            counts = np.bincount(follow // n, minlength=rows.shape[0])
            pattern = pattern_of[sentences.template[rows], i]
            levels.append((tokens, np.full(rows.shape[0], i), pattern, compatible, counts, follow % n))
        tokens, length, pattern, compatible, counts, valid = (
            np.concatenate(parts) for parts in zip(*levels, strict=True)
        )
        start = np.concatenate(([0], np.cumsum(counts)))
        prefixes = Prefixes(tokens, length, pattern, compatible, start, valid, tuple(patterns), pattern_tasks)
        return prefixes, prefix_of
