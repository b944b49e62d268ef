"""Bombs among a user's data: small files that claim or unpack to much are refused before memory is taken."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickle
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from moestat import bounded, data_file
from moestat.bounded import DataFileError
from moestat.papers.mixture_of_transformers import image_files, image_idx
from moestat.papers.mixture_of_transformers.image_cifar import safe_load
from moestat.papers.mixture_of_transformers.image_data import ImageDataError
from moestat.papers.task_routing import knowledge_file
from moestat.papers.task_routing.template import KnowledgeError
from moestat.training import corpus, labelled_text

LIMIT = 60_000
KEYS = ("x_train", "y_train", "x_test", "y_test")


@pytest.fixture
def low(monkeypatch):
    monkeypatch.setattr(bounded, "LARGEST", LIMIT)


def header(descr: str, shape: str) -> bytes:
    """Return the bytes of an ``.npy`` file of version 1 with this header and no data."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def archive(path, **parts: bytes):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as stream:
        for name, content in parts.items():
            stream.writestr(f"{name}.npy", content)
    return path


def npy(array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


# --- what is read ----------------------------------------------------------------------------------------------------


def test_good_files_are_read_as_they_are(tmp_path, low):
    raw = np.random.default_rng(1).bytes(LIMIT - 100)  # gzip adds a little
    (tmp_path / "raw").write_bytes(raw)
    (tmp_path / "two.gz").write_bytes(gzip.compress(raw[:500]) + gzip.compress(raw[500:]))
    assert bounded.read(tmp_path / "raw") == raw == bounded.read(tmp_path / "two.gz", packed=True)
    kinds = {
        "d": np.linspace(0, 1, 9).reshape(3, 3), "f": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        "u": np.arange(5, dtype=">u2"), "t": np.array(["a", "bcd"]), "one": np.array(3), "none": np.zeros((0, 3)),
    }  # fmt: skip
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "good.npz", **kinds)
        with np.load(tmp_path / "good.npz") as wanted:
            for name, array in zip(kinds, bounded.read_npz(tmp_path / "good.npz", list(kinds)), strict=True):
                np.testing.assert_array_equal(array, wanted[name])
                assert array.dtype == wanted[name].dtype and array.flags.f_contiguous == wanted[name].flags.f_contiguous


# --- bombs -----------------------------------------------------------------------------------------------------------


def test_gzip_that_unpacks_to_much_is_left_after_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded, "LARGEST", 3_000_000)
    monkeypatch.setattr(bounded, "_CHUNK", 1 << 16)
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(bytes(50_000_000), 1))
    assert path.stat().st_size < 300_000
    tracemalloc.start()
    with pytest.raises(DataFileError, match=r"zeros.gz: the file unpacks to more than 3000000 bytes"):
        bounded.read(path, packed=True)
    assert tracemalloc.get_traced_memory()[1] < 8_000_000, "what is beyond the limit is not kept"
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy(np.zeros(10 * LIMIT)), f"its arrays take 19200512 bytes unpacked; at most {LIMIT} are read"),
        (header("'<f8'", f"({10**12},)"), f"the header of 'x_train' promises {8 * 10**12} bytes, but there are 0"),
        (header("'<f8'", "(-1,)"), "promises -8 bytes, but there are 0"),
        (header("'|O'", "(1,)"), "pickled objects"),
        (header("'<f8'", "(1,)" + " " * 11_000), "it is not a whole .npz file"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f", "it is not a whole .npz file"),
        (b"\x93NUMPY\x07\x00", "it is not a whole .npz file"),
        (header("'<U0'", f"({10**15},)"), "training images have shape"),
    ],
    ids=["zeros", "terabytes", "negative", "objects", "long header", "two gigabytes of header", "version", "no bytes"],
)
def test_npz_bombs(tmp_path, low, content, message):
    path = archive(tmp_path / "own.npz", **dict.fromkeys(KEYS, content))
    with pytest.raises(ImageDataError, match=message) as caught:
        image_files.load(path)
    assert "own.npz: " in str(caught.value) and "\n" not in str(caught.value)


def test_a_part_is_not_unpacked_beyond_what_its_archive_states(tmp_path, low):
    path = archive(tmp_path / "own.npz", **dict.fromkeys(KEYS, npy(np.zeros(4 * LIMIT, np.uint8))))
    raw = path.read_bytes()
    size = struct.pack("<I", 4 * LIMIT + 128)
    assert raw.count(size) == 8, "twice per part"
    path.write_bytes(raw.replace(size, struct.pack("<I", 1000)))
    with pytest.raises(ImageDataError, match="own.npz: .*it is not a whole .npz file"):
        image_files.load(path)


