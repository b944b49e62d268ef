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


def python3_pickle(entries):
    return pickle.dumps(entries, protocol=2)


def batch(count, classes, key=b"labels"):
    data = RNG.integers(0, 256, (count, 3072), dtype=np.uint8)
    return {b"batch_label": b"some batch", key: [i % classes for i in range(count)], b"data": data}


def cifar10(folder, write=python3_pickle):
    folder.mkdir()
    batches = {f"data_batch_{i}": batch(20, 10) for i in range(1, 6)} | {"test_batch": batch(10, 10)}
    for name, content in batches.items():
        (folder / name).write_bytes(write(content))
    (folder / "batches.meta").write_bytes(write({b"label_names": [b"thing%d" % i for i in range(10)]}))
    return batches


@pytest.mark.parametrize("write", [python2_pickle, python3_pickle])
def test_cifar10_as_python_2_and_as_python_3_write_it(tmp_path, write):
    batches = cifar10(tmp_path / "cifar", write)
    found = load(tmp_path / "cifar")
    assert found.train.shape == (100, 32, 32, 3) and found.test.shape == (10, 32, 32, 3)
    assert found.classes[3] == "thing3"
    raw = batches["data_batch_2"][b"data"][5]
    np.testing.assert_array_equal(found.train[25, 4, 9], raw[[4 * 32 + 9, 1024 + 4 * 32 + 9, 2048 + 4 * 32 + 9]])
    assert found.train_class[25] == 5


def test_cifar100_has_its_fine_labels(tmp_path):
    for name, count in (("train", 200), ("test", 100)):
        (tmp_path / name).write_bytes(
            python2_pickle(batch(count, 100, b"fine_labels") | {b"coarse_labels": [0] * count})
        )
    found = load(tmp_path)
    assert len(found.classes) == 100 and found.train_class[105] == 5


class Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_hostile_file_is_refused_by_name_and_nothing_runs(tmp_path, protocol):
    folder = tmp_path / "cifar"
    cifar10(folder)
    trace = tmp_path / "it-ran"
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


def idx(array):
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def fashion(folder, packed=True):
    folder.mkdir()
    arrays = {}
    for part, count in (("train", 30), ("t10k", 12)):
        arrays[f"{part}-images-idx3-ubyte"] = RNG.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        arrays[f"{part}-labels-idx1-ubyte"] = np.arange(count, dtype=np.uint8) % 10
    for name, array in arrays.items():
        content = idx(array)
        (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(content) if packed else content)
    return arrays


@pytest.mark.parametrize("packed", [True, False])
def test_idx(tmp_path, packed):
    arrays = fashion(tmp_path / "fashion", packed)
    found = load(tmp_path / "fashion")
    np.testing.assert_array_equal(found.train[..., 0], arrays["train-images-idx3-ubyte"])
    np.testing.assert_array_equal(found.test_class, arrays["t10k-labels-idx1-ubyte"])
    assert found.classes == tuple("0123456789")


def repacked(change):
    return lambda raw: gzip.compress(change(gzip.decompress(raw)))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda raw: raw[:200], "cut off or damaged"),
        (repacked(lambda raw: raw[:-5]), "promises 30 x 28 x 28 = 23520 bytes, but there are 23515"),
        (repacked(lambda raw: b"\0\0\x0d\x03" + raw[4:]), "not an idx file of bytes"),
        (None, "neither CIFAR batches"),
    ],
)
def test_bad_idx(tmp_path, damage, message):
    folder = tmp_path / "fashion"
    fashion(folder)
    path = folder / "train-images-idx3-ubyte.gz"
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataFileError, match=message):
        load(folder)


def arrays(**changes):
    out = {
        "x_train": RNG.random((20, 6, 6)),
        "y_train": np.arange(20) % 3,
        "x_test": RNG.random((9, 6, 6)),
        "y_test": np.arange(9)[:, None] % 3,
    }
    return {key: value for key, value in (out | changes).items() if value is not None}


def test_npz(tmp_path):
    path = tmp_path / "own.npz"
    np.savez(path, **arrays(y_train=np.array([5, 7, 9])[np.arange(20) % 3], y_test=np.full(9, 7)))
    found = load(path)
    assert found.train.shape == (20, 6, 6, 1) and found.train.dtype == np.float32
    assert found.classes == ("5", "7", "9") and found.test_class.tolist() == [1] * 9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_test": None}, "there is no array 'y_test'"),
        ({"y_train": np.zeros(20)}, "training labels are of type float64; they must be whole numbers"),
        ({"y_train": np.zeros(20, int)}, "every training image is of the class 0"),
        ({"y_test": np.full(9, 8)}, "test label 8 does not occur"),
        ({"x_train": RNG.random((20, 36))}, r"training images have shape \(20, 36\)"),
        ({"x_test": RNG.random((9, 5, 6))}, "a training image is 6 x 6 x 1, a test image 5 x 6 x 1"),
        ({"x_test": np.full((9, 6, 6), np.nan)}, "not finite"),
    ],
)
def test_bad_npz(tmp_path, changes, message):
    path = tmp_path / "own.npz"
    np.savez(path, **arrays(**changes))
    with pytest.raises(DataFileError, match=f"own.npz: .*{message}"):
        load(path)


def test_damaged_pickles_never_raise_anything_but_a_sentence(tmp_path):
    """Random bytes of a good file are changed; most of it is refused, and never by another exception."""
    rng = np.random.default_rng(5)
    cifar10(tmp_path / "cifar")
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
