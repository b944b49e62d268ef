"""Images from the user's own files.

A path is a folder of CIFAR-10 or CIFAR-100 ("python version"), a folder in the format of MNIST and Fashion-MNIST (four
idx files, gzipped or not), or an ``.npz`` file. Whatever is not what it should be is refused with one sentence that
names the file.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from moestat import bounded
from moestat.bounded import DataFileError
from studies.mixture_of_transformers.parts import image_cifar
from studies.mixture_of_transformers.parts.image_data import Images, checked

IDX = {
    f"{part}-{what}-idx{dimensions}-ubyte": dimensions
    for part in ("train", "t10k")
    for what, dimensions in (("images", 3), ("labels", 1))
}
"""The four files of a folder in the idx format, and the dimensions of their arrays."""


def load(path: str | Path) -> Images:
    """Read images from a folder or an ``.npz`` file.

    An ``.npz`` file holds ``x_train``, ``y_train``, ``x_test``, ``y_test``: images (n, height, width) or (n, height,
    width, channels), labels (n,) or (n, 1) of whole numbers.
    """
    path = Path(path)
    if path.is_dir() and image_cifar.is_here(path):
        return checked(path, *image_cifar.read(path))
    if path.is_dir():
        train, train_label, test, test_label = (read_idx(_idx(path, name), count) for name, count in IDX.items())
        return checked(path, train, train_label, test, test_label)
    if not path.is_file():
        raise DataFileError(f"{path}: there is no such file or folder")
    if path.suffix != ".npz":
        raise DataFileError(f"{path}: a file of images must be an .npz; CIFAR and idx data are named by their folder")
    train, train_label, test, test_label = bounded.read_npz(path, ("x_train", "y_train", "x_test", "y_test"))
    return checked(path, train, train_label, test, test_label)


def read_idx(path: Path, dimensions: int) -> np.ndarray:
    """Return the array of one idx file of unsigned bytes with so many dimensions."""
    raw = bounded.read(path, packed=path.suffix == ".gz")
    start = 4 + 4 * dimensions
    if raw[:4] != bytes((0, 0, 8, dimensions)) or len(raw) < start:
        raise DataFileError(f"{path}: it is not an idx file of bytes with {dimensions} dimensions")
    shape = struct.unpack(f">{dimensions}I", raw[4:start])
    wanted, there = int(np.prod(shape, dtype=object)), len(raw) - start
    if there != wanted:
        size = " x ".join(map(str, shape))
        raise DataFileError(f"{path}: its header promises {size} = {wanted} bytes, but there are {there}")
    return np.frombuffer(raw, dtype=np.uint8, offset=start).reshape(shape)


def _idx(folder: Path, name: str) -> Path:
    """Return the path of one of the idx files of a folder."""
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    if name == next(iter(IDX)):
        raise DataFileError(
            f"{folder}: the folder holds neither CIFAR batches (data_batch_1 or train) nor idx files ({name}.gz)"
        )
    raise DataFileError(f"{folder}: the file {name}.gz is missing")
