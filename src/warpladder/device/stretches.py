"""Stretches of arrays, at whose bounds nobody looks.

A slice in compiled code may begin and end anywhere, before the array or behind it, counted from
either side. LLVM makes a loop of its own for each of these cases where bounds stay the same from
row to row, each with vectors and what is left of them, of which one is ever run. Floyd-Warshall by
the book on a block was four such loops, 1,260 lines of LLVM's language, and is one of 280 with what
is here.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.errors import RequireLiteralValue
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from warpladder.device.llvm import data_of
from warpladder.device.subroutines import subroutine

__all__ = ["copy_block", "copy_stretch", "on_stack", "row_stretch", "stretch"]

# Of a cache: no vector lies in two.
_LINE_BYTES = 64


def _view(context: Any, builder: Any, kind: Any, data: Any, size: Any) -> Any:
    """Return an array of elements that follow one another and that others own."""
    array = context.make_array(kind)(context, builder)
    itemsize = context.get_constant(types.intp, kind.dtype.bitwidth // 8)
    populate_array(array, data, [size], [itemsize], itemsize, None)
    return array._getvalue()


@intrinsic
def stretch(typingctx, array, begin, end):
    """Return the elements ``[begin, end)`` of an array of one dimension without gaps.

    ``0 <= begin <= end <= array.size``. Whoever calls holds the array.
    """
    kind = types.Array(array.dtype, 1, "C")

    def codegen(context, builder, signature, args):
        data = data_of(context, builder, signature, args, 0)
        size = builder.sub(args[2], args[1])
        return _view(context, builder, kind, builder.gep(data, [args[1]]), size)

    return kind(array, types.intp, types.intp), codegen


@intrinsic
def row_stretch(typingctx, matrix, row, begin, end):
    """Return the elements ``[begin, end)`` of a row of a C-contiguous matrix, likewise."""
    kind = types.Array(matrix.dtype, 1, "C")

    def codegen(context, builder, signature, args):
        view = context.make_array(matrix)(context, builder, args[0])
        width = cgutils.unpack_tuple(builder, view.shape)[1]
        first = builder.add(builder.mul(args[1], width), args[2])
        size = builder.sub(args[3], args[2])
        return _view(context, builder, kind, builder.gep(view.data, [first]), size)

    return kind(matrix, types.intp, types.intp, types.intp), codegen


@intrinsic
def copy_stretch(typingctx, source, target):
    """Copy all elements of an array without gaps to the front of another of its dtype."""

    def codegen(context, builder, signature, args):
        given = context.make_array(source)(context, builder, args[0])
        (size,) = cgutils.unpack_tuple(builder, given.shape)
        into = data_of(context, builder, signature, args, 1)
        cgutils.raw_memcpy(builder, into, given.data, size, source.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(source, target), codegen


@intrinsic
def on_stack(typingctx, size, kind):
    """Return an array of so many elements of a type, a constant, there until its caller returns.

    To ask Numba for one and give it back takes 0.1 us, and to compile that 0.05 s for each type.
    """
    if not isinstance(size, types.IntegerLiteral):
        raise RequireLiteralValue("size of what is on the stack")
    array, count = types.Array(kind.dtype, 1, "C"), size.literal_value

    def codegen(context, builder, signature, args):
        element, size = context.get_data_type(array.dtype), context.get_constant(types.intp, count)
        # As one array it would be filled with zeros each time.
        place = cgutils.alloca_once(builder, element, size)
        place.align = _LINE_BYTES
        return _view(context, builder, array, place, size)

    return array(size, kind), codegen


@subroutine(counted=False)
def copy_block(source, i0, j0, target, i1, j1, height, width):
    """Copy a block of a C-contiguous matrix at (i0, j0) to (i1, j1) of another of its dtype."""
    for i in range(height):
        row = row_stretch(source, i0 + i, j0, j0 + width)
        copy_stretch(row, row_stretch(target, i1 + i, j1, j1 + width))
