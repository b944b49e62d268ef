"""Tables of one shape, written once with the rows that differ, and expanded when a study file is read.

    [[claims]]
    id = "slope-{gate}-{expert}"
    statement = "With the {gate} gate, {expert} experts converge like n^({predicted})."
    kind = "slope"
    arm = "{gate}-{expert}"
    each = [
      { gate = "softmax", expert = "relu", predicted = -0.24, within = [-0.34, -0.14] },
      { gate = "sigmoid", expert = "relu", predicted = -0.51, within = [-0.61, -0.41] },
    ]

Each row is laid over the table, and makes one table. ``product = { gate = ["softmax", "sigmoid"], n = [100, 200] }``
makes a row of every combination, the last axis fastest; an element that is a table brings several keys at once. With
both, ``each`` is the slowest. Keys that are no field of the schema are there for ``{key}`` alone.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from moestat.errors import InputError
from moestat.sentences import listed, nearest, show

MOST = 10_000
"""Tables that one template may make."""

BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
NAMING = ("id", "name")
"""Fields by which the tables of a list are told apart."""


class TemplateError(InputError):
    """A template that cannot be expanded: the message names the table, the row and the key."""


def expand(raw: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Return the content of a study file with every template replaced by the tables it stands for.

    Parameters
    ----------
    raw : mapping
        The content of the file. A list of anything but tables is left as it is, for the schema to refuse.
    model : type of BaseModel
        The schema: its fields that are lists of tables may hold templates, and so may the fields of those tables.

    Raises
    ------
    TemplateError
        A ``{key}`` that is defined nowhere or by itself, a key that is used nowhere, two tables of the same name, a
        brace that stands alone, or rows that are no tables.
    """
    return _lists(raw, model, "", None)


@dataclass
class _Scope:
    """What ``{key}`` means in one table: its own keys, then those of the template around it."""

    place: str
    cells: dict[str, Any]
    outer: _Scope | None = None
    used: set[str] = field(default_factory=set)
    looking_up: list[str] = field(default_factory=list)

    def value(self, key: str, where: str) -> Any:
        """Return what stands for ``{key}``, itself filled."""
        if key not in self.cells:
            if self.outer is not None:
                return self.outer.value(key, where)
            raise TemplateError(
                f"{where} places {{{key}}}, which neither the table nor its row defines"
                f"{nearest(key, self.cells) or ';'} they define {listed(self.cells)}; a brace is written {{{{"
            )
        if key in self.looking_up:
            raise TemplateError(f"{where} places {{{key}}}, which is defined by itself")
        self.used.add(key)
        self.looking_up.append(key)
        try:
            return self.fill(self.cells[key], f"{self.place}.{key}")
        finally:
            self.looking_up.pop()

    def fill(self, value: Any, where: str) -> Any:
        """Replace every ``{key}`` in ``value``; a text that is one ``{key}`` and nothing else keeps its type."""
        if isinstance(value, str):
            return self._text(value, where)
        if isinstance(value, list):
            return [self.fill(item, where) for item in value]
        if isinstance(value, Mapping):
            filled = {str(self.fill(key, where)): self.fill(item, f"{where}.{key}") for key, item in value.items()}
            if len(filled) < len(value):
                raise TemplateError(f"{where} has a key twice once its keys are filled: {listed(filled)}")
            return filled
        return value

    def _text(self, text: str, where: str) -> Any:
        whole = BRACES.fullmatch(text)
        if whole is not None and whole[1] is not None:
            return self.value(whole[1], where)

        def replace(match: re.Match[str]) -> str:
            if match[0] in ("{{", "}}"):
                return match[0][0]
            if match[1] is None:
                raise TemplateError(f"{where} holds a brace that stands alone: write {match[0] * 2} for {match[0]}")
            value = self.value(match[1], where)
            if isinstance(value, list | Mapping):
                raise TemplateError(
                    f"{where} places {{{match[1]}}} inside a text, where it is {show(value)}; "
                    "allowed are text and numbers"
                )
            return str(value).lower() if isinstance(value, bool) else str(value)

        return BRACES.sub(replace, text)


