"""Every setting of an experiment: its type, its default, what is allowed and what it means; from its JSON schema."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from moestat import own_files
from moestat.errors import InputError
from moestat.runner import experiments
from moestat.sentences import listed, nearest

LIMITS = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
LIMITS |= {"pattern": "like"}
PLAIN = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text", "null": ""}


class Row(NamedTuple):
    """One setting, in words."""

    key: str
    kind: str
    default: str
    allowed: str
    meaning: str


def rows(model: type[BaseModel]) -> list[Row]:
    """Return one row for each setting of a model."""
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
        if meaning != field.description:  # a docstring is a sentence
            meaning = meaning[:1].lower() + meaning[1:]
        table.append(Row(name, " or ".join(kinds), default, allowed, meaning))
    return table


def of_experiment(name: str) -> tuple[str, list[Row]]:
    """Return what an experiment computes, in a sentence, and its settings; of moestat by name, or by import path.

    Raises InputError if there is none of that name; the message names the nearest.
    """
    built_in = experiments.own_experiments()
    if name not in built_in and "." not in name and not experiments.importable(name):
        raise InputError(
            f"there is no experiment {name!r}{nearest(name, built_in) or ';'} they are {listed(built_in)}, "
            "and any import path"
        )
    module = experiments.load(built_in.get(name, name), "settings")
    return _first(module.__doc__), rows(module.Settings)


def about(name: str) -> str:
    """Return what an experiment of moestat computes, in a sentence; its module is read, not imported."""
    path = own_files.STUDIES.joinpath(*experiments.own_experiments()[name].split(".")[1:])
    return _first(ast.get_docstring(ast.parse(path.with_suffix(".py").read_text(encoding="utf-8"))))


def _first(text: str | None) -> str:
    return (text or "").strip().split("\n\n")[0].replace("\n", " ")


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
