"""The device that the tests of this folder compute on.

Without CuPy and a CUDA device they are skipped. ``MOESTAT_TEST_DEVICE=cpu`` runs their bodies on the processor by plain
NumPy, and ``strict`` with arrays of array-api-strict, which refuse to be mixed with NumPy's as CuPy's do (and are made
to have a length, and slices that end behind the last element, as CuPy's do, too): so that the tests themselves are
tested without a GPU.
"""

import os
import sys

import array_api_strict
import pytest

from moestat import arrays


@pytest.fixture(scope="module", autouse=True)
def one_cache(tmp_path_factory):
    """Keep pseudo-truths and Fisher lines out of the user's cache: what the device computes is computed here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOESTAT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def cuda(monkeypatch):
    """Return the name of the device that is compared with ``"cpu"``."""
    instead = os.environ.get("MOESTAT_TEST_DEVICE", "")
    if instead == "cpu":
        return "cpu"
    if instead == "strict":
        monkeypatch.setattr(arrays, "_cuda_problem", lambda: None)
        monkeypatch.setitem(sys.modules, "array_api_compat.cupy", array_api_strict)
        kind = type(array_api_strict.zeros(1))
        monkeypatch.setattr(kind, "_validate_index", lambda self, key, op="": None)
        monkeypatch.setattr(kind, "__len__", lambda self: self.shape[0], raising=False)
        return "cuda"
    try:
        return arrays.resolve_device("cuda")
    except arrays.DeviceError as error:
        pytest.skip(str(error))


@pytest.fixture
def on(cuda):
    """Return a function that moves NumPy arrays to the device: one array, or a tuple of them."""
    xp = arrays.backend(cuda)

    def move(*values):
        moved = tuple(xp.asarray(value) for value in values)
        return moved[0] if len(moved) == 1 else moved

    return move
