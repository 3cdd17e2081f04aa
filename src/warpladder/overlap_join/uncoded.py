"""Rows whose ids are coded only when codes are asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from warpladder.overlap_join.forms import Rows

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from warpladder.overlap_join.frequencies import Frequencies

__all__ = ["UncodedRows"]


class UncodedRows(Rows):
    """Rows without any id twice, as they were given.

    To code and to sort rows takes longer than to list them, and what lists them may do without.

    Attributes
    ----------
    values
        The ids of each row as they were given.
    counted
        How often each is listed.
    frequency
        In how many rows each code is: int64, ascending.
    """

    values: NDArray[Any]
    counted: Frequencies
    frequency: NDArray[np.int64]
    _codes: Callable[[], NDArray[np.int32]]

    def __init__(
        self,
        starts: NDArray[np.int64],
        universe: int,
        values: NDArray[Any],
        counted: Frequencies,
        frequency: NDArray[np.int64],
        codes: Callable[[], NDArray[np.int32]],
    ) -> None:
        given = {
            "starts": starts, "universe": universe, "values": values, "counted": counted,
            "frequency": frequency, "_codes": codes,
        }  # fmt: skip
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @cached_property
    def items(self) -> NDArray[np.int32]:
        """The codes of each row, as `Rows` has them."""
        return self._codes()
