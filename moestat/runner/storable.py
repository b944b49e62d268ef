"""What a results file gives back bit for bit, and what it would not: names, attributes and values, in sentences.

netCDF and the libraries that read it give a meaning to some attributes (``scale_factor`` multiplies the values) and
know no NUL in a text and no slash in a name; gaps among integers are NaN, which needs a float. What would come back as
something else is refused when the experiment returns it, not when weeks of results are collected.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from moestat.sentences import show

LARGEST = 2**53
"""Integers up to this one are exact as floats, which they become where replicates are missing."""

MOST_ENTRIES = 1000
"""Numbers or texts in one attribute."""

DECODED = frozenset({"scale_factor", "add_offset", "missing_value", "coordinates", "dtype", "char_dim_name"})
"""Attributes by which readers of netCDF change values, or which they take away."""

OWNED = frozenset({"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"})
"""Attributes that HDF5 writes itself."""


def name_problem(name: object) -> str:
    """Say why a name of a variable, dimension or attribute cannot be kept, or return an empty text."""
    if not isinstance(name, str):
        return f"is {show(name)}, which is no text"
    if not name or name.strip() != name or name in (".", "..") or name.startswith("_nc4_non_coord_"):
        return f"is {show(name)}; allowed is a word, without spaces around it"
    if "/" in name or not name.isprintable():  # that covers NUL, line ends and lone surrogates
        return f"is {show(name)}; allowed are printable characters without '/'"
    return ""


def attribute_problem(name: object, value: object) -> str:
    """Say why an attribute of a variable cannot be kept, or return an empty text."""
    if problem := name_problem(name):
        return problem
    if name in DECODED or name in OWNED or str(name).startswith("_"):
        return f"is {show(name)}, which readers of netCDF interpret or write themselves; choose another name"
    entries: list[Any] = value if isinstance(value, list) else [value]
    if name == "units" and any(isinstance(entry, str) and "since" in entry for entry in entries):
        return f"'units' is {show(value)}, which readers of netCDF turn into dates; write the date into 'long_name'"
    if not 1 <= len(entries) <= MOST_ENTRIES:
        return f"'{name}' has {len(entries)} entries; allowed are 1 to {MOST_ENTRIES}"
    if all(isinstance(entry, str) for entry in entries):
        problem = next((text_problem(entry) for entry in entries if text_problem(entry)), "")
        return f"'{name}' {problem}" if problem else ""
    numbers = all(isinstance(entry, int | float) and not isinstance(entry, bool) for entry in entries)
    if not numbers:
        return f"'{name}' is {show(value)}; allowed are text, numbers, and lists of the one or the other"
    mixed = len({type(entry) for entry in entries}) > 1
    if not all(_exact(entry, LARGEST if mixed else 2**63 - 1) for entry in entries):
        return f"'{name}' is {show(value)}; allowed are integers of 64 bits, beside floats of 53"
    return ""


def text_problem(text: str) -> str:
    """Say why a text cannot be kept, or return an empty text."""
    if "\0" in text:
        return f"holds a NUL character: {show(text)}"
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"holds a lone surrogate, which is no character: {show(text)}"
    return ""


def values_problem(values: np.ndarray) -> str:
    """Say why the values of a variable cannot be kept, or return an empty text."""
    kind = values.dtype.kind
    if kind in "OUT":
        flat = values.ravel().tolist()
        if not all(isinstance(entry, str) for entry in flat):
            return "holds Python objects; allowed are numbers, truth values and text"
        return next((problem for entry in flat if (problem := text_problem(entry))), "")
    if kind not in "biufc":
        return f"is of type {values.dtype}; allowed are numbers, truth values and text"
    if kind in "fc" and values.dtype.itemsize > 8 * (1 + (kind == "c")):
        return (
            f"is of type {values.dtype}; allowed are numbers of at most 64 bits (convert it to float64 or complex128)"
        )
    if kind in "iu" and values.size and not (_exact(int(values.min())) and _exact(int(values.max()))):
        return (
            "holds an integer beyond 2**53, which is not exact where a gap makes floats of integers; return it as text"
        )
    return ""


def labels_problem(labels: np.ndarray) -> str:
    """Say why values cannot label a dimension, or return an empty text: labels are looked up by their value."""
    if labels.dtype.kind == "c":
        return "has complex labels; allowed are numbers and text"
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        return "has a label that is not finite"
    entries = labels.tolist()
    if len(set(entries)) < len(entries):
        return "has a label twice"
    return ""


def plain(value: Any) -> Any:
    """Return an attribute's value without NumPy's types: scalars as numbers, arrays of one dimension as lists."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim <= 1):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [plain(entry) for entry in value]
    return value


def readable(text: str) -> str:
    """Return a text that can be kept: what cannot be is written as its escape."""
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def _exact(number: int | float, largest: int = LARGEST) -> bool:
    return isinstance(number, float) or -largest <= number <= largest
