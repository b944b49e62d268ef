"""Texts: the shipped plays, files by path, the benchmarks' splits, and what is refused."""

import numpy as np
import pytest

from moestat.training import corpus
from moestat.training.corpus import CorpusError


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
