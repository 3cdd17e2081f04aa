"""The ends of edges as a caller names them: by indices, or by labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from warpladder.errors import InputError, InputTypeError
from warpladder.formats.missing import is_missing
from warpladder.shortest_paths.dtypes import array_of

__all__ = [
    "check_labels",
    "number_labels",
    "one_dimensional",
    "refuse_arrow_scalar",
    "refuse_fine_times",
    "refuse_masked",
]


def one_dimensional(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return the ends of edges as an array: integers where all are, whatever holds them.

    Objects of which some integer is beyond int64 stay objects, as labels are.

    Examples
    --------
    >>> one_dimensional(np.array([2, 0], object), "sources").dtype
    dtype('int64')
    >>> one_dimensional([("a", 1), 2], "sources")
    array([('a', 1), 2], dtype=object)
    """
    refuse_masked(values, name)
    entries: Any = values
    if not isinstance(values, list | tuple):
        array = array_of(values, name, "vertices")
        if array.ndim == 0:
            raise InputTypeError(
                f"{name}: {type(values).__name__} is not taken; give a list or an array, as list() "
                "makes one of what can be iterated over"
            )
        if array.ndim != 1:
            raise InputError(f"{name} must be one-dimensional, this has shape {array.shape}")
        if array.dtype != object:
            refuse_fine_times(array, name)
            return array
        entries = array.tolist()
    if entries and all(isinstance(entry, Integral) for entry in entries):
        integers = _as_integers(entries)
        if integers is not None:
            return integers
    # As objects, or labels of mixed types would all become text and tuples a second dimension.
    objects = np.empty(len(entries), object)
    objects[:] = entries
    return objects


def _as_integers(numbers: Sequence[Integral]) -> NDArray[Any] | None:
    """Return an array; None where one is beyond int64, which makes labels of all."""
    array = np.array(numbers)
    if array.dtype.kind in "bi":
        return array
    # NumPy makes floats of int64 beside uint64, and keeps what is beyond 64 bits as objects.
    try:
        return np.array(list(map(int, numbers)), np.int64)
    except OverflowError:
        return None


def refuse_masked(values: Any, name: str) -> None:
    """Refuse arrays of which NumPy would take what the mask hides."""
    if np.ma.is_masked(values):
        raise InputTypeError(
            f"{name}: masked entries are not taken; leave edges with masked entries out, as in "
            f"{name}.data[kept], where kept = ~numpy.ma.getmaskarray({name})"
        )


def refuse_fine_times(values: NDArray[Any], name: str) -> None:
    """Refuse times of which NumPy would make integers as labels, as it does of nanoseconds."""
    if values.dtype.kind in "mM" and any(isinstance(value, int) for value in values.tolist()):
        kind = values.dtype.type.__name__
        raise InputTypeError(
            f"{name}: {values.dtype} is no label, as Python has no times below a microsecond; "
            f"convert it as in {name}.astype('{kind}[us]') or {name}.astype(str)"
        )


def check_labels(labels: NDArray[Any], name: str, *, listed: bool) -> None:
    """Refuse what cannot be told apart, what is missing, and indices that would become labels.

    ``listed``: the caller has listed all labels, so that any other is refused anyway.
    """
    values = labels.tolist()
    for index, label in enumerate(values):
        try:
            hash(label)
        except TypeError:
            raise InputTypeError(
                f"{name}[{index}] is a {type(label).__name__}, which is neither a vertex index nor "
                "hashable, as labels must be"
            ) from None
        refuse_arrow_scalar(label, name)
        if not listed and is_missing(label):
            raise InputError(
                f"{name}[{index}] is {label!r}, so the edge lacks an end; leave the edge out, or "
                "give its vertex a name"
            )
    if not listed and all(map(_is_whole, values)):
        # As labels they would be numbered in the order in which they come.
        odd = next((i for i, label in enumerate(values) if not isinstance(label, Integral)), None)
        if odd is not None:
            raise InputTypeError(
                f"{name}: vertex indices must be integers, and {name}[{odd}] is {values[odd]!r}; "
                f"convert them, as in numpy.array({name}, int), or give labels= if they are names"
            )


def refuse_arrow_scalar(label: Any, name: str) -> None:
    """Refuse what Arrow's arrays give one by one, integers too: it equals no number and no text."""
    if hasattr(label, "as_py"):
        raise InputTypeError(
            f"{name}: a {type(label).__name__} of Arrow is no label; give Arrow's array itself, or "
            "its to_pylist()"
        )


def _is_whole(label: Hashable) -> bool:
    """Tell whether a label is a whole number, of whatever type."""
    return isinstance(label, Real | Decimal) and label == label // 1


def number_labels(
    sources: NDArray[Any], targets: NDArray[Any], labels: Sequence[Hashable] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Hashable]]:
    """Return both ends as vertex indices, and the labels: as listed, or as they first appear."""
    known = {label: index for index, label in enumerate(labels or ())}
    ends = np.empty((sources.size, 2), np.int64)
    for edge, pair in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        for side, label in enumerate(pair):
            if labels is not None and label not in known:
                raise InputError(f"edge {edge} names {label!r}, which labels does not list")
            ends[edge, side] = known.setdefault(label, len(known))
    return ends[:, 0].copy(), ends[:, 1].copy(), list(known)
