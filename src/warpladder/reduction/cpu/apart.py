"""One row whose elements lie apart, alone or in runs, folded as it lies.

What a loop runs along are stretches of it: in their own place where a run holds one, or run by run
where runs are long and any order leaves the same bits, else put together in a buffer that stays in
the first-level cache. Their states, merged, have the bits of a copy's (`cuts`); of what may not be
cut a stretch is all there is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.native import address_of, array_at, call_at
from warpladder.device.subroutines import subroutine
from warpladder.device.words import copy_at, place_of, read_at
from warpladder.reduction.loops.cuts import (
    is_exact,
    may_be_cut,
    may_be_cut_anywhere,
    merge_stretches,
)
from warpladder.reduction.loops.states import merge_kernel
from warpladder.reduction.memory.copies import as_stored
from warpladder.reduction.memory.layout import CACHED_BYTES, NO_MASK
from warpladder.reduction.memory.levels import place_of_row
from warpladder.reduction.memory.singles import LINE_BYTES, before_line, take_singles
from warpladder.reduction.parts import FoldPart

__all__ = [
    "FOLD",
    "ITEMSIZE",
    "LEAST_APART",
    "LEAST_SHARED",
    "MERGE",
    "NEW",
    "ONE_GROUP",
    "STATE_BYTES",
    "fold_apart",
    "goes_in_place",
    "lies_apart",
    "loop_of_stretches",
    "stretch_of",
]

LEAST_SHARED = 1 << 19
"""Bytes from which it pays to share rows with threads that stand by (`benchmarks/choices.py`:
`elements-apart-shared`, `runs-shared`, `own-copies-alone`)."""

LEAST_APART = LEAST_SHARED // LINE_BYTES
"""Elements of which it may."""

ONE_GROUP = (1 << 62, 0)
"""Runs of a group, and how groups lie, where all runs are equally far apart."""

# Bytes of a stretch, a power of two, and of one that need not have whole blocks: what is put
# together should leave room in the first-level cache for what comes in (`benchmarks/choices.py`:
# `stretches-of-elements-apart`, `short-stretches`).
_STRETCH, _SHORT_STRETCH = 1 << 15, 1 << 13
_UNCUT = 1 << 62
# Bytes of a run from which a loop of its own takes less than to copy it (`benchmarks/choices.py`:
# `runs-one-by-one`).
_LEAST_RUN_BYTES = 1 << 10

# What is the same for all rows: a loop, what merges its states and what takes elements that lie
# alone, a state that has seen nothing, and elements of a stretch.
FOLD, MERGE, _TAKE, ITEMSIZE, STATE_BYTES, NEW, _STRETCH_SIZE, _LEAST_RUN = range(8)


@subroutine
def fold_apart(
    loop: Any, data: Any, begin: Any, end: Any, lies: Any, first: Any, state: Any
) -> None:
    """Fold elements of a row into a state, which is made new.

    Parameters
    ----------
    loop
        The address of what `loop_of_stretches` has.
    data
        That of the first element of the row.
    begin, end
        Which elements.
    lies
        Elements of a run, and bytes from one run to the next; runs of a group, and the address of
        how groups lie, as words of `levels`.
    first
        What the first element counts as, where places are kept.
    state
        The address of the state.
    """
    run, skip, group, levels = lies
    itemsize, state_bytes = read_at(loop, ITEMSIZE), read_at(loop, STATE_BYTES)
    stretch = min(read_at(loop, _STRETCH_SIZE), end - begin)
    pieces = (end - begin + stretch - 1) // stretch
    stretches = np.empty(pieces * state_bytes, np.uint8)
    # Room for it to begin where what is taken fills a line of the caches at once.
    buffer = np.empty(stretch * itemsize + 2 * LINE_BYTES, np.uint8)
    for piece in range(pieces + 1):
        # Asked for here, where both are needed for the next round: Numba frees what is not.
        states, copy = place_of(stretches), place_of(buffer) // LINE_BYTES * LINE_BYTES
        if piece == pieces:
            merge_stretches(read_at(loop, MERGE), states, pieces, state_bytes)
            copy_at(state, states, state_bytes)
        else:
            column = begin + piece * stretch
            size, within = min(stretch, end - column), column % run
            some, nth, of_group = size, column // run // group, column // run % group
            place = _group_at(data, levels, nth, itemsize) + of_group * skip + within * itemsize
            if run == 1:
                before = before_line(place, skip // itemsize, itemsize) * itemsize
                there = copy + 2 * LINE_BYTES - before
                done = 0
                while done < size:
                    some = min(group - of_group, size - done)
                    call_at(
                        read_at(loop, _TAKE),
                        array_at(there + done * itemsize, some, itemsize)
                        + array_at(place, (some - 1) * (skip // itemsize) + 1, itemsize)
                        + (skip // itemsize,),
                    )
                    done, nth, of_group = done + some, nth + 1, 0
                    if done < size:
                        place = _group_at(data, levels, nth, itemsize)
                place, some = there, size
            elif within + size > run and run < read_at(loop, _LEAST_RUN):
                there = copy + LINE_BYTES
                done = 0
                while done < size:
                    some = min(run - within, size - done)
                    copy_at(there + done * itemsize, place, some * itemsize)
                    done, of_group = done + some, of_group + 1
                    place += skip - within * itemsize
                    within = 0
                    if of_group == group:
                        nth, of_group = nth + 1, 0
                        place = _group_at(data, levels, nth, itemsize)
                place, some = there, size
            else:
                # As it lies, or a run after the other.
                some = min(run - within, size)
            at = states + piece * state_bytes
            copy_at(at, read_at(loop, NEW), state_bytes)
            done = 0
            while done < size:
                call_at(
                    read_at(loop, FOLD),
                    array_at(place, some, itemsize)
                    + array_at(place, 0, 1)
                    + (1, some, some, first + column + done)
                    + array_at(at, 1, state_bytes),
                )
                done += some
                place += skip - within * itemsize
                some, within, of_group = min(run, size - done), 0, of_group + 1
                if of_group == group:
                    nth, of_group = nth + 1, 0
                    place = _group_at(data, levels, nth, itemsize)


@subroutine
def _group_at(data: Any, levels: Any, group: Any, itemsize: Any) -> Any:
    """Return where a group of runs begins."""
    return data + place_of_row(levels, group) * itemsize if group else data


def lies_apart(array: NDArray[Any]) -> bool:
    """Tell whether elements of one dimension lie apart, as `fold_apart` takes them, in one tile."""
    skip, itemsize = array.strides[0], array.itemsize
    is_regular = skip > itemsize and skip % itemsize == 0
    return is_regular and array.nbytes <= CACHED_BYTES and array.flags.aligned


def stretch_of(part: FoldPart) -> int:
    """Return how many elements a stretch has; of what may not be cut, more than there are."""
    # What ends early in a stretch may go on in the next.
    if not may_be_cut(part.spec._replace(until="")):
        return _UNCUT
    if is_exact(part.spec):
        return _SHORT_STRETCH // np.dtype(part.spec.values).itemsize
    block = part.spec.block
    return max(_STRETCH // (block * np.dtype(part.spec.values).itemsize), 1) * block


def goes_in_place(part: FoldPart, run: int) -> bool:
    """Tell whether runs of so many elements are gone through one by one, not copied together."""
    return run >= _least_run(part)


def _least_run(part: FoldPart) -> int:
    if not may_be_cut_anywhere(part.spec):
        return _UNCUT
    return _LEAST_RUN_BYTES // np.dtype(part.spec.values).itemsize


def loop_of_stretches(part: FoldPart) -> int:
    """Return the address of what is the same for all rows that a part's loop goes through."""
    known = _known.get(part)
    if known is None:
        sample, new, stretch = (
            as_stored(np.empty(0, part.spec.values)),
            part.new(1),
            stretch_of(part),
        )
        words = np.empty(0, f"u{sample.itemsize}")
        fixed = np.zeros(8, np.int64)
        fixed[FOLD] = address_of(part.loop, sample, NO_MASK, 1, 1, 1, 0, new)
        if stretch != _UNCUT:
            fixed[MERGE] = address_of(merge_kernel(part.spec), new, new)
        fixed[_TAKE] = address_of(take_singles, words, words, 1)
        fixed[ITEMSIZE], fixed[STATE_BYTES] = sample.itemsize, new.nbytes
        fixed[NEW], fixed[_STRETCH_SIZE] = new.ctypes.data, stretch
        fixed[_LEAST_RUN] = _least_run(part)
        known = _known.setdefault(part, (fixed, new))
    return int(known[0].ctypes.data)


# For good: who calls has no more than the address.
_known: dict[FoldPart, tuple[NDArray[np.int64], NDArray[Any]]] = {}
