"""Counts of 1,024 rows at once, in slices: one vector has bit 0 of every count, the next bit 1, ...

To add one to the counts of some rows, given as a mask with a bit for each row, is what a circuit
does that adds: exclusive-or the mask into slice 0, and what both had goes on as a carry to slice 1.
Eight masks go in together, through a tree of carry-save adders (Harley and Seal): seven full
adders, each three or so instructions for 512 of them, and one carry that has to ripple. Numba
writes no vectors of bits, so each step is emitted here as LLVM vectors, which LLVM cuts into those
that the CPU has.

The last slice is *sticky*: a carry into it stays. So counts may have fewer slices than their bits:
where the last one of L has a bit, the count is 2^(L - 1) at least, and else the others have all of
it. With four slices nothing ripples, and a threshold up to 8 needs no more; up to 2 two slices do.

A slice is sixteen words of 64 bits, two vectors of AVX-512: with one, what has to be done for each
slice beside adding takes as long as that. The slices of the same rows stand one behind the other.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from warpladder.device.llvm import LANE, call_outside, data_of, everywhere, vector_at

__all__ = [
    "AT_ONCE",
    "FEWEST_LEVELS",
    "LEAST_LEVELS",
    "ROWS",
    "WORDS",
    "add_masks",
    "is_full",
    "mark_at_least",
    "slice_in_four",
    "slice_in_two",
    "sum_masks",
    "unpack",
]

WORDS = 16
"""Words of a slice."""
ROWS = 64 * WORDS
"""How many rows a slice has a bit for."""
AT_ONCE = 8
"""How many masks are added together; of fewer, the rest are zero."""
FEWEST_LEVELS, LEAST_LEVELS = 2, 4
"""Counts have so few slices, or so many at least."""
# Slices that stay in registers beside the last.
_HELD = 3

_BYTE, _LINE = 8, 64
_WORD = ir.IntType(64)
_SLICE = ir.VectorType(_WORD, WORDS)


def _place(context: Any, builder: Any, signature: Any, args: Any, which: int, index: Any) -> Any:
    """Return a pointer to the slice that begins at a word of an array."""
    data = data_of(context, builder, signature, args, which)
    return vector_at(builder, data, index, _SLICE)


def _load(builder: Any, place: Any) -> Any:
    return builder.load(place, align=8)


def _store(builder: Any, value: Any, place: Any) -> None:
    builder.store(value, place, align=8)


def _full_adder(builder: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Return the sum and the carry of three bits, in every place of a slice."""
    differ = builder.xor(a, b)
    carry = builder.or_(builder.and_(a, b), builder.and_(differ, c))
    return builder.xor(differ, c), carry


def _emit_sum(context: Any, builder: Any, signature: Any, args: Any, *, is_fresh: bool) -> Any:
    slices_at, levels, base, first, count = args[1], args[2], args[4], args[6], args[7]
    intp = levels.type
    places = context.make_array(signature.args[5])(context, builder, args[5])

    def number(value: int) -> Any:
        return ir.Constant(intp, value)

    def slice_at(level: Any) -> Any:
        word = builder.add(slices_at, builder.mul(level, number(WORDS)))
        return _place(context, builder, signature, args, 0, word)

    def add_to(held: list[Any], add_eight: Any) -> None:
        """Keep some slices in registers while masks are added to them, eight at a time."""
        slots = [cgutils.alloca_once(builder, _SLICE) for _ in held]
        for level, slot in zip(held, slots, strict=True):
            known = ir.Constant(_SLICE, None) if is_fresh else _load(builder, slice_at(level))
            builder.store(known, slot)
        with cgutils.for_range(builder, builder.sdiv(count, number(AT_ONCE))) as loop:
            begin = builder.add(first, builder.mul(loop.index, number(AT_ONCE)))

            def mask(one: int) -> Any:
                where = builder.load(builder.gep(places.data, [builder.add(begin, number(one))]))
                word = builder.add(base, builder.sext(where, intp))
                return _load(builder, _place(context, builder, signature, args, 3, word))

            known = [builder.load(slot) for slot in slots]
            for value, slot in zip(add_eight(*known, mask), slots, strict=True):
                builder.store(value, slot)
        for level, slot in zip(held, slots, strict=True):
            _store(builder, builder.load(slot), slice_at(level))

    last = builder.sub(levels, number(1))

    def add_in_two(ones: Any, sticky: Any, mask: Any) -> list[Any]:
        for one in range(AT_ONCE):
            added = mask(one)
            sticky = builder.or_(sticky, builder.and_(ones, added))
            ones = builder.xor(ones, added)
        return [ones, sticky]

    def add_in_many(ones: Any, twos: Any, fours: Any, sticky: Any, mask: Any) -> list[Any]:
        ones, two_a = _full_adder(builder, ones, mask(0), mask(1))
        ones, two_b = _full_adder(builder, ones, mask(2), mask(3))
        twos, four_a = _full_adder(builder, twos, two_a, two_b)
        ones, two_a = _full_adder(builder, ones, mask(4), mask(5))
        ones, two_b = _full_adder(builder, ones, mask(6), mask(7))
        twos, four_b = _full_adder(builder, twos, two_a, two_b)
        fours, eights = _full_adder(builder, fours, four_a, four_b)
        carry = cgutils.alloca_once(builder, _SLICE)
        builder.store(eights, carry)
        with cgutils.for_range(builder, last, start=number(_HELD)) as ripple:
            there = slice_at(ripple.index)
            known, added = _load(builder, there), builder.load(carry)
            _store(builder, builder.xor(known, added), there)
            builder.store(builder.and_(known, added), carry)
        return [ones, twos, fours, builder.or_(sticky, builder.load(carry))]

    is_two = builder.icmp_signed("==", levels, number(FEWEST_LEVELS))
    with builder.if_else(is_two) as (in_two, in_many):
        with in_two:
            add_to([number(0), last], add_in_two)
        with in_many:
            if is_fresh:
                with cgutils.for_range(builder, last, start=number(_HELD)) as loop:
                    _store(builder, ir.Constant(_SLICE, None), slice_at(loop.index))
            add_to([*map(number, range(_HELD)), last], add_in_many)
    return context.get_dummy_value()


