"""Code of the user's own: what is imported from outside the installed packages and this package, by whole files.

A file counts with all that it imports of such files, at any depth and in any place. It is hashed as it stands on the
disk, but for line endings and blanks at the ends of lines; a symlink counts by where it leads. Nothing is imported to
find out. Of this package and of installed ones no file is hashed: an experiment has a version
(:mod:`moestat.experiment`).
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import re
import struct
import sys
import sysconfig
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
_STANDARD = tuple(Path(sysconfig.get_path(key)).resolve() for key in ("stdlib", "platstdlib"))
_INSTALLED = {"site-packages", "dist-packages"}
_seen: dict[str, tuple[ModuleSpec, str | None]] = {}
"""Of own modules that were seen imported: their files then, None for one that had been edited by then."""
_passed: set[str] = set()


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
        name = waiting.pop()
        if name not in found and wanted(name):
            found.add(name)
            waiting += imports(name)
    return sorted(found)


def imports(name: str) -> frozenset[str]:
    """Return what a module may import, by its source: modules, packages above them, and names that may be neither."""
    text = source(name)
    found = spec(name)
    package = name if found is not None and found.submodule_search_locations is not None else name.rpartition(".")[0]
    return frozenset() if text is None else _imports(text, package)


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
    parent, places = name.rpartition(".")[0], None
    if parent:
        package = spec(parent)
        places = None if package is None else package.submodule_search_locations
        if places is None:
            return None
    for finder in sys.meta_path:
        try:
            found = finder.find_spec(name, places)
        except (ImportError, AttributeError, ValueError, OSError):
            continue
        if found is not None:
            return found
    return None


def source(name: str) -> str | None:
    """Return the source of a module, None where there is none (an extension, bytecode, a folder)."""
    found = spec(name)
    get_source = getattr(None if found is None else found.loader, "get_source", None)
    try:
        text = get_source(name) if get_source is not None else None
    except (ImportError, OSError):
        return None
    return text if isinstance(text, str) else None


def is_own(name: str) -> bool:
    """Whether a module has a file that belongs neither to this package nor to an installed one."""
    found = spec(name)
    if found is None or not found.has_location or not found.origin:
        return False
    place = Path(found.origin).resolve()
    if PACKAGE in place.parents or not _INSTALLED.isdisjoint(place.parts):
        return False
    depth = name.count(".") + (found.submodule_search_locations is not None)
    root = [*place.parents][: depth + 1][-1]
    return not any(folder in place.parents for folder in _STANDARD) and name.partition(".")[0] not in _listed(root)


@functools.cache
def _listed(folder: Path) -> frozenset[str]:
    """Return what the distributions that were installed in a folder list as theirs, by the first word of each path."""
    records = [path.read_text(encoding="utf-8", errors="replace") for path in folder.glob("*.dist-info/RECORD")]
    return frozenset(re.split(r"[/.,]", line, maxsplit=1)[0] for text in records for line in text.splitlines())


def _hash(name: str) -> str:
    text = source(name)
    if text is not None:
        content = "\n".join(line.rstrip() for line in text.rstrip().split("\n")).encode(errors="surrogatepass")
    else:
        found = spec(name)
        try:  # bytecode, or an extension
            content = found.loader.get_data(found.origin)  # type: ignore[union-attr]
        except (AttributeError, OSError) as error:
            raise NoCodeError(f"the code of {name} cannot be read ({error})") from None
    return hashlib.sha256(content).hexdigest()[:16]


# -- what is in memory ------------------------------------------------------------------------------------------------


def remember() -> None:
    """Keep the hashes of the own modules that were imported since the last call: an edit later is of other code."""
    for name, module in list(sys.modules.items()):
        found = getattr(module, "__spec__", None)
        if name in _passed or found is None or (name in _seen and _seen[name][0] is found):
            continue
        if is_own(name):
            _keep(name, found)
        else:
            _passed.add(name)


def edited(files: Iterable[str]) -> list[str]:
    """Return those of the files of :func:`hashes` that were edited after this process had imported them."""
    changed = []
    for file in files:
        name = module_of(file)
        found = getattr(sys.modules.get(name), "__spec__", None)
        if found is None:
            continue
        if name not in _seen or _seen[name][0] is not found:  # a reload makes a new spec
            _keep(name, found)
        if _seen[name][1] != _now(name):
            changed.append(file)
    return changed


def _keep(name: str, found: ModuleSpec) -> None:
    _seen[name] = found, _now(name) if _is_as_compiled(found) else None


def _now(name: str) -> str | None:
    try:
        return _hash(name)
    except NoCodeError:  # deleted since
        return ""


def _is_as_compiled(found: ModuleSpec) -> bool:
    """Whether the bytecode that Python keeps at an import is of the file as it is now; so if none can be kept."""
    try:
        with open(found.cached or "", "rb") as stream:
            _, flags, changed, size = struct.unpack("<4sIII", stream.read(16))
        now = os.stat(found.origin or "")
    except (OSError, struct.error):
        return True
    same = (changed, size) == (int(now.st_mtime) & 0xFFFFFFFF, now.st_size & 0xFFFFFFFF)
    return bool(flags) or same or not os.access(found.cached or "", os.W_OK)
