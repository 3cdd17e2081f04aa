"""Whether next hops that are on a GPU lead everywhere, found without bringing them to the host.

Rounded sums and edges of weight zero can leave next hops that go round and round. Whoever follows
them from all vertices at once finds out by pointer doubling: each entry knows a vertex further on
the way, and in each turn takes what that one knows. After k turns it is 2**k steps on, so after
log2(n) turns an entry that has not arrived never will. (J. C. Wyllie: The Complexity of Parallel
Computations, 1979, has the technique.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.device.kernel_cache import cached
from warpladder.shortest_paths.dense import NO_HOP
from warpladder.shortest_paths.gpu.kernels import THREADS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = ["circling", "go_further", "mark_circles"]


@cached
@cuda.jit
def go_further(links, further):
    """Write for each vertex and target where twice as many steps lead."""
    rows, n = links.shape
    for row in range(cuda.blockIdx.x, rows, cuda.gridDim.x):
        first = row - row % n
        for target in range(cuda.threadIdx.x, n, cuda.blockDim.x):
            link = links[row, target]
            # From the target itself there is nowhere else to go: its link is its own.
            further[row, target] = link if link == NO_HOP else links[first + link, target]


@cached
@cuda.jit
def mark_circles(links, circles):
    """Mark the graphs in which some entry has not arrived."""
    rows, n = links.shape
    for row in range(cuda.blockIdx.x, rows, cuda.gridDim.x):
        for target in range(cuda.threadIdx.x, n, cuda.blockDim.x):
            link = links[row, target]
            on_the_way = link != NO_HOP
            if on_the_way and link != target:
                cuda.atomic.max(circles, row // n, 1)


def circling(device: Device, links: Any) -> NDArray[np.bool_]:
    """Return of which graphs some next hops never arrive.

    Parameters
    ----------
    device
        Where the next hops are.
    links
        Those of b graphs of n vertices one below the other, shape (b n, n), int32, `NO_HOP` where
        there is no path, and on the diagonal the vertex itself; they are not written to.

    Raises
    ------
    TooLargeError
        Two more arrays of the size do not fit the device.

    Notes
    -----
    O(b n^2 log n), and waits for the device.
    """
    rows, n = links.shape
    circles = device.full(rows // n, 0, np.int32)
    there, further = device.empty((rows, n), np.int32), device.empty((rows, n), np.int32)
    blocks = min(rows, 32 * device.properties.multiprocessors)
    known = links
    for _ in range(max(n - 2, 0).bit_length()):
        device.launch(go_further, blocks, THREADS, known, there)
        known, there, further = there, further, there
    device.launch(mark_circles, blocks, THREADS, known, circles)
    marked: NDArray[np.bool_] = device.to_host(circles) != 0
    return marked
