"""Which names a block of source binds itself."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

_DEFINING = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
_COMPREHENSIONS = frozenset({ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})
_BINDING = frozenset(
    {
        ast.Import,
        ast.ImportFrom,
        ast.NamedExpr,
        ast.Global,
        ast.ExceptHandler,
        ast.MatchAs,
        ast.MatchStar,
        ast.MatchMapping,
    }
)


@dataclass
class Scope:
    """The names that a block binds: all, those that only imports bind, and those declared global."""

    names: set[str] = field(default_factory=set)
    imports: dict[str, tuple[str, str | None, int]] = field(default_factory=dict)
    outer: set[str] = field(default_factory=set)
    of_class: bool = False


def dotted(node: ast.AST) -> tuple[str, ...] | None:
    """Return the parts of ``a.b.c``, None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else None


def own_scope(body: list[Any]) -> Scope:
    """Return what a block binds, without what functions, classes and comprehensions in it bind."""
    scope = Scope()
    others: set[str] = set()
    waiting: list[tuple[ast.AST, bool]] = [(node, False) for node in body]
    while waiting:
        node, inside = waiting.pop()  # inside: in a comprehension, where only := binds a name of the block
        kind = type(node)
        if kind is ast.Name:
            if not inside and not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
                others.add(node.id)  # type: ignore[attr-defined]
            continue
        if kind is ast.Constant or kind is ast.Lambda:
            continue
        if kind in _DEFINING:
            others.add(node.name)  # type: ignore[attr-defined]
            continue
        if kind in _BINDING:
            _bind(node, scope, others)
        inside = inside or kind in _COMPREHENSIONS
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                waiting.extend((item, inside) for item in value if isinstance(item, ast.AST))
            elif name != "ctx" and isinstance(value, ast.AST):
                waiting.append((value, inside))
    scope.names = (others | scope.imports.keys()) - scope.outer
    for name in (*others, *scope.outer):
        scope.imports.pop(name, None)
    return scope


def _bind(node: ast.AST, scope: Scope, others: set[str]) -> None:
    """Note what a node binds that is no name of its own in the tree."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            scope.imports[bound] = (alias.name if alias.asname else bound, None, 0)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            scope.imports[alias.asname or alias.name] = (node.module or "", alias.name, node.level)
    elif isinstance(node, ast.NamedExpr):
        others.add(node.target.id)
    elif isinstance(node, ast.Global):
        scope.outer.update(node.names)
    else:
        name = getattr(node, "rest" if isinstance(node, ast.MatchMapping) else "name", None)
        if name:
            others.add(name)
