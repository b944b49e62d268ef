"""The canonical text of a piece of source: what it does, without how it is written and without where names come from.

Left out: positions, comments, docstrings and other constants that stand alone, annotations that Python does not
evaluate to a value anyone reads (those of functions without decorators, and of local variables), and the texts that
only describe a pydantic field. A name that the piece does not bind itself is replaced by a placeholder, and what it
refers to is listed, so that the text is the same whatever module the name is imported from, and in which style.
"""

from __future__ import annotations

import ast
import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

from moestat.source.scope import Scope, dotted, own_scope

if TYPE_CHECKING:
    from moestat.source.definitions import Module

_DESCRIBING = frozenset({"description", "title", "examples", "deprecated"})
_SKIPPED = frozenset({"ctx", "type_comment", "kind", "type_ignores"})
_WHOLE = frozenset({"globals", "eval", "exec"})
"""Built-in functions through which any name of the module may be read."""


class Reference(NamedTuple):
    """What is referred to: a ``name`` of the module or an ``import`` of (module, attribute), and attributes of it."""

    kind: str
    base: Any
    attributes: tuple[str, ...] = ()


class Text(NamedTuple):
    """A canonical text with one placeholder for each reference, and the modules that it imports when it runs."""

    text: str
    references: tuple[Reference, ...]
    loads: tuple[tuple[str, str | None], ...]


def canonical(node: ast.stmt, module: Module) -> Text:
    """Return the canonical text of a top-level statement (or a method) of a module."""
    writer = _Writer(module)
    writer.visit(node)
    return Text("".join(writer.parts), tuple(writer.references), tuple(writer.loads))


