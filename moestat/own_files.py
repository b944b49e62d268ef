"""Code of the user's own: what is imported from outside the installed packages and this package, by whole files.

A file counts with all that it imports of such files, at any depth, without being imported to find out. It is hashed but
for line endings and blanks at the ends of lines; a symlink counts by where it leads.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

STUDIES = Path(__file__).resolve().parents[1] / "studies"
"""The studies that come with moestat; their code is not the user's."""
_PYTHON = (Path(sysconfig.get_path(key)).resolve() for key in ("stdlib", "platstdlib"))
_FOREIGN = {Path(__file__).resolve().parent, STUDIES, *_PYTHON}
_INSTALLED = {"site-packages", "dist-packages"}
_seen: dict[str, tuple[ModuleSpec, str]] = {}
"""Of modules that were seen imported: the hash of their file then, empty for one that is not the user's."""


class NoCodeError(ValueError):
    """The code of a module cannot be read."""


def hashes(*modules: str) -> dict[str, str]:
    """Return file -> hash of the user's own files behind modules, ``a/b.py``; NoCodeError if one cannot be read."""
    found = {name: _hash(name) for name in closure(modules, is_own)}
    missing = [name for name in modules if spec(name) is None] + [name for name in found if not found[name]]
    if missing:
        raise NoCodeError(f"the code of {missing[0]} cannot be read")
    return {f"{name.replace('.', '/')}.py": content for name, content in found.items()}


def closure(modules: Iterable[str], wanted: Callable[[str], bool]) -> list[str]:
    """Return those of some modules, and of what they import, that are wanted; what others import is not followed."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        if (name := waiting.pop()) not in found and wanted(name):
            found.add(name)
            waiting += imports(name)
    return sorted(found)


def imports(name: str) -> frozenset[str]:
    """Return what a module may import, by its source: modules, packages above them, and names that may be neither."""
    package = name if (found := spec(name)) and found.submodule_search_locations else name.rpartition(".")[0]
    return _imports(source(name), package)


@functools.lru_cache(maxsize=1024)
def _imports(text: str, package: str) -> frozenset[str]:
    names = [package]
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        nodes = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    parts = [name.split(".") for name in names if name]
    return frozenset(".".join(words[:end]) for words in parts for end in range(1, len(words) + 1))


def spec(name: str) -> ModuleSpec | None:
    """Return the spec of a module, the loaded one or that which would be loaded; None if none would."""
    parent, loaded = name.rpartition(".")[0], getattr(sys.modules.get(name), "__spec__", None)
    try:
        if loaded is not None or not parent:
            return loaded or importlib.util.find_spec(name)
        places = getattr(spec(parent), "submodule_search_locations", None)
        return None if places is None else PathFinder.find_spec(name, places)
    except (ImportError, ValueError, OSError):
        return None


def source(name: str) -> str:
    """Return the text of a module's file, empty where there is none."""
    return (_content(name) or b"").decode(errors="replace")


def is_own(name: str) -> bool:
    """Whether a module has a file that belongs neither to this package nor to Python or an installed one."""
    found = spec(name)
    place = Path(found.origin).resolve() if found and found.has_location and found.origin else None
    return place is not None and _INSTALLED.isdisjoint(place.parts) and _FOREIGN.isdisjoint(place.parents)


def remember() -> None:
    """Keep the hashes of the own modules that were imported since the last call: an edit later is of other code."""
    for name, module in list(sys.modules.items()):
        found = getattr(module, "__spec__", None)
        if found is not None and (name not in _seen or _seen[name][0] is not found):  # a reload makes a new spec
            _seen[name] = found, _hash(name) if is_own(name) else ""


def edited(files: Iterable[str]) -> list[str]:
    """Return those of the files of :func:`hashes` that were edited after this process had imported them."""
    remember()
    modules = {file: file.removesuffix(".py").replace("/", ".") for file in files}
    return [file for file, name in modules.items() if name in sys.modules and _seen[name][1] != _hash(name)]


def _hash(name: str) -> str:
    if (content := _content(name)) is None:
        return ""
    return hashlib.sha256(b"\n".join(line.rstrip() for line in content.rstrip().splitlines())).hexdigest()[:16]


def _content(name: str) -> bytes | None:
    try:
        return Path(getattr(spec(name), "origin", None) or "").read_bytes()
    except OSError:
        return None
