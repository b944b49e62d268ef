"""The cache: a hit returns what was computed, and nothing that cannot be trusted is ever read."""

import os
import subprocess
import sys
import warnings
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


def _arrays():
    rng = np.random.default_rng(0)
    return {
        "theta": rng.standard_normal((3, 4)),
        "fortran": np.asfortranarray(rng.standard_normal((3, 4))),
        "special": np.array([np.nan, np.inf, -0.0, 5e-324]),
        "status": np.arange(3, dtype=np.int32),
        "message": np.array(["fine", "été"]),
        "scalar": np.float64(2.0),
        "empty": np.zeros((0, 2)),
        "file": np.array([True, False]),
        "identity": np.ones(1),
    }


def test_second_call_reads_what_the_first_computed():
    compute = Counted(**_arrays())
    first = cache.cached("pseudo-truth", IDENTITY, compute)
    second = cache.cached("pseudo-truth", dict(reversed(IDENTITY.items())), compute)
    assert compute.calls == 1
    assert list(second) == list(first) == list(_arrays())
    for name, array in _arrays().items():
        for got in (first[name], second[name]):
            assert got.dtype == array.dtype and got.shape == array.shape
            assert got.tobytes() == array.tobytes()


def test_an_entry_that_another_process_puts_in_place_between_two_looks_is_read(monkeypatch):
    compute = Counted(x=np.arange(3))
    cache.cached("race", IDENTITY, compute)
    monkeypatch.setattr(Path, "is_file", lambda self: False)  # as it was a moment ago
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.cached("race", IDENTITY, compute)
    assert compute.calls == 1


def test_a_change_of_identity_or_kind_is_seen():
    compute = Counted(a=np.ones(2))
    cache.cached("fisher", IDENTITY, compute)
    cache.cached("fisher", {**IDENTITY, "code": 2}, compute)
    cache.cached("quadrature", IDENTITY, compute)
    cache.cached("fisher", {**IDENTITY, "d": 8.0}, compute)  # 8 and 8.0 may select different code
    assert compute.calls == 4


