"""One row at an address, folded into a state that is made as new: for `one_row` and `boxes`."""

from __future__ import annotations

from typing import Any

from warpladder.device.native import array_at, call_at
from warpladder.device.subroutines import subroutine
from warpladder.device.words import WORD_BYTES, read_at, write_at

__all__ = ["APART", "GATHER", "IS_ORDERED", "LOOP", "NEW", "WORDS", "fold_row_at"]

# What is fixed for a loop: its address, those of what goes through elements that lie apart and of
# what puts those of a box together, 0 until they are asked for, whether their order matters, the
# words of a state, and a state that has seen nothing.
LOOP, APART, GATHER, IS_ORDERED, WORDS, NEW = range(6)


@subroutine
def fold_row_at(fixed: Any, state: Any, place: Any, size: Any, itemsize: Any) -> None:
    """Fold elements that lie one after the other into a state, whatever is in it.

    What is fixed, the state and the first element are given by their addresses.
    """
    words = read_at(fixed, WORDS)
    for word in range(words):
        write_at(state, word, read_at(fixed, NEW + word))
    call_at(
        read_at(fixed, LOOP),
        array_at(place, size, itemsize)
        + array_at(place, 0, 1)
        + (1, size, size, 0)
        + array_at(state, 1, words * WORD_BYTES),
    )
