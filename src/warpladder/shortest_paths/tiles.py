"""Register tiles of the CPU engine: the innermost relaxations, written as LLVM vectors.

One relaxation is ``c = min(c, a + b)``: two vector instructions, so a core that starts two per
clock can do one vector of relaxations per clock, *if* nothing else is in the way. A plain loop
keeps ``c`` in memory and spends most of its time moving it. A tile of ``rows x vectors``
accumulators that stays in registers while ``k`` runs over a whole panel loads only ``rows +
vectors`` operands for ``rows * vectors`` relaxations; the rest is arithmetic. Compilers do not find
this shape in a loop nest by themselves, so it is emitted here, through Numba's intrinsics.

The addition of floating-point numbers is written ``fma(b, 1, a)`` where the hardware has it. It
rounds exactly as ``a + b`` does, but on CPUs that add and compare in the same pipes and multiply in
others (AMD Zen 4) it moves half of the work to the idle ones. Measured there, in G relaxations/s of
float32 per core: 29 with plain additions, 46 with fused ones, 50 with one vector of each row plain;
58 is the limit without loads.

AVX-512 can also *fold* a broadcast: an addition reads its ``a`` from memory, as one number for all
lanes, of 32 or 64 bits. With operands in the caches that reaches the limit. Measured on one core of
an AMD EPYC (Zen 4, 2026-11-25), in G relaxations/s of float32, with 384 values of ``k``:

===================  =========================================  =====
rows x vectors       additions                                  rate
===================  =========================================  =====
3 x 6                one vector plain, a broadcast for a row    49.4
8 x 3                fused, a broadcast for each, not folded    33.4
3 x 6                fused, folded                              57.0
8 x 3                fused, folded                              57.6
===================  =========================================  =====

Why is not known, as no counters were at hand. Integers gain less: of int32 the folded tile does
57.7 and one of 6 x 3 with a broadcast for a row 57.9, of int64 28.6 and 27.8. A folded operand
needs no register, which leaves room for 8 x 3 accumulators. With next hops nothing is folded; that
was not tried.

The tile's accumulators start empty and meet ``c`` only after the last ``k``: its cache lines are
fetched while the loop runs, and no relaxation ever waits for memory.

Operands come packed: ``a`` holds for each ``k`` the tile's ``rows`` values, ``b`` for each ``k``
its ``vectors`` vectors. ``c`` is addressed where it lies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import DTypeLike

from warpladder.device.llvm import call_outside, everywhere, prefetch, vector_at
from warpladder.device.simd import vector_unit

__all__ = [
    "PANEL_UNIT",
    "TileShape",
    "relax_tile",
    "relax_tile_with_hops",
    "tile_columns",
    "tile_rows",
    "tile_shape",
]

PANEL_UNIT = 96
"""Panel heights are multiples of this, so that tiles of every dtype end where panels end."""

_INDEX = ir.IntType(64)


class TileShape(NamedTuple):
    """A register tile of ``rows`` rows and ``vectors`` vectors of ``lanes`` elements a row."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        """Elements in one row of the tile."""
        return self.vectors * self.lanes


def tile_shape(dtype: DTypeLike, *, hops: bool = False) -> TileShape:
    """Return the register tile used for a dtype on this CPU.

    The accumulators, one row of ``b`` and a few temporaries must fit the vector registers. With
    next hops each relaxation owns a second accumulator. Every shape divides `PANEL_UNIT`.

    Examples
    --------
    >>> PANEL_UNIT % tile_shape("float32").columns
    0
    """
    unit = vector_unit()
    lanes = unit.bytes // np.dtype(dtype).itemsize
    if unit.registers >= 32:
        if hops:
            return TileShape(4, 3, lanes)
        if _folds(dtype, hops=hops):
            return TileShape(8, 3, lanes)
        return TileShape(3, 6, lanes) if np.dtype(dtype).kind == "f" else TileShape(6, 3, lanes)
    return TileShape(4, 1, lanes) if hops else TileShape(6, 2, lanes)


@intrinsic
def tile_rows(typingctx, dist, carry):
    """Return the rows of the tile for a matrix, as a constant of the code being compiled."""
    return _constant(tile_shape(str(dist.dtype), hops=not _is_none(carry)).rows, dist, carry)


@intrinsic
def tile_columns(typingctx, dist, carry):
    """Return the columns of the tile for a matrix, as a constant of the code being compiled."""
    return _constant(tile_shape(str(dist.dtype), hops=not _is_none(carry)).columns, dist, carry)


@intrinsic
def relax_tile(typingctx, c, row, column, a, a_offset, b, depth):
    """Relax the tile of ``c`` at (row, column) through ``depth`` packed intermediates."""
    signature = types.void(c, types.intp, types.intp, a, types.intp, b, types.intp)

    def codegen(context, builder, signature, args):
        emit = _TileEmitter(context, builder, signature.args[0].dtype, hops=False)
        c, row, column, a, a_offset, b, depth = args
        emit.relax(
            [emit.rows_of(signature.args[0], c, row, column, emit.vector)],
            [emit.element(signature.args[3], a, a_offset)],
            emit.element(signature.args[5], b, _INDEX(0)),
            depth,
        )
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def relax_tile_with_hops(
    typingctx, c, c_hops, row, column, a, a_hops, a_offset, b, depth
):  # fmt: skip
    """Relax as `relax_tile` does; where a distance falls, take the next hop from ``a_hops``."""
    signature = types.void(c, c_hops, types.intp, types.intp, a, a_hops, types.intp, b, types.intp)

    def codegen(context, builder, signature, args):
        emit = _TileEmitter(context, builder, signature.args[0].dtype, hops=True)
        hop_type = context.get_value_type(signature.args[1].dtype)
        hop_vector = ir.VectorType(hop_type, emit.shape.lanes)
        c, c_hops, row, column, a, a_hops, a_offset, b, depth = args
        emit.relax(
            [
                emit.rows_of(signature.args[0], c, row, column, emit.vector),
                emit.rows_of(signature.args[1], c_hops, row, column, hop_vector),
            ],
            [
                emit.element(signature.args[4], a, a_offset),
                emit.element(signature.args[5], a_hops, a_offset),
            ],
            emit.element(signature.args[7], b, _INDEX(0)),
            depth,
        )
        return context.get_dummy_value()

    return signature, codegen


class _TileEmitter:
    """Writes one register tile into a function under construction."""

    def __init__(self, context: Any, builder: Any, dtype: Any, *, hops: bool) -> None:
        self.context = context
        self.builder = builder
        self.is_float = isinstance(dtype, types.Float)
        self.shape = tile_shape(str(dtype), hops=hops)
        self.vector = ir.VectorType(context.get_value_type(dtype), self.shape.lanes)
        self.one = self._opaque_one() if self.is_float and _uses_fma() else None
        self.folds = _folds(str(dtype), hops=hops)

    def element(self, array_type: Any, array: Any, offset: Any) -> Any:
        """Return the address of an element of a packed panel."""
        data = self.context.make_array(array_type)(self.context, self.builder, array).data
        return self.builder.gep(data, [offset])

    def rows_of(self, array_type: Any, array: Any, row: Any, column: Any, vector: Any) -> Any:
        """Return the addresses of the tile's vectors in a C-contiguous matrix."""
        view = self.context.make_array(array_type)(self.context, self.builder, array)
        width = cgutils.unpack_tuple(self.builder, view.shape)[1]
        corner = self.builder.add(self.builder.mul(row, width), column)
        rows = [
            self.builder.add(corner, self.builder.mul(width, _INDEX(r)))
            for r in range(self.shape.rows)
        ]
        columns = [_INDEX(v * self.shape.lanes) for v in range(self.shape.vectors)]
        return [
            [
                vector_at(self.builder, view.data, self.builder.add(first, column), vector)
                for column in columns
            ]
            for first in rows
        ]

    def relax(self, tiles: list[Any], left: list[Any], right: Any, depth: Any) -> None:
        """Emit ``for k in range(depth)`` over the accumulators; ``depth`` is at least 1.

        ``tiles`` and ``left`` hold the distances first and the next hops, if carried, second.
        """
        builder, shape = self.builder, self.shape
        cells = [(r, v) for r in range(shape.rows) for v in range(shape.vectors)]
        for tile in tiles:
            for r, v in cells:
                # It is written when the loop ends.
                prefetch(builder, tile[r][v], is_written=True)
        worst = self._worst()
        start = [dict.fromkeys(cells, worst)]
        if len(tiles) == 2:
            hop_vector = tiles[1][0][0].type.pointee
            start.append(dict.fromkeys(cells, ir.Constant(hop_vector, [0] * shape.lanes)))

        if self.folds:
            # Of equal addresses LLVM makes one load, and it folds none that serves two additions.
            left = [self._opaque_address(left[0]) for _ in range(shape.vectors)]
        before = builder.block
        loop = builder.append_basic_block("relax")
        after = builder.append_basic_block("relaxed")
        builder.branch(loop)

        builder.position_at_end(loop)
        k = builder.phi(_INDEX)
        accumulators = [
            {cell: builder.phi(value.type) for cell, value in values.items()} for values in start
        ]
        b_row = [
            self._load(self._vector_at(right, k, v * shape.lanes)) for v in range(shape.vectors)
        ]
        updated: list[dict[tuple[int, int], Any]] = [{} for _ in tiles]
        for r in range(shape.rows):
            offset = builder.add(builder.mul(k, _INDEX(shape.rows)), _INDEX(r))
            broadcast = [
                everywhere(builder, builder.load(builder.gep(base, [offset])), shape.lanes)
                for base in left
            ]
            a = broadcast if self.folds else broadcast[:1] * shape.vectors
            hop = [] if self.folds else broadcast[1:]
            for v in range(shape.vectors):
                candidate = self._add(a[v], b_row[v], r, v)
                current = accumulators[0][r, v]
                better = self._less(candidate, current)
                updated[0][r, v] = builder.select(better, candidate, current)
                if hop:
                    updated[1][r, v] = builder.select(better, hop[0], accumulators[1][r, v])
        k_next = builder.add(k, _INDEX(1))
        k.add_incoming(_INDEX(0), before)
        k.add_incoming(k_next, loop)
        for phis, first, later in zip(accumulators, start, updated, strict=True):
            for cell in cells:
                phis[cell].add_incoming(first[cell], before)
                phis[cell].add_incoming(later[cell], loop)
        builder.cbranch(builder.icmp_signed("<", k_next, depth), loop, after)

        builder.position_at_end(after)
        for cell in cells:
            better = self._less(updated[0][cell], self._load(tiles[0][cell[0]][cell[1]]))
            for tile, values in zip(tiles, updated, strict=True):
                address = tile[cell[0]][cell[1]]
                merged = builder.select(better, values[cell], self._load(address))
                builder.store(merged, address, align=_element_bytes(merged.type))

    def _worst(self) -> Any:
        """Return the vector that every candidate beats."""
        bits = 8 * _element_bytes(self.vector)
        value = float("inf") if self.is_float else 2 ** (bits - 1) - 1
        return ir.Constant(self.vector, [value] * self.shape.lanes)

    def _less(self, a: Any, b: Any) -> Any:
        compare = self.builder.fcmp_ordered if self.is_float else self.builder.icmp_signed
        return compare("<", a, b)

    def _add(self, a: Any, b: Any, r: int, v: int) -> Any:
        """Return the sums of a cell of the tile."""
        if not self.is_float:
            return self.builder.add(a, b)
        if self.one is None or (v == 0 and not self.folds):
            return self.builder.fadd(a, b)
        if self.folds:
            b = self._opaque_copy(b, r)
        bits = 8 * _element_bytes(self.vector)
        name = f"llvm.fma.v{self.shape.lanes}f{bits}"
        return call_outside(self.builder, name, self.vector, b, self.one, a)

    def _opaque_one(self) -> Any:
        """Return a vector of ones that the optimiser cannot see through; it would undo the fma."""
        one = ir.Constant(self.vector, [1.0] * self.shape.lanes)
        register = vector_unit().asm_class
        function = ir.FunctionType(self.vector, [self.vector])
        return self.builder.asm(function, "", f"={register},0", [one], side_effect=False)

    def _opaque_address(self, address: Any) -> Any:
        """Return an address of which the optimiser cannot see that others are the same."""
        function = ir.FunctionType(address.type, [address.type])
        # With no side effects, it would take equal ones for one.
        return self.builder.asm(function, "", "=r,0", [address], side_effect=True)

    def _opaque_copy(self, value: Any, number: int) -> Any:
        """Return a copy that a fused addition may write over.

        It has to write over something. If that were needed later, LLVM would load the broadcast
        into a register of its own, to have that written over, rather than copy one. ``number``
        tells copies of one value apart; side effects would do it too, but keep loads in their
        place, so that none is folded.
        """
        function = ir.FunctionType(self.vector, [self.vector, _INDEX])
        constraint, given = f"={vector_unit().asm_class},0,i", [value, _INDEX(number)]
        return self.builder.asm(function, "", constraint, given, side_effect=False)

    def _vector_at(self, base: Any, k: Any, offset: int) -> Any:
        row = self.builder.mul(k, _INDEX(self.shape.columns))
        return vector_at(self.builder, base, self.builder.add(row, _INDEX(offset)), self.vector)

    def _load(self, address: Any) -> Any:
        # Rows of a matrix of any width start anywhere: only element alignment can be promised.
        return self.builder.load(address, align=_element_bytes(address.type.pointee))


def _constant(value, *argument_types):
    def codegen(context, builder, signature, args):
        return _INDEX(value)

    return types.intp(*argument_types), codegen


def _is_none(numba_type) -> bool:
    return isinstance(numba_type, types.NoneType)


def _uses_fma() -> bool:
    unit = vector_unit()
    return unit.fused_multiply_add and unit.asm_class is not None


def _folds(dtype: DTypeLike, *, hops: bool) -> bool:
    """Tell whether additions take ``a`` from memory: AVX-512 has that for 32 and 64 bits."""
    return vector_unit().name == "AVX-512" and np.dtype(dtype).itemsize >= 4 and not hops


def _element_bytes(vector: Any) -> int:
    widths = {"half": 2, "float": 4, "double": 8}
    name = str(vector.element)
    return widths[name] if name in widths else vector.element.width // 8
