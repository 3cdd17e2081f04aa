"""Several counters in a word: which of them have come so far, and what they add up to.

A word of 32 bits holds four counters of 8 bits, two of 16 or one; the first stands in its lowest
bits. What is asked of them is asked of all at once.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import cuda, uint32

__all__ = ["Layout", "layout_of", "reached", "threshold_words"]


class Layout(NamedTuple):
    """How counters of some width stand in a word of 32 bits.

    Attributes
    ----------
    bits, in_word
        Of a counter; how many a word holds.
    shift
        By how many bits the number of a counter is shifted to that of its word.
    most
        What a counter can hold.
    ones, tops
        The words with the lowest and with the highest bit of each counter.
    """

    bits: int
    in_word: int
    shift: int
    most: int
    ones: int
    tops: int


def layout_of(bits: int) -> Layout:
    """Return how counters of 8, 16 or 32 bits stand in a word.

    Examples
    --------
    >>> layout_of(16)._replace(tops=0)
    Layout(bits=16, in_word=2, shift=1, most=65535, ones=65537, tops=0)
    """
    in_word = 32 // bits
    ones = sum(1 << (bits * which) for which in range(in_word))
    return Layout(
        bits, in_word, in_word.bit_length() - 1, (1 << bits) - 1, ones, ones << (bits - 1)
    )


@cuda.jit(device=True)
def threshold_words(least, bits, ones, tops):
    """Return the two words by which `reached` compares; ``least`` fits a counter."""
    half = uint32(1) << (bits - 1)
    lower = uint32(uint32(least & (half - 1)) * uint32(ones))
    return lower, uint32(tops) if least < half else uint32(0)


@cuda.jit(device=True)
def reached(word, lower, whole, tops):
    """Return the highest bit of each counter of ``word`` that has reached the threshold.

    With its highest bit set a counter without that bit of its own does not borrow from the next
    one where the rest of the threshold is subtracted: the bit stays where the rest has been
    reached. A threshold without the highest bit is then reached by either bit, another by both.
    """
    rest = uint32(uint32(word | uint32(tops)) - lower)
    return uint32(((word & rest) | ((word | rest) & whole)) & uint32(tops))
