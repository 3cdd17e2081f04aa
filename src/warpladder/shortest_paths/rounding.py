"""Weights that the dtype asked for would change.

Where they are integers they are refused: whoever has integers may count on exact distances, and a
remark is easily missed. Floating-point weights are roundings already; that they were rounded again
is said in `ShortestPaths.why`. Without ``dtype`` no weight is ever changed, nor by NumPy where it
makes an array of a list.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.foreign import numpy_dtype
from warpladder.errors import InputError
from warpladder.shortest_paths.batch import Batch
from warpladder.shortest_paths.forms import Edges, Matrix

__all__ = ["holds_all", "remark_on_rounding"]

_NUMBERS_AT_A_TIME = 1 << 18


def holds_all(given: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype of distances holds every weight of another dtype, or refuses it.

    Examples
    --------
    >>> holds_all(np.dtype("int32"), np.dtype("float64"))
    True
    >>> holds_all(np.dtype("int64"), np.dtype("float64"))
    False
    """
    if dtype.kind == "i" or given.kind == "b":
        # What an integer dtype does not hold never gets there: `prepare` refuses it.
        return True
    if given.kind == "f":
        return given.itemsize <= dtype.itemsize
    return given.itemsize < dtype.itemsize


def remark_on_rounding(given: Edges | Matrix | Batch, dtype: np.dtype[Any]) -> str:
    """Return the first weight that is rounded in a dtype, for people; nothing where there is none.

    Parameters
    ----------
    given
        A graph or many.
    dtype
        Of the distances, as the caller asked for it.

    Raises
    ------
    InputError
        That weight is an integer.

    Examples
    --------
    >>> remark_on_rounding(Matrix(np.array([[0, 0.1], [0.5, 0]]), np.inf), np.dtype("float32"))
    'weights rounded to float32, the first of them (0, 1) from 0.1 to 0.10000000149011612'
    """
    if given.weights is None or holds_all(numpy_dtype(given.weights), dtype):
        return ""
    there = given if isinstance(given, Edges) else given.on_host
    weights: Any = there.weights
    at = _first_rounded(there, dtype) if weights.size else None
    if at is None:
        return ""
    value = weights[at].item()
    with np.errstate(under="ignore"):
        rounded = np.asarray(weights[at]).astype(dtype).item()
    number, at = (at[0], at[1:]) if isinstance(given, Batch) else (None, at)
    place = f"({', '.join(map(str, at))})" + ("" if number is None else f" of graph {number}")
    if weights.dtype.kind == "f":
        return (
            f"weights rounded to {dtype.name}, the first of them {place} from {value} to {rounded}"
        )
    raise InputError(
        f"dtype={dtype.name!r}: it would round weight {place}, the integer {value}, to "
        f"{int(rounded)}; leave it out, or round the weights first",
        graph=number,
    )


def _first_rounded(given: Edges | Matrix | Batch, dtype: np.dtype[Any]) -> tuple[int, ...] | None:
    weights: Any = given.weights
    # In parts: what is compared takes more memory than the weights.
    step = max(1, _NUMBERS_AT_A_TIME * len(weights) // weights.size)
    for start in range(0, len(weights), step):
        changed = _changed(weights[start : start + step], dtype)
        if changed.any():
            changed &= given.counted(start, start + step)
        if changed.any():
            first, *rest = np.unravel_index(int(np.argmax(changed)), changed.shape)
            return (start + int(first), *map(int, rest))
    return None


def _changed(weights: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    if weights.dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            rounded = weights.astype(dtype)
        # NaN, and what becomes infinite, is refused elsewhere.
        return np.asarray((rounded != weights) & np.isfinite(rounded))
    size = weights.astype(np.uint64)
    if weights.dtype.kind == "i":
        # The least int64 is its own absolute value, and right as an unsigned one.
        size = np.abs(weights.astype(np.int64)).astype(np.uint64)
    bits = np.uint64(np.finfo(dtype).nmant + 1)
    beyond = size >> bits
    # From its highest bit to its lowest a number must have no more bits than the dtype holds.
    lowest_bit = size & (~size + np.uint64(1))
    return np.asarray((beyond > 0) & (beyond >= lowest_bit))
