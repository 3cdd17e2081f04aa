"""The accumulators behind one face: what an engine needs to run them, whatever they keep.

A `Part` accumulates some *fields*, such as ``total`` or ``low``; a plan is made of few parts,
mostly of one. An engine makes empty states, adds tiles, merges states of neighbouring stretches in
order and reads the fields at the end. An engine for GPUs needs to fill the same states.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction import columns, compensated, custom, exact, folds, ranges
from warpladder.reduction.layout import Tile
from warpladder.reduction.states import FoldSpec, merge_kernel, new_states

__all__ = ["CompensatedPart", "CustomPart", "ExactPart", "Fields", "FoldPart", "Part"]

#: What was accumulated, by name: one number per row.
Fields = dict[str, NDArray[Any]]


class Part(Protocol):
    """An accumulator of some fields."""

    @property
    def skip_nan(self) -> bool:
        """Whether NaNs do not count."""

    def new(self, rows: int) -> Any:
        """Return the states of rows that have seen no element."""

    def add(self, tile: Tile, first: int, states: Any) -> None:
        """Add a tile, whose columns count from ``first``, to the states of its rows."""

    def merge(self, states: Any, later: Any) -> None:
        """Let states take in those of the elements that follow."""

    def fields(self, states: Any, counts: NDArray[np.int64]) -> Fields:
        """Return the fields of rows of which ``counts`` elements count."""


@dataclass(frozen=True)
class FoldPart:
    """Any of `states.FOLDS`, the count of elements, ``root``, and ``spread`` where it is needed."""

    spec: FoldSpec

    @property
    def skip_nan(self) -> bool:
        """Whether NaNs do not count."""
        return self.spec.skip_nan

    def new(self, rows: int) -> Any:
        """See `Part`."""
        return self._empty.repeat(rows)

    @cached_property
    def _empty(self) -> Any:
        return new_states(self.spec, 1)

    @cached_property
    def _kernel(self) -> Any:
        # To look it up for each tile takes as long as to add some thousand numbers.
        return folds.fold_kernel(self.spec)

    def add(self, tile: Tile, first: int, states: Any) -> None:
        """See `Part`."""
        data, mask, rows, length, pitch, across = tile
        if across:
            columns.add_columns(self.spec, tile, first, states)
        else:
            self._kernel(data, mask, rows, length, pitch, first, states)

    def merge(self, states: Any, later: Any) -> None:
        """See `Part`."""
        merge_kernel(self.spec)(states, later)

    def is_settled(self, states: Any) -> bool:
        """Return whether these are of one row, and its answer is that whatever follows."""
        until = self.spec.until
        if not until or len(states) > 1 or not states["count"][0]:
            return False
        (row,) = states
        if until == "extremes":
            has = self.spec.folds.__contains__
            return bool((not has("low") or row["low"] == 0) and (not has("high") or row["high"]))
        return bool(row["nonzero"] if until == "some" else row["nonzero"] < row["count"])

    def fields(self, states: Any, counts: NDArray[np.int64]) -> Fields:
        """See `Part`."""
        found: Fields = {name: states[name] for name in states.dtype.names}
        if "square" in self.spec.folds:
            squares = (found[name] for name in ("tiny_square", "square", "huge_square"))
            found["root"] = ranges.root_of(*squares)
        if "moments" in self.spec.folds:
            tiny, middle, huge = (found[f"{name}deviation"] for name in ("tiny_", "", "huge_"))
            if tiny.any() or huge.any():
                found["deviation"] = ranges.sum_of(tiny, middle, huge)
                found["spread"] = ranges.root_of(tiny / counts, middle / counts, huge / counts)
        if "product" in self.spec.folds and self.spec.sums != "int64":
            found["product"] = ranges.product_of(found["product"], found["exponent"])
        return found


@dataclass(frozen=True)
class CompensatedPart:
    """The field ``total``, or ``absolute``, as if summed in twice the precision."""

    spec: compensated.CompensatedSpec

    @property
    def skip_nan(self) -> bool:
        """Whether NaNs do not count."""
        return self.spec.skip_nan

    def new(self, rows: int) -> Any:
        """See `Part`."""
        return np.zeros((rows, 2))

    def add(self, tile: Tile, first: int, states: Any) -> None:  # noqa: ARG002 - see `Part`
        """See `Part`."""
        data, mask, rows, length, pitch, _ = tile
        compensated.compensated_kernel(self.spec)(data, mask, rows, length, pitch, states)

    def merge(self, states: Any, later: Any) -> None:
        """See `Part`."""
        compensated.merge_compensated(states, later)

    def fields(self, states: Any, counts: NDArray[np.int64]) -> Fields:  # noqa: ARG002 - see `Part`
        """See `Part`."""
        name = "absolute" if self.spec.absolute else "total"
        return {name: compensated.compensated_sum(states)}


@dataclass(frozen=True)
class ExactPart:
    """Exact sums and what is made of them.

    ``total``, ``mean``, ``absolute``, ``root`` (of squares), ``deviation`` (the sum of squared ones
    from the mean) and ``spread`` (the root of their mean).
    """

    wanted: frozenset[str]
    values: str
    masked: bool
    skip_nan: bool

    @property
    def _terms(self) -> tuple[str, ...]:
        needed = {
            "value": {"total", "moments"},
            "absolute": {"absolute"},
            "square": {"square", "moments"},
        }
        return tuple(term for term, fields in needed.items() if fields & self.wanted)

    def _spec(self, term: str) -> exact.ExactSpec:
        return exact.ExactSpec(self.values, term, self.masked, self.skip_nan)

    def new(self, rows: int) -> Any:
        """See `Part`."""
        return {term: exact.new_limbs(self._spec(term), rows) for term in self._terms}

    def add(self, tile: Tile, first: int, states: Any) -> None:  # noqa: ARG002 - see `Part`
        """See `Part`."""
        data, mask, rows, length, pitch, _ = tile
        for term, limbs in states.items():
            kernel = exact.exact_kernel(self._spec(term))
            kernel(data, mask, rows, length, pitch, limbs)

    def merge(self, states: Any, later: Any) -> None:
        """See `Part`."""
        for term, limbs in states.items():
            exact.merge_exact(limbs, later[term])

    def fields(self, states: Any, counts: NDArray[np.int64]) -> Fields:
        """See `Part`."""
        found: Fields = {}
        if "total" in self.wanted:
            found["total"] = exact.exact_sums(states["value"])
            found["mean"] = exact.exact_means(states["value"], found["total"], counts)
        if "absolute" in self.wanted:
            found["absolute"] = exact.exact_sums(states["absolute"])
        if "square" in self.wanted:
            found["root"] = exact.exact_roots(states["square"])
        if "moments" in self.wanted:
            sums, squares = states["value"], states["square"]
            found["deviation"], found["spread"] = exact.exact_deviations(sums, squares, counts)
        return found


@dataclass(frozen=True)
class CustomPart:
    """A caller's operation; its field is called "op" and its name, like no other field."""

    op: custom.AssociativeOp
    dtype: np.dtype[Any]
    masked: bool
    skip_nan: bool = False

    def new(self, rows: int) -> Any:
        """See `Part`."""
        return custom.custom_states(self.op, self.dtype, rows)

    def add(self, tile: Tile, first: int, states: Any) -> None:  # noqa: ARG002 - see `Part`
        """See `Part`."""
        data, mask, rows, length, pitch, _ = tile
        kernel = custom.custom_kernel(self.op, self.dtype, self.masked)
        kernel(data, mask, rows, length, pitch, states)

    def merge(self, states: Any, later: Any) -> None:
        """See `Part`."""
        custom.merge_custom(self.op, self.dtype)(states, later)

    def fields(self, states: Any, counts: NDArray[np.int64]) -> Fields:  # noqa: ARG002 - see `Part`
        """See `Part`."""
        return {f"op {self.op.name}": states}
