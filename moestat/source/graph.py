"""Which definitions a piece of code depends on, and a hash of them that no name of a module enters.

The nodes are top-level definitions, and of each module that is imported the statements that do more than to bind
names. A node refers to others in the order in which its text does. Its colour is refined, first from its text, then
from its colour and the colours it refers to, until no more nodes can be told apart; two programs whose roots reach
equal sets of final colours are the same program, recursion included, however their modules are called.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from moestat.source.bytecode import describe, imports_of
from moestat.source.canonical import Reference
from moestat.source.definitions import LEFT_OUT, Module, Statement, is_setter, parse
from moestat.source.find import BUILTINS, STANDARD, Finder, code_of, text_of

NOT_IN_CODE_VERSION = ("*",)  # it looks at code and computes no number
Node = tuple[str, str, str]
"""(kind, module, name); kinds: definition, effects, module (all of it), opaque (no source), library, absent."""

_ACTING = frozenset({"setattr", "delattr", "exec", "eval", "open", "print", "input", "__import__"})
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})


class NoCodeError(ValueError):
    """The code that a version is asked for cannot be read."""


@dataclass
class Content:
    """What a node contributes by itself, and the nodes that it refers to with what is read of them."""

    text: str
    targets: list[tuple[Node, tuple[str, ...]]] = field(default_factory=list)


class Graph:
    """The definitions that some roots reach.

    Parameters
    ----------
    own : iterable of str
        Top-level packages that are own code even if they are installed.
    """

    def __init__(self, own: Iterable[str] = ()) -> None:
        self.finder = Finder(frozenset(own))
        self.nodes: dict[Node, Content] = {}
        self.roots: list[tuple[str, Node]] = []
        self.loaded: set[str] = set()
        self._waiting: list[Node] = []
        self._modules: dict[str, Module | None] = {}
        self._acting: dict[str, list[Statement]] = {}

    # -- building -------------------------------------------------------------------------------------------------

    def root(self, module: str, name: str) -> bool:
        """Add a definition, or a method as ``Class.method``; return whether there is one.

        Raises
        ------
        NoCodeError
            If the module is no own code, or has no code that can be read.
        """
        if not self.finder.is_own(module):
            raise NoCodeError(f"{module} is part of the standard library or is not found")
        first, _, method = name.partition(".")
        node = self._lookup(module, first, set())
        if node is None:
            return False
        if method and node[0] == "definition":
            node = (node[0], node[1], f"{node[2]}.{method}")
        self.load(module)
        self.roots.append((name, node))
        self._reach(node)
        self._work()
        return True

    def left_out(self, module: str) -> frozenset[str]:
        """Return the names of a module that compute no number, as it says itself."""
        parsed = self._module(module)
        return frozenset() if parsed is None else parsed.left_out

    def load(self, module: str) -> None:
        """Count what runs when a module is imported, and all that it imports."""
        waiting = [module]
        while waiting:
            name = waiting.pop()
            if not name or name in self.loaded or not self.finder.is_own(name):
                continue
            self.loaded.add(name)
            waiting.append(name.rpartition(".")[0])
            parsed = self._module(name)
            if parsed is None:
                self._reach(("opaque", name, ""))
                continue
            for source, attribute in parsed.loads:
                waiting.extend(self._imported(source, attribute))
            if "*" not in parsed.left_out and self._effects(parsed):
                self._reach(("effects", name, ""))

    def _imported(self, source: str, attribute: str | None) -> list[str]:
        """The modules that ``import source`` or ``from source import attribute`` loads."""
        if not self.finder.is_own(source):
            return []
        parsed = self._module(source)
        if attribute is None or attribute == "*" or parsed is None:
            return [source]
        known = attribute in parsed.bindings or attribute in parsed.imports
        return [source] if known else [source, f"{source}.{attribute}"]

    def _work(self) -> None:
        while self._waiting:
            node = self._waiting.pop()
            self.nodes[node] = content = self._content(node)
            for target, _ in content.targets:
                self._reach(target)

    def _reach(self, node: Node) -> None:
        if node not in self.nodes:
            self.nodes[node] = Content("")
            self._waiting.append(node)

    def _module(self, name: str) -> Module | None:
        """Return the tables of an own module, None where there is no source."""
        if name not in self._modules:
            spec = self.finder.spec(name)
            assert spec is not None
            if spec.loader is None or (spec.origin is None and spec.submodule_search_locations is not None):
                self._modules[name] = Module(name, name)  # a namespace package
                return self._modules[name]
            try:
                text = text_of(spec)
                self._modules[name] = (
                    None if text is None else parse(text, name, spec.submodule_search_locations is not None)
                )
            except OSError as error:
                raise NoCodeError(f"the code of {name} cannot be read ({error})") from None
            except (SyntaxError, ValueError):
                self._modules[name] = None
        return self._modules[name]

    # -- names ----------------------------------------------------------------------------------------------------

    def _lookup(self, module: str, name: str, seen: set[tuple[str, str]]) -> Node | None:
        """Return what a module binds a name to, through imports."""
        if (module, name) in seen:
            return None
        seen.add((module, name))
        parsed = self._module(module)
        if parsed is None:
            return ("opaque", module, "")
        if name in parsed.bindings:
            return ("definition", module, name)
        if name in parsed.imports:
            source, attribute = parsed.imports[name]
            return self._import(source, attribute, seen)
        latest = list(reversed(parsed.stars))
        for star in sorted(latest, key=lambda source: not self.finder.is_own(source)):
            if (node := self._member(star, name, seen)) is not None:
                return node
        return None

    def _import(self, source: str, attribute: str | None, seen: set[tuple[str, str]]) -> Node:
        if attribute is None or attribute == "*":
            return ("module", source, "") if self.finder.is_own(source) else self._foreign(source)
        node = self._member(source, attribute, seen)
        return node if node is not None else ("module", source, "")

    def _member(self, module: str, name: str, seen: set[tuple[str, str]]) -> Node | None:
        """Return the attribute of a module, None if it cannot be told."""
        if not self.finder.is_own(module):
            return self._foreign(f"{module}.{name}")
        node = self._lookup(module, name, seen)
        if node is None and self.finder.is_own(f"{module}.{name}"):
            return ("module", f"{module}.{name}", "")
        if node is None and self._lookup(module, "__getattr__", set()) is not None:
            return self._lookup(module, "__getattr__", set())
        return node

    def _foreign(self, name: str) -> Node:
        return ("library", name, "")

    def _target(self, module: str, reference: Reference) -> tuple[Node, tuple[str, ...]]:
        """Return the node that a reference of a module means, and the attributes that are read of it."""
        if reference.kind == "whole":
            return ("module", module, ""), ()
        attributes = reference.attributes
        if reference.kind == "import":
            source, attribute = reference.base
            node: Node | None = self._import(source, attribute, set())
        else:
            node = self._lookup(module, reference.base, set())
        if node is None:
            where = "builtins" if reference.base in BUILTINS else "?"
            return ("library", f"{where}.{reference.base}", ""), attributes
        while attributes and node[0] == "module":
            member = self._member(node[1], attributes[0], set())
            if member is None:
                break
            node, attributes = member, attributes[1:]
        if node[0] == "library":
            node, attributes = self._foreign(".".join((node[1], *attributes))), ()
        if node[0] == "definition":
            parsed = self._module(node[1])
            if parsed is not None and not parsed.left_out.isdisjoint(("*", node[2])):
                return ("library", f"left out: {node[2]}", ""), attributes
        return node, attributes

    # -- contents -------------------------------------------------------------------------------------------------

    def _content(self, node: Node) -> Content:
        kind, module, name = node
        if kind == "library":
            return Content(module)
        parsed = self._module(module)
        if kind == "opaque" or parsed is None:
            return self._opaque(module)
        if kind == "module":
            return self._everything(parsed)
        if kind == "effects":
            return self._joined(module, self._effects(parsed))
        first, _, method = name.partition(".")
        statements = parsed.bindings[first]
        if method:
            statements = [
                definition for statement in statements if (definition := statement.member(method)) is not None
            ]
        content = self._joined(module, statements)
        if first in parsed.imports:  # a name that is imported and bound again, maybe to what derives from it
            content.targets.append((self._import(*parsed.imports[first], set()), ()))
        return content

    def _joined(self, module: str, statements: list[Statement]) -> Content:
        content = Content("\n".join(statement.text.text for statement in statements))
        for statement in statements:
            content.targets.extend(self._target(module, reference) for reference in statement.text.references)
            for source, attribute in statement.text.loads:
                for loaded in self._imported(source, attribute):
                    self.load(loaded)
        return content

    def _everything(self, parsed: Module) -> Content:
        """All that can be read of a module whose names are not written down where it is used."""
        if "*" in parsed.left_out:
            return Content("left out")
        self.load(parsed.name)
        names = sorted((parsed.bindings.keys() - parsed.left_out) - {LEFT_OUT})
        targets: list[tuple[Node, tuple[str, ...]]] = [(("definition", parsed.name, name), ()) for name in names]
        for name in sorted(parsed.imports):
            target = self._target(parsed.name, Reference("name", name))
            if target[0][0] == "definition":
                names.append(name)
                targets.append(target)
        for star in parsed.stars:
            if self.finder.is_own(star):
                targets.append((("module", star, ""), ()))
        return Content(" ".join(names), targets)

    def _opaque(self, module: str) -> Content:
        spec = self.finder.spec(module)
        assert spec is not None
        text = text_of(spec)
        code = text if text is not None else code_of(spec)
        if code is None:
            raise NoCodeError(f"the code of {module} cannot be read (it has neither source nor bytecode)")
        if isinstance(code, bytes):
            return Content(hashlib.sha256(code).hexdigest())
        package = module if spec.submodule_search_locations is not None else module.rpartition(".")[0]
        content = Content(describe(code))
        for source in sorted(imports_of(code, package)):
            if self.finder.is_own(source) and source != module:
                self.load(source)
                content.targets.append((("module", source, ""), ()))
        return content

    def _effects(self, parsed: Module) -> list[Statement]:
        """The statements of a module that do more than to bind names."""
        if parsed.name not in self._acting:
            self._acting[parsed.name] = [s for s in parsed.statements if s.always or self._acts(parsed, s)]
        return self._acting[parsed.name]

    def _acts(self, parsed: Module, statement: Statement) -> bool:
        """Whether a statement that binds names calls something that may do more than to return a value."""
        for call in statement.calls:
            if call is None:
                return True
            node, attributes = self._target(parsed.name, call)
            last = (node[1].rpartition(".")[2], *attributes)[-1]
            if node[0] != "library":
                if attributes or not self._is_plain_class(node):
                    return True
            elif last in _ACTING if node[1].startswith("builtins.") else is_setter(last) or node[1].startswith("?"):
                return True
        return any(self._tells_subclasses(self._target(parsed.name, base)[0]) for base in statement.bases)

    def _classes(self, node: Node) -> Iterator[tuple[Statement, list[Node]]]:
        """Yield the statements that define a class, with its bases."""
        parsed = self._module(node[1]) if node[0] == "definition" else None
        if parsed is not None:
            for statement in parsed.bindings[node[2]]:
                bases = [self._target(parsed.name, base)[0] for base in statement.bases]
                if node in bases and node[2] in parsed.imports:  # class Settings(Settings)
                    bases.append(self._import(*parsed.imports[node[2]], set()))
                yield statement, [base for base in bases if base != node]

    def _is_plain_class(self, node: Node) -> bool:
        """Whether a call of a node only makes an object, as that of a dataclass does."""
        classes = list(self._classes(node))
        return bool(classes) and all(
            isinstance(statement.node, ast.ClassDef)
            and not any(statement.member(name) for name in _CONSTRUCTORS)
            and all(base[0] == "library" or self._is_plain_class(base) for base in bases)
            for statement, bases in classes
        )

    def _tells_subclasses(self, node: Node) -> bool:
        return any(
            statement.member("__init_subclass__") is not None or any(self._tells_subclasses(base) for base in bases)
            for statement, bases in self._classes(node)
        )

    # -- hashing --------------------------------------------------------------------------------------------------

    def digest(self, *more: str) -> str:
        """Return the hash of everything that the roots reach."""
        colours = {node: _hash(content.text) for node, content in self.nodes.items()}
        classes = 0
        while True:
            colours = {
                node: _hash(colours[node], *(".".join((colours[target], *rest)) for target, rest in content.targets))
                for node, content in self.nodes.items()
            }
            if len(set(colours.values())) == classes:
                break
            classes = len(set(colours.values()))
        effects = sorted(colours[node] for node in self.nodes if node[0] in ("effects", "opaque"))
        roots = sorted(f"{name} {colours[node]}" for name, node in self.roots)
        return _hash("roots", *roots, "effects", *effects, "all", *sorted(set(colours.values())), "more", *more)

    def modules(self) -> dict[str, str]:
        """Return module -> short hash of what is reached in it by itself, for telling where a change is."""
        parts: dict[str, list[str]] = {}
        for node in sorted(self.nodes):
            kind, module, name = node
            if kind == "library":
                continue
            content = self.nodes[node]
            used = [
                ".".join((target[1] if target[0] == "library" else target[2] or target[0], *rest))
                for target, rest in content.targets
            ]
            parts.setdefault(module, []).append(_hash(kind, name, content.text, *used))
        return {module: _hash(*hashes)[:12] for module, hashes in parts.items()}

    def libraries(self, *, without: str = "") -> set[str]:
        """Return the top-level modules of the libraries that are used, but for the standard library.

        What is used in the top-level package ``without`` alone does not count.
        """
        tops = {
            target[1].partition(".")[0]
            for (_, module, _), content in self.nodes.items()
            for target, _ in content.targets
            if target[0] == "library" and module.partition(".")[0] != without
        }
        return {top for top in tops if top.isidentifier() and top not in STANDARD and top != "builtins"}


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()
