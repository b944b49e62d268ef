"""Code of the user's own: what is imported from outside the installed packages and this package, by whole files.

A file counts with all that it imports of such files, at any depth and in any place. It is hashed as it stands on the
disk, but for line endings and blanks at the ends of lines; a symlink counts by where it leads. Nothing is imported to
find out.
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

_FOREIGN = (
    Path(__file__).resolve().parent,
    *(Path(sysconfig.get_path(key)).resolve() for key in ("stdlib", "platstdlib")),
)
_INSTALLED = {"site-packages", "dist-packages"}
_seen: dict[str, tuple[ModuleSpec, str]] = {}
"""Of modules that were seen imported: the hash of their file then, empty for one that is not the user's."""


class NoCodeError(ValueError):
    """The code of a module cannot be read."""


def hashes(*modules: str) -> dict[str, str]:
    """Return file -> hash of the user's own files behind some modules; a file is named by its module: ``a/b.py``.

    Raises
    ------
    NoCodeError
        If there is no such module, or the code of one cannot be read.
    """
    for name in modules:
        if spec(name) is None:
            raise NoCodeError(f"there is no module {name} with a file")
    return {f"{name.replace('.', '/')}.py": _hash(name) for name in closure(modules, is_own)}


def module_of(file: str) -> str:
    """Return the module that a file of :func:`hashes` is."""
    return file.removesuffix(".py").replace("/", ".")


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
    found = spec(name)
    is_package = found is not None and found.submodule_search_locations is not None
    return _imports(source(name) or "", name if is_package else name.rpartition(".")[0])


@functools.lru_cache(maxsize=1024)
def _imports(text: str, package: str) -> frozenset[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return frozenset()
    names = [package]
    for node in ast.walk(tree):
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
    loaded: ModuleSpec | None = getattr(sys.modules.get(name), "__spec__", None)
    if loaded is not None:
        return loaded
    parent = name.rpartition(".")[0]
    try:
        if not parent:
            return importlib.util.find_spec(name)
        above = spec(parent)
        places = None if above is None else above.submodule_search_locations
        return None if places is None else PathFinder.find_spec(name, places)
    except (ImportError, ValueError, OSError):
        return None


def source(name: str) -> str | None:
    """Return the source of a module, None where there is none (an extension, bytecode, a folder)."""
    get_source = getattr(getattr(spec(name), "loader", None), "get_source", None)
    try:
        text = get_source(name) if get_source is not None else None
    except (ImportError, OSError):
        return None
    return text if isinstance(text, str) else None


def is_own(name: str) -> bool:
    """Whether a module has a file that belongs neither to this package nor to Python or an installed one."""
    found = spec(name)
    if found is None or not found.has_location or not found.origin:
        return False
    place = Path(found.origin).resolve()
    return _INSTALLED.isdisjoint(place.parts) and not any(folder in place.parents for folder in _FOREIGN)


def _hash(name: str) -> str:
    found = spec(name)
    try:  # source, bytecode, or an extension
        content: bytes = found.loader.get_data(found.origin)  # type: ignore[union-attr]
    except (AttributeError, OSError) as error:
        raise NoCodeError(f"the code of {name} cannot be read ({error})") from None
    lines = b"\n".join(line.rstrip() for line in content.rstrip().splitlines())
    return hashlib.sha256(lines).hexdigest()[:16]


def remember() -> None:
    """Keep the hashes of the own modules that were imported since the last call: an edit later is of other code."""
    for name, module in list(sys.modules.items()):
        found = getattr(module, "__spec__", None)
        if found is not None and (name not in _seen or _seen[name][0] is not found):  # a reload makes a new spec
            _seen[name] = found, _now(name) if is_own(name) else ""


def edited(files: Iterable[str]) -> list[str]:
    """Return those of the files of :func:`hashes` that were edited after this process had imported them."""
    remember()
    return [file for file in files if (name := module_of(file)) in sys.modules and _seen[name][1] != _now(name)]


def _now(name: str) -> str:
    try:
        return _hash(name)
    except NoCodeError:  # deleted since
        return "none"