@pytest.mark.parametrize("mode", ["truncated", "flipped bit", "empty", "foreign", "header"])
def test_a_corrupt_entry_is_reported_recomputed_and_replaced(mode):
    compute = Counted(a=np.arange(50.0))
    cache.cached("fisher", IDENTITY, compute)
    file = cache.path("fisher", IDENTITY)
    entry = bytearray(file.read_bytes())
    if mode == "truncated":
        entry = entry[: len(entry) // 2]
    elif mode == "flipped bit":
        entry[-60] ^= 1
    elif mode == "empty":
        entry = bytearray()
    elif mode == "foreign":
        entry = bytearray(b"PK not an entry\n")
    else:
        entry[20] ^= 1
    file.write_bytes(entry)
    with pytest.warns(cache.CacheWarning, match="corrupt") as caught:
        again = cache.cached("fisher", IDENTITY, compute)
    assert len(caught) == 1 and "\n" not in str(caught[0].message)
    assert str(file) in str(caught[0].message)
    np.testing.assert_array_equal(again["a"], np.arange(50.0))
    assert compute.calls == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.cached("fisher", IDENTITY, compute)
    assert compute.calls == 2


def test_every_single_bit_flip_is_caught():
    cache.cached("fisher", IDENTITY, Counted(a=np.arange(3.0)))
    file = cache.path("fisher", IDENTITY)
    entry = file.read_bytes()
    canonical = cache._canonical("fisher", IDENTITY)
    cache._decode(entry, canonical)
    for position in range(0, len(entry), 7):
        broken = bytearray(entry)
        broken[position] ^= 4
        with pytest.raises(ValueError):
            cache._decode(bytes(broken), canonical)


def test_an_entry_under_another_name_is_not_believed():
    cache.cached("fisher", IDENTITY, Counted(a=np.zeros(1)))
    other = {**IDENTITY, "d": 2}
    cache.path("fisher", IDENTITY).rename(cache.path("fisher", other))
    with pytest.warns(cache.CacheWarning, match="another request"):
        got = cache.cached("fisher", other, Counted(a=np.ones(1)))
    assert got["a"][0] == 1.0


def test_a_failed_computation_leaves_nothing_behind():
    def fails():
        raise FloatingPointError("no")

    with pytest.raises(FloatingPointError):
        cache.cached("fisher", IDENTITY, fails)
    assert not cache.path("fisher", IDENTITY).exists()


def test_a_crash_before_the_rename_leaves_no_entry_and_no_litter(monkeypatch):
    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        cache.cached("fisher", IDENTITY, Counted(a=np.zeros(1)))
    assert list((cache.folder() / "fisher").iterdir()) == []


def test_a_folder_that_cannot_be_written_warns_once_and_computes(tmp_path, monkeypatch):
    blocker = tmp_path / "a-file"
    blocker.write_text("not a folder")
    monkeypatch.setenv("MOESTAT_CACHE", str(blocker / "inside"))
    compute = Counted(a=np.ones(1))
    with pytest.warns(cache.CacheWarning) as caught:
        got = cache.cached("fisher", IDENTITY, compute)
    assert got["a"][0] == 1.0
    [message] = [str(w.message) for w in caught]
    assert "cannot be written" in message and "MOESTAT_CACHE" in message and "\n" not in message


def test_a_full_disk_warns_and_keeps_the_old_entry(monkeypatch):
    cache.cached("fisher", IDENTITY, Counted(a=np.zeros(1)))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(cache.CacheWarning, match="No space left"):
        got = cache.cached("fisher", {**IDENTITY, "d": 2}, Counted(a=np.ones(1)))
    assert got["a"][0] == 1.0
    assert [p.name for p in (cache.folder() / "fisher").iterdir()] == [cache.path("fisher", IDENTITY).name]


def test_an_entry_that_cannot_be_read_is_computed_with_one_warning():
    file = cache.path("fisher", IDENTITY)
    file.mkdir(parents=True)  # a folder in the entry's place can be neither read nor replaced
    with pytest.warns(cache.CacheWarning) as caught:
        got = cache.cached("fisher", IDENTITY, Counted(a=np.ones(1)))
    [message] = [str(w.message) for w in caught]
    assert "cannot be read" in message and "cannot be written" in message
    assert got["a"][0] == 1.0


def test_identities_that_cannot_be_trusted_are_refused():
    with pytest.raises(TypeError, match="JSON"):
        cache.cached("fisher", {"x": np.float64(1.0), "f": len}, Counted())
    with pytest.raises(ValueError, match="finite"):
        cache.cached("fisher", {"x": float("nan")}, Counted())
    with pytest.raises(ValueError, match="kind"):
        cache.cached("../escape", {}, Counted())
    with pytest.raises(TypeError, match="objects"):
        cache.cached("fisher", {}, Counted(a=np.array([{}], dtype=object)))


def test_results_do_not_share_memory():
    compute = Counted(a=np.zeros(2))
    for _ in range(3):
        got = cache.cached("fisher", IDENTITY, compute)
        assert got["a"][0] == 0.0
        got["a"][0] = 7.0


def test_folder_follows_the_environment(tmp_path, monkeypatch):
    assert cache.folder() == tmp_path / "cache"
    monkeypatch.delenv("MOESTAT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "moestat"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache.folder() == tmp_path / ".cache" / "moestat"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.folder() == tmp_path / "Library" / "Caches" / "moestat"


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
    racers = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", RACER, str(k)], stderr=subprocess.PIPE, cwd=Path(__file__).parents[1]
        )
        for k in range(3)
    ]
    for racer in racers:
        _, errors = racer.communicate(timeout=60)
        assert racer.returncode == 0, errors.decode()
    entries = sorted(p.name for p in (cache.folder() / "race").iterdir())
    assert len(entries) == 15 and all(name.endswith(".cache") for name in entries)
