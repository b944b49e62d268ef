"""Choosing the array library: what works here, and a clear sentence when it does not."""

import sys
import types

import array_api_strict
import numpy as np
import pytest

from moestat import arrays


def _cupy(monkeypatch, count, eigenvalues=np.linalg.eigvalsh):
    """Put a CuPy in place that counts so many devices, or raises what it is given."""

    def devices():
        if isinstance(count, Exception):
            raise count
        return count

    fake = types.ModuleType("cupy")
    fake.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(getDeviceCount=devices))
    fake.asarray = fake.asnumpy = np.asarray
    fake.linalg = types.SimpleNamespace(solve=np.linalg.solve, eigvalsh=eigenvalues)
    monkeypatch.setitem(sys.modules, "cupy", fake)


def missing(*arguments):
    raise OSError("libcusolver.so.11: cannot open shared object file\nTo fix it ...")


def test_unknown_device_lists_the_allowed_ones():
    with pytest.raises(ValueError, match=r"'gpu'.*auto, cpu, cuda"):
        arrays.resolve_device("gpu")


def test_without_cupy_auto_is_the_processor_and_cuda_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert arrays.resolve_device("cpu") == arrays.resolve_device("auto") == arrays.resolve_device() == "cpu"
    with pytest.raises(arrays.DeviceError, match=r"CuPy.*\[cuda13\].*cuda12") as caught:
        arrays.resolve_device("cuda")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("count", "eigenvalues", "why"),
    [
        (RuntimeError("cudaErrorNoDevice"), np.linalg.eigvalsh, r"cudaErrorNoDevice.*\[cuda"),
        (0, np.linalg.eigvalsh, "none is visible"),
        (1, missing, r"a small computation on it fails.*libcusolver.so.11: cannot open shared object file\).*cuda13"),
        (1, np.diag, r"it computes \[0.0, 1.0, 2.0, 3.0\]"),
    ],
)
def test_a_device_that_does_not_compute_is_none(monkeypatch, count, eigenvalues, why):
    _cupy(monkeypatch, count, eigenvalues)
    with pytest.raises(arrays.DeviceError, match=why):
        arrays.resolve_device("cuda")
    assert arrays.resolve_device("auto") == "cpu"


def test_auto_takes_a_device_that_answers(monkeypatch):
    _cupy(monkeypatch, 1)
    assert arrays.resolve_device("auto") == arrays.resolve_device("cuda") == "cuda"


def test_to_numpy():
    x = np.arange(3.0)
    assert arrays.to_numpy(x) is x
    got = arrays.to_numpy(array_api_strict.asarray([[1.0, 2.0], [3.0, 4.0]]))
    assert type(got) is np.ndarray and got.dtype == np.float64
    np.testing.assert_array_equal(got, [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.gpu
def test_cupy_round_trip():
    cupy = pytest.importorskip("cupy")
    if arrays.resolve_device("auto") != "cuda":
        pytest.skip("no CUDA device answers")
    moved = arrays.backend("cuda").asarray(np.arange(5.0))
    assert isinstance(moved, cupy.ndarray)
    np.testing.assert_array_equal(arrays.to_numpy(moved), np.arange(5.0))
