"""Rows of sets, as files and arrays have them: each an id, and the ids that are related to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Sets"]


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Rows of sets.

    Attributes
    ----------
    starts
        Where each row begins in ``items``, and the end of the last: int64, one more than rows.
    items
        The ids of each row, one behind the other, in any order, some perhaps twice: an array of
        integers; where ids are strings, their positions in ``words``.
    words
        The distinct strings that ids are; None where ids are integers.
    ids
        The rows' own ids, distinct: int64, or an object array of strings; None where rows have
        none, and go by their positions.
    """

    starts: NDArray[np.int64]
    items: NDArray[Any]
    words: NDArray[np.object_] | None = None
    ids: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1
