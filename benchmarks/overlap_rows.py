"""Rows of ids made on a GPU, of any number, and an independent count of the partners of a few.

The ids of a row are one from each of as many equal stretches of the universe as it has ids: none
comes twice, and any two rows share as many as two draws at random would, on average. Every row
whose number leaves 1 when divided by 1,000 is planted: its first ids are its predecessor's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, uint64
from numpy.typing import NDArray

from warpladder.device.base import Device
from warpladder.overlap_join.forms import Rows

__all__ = ["PLANTED_EVERY", "PLANTED_IDS", "make_rows", "partners_of"]

PLANTED_EVERY, PLANTED_IDS = 1000, 20
_THREADS, _BLOCKS = 256, 4096
#: Rows whose partners are counted in one reading of all ids: bits of a word.
_AT_A_TIME = 32


@cuda.jit(device=True)
def scrambled(number):  # type: ignore[no-untyped-def]
    """Return 64 bits that look like chance (the finalizer of MurmurHash3)."""
    number = uint64(number)
    number = uint64((number ^ (number >> uint64(33))) * uint64(0xFF51AFD7ED558CCD))
    number = uint64((number ^ (number >> uint64(33))) * uint64(0xC4CEB9FE1A85EC53))
    return uint64(number ^ (number >> uint64(33)))


@cuda.jit
def draw_ids(items: Any, ids: Any, universe: Any, seed: Any) -> None:
    """Draw the ids of all rows."""
    i = cuda.grid(1)
    while i < items.size:
        row, place = i // ids, i % ids
        if row % PLANTED_EVERY == 1 and place < PLANTED_IDS:
            row -= 1
        first, last = place * universe // ids, (place + 1) * universe // ids
        chance = scrambled(uint64(row * ids + place) ^ scrambled(seed)) >> uint64(32)
        items[i] = first + ((chance * uint64(last - first)) >> uint64(32))
        i += cuda.gridsize(1)


@cuda.jit
def write_starts(starts: Any, ids: Any) -> None:
    """Write where each row begins, all of the same size."""
    i = cuda.grid(1)
    while i < starts.size:
        starts[i] = i * ids
        i += cuda.gridsize(1)


def make_rows(device: Device, count: int, ids: int, universe: int, seed: int) -> Rows:
    """Return rows of ids on the device; ``universe`` is at least ``ids``."""
    items = device.empty(count * ids, np.int32)
    starts = device.empty(count + 1, np.int64)
    device.launch(draw_ids, _BLOCKS, _THREADS, items, ids, universe, seed)
    device.launch(write_starts, _BLOCKS, _THREADS, starts, ids)
    return Rows(starts, items, universe)


@cuda.jit
def mark(rows: Any, starts: Any, items: Any, marks: Any) -> None:
    """Set a bit for each of a few rows at each of their ids; a block for each."""
    row = rows[cuda.blockIdx.x]
    for i in range(starts[row] + cuda.threadIdx.x, starts[row + 1], cuda.blockDim.x):
        cuda.atomic.or_(marks, items[i], 1 << cuda.blockIdx.x)


@cuda.jit
def meet(rows: Any, starts: Any, items: Any, marks: Any, least: Any, partners: Any) -> None:
    """Count the partners of a few rows: a thread for each row of all, a word for each id."""
    met = cuda.local.array(_AT_A_TIME, np.int32)
    row = cuda.grid(1)
    while row < starts.size - 1:
        for which in range(_AT_A_TIME):
            met[which] = 0
        for i in range(starts[row], starts[row + 1]):
            word = marks[items[i]]
            while word:
                which = cuda.ffs(word) - 1
                met[which] += 1
                word &= word - 1
        for which in range(rows.size):
            if met[which] >= least and rows[which] != row:
                cuda.atomic.add(partners, which, 1)
        row += cuda.gridsize(1)


def partners_of(device: Device, rows: Rows, which: NDArray[Any], least: int) -> NDArray[Any]:
    """Return with how many others each of a few rows shares so many ids, by reading all of them."""
    found = []
    for first in range(0, len(which), _AT_A_TIME):
        some = device.to_device(which[first : first + _AT_A_TIME].astype(np.int64))
        marks = device.full(rows.universe, 0, np.uint32)
        partners = device.full(some.size, 0, np.int32)
        device.launch(mark, some.size, _THREADS, some, rows.starts, rows.items, marks)
        given = some, rows.starts, rows.items, marks, least, partners
        device.launch(meet, _BLOCKS, _THREADS, *given)
        found.append(device.to_host(partners))
    return np.concatenate(found)
