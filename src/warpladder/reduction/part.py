"""What an engine needs to run an accumulator, whatever that keeps; `parts` has the accumulators.

A `Part` accumulates some *fields*, such as ``total`` or ``low``; a plan is made of few parts,
mostly of one. An engine makes empty states, adds tiles, merges states of neighbouring stretches in
order and reads the fields at the end. An engine for GPUs needs to fill the same states.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.loops.states import Fields
from warpladder.reduction.memory.layout import Tile

__all__ = ["Part"]


class Part(ABC):
    """An accumulator of some fields: its states, how they take in elements, what is made of them.

    Attributes
    ----------
    spec
        What its loops are compiled for.
    """

    spec: Any

    @property
    def skip_nan(self) -> bool:
        """Whether NaNs do not count."""
        return bool(self.spec.skip_nan)

    @property
    def elements(self) -> np.dtype[Any] | None:
        """What tiles bring the elements as; None where it does not matter."""
        return np.dtype("uint8" if self.spec.values == "bool" else self.spec.values)

    @property
    def loop(self) -> Any:
        """The loop that `add` calls, where fields are those of its states; else None."""
        return None

    @property
    def takes_columns(self) -> bool:
        """Whether tiles may lie across."""
        return False

    @abstractmethod
    def new(self, rows: int) -> Any:
        """Return the states of rows that have seen no element."""

    @abstractmethod
    def add(self, tile: Tile, first: int, states: Any) -> None:
        """Add a tile, whose columns count from ``first``, to the states of its rows."""

    def complete(self, tile: Tile, first: int) -> Any:
        """Return what serves as states of the rows of a tile for `fields`."""
        return self.states_of(tile, first)

    def states_of(self, tile: Tile, first: int) -> Any:
        """Return the states of the rows of a tile, whose columns count from ``first``."""
        states = self.new(tile.rows)
        self.add(tile, first, states)
        return states

    def mergeable(self, found: Any) -> Any:
        """Return as states what `complete` has found."""
        return found

    def merged(self, found: Any, later: Any) -> Any:
        """Return what `complete` has found of elements and of those that follow, as of all.

        Both are used up; it may serve as states, or be found.
        """
        states = self.mergeable(found)
        self.merge(states, self.mergeable(later))
        return states

    @abstractmethod
    def merge(self, states: Any, later: Any) -> None:
        """Let states take in those of the elements that follow."""

    @abstractmethod
    def begin(self, states: Any, initial: NDArray[Any]) -> Any:
        """Return the states of rows with a number before all elements; ``states`` are used up.

        It takes no compiled code that is made for a dtype: this is called for few rows, once.
        """

    def counts(self, states: Any) -> NDArray[np.int64] | None:  # noqa: ARG002 - likewise
        """Return how many elements of each row count, None where the states do not tell."""
        return None

    def is_settled(self, states: Any) -> bool:  # noqa: ARG002 - likewise
        """Return whether these are of one row, and its answer is that whatever follows."""
        return False

    def numbers(self, state: tuple[Any, ...]) -> dict[str, Any] | None:  # noqa: ARG002 - likewise
        """Return the `fields` of one row, plain numbers like its state; None if it takes more."""
        return None

    def reader(self, name: str) -> Callable[[tuple[Any, ...]], Any]:
        """Return what takes one of these fields alone from such a state."""

        def read(state: tuple[Any, ...]) -> Any:
            found = self.numbers(state)
            return None if found is None else found[name]

        return read

    def answering(self, names: frozenset[str]) -> Part:  # noqa: ARG002 - likewise
        """Return the part that answers these operations alone: it may settle sooner."""
        return self

    def alone(self) -> Part:
        """Return the part whose `complete` leaves who stands by to others."""
        return self

    @abstractmethod
    def fields(self, states: Any, counts: NDArray[np.int64]) -> Fields:
        """Return the fields of rows of which ``counts`` elements count."""
