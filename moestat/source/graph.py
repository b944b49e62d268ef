"""Which definitions a piece of code depends on, at any depth.

The nodes are top-level definitions, and of each module that is imported the statements that do more than to bind
names. A node refers to others in the order in which its text does. :mod:`moestat.source.colours` makes a hash of them.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator

from moestat.source.bytecode import describe, imports_of
from moestat.source.canonical import Reference
from moestat.source.colours import Content
from moestat.source.definitions import LEFT_OUT, Module, Statement, is_setter
from moestat.source.find import code_of, text_of
from moestat.source.names import Names, NoCodeError, Node

NOT_IN_CODE_VERSION = ("*",)  # it looks at code and computes no number
_ACTING = frozenset({"setattr", "delattr", "exec", "eval", "open", "print", "input", "__import__"})
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})


class Graph(Names):
    """The definitions that some roots reach.

    Parameters
    ----------
    own : iterable of str
        Top-level packages that are own code even if they are installed.
    """

    def __init__(self, own: Iterable[str] = ()) -> None:
        super().__init__(frozenset(own))
        self.nodes: dict[Node, Content] = {}
        self.roots: list[tuple[str, Node]] = []
        self.loaded: set[str] = set()
        self._waiting: list[Node] = []
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
        node = self.lookup(module, first, set())
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
        parsed = self.module(module)
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
            parsed = self.module(name)
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
        parsed = self.module(source)
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

    # -- contents -------------------------------------------------------------------------------------------------

    def _content(self, node: Node) -> Content:
        kind, module, name = node
        if kind == "library":
            return Content(module)
        parsed = self.module(module)
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
            content.targets.append((self.import_(*parsed.imports[first], set()), ()))
        return content

    def _joined(self, module: str, statements: list[Statement]) -> Content:
        content = Content("\n".join(statement.text.text for statement in statements))
        for statement in statements:
            content.targets.extend(self.target(module, reference) for reference in statement.text.references)
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
            target = self.target(parsed.name, Reference("name", name))
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
            node, attributes = self.target(parsed.name, call)
            last = (node[1].rpartition(".")[2], *attributes)[-1]
            if node[0] != "library":
                if attributes or not self._is_plain_class(node):
                    return True
            elif last in _ACTING if node[1].startswith("builtins.") else is_setter(last) or node[1].startswith("?"):
                return True
        return any(self._tells_subclasses(self.target(parsed.name, base)[0]) for base in statement.bases)

    def _classes(self, node: Node) -> Iterator[tuple[Statement, list[Node]]]:
        """Yield the statements that define a class, with its bases."""
        parsed = self.module(node[1]) if node[0] == "definition" else None
        if parsed is not None:
            for statement in parsed.bindings[node[2]]:
                bases = [self.target(parsed.name, base)[0] for base in statement.bases]
                if node in bases and node[2] in parsed.imports:  # class Settings(Settings)
                    bases.append(self.import_(*parsed.imports[node[2]], set()))
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
