"""Which names the source of some modules can give to something: read off its texts, and what it puts together of them.

A name is possible if the source holds it: as a text, a keyword, a field or a function, or put together of such by an
f-string, a sum of texts or a format. More names are called possible than are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cached_property

from moestat import own_files

HOLE = re.compile(r"\{[^{}]*\}|%[-+0-9.]*[a-z]")
"""Where a format puts something in."""
DEPTH = 2
"""How often a name that is put together may be a part of another one."""

_ROOMS = ("papers", "printed", "models", "fit", "losses", "rates", "identify", "training")
COMPUTES = tuple(f"moestat.{room}" for room in _ROOMS)
"""The rooms of this package that name what an experiment returns."""

Parts = tuple[str | None, ...]
"""A text with holes: its constant pieces, None for each hole."""


def modules_of(module: str) -> list[str]:
    """Return a module and what it imports of this package's library and papers, and of the user's own files."""
    return own_files.closure([module], lambda name: name.startswith(COMPUTES) or own_files.is_own(name))


class Source:
    """The names in the source of some modules.

    Parameters
    ----------
    modules : iterable of str
        Import paths; one without source is passed over.
    texts : set of str
        Further texts, of which a name may be made.
    """

    def __init__(self, modules: Iterable[str], texts: Iterable[str] = ()) -> None:
        self.words, self.forms = set(texts), set[Parts]()
        for module in modules:
            for node in ast.walk(_tree(module)):
                self._note(node)

    @cached_property
    def names(self) -> list[str]:
        """The words that can be names of variables, in order."""
        return sorted(word for word in self.words if word.isidentifier())

    def may_name(self, name: str) -> bool:
        """Return whether a variable may be called so."""
        return self._possible(name, DEPTH)

    def _possible(self, name: str, depth: int) -> bool:
        if name in self.words:
            return True
        return depth > 0 and any(self._fits(form, name, depth if _has_text(form) else 1) for form in self.forms)

    def _fits(self, form: Parts, text: str, depth: int, whole: str = "") -> bool:
        """Whether a text is a form whose holes hold nothing, digits, or what is possible itself."""
        whole = whole or text
        if not form:
            return not text
        first, rest = form[0], form[1:]
        if first is not None:
            return text.startswith(first) and self._fits(rest, text[len(first) :], depth, whole)
        ends = [len(text)] if not rest else range(len(text) + 1)
        return any(
            self._fits(rest, text[end:], depth, whole)
            and (
                not text[:end] or text[:end].isdigit() or text[:end] != whole and self._possible(text[:end], depth - 1)
            )
            for end in ends
        )

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.words.add(node.value)
            self._form(_of_format(node.value))
        elif isinstance(node, ast.JoinedStr):
            self._form(_of_joined(node))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            self._form(_of_sum(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            self._note_method(node.func)
        elif isinstance(node, ast.keyword):
            self.words.add(node.arg or "")
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            self.words.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            self.words.add(node.target.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            self.words.add(node.attr)

    def _note_method(self, method: ast.Attribute) -> None:
        """Note the words of ``"a b".split()``, and two words with what ``"_".join(...)`` puts between them."""
        text = method.value.value if isinstance(method.value, ast.Constant) else None
        if isinstance(text, str) and method.attr == "split":
            self.words.update(re.split(r"[\s,;]+", text))
        elif isinstance(text, str) and method.attr == "join":
            self._form((None, text, None))

    def _form(self, parts: Parts) -> None:
        """Keep a form that may make names: more than one hole or some text, and nothing that no name holds."""
        constant = "".join(part for part in parts if part is not None)
        if None in parts and len(parts) > 1 and re.fullmatch(r"[\w.:+-]*", constant):
            self.forms.add(parts)


def _has_text(form: Parts) -> bool:
    return any(form)


def _of_format(text: str) -> Parts:
    parts: list[str | None] = []
    for piece in HOLE.split(text):
        parts += [piece, None] if piece else [None]
    return tuple(parts[:-1])


def _of_joined(node: ast.JoinedStr) -> Parts:
    return tuple(str(value.value) if isinstance(value, ast.Constant) else None for value in node.values)


def _of_sum(node: ast.BinOp) -> Parts:
    sides: list[Parts] = []
    for side in (node.left, node.right):
        if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add):
            sides.append(_of_sum(side))
        elif isinstance(side, ast.JoinedStr):
            sides.append(_of_joined(side))
        else:
            sides.append((side.value,) if isinstance(side, ast.Constant) and isinstance(side.value, str) else (None,))
    return sides[0] + sides[1] if any(map(_has_text, sides)) else ()  # else it adds numbers


def _tree(module: str) -> ast.AST:
    """Return the source of a module as a syntax tree, an empty one where there is none."""
    try:
        return ast.parse(own_files.source(module) or "")
    except (SyntaxError, ValueError):
        return ast.Module([], [])
