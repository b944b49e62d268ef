"""Functions of a notebook or a script: what they mean, as digests, and how they travel to other processes.

A function is known by its bytecode, constants and names, its defaults, and all that it refers to, at any depth:
captured values, helpers, globals, arrays by value. Where it stands (file, line, cell of a notebook) is no part of it.
What is installed counts by its name, and a module of the user's own as its file.

It travels as a pickle in the cache, and is loaded by the workers of the process that made it alone: they are told its
SHA-256, and compare what arrived with what was sent. Nothing is ever unpickled from a folder of results.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import hashlib
import itertools
import json
import pickle
import random
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from moestat import cache, files, own, own_files
from moestat.errors import InputError, StaleError, UserError
from moestat.sentences import listed, show

Code = dict[str, str]
"""Name of each part of some code -> its digest."""

_known: dict[str, dict[str, Any]] = {}
"""Values by the digest of their code: those of this process, and those that arrived."""
_sent: dict[str, str] = {}
"""Of code that this process may load: the SHA-256 of its pickle, as the process says that sent it."""

_PLAIN = (type(None), type(Ellipsis), type(NotImplemented), bool, int, float, complex, str, bytes)
_DRAWS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
_PLACES = {"__name__", "__file__", "__qualname__", "__module__", "__doc__", "__dict__", "__weakref__", "_abc_impl"}
_PLACES |= {"__firstlineno__", "__static_attributes__", "__slotnames__", "__dataclass_fields__", "__dataclass_params__"}
_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")
_KINDS = 0x4 | 0x8 | 0x20 | 0x80 | 0x200  #: Flags of bytecode: ``*args``, ``**kwargs``, generators, coroutines.


def code_of(values: Mapping[str, Any]) -> Code:
    """Return the digests of values by name; of a function one for itself, and one for each value that it refers to.

    A value with a method ``code_parts`` says itself of which values by name it is made.

    Raises InputError if a value is not known by what it holds, such as an open file or a generator of random numbers.
    """
    code = {}
    parts = [value.code_parts() if hasattr(value, "code_parts") else {name: value} for name, value in values.items()]
    for name, value in itertools.chain.from_iterable(one.items() for one in parts):
        if isinstance(value, types.FunctionType) and not _installed(value):
            code[name] = _digest([*_own(value)], name)
            for part, referred in _referred(value):
                code[f"{part} in {name}"] = _digest(referred, f"{part} in {name}")
        else:
            code[name] = _digest(value, name)
    return code


def key(code: Mapping[str, str]) -> str:
    """Return one digest of some code."""
    return hashlib.sha256(json.dumps(dict(code), sort_keys=True).encode()).hexdigest()


def keep(values: Mapping[str, Any]) -> Code:
    """Keep values for the studies of this process; return their code, by which :func:`get` finds them."""
    code = code_of(values)
    _known[key(code)] = dict(values)
    return code


def get(code: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a code: those of this process, or those that another one sent to this one."""
    if (which := key(code)) not in _known:
        if which not in _sent:
            raise InputError("the code is not in this process: run the study from the file or notebook that defines it")
        file = _file(cache.folder(), _sent[which])
        content = file.read_bytes()
        if hashlib.sha256(content).hexdigest() != _sent[which]:
            raise StaleError(f"{file} was changed by somebody while the study was running; run it again")
        try:
            values = pickle.loads(content)  # of the very bytes that the process sent which started this one
        except Exception as error:
            told = f"{type(error).__name__}: {show(str(error), 200)}"
            raise InputError(f"{listed(code, 4)} cannot be read in a worker ({told}); put it into a file") from None
        arrived = code_of(values)
        if differing := [name for name in {**code, **arrived} if code.get(name) != arrived.get(name)]:
            raise StaleError(
                f"the code of {listed(differing, 4)} is another one in a worker than in the process that runs the "
                "study: a file was edited after it was imported, or Python is of another version; restart and run again"
            )
        _known[which] = values
    return _known[which]


