"""What holds for all tests: the same examples in every run, so that a failure is one of the change that it follows."""

import gc
import os
import sys
from pathlib import Path

import array_api_strict
import hypothesis
import pytest

from moestat import arrays
from moestat.fit import kernel

# search further now and then with:  python -m pytest --hypothesis-profile=search
hypothesis.settings.register_profile("same", derandomize=True)
hypothesis.settings.register_profile("search", max_examples=1000, deadline=None)
hypothesis.settings.load_profile("same")

# among what four thousand tests and their libraries hold, each look for garbage takes half a second
gc.set_threshold(100_000, 20, 50)


def pytest_collection_finish():
    """Leave what was collected out of every later look for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def processes_without_dask():
    """Let the processes that tests start be those of a plain installation, which are a fifth faster; see the folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent / "without_dask"), prepend=os.pathsep)
        yield


@pytest.fixture(scope="session", autouse=True)
def kernels_are_kept():
    """Keep what is compiled for the next run: the place is chosen once, and many tests have a cache of their own."""
    if kernel.vector_bits():
        kernel.compiled(lambda: 0)


def strict_device(monkeypatch):
    """Put array-api-strict in the place of CuPy, and return the name of the device.

    Its arrays refuse to be mixed with NumPy's, as CuPy's do; here they have a length, and slices that end behind the
    last element, as CuPy's have, too.
    """
    monkeypatch.setattr(arrays, "_cuda_problem", lambda: None)
    monkeypatch.setitem(sys.modules, "array_api_compat.cupy", array_api_strict)
    kind = type(array_api_strict.zeros(1))
    monkeypatch.setattr(kind, "_validate_index", lambda self, key, op="": None)
    monkeypatch.setattr(kind, "__len__", lambda self: self.shape[0], raising=False)
    return "cuda"


def cuda_device():
    try:
        return arrays.resolve_device("cuda")
    except arrays.DeviceError as error:
        pytest.skip(str(error))


@pytest.fixture
def cuda(monkeypatch):
    """Return the device that an experiment runs on; ``MOESTAT_TEST_DEVICE=cpu`` or ``strict`` stands in its place."""
    instead = os.environ.get("MOESTAT_TEST_DEVICE", "")
    return "cpu" if instead == "cpu" else strict_device(monkeypatch) if instead == "strict" else cuda_device()


@pytest.fixture(params=["strict", pytest.param("cuda", marks=pytest.mark.gpu)])
def on(request, monkeypatch):
    """Return a function that moves NumPy arrays to a device: one array, or a tuple of them.

    It is one of array-api-strict everywhere, and with ``-m gpu`` a CUDA device.
    """
    xp = arrays.backend(strict_device(monkeypatch) if request.param == "strict" else cuda_device())

    def move(*values):
        moved = tuple(xp.asarray(value) for value in values)
        return moved[0] if len(moved) == 1 else moved

    return move
