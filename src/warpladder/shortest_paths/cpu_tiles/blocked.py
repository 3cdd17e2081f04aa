"""Floyd-Warshall in three phases over tiles: the compiled half of the CPU engine.

The textbook loop visits the whole matrix once per intermediate vertex and so moves ``2 n^3``
numbers through memory. Taking a *panel* of ``h`` intermediates at a time moves ``2 n^3 / h``:

1. **diagonal**: close the panel's own h x h block (shortest paths inside the panel);
2. **row panel**: relax the panel's rows through the closed block;
3. **rest**: for every other row, relax first its part of the column panel, then the row itself,
   through the panel: one min-plus product ``C = min(C, A (x) B)``, where nearly all the work is.

Each product runs on register tiles (`tiles`). Their operands are packed so that a tile reads them
front to back: ``left`` in strips of a few rows, ``right`` in strips of a few vectors. Because a
closed block has a zero diagonal, the product of old values with it is already the new value: no
order inside a panel has to be kept.

With next hops, ``hops[i, j]`` is the vertex after ``i`` on the path; a strict improvement through
``k`` copies ``hops[i, k]`` (`tile_hops`). Where they are not wanted, ``carry`` is None and what
belongs to them is empty: Numba prunes what hangs on ``carry`` and so compiles a version of its own.

A *symmetric* matrix, that of an undirected graph, stays symmetric through every step: the sums for
(i, j) and for (j, i) have the same two operands, ``a + b`` and ``b + a`` have the same bits, and
both cells meet their sums in the same order of k. That holds by the book, where step k leaves row
and column k alone, as the diagonal is zero, and in every product. So ``half`` of the work will do,
without a bit being different. Only cells on and below the diagonal are kept up to date; what is
above it is scratch, where the panel's columns are laid down as rows before they are relaxed. The
column panel is then the row panel transposed, and the last step is to copy all that is below the
diagonal to the other side. Next hops there and back differ; both lie where they belong throughout.

What belongs together travels together: ``matrix`` is (dist, hops), ``left`` and ``right`` are
packed operands (`packing`), ``at`` is where in ``right`` a strip lies, ``scratch`` what a tile
needs beside its operands, and ``pad`` the "no path" that fills clipped tiles.

References to arrays are not counted in here: on one core that makes n = 512 1.05 times as fast.
"""

from __future__ import annotations

from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.stretches import copy_block
from warpladder.device.subroutines import subroutine
from warpladder.device.team import (
    barrier,
    enter,
    finish_task,
    is_aborted,
    next_task,
    report_progress,
)
from warpladder.shortest_paths.cpu_tiles.diagonal import close_block
from warpladder.shortest_paths.cpu_tiles.packing import operand, pack_left, pack_right, round_up
from warpladder.shortest_paths.cpu_tiles.tile_hops import scratch_tile, take_hops
from warpladder.shortest_paths.cpu_tiles.tiles import (
    relax_tile,
    relax_tile_marking,
    tile_columns,
    tile_rows,
)
from warpladder.shortest_paths.cpu_tiles.transposed import mirror_rows, transpose

__all__ = ["close_range", "close_team"]


@subroutine
def close_range(matrix, carry, low, high, panel, pad, half):
    """Close the square block ``[low, high)`` of a matrix in place, on this thread alone.

    With ``half`` only distances on and below its diagonal are read, but all are written.
    """
    dist, _ = matrix
    rows, columns = tile_rows(dist), tile_columns(dist)
    span = high - low
    left = operand(matrix, carry, round_up(max(span, panel), rows) * panel)
    right = operand(matrix, carry, (span + 2 * columns) * panel)
    right_diagonal = operand(matrix, carry, round_up(panel, columns) * panel)
    strip = operand(matrix, carry, columns * panel)
    scratch = scratch_tile(matrix, carry)
    for k0 in range(low, high, panel):
        k1 = min(k0 + panel, high)
        if half:
            mirror_rows(dist, k0, k1, k0)
        close_block(matrix, carry, k0, k1)
        if k1 - k0 == span:
            return
        pack_left(matrix, carry, k0, k1, k0, k1, panel, pad, left)
        _pack_diagonal(matrix, carry, k0, k1, panel, pad, right_diagonal)
        for index in range(_strips(low, k0, k1, high, columns)):
            j0, j1 = _strip(index, low, k0, k1, high, columns)
            at = index * columns * panel
            _relax_row_panel(
                matrix, carry, half, k0, k1, j0, j1, panel, pad, left, strip, right, at, scratch
            )
        for i0, i1 in ((low, k0), (k1, high)):
            if i0 < i1:
                _relax_rows(
                    matrix, carry, half, i0, i1, k0, k1, low, high, panel, pad,
                    left, right_diagonal, right, scratch,
                )  # fmt: skip
    if half:
        mirror_rows(dist, low, high, low)


