"""Images by path: real formats made here, and files that are cut off, mislabelled, or of other shapes."""

import gzip
import struct

import numpy as np
import pytest

from moestat.bounded import DataFileError
from studies.mixture_of_transformers.parts.images import load

RNG = np.random.default_rng(7)


@pytest.mark.parametrize(("classes", "parts"), [(10, [f"data_batch_{i}" for i in range(1, 6)]), (100, ["train"])])
def test_cifar_has_its_names_and_fine_labels_and_a_file_that_is_cut_off_is_refused(tmp_path, classes, parts):
    labels = np.tile(np.arange(classes, dtype=np.uint8), 2)[:, None]
    coarse = [] if classes == 10 else [labels % 20]
    pixels = {
        name: RNG.integers(0, 256, (2 * classes, 3072), dtype=np.uint8)
        for name in (*parts, "test_batch"[: 4 if coarse else 10])
    }
    for name, data in pixels.items():
        (tmp_path / f"{name}.bin").write_bytes(np.hstack([*coarse, labels, data]).tobytes())
    names = "fine_label_names.txt" if coarse else "batches.meta.txt"
    (tmp_path / names).write_text("".join(f"thing{i}\n" for i in range(classes)) + "\n")
    found = load(tmp_path)
    assert found.train.shape == (2 * classes * len(parts), 32, 32, 3) and found.test.shape == (2 * classes, 32, 32, 3)
    raw = pixels[parts[-1]][-5]
    np.testing.assert_array_equal(found.train[-5, 4, 9], raw[[4 * 32 + 9, 1024 + 4 * 32 + 9, 2048 + 4 * 32 + 9]])
    assert found.train_class[-5] == classes - 5 and found.classes[3] == "thing3"
    path = tmp_path / f"{parts[0]}.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataFileError, match=f"{path.name}: it has .* bytes; an image of CIFAR takes"):
        load(tmp_path)


def fashion(folder, packed=True, spoil=lambda raw: raw):
    """Write small files in the idx format; ``spoil`` changes the training images."""
    folder.mkdir()
    arrays = {}
    for part, count in (("train", 30), ("t10k", 12)):
        arrays[f"{part}-images-idx3-ubyte"] = RNG.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        arrays[f"{part}-labels-idx1-ubyte"] = np.arange(count, dtype=np.uint8) % 10
    for name, array in arrays.items():
        raw = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
        raw = spoil(raw) if name.startswith("train-images") else raw
        (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(raw) if packed else raw)
    return arrays


@pytest.mark.parametrize("packed", [True, False])
def test_idx(tmp_path, packed):
    arrays = fashion(tmp_path / "fashion", packed)
    found = load(tmp_path / "fashion")
    np.testing.assert_array_equal(found.train[..., 0], arrays["train-images-idx3-ubyte"])
    np.testing.assert_array_equal(found.test_class, arrays["t10k-labels-idx1-ubyte"])
    assert found.classes == tuple("0123456789")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda raw: raw[:-5], "promises 30 x 28 x 28 = 23520 bytes, but there are 23515"),
        (lambda raw: b"\0\0\x0d\x03" + raw[4:], "not an idx file of bytes"),
        (None, "neither CIFAR"),
    ],
)
def test_bad_folders(tmp_path, spoil, message):
    folder = tmp_path / "images"
    fashion(folder, spoil=spoil) if spoil else folder.mkdir()
    with pytest.raises(DataFileError, match=message):
        load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        ({"y_test": None}, "there is no array 'y_test'"),
        ({"y_train": np.zeros(20)}, "training labels are of type float64; they must be whole numbers"),
        ({"y_train": np.full(20, 7)}, "every training image is of the class 7"),
        ({"y_test": np.full(9, 8)}, "test label 8 does not occur"),
        ({"x_train": RNG.random((20, 36))}, r"training images have shape \(20, 36\)"),
        ({"x_test": RNG.random((9, 5, 6))}, "a training image is 6 x 6 x 1, a test image 5 x 6 x 1"),
        ({"x_test": np.full((9, 6, 6), np.nan)}, "not finite"),
    ],
)
def test_npz(tmp_path, changes, message):
    good = {"x_train": RNG.random((20, 6, 6)), "y_train": np.array([5, 7, 9])[np.arange(20) % 3]}
    good |= {"x_test": RNG.random((9, 6, 6)), "y_test": np.full((9, 1), 7)}
    np.savez(tmp_path / "own.npz", **{key: value for key, value in (good | changes).items() if value is not None})
    if message:
        with pytest.raises(DataFileError, match=f"own.npz: .*{message}"):
            load(tmp_path / "own.npz")
        return
    found = load(tmp_path / "own.npz")
    assert found.train.shape == (20, 6, 6, 1) and found.train.dtype == np.float32
    assert found.classes == ("5", "7", "9") and found.test_class.tolist() == [1] * 9
