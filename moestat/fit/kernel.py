"""Which code computes the least-squares fits on the CPU: compiled by numba for this processor, or plain NumPy.

The compiled code (:mod:`moestat.fit.compiled_problem`) needs numba and a processor with fused multiply-adds on
vectors: AVX-512, or AVX2 with FMA, on x86; NEON on 64-bit ARM. Anywhere else NumPy computes the same numbers to
rounding, several times slower. The environment variable ``MOESTAT_KERNEL`` decides otherwise: ``numpy`` asks for the
plain code, ``512``, ``256`` or ``128`` for vectors of so many bits, at most as wide as the processor's.

What is compiled is kept in ``kernels`` below the folder of :mod:`moestat.cache`, in a folder named by the vectors
and a hash of the sources (``compiled*`` and ``vector_*`` here and beside the function), so that a read-only
installation compiles once, and a changed one again.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from moestat import cache

VARIABLE = "MOESTAT_KERNEL"
WIDTHS = (512, 256, 128)  #: Bits of a vector register.


def describe() -> str:
    """Say which code computes here: ``"numba 0.68.1, 512-bit vectors"``, or ``"numpy 2.4.6"`` and why it does."""
    bits, reason = _choice(os.environ.get(VARIABLE, ""))
    return f"numba {version('numba')}, {bits}-bit vectors" if bits else f"numpy {version('numpy')} ({reason})"


def used() -> str:
    """Return what :func:`describe` says if this process has asked which code to use, and "" if it has not."""
    return describe() if _choice.cache_info().currsize else ""


def vector_bits() -> int:
    """Return the bits of the vectors to compile for, one of ``WIDTHS``, or 0 where NumPy computes.

    A ValueError says that ``MOESTAT_KERNEL`` is not one of its values, or asks for what this machine does not have.
    """
    return _choice(os.environ.get(VARIABLE, ""))[0]


def serves(*arrays: Any) -> bool:
    """Return whether the compiled code computes with these arrays: NumPy's, on a processor that it can be made for."""
    return all(isinstance(array, np.ndarray) for array in arrays) and vector_bits() > 0


@functools.cache
def _choice(asked: str) -> tuple[int, str]:
    """Return the bits of the vectors and, if NumPy computes, why."""
    allowed = ("numpy", *map(str, WIDTHS))
    if asked and asked not in allowed:
        raise ValueError(f"{VARIABLE} is {asked!r}; allowed are {', '.join(allowed)}, or nothing")
    if asked == "numpy":
        return 0, f"{VARIABLE} is numpy"
    able, reason = _native()
    if not asked:
        return able, reason
    if int(asked) > able:
        raise ValueError(f"{VARIABLE} is {asked}: {reason or f'the vectors of this processor have {able} bits'}")
    return int(asked), ""


def _native() -> tuple[int, str]:
    """Return the bits of the widest vectors with fused multiply-adds that can be compiled for here, and why none."""
    try:
        import numba  # noqa: F401
        from llvmlite import binding

        features = binding.get_host_cpu_features()
    except ImportError:
        return 0, "numba is not installed"
    except Exception as error:  # a broken installation of LLVM fails in many ways
        return 0, f"numba cannot be imported: {type(error).__name__}: {error}"
    if platform.machine().lower() in ("aarch64", "arm64"):
        return 128, ""
    if features.get("fma") and features.get("avx512f"):
        return 512, ""
    if features.get("fma") and features.get("avx2"):
        return 256, ""
    return 0, f"no fused arithmetic on vectors of 256 bits on this {platform.machine()} processor"


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function by numba at its first call, or load what another process has compiled."""
    import numba

    # a division by zero is an infinity, as in NumPy: a check for it would keep loops from being vectorised
    options: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}
    folder = _folder(vector_bits(), Path(function.__code__.co_filename).parent)
    before = numba.config.CACHE_DIR
    try:
        if folder is not None:
            numba.config.CACHE_DIR = str(folder)  # it is read when a function is decorated, and nowhere else
            return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no place to write after all
        pass
    finally:
        numba.config.CACHE_DIR = before
    return numba.njit(**options)(function)  # type: ignore[no-any-return]


@functools.cache
def _folder(bits: int, beside: Path) -> Path | None:
    """Return a folder that can be written for what is compiled for these vectors, or nothing."""
    try:
        sources = [p for place in (Path(__file__).parent, beside) for p in sorted(place.glob("*.py"))]
        text = b"".join(p.read_bytes() for p in sources if p.name.startswith(("compiled", "vector_")))
        folder = cache.folder() / "kernels" / f"{hashlib.sha256(text).hexdigest()[:16]}-{bits}"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):
        return None
