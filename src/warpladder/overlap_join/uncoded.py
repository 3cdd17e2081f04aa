"""Rows whose ids are coded only when codes are asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from warpladder.overlap_join.forms import Rows

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from warpladder.overlap_join.frequencies import Classes, Frequencies
    from warpladder.overlap_join.occurring import Occurring

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
    classes
        How many are listed how often.
    occurring
        In how many rows codes are, ascending.
    """

    values: NDArray[Any]
    counted: Frequencies
    classes: Classes
    occurring: Occurring
    _codes: Callable[[], NDArray[np.int32]]

    def __init__(
        self,
        starts: NDArray[np.int64],
        universe: int,
        values: NDArray[Any],
        counted: Frequencies,
        classes: Classes,
        occurring: Occurring,
        codes: Callable[[], NDArray[np.int32]],
    ) -> None:
        given = {
            "starts": starts, "universe": universe, "values": values, "counted": counted,
            "classes": classes, "occurring": occurring, "_codes": codes,
        }  # fmt: skip
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @cached_property
    def items(self) -> NDArray[np.int32]:
        """The codes of each row, as `Rows` has them."""
        return self._codes()
