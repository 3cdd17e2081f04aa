"""The states of the fast accumulators: what is kept of elements gone by, and how two are merged."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.reduction.loops.blocks import element_type
from warpladder.reduction.rules import beginner_of_folds, merger_of_folds

__all__ = [
    "BLOCK",
    "FOLDS",
    "INDEXED_BLOCK",
    "LARGE_BLOCK",
    "NOT_ASKED",
    "Fields",
    "FoldSpec",
    "fields_of",
    "first_rule",
    "kept_as",
    "merge_kernel",
    "merge_rule",
    "merging",
    "new_states",
    "shift_type",
]

#: What was accumulated, by name: one number per row.
Fields = dict[str, NDArray[Any]]

# Rows up to which states are made of bytes (`benchmarks/choices.py`: `few-states`).
_FEW = 1 << 16

BLOCK = 4096
"""Elements whose sum is made in the lanes of vectors."""

LARGE_BLOCK, INDEXED_BLOCK = 16384, 2048
"""Elements per block where nothing is rounded, and where places are asked for.

Fewer blocks are faster, as long as a sum of int16 fits 32 bits; but one that has an extremum is
looked through for the place.
"""

#: What can be kept: the fields of its state with their types (``v`` for that of the elements, ``s``
#: for that of sums, ``m`` for `shift_type`). What is in them first, `rules.beginner_of_folds` says.
FOLDS: dict[str, tuple[tuple[str, str], ...]] = {
    "total": (("total", "s"),),
    # A sum of integers in three words, for their mean. Merging carries into the top one, which is 0
    # up to `rules.MOST_IN_TWO_WORDS` elements: 2^32 integers of 64 bits may not fit two.
    "whole": (("whole_top", "i8"), ("whole_high", "i8"), ("whole_low", "i8")),
    # Times two to the exponent, which stays 0 for integers, whose products wrap.
    "product": (("product", "s"), ("exponent", "i8")),
    "low": (("low", "v"),),
    "high": (("high", "v"),),
    "low_at": (("low_at", "i8"),),
    "high_at": (("high_at", "i8"),),
    "absolute": (("absolute", "f8"),),
    # In three ranges: no square of a float64 is lost by overflow or underflow.
    "square": (("tiny_square", "f8"), ("square", "f8"), ("huge_square", "f8")),
    # The mean is shift + offset; squared deviations from it are in three ranges as well.
    "moments": (
        *(("shift", "m"), ("offset", "f8")),
        *(("tiny_deviation", "f8"), ("deviation", "f8"), ("huge_deviation", "f8")),
    ),
    "nonzero": (("nonzero", "i8"),),
    # The largest value, and the sum of exp(x - that).
    "exponential": (("peak", "f8"), ("scaled", "f8")),
}

NOT_ASKED = -2
"""What stands in the place of an extremum of which nobody asks where it is; see `kept_as`."""

_PLACES = frozenset({"low_at", "high_at"})
_EXTREMA = _PLACES | {"low", "high"}


class FoldSpec(NamedTuple):
    """What one compiled loop does.

    Attributes
    ----------
    folds
        Names out of `FOLDS`.
    values
        Name of the elements' dtype.
    sums
        Name of the dtype in which sums are made within a block: int64, float32 or float64.
    masked
        Whether a mask says which elements count.
    skip_nan
        Whether NaNs do not count.
    block
        Elements per block.
    until
        What a row may be left at, as no later element changes the answer: ``some`` element that is
        not 0, ``none``: one that is, ``extremes``: all that booleans can be; else empty. Extrema of
        integers end within a tile at what none exceeds, unless elements are counted.
    counted
        Whether elements that count have to be counted; else the count of a row may say no more than
        whether there are any.
    """

    folds: frozenset[str]
    values: str
    sums: str
    masked: bool = False
    skip_nan: bool = False
    block: int = BLOCK
    until: str = ""
    counted: bool = True

    @property
    def is_of_extrema(self) -> bool:
        """Whether all that is kept is the least and the largest value, and where they are."""
        return bool(self.folds) and self.folds <= _EXTREMA

    @property
    def is_of_one_place(self) -> bool:
        """Whether it is one extremum of all elements, and where that is."""
        is_one = self.folds in ({"high", "high_at"}, {"low", "low_at"})
        return is_one and not (self.masked or self.skip_nan)

    @property
    def has_places(self) -> bool:
        """Whether it is kept where an extremum is."""
        return not self.folds.isdisjoint(_PLACES)


@cache
def kept_as(spec: FoldSpec) -> FoldSpec:
    """Return the set of folds in whose states another is kept, and by whose loop it is found.

    It is another for an extremum alone: that whose place is asked for has the same loop, which
    looks for none where `NOT_ASKED` stands, and goes by large blocks there. So nobody who asks for
    both waits for two loops. Places of booleans have a loop of their own (`first_truths`), and
    float16 is widened in a buffer for a block of one size.

    Examples
    --------
    >>> spec = FoldSpec(frozenset({"high"}), "float32", "float32", block=LARGE_BLOCK)
    >>> sorted(kept_as(spec).folds)
    ['high', 'high_at']
    """
    is_alone = spec.folds in ({"low"}, {"high"}) and not (spec.masked or spec.skip_nan)
    if not is_alone or spec.block != LARGE_BLOCK or spec.values in {"bool", "float16"}:
        return spec
    folds = spec.folds | {f"{fold}_at" for fold in spec.folds}
    return spec._replace(folds=folds, block=INDEXED_BLOCK)


def shift_type(values: str) -> Any:
    """Return the type of what the differences of elements of a dtype are from."""
    return np.dtype(values if values in {"int64", "uint64"} else "float64").type


def new_states(spec: FoldSpec, rows: int) -> NDArray[Any]:
    """Return the states of ``rows`` reductions that have seen no element yet.

    Examples
    --------
    >>> new_states(FoldSpec(frozenset({"total", "low"}), "float32", "float32"), 2).tolist()
    [(0, 0.0, 0.0), (0, 0.0, 0.0)]
    """
    return repeated(_first_state(spec), rows)


def repeated(state: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return the states of ``rows`` reductions that are all as one is.

    Examples
    --------
    >>> repeated(np.array([(1, 2.5)], "i8, f8"), 2).tolist()
    [(1, 2.5), (1, 2.5)]
    """
    if rows > _FEW:
        return state.repeat(rows)
    # Of many rows bytes do not keep their memory from call to call.
    return np.frombuffer(bytearray(state.tobytes()) * rows, state.dtype)


