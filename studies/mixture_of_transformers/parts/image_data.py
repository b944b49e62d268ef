"""Images with classes, the checks that they fit together, and scikit-learn's digits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from moestat.bounded import DataFileError

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
