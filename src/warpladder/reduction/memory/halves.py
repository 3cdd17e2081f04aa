"""Float16s whose rows do not run along memory, widened before anything else is done to them.

A loop along a row widens float16s as it goes. Where rows lie across, or have but a few elements,
many go by at once, and every such loop would need a form of its own for float16s. These go as the
float32s that they are, exactly: a slab after the other, each of which stays in the caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from math import inf, prod
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import entry_for
from warpladder.reduction.memory.layout import SHORT
from warpladder.reduction.memory.spans import Span, spans_of
from warpladder.reduction.scalars import half_to_float

__all__ = ["HALF", "SLAB", "are_better_wide", "slabs_of", "widened"]

HALF = np.dtype(np.float16)

SLAB = 1 << 22
"""Elements that are widened at a time (`benchmarks/choices.py`: `slabs-of-halves`)."""

# Of so few rows few elements are left to a loop along each (`benchmarks/choices.py`:
# `halves-of-few-rows`); of fewer rows in a slab, lines of memory would be cut.
_FEW_ROWS, _LEAST_OF_FEW, _LEAST_OF_SLAB = 16, 1 << 14, 256
# Rows of more elements, of several slabs, are as fast by a loop along each.
_LONG = 2048


@lru_cache(maxsize=1024)
def are_better_wide(
    shape: tuple[int, ...], strides: tuple[int, ...], axes: tuple[int, ...]
) -> bool:
    """Return whether float16s that lie so are widened before they are reduced over axes.

    Examples
    --------
    >>> shape, strides = (100, 200), (400, 2)
    >>> are_better_wide(shape, strides, (0,)), are_better_wide(shape, strides, (1,))
    (True, False)
    """
    steps = [abs(step) if n > 1 else inf for n, step in zip(shape, strides, strict=True)]
    staying = [axis for axis in range(len(shape)) if axis not in axes]
    rows, length = (prod(shape[axis] for axis in sides) for sides in (staying, axes))
    if rows < 2 or not length or min(rows, _LEAST_OF_SLAB) * length > SLAB:
        return False
    if rows < _FEW_ROWS and rows * length < _LEAST_OF_FEW:
        return False
    if rows * length > SLAB and length > _LONG:
        return False
    return length < SHORT or min(steps[axis] for axis in staying) < min(
        steps[axis] for axis in axes
    )


def slabs_of(
    array: NDArray[np.float16], axes: Sequence[int]
) -> Iterator[tuple[Span, NDArray[np.float16]]]:
    """Yield the rows of an array in runs that make slabs, with their elements: axes go last.

    Examples
    --------
    >>> [(span[:2], part.shape) for span, part in slabs_of(np.ones((4, 3), np.float16), (0,))]
    [((0, 3), (3, 4))]
    """
    staying = [axis for axis in range(array.ndim) if axis not in axes]
    turned = array.transpose(*staying, *axes)
    shape, length = turned.shape[: len(staying)], prod(turned.shape[len(staying) :])
    for span in spans_of(shape, SLAB // max(length, 1)):
        yield span, turned[span.slices]


def widened(array: NDArray[np.float16]) -> NDArray[np.float32]:
    """Return float16s as float32s that lie in the same order.

    By NumPy this takes 1.1 ns an element.

    Examples
    --------
    >>> widened(np.array([[1, 0.5]], np.float16))
    array([[1. , 0.5]], dtype=float32)
    """
    if array.flags.carray:
        wide = np.empty(array.size, np.float32)
        _widen_row()(array.reshape(-1).view(np.uint16), wide)
        return wide.reshape(array.shape)
    bits = array.view(np.uint16)
    # In the order of memory.
    wide = np.empty_like(bits, np.float32)
    lie_alike = wide.strides == tuple(2 * step for step in bits.strides)
    if not (lie_alike and bits.flags.behaved):
        bits = bits.copy("K")
    _widen_row()(bits.ravel("K"), wide.ravel("K"))
    return wide


@cache
def _widen_row() -> Callable[..., Any]:
    return entry_for(_widen, np.empty(0, np.uint16), np.empty(0, np.float32))


@cached
@njit(nogil=True)
def _widen(bits, wide):  # type: ignore[no-untyped-def]
    for i in range(bits.size):
        wide[i] = half_to_float(bits[i])
