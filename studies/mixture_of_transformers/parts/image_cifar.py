"""CIFAR-10 and CIFAR-100 in the "python version" that their authors give: pickled batches in a folder.

A pickle can run any code when it is loaded. The reader here builds nothing but arrays of numbers, lists, dicts, texts
and whole numbers; a file that asks for anything else is refused by name before it gets it.
"""

from __future__ import annotations

import io
import pickle
import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from moestat import bounded
from moestat.bounded import DataFileError

SIDE = 32  # height and width of a CIFAR image in pixels; there are three channels
PARTS = [
    ([f"data_batch_{i}" for i in range(1, 6)], "test_batch", b"labels", 10, "batches.meta", b"label_names"),
    (["train"], "test", b"fine_labels", 100, "meta", b"fine_label_names"),
]
"""Of CIFAR-10 and CIFAR-100: training files, test file, key and number of the labels, file and key of their names."""


def is_here(folder: Path) -> bool:
    """Return whether a folder holds CIFAR batches."""
    return any((folder / train[0]).is_file() for train, *_ in PARTS)


def read(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return training images (n, 32, 32, 3) and labels, test images and labels, and the names of the classes.

    Names are those of the folder's meta file; without one there are none.
    """
    train, test, key, count, meta, names_key = next(parts for parts in PARTS if (folder / parts[0][0]).is_file())
    images, labels = zip(*(_batch(folder / name, key, count) for name in train), strict=True)
    names: Any = []
    if (folder / meta).is_file():
        listed = safe_load(folder / meta)
        names = listed.get(names_key) if isinstance(listed, dict) else None
        if not isinstance(names, list) or not all(isinstance(name, bytes) for name in names):
            raise DataFileError(f"{folder / meta}: there is no list of names {names_key.decode()!r}")
    texts = tuple(name.decode("utf-8", "replace") for name in names)
    return np.concatenate(images), np.concatenate(labels), *_batch(folder / test, key, count), texts


def _batch(path: Path, key: bytes, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the images (n, 32, 32, 3) and labels of one file."""
    batch = safe_load(path)
    for needed in (b"data", key):
        if not isinstance(batch, dict) or needed not in batch:
            raise DataFileError(f"{path}: there is no entry {needed.decode()!r}")
    data, labels = batch[b"data"], batch[key]
    wanted = 3 * SIDE * SIDE
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != wanted:
        what = f"{data.dtype} {data.shape}" if isinstance(data, np.ndarray) else type(data).__name__
        raise DataFileError(f"{path}: 'data' is {what}; it must be an array uint8 (n, {wanted})")
    if not isinstance(labels, list) or not all(isinstance(label, int) for label in labels):
        raise DataFileError(f"{path}: {key.decode()!r} is not a list of whole numbers")
    if len(labels) != len(data):
        raise DataFileError(f"{path}: there are {len(data)} images, but {len(labels)} labels")
    if any(not 0 <= label < count for label in labels):
        raise DataFileError(f"{path}: a label is not one of 0 to {count - 1}")
    return data.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1), np.array(labels, dtype=np.int64)


def safe_load(path: Path) -> Any:
    """Load a pickle that holds arrays of numbers, lists, dicts, texts and whole numbers, and nothing else."""
    content = bounded.read(path)
    try:
        return _Unpickler(content).load()
    except Exception as error:  # a broken pickle raises whatever its bytes happen to mean
        said = " ".join(str(error).split())  # its bytes may hold line breaks
        if isinstance(error, _RefusedError):
            problem = (
                f"the file asks for {said}, which a file of images has no use for; it is refused, and nothing of it "
            )
            problem += "was run"
        else:
            problem = f"it is cut off or not a pickle ({type(error).__name__}: {said})"
        raise DataFileError(f"{path}: {problem}") from None


class _RefusedError(Exception):
    """The name of what a pickle asked for."""


_NDARRAY = object()  # stands for the type numpy.ndarray, which a pickle names and must not be able to call


class _Unpickler(pickle._Unpickler):
    """Python's own unpickler: the one in C sizes its memo by any number that thirteen bytes of a file name.

    A file can name what it holds many times over, so what is made of it is counted, too.
    """

    dispatch: ClassVar[dict[int, Any]] = {
        code: method
        for code, method in pickle._Unpickler.dispatch.items()
        if code != pickle.BYTEARRAY8[0]  # takes memory for what it is told, before it reads
    }

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="bytes")
        self.size, self.made = len(content), 0

    def find_class(self, module: str, name: str) -> Any:
        match module.replace("numpy.core", "numpy._core"), name:
            case "numpy._core.multiarray", "_reconstruct":
                return self._reconstruct
            case "_codecs", "encode":
                return self._encode
            case "numpy", "ndarray":
                return _NDARRAY
            case "numpy", "dtype":
                return _dtype
        raise _RefusedError(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        raise _RefusedError(f"the persistent object {pid!r}")

    def _count(self, size: int) -> None:
        self.made += size
        if self.made > bounded.LARGEST:
            raise _RefusedError(f"more than {bounded.LARGEST} bytes of memory")

    def _reconstruct(self, kind: object, shape: object, code: object) -> np.ndarray:
        """Make the empty array that a pickle then fills, from the file at most; the arguments are always these."""
        if kind is not _NDARRAY or shape != (0,) or code not in (b"b", "b"):
            raise _RefusedError("an array made in an unusual way")
        self._count(self.size)
        return np.empty(0, dtype=np.int8)

    def _encode(self, text: object, encoding: object) -> bytes:
        """Make bytes: how Python 3 writes them in the old pickle format of these files."""
        if not isinstance(text, str) or encoding not in (b"latin1", "latin1"):
            raise _RefusedError(f"a text in the encoding {encoding!r}")
        self._count(len(text))
        return text.encode("latin1")


def _dtype(code: object, *options: object) -> np.dtype:
    text = code.decode("ascii", "replace") if isinstance(code, bytes) else str(code)
    if not re.fullmatch(r"[uif][1248]", text):
        raise _RefusedError(f"an array of type {text!r}")
    return np.dtype(text, False, True)  # a copy: the pickle goes on to set its state
