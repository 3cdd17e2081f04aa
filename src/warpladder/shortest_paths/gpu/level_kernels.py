"""The kernels of `hop_counts`: breadth-first searches, 128 at a time to a block, level by level.

A block has the masks of its searches to itself, 16 bytes for each vertex: who has it in their
*front*, the vertices reached on the last level, who has *reached* it, and for each binary digit of
a level those searches whose distance has that digit. One level of all its searches is one pass over
arcs, pulled by the vertices that some search has not reached yet::

    found[v] = (OR of fronts[u] over arcs u -> v) and not reached[v]

A thread takes a vertex and loads 16 bytes for each arc; vertices with many arcs, which come first,
are taken by a warp. Nobody else has to know of a level: what is between two is a barrier of the
block. Digits are written where a search has found somebody, and by every vertex on the first level
that has a digit, so nobody clears them.

Distances are made of digits when the searches are over: a warp has 32 searches and 32 neighbouring
vertices, so that it writes whole sectors of 32 rows, and reads each digit of them once. The first
four digits are kept in registers; who is 16 levels away or farther is read anew for each number.

Source: Then et al., "The More the Merrier", 2014; pulling: Beamer et al., 2012, both in `levels`.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int32, uint32

from warpladder.device.grids import EVERYBODY, WARP
from warpladder.device.kernel_cache import cached
from warpladder.device.kernels import either_of_warp
from warpladder.device.wide_loads import load_16_bytes, store_16_bytes
from warpladder.shortest_paths.dense import NO_HOP

__all__ = [
    "DIGITS",
    "REACHED",
    "SOURCES",
    "WORDS",
    "begin_searches",
    "search_levels",
    "write_distances",
    "write_next_hops",
]

WORDS = 4
"""Words of a mask, 16 bytes."""
SOURCES = WARP * WORDS
"""Bits of a mask: searches that go together."""
REACHED, DIGITS = 2, 3
"""Which masks of a block are these; before them are two of which each is the fronts in turn."""

_EVERY = np.uint32(EVERYBODY)


@cuda.jit(device=True)
def word_beyond(size, word):
    """Return the word of a mask with the bits from ``size`` on: those of no search."""
    return uint32(_EVERY << min(max(size - WARP * word, 0), WARP))


@cached
@cuda.jit
def begin_searches(masks, places, first, batch, state):
    """Put each source into its front; the bits beyond them count as reached everywhere.

    A block begins with source ``first + blockIdx.x * batch`` of those in ``places``.
    """
    block, t = cuda.blockIdx.x, cuda.threadIdx.x
    mine = masks[block]
    n = mine.shape[1]
    begin = first + block * batch
    size = min(batch, n - begin)
    none, beyond = uint32(0), (
        word_beyond(size, 0), word_beyond(size, 1), word_beyond(size, 2), word_beyond(size, 3),
    )  # fmt: skip
    for v in range(t, n, cuda.blockDim.x):
        store_16_bytes(mine, (0, v, 0), (none, none, none, none))
        store_16_bytes(mine, (REACHED, v, 0), beyond)
    if t < 2:
        state[t, block] = 0
    cuda.syncthreads()
    for s in range(t, size, cuda.blockDim.x):
        v, word = places[begin + s], s // WARP
        bit = uint32(1 << s % WARP)
        mine[0, v, word] = bit
        mine[REACHED, v, word] = mine[REACHED, v, word] | bit


@cuda.jit(device=True)
def is_full(mask):
    """Return whether a mask has every bit."""
    return uint32(mask[0] & mask[1] & mask[2] & mask[3]) == _EVERY


@cuda.jit(device=True)
def gather(masks, fronts, into, first, last, step, known):
    """Return a mask with those of the fronts of some neighbours, until it has every bit."""
    found = known
    for arc in range(first, last, step):
        front = load_16_bytes(masks, (fronts, into[arc], 0))
        found = (
            uint32(found[0] | front[0]), uint32(found[1] | front[1]),
            uint32(found[2] | front[2]), uint32(found[3] | front[3]),
        )  # fmt: skip
        if is_full(found):
            break
    return found


@cuda.jit(device=True)
def settle(masks, found, v, level, digits, known, reached):
    """Note for vertex v who has reached it on a level, who before; return whether anybody did."""
    new = (
        uint32(reached[0] & ~known[0]), uint32(reached[1] & ~known[1]),
        uint32(reached[2] & ~known[2]), uint32(reached[3] & ~known[3]),
    )  # fmt: skip
    store_16_bytes(masks, (found, v, 0), new)
    is_new = (new[0] | new[1] | new[2] | new[3]) != 0
    if is_new:
        store_16_bytes(masks, (REACHED, v, 0), reached)
    if level & (level - 1) == 0:
        store_16_bytes(masks, (DIGITS + digits - 1, v, 0), new)
    elif is_new:
        for digit in range(digits):
            if level >> digit & 1:
                place = DIGITS + digit, v, 0
                there = load_16_bytes(masks, place)
                store_16_bytes(
                    masks, place,
                    (there[0] | new[0], there[1] | new[1], there[2] | new[2], there[3] | new[3]),
                )  # fmt: skip
    return is_new


@cached
@cuda.jit(max_registers=64)
def search_levels(masks, starts, into, hubs, most, state):
    """Take the searches of each block at most some levels further.

    Parameters
    ----------
    masks
        Of each block, shape (blocks, 3 + binary digits of n, n, 4), uint32.
    starts, into
        Where the arcs into each vertex start, and the vertices that they come from, int32.
    hubs
        How many vertices, the first ones, are taken by a warp.
    most
        How many levels.
    state
        Of each block the last level on which somebody was found, and whether nobody is left to be
        found, shape (2, blocks), int32.
    """
    block, t = cuda.blockIdx.x, cuda.threadIdx.x
    lane, warp, warps = t % WARP, t // WARP, cuda.blockDim.x // WARP
    mine = masks[block]
    n = mine.shape[1]
    level, goes_on = state[0, block], state[1, block] == 0
    stop, digits = level + most, 0
    while goes_on and level < stop:
        level += 1
        while level >> digits:
            digits += 1
        found = level & 1
        fronts = found ^ 1
        anybody = False
        # Each turn of a range of unknown step begins with a division, which takes longer than the
        # additions of a level of few vertices.
        v = warp
        while v < hubs:
            known = load_16_bytes(mine, (REACHED, v, 0))
            reached = known
            if not is_full(known):
                some = gather(mine, fronts, into, starts[v] + lane, starts[v + 1], WARP, known)
                reached = (
                    either_of_warp(some[0]), either_of_warp(some[1]),
                    either_of_warp(some[2]), either_of_warp(some[3]),
                )  # fmt: skip
            # All have loaded who is known before one writes it.
            cuda.syncwarp()
            if lane == 0:
                anybody |= settle(mine, found, v, level, digits, known, reached)
            v += warps
        v = hubs + t
        while v < n:
            known = load_16_bytes(mine, (REACHED, v, 0))
            reached = known
            if not is_full(known):
                reached = gather(mine, fronts, into, starts[v], starts[v + 1], 1, known)
            anybody |= settle(mine, found, v, level, digits, known, reached)
            v += cuda.blockDim.x
        goes_on = cuda.syncthreads_or(int32(anybody)) != 0
        if t == 0:
            state[0, block] = level if goes_on else level - 1
            state[1, block] = 0 if goes_on else 1


@cuda.jit(device=True)
def word_of_digit(masks, digit, digits, v, word):
    """Return a word of a digit's mask, or 0 where no level has that digit."""
    return masks[DIGITS + digit, v, word] if digit < digits else uint32(0)


