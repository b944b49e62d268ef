"""Every setting of an experiment: its type, its default, what is allowed and what it means; from its JSON schema."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from moestat.errors import InputError
from moestat.runner import experiments
from moestat.sentences import listed, nearest

LIMITS = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
PLAIN = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text"}
PLAIN |= {"array": "list", "null": ""}


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
        choices = [json.dumps(v) for branch in branches for v in branch.get("enum", ()) or _constant(branch)]
        limits = [f"{word} {branch[k]:g}" for branch in branches for k, word in LIMITS.items() if k in branch]
        limits += [f"like {branch['pattern']}" for branch in branches if "pattern" in branch]
        allowed = "; ".join(part for part in (", ".join(choices), " and ".join(limits)) if part)
        given = None if field.is_required() else field.get_default(call_default_factory=True)
        default = "required" if field.is_required() else "" if given is None else _text(given)
        meaning = (field.description or "").rstrip(".")
        if field.description and field.description.endswith("."):  # a docstring is a sentence
            meaning = meaning[:1].lower() + meaning[1:]
        table.append(Row(name, " or ".join(kinds), default, allowed, meaning))
    return table


def of_experiment(name: str) -> tuple[str, list[Row]]:
    """Return what an experiment computes, in a sentence, and its settings; of moestat by name, or by import path.

    Raises
    ------
    InputError
        If there is none of that name; the message names the nearest.
    """
    built_in = experiments.own_experiments()
    if name not in built_in and "." not in name and not experiments.importable(name):
        raise InputError(
            f"there is no experiment {name!r}{nearest(name, built_in) or ';'} they are {listed(built_in)}, "
            "and any import path"
        )
    module = experiments.load(built_in.get(name, name), "settings")
    return _first(module.__doc__ or ""), rows(module.Settings)


def about(name: str) -> str:
    """Return what an experiment of moestat computes, in a sentence; its module is read, not imported."""
    path = Path(__file__).resolve().parents[1].joinpath(*experiments.own_experiments()[name].split(".")[1:])
    return _first(ast.get_docstring(ast.parse(path.with_suffix(".py").read_text(encoding="utf-8"))) or "")


def _first(text: str) -> str:
    return text.strip().split("\n\n")[0].replace("\n", " ")


def _branches(told: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the alternatives of a type."""
    if "anyOf" not in told:
        yield told
    for branch in told.get("anyOf", ()):
        yield from _branches(branch)


def _constant(told: Mapping[str, Any]) -> list[Any]:
    return [told["const"]] if "const" in told else []


def _kind(told: Mapping[str, Any]) -> str:
    if told.get("type") == "array":
        items = told.get("items") or told["prefixItems"][0]
        inner = [PLAIN.get(branch.get("type", ""), "value") for branch in _branches(items)]
        return f"list of {' or '.join(f'{word}s' for word in inner if word)}"
    return PLAIN.get(told.get("type", ""), "value" if {"enum", "const"} & told.keys() else "table")


def _text(value: Any) -> str:
    """Return a default as it would be written."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False, default=str)
