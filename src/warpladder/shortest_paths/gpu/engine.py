"""The GPU engine on matrices of the host: there, close, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.shortest_paths.cpu_tiles.symmetry import BY_HALF, is_symmetric
from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.gpu import out_of_core
from warpladder.shortest_paths.gpu.close import Plan, close, plan_for
from warpladder.shortest_paths.gpu.kernels import THREADS, write_first_hops
from warpladder.shortest_paths.gpu.transfer import download, upload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = ["BYTES_PER_SECOND", "floyd_warshall", "seconds"]

# By multiprocessor, and bytes of a matrix that cross the bus: H200, rounded down.
_RELAXATIONS_PER_SECOND = 6e10
BYTES_PER_SECOND = 5e9
# Times as long, with next hops: H200, 8,192 of float32 2.1, 24,000 of int32, by tags, 1.07.
_WITH_NEXT_HOPS, _WITH_TAGS = 2, 1.1
# Of a call, however small: on up to 1,024 vertices, 1.7 to 3.8 ms more than the rest tells.
_CALL_SECONDS = 2e-3


def floyd_warshall(
    device: Device,
    dist: NDArray[Any],
    hops: NDArray[Any],
    progress: Callable[[float], None] | None = None,
) -> str:
    """Replace weights by distances, in place: `cpu.floyd_warshall` on a GPU.

    Of a symmetric matrix half is enough where the plan `takes_half`.

    Parameters
    ----------
    device
        The GPU.
    dist
        Shape (n, n), C-contiguous, on the host; prepared by `dense.import_weights`, free of
        negative cycles.
    hops
        Shape (n, n), first next hops; receives those of the distances. Or an empty matrix.
    progress
        Called now and then with the fraction done.

    Raises
    ------
    TooLargeError
        The GPU's memory is not even enough for `out_of_core`, which takes matrices that do not fit.

    Notes
    -----
    Integers come out as from the CPU engine, to the last bit. So do floating-point numbers as long
    as all sums of weights are exact. Where sums are rounded, a distance is that of the same path or
    of one that is as short up to rounding, but the numbers along the path are added in another
    order: an engine adds what it knows from i to k and from k to j, and which k comes last depends
    on how many vertices it takes at a time, 64 to 512 here (more `out_of_core`, depending on how
    much memory is free) and 48 to 384 there. Both lie within n units in the last place of the true
    distance, and within 2 n of each other.
    """
    n = len(dist)
    if n == 0:
        return ""
    carry = bool(hops.size)
    no_path = inner_no_path(dist.dtype).item()
    plan = plan_for(device, n, dist.dtype, carry=carry)
    if not _fits(device, plan, carry=carry):
        out_of_core.floyd_warshall(device, dist, hops, progress)
        return ""
    half = plan.takes_half and is_symmetric(dist)
    shape = (plan.side, plan.side)
    matrix = device.empty(shape, plan.dtype)
    links = device.empty(shape, np.int32) if carry else None
    upload(device, dist, matrix, no_path)
    if carry:
        blocks = min(plan.side, 32 * device.properties.multiprocessors)
        device.launch(write_first_hops, blocks, THREADS, matrix, links, no_path)
    close(device, plan, matrix, links, no_path, progress, half=half, n=n)
    download(device, matrix, dist)
    if carry:
        download(device, links, hops)
    return BY_HALF if half else ""


def seconds(
    device: Device, n: int, dtype: np.dtype[Any], *, half: bool = False, carry: bool = False
) -> float:
    """Estimate the time of `floyd_warshall`, with next hops if ``carry``.

    ``half``: of a symmetric matrix, half of which is enough where the plan takes half. Tags are
    counted on where the plan has them, although distances may turn out to be too long. A matrix
    that does not fit the memory has neither.
    """
    rate = _RELAXATIONS_PER_SECOND * device.properties.multiprocessors
    relaxations = float(n) ** 3
    plan = plan_for(device, n, dtype, carry=carry)
    fits = _fits(device, plan, carry=carry)
    if half and fits and plan.takes_half:
        # By their number, tiles of the diagonal being whole.
        relaxations *= (1 + plan.tile / plan.side) / 2
    if carry:
        relaxations *= _WITH_TAGS if fits and plan.method == "tags" else _WITH_NEXT_HOPS
    moved = n**2 * (2 * dtype.itemsize + (np.dtype(np.int32).itemsize if carry else 0))
    return _CALL_SECONDS + relaxations / rate + moved / BYTES_PER_SECOND


def _fits(device: Device, plan: Plan, *, carry: bool) -> bool:
    """Tell whether there is memory for a whole matrix, and one of next hops with ``carry``."""
    needed = plan.side**2 * (plan.dtype.itemsize + (np.dtype(np.int32).itemsize if carry else 0))
    return needed <= out_of_core.room(device)
