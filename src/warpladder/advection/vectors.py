"""Many steps in vector registers: the inner loop of the CPU engine, written as LLVM vectors.

Cells of a tile are cut into as many strips as a vector has lanes, one strip a lane. So the left and
right neighbours of a vector of cells are the vectors before and behind it, and no step ever moves
numbers between lanes. A *sweep* goes over the strips once and takes ``depth`` steps on the way, as
a pipeline: a vector that has been loaded goes through the first step, what comes out of it through
the second, and so on. Each step keeps in registers the last few vectors that went in, as many as it
has neighbours, and what comes out is behind by as many cells as it needs to see ahead. Loading and
storing are shared by all steps, so arithmetic is what is left.

A row that the first cache holds takes one step after the other, in strips just so: there a load and
a store a step cost less than the ends of a sweep.

Compilers do not find this in a loop nest: it is emitted here, through Numba's intrinsics.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import DTypeLike

from warpladder.advection.emitter import Emitter
from warpladder.advection.forms import LIMITED_OFFSETS, LIMITERS
from warpladder.device.llvm import LANE, data_of, everywhere
from warpladder.device.simd import vector_unit

__all__ = [
    "Shape",
    "cell_at",
    "code_of",
    "edge_cells",
    "group_of",
    "offsets_of",
    "reach_in",
    "reach_of",
    "shape_for",
    "step_strips",
    "sweep",
    "transpose",
    "weights_of",
]

_INDEX = ir.IntType(64)
#: Steps of a sweep, at most. Of what registers alone allow, sweeps over 32,768 float32 cells reach
#: 92 % with 4 steps, 90 with 6, 89 with 8, 80 with 12 (Lax-Friedrichs, AVX-512, one core): a vector
#: goes through the steps one after the other, so the deeper, the more vectors have to be on their
#: way. With fewer steps the ends of the cells, done one by one, come more often.
_DEEPEST = 6
#: Codes of stencils have a bit for each offset from -15 on; those of limiters are negative.
_FARTHEST = 15


class Shape(NamedTuple):
    """Lanes of a vector of cells, and steps that a sweep takes."""

    lanes: int
    depth: int


def code_of(offsets: tuple[int, ...]) -> int:
    """Return the number that says to compiled code which neighbours a stencil reads.

    Examples
    --------
    >>> offsets_of(code_of((-1, 1)))
    (-1, 1)
    """
    return sum(1 << (offset + _FARTHEST) for offset in offsets)


@cache
def offsets_of(code: int) -> tuple[int, ...]:
    """Return the neighbours that a rule of this code reads."""
    if code < 0:
        return LIMITED_OFFSETS
    return tuple(bit - _FARTHEST for bit in range(2 * _FARTHEST + 1) if code >> bit & 1)


@cache
def reach_of(code: int) -> tuple[int, int]:
    """Return how many cells to the left and to the right a rule of this code sees.

    Examples
    --------
    >>> reach_of(code_of((-2, -1)))
    (2, 0)
    """
    offsets = offsets_of(code)
    return max(-offsets[0], 0), max(offsets[-1], 0)


def group_of(code: int) -> int:
    """Return how many vectors a sweep takes at once, so that none is moved between registers."""
    return 1 if code < 0 else sum(reach_of(code))


def shape_for(code: int, dtype: DTypeLike) -> Shape:
    """Return the shape of a sweep on this CPU: for a stencil as deep as its registers allow.

    With a limiter arithmetic alone takes longer than loading and storing, and more than one step
    does not fit into registers: with six, sweeps over 2**20 cells took 1.0 to 2.2 times as long
    (AVX-512), with two on AVX2 0.9 to 1.2 times.

    Examples
    --------
    >>> shape_for(code_of((-1, 1)), "float32").lanes in (4, 8, 16)
    True
    """
    unit = vector_unit()
    lanes = unit.bytes // np.dtype(dtype).itemsize
    if code < 0:
        return Shape(lanes, 1)
    # Weights, and what the step at hand works with.
    others = len(offsets_of(code)) + 3
    depth = (unit.registers - others) // sum(reach_of(code))
    return Shape(lanes, min(max(depth, 2), _DEEPEST))


@intrinsic(prefer_literal=True)
def reach_in(typingctx, code):
    """Return `reach_of` a literal code as constants of the code being compiled."""
    if not isinstance(code, types.IntegerLiteral):
        return None

    def codegen(context, builder, signature, args):
        values = [_INDEX(cells) for cells in reach_of(code.literal_value)]
        return context.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(types.intp, 2)(code), codegen


@intrinsic(prefer_literal=True)
def weights_of(typingctx, row, code):
    """Return the numbers that a rule multiplies with, from the first of an array on, as a tuple."""
    if not isinstance(code, types.IntegerLiteral):
        return None
    count = _weights_in(code.literal_value)

    def codegen(context, builder, signature, args):
        place = data_of(context, builder, signature, args, 0)
        values = [builder.load(builder.gep(place, [_INDEX(k)])) for k in range(count)]
        return context.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(row.dtype, count)(row, code), codegen


@intrinsic(prefer_literal=True)
def cell_at(typingctx, cells, i, weights, code):
    """Return the new value of the cell at i of a row, by the rule of a literal code."""
    if not isinstance(code, types.IntegerLiteral):
        return None
    code_ = code.literal_value

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder, signature.args[0].dtype, None)
        place = data_of(context, builder, signature, args, 0)
        read = [
            builder.load(builder.gep(place, [builder.add(args[1], _INDEX(offset))]))
            for offset in offsets_of(code_)
        ]
        weights_ = cgutils.unpack_tuple(builder, args[2])
        if code_ >= 0:
            return emit.combined(weights_, read)
        return emit.limited_cell(_limiter(code_), weights_, read)

    return cells.dtype(cells, types.intp, weights, code), codegen


@intrinsic(prefer_literal=True)
def sweep(typingctx, tile, start, count, weights, code, lanes, depth):
    """Take ``depth`` steps of the cells of a tile, in place.

    The first vector lies at ``start``; ``count`` vectors go in, a multiple of `group_of` the code.
    What comes out is stored over the cells that it is of; where what it depends on did not all go
    in, it means nothing.
    """
    literals = (code, lanes, depth)
    if not all(isinstance(one, types.IntegerLiteral) for one in literals):
        return None
    code_, lanes_, depth_ = (one.literal_value for one in literals)
    left, right = reach_of(code_)

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder, signature.args[0].dtype, lanes_)
        step = _step_of(emit, code_, args[3])
        first = builder.gep(data_of(context, builder, signature, args, 0), [args[1]])
        unknown = [[emit.zero] * (left + right)] * depth_
        _stream(emit, step, unknown, first, args[2], group_of(code_), right)
        return context.get_dummy_value()

    signature = types.void(tile, types.intp, types.intp, weights, code, lanes, depth)
    return signature, codegen


@intrinsic(prefer_literal=True)
def step_strips(typingctx, tile, start, strips, lefts, rights, weights, code, lanes):
    """Take one step of a row in `rows.Strips`, in place.

    The first vector lies at ``start``; ``lefts`` and ``rights`` are the row's ghosts, the nearest
    first. What strips have as neighbours is taken from the strips beside them, in registers: were
    it put before and behind them first, as in tiles, 32 to 100 float32 cells would take 1.3 to 1.6
    times as long, since each step would wait for memory twice.
    """
    if not all(isinstance(one, types.IntegerLiteral) for one in (code, lanes)):
        return None
    code_, count = code.literal_value, lanes.literal_value
    left, right = reach_of(code_)

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder, signature.args[0].dtype, count)
        step = _step_of(emit, code_, args[5])
        first = builder.gep(data_of(context, builder, signature, args, 0), [args[1]])
        length, apart, farther = cgutils.unpack_tuple(builder, args[2])
        lefts, rights = (cgutils.unpack_tuple(builder, one) for one in args[3:5])

        before = [
            _beside(emit, first, builder.sub(apart, _INDEX(k + 1)), farther, ghost, is_left=True)
            for k, ghost in enumerate(lefts)
        ]
        beyond = builder.sub(length, apart)
        behind = [
            _beside(emit, first, builder.add(beyond, _INDEX(k)), farther, ghost, is_left=False)
            for k, ghost in enumerate(rights)
        ]
        known = [emit.zero] * (left + right)
        for vector in reversed(before):
            known, _ = step(known, vector)
        [known] = _stream(emit, step, [known], first, length, 1, right)
        end = builder.gep(first, [builder.mul(length, _INDEX(count))])
        for k, vector in enumerate(behind):
            known, new = step(known, vector)
            emit.store(new, end, _INDEX((k - right) * count))
        return context.get_dummy_value()

    signature = types.void(tile, types.intp, strips, lefts, rights, weights, code, lanes)
    return signature, codegen


@intrinsic(prefer_literal=True)
def edge_cells(typingctx, cells, place, apart, side, code):
    """Return, as a tuple, a cell for each ghost on a side, so far apart: 0 is left, 1 right."""
    if not all(isinstance(one, types.IntegerLiteral) for one in (side, code)):
        return None
    count = reach_of(code.literal_value)[side.literal_value]

    def codegen(context, builder, signature, args):
        data = data_of(context, builder, signature, args, 0)
        places = [builder.add(args[1], builder.mul(args[2], _INDEX(k))) for k in range(count)]
        values = [builder.load(builder.gep(data, [place])) for place in places]
        return context.make_tuple(builder, signature.return_type, values)

    kind = types.UniTuple(cells.dtype, count)
    return kind(cells, types.intp, types.intp, side, code), codegen


@intrinsic(prefer_literal=True)
def transpose(typingctx, source, i, target, j, lanes):
    """Transpose a square of so many vectors from i on into another one from j on.

    In each round neighbours at twice the distance trade halves: four rounds for 16 lanes. One by
    one, with a line of the cache touched for each number, moving 2**24 float32 cells into strips
    and back took 0.1 s where squares take 0.03 to 0.05 s (two cores, AVX-512).
    """
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    count = lanes.literal_value

    def codegen(context, builder, signature, args):
        emit = Emitter(context, builder, signature.args[0].dtype, count)
        target = builder.gep(data_of(context, builder, signature, args, 2), [args[3]])
        source = builder.gep(data_of(context, builder, signature, args, 0), [args[1]])
        vectors = [emit.load(source, _INDEX(k * count)) for k in range(count)]
        apart = 1
        while apart < count:
            vectors = emit.traded(vectors, apart)
            apart *= 2
        for k, vector in enumerate(vectors):
            emit.store(vector, target, _INDEX(k * count))
        return context.get_dummy_value()

    return types.void(source, types.intp, target, types.intp, lanes), codegen


def _limiter(code: int) -> str:
    return LIMITERS[-code - 1]


def _weights_in(code: int) -> int:
    return 2 if code < 0 else len(offsets_of(code))


def _step_of(emit: Emitter, code: int, weights: Any) -> Any:
    """Return what emits a step of a vector, from what is known of those before it."""
    everywhere_ = [emit.all(one) for one in cgutils.unpack_tuple(emit.builder, weights)]
    if code < 0:
        return partial(emit.limited, _limiter(code), everywhere_)
    left, _ = reach_of(code)
    # Where the neighbours are in the window.
    return partial(emit.stencil, [left + offset for offset in offsets_of(code)], everywhere_)


def _beside(
    emit: Emitter, first: Any, place: Any, farther: Any, ghost: Any, *, is_left: bool
) -> Any:
    """Return for each strip the cell at a place of the one beside, for the outer one its ghost.

    Where strips lie a cell farther apart, it is the cell that is one nearer to that strip.
    """
    builder, lanes = emit.builder, emit.kind.count
    nearer = builder.add(place, _INDEX(1 if is_left else -1))
    cells, nearer_cells = (
        emit.load(first, builder.mul(one, _INDEX(lanes))) for one in (place, nearer)
    )
    strips = ir.Constant(ir.VectorType(_INDEX, lanes), [*range(lanes)])
    # The first strips that are read: the left ones begin with the first of all, the right ones
    # with the second.
    bound = farther if is_left else builder.add(farther, _INDEX(1))
    is_farther = builder.icmp_signed("<", strips, everywhere(builder, bound, lanes))
    read = builder.select(is_farther, nearer_cells, cells)
    order = [lanes, *range(lanes - 1)] if is_left else [*range(1, lanes), lanes]
    order_ = ir.Constant(ir.VectorType(LANE, lanes), order)
    return builder.shuffle_vector(read, emit.all(ghost), order_)


def _stream(
    emit: Emitter, step: Any, known: Any, first: Any, vectors: Any, group: int, ahead: int
) -> Any:
    """Let vectors go through steps, in place, and return what each step knows afterwards.

    ``known`` is what they know before; each sees so many vectors ahead.
    """
    builder, lanes = emit.builder, emit.kind.count
    # Registers, once LLVM has promoted them.
    states = [[cgutils.alloca_once_value(builder, one) for one in values] for values in known]
    behind = ahead * len(known) * lanes
    with cgutils.for_range(builder, builder.udiv(vectors, _INDEX(group))) as loop:
        here = builder.mul(loop.index, _INDEX(group * lanes))
        known = [[builder.load(place) for place in state] for state in states]
        for one in range(group):
            place = builder.gep(first, [builder.add(here, _INDEX(one * lanes))])
            moving = emit.load(place, _INDEX(0))
            for level in range(len(known)):
                known[level], moving = step(known[level], moving)
            emit.store(moving, place, _INDEX(-behind))
        for state, values in zip(states, known, strict=True):
            for place, value in zip(state, values, strict=True):
                builder.store(value, place)
    return [[builder.load(place) for place in state] for state in states]
