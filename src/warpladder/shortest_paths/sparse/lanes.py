"""Distances from 32 sources at a time: the steps of `dijkstra`, written as LLVM vectors.

A row of 32 lanes holds how far a vertex is from each of the sources: two vector registers of
AVX-512 for int32, four for numbers of 64 bits. Numba cannot know that two rows do not overlap and
would compile a loop over them into scalar code; so the step is emitted here, through Numba's
intrinsics, and LLVM cuts it into the vectors that the CPU has.

Arrays of lanes have the shape (n, 32): int32, int64 or float64 for distances, int32 for next hops.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from warpladder.device.llvm import data_of, everywhere, vector_at

__all__ = ["LANES", "ROOT", "relax", "relax_with_hops"]

LANES = 32
"""Sources that go together.

Visits cost nearly the same for any number of lanes, but there are the more of them the less alike
the ways are. Per source, with int32 lanes on one core: random, 5,000 vertices: 196 us with 16
lanes, 145 with 32, 113 with 64; power grid: 52, 39, 32; path of 4,000: 20, 26, 29.
"""
ROOT = -2
"""Stands for the next hop in the lane of a source at that source."""

_INDEX = ir.IntType(64)
_INT32 = ir.IntType(32)
_HOPS = ir.VectorType(_INT32, LANES)


def _least(builder: Any, lanes: Any, less: Any) -> Any:
    """Return the least lane, by halving."""
    width = LANES
    while width > 1:
        width //= 2
        half = ir.VectorType(_INT32, width)
        low = ir.Constant(half, list(range(width)))
        high = ir.Constant(half, list(range(width, 2 * width)))
        one, other = (builder.shuffle_vector(lanes, lanes, part) for part in (low, high))
        lanes = builder.select(less("<", one, other), one, other)
    return builder.extract_element(lanes, _INT32(0))


def _step(context: Any, builder: Any, signature: Any, args: Any, *, with_hops: bool) -> Any:
    _, _, u, weight, v, none = args
    element = signature.args[0].dtype
    is_float = isinstance(element, types.Float)
    lanes = ir.VectorType(context.get_value_type(element), LANES)
    add = builder.fadd if is_float else builder.add
    less = builder.fcmp_ordered if is_float else builder.icmp_signed
    align = element.bitwidth // 8

    def row_at(which: int, row: Any, kind: Any) -> Any:
        data = data_of(context, builder, signature, args, which)
        return vector_at(builder, data, builder.mul(row, _INDEX(LANES)), kind)

    from_u, at_v = (row_at(0, row, lanes) for row in (u, v))
    found = add(builder.load(from_u, align=align), everywhere(builder, weight, LANES))
    known = builder.load(at_v, align=align)
    is_nearer = less("<", found, known)
    least = cgutils.alloca_once_value(builder, none)
    changed = builder.bitcast(is_nearer, ir.IntType(LANES))
    with builder.if_then(builder.icmp_unsigned("!=", changed, ir.IntType(LANES)(0))):
        builder.store(builder.select(is_nearer, found, known), at_v, align=align)
        of_changed = builder.select(is_nearer, found, everywhere(builder, none, LANES))
        builder.store(_least(builder, of_changed, less), least)
        if with_hops:
            to_u, to_v = (row_at(1, row, _HOPS) for row in (u, v))
            hop = builder.load(to_u, align=4)
            is_root = builder.icmp_signed("==", hop, ir.Constant(_HOPS, [ROOT] * LANES))
            itself = everywhere(builder, builder.trunc(v, _INT32), LANES)
            hop = builder.select(is_root, itself, hop)
            kept = builder.load(to_v, align=4)
            builder.store(builder.select(is_nearer, hop, kept), to_v, align=4)
    return builder.load(least)


@intrinsic
def relax(typingctx, near, hops, u, weight, v, none):
    """Bring every lane of row v down to that of row u plus the weight of an arc.

    Return the least value that this changes, ``none`` where it changes nothing.
    """

    def codegen(context, builder, signature, args):
        return _step(context, builder, signature, args, with_hops=False)

    number = near.dtype
    return number(near, hops, types.intp, number, types.intp, number), codegen


@intrinsic
def relax_with_hops(typingctx, near, hops, u, weight, v, none):
    """Do what `relax` does, and take the next hops of changed lanes along."""

    def codegen(context, builder, signature, args):
        return _step(context, builder, signature, args, with_hops=True)

    number = near.dtype
    return number(near, hops, types.intp, number, types.intp, number), codegen
