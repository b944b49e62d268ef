"""Compiled code: a description of it that does not say where it came from, and the modules that it imports."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType


def describe(code: CodeType) -> str:
    """Return everything that a code object does, nested ones included, without file names and line numbers."""
    head = (code.co_name, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    constants = [describe(c) if isinstance(c, CodeType) else _constant(c) for c in code.co_consts]
    return repr((head, names, code.co_code, code.co_exceptiontable, constants))


def _constant(value: object) -> str:
    """Return a constant as text; the order of a frozenset differs from process to process."""
    if isinstance(value, frozenset):
        return f"frozenset({sorted(map(repr, value))})"
    return repr(value)


def imports_of(code: CodeType, package: str) -> set[str]:
    """Return the modules that a code object imports, also inside functions."""
    return set(_imports(code, package))


def _imports(code: CodeType, package: str) -> Iterator[str]:
    constants: list[object] = []
    base = ""
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_CONST":
            constants.append(step.argval)
        elif step.opname == "IMPORT_NAME":
            level = next((c for c in reversed(constants[-2:]) if isinstance(c, int)), 0)
            parts = package.split(".")
            anchor = parts[: len(parts) - level + 1] if level else []
            base = ".".join([*anchor, *([step.argval] if step.argval else [])])
            yield base
        elif step.opname == "IMPORT_FROM":
            yield f"{base}.{step.argval}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _imports(constant, package)
