"""Text for language models: the shipped plays, a text file, enwik8, text8, or a folder of WikiText.

A model reads symbols: *bytes* of enwik8 and text8 (as the papers do), *characters* of any other file, *words* of
WikiText. The alphabet is that of the whole file; the parts for training, validation and test are contiguous.
"""

from __future__ import annotations

import hashlib
import lzma
import math
from array import array
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np

from moestat import bounded, data_file
from moestat.bounded import DataFileError

Unit = Literal["character", "byte", "word"]

SHIPPED = "first_folio.txt.xz"
SHIPPED_SHA256 = "a6fddbf7ac2ad0efe85bd93ead7fecad1e35c5a90bd190e63f445a1c96ea5209"
"""Of the text, uncompressed: with it in the code, a changed corpus changes the version of every result."""

BENCHMARKS = {"enwik8": 100_000_000, "text8": 100_000_000}
"""Files of bytes by name, with their sizes (Mahoney 2011): 90, 5 and 5 million bytes are the usual split."""

SHARES = (0.90, 0.05, 0.05)  # of training, validation and test: those of enwik8 and text8, for any file

PARTS = ("train", "valid", "test")
END_OF_LINE = "<eos>"

CorpusError = DataFileError  #: A text cannot be used; the message names the file and says why.


@dataclass(frozen=True)
class Corpus:
    """A text as numbers."""

    name: str  #: The file, or ``"first folio"``.
    unit: Unit  #: What one number stands for.
    symbols: tuple[str, ...]  #: What each number stands for; its length is the size of the vocabulary.
    #: train, valid, test: The three parts, in the order of the text.
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray

    @property
    def vocabulary(self) -> int:
        """Number of different symbols."""
        return len(self.symbols)

    def require(self, length: int) -> Corpus:
        """Return the corpus if every part holds a window of ``length`` symbols."""
        for part in PARTS:
            count = getattr(self, part).size
            if count < length:
                what = f"its {part} part has {count} {self.unit}s, and windows of {length} are asked for"
                raise CorpusError(f"{self.name} is too short: {what}")
        return self


def load(path: str | Path = "") -> Corpus:
    """Read a text: a file (UTF-8), ``enwik8`` or ``text8`` (known by name), or a folder of WikiText; else the plays.

    The folder holds ``wiki.train.tokens``, ``wiki.valid.tokens`` and ``wiki.test.tokens``. A :class:`CorpusError` says
    what cannot be read, is empty, truncated, not UTF-8, or too large to be read whole.
    """
    if not str(path):
        return _shipped()
    path = Path(path).expanduser()
    try:
        stamp = path.stat()
        if path.is_dir():
            return _words(path, max((path / f"wiki.{part}.tokens").stat().st_mtime_ns for part in PARTS))
        return _file(path, bounded.require(path), stamp.st_mtime_ns)
    except OSError as error:
        raise CorpusError(f"{error.filename or path}: cannot be read ({error.strerror or error})") from None


def load_checked(path: str, sha256: str) -> Corpus:
    """Read the text that a cell names together with its checksum, so that results say which data they are of."""
    if path:
        data_file.check(path, sha256)
    return load(path)


@lru_cache(maxsize=1)
def _shipped() -> Corpus:
    try:
        packed = resources.files("moestat.training").joinpath("data", SHIPPED).read_bytes()
        content = lzma.decompress(packed)
    except (OSError, lzma.LZMAError, EOFError) as error:
        raise CorpusError(f"the shipped text {SHIPPED} cannot be read ({error}); install moestat again") from None
    if hashlib.sha256(content).hexdigest() != SHIPPED_SHA256:
        raise CorpusError(f"the shipped text {SHIPPED} is not the one this version came with; install moestat again")
    return _split("first folio", "character", np.frombuffer(content, dtype=np.uint8))


@lru_cache(maxsize=2)
def _file(path: Path, size: int, _mtime: int) -> Corpus:
    if size == 0:
        raise CorpusError(f"{path}: the file is empty")
    content = bounded.read(path)
    wanted = BENCHMARKS.get(path.name)
    if wanted is not None:
        if len(content) != wanted:
            what = "truncated" if len(content) < wanted else "not that file"
            raise CorpusError(f"{path}: has {len(content)} bytes; {path.name} has {wanted}, so the file is {what}")
        return _split(str(path), "byte", np.frombuffer(content, dtype=np.uint8))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start} (0x{content[error.start]:02x})"
        raise CorpusError(f"{path}: is not UTF-8 text: {where} cannot be decoded") from None
    if "\0" in text:
        raise CorpusError(f"{path}: is not a text: character {text.index(chr(0))} is NUL")
    if len(text) < 2 * math.ceil(1 / min(SHARES)):
        raise CorpusError(f"{path}: the text is too short to be split: it has {len(text)} characters")
    return _split(str(path), "character", np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32))


def _split(name: str, unit: Unit, codes: np.ndarray) -> Corpus:
    """Number the codes that occur, in their order, and cut the text by :data:`SHARES`."""
    present = np.flatnonzero(np.bincount(codes))
    table = np.zeros(int(present[-1]) + 1, dtype=np.min_scalar_type(present.size - 1))
    table[present] = np.arange(present.size)
    numbers = table[codes]
    first = round(SHARES[0] * codes.size)
    second = round((SHARES[0] + SHARES[1]) * codes.size)
    symbols = tuple(map(chr, present.tolist()))
    return Corpus(name, unit, symbols, numbers[:first], numbers[first:second], numbers[second:])


@lru_cache(maxsize=1)
def _words(folder: Path, _mtime: int) -> Corpus:
    """Read WikiText: words between blanks, and ``<eos>`` at every end of line; the words of the training part."""
    known: dict[str, int] = {}
    parts = {}
    for part in PARTS:
        file = folder / f"wiki.{part}.tokens"
        numbers = array("i")
        bounded.require(file)
        try:
            with open(file, encoding="utf-8") as stream:
                for line in stream:
                    words = [*line.split(), END_OF_LINE]
                    if part == "train":
                        numbers.extend([known.setdefault(word, len(known)) for word in words])
                    else:
                        numbers.extend([known[word] if word in known else known["<unk>"] for word in words])
        except UnicodeDecodeError as error:
            raise CorpusError(f"{file}: is not UTF-8 text ({error.reason} at byte {error.start} of a block)") from None
        except KeyError:
            raise CorpusError(
                f"{file}: holds a word that is not in the training part, which has no '<unk>' to stand for it"
            ) from None
        if not numbers:
            raise CorpusError(f"{file}: the file is empty")
        parts[part] = np.frombuffer(numbers, dtype=np.int32).astype(np.min_scalar_type(len(known) - 1))
    return Corpus(str(folder), "word", tuple(known), parts["train"], parts["valid"], parts["test"])
