"""An experiment written as a function of one replicate: what it needs of the machine stands here, once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, get_type_hints

import numpy as np
import xarray as xr

from moestat import warned
from moestat.experiment import Cell, SettingsModel, assemble
from moestat.status import Status

S = TypeVar("S", bound=SettingsModel)
Streams = Callable[..., np.random.Generator]
"""``streams(purpose, **identity)``: the generator of a purpose in one replicate, see :meth:`Cell.generator`."""
Row = Mapping[str, Any]
Run = Callable[..., xr.Dataset]


def each(
    *,
    dims: Mapping[str, tuple[str, ...]] | None = None,
    coords: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]] | None = None,
    attrs: Mapping[str, Mapping[str, Any]] | None = None,
    finished: str = "",
    iterations: int | Callable[[Any], int] = 0,
    of_cell: Callable[[Any], Mapping[str, Any]] | None = None,
) -> Callable[[Callable[[S, Streams], Row]], Run]:
    """Make ``run(cell, replicates, device)`` of a function of the settings and the streams of one replicate.

    The function returns name -> value or array, the same names in every replicate; without ``finished`` its status,
    message and iterations are among them (see :func:`steps`). The options are those of
    :func:`moestat.experiment.assemble`, and ``of_cell``, the variables that are properties of the cell; what depends on
    the settings is given as a function.
    """

    def decorated(one: Callable[[S, Streams], Row]) -> Run:
        first = next(iter(get_type_hints(one).values()), None)
        if not (isinstance(first, type) and issubclass(first, SettingsModel)):
            raise TypeError(f"the first parameter of {one.__module__}.{one.__qualname__} must be of the type Settings")

        def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
            settings: Any = first.model_validate(dict(cell.settings))
            rows = []
            for replicate in replicates:
                with warned.each():
                    rows.append(one(settings, functools.partial(cell.generator, replicate)))
            labels = coords(settings) if callable(coords) else coords
            count = iterations(settings) if callable(iterations) else iterations
            ds = assemble(replicates, rows, dims=dims, coords=labels, attrs=attrs, finished=finished, iterations=count)
            return ds.assign(of_cell(settings)) if of_cell else ds

        run.__module__, run.__qualname__, run.__doc__ = one.__module__, one.__qualname__, one.__doc__
        return run

    return decorated


def steps(row: Row, taken: int) -> dict[str, Any]:
    """Return status, message and iterations of a training of so many steps: not finite where any of its numbers is."""
    finite = all(np.isfinite(value).all() for value in row.values())
    status = Status.CONVERGED if finite else Status.NOT_FINITE
    message = f"All {taken} steps were taken." if finite else status.sentence
    return {"status": int(status), "message": message, "iterations": taken}
