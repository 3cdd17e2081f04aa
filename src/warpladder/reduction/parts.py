"""The accumulators behind one face, each a `part.Part`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction import custom
from warpladder.reduction.lines import lines
from warpladder.reduction.lines.short_rows import turned
from warpladder.reduction.loops import columns, compensated, exact, folds, ranges
from warpladder.reduction.loops.limbs import merge_exact
from warpladder.reduction.loops.states import (
    Fields,
    FoldSpec,
    merge_kernel,
    merging,
    new_states,
    repeated,
)
from warpladder.reduction.memory.layout import Tile
from warpladder.reduction.part import Part
from warpladder.reduction.rules import merge_compensated, two_sum

__all__ = ["CompensatedPart", "CustomPart", "ExactPart", "FoldPart"]


@dataclass(frozen=True)
class FoldPart(Part):
    """Any of `states.FOLDS`, the count of elements, ``root``, and ``spread`` where it is needed.

    What goes through lines `shares` a tile among those who stand by, if they are there.
    """

    spec: FoldSpec
    shares: bool = field(default=True, kw_only=True)

    @property
    def takes_columns(self) -> bool:
        """See `Part`."""
        return columns.takes_columns(self.spec)

    def new(self, rows: int) -> Any:
        """See `Part`."""
        return repeated(self._empty, rows)

    @cached_property
    def _empty(self) -> Any:
        return new_states(self.spec, 1)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(self._empty.dtype.names)

    @cached_property
    def rare(self) -> tuple[str, ...]:
        """Fields that are 0 but for numbers near the ends of their range."""
        # Squares of all elements but its own fit float64.
        rare = ("exponent", "tiny", "huge") if self.spec.values == "float64" else ("exponent",)
        return tuple(name for name in self._names if name.startswith(rare))

    @cached_property
    def loop(self) -> Any:
        """See `Part`."""
        # To look it up for each tile takes as long as to add some thousand numbers.
        return folds.fold_kernel(self.spec)

    @cached_property
    def by_lines(self) -> Any:
        """What goes through tiles by lines, None where nothing does."""
        takes = lines.takes_lines(self.spec)
        return lines.lines_for(self.spec, shares=self.shares) if takes else None

    def add(self, tile: Tile, first: int, states: Any) -> None:
        """See `Part`."""
        data, mask, rows, length, pitch, across = tile
        if across:
            columns.add_columns(self.spec, tile, first, states)
        else:
            self.loop(data, mask, rows, length, pitch, first, states)

    def states_of(self, tile: Tile, first: int) -> Any:
        """See `Part`."""
        if tile.across:
            return columns.states_of_columns(self.spec, tile, first)
        return super().states_of(tile, first)

    def complete(self, tile: Tile, first: int) -> Any:
        """See `Part`."""
        if not (tile.across or lines.turns(self.spec, tile.rows, tile.length)):
            return super().complete(tile, first)
        found = None if self.by_lines is None else self.by_lines.fields(tile)
        if found is not None:
            return found
        return columns.states_of_columns(self.spec, tile if tile.across else turned(tile), first)

    def mergeable(self, found: Any) -> Any:
        """See `Part`."""
        if not isinstance(found, dict):
            return found
        # What is the same for all rows stands there once.
        states = self.new(max(map(len, found.values())))
        for name, numbers in found.items():
            states[name] = numbers
        return states

    def merged(self, found: Any, later: Any) -> Any:
        """See `Part`."""
        if isinstance(found, dict) and isinstance(later, dict):
            # To make records of both takes twice as long as all else.
            fields: Fields | None = self.by_lines.merged(found, later)
            if fields is not None:
                return fields
        return super().merged(found, later)

    def merge(self, states: Any, later: Any) -> None:
        """See `Part`."""
        merge_kernel(self.spec)(states, later)

    def begin(self, states: Any, initial: NDArray[Any]) -> Any:
        """See `Part`."""
        has, is_first = self.spec.folds.__contains__, states["count"] == 0
        for name, extremum in (("low", np.minimum), ("high", np.maximum)):
            if has(name):
                number, found = initial.astype(states[name].dtype), states[name]
                states[name] = np.where(is_first, number, extremum(found, number))
        if has("total"):
            states["total"] += initial.astype(states["total"].dtype)
        if has("product") and self.spec.sums == "int64":
            states["product"] *= initial.astype(np.int64)
        elif has("product"):
            factor, exponent = np.frexp(initial.astype(np.float64))
            states["product"] *= factor
            states["exponent"] += exponent
        states["count"] += 1
        return states

    def counts(self, states: Any) -> NDArray[np.int64] | None:
        """See `Part`."""
        return np.asarray(states["count"])

    def numbers(self, state: tuple[Any, ...]) -> dict[str, Any] | None:
        """See `Part`."""
        found: dict[str, Any] = dict(zip(self._names, state, strict=True))
        for name in self.rare:
            if found[name]:
                return None
        return found

    def reader(self, name: str) -> Callable[[tuple[Any, ...]], Any]:
        """See `Part`."""
        if name == "root":
            names = ("square", "tiny_square", "huge_square")
            square, tiny, huge = map(self._names.index, names)
            return lambda state: None if state[tiny] or state[huge] else sqrt(state[square])
        if name == "product":
            return super().reader(name)
        # What is kept as it stands needs no look at the others.
        return itemgetter(self._names.index(name))

    def answering(self, names: frozenset[str]) -> Part:
        """See `Part`."""
        until = {frozenset({"any"}): "some", frozenset({"all"}): "none"}.get(names, "")
        if self.spec.values == "bool" and self.spec.is_of_extrema:
            until = until or "extremes"
        return FoldPart(self.spec._replace(until=until))

    def alone(self) -> Part:
        """See `Part`."""
        return replace(self, shares=False)

    def is_settled(self, states: Any) -> bool:
        """See `Part`."""
        until = self.spec.until
        # What is found by lines is of many rows.
        if not until or isinstance(states, dict) or len(states) > 1 or not states["count"][0]:
            return False
        (row,) = states
        if until == "extremes":
            has = self.spec.folds.__contains__
            return bool((not has("low") or row["low"] == 0) and (not has("high") or row["high"]))
        return bool(row["nonzero"] if until == "some" else row["nonzero"] < row["count"])

    def fields(self, states: Any, counts: NDArray[np.int64]) -> Fields:
        """See `Part`."""
        # What is found by lines may be less than all.
        names = states if isinstance(states, dict) else self._names
        found: Fields = {name: states[name] for name in names}
        if "square" in self.spec.folds:
            tiny, middle, huge = found["tiny_square"], found["square"], found["huge_square"]
            found["root"] = ranges.root_of(tiny, middle, huge)
        if "moments" in self.spec.folds:
            tiny, huge = found["tiny_deviation"], found["huge_deviation"]
            if np.count_nonzero(tiny) or np.count_nonzero(huge):
                middle, some = found["deviation"], np.maximum(counts, 1)
                found["deviation"] = ranges.sum_of(tiny, middle, huge)
                found["spread"] = ranges.root_of(tiny / some, middle / some, huge / some)
        if "product" in self.spec.folds and self.spec.sums != "int64":
            found["product"] = ranges.product_of(found["product"], found["exponent"])
        return found


@dataclass(frozen=True)
class CompensatedPart(Part):
    """The field ``total``, or ``absolute``, as if summed in twice the precision."""

    spec: compensated.CompensatedSpec

    def new(self, rows: int) -> Any:
        """See `Part`."""
        return np.zeros(rows, compensated.STATE)

    def add(self, tile: Tile, first: int, states: Any) -> None:  # noqa: ARG002 - see `Part`
        """See `Part`."""
        data, mask, rows, length, pitch, _ = tile
        compensated.compensated_kernel(self.spec)(data, mask, rows, length, pitch, states)

    def merge(self, states: Any, later: Any) -> None:
        """See `Part`."""
        merging(merge_compensated)(states, later)

    def begin(self, states: Any, initial: NDArray[Any]) -> Any:
        """See `Part`."""
        states["high"], error = two_sum(states["high"], float(initial))
        states["low"] += error
        return states

    def fields(self, states: Any, counts: NDArray[np.int64]) -> Fields:  # noqa: ARG002 - see `Part`
        """See `Part`."""
        name = "absolute" if self.spec.absolute else "total"
        return {name: compensated.compensated_sum(states)}


@dataclass(frozen=True)
class ExactPart(Part):
    """Exact sums and what is made of them.

    ``total``, ``mean``, ``absolute``, ``root`` (of squares), ``deviation`` (the sum of squared ones
    from the mean) and ``spread`` (the root of their mean).
    """

    wanted: frozenset[str]
    spec: exact.ExactSpec

    @property
    def terms(self) -> tuple[str, ...]:
        """What is summed up: elements, their absolute values, their squares."""
        needed = {
            "value": {"total", "moments"},
            "absolute": {"absolute"},
            "square": {"square", "moments"},
        }
        return tuple(term for term, fields in needed.items() if fields & self.wanted)

    def spec_of(self, term: str) -> exact.ExactSpec:
        """Return what the loop of one of the terms is compiled for."""
        return self.spec._replace(term=term)

    def new(self, rows: int) -> Any:
        """See `Part`."""
        return {term: exact.new_limbs(self.spec_of(term), rows) for term in self.terms}

    def limbs_of(self, term: str) -> int:
        """Return how many limbs a sum has, with the one of what is no number."""
        return int(exact.new_limbs(self.spec_of(term), 0).shape[1])

    def add(self, tile: Tile, first: int, states: Any) -> None:  # noqa: ARG002 - see `Part`
        """See `Part`."""
        data, mask, rows, length, pitch, _ = tile
        for term, limbs in states.items():
            kernel = exact.exact_kernel(self.spec_of(term))
            kernel(data, mask, rows, length, pitch, limbs)

    def merge(self, states: Any, later: Any) -> None:
        """See `Part`."""
        for term, limbs in states.items():
            merging(merge_exact)(limbs, later[term])

    def begin(self, states: Any, initial: NDArray[Any]) -> Any:
        """See `Part`."""
        rows, limbs = states["value"].shape
        first = exact.limbs_of(initial.item(), limbs)
        self.merge(states, {"value": np.broadcast_to(first, (rows, limbs)).copy()})
        return states

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
class CustomPart(Part):
    """A caller's operation; its field is called "op" and its name, like no other field."""

    op: custom.AssociativeOp
    dtype: np.dtype[Any]
    masked: bool

    @property
    def skip_nan(self) -> bool:
        """See `Part`."""
        return False

    @property
    def elements(self) -> np.dtype[Any] | None:
        """See `Part`."""
        return None

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

    def begin(self, states: Any, initial: NDArray[Any]) -> Any:
        """See `Part`."""
        first = np.full_like(states, initial.astype(self.dtype))
        self.merge(first, states)
        return first

    def fields(self, states: Any, counts: NDArray[np.int64]) -> Fields:  # noqa: ARG002 - see `Part`
        """See `Part`."""
        return {f"op {self.op.name}": states}
