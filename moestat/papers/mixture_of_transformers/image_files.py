"""Images from the user's own files.

A path is a folder of CIFAR-10 or CIFAR-100 ("python version"), a folder in the format of MNIST and Fashion-MNIST (idx
files, gzipped or not), or an ``.npz`` file. Whatever is not what it should be is refused with one sentence that names
the file.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from moestat.papers.mixture_of_transformers import image_cifar, image_idx
from moestat.papers.mixture_of_transformers.image_data import ImageDataError, Images, checked, one_line


def load(path: str | Path) -> Images:
    """Read images from a folder or an ``.npz`` file.

    An ``.npz`` file holds ``x_train``, ``y_train``, ``x_test``, ``y_test``: images (n, height, width) or (n, height,
    width, channels), labels (n,) or (n, 1) of whole numbers.

    Raises
    ------
    ImageDataError
        If there is no such data, or it is cut off, has another shape, or labels and images do not match.
    """
    path = Path(path)
    if path.is_dir():
        if image_cifar.is_here(path):
            return checked(path, *image_cifar.read(path))
        if image_idx.is_here(path):
            return checked(path, *image_idx.read(path))
        raise ImageDataError(
            f"{path}: the folder holds neither CIFAR batches (data_batch_1 or train) nor idx files "
            "(train-images-idx3-ubyte.gz)"
        )
    if not path.is_file():
        raise ImageDataError(f"{path}: there is no such file or folder")
    if path.suffix != ".npz":
        raise ImageDataError(f"{path}: a file of images must be an .npz; CIFAR and idx data are named by their folder")
    return checked(path, *_npz(path))


def _npz(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    if not zipfile.is_zipfile(path):
        raise ImageDataError(f"{path}: it is not a whole .npz file")
    keys = ("x_train", "y_train", "x_test", "y_test")
    try:
        with np.load(path, allow_pickle=False) as archive:
            missing = [key for key in keys if key not in archive.files]
            if missing:
                raise ImageDataError(
                    f"{path}: there is no array {missing[0]!r}; needed are {', '.join(keys)}, found "
                    f"{', '.join(map(repr, archive.files)) or 'none'}"
                )
            parts = [archive[key] for key in keys]
    except ImageDataError:
        raise
    except Exception as error:  # a broken archive raises whatever its bytes happen to mean
        if "allow_pickle" in str(error):
            raise ImageDataError(f"{path}: it holds pickled objects and is refused; arrays must be numbers") from None
        raise ImageDataError(f"{path}: it is not a whole .npz file ({one_line(error)})") from None
    for key, array in zip(keys, parts, strict=True):
        if not isinstance(array, np.ndarray):  # NumPy hands out the bytes of a part that is no array
            raise ImageDataError(f"{path}: {key!r} is not an array of NumPy")
    return parts[0], parts[1], parts[2], parts[3]
