"""Images with classes: scikit-learn's digits, and those of the user's own files.

A path is a folder of CIFAR-10 or CIFAR-100 ("binary version"), a folder in the format of MNIST and Fashion-MNIST (four
idx files, gzipped or not), or an ``.npz`` file. Whatever is not what it should be is refused with one sentence that
names the file.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from moestat import bounded
from moestat.bounded import DataFileError

CIFAR = [
    ([f"data_batch_{i}.bin" for i in range(1, 6)], "test_batch.bin", "batches.meta.txt", 1),
    (["train.bin"], "test.bin", "fine_label_names.txt", 2),
]
"""Of CIFAR-10 and CIFAR-100: training files, test file, names of the classes, labels of an image (the last counts)."""
IDX = {
    f"{part}-{what}-idx{dimensions}-ubyte": dimensions
    for part in ("train", "t10k")
    for what, dimensions in (("images", 3), ("labels", 1))
}
"""The four files of a folder in the idx format, and the dimensions of their arrays."""
DIGITS_TEST_SHARE = 1 / 3  # the digits come in one piece; 599 of 1797 are held out


@dataclass(frozen=True)
class Images:
    """Training and test images with their classes."""

    train: np.ndarray  # train, test (n, height, width, channels): pixels as float32, on any scale
    train_class: np.ndarray  # train_class, test_class (n,): int64, 0 to ``len(classes) - 1``
    test: np.ndarray
    test_class: np.ndarray
    classes: tuple[str, ...]

    def standardised(self) -> Images:
        """Return the images with mean 0 and standard deviation 1 in every channel over the training images."""
        mean = self.train.mean(axis=(0, 1, 2), dtype=np.float64).astype(np.float32)
        scale = self.train.std(axis=(0, 1, 2), dtype=np.float64).astype(np.float32)
        scale = np.where(scale > 0, scale, np.float32(1))
        return replace(self, train=(self.train - mean) / scale, test=(self.test - mean) / scale)

    def sample(self, train: int, test: int, rng: np.random.Generator) -> Images:
        """Return so many training and test images, drawn without replacement; 0 keeps them all."""
        first, second = (
            np.sort(rng.permutation(len(labels))[: size or None])
            for labels, size in ((self.train_class, train), (self.test_class, test))
        )
        return Images(
            self.train[first], self.train_class[first], self.test[second], self.test_class[second], self.classes
        )


def digits(rng: np.random.Generator) -> Images:
    """Return scikit-learn's 1797 digits of 8 x 8 pixels, split at random into training and test images."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError(
            f'the digits come with scikit-learn ({error}); install it: pip install "moestat[neural]"'
        ) from error
    bundled = load_digits()
    order = rng.permutation(len(bundled.target))
    test, train = np.split(order, [round(DIGITS_TEST_SHARE * len(order))])
    pixels, label = bundled.images.astype(np.float32)[..., None], bundled.target.astype(np.int64)
    return Images(pixels[train], label[train], pixels[test], label[test], tuple("0123456789"))


def load(path: str | Path) -> Images:
    """Read images from a folder or an ``.npz`` file.

    An ``.npz`` file holds ``x_train``, ``y_train``, ``x_test``, ``y_test``: images (n, height, width) or (n, height,
    width, channels), labels (n,) or (n, 1) of whole numbers.
    """
    path = Path(path)
    if path.is_dir():
        for train, test, names, labels in CIFAR:
            if (path / train[0]).is_file():
                parts = [read_cifar(path / name, labels) for name in (*train, test)]
                pixels, label = (np.concatenate(column) for column in zip(*parts[:-1], strict=True))
                classes = tuple(bounded.read(path / names).decode("utf-8", "replace").split())
                return checked(path, pixels, label, *parts[-1], classes)
        x_train, y_train, x_test, y_test = (read_idx(_idx(path, name), count) for name, count in IDX.items())
        return checked(path, x_train, y_train, x_test, y_test)
    if not path.is_file():
        raise DataFileError(f"{path}: there is no such file or folder")
    if path.suffix != ".npz":
        raise DataFileError(f"{path}: a file of images must be an .npz; CIFAR and idx data are named by their folder")
    x_train, y_train, x_test, y_test = bounded.read_npz(path, ("x_train", "y_train", "x_test", "y_test"))
    return checked(path, x_train, y_train, x_test, y_test)


