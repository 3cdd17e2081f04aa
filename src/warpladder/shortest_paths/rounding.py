"""Weights that the dtype asked for would change.

Where they are integers they are refused: whoever has integers may count on exact distances, and a
remark is easily missed. Floating-point weights are roundings already; that they were rounded again
is said in `ShortestPaths.why`. Without ``dtype`` no weight is ever changed, nor by NumPy where it
makes an array of a list.
"""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError
from warpladder.shortest_paths.frames import is_frame
from warpladder.shortest_paths.no_edge import is_absent

if TYPE_CHECKING:
    from warpladder.shortest_paths.graph import Graph

__all__ = ["holds_all", "refuse_rounded", "remark_on_rounding"]

_NUMBERS_AT_A_TIME = 1 << 18
_EXACT_BELOW = 2.0**53


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


def remark_on_rounding(graph: Graph, dtype: np.dtype[Any]) -> str:
    """Return the first weight that is rounded in a dtype, for people; nothing where there is none.

    Parameters
    ----------
    graph
        A graph or a stack of graphs, with weights on the host.
    dtype
        Of the distances, as the caller asked for it.

    Raises
    ------
    InputError
        That weight is an integer.

    Examples
    --------
    >>> from warpladder.shortest_paths.graph import Graph
    >>> remark_on_rounding(Graph.from_matrix([[0, 0.1], [0.5, 0]]), np.dtype("float32"))
    'weights rounded to float32, the first of them (0, 1) from 0.1 to 0.10000000149011612'
    """
    weights = graph.weights if graph.matrix is None else graph.matrix
    if weights is None or not weights.size or holds_all(weights.dtype, dtype):
        return ""
    absent = np.inf if graph.matrix is None else graph.no_edge
    at = _first_rounded(weights, absent, dtype)
    if at is None:
        return ""
    value = weights[at].item()
    rounded = np.asarray(weights[at]).astype(dtype).item()
    *stack, row, column = (None, *at)[-3:]
    place = f"({column})" if row is None else f"({row}, {column})"
    if stack and stack[0] is not None:
        place += f" of graph {stack[0]}"
    if weights.dtype.kind == "f":
        return (
            f"weights rounded to {dtype.name}, the first of them {place} from {value} to {rounded}"
        )
    raise InputError(
        f"dtype={dtype.name!r}: it would round weight {place}, the integer {value}, to "
        f"{int(rounded)}; leave it out, or round the weights first"
    )


def refuse_rounded(given: Any, array: NDArray[Any], name: str) -> None:
    """Refuse integers that NumPy rounded, which it does where floats stand beside them.

    Parameters
    ----------
    given
        What the caller has; lists and DataFrames are looked into.
    array
        What NumPy made of it.
    name
        Of the argument.

    Raises
    ------
    InputError
        An integer is not what it was.
    """
    framed = is_frame(given)
    if not (framed or isinstance(given, list | tuple)) or array.dtype.kind != "f":
        return
    with np.errstate(invalid="ignore"):
        large = np.argwhere(np.isfinite(array) & (np.abs(array) >= _EXACT_BELOW))
    if not large.size:
        return
    numbers = given.to_numpy(object) if framed else np.array(given, object)
    for place in map(tuple, large.tolist()):
        if isinstance(numbers[place], Integral) and int(array[place]) != numbers[place]:
            raise InputError(
                f"{name}: the integer {numbers[place]} would be rounded, for there are floats, "
                "as inf is, beside it; give integers only, or floats only"
            )


def _first_rounded(
    weights: NDArray[Any], absent: Any, dtype: np.dtype[Any]
) -> tuple[int, ...] | None:
    # In parts: what is compared takes more memory than the weights.
    step = max(1, _NUMBERS_AT_A_TIME * len(weights) // weights.size)
    for start in range(0, len(weights), step):
        part = weights[start : start + step]
        changed = _changed(part, dtype)
        if changed.any():
            changed &= ~is_absent(part, absent)
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
