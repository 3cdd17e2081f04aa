"""Next hops of a register tile whose distances fell.

To carry next hops along with every relaxation takes a comparison that is kept and one more
selection, twice the instructions. But most relaxations change nothing. So a tile keeps distances
alone, and for each *run* of `tiles.RUN` intermediates whether sums fell in it. Where a distance is
less in the end, the intermediate is looked for in the last run in which its sum fell: the first
whose sum is that distance. It is the one that a strict improvement in order of k would have taken,
so the hops are the same.

Of 2,048 vertices with random weights, six panels change 15.5 million cells, of 25 million. On one
core of an AMD EPYC (Zen 4, 2026-11-27) float32 takes 290 ms so, 170 without next hops, and took 390
with hops beside each relaxation. To look for one takes some 5 ns there, most of it for memory: the
column of the operand lies in the second-level cache at best. To fetch those lines, or those of
hops, before a strip is relaxed changed nothing that could be measured.

In half of a symmetric matrix that intermediate is on the way back, too: both next hops are taken.
That makes 4,096 vertices 1.5 to 1.6 times as fast as all of the matrix, by two cores.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from warpladder.device.bits import lowest
from warpladder.device.llvm import data_of, everywhere, vector_at
from warpladder.device.subroutines import subroutine
from warpladder.shortest_paths.cpu_tiles.packing import on_lines
from warpladder.shortest_paths.cpu_tiles.tiles import RUN, tile_columns, tile_lanes, tile_rows

__all__ = ["scratch_tile", "take_hops"]

_WORD = ir.IntType(64)


@intrinsic
def _first_of_run(typingctx, a, a_at, b, b_at, value):
    """Return the first of `RUN` places at which two arrays' elements have a value as their sum.

    There is one.
    """
    signature = types.intp(a, types.intp, b, types.intp, value)

    def codegen(context, builder, signature, args):
        _, a_at, _, b_at, value = args
        kind = ir.VectorType(value.type, RUN)
        left, right = (
            builder.load(
                vector_at(builder, data_of(context, builder, signature, args, which), at, kind),
                align=signature.args[4].bitwidth // 8,
            )
            for which, at in ((0, a_at), (2, b_at))
        )
        values = everywhere(builder, value, RUN)
        if isinstance(signature.args[4], types.Float):
            are_hits = builder.fcmp_ordered("==", builder.fadd(left, right), values)
        else:
            are_hits = builder.icmp_signed("==", builder.add(left, right), values)
        bits = builder.zext(builder.bitcast(are_hits, ir.IntType(RUN)), _WORD)
        return builder.cttz(bits, ir.Constant(ir.IntType(1), 1))

    return signature, codegen


@subroutine
def scratch_tile(matrix, carry):
    """Return a tile for edges of the matrix, and what `tiles.relax_tile_marking` leaves of one."""
    dist, _ = matrix
    rows, columns = tile_rows(dist), tile_columns(dist)
    size = rows * columns if carry is not None else 0
    edge = np.zeros((rows, columns), dist.dtype)
    marks = np.empty(size // tile_lanes(dist), np.uint64)
    return edge, on_lines(size, dist.dtype), on_lines(size, dist.dtype), marks


@subroutine(counted=False)
def take_hops(
    hops, half, below, i0, i1, j0, j1, left, left_row, right, right_at, panel, scratch
):  # fmt: skip
    """Set the next hops of cells in rows ``[i0, i1)`` and columns ``[j0, j1)`` of a relaxed tile.

    With ``half`` those of the cells mirrored as well; with ``below`` none of cells that are on the
    diagonal or above.
    """
    edge, best, runs, marks = scratch
    lanes, columns = tile_lanes(edge), edge.shape[1]
    pitch = np.uint64(panel)
    for i in range(i0, i1):
        width = min(j1, i) - j0 if below else j1 - j0
        row = i - i0
        hop_row = hops[i]
        a = np.uint64((left_row + row) * panel)
        for v in range(0, columns, lanes):
            inside = width - v
            if inside <= 0:
                break
            cells = np.uint64(row * columns + v)
            fell = marks[cells // np.uint64(lanes)]
            if inside < lanes:
                fell &= (np.uint64(1) << np.uint64(inside)) - np.uint64(1)
            # Indices without a sign are not asked whether they count from the end, nor is there any
            # branch but for the number of cells: 2.3 ns a cell from the caches, else 2.8.
            while fell:
                lane = np.uint64(lowest(fell))
                fell &= fell - np.uint64(1)
                run = np.uint64(np.intp(runs[cells + lane]))
                b = np.uint64(right_at) + (np.uint64(v) + lane) * pitch
                found = _first_of_run(left[1], a + run, right[1], b + run, best[cells + lane])
                k = run + np.uint64(found)
                j = np.uint64(j0 + v) + lane
                hop_row[j] = left[2][a + k]
                if half:
                    hops[j, i] = right[2][b + k]
