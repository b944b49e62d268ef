"""Images from the user's own files.

A path is a folder of CIFAR-10 or CIFAR-100 ("python version"), a folder in the format of MNIST and Fashion-MNIST (idx
files, gzipped or not), or an ``.npz`` file. Whatever is not what it should be is refused with one sentence that names
the file.
"""

from __future__ import annotations

from pathlib import Path

from moestat import bounded
from studies.mixture_of_transformers.parts import image_cifar, image_idx
from studies.mixture_of_transformers.parts.image_data import ImageDataError, Images, checked


def load(path: str | Path) -> Images:
    """Read images from a folder or an ``.npz`` file.

    An ``.npz`` file holds ``x_train``, ``y_train``, ``x_test``, ``y_test``: images (n, height, width) or (n, height,
    width, channels), labels (n,) or (n, 1) of whole numbers.
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
    try:
        train, train_label, test, test_label = bounded.read_npz(path, ("x_train", "y_train", "x_test", "y_test"))
    except bounded.DataFileError as error:
        raise ImageDataError(str(error)) from None
    return checked(path, train, train_label, test, test_label)