class _Writer:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.parts: list[str] = []
        self.references: list[Reference] = []
        self.loads: list[tuple[str, str | None]] = []
        self.scopes: list[Scope] = []

    def visit(self, node: Any) -> None:
        """Write a node, a list or a plain value."""
        if isinstance(node, list):
            self.parts.append("[")
            for item in node:
                self.visit(item)
            self.parts.append("]")
            return
        if not isinstance(node, ast.AST):
            self.parts.append(f"{node!r},")
            return
        special = _SPECIAL.get(type(node))
        if special is None:
            self.fields(node)
        else:
            special(self, node)

    def fields(self, node: ast.AST, *left_out: str) -> None:
        """Write a node field by field, without empty ones: the same on every version of Python."""
        self.parts.append(type(node).__name__ + "(")
        for name in node._fields:
            value = getattr(node, name, None)
            if value is None or value == [] or name in _SKIPPED or name in left_out:
                continue
            self.parts.append(name + "=")
            self.visit(value)
        self.parts.append(")")

    # -- names ----------------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> tuple[str, str | None, int] | bool | None:
        """Return the import that binds a local name, True for any other local name, None for one of the module."""
        for depth, scope in enumerate(reversed(self.scopes)):
            if scope.of_class and depth:
                continue  # the names of a class are not seen by its methods
            if name in scope.outer:
                return None
            if name in scope.imports:
                return scope.imports[name]
            if name in scope.names:
                return True
        return None

    def refer(self, name: str, attributes: tuple[str, ...] = ()) -> bool:
        """Write a placeholder for a name that is not local; say whether it was one."""
        bound = self.lookup(name)
        if bound is True:
            return False
        if bound is None:
            reference = Reference("name", name, attributes)
            if name in _WHOLE and name not in self.module.bindings:
                self.references.append(Reference("whole", None))
                self.parts.append("@")
        else:
            source, attribute, level = bound  # type: ignore[misc]
            if level:
                source = self.module.absolute(ast.ImportFrom(source or None, [], level))
            reference = Reference("import", (source, attribute), attributes)
        self.references.append(reference)
        self.parts.append("@")
        return True

    def name(self, node: ast.Name) -> None:
        """Write a name."""
        outside = self.refer(node.id)
        if not outside:
            self.parts.append(f"{node.id};")
            known = node.id in self.module.bindings or node.id in self.module.imports
            if known and isinstance(node.ctx, ast.Load) and self.scopes[-1].of_class:
                self.references.append(Reference("name", node.id))  # before the class binds it, it is the module's
                self.parts.append("@")

    def attribute(self, node: ast.Attribute) -> None:
        """Write ``a.b.c``, which may be a definition of another module."""
        chain = dotted(node)
        if chain is None or not self.refer(chain[0], chain[1:]):
            self.visit(node.value)
            self.parts.append(f".{node.attr};")

    def imports(self, node: ast.Import | ast.ImportFrom) -> None:
        """Note what an import loads; where it is only one of several bindings of a name, write what it refers to."""
        source = "" if isinstance(node, ast.Import) else self.module.absolute(node)
        for alias in node.names:
            target = (alias.name, None) if isinstance(node, ast.Import) else (source, alias.name)
            self.loads.append(target)
            bound = alias.asname or alias.name.partition(".")[0]
            if not self.scopes or bound not in self.scopes[-1].imports:
                self.references.append(Reference("import", target))
                self.parts.append(f"Import({bound}@)")

    # -- blocks ---------------------------------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Write a function."""
        self.parts.append(f"{type(node).__name__}({node.name};")
        self.visit(node.decorator_list)
        self.arguments(node.args, annotated=bool(node.decorator_list))
        if node.decorator_list and node.returns is not None:
            self.annotation(node.returns)
        scope = own_scope(node.body)
        self.block(scope, node.args, node.body)
        self.parts.append(")")

    def lambda_(self, node: ast.Lambda) -> None:
        """Write a lambda."""
        self.parts.append("Lambda(")
        self.arguments(node.args, annotated=False)
        self.block(own_scope([node.body]), node.args, [node.body])
        self.parts.append(")")

    def block(self, scope: Scope, args: ast.arguments, body: list[Any]) -> None:
        """Write the body of a function in its scope."""
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        for argument in every:
            if argument is not None:
                scope.names.add(argument.arg)
                scope.imports.pop(argument.arg, None)
        self.scopes.append(scope)
        for statement in body:
            self.visit(statement)
        self.scopes.pop()

    def arguments(self, args: ast.arguments, *, annotated: bool) -> None:
        """Write the parameters with their defaults, which belong to the scope outside."""
        for kind in ("posonlyargs", "args", "vararg", "kwonlyargs", "kwarg"):
            value = getattr(args, kind)
            for argument in value if isinstance(value, list) else [value] if value else []:
                self.parts.append(f"{kind} {argument.arg};")
                if annotated and argument.annotation is not None:
                    self.annotation(argument.annotation)
        for default in [*args.defaults, *args.kw_defaults]:
            self.parts.append("default=")
            self.visit(default)

    def annotation(self, node: ast.expr) -> None:
        """Write an annotation; one that is a text is read."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            with contextlib.suppress(SyntaxError):
                node = ast.parse(node.value, mode="eval").body
        self.parts.append(":")
        self.visit(node)

    def class_(self, node: ast.ClassDef) -> None:
        """Write a class."""
        self.parts.append(f"ClassDef({node.name};")
        self.visit(node.decorator_list)
        self.visit(node.bases)
        self.visit(node.keywords)
        scope = own_scope(node.body)
        scope.of_class = True
        self.scopes.append(scope)
        for statement in node.body:
            self.visit(statement)
        self.scopes.pop()
        self.parts.append(")")

    def comprehension(self, node: Any) -> None:
        """Write a comprehension, whose first iterable belongs to the scope outside."""
        self.parts.append(f"{type(node).__name__}(")
        first = node.generators[0]
        self.visit(first.iter)
        names: set[str] = set()
        for generator in node.generators:
            names |= own_scope([generator.target]).names
        self.scopes.append(Scope(names))
        for generator in node.generators:
            self.parts.append("async for" if generator.is_async else "for")
            self.visit(generator.target)
            if generator is not first:
                self.visit(generator.iter)
            self.visit(generator.ifs)
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                self.visit(getattr(node, name))
        self.scopes.pop()
        self.parts.append(")")

    # -- statements and calls -------------------------------------------------------------------------------------

    def expression(self, node: ast.Expr) -> None:
        """Write an expression that stands alone, if it does anything."""
        if not isinstance(node.value, ast.Constant):
            self.fields(node)

    def annotated(self, node: ast.AnnAssign) -> None:
        """Write ``name: annotation = value``; dataclasses and pydantic read the annotations of a class."""
        if not self.scopes or not self.scopes[-1].of_class:
            if node.value is not None:
                self.fields(ast.Assign([node.target], node.value))
            return
        self.fields(node, "annotation")
        self.annotation(node.annotation)

    def call(self, node: ast.Call) -> None:
        """Write a call, without what only describes a field; a module imported by a constant name is a reference."""
        name = dotted(node.func)
        self.parts.append("Call(")
        if name == ("vars",) and not node.args:
            self.references.append(Reference("whole", None))
            self.parts.append("@")
        self.visit(node.func)
        self.visit(node.args)
        described = name is not None and self.is_library(name, "pydantic", "Field")
        for keyword in node.keywords:
            if not (described and keyword.arg in _DESCRIBING):
                self.visit(keyword)
        self.parts.append(")")
        named = name is not None and (name == ("__import__",) or name[-1] == "import_module")
        if named and node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            self.references.append(Reference("import", (node.args[0].value, None)))
            self.parts.append("@")
            self.loads.append((node.args[0].value, None))

    def is_library(self, name: tuple[str, ...], library: str, attribute: str) -> bool:
        """Whether a dotted name is ``attribute`` of ``library``, imported at the top of the module."""
        if self.lookup(name[0]) is not None:
            return False
        bound = self.module.imports.get(name[0])
        return (bound == (library, attribute) and len(name) == 1) or (
            bound == (library, None) and name[1:] == (attribute,)
        )


_SPECIAL: dict[type, Any] = {
    ast.Name: _Writer.name,
    ast.Attribute: _Writer.attribute,
    ast.Import: _Writer.imports,
    ast.ImportFrom: _Writer.imports,
    ast.FunctionDef: _Writer.function,
    ast.AsyncFunctionDef: _Writer.function,
    ast.Lambda: _Writer.lambda_,
    ast.ClassDef: _Writer.class_,
    ast.ListComp: _Writer.comprehension,
    ast.SetComp: _Writer.comprehension,
    ast.DictComp: _Writer.comprehension,
    ast.GeneratorExp: _Writer.comprehension,
    ast.Expr: _Writer.expression,
    ast.AnnAssign: _Writer.annotated,
    ast.Call: _Writer.call,
}
