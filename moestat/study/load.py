"""Find study files and read them, with errors that name the file, the key and what is allowed.

A study is named by its file: ``sigmoid_vs_softmax`` is ``studies/sigmoid_vs_softmax.toml`` in the current folder, in
the checkout that moestat runs from, or among the studies that travel inside the wheel. A path to any other file
works too.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moestat.errors import InputError

if TYPE_CHECKING:
    from moestat.study.spec import Study


@dataclass(frozen=True)
class StudyFile:
    """A study file that was read and checked: its name, path, text, tables (templates expanded) and content."""

    name: str
    path: Path
    text: str
    raw: dict[str, Any]
    study: Study

    @property
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
    package = Path(__file__).resolve().parents[1]
    folders = [Path.cwd() / "studies", package.parent / "studies", package / "_studies"]
    if not (package.parent / "pyproject.toml").is_file():  # installed: what lies beside the package is not ours
        del folders[1]
    return [folder for folder in dict.fromkeys(folder.resolve() for folder in folders) if folder.is_dir()]


def known_studies() -> dict[str, Path]:
    """Return the studies that can be run by name."""
    paths: dict[str, Path] = {}
    for folder in study_folders():
        for path in sorted(folder.glob("*.toml")):
            paths.setdefault(path.stem, path)
    return paths


def title(path: Path) -> str:
    """Return the title of a study file without checking the rest, which is quick."""
    return summary(path)[0]


def summary(path: Path, preset: str = "quick") -> tuple[str, str]:
    """Return the title of a study file, and what a preset states of its time, without checking the rest."""
    try:
        raw = parse(path)[1]
    except InputError as error:
        return f"(cannot be read: {error})", ""
    presets = raw.get("presets")
    table = presets.get(preset) if isinstance(presets, dict) else None
    return str(raw.get("title", "(no title)")), str(table.get("expected", "")) if isinstance(table, dict) else ""


def of_paper(known: Mapping[str, Path], paper: str) -> dict[str, Path]:
    """Return the studies of one paper.

    Raises
    ------
    InputError
        If there is none; the message lists the papers.
    """
    from moestat.sentences import listed, nearest

    papers: dict[str, list[str]] = {}
    for name, path in known.items():
        with contextlib.suppress(InputError):  # a file that cannot be read belongs to no paper
            papers.setdefault(str(parse(path)[1].get("paper", "")), []).append(name)
    if paper not in papers:
        known_papers = listed(sorted(papers))
        raise InputError(f"there is no study of the paper {paper!r}{nearest(paper, papers)}; papers are {known_papers}")
    return {name: known[name] for name in papers[paper]}


def find(name: str | Path) -> Path:
    """Return the study file that ``name`` means: a name or a path.

    Raises
    ------
    InputError
        If there is none; the message names the study that was probably meant, or lists all that are known.
    """
    text = str(name)
    if text.endswith(".toml") or "/" in text or "\\" in text:
        path = Path(text).expanduser()
        if path.is_file():
            return path
        raise InputError(f"there is no study file {text}")
    known = known_studies()
    if text in known:
        return known[text]
    from moestat.sentences import nearest

    if (file := _file_of(text)) is not None:
        raise InputError(f"there is no study {text!r}, but a file of that name; give its path: {file}")
    if hint := nearest(text, known):  # the list of all would push it off the screen
        raise InputError(f"there is no study {text!r}{hint} The list of all: python -m moestat.study --list")
    lines = "".join(f"\n  {key}  {title(path)}" for key, path in known.items()) or "\n  (none here)"
    raise InputError(f"there is no study {text!r}. The known studies are:{lines}")


def _file_of(name: str) -> str | None:
    """Return the path, as it is to be typed, of a study file of that name in the current folder or just below it."""
    for path in (Path(f"{name}.toml"), *sorted(Path().glob(f"*/{name}.toml"))):
        if path.is_file():
            return str(path)
    return None


def need_preset(study_file: StudyFile, preset: str) -> None:
    """Refuse a preset that the study does not have.

    Raises
    ------
    InputError
        The message lists the presets.
    """
    from moestat.sentences import listed, nearest

    presets = study_file.study.presets
    if preset not in presets:
        hint = nearest(preset, presets) or ";"
        raise InputError(f"{study_file.shown}: there is no preset {preset!r}{hint} allowed are {listed(presets)}")


def parse(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the text and the raw content of a TOML file."""
    where = shown_path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")  # editors on Windows put a mark before the text
    except OSError as error:
        raise InputError(f"{where}: the file cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: the file is not UTF-8 text (byte {error.start})") from None
    if DEEP_KEY.search(text):  # tomllib takes minutes over a key of 50 000 parts
        raise InputError(f"{where}: the file is nested too deeply: a key has more than 100 parts")
    try:
        return text, tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: TOMLDecodeError, and integers of more than 4300 digits
        what = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"{where}: the file is not valid TOML: {what}") from None


