"""Arrays as users have them, at the doors of the library: lists, integers, masks become float64, or are refused.

What lies behind a door computes in float64 and does not look again. A value that is not there (a mask, None) becomes
NaN, which everything behind the doors counts as missing or refuses; a number that is not real is refused at once.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, ParamSpec, TypeVar

import array_api_compat
import numpy as np

from moestat.arrays import Array
from moestat.sentences import show

P = ParamSpec("P")
R = TypeVar("R")

RNGLike = np.random.Generator | np.random.BitGenerator | np.random.SeedSequence | int | Sequence[int] | None
"""What an argument ``rng`` takes: all that ``numpy.random.default_rng`` does (SPEC 7 of Scientific Python)."""

_ASSIGNED = (*functools.WRAPPER_ASSIGNMENTS, "__kwdefaults__")  # one dictionary of defaults: a change of it is meant
_KINDS = {"b": "truth values", "c": "complex numbers", "M": "dates", "m": "spans of time", "S": "texts", "U": "texts"}


def as_float64(x: Any, name: str, *, bools: bool = False) -> Array:
    """Return real numbers as a float64 array in the byte order of the machine.

    Parameters
    ----------
    x : array, sequence, xarray.DataArray, pandas object, ...
        A NumPy array of float64 comes back as it is, not copied; everything else in C order. An array of another
        library that follows the array API standard stays one of that library. Masked entries and None become NaN.
    name : str
        Of the argument, for the sentence that refuses it.
    bools : bool, default False
        Whether truth values are taken, as 0 and 1.

    Raises TypeError if ``x`` is None or holds what is no real number, ValueError if rows differ in length or a number
    is beyond the range of float64.
    """
    if type(x) is np.ndarray and x.dtype == np.float64:
        return x
    if isinstance(x, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(x), np.nan, as_float64(x.data, name, bools=bools))
    foreign = hasattr(x, "__array_namespace__") and not isinstance(x, np.ndarray | np.generic)
    if foreign or array_api_compat.is_cupy_array(x):
        xp = array_api_compat.array_namespace(x)
        if not xp.isdtype(x.dtype, ("integral", "real floating", *(["bool"] if bools else []))):
            raise TypeError(f"{name} holds numbers of type {x.dtype}; allowed are real numbers")
        return xp.astype(x, xp.float64, copy=False)
    try:
        array = np.asarray(_without_masks(x, name) if isinstance(x, list | tuple) else x)
    except (TypeError, RuntimeError) as error:  # a tensor of PyTorch that is on a GPU, has a gradient, or is bfloat16
        raise TypeError(f"{name} cannot be read as an array ({' '.join(str(error).split())})") from None
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; allowed are arrays of one shape") from None
    if array.dtype.kind == "O":
        for entry in array.flat:
            number = isinstance(entry, Real | Decimal) and not isinstance(entry, bool)
            if not number and (entry is not None or array.ndim == 0):
                raise TypeError(f"{name} holds an entry of type {type(entry).__name__}; allowed are real numbers")
    elif array.dtype.kind not in ("biuf" if bools else "iuf"):
        kind = _KINDS.get(array.dtype.kind, f"entries of type {array.dtype}")
        raise TypeError(f"{name} holds {kind}; allowed are real numbers")
    try:
        with np.errstate(over="raise"):
            numbers: np.ndarray = array.astype(np.float64, order="C", copy=False)
    except (OverflowError, FloatingPointError):
        raise ValueError(f"{name} holds a number beyond the range of float64") from None
    return numbers


def takes_float64(*names: str, finite: bool = False, empty: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function a door: the named arguments go through :func:`as_float64`; a default of None stays None.

    A ValueError that names the argument refuses an array of which one of the last two axes (atoms, samples,
    coordinates) has length 0, unless ``empty``, and with ``finite`` numbers that are not finite.
    """

    def door_of(function: Callable[P, R]) -> Callable[P, R]:
        given = inspect.signature(function).parameters
        keyword = inspect.Parameter.KEYWORD_ONLY
        places = [(name, None if given[name].kind is keyword else [*given].index(name)) for name in names]

        @functools.wraps(function, assigned=_ASSIGNED)
        def door(*args: P.args, **kwargs: P.kwargs) -> R:
            there: list[Any] = list(args)
            for name, place in places:
                if place is not None and place < len(there):
                    there[place] = _checked(there[place], name, given[name].default, finite, empty)
                elif name in kwargs:
                    kwargs[name] = _checked(kwargs[name], name, given[name].default, finite, empty)
            return function(*there, **kwargs)

        return door

    return door_of


def _checked(value: Any, name: str, default: Any, finite: bool, empty: bool) -> Any:
    if value is None and default is None:
        return value
    array = as_float64(value, name)
    if not empty and 0 in array.shape[-2:]:
        raise ValueError(f"{name} has shape {tuple(array.shape)}; its last two axes must not have length 0")
    if finite and not bool((xp := array_api_compat.array_namespace(array)).all(xp.isfinite(array))):
        raise ValueError(f"{name} holds numbers that are not finite")
    return array


def as_generator(rng: RNGLike, name: str = "rng") -> np.random.Generator:
    """Return a random generator of what an argument ``rng`` may be.

    That is None for fresh entropy, a whole number or several as the seed, a SeedSequence or a BitGenerator; a Generator
    comes back as it is, and goes on where it was. Raises TypeError for anything else.
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        allowed = "None, whole numbers from 0, and a SeedSequence, BitGenerator or Generator of numpy.random"
        raise TypeError(f"{name} is {show(rng)}; allowed are {allowed}") from None


def _without_masks(x: Any, name: str) -> Any:
    """Return nested lists with NaN in place of masked entries: NumPy would take what is under the mask."""
    if isinstance(x, np.ma.MaskedArray):
        return as_float64(x, name)
    return [_without_masks(entry, name) for entry in x] if isinstance(x, list | tuple) else x