def _summing(slices: Any, table: Any, places: Any, *, is_fresh: bool) -> tuple[Any, Any]:
    """Return the signature and the code of what sums masks."""
    i = types.intp

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _emit_sum(context, builder, signature, args, is_fresh=is_fresh)

    return types.void(slices, i, i, table, i, places, i, i), codegen


@intrinsic
def sum_masks(typingctx, slices, at, levels, table, base, places, first, count):
    """Set counts to the sum of some masks.

    Parameters
    ----------
    slices, at
        Where the slices are, uint64, and the word at which they begin.
    levels
        How many there are: `FEWEST_LEVELS`, or `LEAST_LEVELS` at least.
    table, base
        The masks, uint64, and the word from which places are counted.
    places, first, count
        At which words masks begin: int32, ``count`` of them from ``first`` on, a multiple of
        `AT_ONCE`.
    """
    return _summing(slices, table, places, is_fresh=True)


@intrinsic
def add_masks(typingctx, slices, at, levels, table, base, places, first, count):
    """Add some masks to counts, as `sum_masks` but for what is there already."""
    return _summing(slices, table, places, is_fresh=False)


@intrinsic
def is_full(typingctx, slices, at):
    """Tell whether every bit of the slice at a word is set."""

    def codegen(context, builder, sig, args):
        known = _load(builder, _place(context, builder, sig, args, 0, args[1]))
        every = call_outside(builder, f"llvm.vector.reduce.and.v{WORDS}i64", _WORD, known)
        return builder.icmp_unsigned("==", every, ir.Constant(_WORD, -1))

    return types.boolean(slices, types.intp), codegen


@intrinsic
def mark_at_least(typingctx, slices, at, levels, least, masks, where):
    """Write a mask, at word ``where`` of ``masks``, of the rows whose count is at least so much.

    Returns how many these are.
    """

    def codegen(context, builder, sig, args):
        slices_at, levels, least = args[1], args[2], args[3]
        intp = levels.type
        ones = ir.Constant(_SLICE, [-1] * WORDS)
        above, equal = (cgutils.alloca_once(builder, _SLICE) for _ in range(2))
        builder.store(ir.Constant(_SLICE, None), above)
        builder.store(ones, equal)
        with cgutils.for_range(builder, levels) as loop:
            level = builder.sub(builder.sub(levels, loop.index), ir.Constant(intp, 1))
            word = builder.add(slices_at, builder.mul(level, ir.Constant(intp, WORDS)))
            bit = builder.and_(builder.lshr(least, level), ir.Constant(intp, 1))
            asked = everywhere(builder, builder.neg(bit), WORDS)
            known = _load(builder, _place(context, builder, sig, args, 0, word))
            so_far, same = builder.load(above), builder.load(equal)
            more = builder.and_(builder.and_(same, known), builder.xor(asked, ones))
            builder.store(builder.or_(so_far, more), above)
            differ = builder.xor(known, asked)
            builder.store(builder.and_(same, builder.xor(differ, ones)), equal)
        enough = builder.or_(builder.load(above), builder.load(equal))
        _store(builder, enough, _place(context, builder, sig, args, 4, args[5]))
        bits = call_outside(builder, f"llvm.ctpop.v{WORDS}i64", _SLICE, enough)
        return call_outside(builder, f"llvm.vector.reduce.add.v{WORDS}i64", _WORD, bits)

    i = types.intp
    return i(slices, i, i, i, masks, i), codegen


