"""One added to the counter of each row on a list, with the postings of 16 bytes at a time.

A wide load brings four postings of 32 bits or eight of 16, in four words. Lists begin and end
anywhere, so of the first and the last 16 bytes some belong to the lists beside it.
"""

from __future__ import annotations

from numba import cuda, uint32

from warpladder.device.shared_adds import add_where

__all__ = ["add_words"]


@cuda.jit(device=True)
def add_posting(wanted, counters, base, posting, low, count, bits):
    """Add one to the counter of a posting that is wanted.

    Counters of 8 bits are there for every posting; of wider ones only ``count`` from ``low`` on.
    """
    which = uint32(posting)
    if bits > 8:
        which = uint32(which - low)
        wanted = wanted and which < count
    in_word = 32 // bits
    one = uint32(uint32(1) << uint32((which & (in_word - 1)) * bits))
    add_where(wanted, counters, base, uint32(which // in_word), one)


@cuda.jit(device=True)
def add_word(counters, base, word, place, length, is_narrow, low, count, bits):
    """Do so for the postings in a word, the first of which is number ``place`` of its list."""
    if is_narrow:
        first, second = word & 0xFFFF, word >> 16
        add_posting(uint32(place) < length, counters, base, first, low, count, bits)
        add_posting(uint32(place + 1) < length, counters, base, second, low, count, bits)
    else:
        add_posting(uint32(place) < length, counters, base, word, low, count, bits)


@cuda.jit(device=True)
def add_words(counters, base, words, place, length, is_narrow, low, count, bits):
    """Do so for those in four words.

    Parameters
    ----------
    counters, base
        Of the block, in shared memory, and where they begin there.
    words
        What a wide load brought.
    place
        Where in its list the first posting stands; below zero, that is beyond any length, where it
        stands before.
    length
        Of the list.
    is_narrow
        Whether postings have 16 bits.
    low, count, bits
        Which counters there are, and their width.
    """
    step = 2 if is_narrow else 1
    add_word(counters, base, words[0], place, length, is_narrow, low, count, bits)
    add_word(counters, base, words[1], place + step, length, is_narrow, low, count, bits)
    add_word(counters, base, words[2], place + 2 * step, length, is_narrow, low, count, bits)
    add_word(counters, base, words[3], place + 3 * step, length, is_narrow, low, count, bits)
