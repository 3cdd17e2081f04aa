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
``k`` copies ``hops[i, k]``. Where they are not wanted, ``carry`` is None and the matrices of hops
are empty: Numba prunes what hangs on ``carry`` and so compiles a version of its own.

A *symmetric* matrix, that of an undirected graph, stays symmetric through every step: the sums for
(i, j) and for (j, i) have the same two operands, ``a + b`` and ``b + a`` have the same bits, and
both cells meet their sums in the same order of k. That holds by the book, where step k leaves row
and column k alone, as the diagonal is zero, and in every product. So ``half`` of the work will do,
without a bit being different. Only cells on and below the diagonal are kept up to date; what is
above it is scratch, where the panel's columns are laid down as rows before they are relaxed. The
column panel is then the row panel transposed, and the last step is to copy all that is below the
diagonal to the other side.

What belongs together travels together: ``matrix`` is (dist, hops), ``left`` a packed operand and
its hops, ``edge`` a scratch tile and its hops, ``tile`` the rows and columns of a register tile,
and ``pad`` the "no path" that fills clipped tiles.

References to arrays are not counted in here: on one core that makes n = 512 1.05 times as fast.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import constants_as_numbers, subroutine
from warpladder.device.team import barrier, finish_task, is_aborted, next_task, report_progress
from warpladder.shortest_paths.tiles import (
    relax_tile,
    relax_tile_with_hops,
    tile_columns,
    tile_rows,
)
from warpladder.shortest_paths.transposed import mirror_rows, transpose

__all__ = ["close_range", "close_team"]


@constants_as_numbers
@cached
@njit(nogil=True)
def close_range(matrix, carry, low, high, panel, pad, half):
    """Close the square block ``[low, high)`` of a matrix in place, on this thread alone.

    With ``half`` only what is on and below its diagonal is read, but all of it is written.
    """
    dist, _ = matrix
    rows, columns = tile_rows(dist, carry), tile_columns(dist, carry)
    span = high - low
    left = _left_buffers(matrix, carry, span, panel, rows)
    right = np.empty((span + 2 * columns) * panel, dist.dtype)
    right_diagonal = np.empty(_round_up(panel, columns) * panel, dist.dtype)
    strip = np.empty(columns * panel, dist.dtype)
    edge = _edge_tile(matrix, rows, columns)
    for k0 in range(low, high, panel):
        k1 = min(k0 + panel, high)
        if half:
            mirror_rows(dist, k0, k1, k0)
        _close_diagonal(matrix, carry, k0, k1)
        if k1 - k0 == span:
            return
        _pack_left(matrix, carry, k0, k1, k0, k1, rows, pad, left)
        _pack_right(dist, k0, k1, k0, k1, columns, pad, right_diagonal)
        for index in range(_strips(low, k0, k1, high, columns)):
            j0, j1 = _strip(index, low, k0, k1, high, columns)
            packed = right[index * columns * panel :]
            _relax_row_panel(matrix, carry, k0, k1, j0, j1, pad, half, left, strip, packed, edge)
        for i0, i1 in ((low, k0), (k1, high)):
            if i0 < i1:
                _relax_rows(
                    matrix, carry, i0, i1, k0, k1, low, high, panel, pad, half,
                    left, right_diagonal, right, edge,
                )  # fmt: skip
    if half:
        mirror_rows(dist, low, high, low)


