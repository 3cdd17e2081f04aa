"""Trying a dtype, and the next wider one where a distance does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from warpladder.errors import DistanceOverflowError

__all__ = ["DoesNotFitError", "in_fitting_dtype", "wider_dtype"]

_WIDER = {
    np.dtype(narrow): np.dtype(wide)
    for narrow, wide in (("int16", "int32"), ("int32", "int64"), ("float32", "float64"))
}
_Answer = TypeVar("_Answer")


class DoesNotFitError(Exception):
    """A weight or a distance is too large for the dtype at hand; says which."""


def wider_dtype(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """Return the next wider dtype of the kind, None after the last.

    Examples
    --------
    >>> wider_dtype(np.dtype("int16"))
    dtype('int32')
    """
    return _WIDER.get(dtype)


def in_fitting_dtype(
    compute: Callable[[np.dtype[Any]], _Answer],
    dtype: np.dtype[Any],
    *,
    widen: bool,
    number: int | None = None,
) -> tuple[_Answer, str]:
    """Return what ``compute`` gives in a dtype that holds it, and a remark where that is another.

    Parameters
    ----------
    compute
        Raises `DoesNotFitError` where the dtype is too narrow.
    dtype
        Tried first.
    widen
        Whether wider ones may be tried.
    number
        Of the graph, in a batch.

    Raises
    ------
    DistanceOverflowError
        There is no wider one, or none is wanted.
    """
    tried = dtype
    while True:
        try:
            answer = compute(tried)
        except DoesNotFitError as fault:
            wider = wider_dtype(tried)
            if not widen or wider is None:
                remedy = f"take dtype={wider.name!r}" if wider else "scale the weights down"
                raise DistanceOverflowError.of_graph(
                    number, f"{fault}, {_beyond(tried)}; {remedy}"
                ) from None
            tried = wider
        else:
            if tried == dtype:
                return answer, ""
            return answer, f"{tried.name} because {dtype.name} cannot hold a distance"


def _beyond(dtype: np.dtype[Any]) -> str:
    """Return in words that a number is too large for distances of a dtype."""
    if dtype.kind == "f":
        return f"which {dtype.name} cannot hold"
    # Two of them are added before they are compared.
    return f"beyond what distances use of {dtype.name}: half its range, less with weights below 0"
