"""The sum of each row of a matrix, by columns and by rows, and what a GPU would move for it.

One thread adds up one row. That reads well and is slow: at each step the 32 threads of a warp read
32 rows at the same column, which lie far apart. With the matrix stored by columns the same kernel
reads neighbours. The counters show it without a GPU.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numba import cuda

from warpladder.simulator import simulate


@cuda.jit
def sum_rows(matrix, sums):
    """Add up the row of this thread's number."""
    i = cuda.grid(1)
    if i < matrix.shape[0]:
        total = matrix.dtype.type(0)
        for j in range(matrix.shape[1]):
            total += matrix[i, j]
        sums[i] = total


def main() -> None:
    """Count for both orders of the same matrix."""
    matrix = np.ones((256, 64), dtype=np.float32)
    orders: tuple[Literal["C", "F"], ...] = ("C", "F")  # by rows, by columns
    for order in orders:
        sums = np.zeros(256, dtype=np.float32)
        stored = np.asarray(matrix, order=order)
        found = simulate(sum_rows, counters=True).launch(2, 128, (stored, sums)).counters
        print(
            f"order {order}: {found.global_load_sectors_per_request:g} sectors per request, "
            f"{found.load_utilisation_32:g} % of their bytes used, sums[0] = {sums[0]:g}"
        )


if __name__ == "__main__":
    main()
