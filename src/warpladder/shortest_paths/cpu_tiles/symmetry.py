"""Whether a matrix of weights is symmetric, as that of an undirected graph is.

Asking costs n^2 steps beside the n^3 of closing the matrix, and next to nothing where it is not:
the first rows of most digraphs tell.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from warpladder.shortest_paths.cpu_tiles.transposed import are_mirrored
from warpladder.shortest_paths.dense import over_rows

__all__ = ["BY_HALF", "is_symmetric"]

BY_HALF = "half of the relaxations, as the graph is undirected"
"""What an engine says of a symmetric matrix."""


def is_symmetric(matrix: NDArray[Any]) -> bool:
    """Return whether a matrix equals its transpose bit for bit.

    So 0.0 is not -0.0, which is equal but may be added up to another zero.

    Parameters
    ----------
    matrix
        Shape (n, n), C-contiguous, real.

    Examples
    --------
    >>> import numpy as np
    >>> is_symmetric(np.array([[0, 4], [4, 0]])), is_symmetric(np.array([[0, 4], [7, 0]]))
    (True, False)
    """
    bits = matrix.view(f"u{matrix.dtype.itemsize}")
    unlike: list[int] = []

    def compare(first: int, last: int) -> None:
        if not unlike and not are_mirrored(bits, first, last):
            unlike.append(first)

    over_rows(compare, len(matrix))
    return not unlike
