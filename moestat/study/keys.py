"""The keys of a study file, table by table, with default and meaning: read from its schema."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from moestat.errors import InputError
from moestat.sentences import listed, nearest
from moestat.study import spec

TOP = "Top level"
TABLES: dict[str, type[BaseModel]] = {
    TOP: spec.Study,
    "[[arms]]": spec.Arm,
    "[presets.NAME]": spec.Preset,
    "[[rates]]": spec.Rate,
    "[[parameters]]": spec.Parameter,
    "[[claims]]": spec.Claim,
    "[[findings]]": spec.Finding,
    "[[figures]]": spec.Figure,
    "[[figures.panels]]": spec.Panel,
}
"""How a study file begins a table -> what is allowed in it."""


class Key(NamedTuple):
    """One key, in words."""

    key: str
    default: str
    meaning: str


def name_of(title: str) -> str:
    """Return how a table is asked for.

    >>> name_of("[[figures.panels]]"), name_of("[presets.NAME]"), name_of("Top level")
    ('figures.panels', 'presets', 'top')
    """
    return "top" if title == TOP else title.strip("[]").removesuffix(".NAME")


def find(name: str) -> str:
    """Return the title of the table of a name, as it is or as the study file has it: ``claims``, ``[[claims]]``.

    Raises
    ------
    InputError
        If there is none.
    """
    titles = {name_of(title): title for title in TABLES}
    bare = name.strip("[] ")
    bare = "presets" if bare.startswith("presets.") else bare
    if bare not in titles:
        raise InputError(f"there is no table {name!r}{nearest(bare, titles) or ';'} they are {listed(titles)}")
    return titles[bare]


def about(title: str) -> str:
    """Return what a table is, in a paragraph."""
    return " ".join((TABLES[title].__doc__ or "").split("\n\n")[0].split())


def of(title: str) -> list[Key]:
    """Return the keys of a table; the default is ``required`` for one that must be there, empty for one that need not.

    Texts and lists are written as in a study file.
    """
    return [Key(name, _default(field), _meaning(field)) for name, field in TABLES[title].model_fields.items()]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "" if value in (None, "", [], {}) else _toml(value)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).replace("'", '"') if isinstance(value, list) else repr(value).replace("'", '"')


def _meaning(field: FieldInfo) -> str:
    said, annotation = field.description or "", str(field.annotation)
    if "Literal[" in annotation and "Union" not in annotation:
        inside = annotation.split("Literal[", 1)[1].split("]", 1)[0].replace("'", "")
        said = f"{said}{'; ' if said else ''}one of {inside}"
    return said
