"""One fold of rows that lie across, without a record for each row.

`columns` keeps a record for each row, which may take in more tiles and any set of folds. Where a
matrix is short and wide, as 8 x 2,000,000, the records are more memory than its numbers. For what
is asked for most, one fold alone, the loop leaves plain arrays, one number per row, of which the
results are made. They are the same numbers, made in the same order. Measured on two shared cores of
a Cascade Lake Xeon, in one process with `numpy.min` over axis 0 of 8 x 2,000,000 int8: 0.58 of its
speed, with records 0.13; sum of float32 0.77 and 0.57, of 4096 x 4096 float64 7 % less time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.environment import worker_count
from warpladder.device.subroutines import entry_for
from warpladder.reduction.lines.deviations import (
    deviations_alone,
    moments_of_lines,
    takes_deviations,
    way_to_short_deviations,
)
from warpladder.reduction.lines.line_kernel import (
    FIELDS,
    is_extreme_of_some,
    lines_kernel,
    may_leave_range,
    results_type,
)
from warpladder.reduction.lines.shared_lines import Found, LinesTogether
from warpladder.reduction.lines.short_rows import folder_of_panels, folder_of_short_rows, turned
from warpladder.reduction.lines.small_panels import folder_of_small_panels
from warpladder.reduction.loops.blocks import element_type
from warpladder.reduction.loops.columns import lines_joined
from warpladder.reduction.loops.cuts import is_exact
from warpladder.reduction.loops.states import Fields, FoldSpec
from warpladder.reduction.memory.layout import SHORT, ArrayRows, Tile
from warpladder.reduction.memory.levels import Levels, Panels
from warpladder.reduction.quiet import quietly
from warpladder.reduction.rules import LARGEST_PRODUCT, LEAST_PRODUCT, LOW_WORD, outdoes
from warpladder.reduction.together import Together

__all__ = ["Lines", "Moments", "Range", "join_lines", "lines_for", "takes_lines", "turns"]

# Elements from which short rows are turned (`benchmarks/choices.py`: `short-rows-turned`).
_LEAST_TURNED = 2048
# Elements of rows that are gone through as they lie where any order leaves the same bits, and up to
# how many of all rows (`benchmarks/choices.py`: `long-rows-of-few`, `few-elements`). Means of
# integers take longer so, whatever there is.
_LONG_OF_FEW, _FEW_ELEMENTS = 16, 1 << 12

# Both are found faster one after the other than with records.
_RANGE = frozenset({"low", "high"})
_WHOLE = frozenset({"whole"})

_NOTHING: NDArray[np.int64] = np.empty(0, np.int64)


@cache
def takes_lines(spec: FoldSpec) -> bool:
    """Return whether there is such a loop for a set of folds."""
    folds = {"total", "whole", "product", "low", "high", "nonzero", "absolute", "square"}
    is_one = (len(spec.folds) == 1 and spec.folds <= folds) or spec.folds == _RANGE
    is_one &= not spec.masked and spec.values != "float16"
    return is_one or takes_deviations(spec)


def turns(spec: FoldSpec, rows: int, length: int) -> bool:
    """Return whether so many rows of a length, which do not lie across, are turned for it."""
    if not (0 < length < SHORT and rows * length >= _LEAST_TURNED and takes_lines(spec)):
        return False
    are_few = length >= _LONG_OF_FEW and rows * length < _FEW_ELEMENTS
    # Of what rounds bits hang on it.
    return not (are_few and is_exact(spec) and spec.folds != _WHOLE)


def count_turned(spec: FoldSpec, rows: ArrayRows) -> int:
    """Return how many rows, of those that `turns`, have the same bits by whatever tiles there are.

    Of what rounds those of a last tile that is small have others.
    """
    if is_exact(spec):
        return rows.count
    done = 0
    for span in rows.row_spans():
        if not turns(spec, span.end - span.begin, rows.length):
            break
        done = span.end
    return done


@cache
def lines_for(spec: FoldSpec, *, shares: bool = True) -> Lines | Range | Moments:
    """Return what goes through tiles for a set of folds; see `takes_lines`.

    It ``shares`` large ones among those who stand by, if they are there.

    Examples
    --------
    >>> numbers = np.array([3, 1, 2, 5, 0, 2], np.int8)
    >>> low = lines_for(FoldSpec(frozenset({"low"}), "int8", "int64"))
    >>> low.fields(Tile(numbers, np.empty(0, bool), 3, 2, 3, 3))["low"]
    array([3, 0, 2], dtype=int8)
    """
    if spec.folds == _RANGE:
        return Range(spec, shares=shares)
    return Moments(spec) if takes_deviations(spec) else Lines(spec, shares=shares)


class Range:
    """Both extrema, one after the other: ``each`` of them is found by its own loop."""

    def __init__(self, spec: FoldSpec, *, shares: bool) -> None:
        specs = [spec._replace(folds=frozenset({fold})) for fold in ("low", "high")]
        self.each = [Lines(each, shares=shares) for each in specs]

    def fields(self, tile: Tile) -> Fields | None:
        """See `Lines`."""
        low, high = (each.fields(tile) for each in self.each)
        assert low is not None and high is not None  # noqa: S101, PT018 - only what rounds is left
        return low | high

    def merged(self, fields: Fields, later: Fields) -> None:
        """See `Lines`: records serve better."""

    def sharing(self, tile: Tile) -> Together | None:
        """See `Lines`."""
        return self.each[0].sharing(tile)


class Moments:
    """Means and deviations from them, or the deviations alone."""

    def __init__(self, spec: FoldSpec, *, are_all: bool = True) -> None:
        self._spec, self._are_all = spec, are_all

    def fields(self, tile: Tile) -> Fields | None:
        """See `Lines`."""
        data, _, rows, length, pitch, across = tile
        if across or self._are_all or self._spec.skip_nan or length == 1:
            lying_across = tile if across else turned(tile)
            return moments_of_lines(self._spec, lying_across, are_all=self._are_all)
        # Whoever deals out tiles deals out enough.
        find = way_to_short_deviations(self._spec, ((rows, pitch),), length, shares=False)
        found = find(data)
        return None if found is None else deviations_alone(found, np.array([length]))

    def merged(self, fields: Fields, later: Fields) -> None:
        """See `Lines`: records serve better."""

    def sharing(self, tile: Tile) -> None:
        """See `Lines`: this thread goes through it alone."""


class Lines:
    """A fold alone: what its loop finds of a tile that lies across, or whose rows are short.

    Parameters
    ----------
    spec
        The fold, and of what.
    shares
        See `lines_for`.
    """

    def __init__(self, spec: FoldSpec, *, shares: bool = True) -> None:
        self.spec = spec
        (self._fold,) = spec.folds
        self.kernel, self._kind, self._in_two_words = lines_kernel(spec)
        self.may_leave = may_leave_range(spec)
        self._results = results_type(spec)
        self._no_results, self.none = np.empty(0, self._results), np.empty(0, self._kind)
        self._marks = np.uint8 if is_extreme_of_some(spec) else np.int64
        self.element = np.dtype(element_type(spec.values))
        self.together = None
        if shares and (workers := worker_count()) > 1:
            self.together = LinesTogether(self.kernel, self.element, self.room, workers)

    def fields(self, tile: Tile) -> Fields | None:
        """Return the fields of all rows of a tile, None where records serve better.

        It lies across, or its rows are short: then they are turned. The count is one number where
        it is the same for all rows. Lines are joined as in `columns`.
        """
        spec, fold, length = self.spec, self._fold, tile.length
        joined = lines_joined(tile) if tile.across else 1
        if joined == 1:
            found = self.found(tile, FIELDS)
        elif fold == "product" and self.may_leave:
            return None
        else:
            found = self._joined(tile, joined)
        first, second, counts, _ = found
        if not spec.skip_nan:
            counts = np.array([length])
        elif is_extreme_of_some(spec):
            has_none = np.count_nonzero(counts)
            counts = 1 - counts.astype(np.int64) if has_none else np.ones(1, np.int64)
        if fold == "whole":
            top = np.zeros(1, np.int64)
            return {"count": counts, "whole_low": first, "whole_high": second, "whole_top": top}
        if self.may_leave and np.count_nonzero(second):
            return None
        if fold == "square":
            return {
                "count": counts,
                fold: first,
                "tiny_square": np.zeros(1),
                "huge_square": np.zeros(1),
            }
        if fold == "product":
            # Of what is in range, and of integers, the power of two is 0.
            return {"count": counts, fold: first, "exponent": np.zeros(1, np.int64)}
        if spec.until == "none":
            # How many are not 0 is asked for where others follow; all, or too few, says as much.
            first = first * np.int64(length)
        return {"count": counts, fold: first}

    def merged(self, fields: Fields, later: Fields) -> Fields | None:
        """Return these of elements and of those that follow as the fields of all; both are used up.

        None where records serve better, which take in the same.
        """
        fold = self._fold
        if self.spec.skip_nan or fold == "whole":
            return None
        old, new = fields[fold], later[fold]
        if fold == "product" and self.may_leave:
            product = quietly(np.multiply, old, new)
            sizes = np.abs(product)
            if not (sizes.min() >= LEAST_PRODUCT and sizes.max() <= LARGEST_PRODUCT):
                return None
            fields[fold] = product
        else:
            join_lines(self.spec, (old, _NOTHING, _NOTHING), (new, _NOTHING, _NOTHING))
        fields["count"] = fields["count"] + later["count"]
        return fields

    def sharing(self, tile: Tile) -> Together | None:
        """Return what a tile that lies across is gone through by together with who stands by.

        It is None where this thread goes through it alone.
        """
        takes = self.together is not None and self.together.takes(tile.rows * tile.length)
        return self.together if takes and lines_joined(tile) == 1 else None

    def results(self, tile: Tile, how: int) -> NDArray[Any] | None:
        """Return the results of all rows of a tile, None where fields are to be made first.

        They are of `results_type`, the same as of the fields. ``how`` is `SUMS` or the like.
        """
        if tile.across and lines_joined(tile) > 1:
            return None
        _, second, _, results = self.found(tile, how)
        return None if self.may_leave and np.count_nonzero(second) else results

    @cached_property
    def loop(self) -> Callable[..., None]:
        """The loop for tiles as they are, at whose types it does not look."""
        few, places = np.empty(0, self.element), self.room(0, 1, FIELDS)
        return entry_for(self.kernel, few, 1, 1, 1, 1, 1, *places, FIELDS)

    def found(self, tile: Tile, how: int) -> Found:
        """Return what the loop finds of each row of a tile of which none are joined."""
        if not tile.across and tile.length > 1:
            data, _, rows, length, pitch, _ = tile
            return self.folder_of_rows(((rows, pitch),), length, how)(data)
        tile = tile if tile.across else turned(tile)
        data, _, rows, length, pitch, width = tile
        found = None
        if self.together is not None:
            found = self.together(data, rows, length, pitch, width, how)
        return self.found_alone(tile, rows, how) if found is None else found

    def folder_of_panels(
        self, panels: Panels, length: int, how: int
    ) -> Callable[[NDArray[Any]], Found]:
        """Return what finds what the loop finds of rows that lie across in panels."""
        given, shares = (self.kernel, self.room, self.element), self.together is not None
        return folder_of_panels(*given, panels, length, how, shares=shares)

    def folder_of_rows(
        self, levels: Levels, length: int, how: int, step: int = 1
    ) -> Callable[[NDArray[Any]], Found]:
        """Return what finds what the loop finds of rows that do not lie across."""
        given, shares = (self.kernel, self.room, self.element), self.together is not None
        return folder_of_short_rows(*given, levels, length, how, step=step, shares=shares)

    def folder_of_small_panels(
        self, panels: int, length: int, side: int, how: int
    ) -> Callable[[NDArray[Any]], Found]:
        """Return what finds what the loop finds of rows that lie across in small panels."""
        given, shares = (self.kernel, self.room, self.element), self.together is not None
        return folder_of_small_panels(*given, panels, length, side, how, shares=shares)

    def found_alone(self, tile: Tile, left: int, how: int) -> Found:
        """Return what this thread finds by the loop of a tile that lies across.

        It is that of so many rows, which others are joined to.
        """
        data, _, rows, length, pitch, width = tile
        found = first, second, counts, results = self.room(rows, 1, how)
        self.loop(data, rows, length, pitch, width, left, *found, how)
        return found if left == rows else (first[:left], second[:left], counts[:left], results)

    def room(self, rows: int, pieces: int, how: int) -> Found:
        """Return where the loop leaves what it finds of so many rows in so many pieces."""
        second = np.zeros(pieces, np.int64) if self.may_leave else _NOTHING
        if how != FIELDS:
            return self.none, second, _NOTHING, np.empty(rows, self._results)
        if self._in_two_words:
            second = np.empty(rows, np.int64)
        counts: NDArray[Any] = np.zeros(rows, self._marks) if self.spec.skip_nan else _NOTHING
        return np.empty(rows, self._kind), second, counts, self._no_results

    def _joined(self, tile: Tile, joined: int) -> Found:
        """Return what is found where so many lines are taken as one."""
        data, mask, rows, length, pitch, width = tile
        lines, wide = length // joined, joined * width
        found = self.found_alone(Tile(data, mask, wide, lines, wide, wide), width, FIELDS)
        if lines * joined < length:
            left = length - lines * joined
            rest = Tile(data[lines * joined * pitch :], mask, rows, left, pitch, width)
            join_lines(self.spec, found[:3], self.found(rest, FIELDS)[:3])
        return found


def join_lines(
    spec: FoldSpec, earlier: Sequence[NDArray[Any]], later: Sequence[NDArray[Any]]
) -> None:
    """Let what is left of rows take in that of their later elements, as `rules` does."""
    (fold,) = spec.folds
    (old, old_high, old_counts), (new, new_high, new_counts) = earlier, later
    if fold in {"low", "high"} and not spec.skip_nan:
        (np.minimum if fold == "low" else np.maximum)(old, new, out=old)
        return
    if fold in {"low", "high"}:
        # Where nothing counts stands what all are ahead of.
        np.copyto(old, new, where=outdoes(new, old, new < old if fold == "low" else new > old))
        old_counts &= new_counts
        return
    if fold == "product":
        old *= new
    elif fold == "whole":
        old += new
        old_high += new_high + (old >> 32)
        old &= LOW_WORD
    elif old.dtype == np.uint8:
        (np.bitwise_or if spec.until == "some" else np.bitwise_and)(old, new, out=old)
    else:
        if fold == "square":
            old_high |= new_high
        quietly(np.add, old, new, old)
    old_counts += new_counts
