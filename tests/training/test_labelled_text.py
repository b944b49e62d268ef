"""Texts with a class or a number each: CSV files, ids, splits."""

import csv

import numpy as np
import pytest

from moestat.training.labelled_text import LabelledTextError, holdout, read_csv

GOOD = 'text,label,stars\n"Good, really",pos,4.5\nbad,neg,1\n"two\nlines",pos,3\n'


def write(tmp_path, content):
    path = tmp_path / "reviews.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_classes_and_numbers(tmp_path):
    path = write(tmp_path, GOOD)
    found = read_csv(path, task="classification")
    assert found.texts == ("Good, really", "bad", "two\nlines")
    assert found.classes == ("neg", "pos")
    assert found.target.tolist() == [1, 0, 1]
    assert found.task == "classification"
    numbers = read_csv(path, target="stars", task="regression")
    assert numbers.target.tolist() == [4.5, 1.0, 3.0]
    assert numbers.classes == () and numbers.task == "regression"
    part = found.take(np.array([2, 0]))
    assert part.texts == ("two\nlines", "Good, really") and part.classes == found.classes


def test_what_the_csv_module_writes_is_read_back(tmp_path):
    texts = ['says "hi", twice', "a\r\nb", "é ü 漢字", "x" * 200_000]
    path = tmp_path / "own.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["label", "text"], *(["a" if i else "b", t] for i, t in enumerate(texts))])
    before = csv.field_size_limit()
    assert read_csv(path, task="classification").texts == tuple(texts)
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("content", "task", "message"),
    [
        ("", "classification", "the file is empty"),
        ("text,label\n", "classification", "no row of data"),
        (
            "review,label\na,b\n",
            "classification",
            "row 1: there is no column 'text'; .* 'review', 'label'",
        ),
        ("text,label\na,x\nb\n", "classification", "row 3: the row is cut off"),
        ('text,label\na,x\n"b, and so', "classification", "row 3: not CSV .*cut off"),
        ("text,label\na,x\nb,  \n", "classification", "row 3, column 'label': the field is empty"),
        ("text,label\na,x\nb,x\n", "classification", "column 'label': every row is of the class 'x'"),
        ("text,label\na,1\nb,two\n", "regression", "row 3, column 'label': 'two' is not a finite number"),
        ("text,label\na,1\nb,1.0\n", "regression", "column 'label': every number is 1; there is nothing to predict"),
        (b"text,label\na,x\nb\xe9,y\n", "classification", "line 3: the byte 0xe9 is not UTF-8"),
    ],
)
def test_bad_files_are_refused_with_their_place(tmp_path, content, task, message):
    path = write(tmp_path, content)
    with pytest.raises(LabelledTextError, match=message) as caught:
        read_csv(path, task=task)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(LabelledTextError, match="none.csv: cannot be read"):
        read_csv(tmp_path / "none.csv", task="regression")


def test_holdout_is_a_split_and_depends_on_the_generator_alone():
    train, test = holdout(50, 0.2, np.random.default_rng(1))
    assert sorted([*train, *test]) == list(range(50)) and test.size == 10
    again = holdout(50, 0.2, np.random.default_rng(1))
    assert (again[0] == train).all()
    assert (holdout(50, 0.2, np.random.default_rng(2))[1] != test).any()
    with pytest.raises(LabelledTextError, match="2 rows cannot be split"):
        holdout(2, 0.1, np.random.default_rng(1))
