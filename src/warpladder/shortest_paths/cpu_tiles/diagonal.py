"""Floyd-Warshall by the book on a block of a matrix that stays in the first-level cache.

Its rows are relaxed in vectors written here. LLVM would make one test for the whole block whether
rows overlap, as that of the vertex does with itself, and so not run the vectors it has made; and a
function called for each row takes as long as a short row. What is left of a row behind its last
whole vector is taken by halves, quarters and so on. A vector that ends with the row, or one with a
mask, reaches into what has just been stored, or what is loaded next, and waits for that: 33
vertices took 1.5 to 1.9 times as long. Against loops that LLVM made vectors of, 31 to 100 vertices
take 0.7 to 0.9 times as long, with next hops likewise.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from warpladder.device.llvm import data_of, everywhere, replaced, vector_at
from warpladder.device.stretches import row_stretch
from warpladder.device.subroutines import subroutine
from warpladder.shortest_paths.cpu_tiles.tiles import tile_lanes, tile_shape

__all__ = ["close_block"]

# Elements of two bytes lie no further apart; to say more gains nothing.
_ALIGN = 2


@subroutine(counted=False)
def close_block(matrix, carry, k0, k1):
    """Close the square block ``[k0, k1)`` of a matrix whose diagonal is zero."""
    dist, hops = matrix
    for k in range(k0, k1):
        via = row_stretch(dist, k, k0, k1)
        for i in range(k0, k1):
            row = row_stretch(dist, i, k0, k1)
            if carry is None:
                _relax_row(row, None, dist[i, k], None, via)
            else:
                _relax_row(row, row_stretch(hops, i, k0, k1), dist[i, k], hops[i, k], via)


@subroutine(counted=False, forceinline=True)
def _relax_row(row, hop_row, through, hop, via):
    lanes, size = tile_lanes(row), row.size
    at = 0
    while at + lanes <= size:
        _relax_vector(row, hop_row, at, through, hop, via)
        at += lanes
    if at < size:
        _relax_rest(row, hop_row, at, through, hop, via)


@intrinsic
def _relax_vector(typingctx, row, hop_row, at, through, hop, via):
    """Relax the vector of a row at an index, and its next hops.

    Where those are not wanted their row is None, and so is the hop.
    """

    def codegen(context, builder, signature, args):
        _Row(context, builder, signature, args).relax(args[2], lanes)
        return context.get_dummy_value()

    lanes = tile_shape(str(row.dtype)).lanes
    return types.void(row, hop_row, types.intp, row.dtype, hop, via), codegen


@intrinsic
def _relax_rest(typingctx, row, hop_row, at, through, hop, via):
    """Relax what is left of a row from an index on, less than a vector, by halves and so on."""

    def codegen(context, builder, signature, args):
        line, at = _Row(context, builder, signature, args), args[2]
        (size,) = cgutils.unpack_tuple(builder, line.shape)
        left = builder.sub(size, at)
        some = lanes // 2
        while some:
            has_some = builder.icmp_signed("!=", builder.and_(left, at.type(some)), at.type(0))
            with builder.if_then(has_some):
                before = builder.and_(left, at.type(-2 * some))
                line.relax(builder.add(at, before), some)
            some //= 2
        return context.get_dummy_value()

    lanes = tile_shape(str(row.dtype)).lanes
    return types.void(row, hop_row, types.intp, row.dtype, hop, via), codegen


class _Row:
    """Writes the relaxation of a part of a row into a function under construction."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self._builder = builder
        self.shape = context.make_array(signature.args[0])(context, builder, args[0]).shape
        has_hops = isinstance(signature.args[1], types.Array)
        row, via = (data_of(context, builder, signature, args, which) for which in (0, 5))
        self._row, self._via, self._hops = row, via, None
        if has_hops:
            self._hops = data_of(context, builder, signature, args, 1)
        self._through, self._hop = args[3], args[4]
        self._is_float = isinstance(signature.args[0].dtype, types.Float)

    def relax(self, at: Any, lanes: int) -> None:
        """Relax as many numbers from an index on."""
        builder = self._builder
        step, _ = self._load(self._via, at, lanes, self._through.type)
        known, place = self._load(self._row, at, lanes, self._through.type)
        add = builder.fadd if self._is_float else builder.add
        less = builder.fcmp_ordered if self._is_float else builder.icmp_signed
        candidate = add(everywhere(builder, self._through, lanes), step)
        better = less("<", candidate, known)
        self._store(replaced(builder, better, candidate, known), place)
        if self._hops is not None:
            hops, place = self._load(self._hops, at, lanes, self._hop.type)
            self._store(
                replaced(builder, better, everywhere(builder, self._hop, lanes), hops), place
            )

    def _load(self, data: Any, at: Any, lanes: int, element: ir.Type) -> tuple[Any, Any]:
        place = vector_at(self._builder, data, at, ir.VectorType(element, lanes))
        return self._builder.load(place, align=_ALIGN), place

    def _store(self, value: Any, place: Any) -> None:
        self._builder.store(value, place, align=_ALIGN)
