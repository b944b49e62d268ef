"""Find studies and read them, with errors that name the file, the line, what was given and what is allowed.

A study is a Python module with a variable ``study``. It is named by its file: ``sigmoid_vs_softmax`` is
``studies/sigmoid_vs_softmax.py`` or ``studies/<folder>/sigmoid_vs_softmax.py`` in the current folder, in the checkout
that moestat runs from, or among the studies that travel inside the wheel. A path to any other file works too. What it
is about stands in its docstring, below the first paragraph. Whatever is wrong is an ``InputError``.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moestat.errors import InputError
from moestat.own_files import STUDIES
from moestat.sentences import listed, nearest
from moestat.study.builder import Study

if TYPE_CHECKING:
    from moestat.study import spec

TAKEN = ("cache", "records")
"""Folders of ours among those of studies."""
NAME = re.compile(r"\w(.*\S)?", re.DOTALL)
VARIABLE = re.compile(r"^study\b[^=\n]*=", re.MULTILINE)
MOST_TOLD = 8

objects: dict[str, Study] = {}
"""Studies of this process that no file holds, or that were changed since: by the name of their results."""


@dataclass(frozen=True)
class StudyFile:
    """A study that was read and checked: its name, the path of its module, and its content."""

    name: str
    path: Path
    study: spec.Study

    @cached_property
    def shown(self) -> str:
        """The path as it is printed."""
        return shown_path(self.path)


def shown_path(path: Path) -> str:
    """Return ``path`` relative to the current folder where it lies below it."""
    try:
        return str(path.resolve().relative_to(Path.cwd().resolve()))
    except (ValueError, OSError):
        return str(path)


def study_folders() -> list[Path]:
    """Return the folders in which a study is looked up by name, in this order."""
    return [*dict.fromkeys([(Path.cwd() / "studies").resolve(), STUDIES])]


def known_studies(folders: Sequence[Path] | None = None) -> dict[str, Path]:
    """Return the studies that can be run by name; a module without a variable ``study`` is none."""
    paths: dict[str, Path] = {}
    for folder in study_folders() if folders is None else folders:
        for path in sorted([*folder.glob("*.py"), *folder.glob("*/*.py")], key=lambda path: path.stem):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                if path.stem not in paths and VARIABLE.search(path.read_text(encoding="utf-8")):
                    paths[path.stem] = path
    return paths


def summary(path: Path) -> tuple[str, str]:
    """Return the title of a study, and what its preset *quick* states of its time, without checking the rest."""
    try:
        tables = module(path).tables
    except InputError as error:
        return f"(cannot be read: {error})", ""
    return str(tables["title"]), str(tables["presets"].get("quick", {}).get("expected", ""))


def find(name: str | Path) -> Path:
    """Return the file that ``name`` means: the name of a study or a path."""
    text = str(name)
    if text in objects:
        return objects[text].file.with_name(f"{text}.py")
    if is_path(text):
        if (path := Path(text).expanduser()).is_file():
            return path
        raise InputError(f"there is no study file {text}")
    if text in (known := known_studies()):
        return known[text]
    for path in (Path(f"{text}.py"), *sorted(Path().glob(f"*/{text}.py"))):
        if path.is_file():
            raise InputError(f"there is no study {text!r}, but a file of that name; give its path: {path}")
    hint = nearest(text, known)
    if hint or len(known) > MOST_TOLD:  # the list of all would push it off the screen
        raise InputError(f"there is no study {text!r}{hint or '.'} The list of all: python -m moestat.study --list")
    lines = "".join(f"\n  {key}  {summary(path)[0]}" for key, path in known.items()) or "\n  (none here)"
    raise InputError(f"there is no study {text!r}. The known studies are:{lines}")


def is_path(word: str) -> bool:
    """Return whether a word is the path of a study, and not its name."""
    return word.endswith(".py") or "/" in word or "\\" in word


def named(study: str | Path | Study) -> str:
    """Return the word that means a study from here on: a name, a path, or the name of an object, which is kept."""
    if not isinstance(study, Study):
        return str(study)
    name = study.name or (study.file.stem if study.file.is_file() else "")
    if not NAME.fullmatch(name):
        raise InputError(f"the study has the name {name!r}; give it one for its results: Study(..., name='my_study')")
    objects[name] = study
    return name


def name_of(word: str | Path) -> str:
    """Return the name of the results of a study: its own, or that of its file."""
    return _found(word)[0]


def typed(word: str) -> str:
    """Return what means a study on a command line: of one that was made in a file of its name, the path."""
    file = objects[word].file if word in objects else Path()
    return str(shown_path(file)) if file.is_file() and file.stem == word else word


def need_preset(study_file: StudyFile, preset: str) -> None:
    """Refuse a preset that the study does not have."""
    presets = study_file.study.presets
    if preset not in presets:
        hint = nearest(preset, presets) or ";"
        raise InputError(f"{study_file.shown}: there is no preset {preset!r}{hint} allowed are {listed(presets)}")


def module(path: Path) -> Study:
    """Execute the module of a study; return its variable ``study``, not yet checked."""
    content = executed(path)
    if not isinstance(study := content.get("study"), Study):
        told = "a study module has a variable study, a moestat.Study, and this one has none"
        raise InputError(f"{shown_path(path)}: {told}")
    _, _, about = inspect.cleandoc(content.get("__doc__") or "").partition("\n\n")
    study.tables["about"] = study.tables.get("about") or about
    return study


def executed(path: Path) -> dict[str, Any]:
    """Execute a module; return what it defines.

    It is compiled from its source each time: compiled files are told apart by second and size, too coarsely for a file
    that is being edited.
    """
    where, folder = shown_path(path), str(path.resolve().parent)
    content: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    sys.path.append(folder)  # for code of the user's own beside it
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), content)
    except SyntaxError as error:
        raise InputError(f"{where}:{error.lineno}: the file is not valid Python: {error.msg}") from None
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        what = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        raise InputError(f"{where}{f':{lines[-1]}' if lines else ''}: {what}") from error
    finally:
        sys.path.remove(folder)
    return content


def read(name: str | Path) -> StudyFile:
    """Find, read and check a study."""
    folder, path, study = _found(name)
    return StudyFile(folder, path, checked(study, path))


def _found(name: str | Path) -> tuple[str, Path, Study]:
    """Return the name of a study's results, its file, and what that holds, not yet checked."""
    path = find(name)
    study = objects.get(str(name)) or module(path)
    folder = study.name or path.stem
    if not NAME.fullmatch(folder) or is_path(folder):
        allowed = "a word that begins with a letter, a digit or '_', without spaces around it"
        raise InputError(f"{shown_path(path)}: the name of a study, or of its file, must be {allowed}")
    if folder in TAKEN:
        raise InputError(f"{shown_path(path)}: outputs/{folder} is a folder of ours; call the study otherwise")
    return folder, path, study


def checked(study: Study, path: Path) -> spec.Study:
    """Check what a study collected."""
    from pydantic import ValidationError

    from moestat.study import checks, spec
    from moestat.study.problems import problems

    tables = study.tables
    try:
        made = spec.Study.model_validate(tables)
        if not (faults := checks.faults(made, tables)):
            return made
    except ValidationError as error:
        faults = problems(error, spec.Study, tables)
    lines = [f"{_line(study, path, loc)}: {checks.words(tables, loc)} {what}" for loc, what in faults[:MOST_TOLD]]
    lines += [f"... and {len(faults) - MOST_TOLD} more problems"] if len(faults) > MOST_TOLD else []
    raise InputError("\n".join(lines))


def _line(study: Study, path: Path, loc: tuple[int | str, ...]) -> str:
    """Return file and line of the call that a place in the tables comes from."""
    file, line = next(study.places[loc[:size]] for size in range(len(loc), -1, -1) if loc[:size] in study.places)
    return f"{shown_path(Path(file))}:{line}" if Path(file).is_file() else f"the study {path.stem!r}, line {line}"
