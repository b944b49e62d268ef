"""Texts with a class or a number each, from a CSV file of the user's.

The first row names the columns. A file that is not what it should be is refused with one sentence that names the file
and the row (counted as a spreadsheet does: the header is row 1) and, where it is one, the column.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from moestat import bounded
from moestat.bounded import DataFileError

Task = Literal["classification", "regression"]

LabelledTextError = DataFileError  #: A file of labelled texts cannot be used; the message names it and says why.

LONGEST_FIELD = 10_000_000  #: Characters of a field; the csv module stops at 131 072.


@dataclass(frozen=True)
class LabelledText:
    """Texts and what is to be predicted of each."""

    texts: tuple[str, ...]
    target: np.ndarray  #: (n,), int64 numbers of classes, or float64 for a regression.
    classes: tuple[str, ...] = ()  #: Names of the classes in order; empty for a regression.

    @property
    def task(self) -> Task:
        """What is to be predicted: a class or a number."""
        return "classification" if self.classes else "regression"

    def take(self, rows: np.ndarray) -> LabelledText:
        """Return some of the texts; the classes stay as they are."""
        return LabelledText(tuple(self.texts[i] for i in rows), self.target[rows], self.classes)


def read_csv(path: str | Path, *, text: str = "text", target: str = "label", task: Task) -> LabelledText:
    """Read two columns of a CSV file (UTF-8, commas, a header, fields with commas or line breaks in double quotes).

    The target is the name of a class or a number, by ``task``. A :class:`LabelledTextError` says that the file cannot
    be read or is too large, a column is missing, a row is cut off or has too many fields, a text or target is empty, a
    number is none, there is one class only or all numbers are equal.
    """
    path = Path(path)
    rows = _rows(path)
    if not any(rows):
        raise LabelledTextError(f"{path}: the file is empty; its first row must name the columns")
    header = [name.strip() for name in rows[0]]
    for name in (text, target):
        count = header.count(name)
        if count != 1:
            what = "there is no column" if not count else f"there are {count} columns"
            there = ", ".join(map(repr, header))
            raise LabelledTextError(f"{path}, row 1: {what} {name!r}; the columns are {there}")
    places = [header.index(name) for name in (text, target)]
    if not any(rows[1:]):
        raise LabelledTextError(f"{path}: there is a header but no row of data")
    texts, values = [], []
    numbers = [number for number, row in enumerate(rows[1:], 2) if row]  # a blank line is no row of data
    for number in numbers:
        row = rows[number - 1]
        if len(row) != len(header):
            what = "is cut off or lacks fields" if len(row) < len(header) else "has too many fields"
            what += f"; it has {len(row)}, the header {len(header)} (a field with a comma must be in double quotes)"
            raise LabelledTextError(f"{path}, row {number}: the row {what}")
        for name, place in zip((text, target), places, strict=True):
            if not row[place].strip():
                raise LabelledTextError(f"{path}, row {number}, column {name!r}: the field is empty")
        texts.append(row[places[0]])
        values.append(row[places[1]].strip())
    if task == "classification":
        coded = labelled(texts, values)
        if len(coded.classes) == 1:
            what = f"every row is of the class {coded.classes[0]!r}; at least two are needed"
            raise LabelledTextError(f"{path}, column {target!r}: {what}")
        return coded
    return LabelledText(tuple(texts), _numbers(path, target, values, numbers))


def labelled(texts: Sequence[str], labels: Sequence[str]) -> LabelledText:
    """Return texts with named classes, in the order that :func:`read_csv` gives them."""
    names, index = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    return LabelledText(tuple(texts), index.astype(np.int64), tuple(map(str, names)))


def holdout(count: int, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Split ``count`` rows at random into training and test rows, both sorted."""
    held = round(share * count)
    if not 0 < held < count:
        raise LabelledTextError(f"{count} rows cannot be split with a test share of {share:g}: one part is empty")
    order = rng.permutation(count)
    return np.sort(order[held:]), np.sort(order[:held])


def _rows(path: Path) -> list[list[str]]:
    raw = bounded.read(path)
    try:
        content = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise LabelledTextError(
            f"{path}, line {line}: the byte 0x{raw[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        ) from None
    before = csv.field_size_limit(LONGEST_FIELD)
    rows: list[list[str]] = []
    try:
        rows.extend(csv.reader(io.StringIO(content, newline=""), strict=True))
    except csv.Error as error:
        cut = "a quotation mark is never closed, as in a file that is cut off" if "end of data" in str(error) else error
        raise LabelledTextError(f"{path}, row {len(rows) + 1}: not CSV ({cut})") from None
    finally:
        csv.field_size_limit(before)
    return rows


def _numbers(path: Path, column: str, values: list[str], numbers: list[int]) -> np.ndarray:
    out = np.empty(len(values))
    for i, value in enumerate(values):
        try:
            out[i] = float(value)
        except ValueError:
            out[i] = math.nan
        if not math.isfinite(out[i]):
            raise LabelledTextError(f"{path}, row {numbers[i]}, column {column!r}: {value!r} is not a finite number")
    if np.all(out == out[0]):
        raise LabelledTextError(f"{path}, column {column!r}: every number is {values[0]}; there is nothing to predict")
    return out