def read(name: str | Path) -> StudyFile:
    """Find, read and check a study file.

    Raises
    ------
    InputError
        With one line for each problem: file, key, what is wrong, what is allowed.
    """
    path = find(name)
    if not NAME.fullmatch(path.stem):  # it names the folder of the results
        raise InputError(
            f"{shown_path(path)}: the name of a study file must be a word that begins with a letter, a digit or '_', "
            "without spaces around it"
        )
    text, raw = parse(path)
    from pydantic import ValidationError

    from moestat.study import cross_checks, hub
    from moestat.study.problems import path_text, problems
    from moestat.study.spec import Study
    from moestat.study.templates import expand
    from moestat.study.texts import filled

    where = shown_path(path)
    try:
        if key := _holds_nul(raw):
            raise InputError(f"{key} holds a NUL character, which no file of results can keep")
        raw = expand(filled(raw, path.parent), Study)
        study = Study.model_validate(raw)
        if found := _truth_values(study, raw) or cross_checks.problems(study):
            raise InputError(_few(found, f"\n{where}: "))
        study = hub.predictions(study)  # after the checks: a name that is misspelt has no prediction either
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except ValidationError as error:
        lines = [f"{where}: {_named(raw, loc, path_text(loc))} {what}" for loc, what in problems(error, Study, raw)]
        raise InputError(_few(lines)) from None
    except RecursionError:
        raise InputError(f"{where}: the file is nested too deeply") from None
    for table, claim in zip(raw.get("claims", []), study.claims, strict=True):
        table |= {"predicted": claim.predicted, "statement": claim.statement} if claim.predicted != "" else {}
    return StudyFile(name=path.stem, path=path, text=text, raw=raw, study=study)


def _holds_nul(raw: Any, key: str = "") -> str:
    """Return the key of the first text with a NUL character, or an empty text."""
    if isinstance(raw, str):
        return (key or "a key") if "\0" in raw else ""
    inside = list(raw.items()) if isinstance(raw, dict) else list(enumerate(raw)) if isinstance(raw, list) else []
    for name, item in inside:
        if place := _holds_nul(name) or _holds_nul(item, f"{key}.{name}" if key else str(name)):
            return place
    return ""


def _named(raw: Any, loc: tuple[int | str, ...], text: str) -> str:
    """Add the name of the arm, claim, figure that a list index means; name the file as a whole for no location."""
    if not loc:
        return "the study:"
    if len(loc) > 1 and isinstance(loc[0], str) and isinstance(loc[1], int):
        item = raw[loc[0]][loc[1]] if isinstance(raw.get(loc[0]), list) and loc[1] < len(raw[loc[0]]) else None
        name = item.get("name", item.get("id", item.get("loss"))) if isinstance(item, dict) else None
        if isinstance(name, str) and name:
            return f"{text} ('{name[:40]}')"
    return text


def _few(lines: list[str], between: str = "\n", limit: int = 8) -> str:
    more = f"\n... and {len(lines) - limit} more problems" if len(lines) > limit else ""
    return between.join(lines[:limit]) + more


def _truth_values(study: Study, raw: dict[str, Any]) -> list[str]:
    """Say where the file has true or false for a number; settings are checked by their experiment."""
    from moestat.experiment import no_truth_value, truth_values
    from moestat.sentences import show
    from moestat.study.problems import path_text

    def given(loc: tuple[int | str, ...]) -> Any:
        here: Any = raw
        for part in loc:
            here = here[part]
        return here

    return [
        f"{_named(raw, loc, path_text(loc))} is {show(given(loc))}: {no_truth_value(of)}"
        for loc, of in truth_values(raw, study)
    ]


NAME = re.compile(r"\w(.*\S)?", re.DOTALL)
DEEP_KEY = re.compile(r"""(?<![A-Za-z0-9_"'-])(?:[A-Za-z0-9_"'-]++[ \t]*+\.[ \t]*+){100}""")
