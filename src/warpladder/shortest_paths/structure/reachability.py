"""Which vertex reaches which: Warshall's closure on rows of bits, 64 pairs a word.

Source: Warshall (1962).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached

__all__ = ["count_pairs", "reachable"]


def reachable(edges: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return the transitive and reflexive closure, one row of bits per vertex.

    Parameters
    ----------
    edges
        Shape (n, n); True where there is an edge.

    Examples
    --------
    >>> chain = np.eye(3, k=1, dtype=bool)
    >>> count_pairs(reachable(chain))
    6
    """
    n = len(edges)
    packed = np.packbits(edges, axis=1, bitorder="little")
    words = np.zeros((n, (n + 63) // 64 * 8), np.uint8)
    words[:, : packed.shape[1]] = packed
    bits = words.view(np.uint64)
    diagonal = np.arange(n)
    bits[diagonal, diagonal // 64] |= np.uint64(1) << (diagonal % 64).astype(np.uint64)
    _close(bits)
    return bits


def count_pairs(bits: NDArray[np.uint64]) -> int:
    """Return the number of set bits."""
    return int(np.bitwise_count(bits).sum())


@cached
@njit(nogil=True)
def _close(bits: Any) -> None:
    n = bits.shape[0]
    for k in range(n):
        word = k // 64
        mask = np.uint64(1) << np.uint64(k % 64)
        via = bits[k]
        for i in range(n):
            if bits[i, word] & mask:
                row = bits[i]
                for j in range(row.size):
                    row[j] |= via[j]
