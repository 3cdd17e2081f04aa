"""Arrays turned: some axes backwards, all in another order. No element is moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

__all__ = ["Turn", "are_together", "back_of", "by_memory"]


class Turn:
    """What makes of an array a view of it.

    Attributes
    ----------
    backwards
        The axes that are gone through backwards.
    order
        Which axes the view has.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[1, 2, 3], [4, 5, 6]])
    >>> Turn([0], [1, 0])(values).tolist()
    [[4, 1], [5, 2], [6, 3]]
    >>> Turn([0], [1, 0]).then(Turn([0], [0, 1]))(values).tolist()
    [[6, 3], [5, 2], [4, 1]]
    """

    def __init__(self, backwards: Sequence[int], order: Sequence[int]) -> None:
        self.backwards, self.order = tuple(backwards), tuple(order)
        axes = range(len(self.order))
        self._mirror = tuple(slice(None, None, -1 if axis in backwards else 1) for axis in axes)
        self._is_ordered = self.order == tuple(axes)

    def __call__(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the view of an array."""
        # Of an array without dimensions an index makes a number, which is no view of it.
        turned = array[self._mirror] if self.backwards else array
        return turned if self._is_ordered else turned.transpose(self.order)

    def __bool__(self) -> bool:
        """Tell whether anything is turned."""
        return bool(self.backwards) or not self._is_ordered

    def then(self, other: Turn) -> Turn:
        """Return the turn that does another one after this."""
        order = self.order
        backwards = [*self.backwards, *(order[axis] for axis in other.backwards)]
        return Turn(backwards, [order[axis] for axis in other.order])


def by_memory(array: NDArray[Any], axes: Sequence[int]) -> Turn:
    """Return the turn that puts the axes that stay in the order of memory, and leaves ``axes``."""
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    nothing = Turn((), range(array.ndim))
    # What is broadcast has no order, and may be gone through in the one it was given.
    if not all(array.strides[axis] or array.shape[axis] < 2 for axis in kept):
        return nothing
    places = iter(sorted(kept, key=lambda axis: -abs(array.strides[axis])))
    order = [axis if axis in axes else next(places) for axis in range(array.ndim)]
    return Turn([axis for axis in kept if array.strides[axis] < 0], order)


def are_together(array: NDArray[Any], axes: Sequence[int]) -> bool:
    """Tell whether in the order of memory no other axis lies between two of these.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.empty((2, 3, 4, 5))
    >>> are_together(values, (1, 2)), are_together(values, (0, 2)), are_together(values, (3,))
    (True, False, True)
    """
    steps = {axis: abs(array.strides[axis]) for axis, n in enumerate(array.shape) if n > 1}
    going = [step for axis, step in steps.items() if axis in axes]
    between = [axis for axis, step in steps.items() if min(going, default=0) < step]
    return all(axis in axes or steps[axis] > max(going, default=0) for axis in between)


def back_of(turn: Turn, axes: Sequence[int]) -> Turn:
    """Return the turn of results that undoes what `by_memory` did to the axes that stay."""
    kept = [axis for axis in range(len(turn.order)) if axis not in axes]
    order = [turn.order[axis] for axis in kept]
    backwards = [kept.index(axis) for axis in turn.backwards]
    return Turn((), [order.index(axis) for axis in kept]).then(Turn(backwards, range(len(kept))))
