"""Strips of distances: the steps of `sweeps`, written as LLVM vectors.

A row of a strip holds how far one vertex is from 128 others, or 64 where distances need 32 bits:
256 bytes, four vector registers of AVX-512 and eight of AVX2. Numba cannot know that two rows do
not overlap and would compile a loop over them into scalar code, and it widens each sum of int16; so
the steps are emitted here, through Numba's intrinsics, and LLVM cuts them into the vectors that the
CPU has.

Arrays of strips have the shape (n, lanes), int16 or int32.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from warpladder.device.llvm import data_of, everywhere, prefetch, vector_at

__all__ = ["ROW_BYTES", "expect_row", "relax_from", "relax_from_all", "write_row"]

ROW_BYTES = 256
"""Bytes of a row of a strip."""

_INDEX = ir.IntType(64)
_LINE = 64
"""Bytes of a line of the caches."""


def _lanes(element: Any) -> int:
    return 8 * ROW_BYTES // int(element.bitwidth)


def _row(context: Any, builder: Any, signature: Any, args: Any, vertex: Any) -> Any:
    """Return the address of a vertex's row in the strip that is the first argument."""
    element = signature.args[0].dtype
    lanes = _lanes(element)
    kind = ir.VectorType(context.get_value_type(element), lanes)
    data = data_of(context, builder, signature, args, 0)
    return vector_at(builder, data, builder.mul(vertex, _INDEX(lanes)), kind)


def _nearer(builder: Any, near: Any, weight: Any, known: Any) -> Any:
    """Return the lesser, lane by lane, of what is known and of ``near`` with a weight added."""
    found = builder.add(near, everywhere(builder, weight, known.type.count))
    return builder.select(builder.icmp_signed("<", found, known), found, known)


@intrinsic
def relax_from(typingctx, strip, u, weight, v):
    """Bring every lane of row v down to that of row u plus a weight."""

    def codegen(context, builder, signature, args):
        align = strip.dtype.bitwidth // 8
        near, known = (
            builder.load(_row(context, builder, signature, args, row), align=align)
            for row in (args[1], args[3])
        )
        place = _row(context, builder, signature, args, args[3])
        builder.store(_nearer(builder, near, args[2], known), place, align=align)
        return context.get_dummy_value()

    return types.void(strip, types.intp, strip.dtype, types.intp), codegen


@intrinsic
def relax_from_all(typingctx, strip, ends, weights, first, last, v):
    """Bring every lane of row v down to those of the ends of some arcs, plus the arcs' weights."""

    def codegen(context, builder, signature, args):
        align = strip.dtype.bitwidth // 8
        listed, lengths = (data_of(context, builder, signature, args, which) for which in (1, 2))
        place = _row(context, builder, signature, args, args[5])
        # A register, once LLVM has promoted it.
        least = cgutils.alloca_once_value(builder, builder.load(place, align=align))
        with cgutils.for_range(builder, args[4], args[3]) as loop:
            u = builder.sext(builder.load(builder.gep(listed, [loop.index])), _INDEX)
            near = builder.load(_row(context, builder, signature, args, u), align=align)
            weight = builder.load(builder.gep(lengths, [loop.index]))
            builder.store(_nearer(builder, near, weight, builder.load(least)), least)
        builder.store(builder.load(least), place, align=align)
        return context.get_dummy_value()

    arguments = strip, ends, weights, types.intp, types.intp, types.intp
    return types.void(*arguments), codegen


@intrinsic
def expect_row(typingctx, strip, dist, row, column):
    """Start to fetch what `write_row` will write of a row of distances, from a column on."""

    def codegen(context, builder, signature, args):
        matrix = context.make_array(signature.args[1])(context, builder, args[1])
        n = cgutils.unpack_tuple(builder, matrix.shape)[1]
        cell = builder.add(builder.mul(args[2], n), args[3])
        for lane in range(0, _lanes(strip.dtype), 8 * _LINE // dist.dtype.bitwidth):
            place = builder.gep(matrix.data, [builder.add(cell, _INDEX(lane))])
            prefetch(builder, place, is_written=True)
        return context.get_dummy_value()

    return types.void(strip, dist, types.intp, types.intp), codegen


@intrinsic
def write_row(typingctx, strip, v, farthest, none, dist, row, column, step, no_path):
    """Write row v of a strip to a row of distances, from a column on.

    ``step`` is the length of a step, and ``no_path`` stands for lanes of ``none``; row ``farthest``
    of the strip becomes the larger, lane by lane, of itself and of the others.
    """
    numbers = dist.dtype
    arguments = (
        strip, types.intp, types.intp, strip.dtype, dist, types.intp, types.intp, numbers, numbers,
    )  # fmt: skip

    def codegen(context, builder, signature, args):
        align = strip.dtype.bitwidth // 8
        steps = builder.load(_row(context, builder, signature, args, args[1]), align=align)
        lanes = steps.type.count
        is_none = builder.icmp_signed(">=", steps, everywhere(builder, args[3], lanes))
        place = _row(context, builder, signature, args, args[2])
        largest = builder.load(place, align=align)
        is_farther = builder.icmp_signed(">", steps, largest)
        is_farther = builder.and_(is_farther, builder.not_(is_none))
        builder.store(builder.select(is_farther, steps, largest), place, align=align)
        matrix = context.make_array(signature.args[4])(context, builder, args[4])
        n = cgutils.unpack_tuple(builder, matrix.shape)[1]
        kind = ir.VectorType(context.get_value_type(numbers), lanes)
        cell = builder.add(builder.mul(args[5], n), args[6])
        target = vector_at(builder, matrix.data, cell, kind)
        scales, nones = (everywhere(builder, value, lanes) for value in args[7:])
        if isinstance(numbers, types.Float):
            lengths = builder.fmul(builder.sitofp(steps, kind), scales)
        else:
            wider = numbers.bitwidth > strip.dtype.bitwidth
            narrower = numbers.bitwidth < strip.dtype.bitwidth
            cast = builder.sext if wider else builder.trunc if narrower else (lambda x, _: x)
            lengths = builder.mul(cast(steps, kind), scales)
        value = builder.select(is_none, nones, lengths)
        builder.store(value, target, align=numbers.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(*arguments), codegen
