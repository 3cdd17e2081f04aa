"""What requests to memory cost: sectors, lines and bytes, wavefronts, passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.machine.lanes import WARP_SIZE, Lanes

__all__ = [
    "atomic_passes",
    "constant_wavefronts",
    "cost",
    "global_traffic",
    "shared_wavefronts",
]

_NOBODY = -1

Cost = Callable[[NDArray[np.int64], int], tuple[int, ...]]

#: What was worked out, and how many bytes of addresses and threads it is remembered by. A loop asks
#: for the same pattern again and again: remembered, it takes half the time in `register-tiles`.
_known: dict[tuple[Any, ...], tuple[int, ...]] = {}
_remembered = 0
_MOST_REMEMBERED = 16 << 20
#: What Python itself takes to remember one: 233 bytes by `tracemalloc`.
_EACH = 233


def cost(of: Cost, lanes: Lanes, address: NDArray[np.int64], size: int) -> tuple[int, ...]:
    """Return what requests cost: the sums over the warps of these lanes.

    Parameters
    ----------
    of
        What is asked for: one of the functions of this file.
    lanes
        Who makes them.
    address
        Of each one's element, or the one that is common to all.
    size
        Bytes of an element.
    """
    global _remembered  # noqa: PLW0603 - of the process, as the patterns are
    first = int(address[0] if address.ndim else address)
    # So many bytes further on, the same addresses cost the same.
    pattern = (address - first // _PERIODS[of] * _PERIODS[of]).tobytes()
    who = lanes.pattern
    key = of, size, who, pattern
    found = _known.get(key)
    if found is None:
        # One address for all is short, but who they are is not.
        room = _EACH + len(pattern) + (len(who) if isinstance(who, bytes) else 0)
        _remembered += room
        if _remembered > _MOST_REMEMBERED:
            _known.clear()
            _remembered = room
        found = _known[key] = of(_table(lanes, address), size)
    return found


def _table(lanes: Lanes, address: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a row for each warp with the address of each lane; where all are one, that alone."""
    if address.ndim == 0:
        return np.full((lanes.row_count, 1), int(address), dtype=np.int64)
    row, rows = lanes.rows()
    table = np.full((rows, WARP_SIZE), _NOBODY, dtype=np.int64)
    table[row, lanes.lane] = address
    return table


def atomic_passes(table: NDArray[np.int64], size: int) -> tuple[int]:
    """Return the most threads that meet at one address, summed over requests."""
    del size
    ordered = np.sort(table, axis=1)
    place = np.arange(WARP_SIZE)
    begins = np.where(ordered[:, 1:] != ordered[:, :-1], place[1:], 0)
    so_far = np.broadcast_to(place, ordered.shape).copy()
    so_far[:, 1:] -= np.maximum.accumulate(begins, axis=1)
    return (int(np.where(ordered == _NOBODY, 0, so_far + 1).max(axis=1).sum()),)


def constant_wavefronts(table: NDArray[np.int64], size: int) -> tuple[int]:
    """Return the distinct addresses of requests to constant memory."""
    del size
    return (_distinct(np.sort(table, axis=1)),)


def _distinct(ordered: NDArray[np.int64]) -> int:
    """Count the distinct values of sorted rows, summed over the rows; nobody's place counts not."""
    changes = np.count_nonzero(ordered[:, 1:] != ordered[:, :-1])
    return int(changes + np.count_nonzero(ordered[:, 0] != _NOBODY))


def global_traffic(table: NDArray[np.int64], size: int) -> tuple[int, int, int]:
    """Return sectors, lines and distinct bytes of requests to global memory.

    ``table`` has a row per request and the address of each thread's element, -1 where none is
    active; an element has ``size`` bytes.
    """
    ordered = np.sort(table, axis=1)
    used = _distinct(ordered) * size
    if size & (size - 1) == 0 and size <= 32 and not np.any((ordered & (size - 1))[ordered >= 0]):
        return _distinct(ordered >> 5), _distinct(ordered >> 7), used
    # Elements that may lie across a boundary: all sectors from the first byte to the last.
    pieces = [
        np.where(ordered >= 0, np.minimum(ordered + step, ordered + size - 1), _NOBODY)
        for step in range(0, size + 31, 32)
    ]
    spread = np.sort(np.concatenate(pieces, axis=1), axis=1)
    return _distinct(spread >> 5), _distinct(spread >> 7), used


def shared_wavefronts(table: NDArray[np.int64], size: int) -> tuple[int, int]:
    """Return the wavefronts of requests to shared memory, and what they were without conflicts.

    A wavefront serves one 4-byte word from each of 32 banks to any number of threads. Elements of 8
    bytes are served half a warp at a time, of 16 bytes a quarter at a time, unless one wavefront
    holds all words of the warp.
    """
    words_each = max(1, size // 4)
    parts = min(words_each, 4) if table.shape[1] == WARP_SIZE else 1
    first = np.where(table >= 0, table >> 2, _NOBODY)
    whole = np.concatenate(
        [np.where(first >= 0, first + k, _NOBODY) for k in range(words_each)], axis=1
    )
    deepest, distinct = _bank_depth(whole)
    ideal = np.maximum(1, -(-distinct // WARP_SIZE))
    if parts == 1:
        return int(deepest.sum()), int(ideal.sum())
    width = WARP_SIZE // parts
    pieces = np.stack(
        [
            np.concatenate(
                [
                    np.where(piece >= 0, piece + k, _NOBODY)
                    for k in range(words_each)
                    for piece in (first[:, part * width : (part + 1) * width],)
                ],
                axis=1,
            )
            for part in range(parts)
        ]
    )
    split = sum(_bank_depth(piece)[0] for piece in pieces)
    return int(np.where(deepest == 1, 1, split).sum()), int(ideal.sum())


def _bank_depth(words: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return per request the most distinct words that one bank has to give, and all of them."""
    rows = len(words)
    ordered = np.sort(words, axis=1)
    new = np.ones(ordered.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    new &= ordered != _NOBODY
    row, column = np.nonzero(new)
    banks = ordered[row, column] & (WARP_SIZE - 1)
    depth = np.bincount(row * WARP_SIZE + banks, minlength=rows * WARP_SIZE)
    return depth.reshape(rows, WARP_SIZE).max(axis=1), np.bincount(row, minlength=rows)


#: By how many bytes the addresses of a pattern may move together: of shared memory from bank to
#: bank, of global memory from line to line.
_PERIODS: dict[Cost, int] = {
    atomic_passes: 1,
    constant_wavefronts: 1,
    shared_wavefronts: 4,
    global_traffic: 128,
}
