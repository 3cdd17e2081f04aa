"""One added to the counter of each row on a list: postings taken one by one, or 16 bytes at a time.

Which is the better depends on the lists. Of one of a few rows each thread of the group takes a
posting or none. A long one is taken in wide loads, each of which saves seven others or three, with
their addresses and comparisons; what lies before the first multiple of 16 bytes and behind the last
is taken one by one.
"""

from __future__ import annotations

from numba import cuda, uint32

__all__ = ["add_four", "add_posting", "bounds_of_wide"]


@cuda.jit(device=True)
def add_posting(counters, posting, low, count, bits):
    """Add one to the counter of a posting.

    Counters of 8 bits are there for every posting; of wider ones only ``count`` from ``low`` on.
    """
    which = uint32(posting)
    if bits > 8:
        which = uint32(which - low)
        if which >= count:
            return
    in_word = 32 // bits
    one = uint32(uint32(1) << uint32((which & (in_word - 1)) * bits))
    cuda.atomic.add(counters, uint32(which // in_word), one)


@cuda.jit(device=True)
def add_four(counters, first, second, third, fourth, low, count, bits):
    """Do so for four."""
    add_posting(counters, first, low, count, bits)
    add_posting(counters, second, low, count, bits)
    add_posting(counters, third, low, count, bits)
    add_posting(counters, fourth, low, count, bits)


@cuda.jit(device=True)
def bounds_of_wide(begin, end, width):
    """Return where the part of a list begins and ends that wide loads of so many postings take."""
    lower = min(uint32((begin + width - 1) & ~(width - 1)), end)
    return lower, max(uint32(end & ~(width - 1)), lower)
