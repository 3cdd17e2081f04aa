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
needs no register, which leaves room for 8 x 3 accumulators.

With next hops the same tile also tells, for each *run* of `RUN` values of ``k``, whose sums fell:
two loads, a comparison and two stores for each vector and run, 50 G/s instead of 58 on that core.
(Runs of 16: 45.) `tile_hops` finds the hops from that.

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

from warpladder.device.llvm import (
    call_outside,
    element_bytes,
    everywhere,
    prefetch,
    replaced,
    vector_at,
)
from warpladder.device.simd import vector_unit

__all__ = [
    "PANEL_UNIT",
    "RUN",
    "TileShape",
    "relax_tile",
    "relax_tile_marking",
    "tile_columns",
    "tile_lanes",
    "tile_rows",
    "tile_shape",
]

PANEL_UNIT = 96
"""Panel heights are multiples of this, so that tiles of every dtype end where panels end."""

RUN = 32
"""Values of ``k`` in a run: with next hops, it is kept in which of them a distance fell."""

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


def tile_shape(dtype: DTypeLike) -> TileShape:
    """Return the register tile used for a dtype on this CPU.

    The accumulators, one row of ``b`` and a few temporaries must fit the vector registers. Every
    shape divides `PANEL_UNIT`.

    Examples
    --------
    >>> PANEL_UNIT % tile_shape("float32").columns
    0
    """
    unit = vector_unit()
    lanes = unit.bytes // np.dtype(dtype).itemsize
    if unit.registers >= 32:
        if _folds(dtype):
            return TileShape(8, 3, lanes)
        return TileShape(3, 6, lanes) if np.dtype(dtype).kind == "f" else TileShape(6, 3, lanes)
    return TileShape(6, 2, lanes)


@intrinsic
def tile_rows(typingctx, dist):
    """Return the rows of the tile for a matrix, as a constant of the code being compiled."""
    return _constant(tile_shape(str(dist.dtype)).rows, dist)


@intrinsic
def tile_columns(typingctx, dist):
    """Return the columns of the tile for a matrix, as a constant of the code being compiled."""
    return _constant(tile_shape(str(dist.dtype)).columns, dist)


@intrinsic
def tile_lanes(typingctx, dist):
    """Return the lanes of its vectors, as a constant of the code being compiled."""
    return _constant(tile_shape(str(dist.dtype)).lanes, dist)


@intrinsic
def relax_tile(typingctx, c, row, column, a, a_offset, b, b_offset, depth):
    """Relax the tile of ``c`` at (row, column) through ``depth`` packed intermediates."""
    arguments = c, types.intp, types.intp, a, types.intp, b, types.intp, types.intp
    return types.void(*arguments), _emit_tile


@intrinsic
def relax_tile_marking(
    typingctx, c, row, column, a, a_offset, b, b_offset, depth, best, runs, marks
):  # fmt: skip
    """Relax as `relax_tile` does, and leave where distances fell and in which run of ``k``.

    ``best`` receives the least sum of each cell of the tile, row by row, and ``runs`` the first
    ``k`` of the first run of `RUN` of them that has it; both are of the dtype of ``c``. ``marks``
    receives a word for each vector of the tile, with a bit for each lane whose distance fell.
    """
    arguments = c, types.intp, types.intp, a, types.intp, b, types.intp, types.intp
    return types.void(*arguments, best, runs, marks), _emit_tile


def _emit_tile(context, builder, signature, args):
    emit = _TileEmitter(context, builder, signature.args[0].dtype)
    c, row, column, a, a_offset, b, b_offset, depth, *places = args
    kinds = signature.args[8:]
    emit.relax(
        emit.rows_of(signature.args[0], c, row, column),
        emit.element(signature.args[3], a, a_offset),
        emit.element(signature.args[5], b, b_offset),
        depth,
        [emit.element(*array, _INDEX(0)) for array in zip(kinds, places, strict=True)],
    )
    return context.get_dummy_value()