@cached
@njit(nogil=True)
def close_team(
    matrix, carry, panel, inner_panel, chunk, pad, half,
    workers, worker, state, diagonal, right_diagonal, right,
):  # fmt: skip
    """Close a whole matrix in place, as one worker of a team; by ``half`` of it if symmetric.

    Rows are dealt out in tasks of ``chunk`` rows. The packed panels ``diagonal`` (with its hops),
    ``right_diagonal`` and ``right`` are shared by the team.
    """
    dist, _ = matrix
    n = dist.shape[0]
    rows, columns = tile_rows(dist, carry), tile_columns(dist, carry)
    left = _left_buffers(matrix, carry, chunk, panel, rows)
    strip = np.empty(columns * panel, dist.dtype)
    edge = _edge_tile(matrix, rows, columns)
    if worker == 0:
        k1 = min(panel, n)
        close_range(matrix, carry, 0, k1, inner_panel, pad, half)
        _pack_left(matrix, carry, 0, k1, 0, k1, rows, pad, diagonal)
    if not barrier(state, workers):
        return
    for k0 in range(0, n, panel):
        k1 = min(k0 + panel, n)
        k2 = min(k1 + panel, n)
        if worker == 0:
            _pack_right(dist, k0, k1, k0, k1, columns, pad, right_diagonal)
        index = next_task(state)
        while index < _strips(0, k0, k1, n, columns) and not is_aborted(state):
            j0, j1 = _strip(index, 0, k0, k1, n, columns)
            packed = right[index * columns * panel :]
            _relax_row_panel(
                matrix, carry, k0, k1, j0, j1, pad, half, diagonal, strip, packed, edge
            )
            index = next_task(state)
        if not barrier(state, workers):
            return

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
                matrix, carry, i0, i1, k0, k1, 0, n, panel, pad, half,
                left, right_diagonal, right, edge,
            )  # fmt: skip
            if task < ahead and finish_task(state) == ahead - 1:
                close_range(matrix, carry, k1, k2, inner_panel, pad, half)
                _pack_left(matrix, carry, k1, k2, k1, k2, rows, pad, diagonal)
            task = next_task(state)
        if not barrier(state, workers):
            return
        if worker == 0:
            report_progress(state, k1)
    if half:
        task = next_task(state)
        while task * chunk < n and not is_aborted(state):
            mirror_rows(dist, task * chunk, min((task + 1) * chunk, n), 0)
            task = next_task(state)


@subroutine(counted=False)
def _close_diagonal(matrix, carry, k0, k1):
    """Floyd-Warshall by the book on a block that stays in the first-level cache."""
    dist, hops = matrix
    for k in range(k0, k1):
        via = dist[k, k0:k1]
        for i in range(k0, k1):
            through = dist[i, k]
            row = dist[i, k0:k1]
            # Stores on both outcomes, so that the compiler can use vectors.
            for j in range(k1 - k0):
                candidate = dist.dtype.type(through + via[j])
                better = candidate < row[j]
                row[j] = candidate if better else row[j]
                if carry is not None:
                    hops[i, k0 + j] = hops[i, k] if better else hops[i, k0 + j]


@subroutine(counted=False)
def _relax_row_panel(matrix, carry, k0, k1, j0, j1, pad, half, diagonal, strip, packed, edge):
    """Relax the panel's rows in columns ``[j0, j1)`` and pack them for the third phase."""
    dist, _ = matrix
    columns = tile_columns(dist, carry)
    if half and j0 >= k1:
        transpose(dist, j0, j1, k0, k1)
    _pack_right(dist, k0, k1, j0, j1, columns, pad, strip)
    _relax_strip(matrix, carry, k0, k0, k1, j0, j1, diagonal, strip, k1 - k0, edge)
    _pack_right(dist, k0, k1, j0, j1, columns, pad, packed)


@subroutine(counted=False)
def _relax_rows(
    matrix, carry, i0, i1, k0, k1, low, high, panel, pad, half, left, right_diagonal, right, edge
):  # fmt: skip
    """Relax rows ``[i0, i1)``, none of them in the panel: first the column panel, then the rest."""
    dist, _ = matrix
    rows, columns = tile_rows(dist, carry), tile_columns(dist, carry)
    depth = k1 - k0
    if half:
        transpose(dist, k0, k1, i0, i1)
    else:
        _pack_left(matrix, carry, i0, i1, k0, k1, rows, pad, left)
        for j0 in range(k0, k1, columns):
            packed = right_diagonal[(j0 - k0) * depth :]
            j1 = min(j0 + columns, k1)
            _relax_strip(matrix, carry, i0, i0, i1, j0, j1, left, packed, depth, edge)
    _pack_left(matrix, carry, i0, i1, k0, k1, rows, pad, left)
    for index in range(_strips(low, k0, k1, high, columns)):
        j0, j1 = _strip(index, low, k0, k1, high, columns)
        first = i0
        if half and j0 >= i1:
            break
        if half and j0 > i0:
            first += (j0 - i0) // rows * rows
        packed = right[index * columns * panel :]
        _relax_strip(matrix, carry, first, i0, i1, j0, j1, left, packed, depth, edge)


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
def _relax_strip(matrix, carry, first, i0, i1, j0, j1, left, right, depth, edge):
    """Relax rows ``[first, i1)`` of one strip of columns; all tiles share the strip of ``right``.

    The rows packed in ``left`` begin with ``i0``.
    """
    rows = tile_rows(matrix[0], carry)
    for i in range(first, i1, rows):
        i_end = min(i + rows, i1)
        _relax(matrix, carry, i, i_end, j0, j1, left, (i - i0) * depth, right, depth, edge)


