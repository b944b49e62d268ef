"""Find the experiment that a study file names: a module of one paper's folder, or a user's own by import path."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

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
    for folder in folders:
        if folder not in sys.path:
            sys.path.append(folder)


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
    module = _imported(module_name, f"{where}: experiment {module_name!r}")
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
