"""The cache: a hit returns what was computed, and nothing that cannot be trusted is ever read."""

import hashlib
import io
import os
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from moestat import cache

IDENTITY = {"code": 1, "d": 8, "truth": {"gate": "softmax"}, "radii": [0.1, 0.01]}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MOESTAT_CACHE", str(tmp_path / "cache"))


class Counted:
    """A computation that counts its calls."""

    def __init__(self, **arrays):
        self.arrays, self.calls = arrays, 0

    def __call__(self):
        self.calls += 1
        return {name: array.copy() for name, array in self.arrays.items()}


def test_second_call_reads_what_the_first_computed():
    rng = np.random.default_rng(0)
    arrays = {
        "fortran": np.asfortranarray(rng.standard_normal((3, 4))),
        "special": np.array([np.nan, np.inf, -0.0, 5e-324]),
        "message": np.array(["fine", "été"]),
        "scalar": np.float64(2.0),
        "empty": np.zeros((0, 2)),
        "file": np.array([True, False]),
        "identity": np.ones(1, dtype=np.int32),
    }
    compute = Counted(**arrays)
    first = cache.cached("pseudo-truth", IDENTITY, compute)
    first["special"][0] = 7.0  # memory is not shared
    second = cache.cached("pseudo-truth", dict(reversed(IDENTITY.items())), compute)
    assert compute.calls == 1 and list(second) == list(arrays)
    for name, array in arrays.items():
        assert second[name].dtype == array.dtype and second[name].shape == array.shape
        assert second[name].tobytes() == array.tobytes()


def test_a_change_of_identity_or_kind_is_seen():
    compute = Counted(a=np.ones(2))
    cache.cached("fisher", IDENTITY, compute)
    cache.cached("fisher", {**IDENTITY, "code": 2}, compute)
    cache.cached("quadrature", IDENTITY, compute)
    cache.cached("fisher", {**IDENTITY, "d": 8.0}, compute)  # 8 and 8.0 may select different code
    assert compute.calls == 4


def sealed(archive: bytes) -> bytes:
    return cache._MAGIC + b" " + hashlib.sha256(archive).hexdigest().encode() + b"\n" + archive


def packed(**arrays) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def huge() -> bytes:
    """An archive that says it holds 8 TiB."""
    stream, header = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    with zipfile.ZipFile(stream, "w") as archive:
        identity = io.BytesIO()
        np.save(identity, np.asarray(cache._canonical("fisher", IDENTITY)))
        archive.writestr("identity.npy", identity.getvalue())
        archive.writestr("array/x.npy", header.getvalue() + b"\0" * 64)
    return stream.getvalue()


@pytest.mark.parametrize(
    "broken",
    [
        lambda entry: entry[: len(entry) // 2],
        lambda entry: entry[:-60] + bytes([entry[-60] ^ 1]) + entry[-59:],
        lambda entry: entry[:20] + bytes([entry[20] ^ 1]) + entry[21:],
        lambda entry: b"",
        lambda entry: b"PK not an entry\n",
        lambda entry: sealed(b"no archive"),
        lambda entry: sealed(packed(x=np.zeros(3))),
        lambda entry: sealed(huge()),
        lambda entry: sealed(packed(bomb=np.zeros(10**6))),
    ],
)
def test_a_corrupt_entry_is_told_computed_again_and_replaced(broken):
    compute = Counted(a=np.arange(50.0))
    cache.cached("fisher", IDENTITY, compute)
    file = cache.path("fisher", IDENTITY)
    file.write_bytes(broken(file.read_bytes()))
    with pytest.warns(cache.CacheWarning, match="is not used|corrupt") as caught:
        again = cache.cached("fisher", IDENTITY, compute)
    assert len(caught) == 1 and str(file) in str(caught[0].message)
    np.testing.assert_array_equal(again["a"], np.arange(50.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.cached("fisher", IDENTITY, compute)
    assert compute.calls == 2


def test_an_entry_under_another_name_is_not_believed():
    cache.cached("fisher", IDENTITY, Counted(a=np.zeros(1)))
    other = {**IDENTITY, "d": 2}
    cache.path("fisher", IDENTITY).rename(cache.path("fisher", other))
    with pytest.warns(cache.CacheWarning, match="another request"):
        assert cache.cached("fisher", other, Counted(a=np.ones(1)))["a"][0] == 1.0


@pytest.mark.parametrize("problem", ["a file in the way", "a folder in the entry's place", "a full disk"])
def test_a_cache_that_cannot_be_used_warns_once_and_computes(tmp_path, monkeypatch, problem):
    if problem == "a file in the way":
        (tmp_path / "cache").write_text("not a folder")
    elif problem == "a folder in the entry's place":
        cache.path("fisher", IDENTITY).mkdir(parents=True)
    else:
        full = OSError(28, "No space left on device")
        monkeypatch.setattr(os, "fsync", lambda *_: (_ for _ in ()).throw(full))
    with pytest.warns(cache.CacheWarning, match="cannot be written .*MOESTAT_CACHE") as caught:
        got = cache.cached("fisher", IDENTITY, Counted(a=np.ones(1)))
    assert len(caught) == 1 and got["a"][0] == 1.0


@pytest.mark.parametrize(
    ("kind", "identity", "error", "told"),
    [
        ("fisher", {"f": len}, TypeError, "JSON"),
        ("fisher", {"x": float("nan")}, ValueError, "finite"),
        ("../escape", {}, ValueError, "kind"),
        ("fisher", {}, TypeError, "objects"),
    ],
)
def test_identities_and_arrays_that_cannot_be_kept_are_refused(kind, identity, error, told):
    with pytest.raises(error, match=told):
        cache.cached(kind, identity, Counted(a=np.array([{}], dtype=object)))


RACER = """
import sys, time
import numpy as np
from moestat import cache

def compute():
    time.sleep(0.01)
    return {"a": np.full(20_000, float(sys.argv[1]) * 0 + 3.0)}

for k in range(15):
    got = cache.cached("race", {"k": k}, compute)
    assert got["a"].shape == (20_000,) and np.all(got["a"] == 3.0)
"""


def test_processes_that_race_all_get_whole_arrays():
    words = [sys.executable, "-W", "error", "-c", RACER]
    root = Path(__file__).parents[1]
    racers = [subprocess.Popen([*words, str(k)], stderr=subprocess.PIPE, cwd=root) for k in range(3)]
    for racer in racers:
        _, errors = racer.communicate(timeout=60)
        assert racer.returncode == 0, errors.decode()
    entries = sorted(p.name for p in (cache.folder() / "race").iterdir())
    assert len(entries) == 15 and all(name.endswith(".cache") for name in entries)
