"""Rows turned so that they lie across, a square of elements at a time.

Element by element a row's neighbours go to lines of their own, by a load and a store each. Here as
many elements of as many rows are loaded as vectors, turned by shuffles and stored as vectors. The
last square of a row, and of the rows, ends with it and has some elements for the second time. On
one core of an EPYC (Zen 4) rows of 30 float64 take 0.17 ns an element so and took 0.78, of float32
0.09 and 0.74.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from warpladder.device.kernel_cache import cached
from warpladder.device.llvm import data_of, transposed, vector_at
from warpladder.device.simd import vector_unit

__all__ = ["turn_in_blocks", "turn_rows"]

# Rows, and elements of each, that are turned at once, at the most.
_MOST = 8
# Bytes of a block of as many rows as elements of each, at the most (`benchmarks/choices.py`:
# `blocks-turned`).
_BLOCK_BYTES = 1 << 14


def _square(lines: Any) -> ir.VectorType:
    """Return a row of a square of elements of an array."""
    bits = lines.dtype.bitwidth
    return ir.VectorType(ir.IntType(bits), min(8 * vector_unit().bytes // bits, _MOST))


def _element_at(builder: Any, address: Any, index: Any, kind: Any) -> Any:
    """Return the place of an element behind an address."""
    first = builder.inttoptr(address, kind.element.as_pointer())
    return builder.gep(first, [index])


@intrinsic
def _side_of(typingctx, lines):
    """Return how many rows a square of elements of an array has."""

    def codegen(context, builder, signature, args):
        return ir.Constant(ir.IntType(64), _square(signature.args[0]).count)

    return types.int64(lines), codegen


@intrinsic
def _turn_square(typingctx, data, at, pitch, lines, to, apart):
    """Turn a square whose rows begin so far apart, into lines that do."""

    def codegen(context, builder, signature, args):
        kind = _square(signature.args[3])
        rows, align, (address, row, pitch, _, column, apart) = [], kind.element.width // 8, args
        for _ in range(kind.count):
            place = _element_at(builder, address, row, kind)
            rows.append(builder.load(builder.bitcast(place, kind.as_pointer()), align=align))
            row = builder.add(row, pitch)
        into = data_of(context, builder, signature, args, 3)
        for line in transposed(builder, rows):
            builder.store(line, vector_at(builder, into, column, kind), align=align)
            column = builder.add(column, apart)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3, lines, *[types.int64] * 2), codegen


@intrinsic
def _element(typingctx, data, at, lines):
    """Return the element behind an address that is one of an array's."""

    def codegen(context, builder, signature, args):
        kind = _square(signature.args[2])
        place = _element_at(builder, args[0], args[1], kind)
        return builder.load(place, align=kind.element.width // 8)

    return lines.dtype(types.int64, types.int64, lines), codegen


@cached
@njit(nogil=True)
def turn_rows(data, rows, length, pitch, step, lines, apart):
    """Turn rows so that they lie across.

    The first element of the first row is given by its address. Element i of row j, which is ``j *
    pitch + i * step`` elements behind it, is left in ``lines[i * apart + j]``. One by one where
    neighbours in a row lie apart.
    """
    side = _side_of(lines)
    if rows < side or length < side or step != 1:
        for i in range(length):
            for j in range(rows):
                lines[i * apart + j] = _element(data, j * pitch + i * step, lines)
        return
    for begin in range(0, rows, side):
        j = min(begin, rows - side)
        for first in range(0, length, side):
            i = min(first, length - side)
            _turn_square(data, j * pitch + i, pitch, lines, i * apart + j, apart)


@cached
@njit(nogil=True)
def turn_in_blocks(data, rows, length, pitch, step, lines, apart):
    """Do what `turn_rows` does, block by block.

    One is turned in a buffer, of which whole lines of the caches are copied on.
    """
    side, block = _side_of(lines), 8
    while 4 * block * block * lines.itemsize <= _BLOCK_BYTES:
        block *= 2
    buffer = np.empty(block * block, lines.dtype)
    for begin in range(0, rows, block):
        some = min(block, rows - begin)
        for first in range(0, length, block):
            run = min(block, length - first)
            at, to = begin * pitch + first * step, first * apart + begin
            if some < side or run < side or step != 1:
                for i in range(run):
                    for j in range(some):
                        place = at + j * pitch + i * step
                        lines[to + i * apart + j] = _element(data, place, lines)
                continue
            for row in range(0, some, side):
                j = min(row, some - side)
                for column in range(0, run, side):
                    i = min(column, run - side)
                    _turn_square(data, at + j * pitch + i, pitch, buffer, i * block + j, block)
            for i in range(run):
                into, out_of = np.uintp(to + i * apart), np.uintp(i * block)
                for j in range(some):
                    lines[into + np.uintp(j)] = buffer[out_of + np.uintp(j)]
