"""Texts: the shipped plays, files by path, the benchmarks' splits, and what is refused."""

import csv
import re

import numpy as np
import pytest

from moestat.training import corpus, reviews
from moestat.training.corpus import CorpusError
from moestat.training.labelled_text import LabelledTextError, holdout, read_csv
from studies.mixture_of_transformers.parts.mot_text import words


def text_of(found: corpus.Corpus, part: str) -> str:
    return "".join(found.symbols[i] for i in getattr(found, part))


def test_the_shipped_plays():
    found = corpus.load()
    assert found.unit == "character" and found.vocabulary == 71
    sizes = [found.train.size, found.valid.size, found.test.size]
    assert sum(sizes) == 2_339_598
    np.testing.assert_allclose(np.array(sizes) / sum(sizes), corpus.SHARES, atol=1e-6)
    assert text_of(found, "train").startswith("The Tragedie of Anthonie, and Cleopatra\n\nActus Primus.")
    assert "exit pursued by a beare" in text_of(found, "test").lower().replace(",", "")


def test_a_text_file_is_read_by_characters(tmp_path):
    text = "Grüße, naïve Welt — 你好!\n" * 40
    path = tmp_path / "own.txt"
    path.write_text(text, encoding="utf-8")
    found = corpus.load(path)
    assert found.unit == "character" and found.symbols == tuple(sorted(set(text)))
    assert "".join(text_of(found, part) for part in corpus.PARTS) == text
    assert found.train.size == round(0.9 * len(text))


@pytest.mark.parametrize("name", ["enwik8", "text8"])
def test_benchmarks_are_bytes_in_their_usual_split(tmp_path, monkeypatch, name):
    monkeypatch.setitem(corpus.BENCHMARKS, name, 1000)
    content = np.random.default_rng(0).integers(0, 256, 1000, dtype=np.uint8)  # 1000 bytes, seldom valid UTF-8
    (tmp_path / name).write_bytes(content.tobytes())
    found = corpus.load(tmp_path / name)
    assert found.unit == "byte"
    assert [found.train.size, found.valid.size, found.test.size] == [900, 50, 50]
    assert [ord(found.symbols[i]) for i in found.test] == content[950:].tolist()


def test_a_truncated_benchmark_is_told(tmp_path):
    (tmp_path / "enwik8").write_bytes(b"a" * 1000)
    with pytest.raises(CorpusError, match="has 1000 bytes; enwik8 has 100000000, so the file is truncated"):
        corpus.load(tmp_path / "enwik8")


def wikitext(folder, train="the cat <unk> the dog\n", valid="the horse\n", test="a dog\n"):
    for part, text in {"train": train, "valid": valid, "test": test}.items():
        (folder / f"wiki.{part}.tokens").write_text(f" \n {text}", encoding="utf-8")
    return folder


def test_wikitext_is_read_by_words(tmp_path):
    found = corpus.load(wikitext(tmp_path))
    assert found.unit == "word" and set(found.symbols) == {"the", "cat", "dog", "<unk>", "<eos>"}
    assert [found.symbols[i] for i in found.train] == ["<eos>", "the", "cat", "<unk>", "the", "dog", "<eos>"]
    assert [found.symbols[i] for i in found.valid] == ["<eos>", "the", "<unk>", "<eos>"]


def test_wikitext_that_is_not_whole_is_told(tmp_path):
    wikitext(tmp_path, train="the cat\n")
    with pytest.raises(CorpusError, match="wiki.valid.tokens: holds a word that is not in the training part"):
        corpus.load(tmp_path)
    (tmp_path / "wiki.test.tokens").unlink()
    with pytest.raises(CorpusError, match="wiki.test.tokens: cannot be read"):
        corpus.load(tmp_path)
    wikitext(tmp_path)
    (tmp_path / "wiki.train.tokens").write_bytes(b"")
    with pytest.raises(CorpusError, match="wiki.train.tokens: the file is empty"):
        corpus.load(tmp_path)
    (tmp_path / "wiki.train.tokens").write_bytes(b"the \xff\n")
    with pytest.raises(CorpusError, match="wiki.train.tokens: is not UTF-8"):
        corpus.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"too short", "too short to be split: it has 9 characters"),
        ("Grüße".encode("latin-1") * 100, r"not UTF-8 text: byte 2 \(0xfc\)"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_in_one_sentence(tmp_path, content, words):
    path = tmp_path / "own.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CorpusError, match=words) as caught:
        corpus.load(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_damaged_shipped_text_is_told(tmp_path, monkeypatch):
    corpus._shipped.cache_clear()
    monkeypatch.setattr(corpus, "SHIPPED_SHA256", "0" * 64)
    with pytest.raises(CorpusError, match="install moestat again"):
        corpus.load()


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


def test_holdout_is_a_split_and_depends_on_the_generator_alone():
    train, test = holdout(50, 0.2, np.random.default_rng(1))
    assert sorted([*train, *test]) == list(range(50)) and test.size == 10
    again = holdout(50, 0.2, np.random.default_rng(1))
    assert (again[0] == train).all()
    assert (holdout(50, 0.2, np.random.default_rng(2))[1] != test).any()
    with pytest.raises(LabelledTextError, match="2 rows cannot be split"):
        holdout(2, 0.1, np.random.default_rng(1))


CLAUSE = re.compile(r"^(unlike )?(\w+) (very |slightly )?(\w+)$")


def read(text):
    """Return (topic, score) of a review, from the grammar as it is documented."""
    of = {noun: topic for topic, nouns in reviews.NOUNS.items() for noun in nouns}
    parts = text.removesuffix(" .").split(" . ")
    found = [None if part in reviews.FILLER else CLAUSE.match(part) for part in parts]
    counting = [m for m in found if m and not m[1]]
    (topic,) = {of[m[2]] for m in counting}
    (other,) = {of[m[2]] for m in found if m and m[1]}
    assert other != topic and sum(m is None for m in found) == 1
    degree = {None: 1.0, "very ": 1.5, "slightly ": 0.5}
    return topic, sum(reviews.sign(m[4], topic) * degree[m[3]] for m in counting)


def test_the_text_tells_everything():
    drawn = reviews.draw(300, np.random.default_rng(3))
    for text, topic, polarity, score in zip(drawn.texts, drawn.topic, drawn.polarity, drawn.score, strict=True):
        assert read(text) == (topic, score)
        assert polarity == ("good" if score > 0 else "bad") and score != 0
    assert max(len(words(text)) for text in drawn.texts) <= 20


def test_targets_and_streams():
    drawn = reviews.draw(60, np.random.default_rng(5))
    assert drawn.target("topic").classes == tuple(reviews.NOUNS)
    assert drawn.target("polarity").classes == ("bad", "good")
    assert drawn.target("score").target is drawn.score
    assert reviews.draw(60, np.random.default_rng(5)).texts == drawn.texts
    assert reviews.draw(60, np.random.default_rng(6)).texts != drawn.texts
    with pytest.raises(ValueError, match="no column 'stars'; they have 'topic'"):
        drawn.target("stars")