def read_cifar(path: Path, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return images (n, 32, 32, 3) and labels (n,) of one file: rows of so many labels and 3072 pixels, by channel."""
    raw, row = bounded.read(path), labels + 3 * 32 * 32
    if not raw or len(raw) % row:
        raise DataFileError(f"{path}: it has {len(raw)} bytes; an image of CIFAR takes {row}, and there must be some")
    rows = np.frombuffer(raw, dtype=np.uint8).reshape(-1, row)
    return rows[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, labels - 1]


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
    raise DataFileError(f"{folder}: the folder holds neither CIFAR's binary files (data_batch_1.bin) nor {name}.gz")


def checked(
    path: Path,
    train: np.ndarray,
    train_label: np.ndarray,
    test: np.ndarray,
    test_label: np.ndarray,
    names: tuple[str, ...] = (),
) -> Images:
    """Return images after a check that shapes, labels and numbers fit; ``names`` are those of the labels 0, 1, ..."""
    train, train_label = _checked(path, "training", train, train_label)
    test, test_label = _checked(path, "test", test, test_label)
    if train.shape[1:] != test.shape[1:]:
        one, other = (" x ".join(map(str, images.shape[1:])) for images in (train, test))
        raise DataFileError(f"{path}: a training image is {one}, a test image {other}")
    values = np.unique(train_label)
    if values.size < 2:
        raise DataFileError(f"{path}: every training image is of the class {values[0]}; at least two are needed")
    strange = np.setdiff1d(test_label, values)
    if strange.size:
        raise DataFileError(f"{path}: the test label {strange[0]} does not occur among the training labels")
    if names and not 0 <= values[0] <= values[-1] < len(names):
        raise DataFileError(f"{path}: labels run from {values[0]} to {values[-1]}, but there are {len(names)} classes")
    classes = tuple(names[v] if names else str(v) for v in values.tolist())
    return Images(train, np.searchsorted(values, train_label), test, np.searchsorted(values, test_label), classes)


def _checked(path: Path, what: str, pixels: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels (n, height, width, channels) and labels (n,) of one part."""
    pixels = pixels[..., None] if pixels.ndim == 3 else pixels
    label = label[:, 0] if label.ndim == 2 and label.shape[1] == 1 else label
    for fits, problem in [
        (
            pixels.ndim == 4 and 0 not in pixels.shape,
            f"images have shape {pixels.shape}; it must be (n, height, width) or (n, height, width, channels), none of "
            "them 0",
        ),
        (pixels.dtype.kind in "uif", f"images are of type {pixels.dtype}; they must be numbers"),
        (label.shape == pixels.shape[:1], f"labels are of shape {label.shape}, and there are {len(pixels)} images"),
        (label.dtype.kind in "iu", f"labels are of type {label.dtype}; they must be whole numbers"),
    ]:
        if not fits:
            raise DataFileError(f"{path}: the {what} {problem}")
    pixels = np.ascontiguousarray(pixels, dtype=np.float32)
    if not np.isfinite(pixels).all():
        raise DataFileError(f"{path}: the {what} images hold pixels that are not finite")
    return pixels, label.astype(np.int64)


if TYPE_CHECKING:
    import torch

FOREIGN, NOISE = 0.15, 0.10  # shares of patches that the paper replaces: by patches of another class, by Gaussian noise
SMALLEST = 0.8  # ours: a crop has at least this share of the height and width; the paper says "slightly"


def patches(images: np.ndarray, size: int) -> np.ndarray:
    """Cut images (n, height, width, channels) into patches (n, L, size * size * channels), row by row."""
    n, height, width, channels = images.shape
    if height % size or width % size:
        raise ValueError(f"patch is {size}; it must divide the images' height and width, {height} x {width}")
    cut = images.reshape(n, height // size, size, width // size, size, channels).transpose(0, 1, 3, 2, 4, 5)
    return np.ascontiguousarray(cut).reshape(n, -1, size * size * channels)


def corrupt(
    cut: np.ndarray, label: np.ndarray, rng: np.random.Generator, *, foreign: float = FOREIGN, noise: float = NOISE
) -> np.ndarray:
    """Replace a share of the patches by patches of another class, and a share by standard Gaussian noise.

    Every patch is replaced independently of the others, so the shares hold on average. A foreign patch is a random one
    of a random image of another class in the same array.

    ``cut`` (n, L, f): patches of standardised images; ``label`` (n,): classes.
    """
    if foreign > 0 and np.all(label == label[:1]):
        raise ValueError(
            f"foreign is {foreign:g}, but all {len(label)} training or test images are of one class, so that there is "
            "no patch of another; take more images, or foreign = 0"
        )
    out = cut.copy()
    draw = rng.random(cut.shape[:2])
    image, place = np.nonzero(draw < foreign)
    donor = _of_another_class(label, image, rng)
    out[image, place] = cut[donor, rng.integers(cut.shape[1], size=donor.size)]
    noisy = (draw >= foreign) & (draw < foreign + noise)
    out[noisy] = rng.standard_normal((int(noisy.sum()), cut.shape[2]), dtype=np.float32)
    return out


def _of_another_class(label: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return, for every entry of ``rows``, a random row whose label differs from that of the entry."""
    order = np.argsort(label, kind="stable")
    first, last = (np.searchsorted(label[order], label[rows], side=side) for side in ("left", "right"))
    drawn = rng.integers(label.size - (last - first))
    return order[np.where(drawn >= first, drawn + (last - first), drawn)]


def flip_and_crop(cut: torch.Tensor, size: int, height: int, generator: torch.Generator) -> torch.Tensor:
    """Flip every image with probability 1/2, crop it at random and bring the crop back to the old size (bilinear).

    ``cut`` (B, L, f): patches of side ``size`` of images of this height; other patches of the same images come back,
    and what stands in their place after the corruption moves with them. The draws are made on the CPU.
    """
    import torch
    from torch.nn import functional

    count, length, features = cut.shape
    rows = height // size
    columns, channels = length // rows, features // size**2
    side, flip, right, down = torch.rand(4, count, generator=generator)
    scale = SMALLEST + (1 - SMALLEST) * side
    theta = torch.zeros(count, 2, 3)
    theta[:, 0, 0] = torch.where(flip < 0.5, -scale, scale)
    theta[:, 1, 1] = scale
    theta[:, :, 2] = (1 - scale)[:, None] * (2 * torch.stack([right, down], dim=1) - 1)
    whole = cut.view(count, rows, columns, size, size, channels).permute(0, 5, 1, 3, 2, 4)
    images = whole.reshape(count, channels, rows * size, columns * size)
    grid = functional.affine_grid(theta.to(images), list(images.shape), align_corners=False)
    moved = functional.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)
    again = moved.view(count, channels, rows, size, columns, size).permute(0, 2, 4, 3, 5, 1)
    return again.reshape(count, length, features)
