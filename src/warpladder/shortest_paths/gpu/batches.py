"""The GPU engine for a batch of graphs: all of them there, closed in one launch, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.rungs.batch_of_blocks import bytes_per_graph, close_graphs

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from warpladder.device.base import Device

__all__ = ["close_batch", "close_there"]

# Of the memory that is free; the rest is for whoever else is there.
_FRACTION = 0.8
# One launch cannot be interrupted, so it gets what takes about 0.1 s on a fast GPU.
_RELAXATIONS_AT_A_TIME = 5e11


def close_batch(
    device: Device,
    dist: NDArray[Any],
    hops: NDArray[Any],
    progress: Callable[[float], None] | None = None,
) -> None:
    """Replace weights by distances in all graphs of a batch, in place.

    Parameters
    ----------
    device
        The GPU.
    dist
        Shape (b, n, n), C-contiguous, on the host; prepared by `batch_cpu.import_graphs`, without
        negative weights.
    hops
        Receives next hops, of the same shape; or is empty.
    progress
        Called with the fraction done, where it takes more than one launch.

    Notes
    -----
    As many graphs at a time as fit the free memory of the device. As they came, without a margin:
    the kernel fills them up, and only the numbers of the graphs cross the bus.
    """
    count = len(dist)
    carry = bool(hops.size)
    for first, last in _parts(device, dist, hops.dtype if carry else None):
        weights = device.to_device(dist[first:last])
        links = device.empty(hops[first:last].shape, hops.dtype) if carry else None
        close_graphs(device, weights, links, inner_no_path(dist.dtype).item())
        device.to_host(weights, out=dist[first:last])
        if carry:
            device.to_host(links, out=hops[first:last])
        if progress and last < count:
            progress(last / count)


def close_there(
    device: Device, dist: Any, hops: Any, progress: Callable[[float], None] | None = None
) -> None:
    """Do the same for graphs on the device; ``hops`` may be None.

    The last launch may still be at work on return.
    """
    count = dist.shape[0]
    for first, last in _parts(device, dist, None if hops is None else hops.dtype):
        links = None if hops is None else hops[first:last]
        close_graphs(device, dist[first:last], links, inner_no_path(dist.dtype).item())
        if progress and last < count:
            device.synchronize()
            progress(last / count)


def _parts(device: Device, dist: Any, hops: DTypeLike | None) -> Iterator[tuple[int, int]]:
    """Cut a batch into runs of graphs that fit the device, each for one launch."""
    count, n, _ = dist.shape
    if not count * n:
        return
    needed = bytes_per_graph(n, dist.dtype, hops)
    at_a_time = min(_FRACTION * device.free_bytes() / needed, _RELAXATIONS_AT_A_TIME / n**3)
    step = max(int(at_a_time), 1)
    for first in range(0, count, step):
        yield first, min(first + step, count)
