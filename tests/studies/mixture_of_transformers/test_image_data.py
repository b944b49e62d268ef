"""Images by path: real formats made here, and files that are cut off, mislabelled, of other shapes or hostile."""

import gzip
import os
import pickle
import struct

import numpy as np
import pytest

from moestat.bounded import DataFileError
from studies.mixture_of_transformers.parts import image_cifar
from studies.mixture_of_transformers.parts.image_files import load

RNG = np.random.default_rng(7)


def python2_pickle(entries):
    """Return the bytes that Python 2 writes for a dict of byte arrays and lists: the format of CIFAR's files."""

    def text(value):
        return b"U" + bytes([len(value)]) + value

    out = b"\x80\x02}("
    for key, value in entries.items():
        out += text(key)
        if isinstance(value, np.ndarray):
            raw = value.tobytes()
            shape = b"".join(b"J" + struct.pack("<i", n) for n in value.shape)
            out += b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + text(b"b") + b"\x87R"
            out += b"(K\x01(" + shape + b"tcnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R"
            out += b"(K\x03" + text(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
            out += b"T" + struct.pack("<i", len(raw)) + raw + b"tb"
        elif isinstance(value, list):
            items = [b"J" + struct.pack("<i", v) if isinstance(v, int) else text(v) for v in value]
            out += b"](" + b"".join(items) + b"e"
        else:
            out += text(value)
    return out + b"u."


def cifar(folder, write=pickle.dumps, parts=(*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"), classes=10):
    """Write small batches of CIFAR-10, or of CIFAR-100, and return their pixels."""
    folder.mkdir()
    keys = (
        (b"labels", b"label_names", "batches.meta") if classes == 10 else (b"fine_labels", b"fine_label_names", "meta")
    )
    pixels = {part: RNG.integers(0, 256, (2 * classes, 3072), dtype=np.uint8) for part in parts}
    for part, data in pixels.items():
        (folder / part).write_bytes(write({keys[0]: [*range(classes)] * 2, b"data": data, b"batch_label": b"x"}))
    (folder / keys[2]).write_bytes(write({keys[1]: [b"thing%d" % i for i in range(classes)]}))
    return pixels


@pytest.mark.parametrize("write", [python2_pickle, pickle.dumps])
def test_cifar10_as_python_2_and_as_python_3_write_it(tmp_path, write):
    pixels = cifar(tmp_path / "cifar", write)
    found = load(tmp_path / "cifar")
    assert found.train.shape == (100, 32, 32, 3) and found.test.shape == (20, 32, 32, 3)
    raw = pixels["data_batch_2"][5]
    np.testing.assert_array_equal(found.train[25, 4, 9], raw[[4 * 32 + 9, 1024 + 4 * 32 + 9, 2048 + 4 * 32 + 9]])
    assert found.train_class[25] == 5 and found.classes[3] == "thing3"


def test_cifar100_has_its_fine_labels(tmp_path):
    cifar(tmp_path / "cifar", parts=("train", "test"), classes=100)
    found = load(tmp_path / "cifar")
    assert found.classes[99] == "thing99" and found.train_class[105] == 5


class Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_hostile_file_is_refused_by_name_and_nothing_runs(tmp_path, protocol):
    folder, trace = tmp_path / "cifar", tmp_path / "it-ran"
    cifar(folder)
    (folder / "data_batch_3").write_bytes(pickle.dumps({b"data": Hostile(trace), b"labels": []}, protocol=protocol))
    with pytest.raises(DataFileError, match=r"data_batch_3: the file asks for \w+\.system.*refused"):
        load(folder)
    assert not trace.exists()
    pickle.loads((folder / "data_batch_3").read_bytes())
    assert trace.exists(), "the file was not hostile"


@pytest.mark.parametrize(
    "payload",
    [
        b"cnumpy\nndarray\n(I1000000000000\nt\x85R.",
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n(I1000000000000\nt\x85U\x01b\x87R.",
        b"cnumpy\ndtype\nU\x01O\x85R.",
        b"c_codecs\nencode\nX\x01\x00\x00\x00aX\x05\x00\x00\x00rot13\x86R.",
        b"cbuiltins\neval\nX\x03\x00\x00\x001+1\x85R.",
        b"cnumpy\nload\nX\x01\x00\x00\x00x\x85R.",
        b"U\x01xQ.",
        b"",
        b"\x80\x02}q\x00",
        b"no pickle at all",
    ],
)
def test_no_pickle_builds_anything_else(tmp_path, payload):
    path = tmp_path / "data_batch_1"
    path.write_bytes(payload)
    with pytest.raises(DataFileError, match="data_batch_1: .*(refused|cut off or not a pickle)"):
        image_cifar.safe_load(path)


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
        (None, "neither CIFAR batches"),
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


def test_damaged_pickles_never_raise_anything_but_a_sentence(tmp_path):
    """Random bytes of a good file are changed; most of it is refused, and never by another exception."""
    rng = np.random.default_rng(5)
    cifar(tmp_path / "cifar")
    path = tmp_path / "cifar" / "data_batch_1"
    whole, refused = np.frombuffer(path.read_bytes(), np.uint8), 0
    ends = np.concatenate([np.arange(150), np.arange(-150, 0)])  # where pickles say what they are made of
    for _ in range(150):
        raw = whole.copy()
        raw[rng.choice(ends, 3)] = rng.integers(0, 256, 3)
        path.write_bytes(raw.tobytes())
        try:
            load(tmp_path / "cifar")
        except DataFileError as error:
            refused += 1
            assert str(path) in str(error) and "\n" not in str(error)
    assert refused > 50
