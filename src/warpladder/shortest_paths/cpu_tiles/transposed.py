"""Parts of a matrix where rows and columns change places, by squares in vector registers.

Eight rows of eight numbers are loaded, interleaved three times, and are eight columns then. At n =
4096 a number of 16, 32 and 64 bits so takes 0.4, 0.7 and 1.1 ns; moved one by one, in squares of
eight, 1.1, 1.2 and 1.7. Rows of such a matrix start in the same set of the first-level cache, which
has room for eight or twelve lines: squares are taken in an order in which lines are written to the
end, and what is read stays in the second-level cache until all of its line is used.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from warpladder.device.kernel_cache import cached
from warpladder.device.llvm import data_of, transposed, vector_at
from warpladder.device.subroutines import subroutine

__all__ = ["SIDE", "Square", "are_mirrored", "mirror_rows", "transpose", "turn"]

SIDE = 8
"""Rows and columns of a square; of 16, numbers of 32 and 64 bits take 1 to 1.6 times as long."""

# Of what is read before the next lines are begun. And the rows that are mirrored at a time, where
# the triangle on the diagonal is left to be moved one by one.
_BLOCK, _ROWS = 128, 32

_INDEX = ir.IntType(64)


@intrinsic
def _mirror_square(typingctx, matrix, row, column):
    """Copy the square at (row, column) to (column, row), transposed; they do not overlap."""

    def codegen(context, builder, signature, args):
        lines = Square(context, builder, signature, args)
        row, column = args[1:]
        for number, line in enumerate(lines.columns(row, column)):
            builder.store(line, lines.at(column, row, number), align=lines.align)
        return context.get_dummy_value()

    return types.void(matrix, types.intp, types.intp), codegen


@intrinsic
def _turn_square(typingctx, matrix, row, column, target, at, pitch):
    """Copy the square at (row, column) to an array, transposed; rows there are ``pitch`` apart."""

    def codegen(context, builder, signature, args):
        lines = Square(context, builder, signature, args)
        data = data_of(context, builder, signature, args, 3)
        for number, line in enumerate(lines.columns(args[1], args[2])):
            place = builder.add(args[4], builder.mul(args[5], _INDEX(number)))
            builder.store(line, vector_at(builder, data, place, lines.kind), align=lines.align)
        return context.get_dummy_value()

    arguments = matrix, types.intp, types.intp, target, types.intp, types.intp
    return types.void(*arguments), codegen


@intrinsic
def _differs(typingctx, matrix, row, column):
    """Return whether the square at (row, column) is not that at (column, row), transposed.

    Of a matrix of unsigned integers.
    """

    def codegen(context, builder, signature, args):
        lines = Square(context, builder, signature, args)
        row, column = args[1:]
        unlike = ir.Constant(lines.kind, None)
        for number, line in enumerate(lines.columns(row, column)):
            other = builder.load(lines.at(column, row, number), align=lines.align)
            unlike = builder.or_(unlike, builder.xor(line, other))
        whole = ir.IntType(SIDE * lines.kind.element.width)
        return builder.icmp_unsigned("!=", builder.bitcast(unlike, whole), whole(0))

    return types.boolean(matrix, types.intp, types.intp), codegen


class Square:
    """Reads and places the rows of squares of a C-contiguous matrix."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        array = signature.args[0]
        view = context.make_array(array)(context, builder, args[0])
        self._builder, self._data = builder, view.data
        self._width = cgutils.unpack_tuple(builder, view.shape)[1]
        self.kind = ir.VectorType(context.get_value_type(array.dtype), SIDE)
        self.align = array.dtype.bitwidth // 8

    def at(self, row: Any, column: Any, number: int) -> Any:
        """Return the address of a row of the square at (row, column)."""
        builder = self._builder
        first = builder.mul(builder.add(row, _INDEX(number)), self._width)
        return vector_at(builder, self._data, builder.add(first, column), self.kind)

    def columns(self, row: Any, column: Any, rows: int = SIDE) -> list[Any]:
        """Return the columns of a square as vectors; past ``rows`` their lanes have anything."""
        places = (self.at(row, column, number) for number in range(rows))
        lines = [self._builder.load(place, align=self.align) for place in places]
        lines += lines[:1] * (SIDE - rows)
        return transposed(self._builder, lines)


@subroutine(counted=False)
def transpose(matrix, i0, i1, j0, j1):
    """Copy rows ``[i0, i1)`` of columns ``[j0, j1)`` to where rows and columns change places."""
    i_end, j_end = i1 - (i1 - i0) % SIDE, j1 - (j1 - j0) % SIDE
    for i in range(i0, i_end, _BLOCK):
        for j in range(j0, j_end, _BLOCK):
            for c in range(j, min(j + _BLOCK, j_end), SIDE):
                for r in range(i, min(i + _BLOCK, i_end), SIDE):
                    _mirror_square(matrix, r, c)
    for r in range(i0, i1):
        for c in range(j_end if r < i_end else j0, j1):
            matrix[c, r] = matrix[r, c]


@subroutine(counted=False)
def turn(matrix, i0, i1, j0, j1, target, at, pitch):
    """Copy rows ``[i0, i1)`` of columns ``[j0, j1)`` to an array, column by column."""
    i_end, j_end = i1 - (i1 - i0) % SIDE, j1 - (j1 - j0) % SIDE
    for i in range(i0, i_end, SIDE):
        for j in range(j0, j_end, SIDE):
            _turn_square(matrix, i, j, target, at + (j - j0) * pitch + i - i0, pitch)
    for i in range(i0, i1):
        for j in range(j_end if i < i_end else j0, j1):
            target[at + (j - j0) * pitch + i - i0] = matrix[i, j]


@subroutine(counted=False)
def mirror_rows(matrix, i0, i1, low):
    """Copy rows ``[i0, i1)``, from column ``low`` to the diagonal, to the other side of it."""
    for i in range(i0, i1, _ROWS):
        end = min(i + _ROWS, i1)
        transpose(matrix, i, end, low, i)
        for r in range(i, end):
            for c in range(i, r):
                matrix[c, r] = matrix[r, c]


@cached
@njit(nogil=True)
def are_mirrored(bits: Any, i0: Any, i1: Any) -> Any:
    """Return whether rows ``[i0, i1)`` equal the columns, as far as the diagonal."""
    for i in range(i0, i1, _BLOCK):
        end = min(i + _BLOCK, i1)
        i_end, j_end = end - (end - i) % SIDE, i - i % SIDE
        for j in range(0, j_end, _BLOCK):
            for c in range(j, min(j + _BLOCK, j_end), SIDE):
                for r in range(i, i_end, SIDE):
                    if _differs(bits, r, c):
                        return False
        for r in range(i, end):
            for c in range(j_end if r < i_end else 0, r):
                if bits[r, c] != bits[c, r]:
                    return False
    return True
