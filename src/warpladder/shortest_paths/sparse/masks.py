"""Masks of 512 bits, one bit a search: the steps of `hop_counts`, written as LLVM vectors.

A row of eight 64-bit words is one vector register of AVX-512, two of AVX2 and four of NEON. Numba
compiles a loop over the eight words into scalar code, for it cannot know that two arrays do not
overlap; so each step is emitted here, through Numba's intrinsics, and LLVM cuts it into the vectors
that the CPU has.

Arrays of masks have the shape (n, 8), uint64; ``planes`` (8, n, 8).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from warpladder.device.llvm import data_of, everywhere, transposed, vector_at

__all__ = [
    "BITS",
    "SIDE",
    "WORDS",
    "add_mask",
    "gather",
    "is_full",
    "levels_into",
    "settle",
    "write_square",
    "write_where",
]

WORDS = 8
"""Words of a mask."""
BITS = 64 * WORDS
"""Bits of a mask: searches that go together."""
SIDE = 16
"""Side of the squares of bytes that `write_square` transposes."""

_WORD = ir.IntType(64)
_BYTE = ir.IntType(8)
_MASK = ir.VectorType(_WORD, WORDS)
_BYTES = ir.VectorType(_BYTE, 64)
_MARKS = ir.VectorType(ir.IntType(1), 64)
_NONE = ir.Constant(_MASK, [0] * WORDS)
_ALL = ir.Constant(_MASK, [2**64 - 1] * WORDS)


def _mask_at(builder: Any, data: Any, row: Any) -> Any:
    return vector_at(builder, data, builder.mul(row, _WORD(WORDS)), _MASK)


def _load(builder: Any, place: Any) -> Any:
    return builder.load(place, align=8)


def _store(builder: Any, value: Any, place: Any) -> None:
    builder.store(value, place, align=8)


def _is(builder: Any, one: Any, other: Any) -> Any:
    """Return whether two masks are the same."""
    whole = ir.IntType(BITS)
    return builder.icmp_unsigned("==", builder.bitcast(one, whole), builder.bitcast(other, whole))


@intrinsic
def add_mask(typingctx, source, u, target, v):
    """Add mask u of one array to mask v of another; return whether that had no bit before."""

    def codegen(context, builder, signature, args):
        added = _load(
            builder, _mask_at(builder, data_of(context, builder, signature, args, 0), args[1])
        )
        place = _mask_at(builder, data_of(context, builder, signature, args, 2), args[3])
        known = _load(builder, place)
        _store(builder, builder.or_(known, added), place)
        return _is(builder, known, _NONE)

    return types.boolean(source, types.intp, target, types.intp), codegen


@intrinsic
def is_full(typingctx, masks, v):
    """Return whether mask v has every bit."""

    def codegen(context, builder, signature, args):
        place = _mask_at(builder, data_of(context, builder, signature, args, 0), args[1])
        return _is(builder, _load(builder, place), _ALL)

    return types.boolean(masks, types.intp), codegen


@intrinsic
def settle(typingctx, found, reached, v):
    """Leave in mask v of ``found`` what is new to ``reached``, and add it there.

    Return whether there is anything.
    """

    def codegen(context, builder, signature, args):
        there = _mask_at(builder, data_of(context, builder, signature, args, 0), args[2])
        place = _mask_at(builder, data_of(context, builder, signature, args, 1), args[2])
        known = _load(builder, place)
        new = builder.and_(_load(builder, there), builder.not_(known))
        _store(builder, new, there)
        _store(builder, builder.or_(known, new), place)
        return builder.not_(_is(builder, new, _NONE))

    return types.boolean(found, reached, types.intp), codegen


@intrinsic
def gather(typingctx, fronts, places, neighbours, steps, first, last, found, reached, v):
    """Do for vertex v what `add_mask` for each of some neighbours, and `settle`, do together.

    Of ``fronts`` the masks from ``places[k]`` on count for a neighbour that is k of ``steps`` away,
    one step where these are None. It ends with the neighbour that completes the mask in
    ``reached``.
    """

    def codegen(context, builder, signature, args):
        data, offsets, listed = (
            data_of(context, builder, signature, args, place) for place in range(3)
        )
        there = _mask_at(builder, data_of(context, builder, signature, args, 6), args[8])
        place = _mask_at(builder, data_of(context, builder, signature, args, 7), args[8])
        known = _load(builder, place)
        nearest = builder.load(builder.gep(offsets, [_WORD(1)]))
        # A register, once LLVM has promoted it.
        gathered = cgutils.alloca_once_value(builder, known)
        with cgutils.for_range(builder, args[5], args[4]) as loop:
            vertex = builder.sext(builder.load(builder.gep(listed, [loop.index])), _WORD)
            offset = nearest
            if not isinstance(steps, types.NoneType):
                counted = data_of(context, builder, signature, args, 3)
                step = builder.zext(builder.load(builder.gep(counted, [loop.index])), _WORD)
                offset = builder.load(builder.gep(offsets, [step]))
            front = _load(builder, _mask_at(builder, data, builder.add(offset, vertex)))
            value = builder.or_(builder.load(gathered), front)
            builder.store(value, gathered)
            with builder.if_then(_is(builder, value, _ALL), likely=False):
                loop.do_break()
        value = builder.load(gathered)
        new = builder.and_(value, builder.not_(known))
        _store(builder, new, there)
        _store(builder, value, place)
        return builder.not_(_is(builder, new, _NONE))

    lists = fronts, places, neighbours, steps, types.intp, types.intp
    return types.boolean(*lists, found, reached, types.intp), codegen


@intrinsic
def levels_into(typingctx, planes, count, reached, v, tile, row):
    """Write the levels of vertex v, one byte for each bit of its mask, to a row of a tile.

    ``planes`` holds the ``count`` binary digits of the levels, lowest first; 255 stands where
    ``reached`` has no bit.
    """

    def codegen(context, builder, signature, args):
        digits = data_of(context, builder, signature, args, 0)
        n = cgutils.unpack_tuple(
            builder, context.make_array(signature.args[0])(context, builder, args[0]).shape
        )[1]
        known = data_of(context, builder, signature, args, 2)
        view = context.make_array(signature.args[4])(context, builder, args[4])
        width = cgutils.unpack_tuple(builder, view.strides)[0]
        target = builder.gep(view.data, [builder.mul(args[5], width)])
        values = []
        for word in range(WORDS):
            place = builder.gep(
                known, [builder.add(builder.mul(args[3], _WORD(WORDS)), _WORD(word))]
            )
            marks = builder.bitcast(builder.load(place), _MARKS)
            none, far = (ir.Constant(_BYTES, [value] * 64) for value in (0, 255))
            values.append(cgutils.alloca_once_value(builder, builder.select(marks, none, far)))
        weight = cgutils.alloca_once_value(builder, ir.Constant(_BYTES, [1] * 64))
        with cgutils.for_range(builder, args[1]) as loop:
            one = builder.load(weight)
            row = builder.add(builder.mul(loop.index, n), args[3])
            for word, value in enumerate(values):
                place = builder.gep(
                    digits, [builder.add(builder.mul(row, _WORD(WORDS)), _WORD(word))]
                )
                marks = builder.bitcast(builder.load(place), _MARKS)
                added = builder.select(marks, one, ir.Constant(_BYTES, [0] * 64))
                builder.store(builder.or_(builder.load(value), added), value)
            builder.store(builder.add(one, one), weight)
        for word, value in enumerate(values):
            place = vector_at(builder, target, _WORD(64 * word), _BYTES)
            builder.store(builder.load(value), place, align=1)
        return context.get_dummy_value()

    arguments = planes, types.intp, reached, types.intp, tile, types.intp
    return types.void(*arguments), codegen


@intrinsic
def write_square(typingctx, tile, v, s, dist, row_of, column, scale, no_path):
    """Write a square of levels, `SIDE` vertices from v on of as many searches, as distances.

    Search s fills row ``row_of[s]`` of ``dist``, from ``column`` on; ``scale`` is the length of a
    step, and ``no_path`` stands for level 255.
    """
    numbers = dist.dtype
    arguments = tile, types.intp, types.intp, dist, row_of, types.intp, numbers, numbers

    def codegen(context, builder, signature, args):
        view = context.make_array(signature.args[0])(context, builder, args[0])
        width = cgutils.unpack_tuple(builder, view.strides)[0]
        corner = builder.gep(view.data, [builder.add(builder.mul(args[1], width), args[2])])
        side = ir.VectorType(_BYTE, SIDE)
        levels = []
        for k in range(SIDE):
            place = vector_at(builder, corner, builder.mul(width, _WORD(k)), side)
            levels.append(builder.load(place, align=1))
        matrix = context.make_array(signature.args[3])(context, builder, args[3])
        n = cgutils.unpack_tuple(builder, matrix.shape)[1]
        rows = builder.gep(data_of(context, builder, signature, args, 4), [args[2]])
        element = context.get_value_type(numbers)
        far = ir.Constant(side, [255] * SIDE)
        scales, nones = (everywhere(builder, value, SIDE) for value in args[6:])
        for k, level in enumerate(transposed(builder, levels)):
            row = builder.sext(builder.load(builder.gep(rows, [_WORD(k)])), _WORD)
            kind = ir.VectorType(element, SIDE)
            cell = builder.add(builder.mul(row, n), args[5])
            target = vector_at(builder, matrix.data, cell, kind)
            if isinstance(numbers, types.Float):
                steps = builder.fmul(builder.uitofp(level, kind), scales)
            else:
                steps = builder.mul(builder.zext(level, kind), scales)
            value = builder.select(builder.icmp_unsigned("==", level, far), nones, steps)
            builder.store(value, target, align=numbers.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(*arguments), codegen


@intrinsic
def write_where(typingctx, masks, v, numbers, first, value):
    """Write a number for each bit of mask v, from a place of a list of numbers on."""

    def codegen(context, builder, signature, args):
        words = data_of(context, builder, signature, args, 0)
        data = data_of(context, builder, signature, args, 2)
        kind = ir.VectorType(context.get_value_type(numbers.dtype), 64)
        align = numbers.dtype.bitwidth // 8
        values = everywhere(builder, args[4], 64)
        for word in range(WORDS):
            index = builder.add(builder.mul(args[1], _WORD(WORDS)), _WORD(word))
            marks = builder.bitcast(builder.load(builder.gep(words, [index])), _MARKS)
            place = vector_at(builder, data, builder.add(args[3], _WORD(64 * word)), kind)
            kept = builder.load(place, align=align)
            builder.store(builder.select(marks, values, kept), place, align=align)
        return context.get_dummy_value()

    return types.void(masks, types.intp, numbers, types.intp, numbers.dtype), codegen
