"""What a module's source binds at top level, statement by statement, and what runs when it is imported."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from moestat.source.canonical import Reference, Text, canonical
from moestat.source.scope import dotted, own_scope

LEFT_OUT = "NOT_IN_CODE_VERSION"
"""A module binds this name to those of its names that compute no number, ``("*",)`` for all of them."""

_SETTER = re.compile(r"_?(set|(seed|manual_seed|register|use|enable|disable|install|patch|update|exec|eval)(_|$))")
"""Functions of libraries that change what others do are called so; all others are taken for plain values."""


@dataclass
class Statement:
    """One top-level statement."""

    node: ast.stmt
    source: Module

    @cached_property
    def text(self) -> Text:
        """Its canonical text and what it refers to."""
        return canonical(self.node, self.source)

    @cached_property
    def always(self) -> bool:
        """Whether it does more than to bind names, whatever it calls."""
        node = self.node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return isinstance(node, ast.ClassDef) and bool(node.keywords)
        if isinstance(node, ast.Assign):
            return not all(_plain(target) for target in node.targets)
        if isinstance(node, ast.AnnAssign):
            return not isinstance(node.target, ast.Name)
        return type(node).__name__ != "TypeAlias"

    @cached_property
    def calls(self) -> list[Reference | None]:
        """What it calls when it runs, beside the bodies of functions; None for what cannot be named."""
        references: list[Reference | None] = []
        for node in _now(self.node):
            called = [node.func] if isinstance(node, ast.Call) else getattr(node, "decorator_list", ())
            for function in called:
                name = dotted(function)
                if name is not None:
                    references.append(Reference("name", name[0], name[1:]))
                elif isinstance(function, ast.Subscript) or is_setter(getattr(function, "attr", "")):
                    references.append(None)
        return references

    @cached_property
    def bases(self) -> list[Reference]:
        """The base classes of a class."""
        names = [dotted(base) for base in getattr(self.node, "bases", ())]
        return [Reference("name", name[0], name[1:]) for name in names if name is not None]

    def member(self, name: str) -> Statement | None:
        """Return a method of a class."""
        for node in getattr(self.node, "body", ()):
            if getattr(node, "name", None) == name:
                return Statement(node, self.source)
        return None


@dataclass
class Module:
    """The tables of one module; ``imports`` holds (module, attribute or None) of what it imports."""

    name: str
    package: str
    statements: list[Statement] = field(default_factory=list)
    bindings: dict[str, list[Statement]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    loads: list[tuple[str, str | None]] = field(default_factory=list)
    left_out: frozenset[str] = frozenset()

    def absolute(self, node: ast.ImportFrom) -> str:
        """Return the module that a ``from`` import names."""
        if not node.level:
            return node.module or ""
        parts = self.package.split(".")
        return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])

    @cached_property
    def text(self) -> str:
        """The canonical text of everything in it."""
        return repr((sorted(self.imports.items()), self.stars, [statement.text for statement in self.statements]))


def is_setter(name: str) -> bool:
    """Whether a function with this name is believed to change the state of its library."""
    return _SETTER.match(name) is not None


@functools.lru_cache(maxsize=1024)
def parse(text: bytes, name: str, is_package: bool) -> Module:
    """Read the source of a module.

    Raises
    ------
    SyntaxError, ValueError
        If it is no Python.
    """
    module = Module(name, name if is_package else name.rpartition(".")[0])
    for node in _statements(ast.parse(text).body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound, _, rest = alias.name.partition(".")
                module.imports[alias.asname or bound] = (alias.name if alias.asname or not rest else bound, None)
                module.loads.append((alias.name, None))
        elif isinstance(node, ast.ImportFrom):
            source = module.absolute(node)
            for alias in node.names:
                module.loads.append((source, alias.name))
                if alias.name == "*":
                    module.stars.append(source)
                else:
                    module.imports[alias.asname or alias.name] = (source, alias.name)
        elif node is not None:
            statement = Statement(node, module)
            module.statements.append(statement)
            module.stars.extend(
                module.absolute(inner) for inner in _now(node) if isinstance(inner, ast.ImportFrom) and _star(inner)
            )
            for bound in own_scope([node]).names:
                module.bindings.setdefault(bound, []).append(statement)
    module.left_out = _left_out(module)
    return module


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module is imported, without those that do nothing."""
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.If) and _never(node.test):
            yield from _statements(node.orelse)
        elif not isinstance(node, ast.Pass):
            yield node


def _never(test: ast.expr) -> bool:
    """Whether a condition is false in an imported module: ``TYPE_CHECKING``, ``__name__ == "__main__"``."""
    name = dotted(test)
    if name is not None:
        return name[-1] == "TYPE_CHECKING"
    return isinstance(test, ast.Compare) and dotted(test.left) == ("__name__",)


def _now(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are evaluated when a statement runs: not the bodies of functions."""
    waiting: list[ast.AST] = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            defaults = [default for default in node.args.kw_defaults if default is not None]
            waiting.extend([*node.decorator_list, *node.args.defaults, *defaults])
        elif not isinstance(node, ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def _star(node: ast.ImportFrom) -> bool:
    return any(alias.name == "*" for alias in node.names)


def _plain(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(_plain(part) for part in target.elts)
    return isinstance(target.value if isinstance(target, ast.Starred) else target, ast.Name)


def _left_out(module: Module) -> frozenset[str]:
    for statement in module.bindings.get(LEFT_OUT, ()):
        if isinstance(statement.node, ast.Assign):
            return frozenset(ast.literal_eval(statement.node.value))
    return frozenset()
