"""In which files, or options, the change is that makes results stale: what a user is to look at."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moestat import fingerprint, own
from moestat.runner.plan import Plan
from moestat.source.names import NoCodeError
from moestat.study.load import shown_path

CODE = "the code of "
SETTING = "setting "
OWN_CODE = "own_code"
"""The setting that holds a hash of the code of the user's own functions."""
DATA = "_sha256"
"""How a setting is called that holds a hash of the file (or folder) that another setting names."""
PACKAGE = __name__.partition(".")[0]


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
            else:
                files += _of_what_is_named(text, same) or [_place(plan, text)]
    return list(dict.fromkeys(files))


def _key(text: str) -> str:
    """Return the setting that a change is of, or an empty text."""
    return text.removeprefix(SETTING).partition(" ")[0] if text.startswith(SETTING) else ""


def _place(plan: Plan, text: str) -> str:
    """Return where a setting or the seed was changed: the option that was just given for it, or the study file."""
    key, given = _key(text), plan.overrides
    if key in given.settings:
        return f"the command line (--set {key})"
    return "the command line (--seed)" if text.startswith("seed ") and given.seed is not None else plan.study_file.shown


def _of_what_is_named(text: str, same: Mapping[str, Any]) -> list[str]:
    """Return the files whose content a setting is a hash of, if settings that are the ``same`` name them.

    The hash of own code is of all that a function uses, so the user's own modules that its module imports are named
    with it.
    """
    key = _key(text)
    if key.endswith(DATA):
        return [str(same[name])] if same.get(name := key.removesuffix(DATA)) else []
    old = text.rpartition(" -> ")[0]
    files = []
    for name in same.values() if key == OWN_CODE and old else ():
        if not (isinstance(name, str) and own.is_path(name)):
            continue
        module, _, function = name.partition(":")
        try:
            code = fingerprint.fingerprint(module, [function])
        except NoCodeError:
            continue
        if fingerprint.digest(code) not in old:
            others = sorted(other for other in fingerprint.modules_of(code) if other != module)
            files += [_file_of(one) for one in [module, *others] if one.partition(".")[0] != PACKAGE]
    return files


def _file_of(module: str) -> str:
    """Return the file of a module as it is printed, or its name."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    return shown_path(Path(spec.origin)) if spec is not None and spec.origin else module