def _emit_slices(context: Any, builder: Any, sig: Any, args: Any, levels: int) -> Any:
    """Write half of some slices from bits of bytes, and clear these."""
    half, lanes = ir.VectorType(_WORD, WORDS // 2), ir.VectorType(ir.IntType(8), _LINE)
    first = builder.gep(data_of(context, builder, sig, args, 0), [args[1]])
    known = []
    for row in range(_BYTE):
        place = builder.gep(first, [ir.Constant(args[1].type, row * _LINE)])
        place = builder.bitcast(place, lanes.as_pointer())
        tallies = builder.load(place, align=1)
        builder.store(ir.Constant(lanes, None), place, align=1)
        if levels > FEWEST_LEVELS:
            tallies = call_outside(builder, f"llvm.ctpop.v{_LINE}i8", lanes, tallies)
        known.append(builder.bitcast(tallies, half))
    for level in range(levels):
        bits = ir.Constant(half, None)
        for row, tallies in enumerate(known):
            shift = builder.shl if row > level else builder.lshr
            shifted = shift(tallies, ir.Constant(half, [abs(row - level)] * (WORDS // 2)))
            of_row = ir.Constant(half, [0x0101_0101_0101_0101 << row] * (WORDS // 2))
            bits = builder.or_(bits, builder.and_(shifted, of_row))
        where = builder.add(args[3], ir.Constant(args[3].type, level * WORDS))
        place = builder.gep(data_of(context, builder, sig, args, 2), [where])
        builder.store(bits, builder.bitcast(place, half.as_pointer()), align=8)
    return context.get_dummy_value()


def _slicing_tallies(levels: int) -> Any:
    """Return what turns 512 tallies into so many slices."""

    @intrinsic
    def slice_half(typingctx, tallies, at, slices, word):
        def codegen(context, builder, sig, args):
            return _emit_slices(context, builder, sig, args, levels)

        return types.void(tallies, types.intp, slices, types.intp), codegen

    return slice_half


# What 512 rows have been tallied, from byte ``at`` on, becomes half of the fewest slices, from a
# word on, or of the least number above that; the tallies become 0. A tally is a byte with a bit for
# each time up to eight. Of eight neighbouring rows those stand 64 bytes apart (`listing.place_of`),
# so that what is one bit of 64 tallies is shifted to its place at once. The rows of `slicing` take
# 9 % less time so than with a mask of each 64 tallies after the other.
slice_in_two, slice_in_four = map(_slicing_tallies, (FEWEST_LEVELS, LEAST_LEVELS))


@intrinsic
def unpack(typingctx, slices, at, levels, counters):
    """Write the counts of 64 rows, one by one, into 64 counters of 32 bits.

    ``at`` is the word of the lowest slice that has these rows.
    """
    lanes = 64
    counts = ir.VectorType(LANE, lanes)

    def codegen(context, builder, sig, args):
        levels = args[2]
        intp = levels.type
        words = data_of(context, builder, sig, args, 0)
        total = cgutils.alloca_once(builder, counts)
        builder.store(ir.Constant(counts, None), total)
        with cgutils.for_range(builder, levels) as loop:
            # From the highest level down, so that all are doubled in between.
            level = builder.sub(builder.sub(levels, loop.index), ir.Constant(intp, 1))
            word = builder.add(args[1], builder.mul(level, ir.Constant(intp, WORDS)))
            known = builder.load(builder.gep(words, [word]))
            bits = builder.zext(builder.bitcast(known, ir.VectorType(ir.IntType(1), lanes)), counts)
            so_far = builder.load(total)
            builder.store(builder.or_(builder.add(so_far, so_far), bits), total)
        out = data_of(context, builder, sig, args, 3)
        builder.store(builder.load(total), builder.bitcast(out, counts.as_pointer()), align=4)
        return context.get_dummy_value()

    i = types.intp
    return types.void(slices, i, i, counters), codegen
