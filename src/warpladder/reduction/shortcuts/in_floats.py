"""Float16s that go as float32s, see `memory.halves`: the same ways, results rounded once."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.answers import are_axes, axes_of
from warpladder.reduction.memory.halves import HALF, SLAB, are_better_wide, widened
from warpladder.reduction.ops import Op, parse_ops, result_dtype
from warpladder.reduction.shortcuts.ways import Asked, Into, Unrounded, remembered

__all__ = ["go_in_floats", "in_floats"]

After = Callable[[Any], Any] | None

# Several operations at once have no short way then, which so many rows make up for
# (`benchmarks/choices.py`: `halves-of-several`).
_LEAST_ROWS_OF_SEVERAL = 1 << 12


def go_in_floats(array: NDArray[Any], axes: tuple[int, ...], *, at_once: int) -> bool:
    """Return whether these are float16s that so many operations over some axes take as float32s."""
    if array.dtype is not HALF or not are_better_wide(array.shape, array.strides, axes):
        return False
    length = prod(array.shape[axis] for axis in axes)
    return at_once == 1 or array.size // length >= _LEAST_ROWS_OF_SEVERAL


def in_floats(
    halves: NDArray[np.float16], op: Asked, axis: Any, after: After
) -> tuple[NDArray[Any], Asked | None, After]:
    """Return what to reduce, what to ask of it, and what then makes the answer, if that is left.

    What does not go as float32s is left as it is, and what is to come ``after`` it; what does not
    do so by a short way has None to be asked for.

    Examples
    --------
    >>> array, asked, after = in_floats(np.ones((2, 64), np.float16), "max", 0, None)
    >>> array.dtype, asked, after(np.float32(1))
    (dtype('float32'), 'max', np.float16(1.0))
    """
    axes = axes_of(axis, halves.ndim) if type(axis) is int or are_axes(axis) else None
    at_once = len(op) if type(op) is tuple else 1
    if axes is None or not go_in_floats(halves, axes, at_once=at_once):
        return halves, op, after
    known = _asked_of(op)
    if known is None or halves.size > SLAB:
        return halves, None, None
    asked, rounded = known
    return widened(halves), asked, _after_both(rounded, after)


@remembered
def _asked_of(op: Asked) -> tuple[Asked, After] | None:
    """Return what to ask of float32s, and what then makes the answer; None for the long way."""
    if isinstance(op, Into | Unrounded):
        return op, None
    if isinstance(op, tuple):
        return None
    try:
        (request,) = parse_ops(op)
        dtype = result_dtype(request, HALF, None)
    except (InputError, InputTypeError, ValueError):
        # Something else is to be said first.
        return None
    if dtype is not HALF:
        return op, None
    is_element = isinstance(request.op, Op) and request.op.result == "element"
    return (op, _rounded) if is_element else (Into(op, HALF, type(HALF)), None)


def _after_both(first: After, then: After) -> After:
    if first is None or then is None:
        return first or then
    return lambda found: then(first(found))


def _rounded(found: Any) -> Any:
    return found.astype(HALF)