def _lists(table: Mapping[str, Any], model: type[BaseModel], place: str, outer: _Scope | None) -> dict[str, Any]:
    """Expand the lists of tables in one table."""
    table = dict(table)
    for key, inner in _lists_of(model).items():
        if isinstance(table.get(key), list):
            where = f"{place}.{key}" if place else key
            table[key] = [
                expanded
                for i, item in enumerate(table[key])
                for expanded in (_tables(item, inner, f"{where}[{i}]", outer) if isinstance(item, Mapping) else [item])
            ]
    return table


def _lists_of(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Return the fields of a schema that are lists of tables."""
    lists = {}
    for name, info in model.model_fields.items():
        inner = get_args(info.annotation)[:1] if get_origin(info.annotation) is list else ()
        if inner and isinstance(inner[0], type) and issubclass(inner[0], BaseModel):
            lists[name] = inner[0]
    return lists


def _tables(
    table: Mapping[str, Any], model: type[BaseModel], place: str, outer: _Scope | None
) -> Iterator[dict[str, Any]]:
    """Return the tables that one table stands for: itself, or one for each row."""
    lists, fields = _lists_of(model), model.model_fields
    if "each" not in table and "product" not in table:
        own = _lists(table, model, place, outer)
        yield own if outer is None else _filled(own, lists, _Scope(place, own, outer))
        return
    shared = {key: value for key, value in table.items() if key not in ("each", "product")}
    extra: set[str] = set()
    used: set[str] = set()
    names: dict[str, str] = {}
    for row_place, row in _rows(table, place):
        scope = _Scope(f"{place}{row_place}", _laid_over(shared, row), outer)
        own = _lists({key: value for key, value in scope.cells.items() if key in fields}, model, place, scope)
        filled = _filled(own, lists, scope)
        extra |= scope.cells.keys() - fields.keys()
        used |= scope.used
        name = next((str(filled[key]) for key in NAMING if key in filled), "")
        if name and name in names:
            raise TemplateError(
                f"{place}: the rows {names[name]} and {row_place.lstrip('.')} both make {name!r}; "
                "place a key that differs in it"
            )
        names[name] = row_place.lstrip(".")
        yield filled
    for key in sorted(extra - used):
        raise TemplateError(
            f"{place}: the key {key!r} is used nowhere{nearest(key, fields) or ';'} place it in a text as {{{key}}}, "
            f"or name a field of the table: {listed(fields)}"
        )


def _filled(table: Mapping[str, Any], lists: Iterable[str], scope: _Scope) -> dict[str, Any]:
    """Fill a table; its lists of tables are filled already, each in its own scope."""
    return {key: value if key in lists else scope.value(key, f"{scope.place}.{key}") for key, value in table.items()}


def _laid_over(shared: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Lay a row over the table; where both hold a table under one key, the two are joined."""
    both = dict(shared)
    for key, value in row.items():
        old = both.get(key)
        both[key] = {**old, **value} if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return both


def _rows(table: Mapping[str, Any], place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return each row of a template with its place in the file."""
    each, product = table.get("each", [{}]), table.get("product", {})
    if not isinstance(each, list) or not each or not all(isinstance(row, Mapping) for row in each):
        raise TemplateError(f"{place}.each is {show(each)}; allowed is a list of tables, one for each row")
    if not isinstance(product, Mapping) or not all(isinstance(v, list) and v for v in product.values()):
        raise TemplateError(f"{place}.product is {show(product)}; allowed is a table of lists, none of them empty")
    if len(each) * math.prod(len(values) for values in product.values()) > MOST:
        raise TemplateError(f"{place} stands for more than {MOST} tables")
    for i, row in enumerate(each):
        for chosen in itertools.product(*(enumerate(values) for values in product.values())):
            parts = [row]
            parts += [v if isinstance(v, Mapping) else {key: v} for key, (_, v) in zip(product, chosen, strict=True)]
            where = [f".each[{i}]"] if "each" in table else []
            where += [f".product.{key}[{j}]" for key, (j, _) in zip(product, chosen, strict=True)]
            place_of_row = " and ".join(where)
            cells: dict[str, Any] = {}
            for part in parts:
                for key in sorted(cells.keys() & part.keys()):
                    if not (isinstance(cells[key], Mapping) and isinstance(part[key], Mapping)):
                        raise TemplateError(f"{place}{place_of_row} give the key {key!r} twice")
                cells = _laid_over(cells, part)
            yield place_of_row, cells
