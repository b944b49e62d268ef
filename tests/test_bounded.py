"""Bombs among a user's data: small files that claim or unpack to much are refused before memory is taken."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from moestat import bounded, data_file
from moestat.bounded import DataFileError
from moestat.training import corpus, labelled_text
from studies.mixture_of_transformers.parts import images
from studies.task_routing.parts import knowledge_sources
from studies.task_routing.parts.knowledge import KnowledgeError

LIMIT = 60_000
KEYS = ("x_train", "y_train", "x_test", "y_test")


@pytest.fixture
def low(monkeypatch):
    monkeypatch.setattr(bounded, "LARGEST", LIMIT)


def header(descr: str, shape: str) -> bytes:
    """Return the bytes of an ``.npy`` file of version 1 with this header and no data."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def npy(array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_good_files_are_read_as_they_are(tmp_path, low):
    raw = np.random.default_rng(1).bytes(LIMIT - 100)  # gzip adds a little
    (tmp_path / "raw").write_bytes(raw)
    (tmp_path / "two.gz").write_bytes(gzip.compress(raw[:500]) + gzip.compress(raw[500:]))
    assert bounded.read(tmp_path / "raw") == raw == bounded.read(tmp_path / "two.gz", packed=True)
    kinds = {"f": np.asfortranarray(np.arange(12.0).reshape(3, 4)), "t": np.array(["a", "bcd"])}
    kinds["none"] = np.zeros((0, 3))
    np.savez_compressed(tmp_path / "good.npz", more=1, **kinds)
    for found, array in zip(bounded.read_npz(tmp_path / "good.npz", list(kinds)), kinds.values(), strict=True):
        np.testing.assert_array_equal(found, array)
        assert found.dtype == array.dtype and found.flags.f_contiguous == array.flags.f_contiguous
    with pytest.raises(
        DataFileError, match="good.npz: there is no array 'g'; needed are g, found 'more', 'f', 't', 'n"
    ):
        bounded.read_npz(tmp_path / "good.npz", ["g"])


def test_gzip_that_unpacks_to_much_is_left_after_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded, "LARGEST", 3_000_000)
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(bytes(50_000_000), 1))
    tracemalloc.start()
    with pytest.raises(DataFileError, match=r"zeros.gz: the file unpacks to more than 3000000 bytes"):
        bounded.read(path, packed=True)
    assert tracemalloc.get_traced_memory()[1] < 12_000_000, "what is beyond the limit is not kept"
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy(np.zeros(10 * LIMIT)), f"its arrays take 19200512 bytes unpacked; at most {LIMIT} are read"),
        (header("'<f8'", f"({10**14},)"), "it is not a whole .npz file"),
        (header("'<f8'", "(-1,)"), "it is not a whole .npz file"),
        (header("'|O'", "(1,)"), "pickled objects"),
        (header("'<f8'", "(1,)" + " " * 11_000), "it is not a whole .npz file"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f", "it is not a whole .npz file"),
    ],
    ids=["zeros", "terabytes", "negative", "objects", "long header", "two gigabytes of header"],
)
def test_npz_bombs(tmp_path, low, content, message):
    path = tmp_path / "own.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as stream:
        for name in KEYS:
            stream.writestr(f"{name}.npy", content)
    with pytest.raises(DataFileError, match=message) as caught:
        images.load(path)
    assert "own.npz: " in str(caught.value) and "\n" not in str(caught.value)


def test_idx_bombs(tmp_path, low):
    name = "train-images-idx3-ubyte"
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(bytes((0, 0, 8, 3)) + bytes(LIMIT)))
    with pytest.raises(DataFileError, match=rf"{name}.gz: the file unpacks to more than {LIMIT} bytes"):
        images.load(tmp_path)
    (tmp_path / name).write_bytes(bytes((0, 0, 8, 3)) + struct.pack(">3I", *[2**32 - 1] * 3))
    with pytest.raises(DataFileError, match=rf"{name}: its header promises .* = {(2**32 - 1) ** 3} bytes, but"):
        images.read_idx(tmp_path / name, 3)


READERS = {
    "corpus": (corpus.load, corpus.CorpusError),
    "csv": (lambda path: labelled_text.read_csv(path, task="classification"), labelled_text.LabelledTextError),
    "knowledge": (knowledge_sources.load, KnowledgeError),
    "cifar": (lambda path: images.read_cifar(path, 1), DataFileError),
    "idx": (lambda path: images.read_idx(path, 3), DataFileError),
    "digest": (data_file.digest, DataFileError),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_refuses_large_files_unread_and_what_is_no_file(tmp_path, low, reader):
    load, refused = READERS[reader]
    path = tmp_path / "own.data"
    with path.open("wb") as stream:
        stream.truncate(10**12)  # a terabyte of nothing
    with pytest.raises(refused, match=rf"own.data: the file has {10**12} bytes; at most {LIMIT} are read"):
        load(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(refused, match=r"own.data: cannot be read \(it is no regular file\)"):
        load(path)
    if reader in ("corpus", "csv", "knowledge"):
        path.unlink()
        path.write_bytes(bz2.compress(bytes(10**6)))
        with pytest.raises(refused, match=r"own.data.*UTF-8"):
            load(path)
