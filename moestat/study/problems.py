"""From pydantic's errors to sentences that name the key, what is wrong and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from moestat.sentences import listed, nearest, show

Loc = tuple[int | str, ...]


def path_text(loc: Loc) -> str:
    """Write a location: ``arms[1].settings.gate``."""
    text = ""
    for part in loc:
        word = str(part) if str(part).isprintable() and part != "" else repr(part)
        text += f"[{part}]" if isinstance(part, int) else f".{word}" if text else word
    return text


def problems(error: ValidationError, model: type[BaseModel], raw: object) -> list[tuple[Loc, str]]:
    """Turn a validation error into (location, sentence) pairs, one for each location."""
    sentences: dict[Loc, str] = {}
    for item in error.errors(include_url=False, include_context=True):
        loc = _in_data(raw, tuple(item["loc"]), item["type"])
        sentence = _sentence(item, loc, model)
        if loc in sentences and item["type"] not in ("extra_forbidden", "missing"):
            sentence = f"is {show(item.get('input'))}, which is none of the types allowed here"
        sentences[loc] = sentence
    return list(sentences.items())


def _in_data(raw: object, loc: Loc, kind: str) -> Loc:
    """Drop the parts of pydantic's location that are no keys of the data (union members, ``[key]``)."""
    kept: Loc = ()
    here: Any = raw
    for part in loc:
        known = range(len(here)) if isinstance(here, list | tuple) else here if isinstance(here, Mapping) else ()
        if part in known:
            here, kept = here[part], (*kept, part)
        elif kind == "missing":
            return *kept, part
    return kept


def _sentence(item: Mapping[str, Any], loc: Loc, model: type[BaseModel]) -> str:
    kind, value = item["type"], item.get("input")
    if kind == "extra_forbidden":
        allowed = _allowed(model, loc)
        return f"is an unknown key{nearest(str(loc[-1]), allowed) or ';'} allowed here are {listed(allowed)}"
    if kind == "missing":
        return "is missing"
    if kind in ("literal_error", "enum"):
        expected = str(item["ctx"]["expected"])
        words = [word.strip(" '") for word in expected.replace(" or ", ",").split(",")]
        hint = nearest(value, words) if isinstance(value, str) else ""
        return f"is {show(value)}{hint or ';'} allowed are {expected}"
    message = str(item["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    message = message.partition(", unable to parse")[0]
    if isinstance(value, Mapping) and kind in ("value_error", "assertion_error"):
        return message
    return f"is {show(value)}: {message[:1].lower()}{message[1:]}"


def _allowed(model: type[BaseModel] | None, loc: Loc) -> list[str]:
    """Return the keys that are allowed in the table that holds the last part of ``loc``."""
    for part in loc[:-1]:
        if model is not None and part in model.model_fields:
            model = _model_in(model.model_fields[str(part)].annotation)
    return [] if model is None else list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model that a field, or the items of it, are of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inside in get_args(annotation) if (found := _model_in(inside))), None)
