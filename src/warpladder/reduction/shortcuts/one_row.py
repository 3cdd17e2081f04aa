"""One row gone through by a call that takes little more time than the row.

To hand a compiled function an array takes 0.05 us, a number 0.015, and to call a function of Python
0.04; a thousand numbers are added in 0.1. So what is the same for all calls stands at one address,
the loop is called by its own (`device.native`), and states are made as new by compiled code: of a
call on eight numbers a loop's seven arguments, and the copy of a state, were a quarter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.device.native import address_of
from warpladder.device.subroutines import entry_for
from warpladder.device.words import place_of, read_at
from warpladder.reduction.cpu.apart import ONE_GROUP, fold_apart, loop_of_stretches
from warpladder.reduction.memory.copies import as_stored
from warpladder.reduction.memory.layout import CACHED_BYTES, NO_MASK
from warpladder.reduction.part import Part
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.shortcuts.boxes import MOST_AXES, MOST_REGULAR, box_folder, gatherer
from warpladder.reduction.shortcuts.row_at import (
    APART,
    GATHER,
    IS_ORDERED,
    LOOP,
    NEW,
    WORDS,
    fold_row_at,
)

__all__ = ["OneRow", "one_row"]

# Bytes of elements that are gone through so, at the most: what would be copied makes one tile.
_MOST_APART = CACHED_BYTES


@cached
@njit(nogil=True)
def _fold_one_row(fixed, state, data):  # type: ignore[no-untyped-def]
    """Fold the elements of an array into a state; tell whether they lie as loops take them.

    The state and what is fixed are given by their addresses, the elements as whole numbers of their
    size, whatever they are.
    """
    place, size, itemsize, skip = place_of(data), data.size, data.itemsize, data.strides[0]
    if place % itemsize:
        return False
    # Of no more than one element the stride says nothing.
    if size > 1 and skip != itemsize:
        loop = read_at(fixed, APART)
        if not loop or skip <= 0 or skip % itemsize or size * itemsize > _MOST_APART:
            return False
        fold_apart(loop, place, 0, size, (1, skip, *ONE_GROUP), 0, state)
        return True
    fold_row_at(fixed, state, place, size, itemsize)
    return True


_Fold = Callable[[int, int, NDArray[Any]], bool]


class OneRow(NamedTuple):
    """What folds an array of elements into the state of one row.

    Attributes
    ----------
    fold
        ``fold(given, state, data)`` tells whether it was done: it is not where elements do not lie
        at multiples of their size, or lie backwards, or apart unless `takes_apart`. The
        state is given by its address; what is in it before does not matter. Of the data nobody
        looks at more than the size of an element.
    given
        The address of what `fixed` has.
    fixed
        What is the same for all calls.
    part
        What has the loop.
    boxes
        What `folder_of_box` has found for as many axes as the place in this list says.
    """

    fold: _Fold
    given: int
    fixed: NDArray[np.int64]
    part: Part
    boxes: list[_Fold | None]

    def takes_apart(self) -> bool:
        """Tell whether `fold` takes elements that lie apart."""
        return bool(self.fixed[APART])

    def allow_apart(self) -> None:
        """Let `fold` take elements that lie apart, from the second time on that it is asked for.

        Who calls once is spared the compiling.
        """
        if self.part not in _asked:
            _asked.add(self.part)
        elif isinstance(self.part, FoldPart):
            self.fixed[APART] = loop_of_stretches(self.part)

    def folder_of_box(self, nbytes: int, axes: int) -> _Fold | None:
        """Return what `fold` is for so many bytes of several axes; None where there is none.

        As for those that lie apart there is one from the third time on that it is asked for.
        """
        if nbytes > (_MOST_APART if axes > 2 else MOST_REGULAR) or axes > MOST_AXES:
            return None
        found = self.boxes[axes]
        if found is not None or axes < 2:
            return found
        asked = self.part, axes
        if asked not in _asked:
            _asked.add(asked)
            return None
        itemsize = np.dtype(self.part.spec.values).itemsize
        self.fixed[GATHER] = gatherer(itemsize)
        self.boxes[axes] = box_folder(axes, itemsize)
        return None


def one_row(part: Part, *, is_ordered: bool = False) -> OneRow:
    """Return what folds rows without a mask by the loop that a part has.

    Of several axes the last is gone through first, if the order of elements matters.
    """
    key = part, is_ordered
    if key in _known:
        return _known[key]
    sample, state = as_stored(np.empty(0, part.spec.values)), part.new(1)
    words = state.view(np.int64).ravel()
    fixed = np.zeros(NEW + words.size, np.int64)
    fixed[LOOP] = address_of(part.loop, sample, NO_MASK, 1, 1, 1, 0, state)
    fixed[IS_ORDERED], fixed[WORDS], fixed[NEW:] = is_ordered, words.size, words
    fold = entry_for(_fold_one_row, 1, 1, np.empty(0, f"u{sample.itemsize}"))
    boxes: list[_Fold | None] = [None] * (MOST_AXES + 1)
    return _known.setdefault(key, OneRow(fold, fixed.ctypes.data, fixed, part, boxes))


# For good: who calls has no more than the address of what is fixed.
_known: dict[tuple[Part, bool], OneRow] = {}
_asked: set[Part | tuple[Part, int]] = set()