def changed(code: Mapping[str, str]) -> list[str]:
    """Return the parts of a code whose values in this process are others by now: something was written into them."""
    now = code_of(get(code))
    return [name for name in code if code[name] != now.get(name)]


def send(codes: Iterable[Mapping[str, str]], folder: Path) -> dict[str, str]:
    """Put code into a cache for other processes; return what these must be told with :func:`expect`."""
    told = {}
    for code in {key(code): code for code in codes}.values():
        try:
            content = cloudpickle.dumps(get(code))
        except Exception as error:
            raise InputError(
                f"{listed(get(code))} cannot be sent to another process ({type(error).__name__}: {show(str(error))})"
            ) from None
        told[key(code)] = name = hashlib.sha256(content).hexdigest()
        try:
            _file(folder, name).parent.mkdir(parents=True, exist_ok=True)
            files.write(_file(folder, name), content)
        except OSError as error:
            raise UserError(f"code cannot be sent to workers through {folder} ({error}); set MOESTAT_CACHE") from None
    return told


def expect(told: Mapping[str, str]) -> None:
    """Let this process load what another one, which started it, says that it sent."""
    _sent.update(told)


def _file(folder: Path, sha256: str) -> Path:
    return folder / "code" / f"{sha256}.pickle"


# -- what a value means -----------------------------------------------------------------------------------------------


def _digest(value: Any, where: str) -> str:
    walk = _Walk()
    walk.put(value, where)
    return walk.hash.hexdigest()[:16]


