"""The devices that the tests of this folder compute on, beside the processor.

What takes arrays (``on``) is computed with those of array-api-strict, everywhere, and with CuPy's where there is a CUDA
device. Arrays of array-api-strict refuse to be mixed with NumPy's, as CuPy's do (and are made to have a length, and
slices that end behind the last element, as CuPy's do, too). Experiments (``cuda``) are skipped without a device;
``MOESTAT_TEST_DEVICE=cpu`` or ``strict`` runs them on the processor or with such arrays.
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


def _strict(monkeypatch):
    """Put array-api-strict in the place of CuPy, and return the name of the device."""
    monkeypatch.setattr(arrays, "_cuda_problem", lambda: None)
    monkeypatch.setitem(sys.modules, "array_api_compat.cupy", array_api_strict)
    kind = type(array_api_strict.zeros(1))
    monkeypatch.setattr(kind, "_validate_index", lambda self, key, op="": None)
    monkeypatch.setattr(kind, "__len__", lambda self: self.shape[0], raising=False)
    return "cuda"


def _cuda():
    try:
        return arrays.resolve_device("cuda")
    except arrays.DeviceError as error:
        pytest.skip(str(error))


@pytest.fixture
def cuda(monkeypatch):
    """Return the name of the device that is compared with ``"cpu"``."""
    instead = os.environ.get("MOESTAT_TEST_DEVICE", "")
    return "cpu" if instead == "cpu" else _strict(monkeypatch) if instead == "strict" else _cuda()


@pytest.fixture(params=["strict", pytest.param("cuda", marks=pytest.mark.gpu)])
def on(request, monkeypatch):
    """Return a function that moves NumPy arrays to the device: one array, or a tuple of them."""
    xp = arrays.backend(_strict(monkeypatch) if request.param == "strict" else _cuda())

    def move(*values):
        moved = tuple(xp.asarray(value) for value in values)
        return moved[0] if len(moved) == 1 else moved

    return move
