"""Which array library computes: NumPy on the CPU, CuPy on a GPU, one code for both.

Kernels are written against the array API standard and take their namespace from their arguments. Data are
always drawn with NumPy and moved, so that a GPU sees bit-identical data.
"""

from __future__ import annotations

import importlib
from typing import Any, Literal

import array_api_compat
import numpy as np

from moestat import extras

Array = Any
"""An array of any library that follows the array API standard (NumPy, CuPy, array-api-strict)."""

# glibc returns freed blocks above 128 KiB to the system at once, so every temporary costs page faults (a factor of
# two in our kernels), until it has seen one large block freed; from then on it reuses them. Nothing is touched here.
np.empty(31 * 2**20, dtype=np.uint8)

Device = Literal["cpu", "cuda"]
DEVICES = ("auto", "cpu", "cuda")


class DeviceError(RuntimeError):
    """The asked-for device cannot be used; the message says why and what to install."""


def namespace(*arrays: Array) -> Any:
    """Return the array API namespace that all of ``arrays`` belong to; TypeError if they belong to several."""
    return array_api_compat.array_namespace(*arrays)


def resolve_device(device: str = "auto") -> Device:
    """Turn ``"auto"``, ``"cpu"`` or ``"cuda"`` into a device that works here.

    ``"auto"`` takes the GPU when CuPy is installed and a device computes, and the CPU otherwise. Raises ValueError for
    any other name, and DeviceError if ``"cuda"`` is asked for and cannot be used.
    """
    if device not in DEVICES:
        raise ValueError(f"device is {device!r}; allowed are {', '.join(DEVICES)}")
    if device == "cpu":
        return "cpu"
    problem = _cuda_problem()
    if problem is None:
        return "cuda"
    if device == "auto":
        return "cpu"
    raise DeviceError(problem)


def _cuda_problem() -> str | None:
    """Say in one sentence why no CUDA device can be used, or return None when one can."""
    hint = f"install the extra that matches your driver: {extras.command('cuda13')} (or cuda12)"
    try:
        import cupy
    except ImportError:
        return f"device 'cuda' needs CuPy, which is not installed; {hint}"
    except Exception as error:  # a broken CUDA installation fails in many ways at import
        return f"device 'cuda' needs CuPy, which cannot be imported ({error}); {hint}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        return f"device 'cuda' needs a CUDA device, and none answers ({error}); {hint}"
    if count < 1:
        return "device 'cuda' needs a CUDA device, and none is visible (CUDA_VISIBLE_DEVICES?)"
    try:  # to multiply, factor and diagonalise in float64: each needs a library of its own
        a = cupy.asarray([[2.0, 1.0], [1.0, 3.0]])
        solved, values = cupy.linalg.solve(a @ a, cupy.asarray([[5.0], [10.0]])), cupy.linalg.eigvalsh(a)
        found = [*cupy.asnumpy(solved).ravel(), *cupy.asnumpy(values).ravel()]
        if np.allclose(found, [0.0, 1.0, (5 - 5**0.5) / 2, (5 + 5**0.5) / 2], rtol=1e-9, atol=1e-12):
            return None
        why = f"it computes {np.round(found, 6).tolist()} where 0, 1, 1.381966, 3.618034 are right"
    except Exception as error:  # libraries that are missing or of another version show up at their first use
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return f"device 'cuda' is there, but a small computation on it fails ({why}); {hint}"


def backend(device: Device) -> Any:
    """Return the array namespace of a resolved device."""
    return importlib.import_module("array_api_compat.cupy" if device == "cuda" else "array_api_compat.numpy")


def clamp(x: Array, low: Array | float | None, high: Array | float | None) -> Array:
    """Return ``x`` moved into [low, high], as ``clip`` does, which on CuPy takes nine times as long and waits."""
    xp = namespace(x)
    x = x if low is None else xp.maximum(x, low)
    return x if high is None else xp.minimum(x, high)


def free_bytes(like: Array) -> int:
    """Return the memory of a GPU that is free, with what CuPy keeps of arrays that are no more, and uses again."""
    import cupy

    return int(like.device.mem_info[0]) + int(cupy.get_default_memory_pool().free_bytes())


def to_numpy(x: Array) -> np.ndarray:
    """Copy ``x`` to a NumPy array on the CPU (no copy when it is one already)."""
    if array_api_compat.is_cupy_array(x):
        import cupy

        return cupy.asnumpy(x)
    return np.asarray(x)
