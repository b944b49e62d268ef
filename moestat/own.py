"""A user's own functions, named by import path; a gate or an expert is one of a number, with two derivatives.

Wherever a gate or an expert is a name, ``"module:function"`` names one of the user's::

    def swish(h, order):
        s = 1 / (1 + np.exp(-h))
        return (h * s, s + h * s * (1 - s), s * (1 - s) * (2 + h * (1 - 2 * s)))[: order + 1]

The function acts on every number by itself and returns its value and its first ``order`` derivatives (0, 1 or 2). A
path, not an object, because it must mean the same in a study file, in a worker process and on another machine.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from moestat.arrays import Array
from moestat.own_files import NoCodeError, edited, hashes, remember
from moestat.versions import digest

Activation = Callable[[Array, int], tuple[Array, ...]]
"""f(numbers, order) -> (value, first derivative, second derivative)[: order + 1]."""

_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_POINTS = np.linspace(-2.1731, 2.3119, 12)  # no round number: a kink of the user's is not met
_STEP = 1e-5
_TOLERANCE = 1e-5  # of central differences, whose own error is about 1e-10


def is_path(name: str) -> bool:
    """Return whether a name has the form ``package.module:function``."""
    return _PATH.fullmatch(name) is not None


def load(path: str) -> Activation:
    """Return the function that ``"package.module:function"`` names, once its derivatives have been checked.

    Raises ValueError if there is no such function, or it is not one of numbers with two derivatives.
    """
    function: Activation = imported(path)
    if problem := _problem(function):
        raise ValueError(f"{path!r} {problem}")
    return function


def parity(function: Activation) -> int:
    """Return 1 for an even function, -1 for an odd one and 0 for others, on a dozen numbers."""
    there, mirrored = function(_POINTS, 0)[0], function(-_POINTS, 0)[0]
    for sign in (1, -1):
        if np.allclose(mirrored, sign * there, rtol=1e-9, atol=1e-12):
            return sign
    return 0


def imported(path: str) -> Callable[..., Any]:
    """Return the function that an import path names, whatever it computes; ValueError if it cannot be imported."""
    module_name, _, name = path.partition(":")
    new = module_name not in sys.modules
    try:
        function: Callable[..., Any] = getattr(importlib.import_module(module_name), name)
    except Exception as error:  # a user's module can fail at import in any way
        raise ValueError(f"{path!r} cannot be imported: {type(error).__name__}: {error}") from error
    if new:
        remember()
    return function


def code(*names: str) -> str:
    """Return a hash of the user's own files behind those names that are import paths, and "" if there are none.

    Raises ValueError if the code on the disk is not the one that this process has imported.
    """
    versions = []
    for module_name in {name.partition(":")[0] for name in names if is_path(name)}:
        try:
            found = hashes(module_name)
        except NoCodeError:  # load() says in a better place what is wrong with it
            continue
        for changed in edited(found):
            raise ValueError(f"{changed} was changed after this process had imported it; restart the process")
        if found:
            versions.append(digest(found))
    return "-".join(sorted(versions))


@lru_cache(maxsize=64)
def _problem(function: Any) -> str:
    """Return what is wrong with a function, by central differences, or "" if nothing is."""
    remember()
    try:
        with np.errstate(all="ignore"):
            got, high, low = (tuple(function(_POINTS + shift, 2)) for shift in (0.0, _STEP, -_STEP))
            lengths = [len(function(_POINTS, order)) for order in (0, 1)]
    except Exception as error:  # the user's function can fail in any way
        return f"cannot be evaluated as f(numbers, order): {type(error).__name__}: {error}"
    if [*lengths, len(got)] != [1, 2, 3] or any(np.shape(part) != _POINTS.shape for part in got):
        return (
            "must return (value, first derivative, second derivative)[: order + 1], each like the numbers it is given"
        )
    if not all(np.all(np.isfinite(part)) for part in got):
        return "is not finite between -2.2 and 2.4"
    for order, word in ((1, "first"), (2, "second")):
        expected = (high[order - 1] - low[order - 1]) / (2 * _STEP)
        off = np.abs(got[order] - expected)
        worst = int(np.argmax(off))
        if off[worst] > _TOLERANCE * (1.0 + np.max(np.abs(expected))):
            return (
                f"has a wrong {word} derivative: {got[order][worst]:.6g} at {_POINTS[worst]:.4g}, where differences "
                f"give {expected[worst]:.6g}"
            )
    return ""
