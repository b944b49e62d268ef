"""What stands behind the door :func:`moestat.fit.least_squares`: checks, starts, and one search for each data set."""

from __future__ import annotations

from typing import Any

import numpy as np

from moestat import streams
from moestat.arrays import Array, to_numpy
from moestat.doors import RNGLike, as_float64, as_generator
from moestat.errors import InputError
from moestat.fit import general, general_search, global_search, newton, search_starts
from moestat.fit.newton import Fit
from moestat.models.general import FunctionModel
from moestat.models.regression import Model
from moestat.sentences import show

STARTS = 8  #: So many random ones where nothing else is asked for.


def least_squares(
    model: Model | FunctionModel,
    x: Array,
    y: Array,
    starts: Array | int | None,
    atoms: int | None,
    search: str,
    rng: RNGLike,
    settings: dict[str, Any],
) -> Fit:
    """Check the arguments, draw starts where there are none, and fit."""
    if not isinstance(model, Model | FunctionModel):
        raise InputError(f"model is {show(model)}; allowed is what moestat.Model returns")
    check_search(search)
    count = STARTS
    if isinstance(starts, int | np.integer):
        if isinstance(starts, bool) or starts < 1:
            raise InputError(
                f"starts is {show(starts)}; allowed are arrays of them and, with atoms, whole numbers from 1"
            )
        count, starts = int(starts), None
    x, y = _batched(x, "x", 3), _batched(y, "y", 2)
    given = None if starts is None else _batched(starts, "starts", 4)
    wanted = {
        "x": (x, 3, model.d, f"(B, n, d) with d = {model.d}"),
        "y": (y, 2, x.shape[1] if x.ndim == 3 else None, "(B, n)"),
        "starts": (given, 4, model.atom_size, f"(B, S, N, P) with P = {model.atom_size}"),
    }
    for name, (array, ndim, last, told) in wanted.items():
        if array is None:
            continue
        if 0 in array.shape:
            raise InputError(f"{name} has shape {tuple(array.shape)}; allowed is {told}, no length of which is 0")
        if array.ndim != ndim or array.shape[-1] != last or (name == "y" and array.shape != x.shape[:2]):
            raise InputError(f"{name} has shape {tuple(array.shape)}; allowed is {told}{_and_samples(name, x)}")
        if not bool((abs(array) < float("inf")).all()):
            raise InputError(f"{name} holds a number that is not finite; allowed are finite numbers")
    if given is None and atoms is None:
        raise InputError("neither starts nor atoms are given; one of them says how many atoms to fit")
    if atoms is not None and (not isinstance(atoms, int | np.integer) or isinstance(atoms, bool) or atoms < 1):
        raise InputError(f"atoms is {show(atoms)}; allowed are whole numbers from 1")
    if given is not None and atoms not in (None, given.shape[2]):
        raise InputError(f"atoms is {atoms}, and starts has {given.shape[2]}; leave one of them out")
    seeds = as_generator(rng).integers(2**63, size=x.shape[0])
    box = float(settings.get("box", 5.0))
    if given is None:
        drawn = [
            _drawn(model, x[b, ...], y[b, ...], int(atoms or 1), count, box, _stream(seed))
            for b, seed in enumerate(seeds)
        ]
        given = np.stack(drawn)
    elif given.shape[0] == 1:
        given = given + 0.0 * x[:, :1, :1, None]  # of the library of x
    if given.shape[0] != x.shape[0]:
        raise InputError(f"starts are of {given.shape[0]} data sets, and x of {x.shape[0]}; allowed are 1 and as many")
    if isinstance(model, FunctionModel):
        _evaluable(model, to_numpy(x), to_numpy(given))
    if search == "local":
        if isinstance(model, Model):
            return newton.least_squares(model, x, y, given, **settings)
        return general.least_squares(model, to_numpy(x), to_numpy(y), to_numpy(given), **settings)
    return _searched(model, to_numpy(x), to_numpy(y), to_numpy(given), seeds, settings)


def check_search(search: Any) -> None:
    """Refuse what is no way to search."""
    if search not in ("local", "global"):
        raise InputError(f"search is {show(search)}; allowed are 'local' and 'global'")


def _batched(array: Any, name: str, ndim: int) -> Array:
    """Return an array of float64 with the axes in front that were left out."""
    array = as_float64(array, name)
    while 1 < array.ndim < ndim or (array.ndim == 1 == ndim - 1):
        array = array[None, ...]
    return array


def _and_samples(name: str, x: Array) -> str:
    return f" = {tuple(x.shape[:2])}" if name == "y" and x.ndim == 3 else ""


def _stream(seed: int) -> search_starts.Stream:
    """Return the random generators of a data set's purposes."""
    return lambda purpose: streams.generator(int(seed), streams.key(use="least squares"), 0, purpose)


def _drawn(
    model: Model | FunctionModel, x: Array, y: Array, atoms: int, count: int, box: float, stream: search_starts.Stream
) -> np.ndarray:
    if isinstance(model, Model):
        return search_starts.random(model, atoms, count, stream, box=box)
    starts = general_search.random_starts(model, to_numpy(x), to_numpy(y), atoms, count, stream("local starts"))
    if np.median(np.abs(starts).max(axis=(1, 2))) > 4.0 * box:
        raise InputError(
            f"starts in the scale of the data have coordinates up to {np.abs(starts).max():.3g}, outside the box of "
            f"{box:g}; scale x and y to order one, or give box"
        )
    inside: np.ndarray = np.clip(starts, -box, box)
    return inside


def _evaluable(model: FunctionModel, x: np.ndarray, starts: np.ndarray) -> None:
    """Refuse a model that is finite at no start."""
    with np.errstate(all="ignore"):
        for b, x_of in enumerate(x):
            values = [model.predict(start, x_of) for start in starts[b]]
            if any(np.isfinite(value).all() for value in values):
                continue
            theta, row = starts[b, 0], int(np.flatnonzero(~np.isfinite(values[0]))[0])
            weights = model.gate(x_of, theta[:, : model.gate_size])[row]
            what = "expert's outputs" if np.isfinite(weights).all() else "gate's weights"
            raise InputError(
                f"the {what} are not finite at any start, for one at x = {show(x_of[row].tolist())}, sample {row} of "
                f"data set {b}; allowed are functions that are finite at all samples"
            )


def _searched(
    model: Model | FunctionModel,
    x: np.ndarray,
    y: np.ndarray,
    starts: np.ndarray,
    seeds: np.ndarray,
    settings: dict[str, Any],
) -> Fit:
    """Search each data set by itself, and put the best fits together."""
    function: Any = general_search.search if isinstance(model, FunctionModel) else global_search.global_search
    found = [
        function(model, x[b], y[b], local=starts[b], known=starts[b], stream=_stream(seed), **settings)
        for b, seed in enumerate(seeds)
    ]
    most = max(len(one.loss) for one in found)
    parts: dict[str, np.ndarray] = {
        name: np.concatenate([np.asarray(getattr(one.fit, name)) for one in found])
        for name in vars(found[0].fit)
        if not name.startswith("start_")
    }
    losses, status = np.full((len(found), most), np.nan), np.full((len(found), most), -1)
    for b, one in enumerate(found):
        losses[b, : len(one.loss)], status[b, : len(one.loss)] = one.loss, one.status
    return Fit(**parts, start_losses=losses, start_status=status)
