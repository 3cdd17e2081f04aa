"""Booleans as the bytes that they are.

How many bytes are not 0, whether any and whether all is what is asked of booleans for the most
part, whether it is called a sum, a mean or an extremum. Of bytes there are short ways however they
lie, and their loops do not mind which of them are true ones, where those of booleans ask for 1. By
two cores of an EPYC sums and means of 32 x 32 booleans over the first axis took 7.2 and 11.2 us,
and take 2.8 and 4.2 so, `all` of them with edges cut off 12.6 and 5.9, the sum of 1,000 x 1,000 26
and 10.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.shortcuts.ways import Asked, remembered

__all__ = ["in_bytes", "settled_by_first"]

After = Callable[[Any], Any] | None

_BYTE = np.dtype(np.uint8)
_OF_BYTES = {
    **dict.fromkeys(("sum", "nansum", "mean", "nanmean", "count_nonzero"), "count_nonzero"),
    **dict.fromkeys(("max", "nanmax", "any"), "any"),
    **dict.fromkeys(("min", "nanmin", "all"), "all"),
}
_MEANS = {"mean", "nanmean"}
# What is known of all when the first is seen.
_SETTLED: dict[Any, Any] = {
    **dict.fromkeys(product(("any", "max", "nanmax"), (True,)), np.True_),
    **dict.fromkeys(product(("all", "min", "nanmin"), (False,)), np.False_),
    **dict.fromkeys([("argmax", True), ("nanargmax", True)], np.intp(0)),
    **dict.fromkeys([("argmin", False), ("nanargmin", False)], np.intp(0)),
}
# Of as many as a mask leaves there are means, and perhaps no extremum.
_OF_NOTHING = {"sum", "nansum", "count_nonzero", "any", "all"}


def settled_by_first(truths: NDArray[np.bool_], op: Asked) -> Any:
    """Return the answer of all truths where the first one settles it, else None.

    To find a way to ask all takes 2 us more than this.

    Examples
    --------
    >>> settled_by_first(np.array([True, False]), "any")
    np.True_
    """
    return _SETTLED.get((op, truths.item(0))) if truths.size else None


def in_bytes(
    truths: NDArray[np.bool_], op: Asked, *, masked: bool
) -> tuple[NDArray[Any], Asked, After]:
    """Return what to look at, what to ask of it, and what then makes the answer, if that is left.

    What is not to be asked of bytes is left as it is.

    Examples
    --------
    >>> in_bytes(np.array([True, False]), "max", masked=False)
    (array([1, 0], dtype=uint8), 'any', None)
    """
    known = _asked_of(op, masked) if truths.size else None
    if known is None:
        return truths, op, None
    asked, is_mean = known
    # Counts are float64s, and are rounded once, as the quotient of a sum is.
    after = (lambda found: found / (truths.size // found.size)) if is_mean else None
    return truths.view(_BYTE), asked, after


@remembered
def _asked_of(op: Asked, masked: bool) -> tuple[str, bool] | None:
    """Return what to ask of bytes, and whether it is a mean; None for what is not asked of them."""
    if isinstance(op, tuple):
        return None
    try:
        (request,) = parse_ops(op)
    except (InputError, InputTypeError):
        # Something else may have to be said first.
        return None
    name = request.name
    asked = _OF_BYTES.get(name)
    if asked is None or (masked and name not in _OF_NOTHING):
        return None
    return asked, name in _MEANS
