"""Breadth-first searches over rows of bits, compiled: for graphs that have many of all arcs.

A row has a bit for each vertex to which there is an arc, so the vertices found on a level are the
OR of the rows of those found on the last. In a graph with half of all arcs a dozen rows bring
together all vertices there are, and then nobody asks for the others: a search takes a dozen steps
for every 512 vertices, and its arcs are never listed.

Work: at most n such steps for every 512 vertices, for each of n searches; ``8 n^2 / m`` or so where
the m arcs lie at random. Traffic: ``n^2`` numbers, each written once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.bits import lowest
from warpladder.device.kernel_cache import cached
from warpladder.device.stretches import copy_stretch, row_stretch, stretch
from warpladder.device.subroutines import subroutine
from warpladder.device.team import finish_task, is_aborted, next_task, report_progress
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.sparse.arcs import MANY, has_many, marked, present_rows
from warpladder.shortest_paths.sparse.masks import BITS, WORDS, add_mask, settle, write_where

__all__ = ["BitRows", "bit_rows", "search_bit_rows"]


class BitRows(NamedTuple):
    """Arcs as bits.

    Attributes
    ----------
    rows
        Vertex v has the masks ``v * k`` to ``v * k + k - 1``, one for every 512 vertices, shape
        (n * k, 8), uint64.
    arcs
        How many arcs they are.
    """

    rows: NDArray[np.uint64]
    arcs: int


def bit_rows(given: Edges | Matrix) -> BitRows | None:
    """Return the arcs of a graph as bits, None where it has too few for that.

    Examples
    --------
    >>> found = bit_rows(Edges(3, np.array([0, 0, 1]), np.array([1, 2, 1]), None, directed=True))
    >>> found.rows.shape, found.rows[:, 0].tolist(), found.arcs
    ((3, 8), [6, 0, 0], 2)
    """
    n = given.n
    parts: Iterable[tuple[int, NDArray[np.bool_]]]
    if isinstance(given, Edges):
        if not has_many(given):
            return None
        parts = [(0, marked(given))]
    else:
        parts = present_rows(given)
    rows = np.zeros((n, -(-n // BITS) * BITS // 8), np.uint8)
    arcs = 0
    for first, present in parts:
        rows[first : first + len(present), : -(-n // 8)] = np.packbits(
            present, axis=1, bitorder="little"
        )
        arcs += int(np.count_nonzero(present))
    if MANY * arcs < n * n:
        return None
    return BitRows(rows.view("<u8").astype(np.uint64, copy=False).reshape(-1, WORDS), arcs)


@cached
@njit(nogil=True)
def search_bit_rows(
    rows: Any, dist: Any, step: Any, no_path: Any, batch: Any, deepest: Any, worker: Any, state: Any
) -> None:
    """Search from all vertices, as one worker of a team.

    Parameters
    ----------
    rows
        As `bit_rows` gives them.
    dist
        Receives the distances, shape (n, n), C-contiguous.
    step, no_path
        Length of an arc, and what stands where there is no path, of the dtype of ``dist``.
    batch
        How many searches are one task.
    deepest
        Receives at ``worker`` the last level on which a vertex was found, int64.
    """
    n = dist.shape[0]
    masks = (n + BITS - 1) // BITS
    # What any arc leads to: all that a search can find, beside its source.
    targets = np.zeros((masks, WORDS), np.uint64)
    for row in range(rows.shape[0]):
        add_mask(rows, row, targets, row % masks)
    front, found, reached = np.empty_like(targets), np.empty_like(targets), np.empty_like(targets)
    distances = np.empty(masks * BITS, dist.dtype)
    number = next_task(state)
    while number * batch < n and not is_aborted(state):
        for s in range(number * batch, min((number + 1) * batch, n)):
            level = _search(rows, s, targets, front, found, reached, distances, step, no_path)
            deepest[worker] = max(deepest[worker], level)
            copy_stretch(stretch(distances, 0, n), row_stretch(dist, s, 0, n))
        report_progress(state, finish_task(state) + 1)
        number = next_task(state)


@subroutine
def _search(rows, s, targets, front, found, reached, distances, step, no_path):
    """Fill the distances from a vertex; return the last level on which one was found."""
    masks = targets.shape[0]
    distances[:] = no_path
    distances[s] = 0
    front[:] = 0
    reached[:] = 0
    front[s // BITS, s % BITS >> 6] = reached[s // BITS, s % BITS >> 6] = np.uint64(1) << np.uint64(
        s & 63
    )
    level = 0
    while True:
        found[:] = 0
        _gather(rows, front, targets, reached, found)
        is_over = True
        for mask in range(masks):
            if settle(found, reached, mask):
                write_where(found, mask, distances, BITS * mask, (level + 1) * step)
                is_over = False
        if is_over:
            return level
        level += 1
        front, found = found, front


@subroutine
def _gather(rows, front, targets, reached, found):
    """Bring together the rows of a front until nothing is left to be found."""
    masks = targets.shape[0]
    # The first word of which something is left.
    left = 0
    for mask in range(masks):
        for word in range(WORDS):
            bits = front[mask, word]
            while bits:
                while not targets[left >> 3, left & 7] & ~(
                    reached[left >> 3, left & 7] | found[left >> 3, left & 7]
                ):
                    left += 1
                    if left == masks * WORDS:
                        return
                v = BITS * mask + 64 * word + lowest(bits)
                bits &= bits - np.uint64(1)
                for k in range(masks):
                    add_mask(rows, v * masks + k, found, k)
