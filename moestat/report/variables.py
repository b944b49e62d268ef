"""The variables that an experiment returns, with their words: what claims, rates and tables of a study may name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import NamedTuple

from moestat import own_files
from moestat.runner import experiments, labels

_ROOMS = ("printed", "models", "fit", "losses", "rates", "identify", "training")
ROOMS = ("studies.", *(f"moestat.{room}" for room in _ROOMS))
"""Those of moestat whose code names what an experiment returns."""


class Row(NamedTuple):
    """One variable, or a pattern whose ``*`` stands for another one, in words."""

    name: str
    meaning: str
    units: str

    @property
    def words(self) -> str:
        """What it is, with its units."""
        return f"{self.meaning} [{self.units}]" if self.units else self.meaning


def of_experiment(name: str) -> list[Row]:
    """Return the variables that are known of an experiment, its own before those that others have as well.

    Known are those of ``variables.toml``, and those that the module itself describes in dicts called ``OF_...`` or
    ``OVER_...``, name -> text, or name -> (..., text).
    """
    module = experiments.own_experiments().get(name, name)
    said = _said(experiments.load(module, "settings"))
    texts = said | {name: text for name, text in labels.texts_of(module).items() if name not in said}
    common = labels.texts_of("").keys() - said
    modules = own_files.closure([module], lambda n: n.startswith(ROOMS) or own_files.is_own(n))
    words = {word for name in modules for word in re.findall(r"\w+", own_files.source(name))}
    named = [n for n in texts if n not in common or n.replace("*", "") in words or "*" in n]
    names = sorted(named, key=lambda n: n in common)  # stable
    return [Row(n, *_words(*texts[n])) for n in names]


def head(name: str) -> str:
    """Return the sentence above the variables of an experiment."""
    if name in experiments.own_experiments():
        what = "Variables that it returns"
    else:
        what = "Of its variables known by name; the others are those that its run() puts into the dataset"
    return f"{what}, for claims, rates and tables (* stands for another variable or a part of one, as in start_rmse):"


def _said(module: ModuleType) -> dict[str, Sequence[str]]:
    """Return what a module says of its variables itself, which goes before what the tables say."""
    texts: dict[str, Sequence[str]] = {}
    for constant, value in vars(module).items():
        if constant.startswith(("OF_", "OVER_")) and isinstance(value, Mapping):
            last = {name: text[-1] if isinstance(text, tuple) and text else text for name, text in value.items()}
            texts |= {str(name): [text] for name, text in last.items() if isinstance(text, str)}
    return texts


def _words(meaning: str, units: str = "") -> tuple[str, str]:
    """Return the long name and the units; in that of a pattern, ... is the long name of what the star stands for."""
    return meaning.replace("{}", "..."), units
