"""Hashes of the definitions that some roots reach, in which no name of a module enters.

The colour of a node is refined, first from its text, then from its colour and the colours it refers to, until no more
nodes can be told apart; two programs whose roots reach equal sets of final colours are the same program, recursion
included, however their modules are called.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from moestat.source.find import STANDARD
from moestat.source.names import Node

NOT_IN_CODE_VERSION = ("*",)  # it looks at code and computes no number


@dataclass
class Content:
    """What a node contributes by itself, and the nodes that it refers to with what is read of them."""

    text: str
    targets: list[tuple[Node, tuple[str, ...]]] = field(default_factory=list)


def digest(nodes: Mapping[Node, Content], roots: Sequence[tuple[str, Node]], *more: str) -> str:
    """Return the hash of everything that the roots reach."""
    colours = {node: _hash(content.text) for node, content in nodes.items()}
    classes = 0
    while True:
        colours = {
            node: _hash(colours[node], *(".".join((colours[target], *rest)) for target, rest in content.targets))
            for node, content in nodes.items()
        }
        if len(set(colours.values())) == classes:
            break
        classes = len(set(colours.values()))
    effects = sorted(colours[node] for node in nodes if node[0] in ("effects", "opaque"))
    named = sorted(f"{name} {colours[node]}" for name, node in roots)
    return _hash("roots", *named, "effects", *effects, "all", *sorted(set(colours.values())), "more", *more)


def modules(nodes: Mapping[Node, Content]) -> dict[str, str]:
    """Return module -> short hash of what is reached in it by itself, for telling where a change is."""
    parts: dict[str, list[str]] = {}
    for node in sorted(nodes):
        kind, module, name = node
        if kind == "library":
            continue
        content = nodes[node]
        used = [
            ".".join((target[1] if target[0] == "library" else target[2] or target[0], *rest))
            for target, rest in content.targets
        ]
        parts.setdefault(module, []).append(_hash(kind, name, content.text, *used))
    return {module: _hash(*hashes)[:12] for module, hashes in parts.items()}


def libraries(nodes: Mapping[Node, Content], *, without: str = "") -> set[str]:
    """Return the top-level modules of the libraries that are used, but for the standard library.

    What is used in the top-level package ``without`` alone does not count.
    """
    tops = {
        target[1].partition(".")[0]
        for (_, module, _), content in nodes.items()
        for target, _ in content.targets
        if target[0] == "library" and module.partition(".")[0] != without
    }
    return {top for top in tops if top.isidentifier() and top not in STANDARD and top != "builtins"}


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()
