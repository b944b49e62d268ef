"""Images with classes, the checks that they fit together, and scikit-learn's digits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

DIGITS_TEST_SHARE = 1 / 3  # the digits come in one piece; 599 of 1797 are held out


class ImageDataError(ValueError):
    """Image data cannot be used; the message names the file and says why."""


@dataclass(frozen=True)
class Images:
    """Training and test images with their classes."""

    train: np.ndarray  # train, test: (n, height, width, channels): Pixels as float32, on any scale
    train_class: np.ndarray  # train_class, test_class: (n,): int64, 0 to ``len(classes) - 1``
    test: np.ndarray
    test_class: np.ndarray
    classes: tuple[str, ...]

    def standardised(self) -> Images:
        """Return the images with mean 0 and standard deviation 1 in every channel over the training images."""
        mean = self.train.mean(axis=(0, 1, 2), dtype=np.float64).astype(np.float32)
        scale = self.train.std(axis=(0, 1, 2), dtype=np.float64).astype(np.float32)
        scale = np.where(scale > 0, scale, np.float32(1))
        parts = [(images - mean) / scale for images in (self.train, self.test)]
        return Images(parts[0], self.train_class, parts[1], self.test_class, self.classes)

    def sample(self, train: int, test: int, rng: np.random.Generator) -> Images:
        """Return so many training and test images, drawn without replacement; 0 keeps them all."""
        rows = [
            np.sort(rng.permutation(len(labels))[: size or None])
            for labels, size in ((self.train_class, train), (self.test_class, test))
        ]
        return Images(
            self.train[rows[0]], self.train_class[rows[0]], self.test[rows[1]], self.test_class[rows[1]], self.classes
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


def checked(
    path: Path,
    train: np.ndarray,
    train_label: np.ndarray,
    test: np.ndarray,
    test_label: np.ndarray,
    names: tuple[str, ...] = (),
) -> Images:
    """Return images after a check that shapes, labels and numbers fit; ``names`` are those of the labels 0, 1, ..."""
    images, labels = {}, {}
    for what, pixels, label in (("training", train, train_label), ("test", test, test_label)):
        pixels = pixels[..., None] if pixels.ndim == 3 else pixels
        if pixels.ndim != 4 or 0 in pixels.shape:
            raise ImageDataError(
                f"{path}: the {what} images have shape {pixels.shape}; it must be (n, height, width) or "
                "(n, height, width, channels), none of them 0"
            )
        if pixels.dtype.kind not in "uif":
            raise ImageDataError(f"{path}: the {what} images are of type {pixels.dtype}; they must be numbers")
        label = label[:, 0] if label.ndim == 2 and label.shape[1] == 1 else label
        if label.shape != pixels.shape[:1]:
            raise ImageDataError(
                f"{path}: there are {pixels.shape[0]} {what} images, but labels of shape {label.shape}"
            )
        if label.dtype.kind not in "iu":
            raise ImageDataError(f"{path}: the {what} labels are of type {label.dtype}; they must be whole numbers")
        pixels = np.ascontiguousarray(pixels, dtype=np.float32)
        if not np.isfinite(pixels).all():
            raise ImageDataError(f"{path}: the {what} images hold pixels that are not finite")
        images[what], labels[what] = pixels, label.astype(np.int64)
    if images["training"].shape[1:] != images["test"].shape[1:]:
        raise ImageDataError(
            f"{path}: a training image is {_size(images['training'])}, a test image {_size(images['test'])}"
        )
    values = np.unique(labels["training"])
    if values.size < 2:
        raise ImageDataError(f"{path}: every training image is of the class {values[0]}; at least two are needed")
    strange = np.setdiff1d(labels["test"], values)
    if strange.size:
        raise ImageDataError(f"{path}: the test label {strange[0]} does not occur among the training labels")
    if names and not 0 <= values[0] <= values[-1] < len(names):
        raise ImageDataError(f"{path}: labels run from {values[0]} to {values[-1]}, but there are {len(names)} classes")
    return Images(
        images["training"],
        np.searchsorted(values, labels["training"]),
        images["test"],
        np.searchsorted(values, labels["test"]),
        tuple(names[v] if names else str(v) for v in values.tolist()),
    )


def one_line(error: Exception) -> str:
    """Return what an error of a library says, without the line breaks that the bytes of a broken file may bring."""
    return " ".join(str(error).split())


def _size(images: np.ndarray) -> str:
    return " x ".join(map(str, images.shape[1:]))
