"""What is proved of an item of a paper: verdicts by argument, beside those by simulation.

They are ``arguments.py`` in the folder of the paper, ``studies/<paper>/``, a module with a list ``arguments``. One that
starts from the paper's premises decides its item, whatever simulations say: a counterexample refutes a statement about
every case. Each names a function that computes its identity on drawn instances; the tests run all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from moestat.errors import InputError
from moestat.sentences import nearest
from moestat.study.cells import Cell
from moestat.study.load import executed, shown_path
from moestat.study.spec import Name, Range, Strict


class Premise(Strict):
    """What an argument takes from the paper: its words, and where they stand."""

    words: str
    where: str


class Argument(Strict):
    """One statement on an item of a paper that is proved.

    ``says`` is what is proved, in a sentence, and ``verdict`` what that makes of a ``cell`` of the item: *proved* or
    *disproved*.
    ``derivation`` is its proof, a line each; ``reading`` says which reading of the paper would exclude it. ``check``
    is ``"module:function"``, a function without arguments that returns numbers by name, and ``shows`` the closed
    interval in which each of them must lie.
    """

    id: Name
    item: str
    cell: Cell = "statement"
    says: str
    verdict: Literal["proved", "disproved"]
    premises: list[Premise] = Field(min_length=1)
    derivation: list[str] = Field(min_length=1)
    reading: str
    check: str
    shows: dict[str, Range] = Field(min_length=1)

    @field_validator("check")
    @classmethod
    def _a_path(cls, path: str) -> str:
        if len(path.split(":")) != 2:
            raise ValueError(f"check is {path!r}; allowed is 'module:function'")
        return path

    @property
    def wording(self) -> str:
        """The verdict as it is shown; what is proved of examples proves no statement on every case."""
        part = " for examples" if (self.cell, self.verdict) == ("example", "proved") else ""
        return f"{self.verdict}{part}, by argument"

    def computed(self) -> dict[str, float]:
        """Return what the check computes; its names are those of ``shows``.

        Raises
        ------
        InputError
            If there is no such function, or it returns other names.
        """
        module, name = self.check.split(":")
        found: Callable[[], dict[str, float]] | None = getattr(import_module(module), name, None)
        if found is None:
            raise InputError(f"argument {self.id!r}: check is {self.check!r}; {module} has no {name!r}")
        numbers = found()
        if set(numbers) != set(self.shows):
            raise InputError(f"argument {self.id!r}: {self.check} returns {[*numbers]}, and shows has {[*self.shows]}")
        return numbers

    def holds(self, numbers: dict[str, float]) -> bool:
        """Return whether every number lies where the argument has it."""
        return all(low <= numbers[name] <= high for name, (low, high) in self.shows.items())


def read(path: Path) -> list[Argument]:
    """Read the arguments of a paper; none where there is no such file.

    Raises
    ------
    InputError
        If its list is broken; the message names the file.
    """
    if not path.is_file():
        return []
    found = executed(path).get("arguments")
    if not isinstance(found, list) or not all(isinstance(one, Argument) for one in found):
        raise InputError(f"{shown_path(path)}: its variable arguments must be a list of Argument")
    ids = [one.id for one in found]
    if twice := {one for one in ids if ids.count(one) > 1}:
        raise InputError(f"{shown_path(path)}: the id {min(twice)!r} is there twice")
    return found


def on(item: str, arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments on an item; those that disprove it come first, for one of them decides."""
    return sorted((one for one in arguments if one.item == item), key=lambda one: one.verdict == "proved")


def checked(arguments: Sequence[Argument], items: Sequence[str], where: str) -> list[Argument]:
    """Return the arguments if every one is on an item that there is.

    Raises
    ------
    InputError
        If there is no item of that name.
    """
    for one in arguments:
        if one.item not in items:
            raise InputError(f"{where}: argument {one.id!r} is on {one.item!r}, no item{nearest(one.item, items)}")
    return list(arguments)
