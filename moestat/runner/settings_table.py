"""Every setting of an experiment: its type, its default, what is allowed and what it means."""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from moestat.errors import InputError
from moestat.runner import experiments
from moestat.sentences import listed, nearest

LIMITS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
PLAIN = {"int": "whole number", "float": "number", "bool": "true or false", "str": "text", "list": "list"}


class Row(NamedTuple):
    """One setting, in words."""

    key: str
    kind: str
    default: str
    allowed: str
    meaning: str


def rows(model: type[BaseModel]) -> list[Row]:
    """Return one row for each setting of a model."""
    return [_row(name, field) for name, field in model.model_fields.items()]


def of_experiment(name: str) -> tuple[str, list[Row]]:
    """Return what an experiment computes, in a sentence, and its settings.

    Parameters
    ----------
    name : str
        Name of an experiment of moestat, or an import path.

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


def _row(name: str, field: FieldInfo) -> Row:
    kinds = list(_kinds(field.annotation))
    limits = " and ".join(_limits(field.metadata))
    choices = list(_choices(field.annotation))
    allowed = "; ".join(part for part in (", ".join(choices), limits) if part)
    default = "required" if field.is_required() else _toml(field.get_default(call_default_factory=True))
    meaning = (field.description or "").rstrip(".")
    if field.description and field.description.endswith("."):  # a docstring is a sentence
        meaning = meaning[:1].lower() + meaning[1:]
    return Row(name, " or ".join(dict.fromkeys(kinds)), default, allowed, meaning)


def _kinds(annotation: Any) -> Iterable[str]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _kinds(arguments[0])
    elif origin in (Union, types.UnionType):
        for member in arguments:
            yield from _kinds(member)
    elif origin is Literal:
        yield "text" if all(isinstance(value, str) for value in arguments) else "value"
    elif origin in (list, tuple, set, frozenset):
        inner = [member for member in arguments if member is not Ellipsis]
        yield f"list of {PLAIN.get(getattr(inner[0], '__name__', ''), 'value')}s" if inner else "list"
    elif origin is dict or annotation is dict:
        yield "table"
    elif annotation is type(None):
        return
    else:
        yield PLAIN.get(getattr(annotation, "__name__", ""), "table")


def _choices(annotation: Any) -> Iterable[str]:
    if get_origin(annotation) is Literal:
        yield from (_toml(value) for value in get_args(annotation))
    elif get_origin(annotation) in (Annotated, Union, types.UnionType):
        for member in get_args(annotation):
            yield from _choices(member)


def _limits(metadata: Iterable[Any]) -> Iterable[str]:
    for item in metadata:
        for bound, words in LIMITS.items():
            value = getattr(item, bound, None)
            if value is not None:
                yield f"{words} {value:g}" if isinstance(value, int | float) else f"{words} {value}"
        pattern = getattr(item, "pattern", None)
        if pattern is not None:
            yield f"like {re.compile(pattern).pattern}"


def _toml(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