def test_idx_bombs(tmp_path, low):
    name = "train-images-idx3-ubyte"
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(bytes((0, 0, 8, 3)) + bytes(LIMIT)))
    with pytest.raises(ImageDataError, match=rf"{name}.gz: the file unpacks to more than {LIMIT} bytes"):
        image_files.load(tmp_path)
    (tmp_path / name).write_bytes(bytes((0, 0, 8, 3)) + struct.pack(">3I", *[2**32 - 1] * 3))
    with pytest.raises(ImageDataError, match=rf"{name}: its header promises .* = {(2**32 - 1) ** 3} bytes, but"):
        image_idx.read_file(tmp_path / name, 3)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"\x80\x02N" + b"r\xff\xff\xff\x7f.", None),  # a memo of two thousand million entries
        (b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b".", "cut off or not a pickle"),
        (b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"a.", "cut off or not a pickle"),
        (pickle.dumps("a" * 9000, 2)[:-1] + b"0" + b"c_codecs\nencode\nh\x00X\x06\x00\x00\x00latin1\x86R0" * 9 + b"N.",
         f"asks for more than {LIMIT} bytes of memory"),
        (b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R0" * 40 + b"N.",
         f"asks for more than {LIMIT} bytes of memory"),
    ],
    ids=["memo", "bytearray", "bytes", "texts made again", "arrays made again"],
)  # fmt: skip
def test_pickle_bombs(tmp_path, low, payload, message):
    path = tmp_path / "data_batch_1"
    path.write_bytes(payload)
    tracemalloc.start()
    try:
        found = safe_load(path)
    except ImageDataError as error:
        assert message is not None and message in str(error) and "data_batch_1: " in str(error)
    else:
        assert message is None and not found
    assert tracemalloc.get_traced_memory()[1] < 4_000_000
    tracemalloc.stop()


READERS = {
    "corpus": (corpus.load, corpus.CorpusError),
    "wikitext": (lambda path: corpus.load(path.parent), corpus.CorpusError),
    "csv": (lambda path: labelled_text.read_csv(path, task="classification"), labelled_text.LabelledTextError),
    "knowledge": (knowledge_file.load, KnowledgeError),
    "cifar": (safe_load, ImageDataError),
    "idx": (lambda path: image_idx.read_file(path, 3), ImageDataError),
    "digest": (data_file.digest, DataFileError),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_refuses_large_files_unread_and_what_is_no_file(tmp_path, low, reader, monkeypatch):
    load, refused = READERS[reader]
    path = tmp_path / "wiki.train.tokens"
    for part in ("valid", "test"):
        (tmp_path / f"wiki.{part}.tokens").write_text("a")
    with path.open("wb") as stream:
        stream.truncate(10**12)  # a terabyte of nothing
    with pytest.raises(refused, match=rf"wiki.train.tokens: the file has {10**12} bytes; at most {LIMIT} are read"):
        load(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(refused, match=r"wiki.train.tokens: cannot be read \(it is no regular file\)"):
        load(path)
    if reader not in ("wikitext", "digest"):
        with pytest.raises(refused, match=r"^/dev/zero: cannot be read \(it is no regular file\)"):
            load(type(path)("/dev/zero"))


def test_a_file_that_states_no_size_is_read_to_the_limit(monkeypatch):
    monkeypatch.setattr(bounded, "LARGEST", 10)
    with pytest.raises(DataFileError, match="/proc/self/status: the file has more than 10 bytes"):
        bounded.read(type(data_file.Path())("/proc/self/status"))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_texts_are_not_unpacked(tmp_path, pack):
    path = tmp_path / "text.packed"
    path.write_bytes(pack(bytes(10**6)))
    for reader in ("corpus", "csv", "knowledge"):
        load, refused = READERS[reader]
        with pytest.raises(refused, match=r"text.packed.*UTF-8"):
            load(path)


def test_json_that_is_nested_too_deep_or_a_number_without_end(tmp_path):
    path = tmp_path / "own.jsonl"
    for line, message in (("[" * 100_000, "nested too deep"), ("9" * 5000, "not JSON")):
        path.write_text(line)
        with pytest.raises(KnowledgeError, match=f"own.jsonl, line 1: .*{message}"):
            knowledge_file.load(path)
