"""Products of a few short rows with the eight columns of a small matrix, as vector code.

A top-1 mixture sends every sample to a matrix of its own, so there is no large product to hand to BLAS: an expert has a
handful of neurons, and a few rows (patches of its samples) of some tens of numbers. Here the neurons are the lanes of a
vector, eight at a time, and ``GROUP`` rows are worked on at once, so that their additions need not wait for each other.
The rows stay where they are, and are found by a table of their starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8  # neurons that are computed at once; LLVM cuts them into what the processor has
GROUP = 4  # rows that are worked on at once

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INDEX = ir.IntType(64)


def _fma(builder: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    return cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f64")


def _vector_at(builder: Any, data: Any, at: Any, steps: int = 0) -> Any:
    """Return where the vector begins that is ``steps`` vectors behind ``at``."""
    place = builder.add(at, ir.Constant(_INDEX, LANES * steps)) if steps else at
    return builder.bitcast(builder.gep(data, [place]), _VECTOR.as_pointer())


def _load(builder: Any, place: Any) -> Any:
    value = builder.load(place)
    value.align = 8
    return value


def _spread(builder: Any, data: Any, at: Any) -> Any:
    """Return a number in all lanes."""
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    number = builder.insert_element(undefined, builder.load(builder.gep(data, [at])), ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(number, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _of_rows(emit: Callable[..., None]) -> Any:
    """Make a function for compiled code of what is emitted for some rows of ``x``.

    It is called as ``f(x, starts, first, shift, a, a_at, length, b, b_at, rows)``, with flat arrays of float64 and of
    int64 (``starts``); row c of the constant number of ``rows`` is ``x[starts[first + c] + shift + k]``, k over
    ``length``.
    """

    @intrinsic
    def made(
        typing: Any,
        x: Any,
        starts: Any,
        first: Any,
        shift: Any,
        a: Any,
        a_at: Any,
        length: Any,
        b: Any,
        b_at: Any,
        rows: Any,
    ) -> Any:
        if not isinstance(rows, types.IntegerLiteral):
            return None
        count = rows.literal_value

        def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            source, index, left, right = (
                context.make_array(signature.args[k])(context, builder, given[k]).data for k in (0, 1, 4, 7)
            )
            places = [builder.gep(index, [builder.add(given[2], ir.Constant(_INDEX, c))]) for c in range(count)]
            begins = [builder.add(builder.load(place), given[3]) for place in places]
            emit(builder, source, begins, left, given[5], given[6], right, given[8])
            return context.get_dummy_value()

        index = types.intp
        return types.void(x, starts, index, index, a, index, index, b, index, rows), codegen

    return made


def _column(builder: Any, table: Any, at: Any, k: Any) -> Any:
    """Return where the lanes of entry k lie."""
    return _vector_at(builder, table, builder.add(at, builder.mul(k, ir.Constant(_INDEX, LANES))))


def _project(builder: Any, x: Any, begins: Any, w: Any, w_at: Any, length: Any, out: Any, at: Any) -> None:
    fma, zero = _fma(builder), ir.Constant(_VECTOR, None)
    totals = [cgutils.alloca_once_value(builder, zero) for _ in begins]
    for slot in totals:
        builder.store(zero, slot)
    with cgutils.for_range(builder, length) as loop:
        column = _load(builder, _column(builder, w, w_at, loop.index))
        for begin, slot in zip(begins, totals, strict=True):
            number = _spread(builder, x, builder.add(begin, loop.index))
            builder.store(builder.call(fma, [number, column, builder.load(slot)]), slot)
    for c, slot in enumerate(totals):
        builder.store(builder.load(slot), _vector_at(builder, out, at, c)).align = 8


def _add_outer(builder: Any, x: Any, begins: Any, by: Any, at: Any, length: Any, w: Any, w_at: Any) -> None:
    fma = _fma(builder)
    held = [_load(builder, _vector_at(builder, by, at, c)) for c in range(len(begins))]
    with cgutils.for_range(builder, length) as loop:
        place = _column(builder, w, w_at, loop.index)
        value = _load(builder, place)
        for begin, factor in zip(begins, held, strict=True):
            number = _spread(builder, x, builder.add(begin, loop.index))
            value = builder.call(fma, [number, factor, value])
        builder.store(value, place).align = 8


project = _of_rows(_project)
"""Write ``sum_k row_c[k] * a[a_at + 8 k + lane]`` to ``b[b_at + 8 c + lane]``."""

add_outer = _of_rows(_add_outer)
"""Add ``sum_c row_c[k] * a[a_at + 8 c + lane]`` to ``b[b_at + 8 k + lane]``."""
