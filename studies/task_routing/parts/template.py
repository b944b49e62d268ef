"""Templates: strings of tokens with the wildcards ``*1`` (subject) and ``*2`` (object), task-routing Def. 3.1.

Entities are atomic: the token of an entity is its name in quotation marks, so that no entity is ever mistaken for
a word of a template. Every template ends in the end-of-sentence token ``"."``, which occurs nowhere else, so that no
sentence is a prefix of another one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