class _Walk:
    """Feeds a value to a hash, what it refers to included; what was there before is named by its number."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.seen: dict[int, int] = {}
        self.alive: list[Any] = []  # so that no id is given twice

    def say(self, *words: object) -> None:
        for word in words:
            data = word if isinstance(word, bytes) else str(word).encode(errors="surrogatepass")
            self.hash.update(b"%d:" % len(data) + data)

    def put(self, value: Any, where: str) -> None:
        kind = type(value)
        if kind in _PLAIN:
            self.say(kind.__name__, repr(value))
            if kind is str and own.is_path(value):  # a gate, an expert
                self.file(value)
        elif kind is tuple:
            self.say("tuple", len(value))
            self.all(value, where)
        elif kind in (set, frozenset):
            self.say(kind.__name__, *sorted(_digest(item, where) for item in value))
        elif isinstance(value, np.generic) or kind is np.ndarray and not value.dtype.hasobject:
            self.say("array", value.dtype.str if value.dtype.names is None else value.dtype.descr, value.shape)
            self.say(np.ascontiguousarray(value).tobytes())
        elif kind is types.CodeType:
            self.code(value, where)
        elif hasattr(kind, "detach"):  # a tensor of PyTorch, whose pickle is another one each time
            self.put(value.detach().cpu().numpy(), where)
        elif id(value) in self.seen:
            self.say("again", self.seen[id(value)])
        else:
            self.seen[id(value)] = len(self.seen)
            self.alive.append(value)
            self.reference(value, where)

    def all(self, values: Any, where: str) -> None:
        for value in values:
            self.put(value, where)

    def code(self, code: types.CodeType, where: str) -> None:
        self.say("code", code.co_code, code.co_exceptiontable, code.co_flags & _KINDS)
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
        names = code.co_varnames[: counts[0] + counts[2]], code.co_names, code.co_freevars
        self.say(*counts, *names)
        self.all(code.co_consts, where)

    def reference(self, value: Any, where: str) -> None:
        """Feed what is known by more than its own value."""
        if isinstance(value, _DRAWS):
            raise InputError(
                f"{where} is a generator of random numbers, whose draws would depend on the order of the work; "
                "draw from the one that the function is handed"
            )
        if isinstance(value, types.ModuleType):
            self.module(value, where)
        elif isinstance(value, list):
            self.say("list", len(value))
            self.all(value, where)
        elif type(value) is dict:
            self.say("dict", len(value))
            self.all((part for item in value.items() for part in item), where)
        elif name := _installed(value):
            self.say("installed", name)
        elif isinstance(value, types.FunctionType):
            self.say("function")
            self.all(_own(value), where)
            for name, part in _referred(value):
                self.say(name)
                self.put(part, f"{name} in {where}")
        elif isinstance(value, type):
            self.say("class")
            self.all(value.__bases__, where)
            for name, part in sorted(vars(value).items()):
                if name not in _PLACES and not isinstance(part, _SLOTS):
                    self.say(name)
                    self.put(part, f"{name} of {where}")
        elif isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, types.ModuleType | None):
            self.say("builtin", value.__module__, value.__qualname__)
        else:
            self.object(value, where)

    def module(self, value: types.ModuleType, where: str) -> None:
        if own_files.is_own(value.__name__):
            self.file(f"{value.__name__}:file")
        elif own_files.spec(value.__name__) is not None:
            self.say("module", value.__name__)
        else:
            raise InputError(
                f"{where} is a module without a file, so nobody can tell when it changes; refer to its parts"
            )

    def file(self, path: str) -> None:
        """Feed the user's own files behind an import path."""
        try:
            self.say("file", own.code(path))
        except ValueError as error:
            raise StaleError(str(error)) from None

    def object(self, value: Any, where: str) -> None:
        """Feed an object as what makes it again; of one that wraps a function (compiled, cached) that."""
        inner = getattr(value, "py_func", None) or getattr(value, "__wrapped__", None)
        if isinstance(value, staticmethod | classmethod | property) or isinstance(inner, types.FunctionType):
            parts = (value.fget, value.fset) if isinstance(value, property) else (inner,)
            self.say(type(value).__name__)
            return self.all((*parts, getattr(value, "targetoptions", None)), where)
        if dataclasses.is_dataclass(value):
            self.put(type(value), where)
            for field in dataclasses.fields(value):
                if field.init:  # the others follow from these
                    self.say(field.name)
                    self.put(getattr(value, field.name), f"{field.name} of {where}")
            return None
        try:
            made = value.__reduce_ex__(4)
        except Exception:
            made = ""
        if not isinstance(made, tuple):
            raise InputError(
                f"{where} is {show(value)}, a {type(value).__name__}, which is not known by what it holds, so nobody "
                "can tell when it changes; use numbers, arrays or functions instead"
            )
        function, arguments, state, *items = (*made, None, None, None)[:5]
        if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict):  # of a class with slots
            state = {**(state[0] or {}), **state[1]}
        if isinstance(state, dict):  # without what is kept when it is first asked for
            lazy = {
                name for name in state if isinstance(getattr(type(value), str(name), None), functools.cached_property)
            }
            state = {name: part for name, part in state.items() if name not in lazy}
        self.say("object")
        return self.all((function, arguments, state, *(list(part) if part else None for part in items)), where)


def _installed(value: Any) -> str:
    """Return the import path of a function, a class or a ufunc that is installed; empty of anything else."""
    if isinstance(value, np.ufunc):
        return "" if "(vectorized)" in value.__name__ else f"ufunc {value.__name__}"
    module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(path, str):
        return ""
    found: Any = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    known = found is value and own_files.spec(module) is not None and not own_files.is_own(module)
    return f"{module}:{path}" if known else ""


def _own(function: types.FunctionType) -> Iterator[Any]:
    """Yield what a function is by itself."""
    code = function.__code__
    if function.__doc__ is not None and code.co_consts[:1] == (function.__doc__,):
        code = code.replace(co_consts=(None, *code.co_consts[1:]))
    yield from (code, function.__defaults__, function.__kwdefaults__)


def _referred(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the values that a function refers to, captured ones and globals, in the order of their names."""
    found = {name: function.__globals__[name] for name in _globals(function.__code__) if name in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            found.pop(name, None)
    yield from sorted(found.items())


def _globals(code: types.CodeType) -> set[str]:
    names = {str(one.argval) for one in dis.get_instructions(code) if one.opname in _GLOBAL} - _PLACES
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return names.union(*map(_globals, inner))
