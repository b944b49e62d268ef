"""Images in the idx format of MNIST and Fashion-MNIST, gzipped or not: four files in a folder."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from moestat import bounded
from studies.mixture_of_transformers.parts.image_data import ImageDataError

IMAGES, LABELS = "{}-images-idx3-ubyte", "{}-labels-idx1-ubyte"


def is_here(folder: Path) -> bool:
    """Return whether a folder holds idx files."""
    return _find(folder, IMAGES.format("train")) is not None


def read(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training images (n, height, width) and labels, test images and labels, all uint8."""
    parts = []
    for part in ("train", "t10k"):
        for name, dimensions in ((IMAGES.format(part), 3), (LABELS.format(part), 1)):
            path = _find(folder, name)
            if path is None:
                raise ImageDataError(f"{folder}: the file {name}.gz is missing")
            parts.append(read_file(path, dimensions))
    return parts[0], parts[1], parts[2], parts[3]


def read_file(path: Path, dimensions: int) -> np.ndarray:
    """Return the array of one idx file of unsigned bytes with so many dimensions."""
    try:
        raw = bounded.read(path, packed=path.suffix == ".gz")
    except bounded.DataFileError as error:
        raise ImageDataError(str(error)) from None
    start = 4 + 4 * dimensions
    if raw[:4] != bytes((0, 0, 8, dimensions)) or len(raw) < start:
        raise ImageDataError(f"{path}: it is not an idx file of bytes with {dimensions} dimensions")
    shape = struct.unpack(f">{dimensions}I", raw[4:start])
    wanted = int(np.prod(shape, dtype=object))
    if len(raw) - start != wanted:
        raise ImageDataError(
            f"{path}: its header promises {' x '.join(map(str, shape))} = {wanted} bytes, but there are "
            f"{len(raw) - start}"
        )
    return np.frombuffer(raw, dtype=np.uint8, offset=start).reshape(shape)


def _find(folder: Path, name: str) -> Path | None:
    return next((folder / f for f in (name + ".gz", name) if (folder / f).is_file()), None)
