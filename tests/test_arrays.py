"""Choosing the array library: what works here, and a clear sentence when it does not."""

import builtins
import subprocess
import sys
import types
from pathlib import Path

import array_api_strict
import numpy as np
import pytest

from moestat import arrays


def _no_cupy(monkeypatch, error):
    real = builtins.__import__

    def fake(name, *args, **kwargs):
        if name == "cupy" or name.startswith("cupy."):
            raise error
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fake)


def _fake_cupy(monkeypatch, count):
    def get_device_count():
        if isinstance(count, Exception):
            raise count
        return count

    runtime = types.SimpleNamespace(getDeviceCount=get_device_count)
    fake = types.ModuleType("cupy")
    fake.cuda = types.SimpleNamespace(runtime=runtime)
    fake.asarray = fake.asnumpy = np.asarray
    fake.linalg = np.linalg
    monkeypatch.setitem(sys.modules, "cupy", fake)


def test_unknown_device_lists_the_allowed_ones():
    with pytest.raises(ValueError, match="'gpu'.*auto, cpu, cuda"):
        arrays.resolve_device("gpu")


def test_cpu_is_always_there(monkeypatch):
    _no_cupy(monkeypatch, ImportError("no cupy"))
    assert arrays.resolve_device("cpu") == "cpu"
    assert arrays.resolve_device("auto") == "cpu"
    assert arrays.resolve_device() == "cpu"


@pytest.mark.parametrize("error", [ImportError("no cupy"), OSError("libcuda.so.1: cannot open")])
def test_cuda_without_cupy_names_the_extra(monkeypatch, error):
    _no_cupy(monkeypatch, error)
    with pytest.raises(arrays.DeviceError, match=r"CuPy.*moestat\[cuda13\].*moestat\[cuda12\]") as caught:
        arrays.resolve_device("cuda")
    assert "\n" not in str(caught.value)
    if isinstance(error, OSError):
        assert "libcuda.so.1" in str(caught.value)


def test_cuda_without_a_device_says_so(monkeypatch):
    _fake_cupy(monkeypatch, RuntimeError("cudaErrorNoDevice"))
    with pytest.raises(arrays.DeviceError, match=r"cudaErrorNoDevice.*moestat\[cuda"):
        arrays.resolve_device("cuda")
    _fake_cupy(monkeypatch, 0)
    with pytest.raises(arrays.DeviceError, match="none is visible"):
        arrays.resolve_device("cuda")
    assert arrays.resolve_device("auto") == "cpu"


def missing(*arguments):
    raise OSError("libcusolver.so.11: cannot open shared object file\nTo fix it ...")


@pytest.mark.parametrize(
    ("eigenvalues", "why"),
    [
        (missing, r"libcusolver.so.11: cannot open shared object file\)"),
        (np.diag, r"it computes \[0.0, 1.0, 2.0, 3.0\]"),
    ],
)
def test_a_device_that_does_not_compute_is_none(monkeypatch, eigenvalues, why):
    _fake_cupy(monkeypatch, 1)
    monkeypatch.setattr(
        sys.modules["cupy"], "linalg", types.SimpleNamespace(solve=np.linalg.solve, eigvalsh=eigenvalues)
    )
    with pytest.raises(arrays.DeviceError, match=f"a small computation on it fails.*{why}.*moestat"):
        arrays.resolve_device("cuda")
    assert arrays.resolve_device("auto") == "cpu"


def test_auto_takes_a_device_that_answers(monkeypatch):
    _fake_cupy(monkeypatch, 1)
    assert arrays.resolve_device("auto") == "cuda"
    assert arrays.resolve_device("cuda") == "cuda"


def test_to_numpy():
    x = np.arange(3.0)
    assert arrays.to_numpy(x) is x
    strict = array_api_strict.asarray([[1.0, 2.0], [3.0, 4.0]])
    got = arrays.to_numpy(strict)
    assert type(got) is np.ndarray and got.dtype == np.float64
    np.testing.assert_array_equal(got, [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(arrays.to_numpy([1, 2]), [1, 2])


def test_namespace_follows_the_arrays():
    assert arrays.namespace(array_api_strict.zeros(2)) is array_api_strict
    xp = arrays.namespace(np.zeros(2), np.ones(3))
    assert xp is arrays.namespace(np.zeros(1)) and isinstance(xp.asarray(1.0), np.ndarray)
    with pytest.raises(TypeError):
        arrays.namespace(np.zeros(2), array_api_strict.zeros(2))


def test_backend_of_the_cpu_is_numpy():
    xp = arrays.backend("cpu")
    assert isinstance(xp.zeros(2), np.ndarray)
    assert xp.matrix_transpose(xp.zeros((2, 3))).shape == (3, 2)


def test_importing_moestat_loads_neither_torch_nor_cupy():
    code = (
        "import sys, moestat, moestat.arrays, moestat.cache, moestat.streams, moestat.fit.levenberg_marquardt, "
        "moestat.fit.gradient; print([m for m in ('torch', 'cupy', 'jax') if m in sys.modules])"
    )
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.strip() == "[]"