@subroutine(counted=False)
def _relax(matrix, carry, i0, i1, j0, j1, left, left_at, right, depth, edge):
    """Relax one tile; one that hangs over the edge is relaxed in a scratch tile of full size."""
    dist, _ = matrix
    if i1 - i0 == tile_rows(dist, carry) and j1 - j0 == tile_columns(dist, carry):
        _relax_whole(matrix, carry, i0, j0, left, left_at, right, depth)
        return
    _copy_block(matrix, carry, i0, j0, edge, 0, 0, i1 - i0, j1 - j0)
    _relax_whole(edge, carry, 0, 0, left, left_at, right, depth)
    _copy_block(edge, carry, 0, 0, matrix, i0, j0, i1 - i0, j1 - j0)


@subroutine(counted=False)
def _relax_whole(matrix, carry, i, j, left, left_at, right, depth):
    dist, hops = matrix
    if carry is None:
        relax_tile(dist, i, j, left[0], left_at, right, depth)
    else:
        relax_tile_with_hops(dist, hops, i, j, left[0], left[1], left_at, right, depth)


@subroutine(counted=False)
def _copy_block(source, carry, i0, j0, target, i1, j1, height, width):
    for i in range(height):
        # Rows, not cells by two indices: those may be negative, which is asked of each. On one core
        # n = 200 is 1.13 times as fast so, n = 512 1.04 times.
        row = source[0][i0 + i, j0 : j0 + width]
        into = target[0][i1 + i, j1 : j1 + width]
        for j in range(width):
            into[j] = row[j]
        if carry is not None:
            hop_row = source[1][i0 + i, j0 : j0 + width]
            into_hops = target[1][i1 + i, j1 : j1 + width]
            for j in range(width):
                into_hops[j] = hop_row[j]


@subroutine(counted=False)
def _pack_left(matrix, carry, i0, i1, k0, k1, rows, pad, left):
    """Pack rows ``[i0, i1)`` in columns ``[k0, k1)`` as strips of rows, k by k."""
    dist, hops = matrix
    depth = k1 - k0
    for strip in range(i0, i1, rows):
        begin = (strip - i0) * depth
        end = begin + rows * depth
        # As a matrix: 0.37 ns a number, by an index of its own 0.89.
        packed = left[0][begin:end].reshape((depth, rows))
        for i in range(rows):
            if strip + i < i1:
                row = dist[strip + i, k0:k1]
                for k in range(depth):
                    packed[k, i] = row[k]
                if carry is not None:
                    packed_hops = left[1][begin:end].reshape((depth, rows))
                    hop_row = hops[strip + i, k0:k1]
                    for k in range(depth):
                        packed_hops[k, i] = hop_row[k]
            else:
                for k in range(depth):
                    packed[k, i] = pad


@subroutine(counted=False)
def _pack_right(dist, k0, k1, j0, j1, columns, pad, right):
    """Pack columns ``[j0, j1)`` in rows ``[k0, k1)`` as strips of columns, k by k."""
    at = 0
    for strip in range(j0, j1, columns):
        inside = min(columns, j1 - strip)
        for k in range(k0, k1):
            source = dist[k, strip : strip + inside]
            target = right[at : at + columns]
            for j in range(inside):
                target[j] = source[j]
            for j in range(inside, columns):
                target[j] = pad
            at += columns


@subroutine
def _left_buffers(matrix, carry, span, panel, rows):
    dist, hops = matrix
    size = _round_up(max(span, panel), rows) * panel
    return np.empty(size, dist.dtype), np.empty(size if carry is not None else 0, hops.dtype)


@subroutine
def _edge_tile(matrix, rows, columns):
    dist, hops = matrix
    return np.zeros((rows, columns), dist.dtype), np.zeros((rows, columns), hops.dtype)


@subroutine
def _round_up(value, step):
    return (value + step - 1) // step * step
