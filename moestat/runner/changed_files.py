"""In which files, or options, the change is that makes results stale: what a user is to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moestat import own, own_files
from moestat.runner.plan import Plan
from moestat.study.load import shown_path

CODE = "the code of "
SETTING = "setting "
OWN_CODE = "own_code"
"""The setting that holds a hash of the code of the user's own functions."""
DATA = "_sha256"
"""How a setting is called that holds a hash of the file (or folder) that another setting names."""
VERSION = "version of "


def of(plan: Plan, why: Mapping[str, Sequence[str]]) -> list[str]:
    """Return where changes are: the files of code and of data, options just given, the study file for the rest.

    Parameters
    ----------
    plan : Plan
    why : mapping
        Digest of a planned cell -> in what its stale results differ, as the texts that are printed.
    """
    files: list[str] = []
    for target, told in why.items():
        settings, texts = plan.by_digest[target][0].cell.settings, dict.fromkeys(told)
        changed = {_key(text) for text in texts}
        same = {key: value for key, value in settings.items() if key not in changed}
        for text in texts:
            if text.startswith(CODE):
                files.append(_file_of(text.removeprefix(CODE)))
            elif text.startswith(VERSION):
                files.append(_file_of(plan.module_name))
            else:
                files += _of_what_is_named(text, same) or [_place(plan, text)]
    return list(dict.fromkeys(files))


def _key(text: str) -> str:
    """Return the setting that a change is of, or an empty text."""
    return text.removeprefix(SETTING).partition(" ")[0] if text.startswith(SETTING) else ""


def _place(plan: Plan, text: str) -> str:
    """Return where a setting or the seed was changed: the option that was just given for it, or the study file."""
    key, given = _key(text), plan.request
    if key in given.settings:
        return f"the command line (--set {key})"
    return "the command line (--seed)" if text.startswith("seed ") and given.seed is not None else plan.study_file.shown


def _of_what_is_named(text: str, same: Mapping[str, Any]) -> list[str]:
    """Return the files whose content a setting is a hash of, if settings that are the ``same`` name them.

    The hash of own code is of the file of a function and of all own ones that it imports: they are named with it.
    """
    key = _key(text)
    if key.endswith(DATA):
        return [str(same[name])] if same.get(name := key.removesuffix(DATA)) else []
    old = text.rpartition(" -> ")[0]
    files = []
    for name in same.values() if key == OWN_CODE and old else ():
        if not (isinstance(name, str) and own.is_path(name)):
            continue
        if (code := own.code(name)) and code not in old:
            files += [_file_of(file) for file in own_files.hashes(name.partition(":")[0])]
    return files


def _file_of(name: str) -> str:
    """Return a module, or a file of :func:`moestat.own_files.hashes`, as its file is printed, or its name."""
    spec = own_files.spec(own_files.module_of(name))
    return shown_path(Path(spec.origin)) if spec is not None and spec.origin else name