class _TileEmitter:
    """Writes one register tile into a function under construction."""

    def __init__(self, context: Any, builder: Any, dtype: Any) -> None:
        self.context = context
        self.builder = builder
        self.is_float = isinstance(dtype, types.Float)
        self.shape = tile_shape(str(dtype))
        self.vector = ir.VectorType(context.get_value_type(dtype), self.shape.lanes)
        self.one = self._opaque_one() if self.is_float and _uses_fma() else None
        self.folds = _folds(str(dtype))
        self.cells = [(r, v) for r in range(self.shape.rows) for v in range(self.shape.vectors)]

    def element(self, array_type: Any, array: Any, offset: Any) -> Any:
        """Return the address of an element of an array."""
        data = self.context.make_array(array_type)(self.context, self.builder, array).data
        return self.builder.gep(data, [offset])

    def rows_of(self, array_type: Any, array: Any, row: Any, column: Any) -> Any:
        """Return the addresses of the tile's vectors in a C-contiguous matrix, by cell."""
        view = self.context.make_array(array_type)(self.context, self.builder, array)
        width = cgutils.unpack_tuple(self.builder, view.shape)[1]
        corner = self.builder.add(self.builder.mul(row, width), column)
        rows = [
            self.builder.add(corner, self.builder.mul(width, _INDEX(r)))
            for r in range(self.shape.rows)
        ]
        return {
            (r, v): vector_at(
                self.builder,
                view.data,
                self.builder.add(rows[r], _INDEX(v * self.shape.lanes)),
                self.vector,
            )
            for r, v in self.cells
        }

    def relax(self, tile: Any, left: Any, right: Any, depth: Any, marks: list[Any]) -> None:
        """Emit ``for k in range(depth)`` over the accumulators; ``depth`` is at least 1.

        ``marks`` are the addresses of what `relax_tile_marking` leaves, or none.
        """
        builder = self.builder
        for cell in self.cells:
            # It is written when the loop ends.
            prefetch(builder, tile[cell], is_written=True)
        empty = dict.fromkeys(self.cells, self._worst())
        if not marks:
            least = self._relax_run(empty, left, right, _INDEX(0), depth)
        else:
            least = self._relax_runs(empty, left, right, depth, marks)
        for cell in self.cells:
            known = self._load(tile[cell])
            better = self._less(least[cell], known)
            found = replaced(builder, better, least[cell], known)
            builder.store(found, tile[cell], align=self._align)
            if marks:
                self._store_mark(better, marks[2], cell)

    def _relax_runs(self, start: Any, left: Any, right: Any, depth: Any, marks: Any) -> Any:
        """Emit the loop over runs; return the accumulators."""
        builder = self.builder
        best, runs = (
            {cell: self._scratch_at(base, cell) for cell in self.cells} for base in marks[:2]
        )
        for cell in self.cells:
            builder.store(start[cell], best[cell], align=self._align)
        before = builder.block
        loop, after = (builder.append_basic_block(name) for name in ("run", "ran"))
        builder.branch(loop)
        builder.position_at_end(loop)
        first = builder.phi(_INDEX)
        accumulators = {cell: builder.phi(self.vector) for cell in self.cells}
        last = builder.add(first, _INDEX(RUN))
        end = builder.select(builder.icmp_signed("<", last, depth), last, depth)
        least = self._relax_run(accumulators, left, right, first, end)
        number = everywhere(builder, self._number(first), self.shape.lanes)
        for cell in self.cells:
            fell = self._less(least[cell], self._load(best[cell]))
            run = replaced(builder, fell, number, self._load(runs[cell]))
            builder.store(run, runs[cell], align=self._align)
            builder.store(least[cell], best[cell], align=self._align)
        first.add_incoming(_INDEX(0), before)
        first.add_incoming(last, builder.block)
        for cell in self.cells:
            accumulators[cell].add_incoming(start[cell], before)
            accumulators[cell].add_incoming(least[cell], builder.block)
        builder.cbranch(builder.icmp_signed("<", last, depth), loop, after)
        builder.position_at_end(after)
        return least

    def _relax_run(self, start: Any, left: Any, right: Any, first: Any, end: Any) -> Any:
        """Emit ``for k in range(first, end)``, at least once; return the accumulators."""
        builder, shape = self.builder, self.shape
        bases = [left]
        if self.folds:
            # Of equal addresses LLVM makes one load, and it folds none that serves two additions.
            bases = [self._opaque_address(left) for _ in range(shape.vectors)]
        before = builder.block
        loop = builder.append_basic_block("relax")
        after = builder.append_basic_block("relaxed")
        builder.branch(loop)

        builder.position_at_end(loop)
        k = builder.phi(_INDEX)
        accumulators = {cell: builder.phi(self.vector) for cell in self.cells}
        b_row = [
            self._load(self._vector_at(right, k, v * shape.lanes)) for v in range(shape.vectors)
        ]
        least = {}
        for r in range(shape.rows):
            offset = builder.add(builder.mul(k, _INDEX(shape.rows)), _INDEX(r))
            broadcast = [
                everywhere(builder, builder.load(builder.gep(base, [offset])), shape.lanes)
                for base in bases
            ]
            a = broadcast if self.folds else broadcast * shape.vectors
            for v in range(shape.vectors):
                candidate = self._add(a[v], b_row[v], r, v)
                current = accumulators[r, v]
                better = self._less(candidate, current)
                least[r, v] = builder.select(better, candidate, current)
        k_next = builder.add(k, _INDEX(1))
        k.add_incoming(first, before)
        k.add_incoming(k_next, loop)
        for cell in self.cells:
            accumulators[cell].add_incoming(start[cell], before)
            accumulators[cell].add_incoming(least[cell], loop)
        builder.cbranch(builder.icmp_signed("<", k_next, end), loop, after)
        builder.position_at_end(after)
        return least

    def _scratch_at(self, base: Any, cell: tuple[int, int]) -> Any:
        """Return the address of a cell's vector in a tile of its own, row by row."""
        r, v = cell
        place = _INDEX(r * self.shape.columns + v * self.shape.lanes)
        return vector_at(self.builder, base, place, self.vector)

    def _store_mark(self, better: Any, marks: Any, cell: tuple[int, int]) -> None:
        builder, lanes = self.builder, self.shape.lanes
        bits = builder.zext(builder.bitcast(better, ir.IntType(lanes)), _INDEX)
        place = builder.gep(marks, [_INDEX(cell[0] * self.shape.vectors + cell[1])])
        builder.store(bits, place)

    def _number(self, index: Any) -> Any:
        """Return an index as a number of the tile's dtype."""
        element = self.vector.element
        if self.is_float:
            return self.builder.sitofp(index, element)
        return self.builder.trunc(index, element) if element.width < _INDEX.width else index

    @property
    def _align(self) -> int:
        return element_bytes(self.vector)

    def _worst(self) -> Any:
        """Return the vector that every candidate beats."""
        bits = 8 * element_bytes(self.vector)
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
        bits = 8 * element_bytes(self.vector)
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
        return self.builder.load(address, align=self._align)


def _constant(value, *argument_types):
    def codegen(context, builder, signature, args):
        return _INDEX(value)

    return types.intp(*argument_types), codegen


def _uses_fma() -> bool:
    unit = vector_unit()
    return unit.fused_multiply_add and unit.asm_class is not None


def _folds(dtype: DTypeLike) -> bool:
    """Tell whether additions take ``a`` from memory: AVX-512 has that for 32 and 64 bits."""
    return vector_unit().name == "AVX-512" and np.dtype(dtype).itemsize >= 4