@cached
@cuda.jit
def write_distances(masks, places, rows, first, batch, count, state, step, no_path, base, dist):
    """Write the rows of some sources.

    Parameters
    ----------
    masks, state
        What `search_levels` left.
    places
        Where each vertex stands in masks.
    rows
        Of each source its row, counted from ``base``.
    first, batch, count
        The first source, how many each block has had, and how many blocks.
    step, no_path
        Length of an arc, and what stands where there is no path.
    base
        The row that is the first of ``dist``.
    dist
        Receives the distances.
    """
    n = masks.shape[2]
    lane = cuda.threadIdx.x % WARP
    words, chunks = (batch + WARP - 1) // WARP, (n + WARP - 1) // WARP
    for job in range(cuda.grid(1) // WARP, count * words * chunks, cuda.gridsize(1) // WARP):
        upper = job // chunks
        block, word = upper // words, upper % words
        begin = first + block * batch + WARP * word
        size = min(WARP, batch - WARP * word, n - begin)
        t = (job - upper * chunks) * WARP + lane
        if t < n:
            mine, v = masks[block], places[t]
            digits = 0
            while state[0, block] >> digits:
                digits += 1
            reached = mine[REACHED, v, word]
            ones = word_of_digit(mine, 0, digits, v, word)
            twos = word_of_digit(mine, 1, digits, v, word)
            fours = word_of_digit(mine, 2, digits, v, word)
            eights = word_of_digit(mine, 3, digits, v, word)
            for s in range(size):
                level = (ones >> s & 1) | (twos >> s & 1) << 1
                level |= (fours >> s & 1) << 2 | (eights >> s & 1) << 3
                for digit in range(4, digits):
                    level |= (mine[DIGITS + digit, v, word] >> s & 1) << digit
                dist[rows[begin + s] - base, t] = level * step if reached >> s & 1 else no_path


@cached
@cuda.jit
def write_next_hops(starts, ends, dist, step, no_path, first, hops):
    """Write next hops from some sources: of the neighbours that are a step nearer, the least.

    Parameters
    ----------
    starts, ends
        Where the arcs from each vertex start, and the vertices that they lead to, int32, ascending.
    dist, step, no_path
        All distances, the length of an arc, and what stands where there is no path.
    first
        The source whose row is the first of ``hops``.
    hops
        Receives them, shape (sources, n), int32.
    """
    n = dist.shape[0]
    chunks = (n + cuda.blockDim.x - 1) // cuda.blockDim.x
    # Blocks that are neighbours have the same arcs; one has not all of a row, which may have many.
    for job in range(cuda.blockIdx.x, hops.shape[0] * chunks, cuda.gridDim.x):
        row = job // chunks
        s, t = first + row, (job - row * chunks) * cuda.blockDim.x + cuda.threadIdx.x
        if t < n:
            hop, own = NO_HOP, dist[s, t]
            if s == t:
                hop = s
            elif own != no_path:
                arc = starts[s]
                while hop == NO_HOP and arc < starts[s + 1]:
                    if dist[ends[arc], t] + step == own:
                        hop = ends[arc]
                    arc += 1
            hops[row, t] = hop
