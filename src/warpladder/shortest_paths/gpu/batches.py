"""The GPU engine for a stack of graphs: all of them there, closed in one launch, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.rungs.batch_of_blocks import bytes_per_graph, close_graphs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = ["close_stack"]

# Of the memory that is free; the rest is for whoever else is there.
_FRACTION = 0.8
# One launch cannot be interrupted, so it gets what takes about 0.1 s on a fast GPU.
_RELAXATIONS_AT_A_TIME = 5e11


def close_stack(
    device: Device,
    dist: NDArray[Any],
    hops: NDArray[Any],
    progress: Callable[[float], None] | None = None,
) -> None:
    """Replace weights by distances in all graphs of a stack, in place.

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
    count, n, _ = dist.shape
    if not dist.size:
        return
    carry = bool(hops.size)
    needed = bytes_per_graph(n, dist.dtype, hops.dtype if carry else None)
    at_a_time = min(_FRACTION * device.free_bytes() / needed, _RELAXATIONS_AT_A_TIME / n**3)
    step = max(int(at_a_time), 1)
    for first in range(0, count, step):
        last = min(first + step, count)
        _close_part(device, dist[first:last], hops[first:last] if carry else None)
        if progress and last < count:
            progress(last / count)


def _close_part(device: Device, dist: NDArray[Any], hops: NDArray[Any] | None) -> None:
    weights = device.to_device(dist)
    links = None if hops is None else device.empty(hops.shape, hops.dtype)
    close_graphs(device, weights, links, inner_no_path(dist.dtype).item())
    device.to_host(weights, out=dist)
    if hops is not None:
        device.to_host(links, out=hops)
