"""Whether the code in memory is the code on the disk: a module that was edited after its import computes with old code.

The source of own modules is kept as soon as we see them imported. Of a module that was imported earlier, the functions
and the plain constants in memory are compared with what the source compiles to. An edit of comments does not count.
"""

from __future__ import annotations

import ast
import functools
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from moestat.source.bytecode import describe
from moestat.source.definitions import parse
from moestat.source.find import STANDARD, text_of

NOT_IN_CODE_VERSION = ("*",)  # it looks at code and computes no number
_OURS = __name__.partition(".")[0]
_LIBRARIES = ("site-packages", "dist-packages")
_MARGIN = 10.0
"""Seconds by which the clocks of files and of processes may differ."""


@dataclass(frozen=True)
class _Seen:
    spec: ModuleSpec
    text: bytes | None  # None: memory and disk differed when the module was first seen


_seen: dict[str, _Seen] = {}
_passed: set[str] = set()
"""Modules that are not looked at again: libraries, and what has no source."""


def remember() -> None:
    """Keep the source of every own module that was imported since the last call."""
    for name, module in list(sys.modules.items()):
        if name in _passed:
            continue
        spec = getattr(module, "__spec__", None)
        origin = str(getattr(spec, "origin", None))
        if name.partition(".")[0] in STANDARD or not origin.endswith(".py") or any(p in origin for p in _LIBRARIES):
            _passed.add(name)
        elif spec is not None and (name not in _seen or _seen[name].spec is not spec):
            _keep(name, module, spec)


def edited(names: Iterable[str]) -> list[str]:
    """Return those of some own modules whose code in memory is not, or may not be, that on the disk."""
    changed = []
    for name in names:
        module = sys.modules.get(name)
        spec = getattr(module, "__spec__", None)
        if module is None or spec is None:
            continue
        if name not in _seen or _seen[name].spec is not spec:  # a reload makes a new spec
            _keep(name, module, spec)
        before, now = _seen[name].text, _text(spec)
        if before is None or now is None:
            if spec.origin and spec.origin.endswith(".py"):
                changed.append(name)
        elif before != now and not _same(before, now, name):
            changed.append(name)
    return changed


def _keep(name: str, module: ModuleType, spec: ModuleSpec) -> None:
    text = _text(spec)
    trusted = name.partition(".")[0] == _OURS and not _newer(spec)  # compiling all of ours would take long
    _seen[name] = _Seen(spec, text if text is None or trusted or matches(module, text) else None)


def _text(spec: ModuleSpec) -> bytes | None:
    try:
        return text_of(spec)
    except OSError:  # deleted since
        return None


def _same(before: bytes, now: bytes, name: str) -> bool:
    try:
        return parse(before, name, False).text == parse(now, name, False).text
    except (SyntaxError, ValueError):
        return False


def _newer(spec: ModuleSpec) -> bool:
    """Whether a file changed since this process began; the time of change of its entry cannot be set back."""
    try:
        stamp = os.stat(spec.origin or "")
    except OSError:
        return True
    return max(stamp.st_mtime, stamp.st_ctime) > _begin() - _MARGIN


@functools.cache
def _begin() -> float:
    """When this process began, in seconds since the epoch; 0 where the system does not say."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def matches(module: ModuleType, text: bytes) -> bool:
    """Whether the functions, their plain defaults and the plain constants of a loaded module are those of a source."""
    try:
        tree = ast.parse(text)
        compiled = _codes(compile(text, "", "exec", dont_inherit=True))
    except (SyntaxError, ValueError):
        return False
    for function in _functions(module):
        if describe(function.__code__) not in compiled.get(function.__code__.co_qualname, ()):
            return False
    return all(_agrees(node, vars(module)) for node in _once(tree))


def _codes(code: CodeType) -> dict[str, set[str]]:
    table: dict[str, set[str]] = {}
    waiting = [code]
    while waiting:
        for constant in waiting.pop().co_consts:
            if isinstance(constant, CodeType):
                table.setdefault(constant.co_qualname, set()).add(describe(constant))
                waiting.append(constant)
    return table


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions and methods that stand in a module's file."""
    file = getattr(module.__spec__, "origin", None)
    waiting: list[Any] = list(vars(module).values())
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, FunctionType):
            if value.__code__.co_filename == file:
                yield value
            waiting.append(getattr(value, "__wrapped__", None))
        elif isinstance(value, type):
            if value.__module__ == module.__name__:
                waiting.extend(vars(value).values())
        elif isinstance(value, property):
            waiting.extend((value.fget, value.fset, value.fdel))
        elif isinstance(value, staticmethod | classmethod | functools.cached_property | functools._lru_cache_wrapper):
            waiting.append(getattr(value, "__func__", None) or getattr(value, "func", None))
            waiting.append(getattr(value, "__wrapped__", None))


def _once(tree: ast.Module) -> Iterator[tuple[str, ast.expr | ast.arguments]]:
    """Yield the top-level names that are bound once, to an expression or to a plain function, with either."""
    bound: dict[str, list[ast.expr | ast.arguments | None]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            bound.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            bound.setdefault(node.target.id, []).append(node.value)
        elif isinstance(node, ast.FunctionDef) and not node.decorator_list:
            bound.setdefault(node.name, []).append(node.args)
        else:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
                    bound.setdefault(inner.id, []).append(None)
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Global):
            for name in inner.names:
                bound.setdefault(name, []).append(None)
    for name, values in bound.items():
        if len(values) == 1 and values[0] is not None:
            yield name, values[0]


def _agrees(entry: tuple[str, ast.expr | ast.arguments], live: dict[str, Any]) -> bool:
    """Whether a plain constant in memory (or a plain default of a function) is that of the source."""
    name, node = entry
    if name not in live:
        return True  # the module is still being imported
    if isinstance(node, ast.arguments):
        defaults = getattr(live[name], "__defaults__", None) or ()
        pairs = list(zip(node.defaults, defaults, strict=False))
        return len(node.defaults) == len(defaults) and all(_equal(source, value) for source, value in pairs)
    return _equal(node, live[name])


def _equal(node: ast.expr, value: Any) -> bool:
    """Whether a value is that of an expression, as far as the expression holds constants and operators only."""
    parts = (ast.Constant, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.Load)
    if not all(isinstance(inner, parts) for inner in ast.walk(node)):
        return True
    try:
        expected = eval(compile(ast.Expression(node), "", "eval"), {})
    except (ArithmeticError, TypeError, ValueError):
        return True
    return repr(value) == repr(expected)
