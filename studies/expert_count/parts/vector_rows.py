"""Products of a few short rows with the eight columns of a small matrix, as vector code.

A top-1 mixture sends every sample to a matrix of its own, so there is no large product to hand to BLAS: an expert has a
handful of neurons, and a few rows (patches of its samples) of some tens of numbers. Here the neurons are the lanes of a
vector, eight at a time, and ``GROUP`` rows are worked on at once, so that their additions need not wait for each other.
The rows stay where they are, and are found by a table of their starts.
"""

from __future__ import annotations

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


def _data(context: Any, builder: Any, signature: Any, arguments: Any, position: int) -> Any:
    return context.make_array(signature.args[position])(context, builder, arguments[position]).data


def _vector_at(builder: Any, data: Any, at: Any) -> Any:
    return builder.bitcast(builder.gep(data, [at]), _VECTOR.as_pointer())


def _load(builder: Any, place: Any) -> Any:
    value = builder.load(place)
    value.align = 8
    return value


def _spread(builder: Any, data: Any, at: Any) -> Any:
    """Return a number in all lanes."""
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    number = builder.insert_element(undefined, builder.load(builder.gep(data, [at])), ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(number, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _rows(builder: Any, starts: Any, first: Any, shift: Any, count: int) -> list[Any]:
    """Return where ``count`` rows begin: ``starts[first + c] + shift``."""
    places = [builder.gep(starts, [builder.add(first, ir.Constant(_INDEX, c))]) for c in range(count)]
    return [builder.add(builder.load(place), shift) for place in places]


def _plus(builder: Any, at: Any, k: Any, factor: int) -> Any:
    return builder.add(at, builder.mul(k, ir.Constant(_INDEX, factor)))


@intrinsic
def project(
    typing: Any,
    x: Any,
    starts: Any,
    first: Any,
    shift: Any,
    w: Any,
    w_at: Any,
    length: Any,
    out: Any,
    at: Any,
    rows: Any,
) -> Any:
    """Write ``sum_k x[starts[first + c] + shift + k] * w[w_at + 8 k + lane]`` to ``out[at + 8 c + lane]``.

    Called from compiled code as ``project(x, starts, first, shift, w, w_at, length, out, at, rows)``, with flat arrays
    of float64 and of int64 (``starts``); c runs over the constant number of ``rows``, k over ``length``.
    """
    if not isinstance(rows, types.IntegerLiteral):
        return None
    count = rows.literal_value

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        fma, zero = _fma(builder), ir.Constant(_VECTOR, None)
        source, index, table, room = (
            _data(context, builder, signature, arguments, position) for position in (0, 1, 4, 7)
        )
        begins = _rows(builder, index, arguments[2], arguments[3], count)
        totals = [cgutils.alloca_once_value(builder, zero) for _ in range(count)]
        for slot in totals:
            builder.store(zero, slot)
        with cgutils.for_range(builder, arguments[6]) as loop:
            column = _load(builder, _vector_at(builder, table, _plus(builder, arguments[5], loop.index, LANES)))
            for begin, slot in zip(begins, totals, strict=True):
                number = _spread(builder, source, builder.add(begin, loop.index))
                builder.store(builder.call(fma, [number, column, builder.load(slot)]), slot)
        for c, slot in enumerate(totals):
            place = _vector_at(builder, room, builder.add(arguments[8], ir.Constant(_INDEX, LANES * c)))
            builder.store(builder.load(slot), place).align = 8
        return context.get_dummy_value()

    index = types.intp
    return types.void(x, starts, index, index, w, index, index, out, index, rows), codegen


@intrinsic
def add_outer(
    typing: Any,
    x: Any,
    starts: Any,
    first: Any,
    shift: Any,
    by: Any,
    at: Any,
    length: Any,
    w: Any,
    w_at: Any,
    rows: Any,
) -> Any:
    """Add ``sum_c x[starts[first + c] + shift + k] * by[at + 8 c + lane]`` to ``w[w_at + 8 k + lane]``.

    Called from compiled code as ``add_outer(x, starts, first, shift, by, at, length, w, w_at, rows)``, otherwise as
    :func:`project`.
    """
    if not isinstance(rows, types.IntegerLiteral):
        return None
    count = rows.literal_value

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        fma = _fma(builder)
        source, index, factors, table = (
            _data(context, builder, signature, arguments, position) for position in (0, 1, 4, 7)
        )
        begins = _rows(builder, index, arguments[2], arguments[3], count)
        held = [
            _load(builder, _vector_at(builder, factors, builder.add(arguments[5], ir.Constant(_INDEX, LANES * c))))
            for c in range(count)
        ]
        with cgutils.for_range(builder, arguments[6]) as loop:
            place = _vector_at(builder, table, _plus(builder, arguments[8], loop.index, LANES))
            value = _load(builder, place)
            for begin, factor in zip(begins, held, strict=True):
                number = _spread(builder, source, builder.add(begin, loop.index))
                value = builder.call(fma, [number, factor, value])
            builder.store(value, place).align = 8
        return context.get_dummy_value()

    index = types.intp
    return types.void(x, starts, index, index, by, index, index, w, index, rows), codegen
