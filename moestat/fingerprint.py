"""Which code computed a result: a hash of the definitions that it really depends on, wherever they stand.

The source is read, nothing is imported for it. From the functions that are called (``run`` of an experiment, say) every
name is followed to its definition, at any depth, through imports of any style and in any place; what a module does when
it is imported, beside binding names, counts as soon as it is imported. The hash covers the syntax trees without
comments and docstrings, and which definition refers to which: no name of a module enters, so moving or renaming one
changes nothing, and neither does a definition that is not reached. What is the standard library is left out; of NumPy,
SciPy and PyTorch the major versions count, of other libraries that a user's own code uses their versions.

What only describes and moves numbers and computes none (cells, the cache, this module) says so itself, by the names in
``NOT_IN_CODE_VERSION``: a change there must not make results stale. Not seen are names that are put together at run
time (``importlib.import_module(f"a.{b}")``), methods of objects that come from elsewhere, and data files.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from moestat import garbage
from moestat.source import colours
from moestat.source.find import provided
from moestat.source.graph import Graph
from moestat.source.names import NoCodeError

NOT_IN_CODE_VERSION = ("*",)
LIBRARIES = ("numpy", "scipy", "torch")
"""Libraries of which the major version counts."""

CONTAINERS = frozenset({"pydantic", "xarray"})
"""Libraries that the contract of an experiment asks for, of which no version counts."""

WHOLE = "all definitions"
"""The entry that decides whether two versions are equal; the others say where they differ."""

_OURS = __name__.partition(".")[0]
_VERSION = " (version)"
_OLDER = "the code was recorded in the way of an older moestat, which cannot be compared"


def fingerprint(module: str, names: Iterable[str], given: Iterable[Callable[..., Any]] = ()) -> dict[str, str]:
    """Return the version of the code behind some definitions of a module.

    Parameters
    ----------
    module : str
        Import path.
    names : iterable of str
        Functions or classes; those that the module does not have are passed over.
    given : iterable of callable
        Functions and methods that come to them from elsewhere, and are called by them.

    Returns
    -------
    dict
        ``WHOLE`` -> the hash that decides; module -> hash of what is reached in it; library -> version.

    Raises
    ------
    NoCodeError
        If the code of the module, or of one that it imports, cannot be read.
    """
    with garbage.left():
        graph = Graph(own=[module.partition(".")[0]])
        present = [graph.root(module, name) for name in names]
        if not any(present):
            raise NoCodeError(f"{module} has none of the names {', '.join(names)}")
        return _version(graph, given)


def of(*functions: Callable[..., Any]) -> dict[str, str]:
    """Return the version of the code behind functions and classes; see :func:`fingerprint`."""
    with garbage.left():
        return _version(Graph(own=[function.__module__.partition(".")[0] for function in functions]), functions)


def _version(graph: Graph, functions: Iterable[Callable[..., Any]]) -> dict[str, str]:
    for function in functions:
        if not graph.root(function.__module__, function.__qualname__):
            raise NoCodeError(f"{function.__module__} has no {function.__qualname__} at its top level")
    modules, used = colours.modules(graph.nodes), colours.libraries(graph.nodes) | {"numpy", "scipy"}
    libraries = {name: _major(name) for name in LIBRARIES if name in used}
    libraries |= _others(graph)
    releases = [f"{name} {number}" for name, number in sorted(libraries.items())]
    whole = colours.digest(graph.nodes, graph.roots, *releases)
    return {WHOLE: whole[:32], **dict(sorted(modules.items())), **libraries}


def modules_of(code: Mapping[str, str]) -> list[str]:
    """Return the modules that a version covers."""
    return [name for name in code if name not in (WHOLE, *LIBRARIES) and not name.endswith(_VERSION)]


def digest(code: Mapping[str, str]) -> str:
    """Return one short hash of a version."""
    if WHOLE in code:
        return code[WHOLE][:16]
    return hashlib.sha256(repr(sorted(code.items())).encode()).hexdigest()[:16]  # as older versions of moestat did


def equal(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two versions are the same, whatever their modules are called."""
    return one.get(WHOLE, one) == other.get(WHOLE, other)


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Say in which modules and library versions two versions differ; nothing if they are equal."""
    if equal(old, new):
        return []
    if (WHOLE in old) != (WHOLE in new):
        return [_OLDER]
    gone = {name: old[name] for name in old.keys() - new.keys()}
    come = {name: new[name] for name in new.keys() - old.keys()}
    moved = set(gone.values()) & set(come.values())  # under another name, unchanged
    lines = []
    for name in sorted((old.keys() | new.keys()) - {WHOLE}):
        before, after = old.get(name), new.get(name)
        if before == after or (before or after) in moved:
            continue
        if name in LIBRARIES or name.endswith(_VERSION):
            lines.append(f"{name.removesuffix(_VERSION)} {before or 'absent'} -> {after or 'absent'}")
        elif before is not None and after is not None:
            lines.append(f"the code of {name}")
        else:
            lines.append(f"{name} is new" if before is None else f"{name} is gone")
    return lines or ["which definitions the code refers to"]


@functools.cache
def _major(library: str) -> str:
    try:
        return version(library).partition(".")[0]
    except PackageNotFoundError:  # torch is optional
        return "absent"


def _others(graph: Graph) -> dict[str, str]:
    """Return the versions of the libraries that a user's own code uses, beside those above."""
    table = {}
    for top in colours.libraries(graph.nodes, without=_OURS) - set(LIBRARIES) - CONTAINERS:
        place = graph.finder.place(top)
        if place is not None:
            table[top + _VERSION] = ", ".join(sorted(provided(top, str(place.parent))))
    return table
