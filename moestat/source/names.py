"""What a name in a module means: the definition, module or library it is bound to, through imports of any style."""

from __future__ import annotations

from moestat.source.canonical import Reference
from moestat.source.definitions import Module, parse
from moestat.source.find import BUILTINS, Finder, text_of

NOT_IN_CODE_VERSION = ("*",)  # it looks at code and computes no number
Node = tuple[str, str, str]
"""(kind, module, name); kinds: definition, effects, module (all of it), opaque (no source), library, absent."""


class NoCodeError(ValueError):
    """The code that a version is asked for cannot be read."""


class Names:
    """The names of own modules, read from their source as they are asked for.

    Parameters
    ----------
    own : collection of str
        Top-level packages that are own code even if they are installed.
    """

    def __init__(self, own: frozenset[str] = frozenset()) -> None:
        self.finder = Finder(own)
        self._parsed: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """Return the tables of an own module, None where there is no source."""
        if name not in self._parsed:
            spec = self.finder.spec(name)
            assert spec is not None
            if spec.loader is None or (spec.origin is None and spec.submodule_search_locations is not None):
                self._parsed[name] = Module(name, name)  # a namespace package
                return self._parsed[name]
            try:
                text = text_of(spec)
                self._parsed[name] = (
                    None if text is None else parse(text, name, spec.submodule_search_locations is not None)
                )
            except OSError as error:
                raise NoCodeError(f"the code of {name} cannot be read ({error})") from None
            except (SyntaxError, ValueError):
                self._parsed[name] = None
        return self._parsed[name]

    def lookup(self, module: str, name: str, seen: set[tuple[str, str]]) -> Node | None:
        """Return what a module binds a name to, through imports."""
        if (module, name) in seen:
            return None
        seen.add((module, name))
        parsed = self.module(module)
        if parsed is None:
            return ("opaque", module, "")
        if name in parsed.bindings:
            return ("definition", module, name)
        if name in parsed.imports:
            source, attribute = parsed.imports[name]
            return self.import_(source, attribute, seen)
        latest = list(reversed(parsed.stars))
        for star in sorted(latest, key=lambda source: not self.finder.is_own(source)):
            if (node := self.member(star, name, seen)) is not None:
                return node
        return None

    def import_(self, source: str, attribute: str | None, seen: set[tuple[str, str]]) -> Node:
        """Return what an import binds: an attribute of a module, or a module."""
        if attribute is None or attribute == "*":
            return ("module", source, "") if self.finder.is_own(source) else _foreign(source)
        node = self.member(source, attribute, seen)
        return node if node is not None else ("module", source, "")

    def member(self, module: str, name: str, seen: set[tuple[str, str]]) -> Node | None:
        """Return the attribute of a module, None if it cannot be told."""
        if not self.finder.is_own(module):
            return _foreign(f"{module}.{name}")
        node = self.lookup(module, name, seen)
        if node is None and self.finder.is_own(f"{module}.{name}"):
            return ("module", f"{module}.{name}", "")
        if node is None and self.lookup(module, "__getattr__", set()) is not None:
            return self.lookup(module, "__getattr__", set())
        return node

    def target(self, module: str, reference: Reference) -> tuple[Node, tuple[str, ...]]:
        """Return the node that a reference of a module means, and the attributes that are read of it."""
        if reference.kind == "whole":
            return ("module", module, ""), ()
        attributes = reference.attributes
        if reference.kind == "import":
            source, attribute = reference.base
            node: Node | None = self.import_(source, attribute, set())
        else:
            node = self.lookup(module, reference.base, set())
        if node is None:
            where = "builtins" if reference.base in BUILTINS else "?"
            return ("library", f"{where}.{reference.base}", ""), attributes
        while attributes and node[0] == "module":
            member = self.member(node[1], attributes[0], set())
            if member is None:
                break
            node, attributes = member, attributes[1:]
        if node[0] == "library":
            node, attributes = _foreign(".".join((node[1], *attributes))), ()
        if node[0] == "definition":
            parsed = self.module(node[1])
            if parsed is not None and not parsed.left_out.isdisjoint(("*", node[2])):
                return ("library", f"left out: {node[2]}", ""), attributes
        return node, attributes


def _foreign(name: str) -> Node:
    return ("library", name, "")
