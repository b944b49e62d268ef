"""Which code computed a result: a hash of everything that an experiment's module imports.

The hash covers the syntax trees, without comments and docstrings, of the experiment's module and of every module of
moestat (and, for a user's own module, of its package or folder) that it imports, at any depth and also inside
functions, together with the major versions of the numerical libraries. ``moestat.study`` and ``moestat.report`` are
left out: they move numbers and compute none. Imports by a name that is put together at run time are not seen, nor are
data files.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import site
import sysconfig
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("numpy", "scipy", "torch")
_MOESTAT = Path(__file__).resolve().parents[0]
_EXCLUDED = ("moestat.study", "moestat.report")


def fingerprint(module_name: str) -> dict[str, str]:
    """Return module (or library) -> hash (or major version) for an experiment; nothing is imported for it.

    Parameters
    ----------
    module_name : str
        Import path of the experiment's module.
    """
    modules: dict[str, str] = {}
    libraries = {"numpy", "scipy"}
    own = _own_root(module_name)
    waiting = [module_name]
    while waiting:
        name = waiting.pop()
        if name in modules or name == "moestat" or any(name == x or name.startswith(x + ".") for x in _EXCLUDED):
            continue
        path = _source(name, own)
        if path is None:
            libraries.add(name.partition(".")[0])
            continue
        modules[name], imported = _read(path, name)
        parents = name.split(".")
        waiting.extend(".".join(parents[:i]) for i in range(1, len(parents)))
        waiting.extend(imported)
    return dict(sorted(modules.items())) | _majors(libraries)


def digest(code: Mapping[str, str]) -> str:
    """Return one short hash of a fingerprint."""
    return hashlib.sha256(repr(sorted(code.items())).encode()).hexdigest()[:16]


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Say in which modules and library versions two fingerprints differ."""
    found = []
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if name in LIBRARIES:
            found.append(f"{name} {before or 'absent'} -> {after or 'absent'}")
        elif before is None:
            found.append(f"{name} is new")
        elif after is None:
            found.append(f"{name} is gone")
        else:
            found.append(f"the code of {name}")
    return found


def _majors(libraries: set[str]) -> dict[str, str]:
    return {name: _major(name) for name in LIBRARIES if name in libraries}


@functools.cache
def _major(library: str) -> str:
    try:
        return version(library).partition(".")[0]
    except PackageNotFoundError:  # torch is optional
        return "absent"


def _own_root(module_name: str) -> tuple[str, Path | None]:
    """Return the (top-level package or ``""``, folder) in which a user's module may import code of its own."""
    top = module_name.partition(".")[0]
    if top == "moestat":
        return "", None
    spec = importlib.util.find_spec(top)
    if spec is None:
        return "", None
    if spec.submodule_search_locations:
        return top, Path(next(iter(spec.submodule_search_locations))).resolve().parent
    folder = Path(spec.origin).resolve().parent if spec.origin else None
    return ("", folder) if folder not in _installed() else (top, folder)


@functools.cache
def _installed() -> frozenset[Path]:
    """The folders where other people's packages and the standard library live: nothing in them is the user's code."""
    folders = [*site.getsitepackages(), site.getusersitepackages(), *sysconfig.get_paths().values()]
    return frozenset(Path(folder).resolve() for folder in folders)


def _source(name: str, own: tuple[str, Path | None]) -> Path | None:
    """Return the file of a module of moestat or of the user's, None for any other module."""
    top, _, rest = name.partition(".")
    if top == "moestat":
        base = _MOESTAT.joinpath(*rest.split(".")) if rest else _MOESTAT
    elif own[1] is not None and own[0] in ("", top):
        base = own[1].joinpath(*name.split("."))
    else:
        return None
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


def _read(path: Path, name: str) -> tuple[str, list[str]]:
    """Return the hash of a file's code and the modules that it may import."""
    stamp = path.stat()
    return _parsed(path, name, stamp.st_mtime_ns, stamp.st_size)


@functools.lru_cache(maxsize=512)
def _parsed(path: Path, name: str, _mtime: int, _size: int) -> tuple[str, list[str]]:
    text = path.read_bytes()
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return hashlib.sha256(text).hexdigest()[:12], []
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    imported = list(_imports(tree, package))
    parts: list[str] = []
    _canonical(tree, parts)
    return hashlib.sha256("".join(parts).encode(errors="surrogatepass")).hexdigest()[:12], imported


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                anchor = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*anchor, *([base] if base else [])])
            if base:
                yield base
                yield from (f"{base}.{alias.name}" for alias in node.names)


def _canonical(node: object, parts: list[str]) -> None:
    """Write a syntax tree as text that is the same on every Python version: no positions, no empty fields."""
    if isinstance(node, ast.AST):
        parts.append(type(node).__name__ + "(")
        for field, value in ast.iter_fields(node):
            if field == "body" and isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                value = _without_docstring(value)
            if value is None or value == [] or field in ("type_comment", "kind", "ctx"):
                continue
            parts.append(field + "=")
            _canonical(value, parts)
        parts.append(")")
    elif isinstance(node, list):
        parts.append("[")
        for item in node:
            _canonical(item, parts)
        parts.append("]")
    else:
        parts.append(repr(node) + ",")


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body
