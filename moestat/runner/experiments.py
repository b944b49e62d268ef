"""Find the experiment that a study file names, a module of a paper's folder or a user's own, and tell its settings."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from moestat import extras, own_files
from moestat.errors import InputError
from moestat.experiment import Source
from moestat.sentences import listed, nearest
from moestat.study.load import StudyFile
from moestat.study.spec import Arm

if TYPE_CHECKING:
    import xarray as xr


def search_path(study_file: StudyFile) -> list[str]:
    """Return the folders in which a user's own experiment is looked up: the study's, then the current one."""
    return [str(study_file.path.resolve().parent), str(Path.cwd().resolve())]


def extend_path(folders: Iterable[str]) -> None:
    """Append ``folders`` to the import path, after everything that is installed."""
    sys.path += [folder for folder in dict.fromkeys(folders) if folder not in sys.path]


def resolve(study_file: StudyFile) -> str:
    """Return the import path of the study's experiment, or raise InputError if no such module is found."""
    name, built_in = study_file.study.experiment, own_experiments()
    where = f"{study_file.shown}: experiment is {name!r}"
    extend_path(search_path(study_file))
    try:
        if all(part.isidentifier() for part in name.split(".")) and importable(built_in.get(name, name)):
            return built_in.get(name, name)
    except SystemExit as error:
        raise InputError(f"{where}, whose package calls sys.exit({error}) when it is imported") from None
    raise InputError(
        f"{where}, which is not found{nearest(name, built_in) or '.'} "
        f"Allowed are the experiments of moestat ({listed(built_in)}) and any import path"
    )


def importable(name: str) -> bool:
    """Return whether there is a module of that import path."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # a parent package that does not exist, or is no package
        return False


def own_experiments() -> dict[str, str]:
    """Return name -> import path of the experiments that moestat comes with, in the order of their names.

    An experiment is a module of a paper's folder that has ``Settings``, its own or another module's, and defines
    ``run``; none is imported for it.
    """
    texts = {path: path.read_text(encoding="utf-8") for path in own_files.STUDIES.glob("*/parts/*.py")}
    paths = [path for path, text in texts.items() if "\ndef run(" in text and re.search(r"\bSettings\b", text)]
    return {
        path.stem: f"studies.{path.parents[1].name}.parts.{path.stem}" for path in sorted(paths, key=lambda p: p.stem)
    }


def load(module_name: str, where: str) -> ModuleType:
    """Import an experiment, or raise InputError if it cannot be imported, or lacks ``Settings`` or ``run``."""
    new = module_name not in sys.modules
    module = _imported(module_name, f"{where}: experiment {module_name!r}")
    if new:
        own_files.remember()
    if missing := [name for name in ("Settings", "run") if not hasattr(module, name)]:
        raise InputError(
            f"{where}: experiment {module_name!r} has no {' and no '.join(missing)}; "
            "an experiment is a module with a class Settings and a function run(cell, replicates, *, device)"
        )
    return module


def reader(study_file: StudyFile) -> Callable[[Mapping[str, Source], Sequence[Arm]], xr.Dataset]:
    """Import the function that a study names under ``reads``, or raise InputError; see :mod:`moestat.experiment`."""
    path = study_file.study.reads
    module_name, _, name = path.partition(":")
    extend_path(search_path(study_file))
    function = getattr(_imported(module_name, f"{study_file.shown}: reads is {path!r}, which"), name, None)
    if not callable(function):
        raise InputError(f"{study_file.shown}: reads is {path!r}, which is no function")
    return function


def condenser(study_file: StudyFile) -> Callable[[Source, Sequence[Arm]], xr.Dataset] | None:
    """Return the function ``condensed`` of the module that a study's reader is from; see :mod:`moestat.experiment`."""
    return getattr(sys.modules[reader(study_file).__module__], "condensed", None)


def _imported(module_name: str, what: str) -> ModuleType:
    try:
        return importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a user's module can fail at import in any way
        extra = ""
        if isinstance(error, ModuleNotFoundError) and error.name in extras.EXTRA_OF:
            extra = f"; install it with: {extras.command(extras.EXTRA_OF[error.name])}"
        told = f"{type(error).__name__}: {error}{place(error)}{extra}"
        raise InputError(f"{what} cannot be imported: {told}") from None


def place(error: BaseException) -> str:
    """Return where an exception was raised, as `` (file.py line 12)``, or an empty text."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({os.path.basename(error.filename)} line {error.lineno})"
    frames = [(trace.f_code.co_filename, line) for trace, line in traceback.walk_tb(error.__traceback__)]
    if not frames or "importlib" in frames[-1][0]:
        return ""
    return f" ({os.path.basename(frames[-1][0])} line {frames[-1][1]})"


# -- what an experiment computes, and its settings, in words ----------------------------------------------------------

LIMITS = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
LIMITS |= {"pattern": "like"}
PLAIN = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text", "null": ""}


class Setting(NamedTuple):
    """One setting, in words."""

    key: str
    kind: str
    default: str
    allowed: str
    meaning: str


def described(name: str) -> tuple[str, list[Setting]]:
    """Return what an experiment computes, in a sentence, and its settings; of moestat by name, or by import path.

    Raises InputError if there is none of that name; the message names the nearest.
    """
    built_in = own_experiments()
    if name not in built_in and "." not in name and not importable(name):
        raise InputError(
            f"there is no experiment {name!r}{nearest(name, built_in) or ';'} allowed are import paths, and the names "
            "of: python -m moestat.study settings"
        )
    module = load(built_in.get(name, name), "settings")
    return _first(module.__doc__), _settings(module.Settings)


def about(name: str) -> str:
    """Return what an experiment of moestat computes, in a sentence; its module is read, not imported."""
    path = own_files.STUDIES.joinpath(*own_experiments()[name].split(".")[1:])
    return _first(ast.get_docstring(ast.parse(path.with_suffix(".py").read_text(encoding="utf-8"))))


def _first(text: str | None) -> str:
    return (text or "").strip().split("\n\n")[0].replace("\n", " ")


def _settings(model: type[BaseModel]) -> list[Setting]:
    """Return the settings of a model in words, from its JSON schema."""
    table = []
    for name, told in model.model_json_schema()["properties"].items():
        field, branches = model.model_fields[name], list(_branches(told))
        kinds = dict.fromkeys(kind for branch in branches if (kind := _kind(branch)))
        choices = [json.dumps(v) for b in branches for v in b.get("enum", [b["const"]] if "const" in b else [])]
        limits = [f"{word} {branch[key]}" for branch in branches for key, word in LIMITS.items() if key in branch]
        allowed = "; ".join(part for part in (", ".join(choices), " and ".join(limits)) if part)
        default = "required"
        if not field.is_required():
            given = field.get_default(call_default_factory=True)
            default = "" if given is None else json.dumps(given, ensure_ascii=False, default=str)
        meaning = (field.description or "").rstrip(".")
        table.append(Setting(name, " or ".join(kinds), default, allowed, meaning))
    return table


def _branches(told: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the alternatives of a type."""
    for branch in told.get("anyOf", ()):
        yield from _branches(branch)
    if "anyOf" not in told:
        yield told


def _kind(told: Mapping[str, Any]) -> str:
    if told.get("type") == "array":
        items = told.get("items") or told["prefixItems"][0]
        return f"list of {' or '.join(f'{word}s' for branch in _branches(items) if (word := _kind(branch)))}"
    return PLAIN.get(told.get("type", ""), "value" if {"enum", "const"} & told.keys() else "table")