@cache
def _first_state(spec: FoldSpec) -> NDArray[Any]:
    kept = kept_as(spec)
    fields = fields_of(kept, np.dtype(element_type(spec.values)).str)
    # Wide fields first: all are aligned without gaps.
    fields.sort(key=lambda field: -np.dtype(field[1]).itemsize)
    # Padded where need be: NumPy is slow with numbers that are not aligned.
    state = np.zeros(1, np.dtype(fields, align=True))
    first_rule(kept)(state.view(np.recarray))
    for name in kept.folds - spec.folds:
        state[name] = NOT_ASKED
    return state


def fields_of(spec: FoldSpec, values: str) -> list[tuple[str, str]]:
    """Return the fields of a state and their types, where elements are kept as ``values``."""
    kinds = {
        "v": values,
        "s": "i8" if spec.sums == "int64" else "f8",
        "m": np.dtype(shift_type(spec.values)).str,
    }
    fields = [("count", "i8")]
    for fold, parts in FOLDS.items():
        if fold in spec.folds:
            fields += [(name, kinds.get(kind, kind)) for name, kind in parts]
    return fields


@cache
def first_rule(spec: FoldSpec) -> Any:
    """Return `rules.beginner_of_folds` for a set of folds."""
    return beginner_of_folds(spec.folds)


@cache
def merge_kernel(spec: FoldSpec) -> Any:
    """Return the compiled ``merge(states, later)``: states take in those of later elements."""
    return merging(merge_rule(kept_as(spec)))


def merge_rule(spec: FoldSpec) -> Any:
    """Return `rules.merger_of_folds` for a set of folds, the same one for all that it merges."""
    is_real = "product" in spec.folds and spec.sums != "int64"
    may_be_extreme = "moments" in spec.folds and spec.values == "float64"
    return _merger(spec.folds, is_real=is_real, may_be_extreme=may_be_extreme)


_merger = cache(merger_of_folds)


@cache
def merging(merge: Any) -> Any:
    """Return the compiled ``merge(states, later)`` that follows a rule for two states."""

    @cached
    @njit(nogil=True)
    def merge_all(states, later):  # type: ignore[no-untyped-def]
        for k in range(len(states)):
            merge(states, k, later, k)

    return merge_all