@cached
@njit(nogil=True)
def close_team(
    matrix, carry, panel, inner_panel, chunk, pad, half,
    worker, state, diagonal, right_diagonal, right,
):  # fmt: skip
    """Close a whole matrix in place, as one worker of a team; by ``half`` of it if symmetric.

    Rows are dealt out in tasks of ``chunk`` rows. The packed panels ``diagonal``, which is a left
    operand, ``right_diagonal`` and ``right`` are shared by the team.

    In phase 0 of the team the first block is closed. Two phases for each panel follow, its rows and
    the rest, and one in which half of the matrix is copied to the other.
    """
    dist, _ = matrix
    n = dist.shape[0]
    rows, columns = tile_rows(dist), tile_columns(dist)
    left = operand(matrix, carry, round_up(max(chunk, panel), rows) * panel)
    strip = operand(matrix, carry, columns * panel)
    scratch = scratch_tile(matrix, carry)
    phase = enter(state, worker)
    if worker == 0:
        k1 = min(panel, n)
        close_range(matrix, carry, 0, k1, inner_panel, pad, half)
        pack_left(matrix, carry, 0, k1, 0, k1, panel, pad, diagonal)
    if phase < 0 or (phase == 0 and not barrier(state)):
        return
    phase = max(phase, 1)
    for k0 in range((phase - 1) // 2 * panel, n, panel):
        k1 = min(k0 + panel, n)
        k2 = min(k1 + panel, n)
        if phase == 1 + 2 * (k0 // panel):
            if worker == 0:
                _pack_diagonal(matrix, carry, k0, k1, panel, pad, right_diagonal)
            index = next_task(state)
            while index < _strips(0, k0, k1, n, columns) and not is_aborted(state):
                j0, j1 = _strip(index, 0, k0, k1, n, columns)
                at = index * columns * panel
                _relax_row_panel(
                    matrix, carry, half, k0, k1, j0, j1, panel, pad,
                    diagonal, strip, right, at, scratch,
                )  # fmt: skip
                index = next_task(state)
            if not barrier(state):
                return
            phase += 1

        # Closing a block is the one step that only one worker can do. The next panel's rows come
        # first, and whoever finishes the last of them closes its block while the others go on; else
        # all would wait for it, 1.4 ms for each of the 6 panels of the 100 ms that n = 2048 takes.
        ahead = (k2 - k1 + chunk - 1) // chunk
        above = (k0 + chunk - 1) // chunk
        tasks = ahead + above + (n - k2 + chunk - 1) // chunk
        task = next_task(state)
        while task < tasks and not is_aborted(state):
            # After those the last rows first: of half a matrix they are the longest.
            place = tasks - 1 - task
            if task < ahead:
                i0 = k1 + task * chunk
                i1 = min(i0 + chunk, k2)
            elif place < above:
                i0 = place * chunk
                i1 = min(i0 + chunk, k0)
            else:
                i0 = k2 + (place - above) * chunk
                i1 = min(i0 + chunk, n)
            _relax_rows(
                matrix, carry, half, i0, i1, k0, k1, 0, n, panel, pad,
                left, right_diagonal, right, scratch,
            )  # fmt: skip
            if task < ahead and finish_task(state) == ahead - 1:
                close_range(matrix, carry, k1, k2, inner_panel, pad, half)
                pack_left(matrix, carry, k1, k2, k1, k2, panel, pad, diagonal)
            task = next_task(state)
        if not barrier(state):
            return
        phase += 1
        if worker == 0:
            report_progress(state, k1)
    if half:
        task = next_task(state)
        while task * chunk < n and not is_aborted(state):
            mirror_rows(dist, task * chunk, min((task + 1) * chunk, n), 0)
            task = next_task(state)


@subroutine(counted=False)
def _pack_diagonal(matrix, carry, k0, k1, panel, pad, right_diagonal):
    """Pack a closed block, for the column panel to be relaxed through it."""
    columns = tile_columns(matrix[0])
    for j0 in range(k0, k1, columns):
        at = (j0 - k0) * panel
        j1 = min(j0 + columns, k1)
        pack_right(matrix, carry, False, k0, k1, j0, j1, panel, pad, right_diagonal, at)


@subroutine(counted=False)
def _relax_row_panel(
    matrix, carry, half, k0, k1, j0, j1, panel, pad, diagonal, strip, right, at, scratch
):  # fmt: skip
    """Relax the panel's rows in columns ``[j0, j1)`` and pack them for the third phase."""
    dist, _ = matrix
    if half and j0 >= k1:
        transpose(dist, j0, j1, k0, k1)
    pack_right(matrix, carry, half, k0, k1, j0, j1, panel, pad, strip, 0)
    _relax_strip(
        matrix, carry, half, False, k0, k0, k1, j0, j1, diagonal, strip, 0, k1 - k0, panel, scratch
    )
    pack_right(matrix, carry, half, k0, k1, j0, j1, panel, pad, right, at)


@subroutine(counted=False)
def _relax_rows(
    matrix, carry, half, i0, i1, k0, k1, low, high, panel, pad, left, right_diagonal, right, scratch
):  # fmt: skip
    """Relax rows ``[i0, i1)``, none of them in the panel: first the column panel, then the rest."""
    dist, _ = matrix
    rows, columns = tile_rows(dist), tile_columns(dist)
    depth = k1 - k0
    if half:
        transpose(dist, k0, k1, i0, i1)
    else:
        pack_left(matrix, carry, i0, i1, k0, k1, panel, pad, left)
        for j0 in range(k0, k1, columns):
            at = (j0 - k0) * panel
            j1 = min(j0 + columns, k1)
            _relax_strip(
                matrix, carry, False, False, i0, i0, i1, j0, j1,
                left, right_diagonal, at, depth, panel, scratch,
            )  # fmt: skip
    pack_left(matrix, carry, i0, i1, k0, k1, panel, pad, left)
    for index in range(_strips(low, k0, k1, high, columns)):
        j0, j1 = _strip(index, low, k0, k1, high, columns)
        first = i0
        if half and j0 >= i1:
            break
        if half and j0 > i0:
            first += (j0 - i0) // rows * rows
        at = index * columns * panel
        _relax_strip(
            matrix, carry, half, half, first, i0, i1, j0, j1,
            left, right, at, depth, panel, scratch,
        )  # fmt: skip


@subroutine
def _strips(low, k0, k1, high, columns):
    """Return how many strips the columns of ``[low, high)`` outside the panel make."""
    return (k0 - low + columns - 1) // columns + (high - k1 + columns - 1) // columns


@subroutine
def _strip(index, low, k0, k1, high, columns):
    """Return the columns of a strip: first those left of the panel, then those right of it.

    No strip reaches into the panel. Relaxing closed entries again would change no exact sum, but
    might round one anew, and the result would depend on the width of the vectors.
    """
    before = (k0 - low + columns - 1) // columns
    if index < before:
        j0 = low + index * columns
        return j0, min(j0 + columns, k0)
    j0 = k1 + (index - before) * columns
    return j0, min(j0 + columns, high)


@subroutine(counted=False)
def _relax_strip(
    matrix, carry, half, below, first, i0, i1, j0, j1, left, right, at, depth, panel, scratch
):  # fmt: skip
    """Relax rows ``[first, i1)`` of one strip of columns; all tiles share the strip of ``right``.

    The rows packed in ``left`` begin with ``i0``, the strip at place ``at`` of ``right``. With
    ``below`` only what is below the diagonal counts.
    """
    dist, hops = matrix
    rows = tile_rows(dist)
    for i in range(first, i1, rows):
        i_end = min(i + rows, i1)
        _relax(
            dist, carry, i, i_end, j0, j1, left[0], (i - i0) * depth, right[0], at, depth, scratch
        )
        if carry is not None:
            take_hops(hops, half, below, i, i_end, j0, j1, left, i - i0, right, at, panel, scratch)


@subroutine(counted=False)
def _relax(dist, carry, i0, i1, j0, j1, left, left_at, right, at, depth, scratch):
    """Relax one tile; one that hangs over the edge is relaxed in a scratch tile of full size."""
    if i1 - i0 == tile_rows(dist) and j1 - j0 == tile_columns(dist):
        _relax_whole(dist, carry, i0, j0, left, left_at, right, at, depth, scratch)
        return
    edge = scratch[0]
    copy_block(dist, i0, j0, edge, 0, 0, i1 - i0, j1 - j0)
    _relax_whole(edge, carry, 0, 0, left, left_at, right, at, depth, scratch)
    copy_block(edge, 0, 0, dist, i0, j0, i1 - i0, j1 - j0)


@subroutine(counted=False)
def _relax_whole(dist, carry, i, j, left, left_at, right, at, depth, scratch):
    if carry is None:
        relax_tile(dist, i, j, left, left_at, right, at, depth)
    else:
        _, best, runs, marks = scratch
        relax_tile_marking(dist, i, j, left, left_at, right, at, depth, best, runs, marks)
