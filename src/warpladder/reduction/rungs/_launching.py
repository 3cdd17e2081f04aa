"""How the host code of the ladder's rungs sizes its grids, and repeats a pass until one is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.grids import WARP, blocks_for
from warpladder.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = [
    "STEPS",
    "THREADS",
    "check_threads",
    "reduce_in_passes",
    "resident_blocks",
    "whole_warps",
]

#: Threads in a block where nothing asks for another number: eight warps.
THREADS = 256
#: Where threads walk over the array, each has at least so many elements, if there are enough.
STEPS = 8


def check_threads(threads: int) -> int:
    """Return a number of threads that the ladder's blocks can have.

    Raises
    ------
    InputError
        It is not within 32 and 1024.

    Examples
    --------
    >>> check_threads(16)
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: threads=16: a block of this ladder has 32 to 1024 threads
    """
    if not WARP <= threads <= 1024:
        raise InputError(f"threads={threads}: a block of this ladder has {WARP} to 1024 threads")
    return threads


def whole_warps(threads: int) -> int:
    """Return the threads of as many whole warps as a block of ``threads`` threads takes.

    Examples
    --------
    >>> whole_warps(100)
    128
    """
    return WARP * blocks_for(check_threads(threads), WARP)


def resident_blocks(device: Device, threads: int) -> int:
    """Return how many blocks of so many threads the device has places for at a time."""
    gpu = device.properties
    return gpu.multiprocessors * (gpu.max_threads_per_multiprocessor // threads)


def reduce_in_passes(
    device: Device,
    kernel: Any,
    problem: Numbers,
    threads: int,
    *,
    per_thread: int = 1,
    most_blocks: int | None = None,
    shared: bool = True,
) -> NDArray[Any]:
    """Add up the array by passes: each block of a pass leaves one number for the next pass.

    Parameters
    ----------
    device, kernel
        Where, and what is launched: ``kernel(data, partial, n)`` leaves in ``partial[block]`` the
        sum of what the block took of the first ``n`` elements of ``data``.
    problem
        The array.
    threads
        In a block, from 32 to 1024.
    per_thread
        Elements for which a thread is launched; there is a block for each ``threads`` times that.
    most_blocks
        No more blocks than these: their threads walk on over the array.
    shared
        Whether a block has a cell of dynamic shared memory for each thread.

    Returns
    -------
    ndarray, shape (1,)
        The sum; nothing is launched for fewer than two elements.

    Raises
    ------
    InputError
        ``threads`` is out of range.
    """
    check_threads(threads)
    values = problem.values
    n, dtype = values.size, values.dtype
    if n == 0:
        return np.zeros(1, dtype)
    data = device.to_device(values)
    while n > 1:
        blocks = blocks_for(n, per_thread * threads)
        if most_blocks is not None:
            blocks = min(blocks, most_blocks)
        partial = device.empty(blocks, dtype)
        shared_bytes = threads * dtype.itemsize if shared else 0
        device.launch(kernel, blocks, threads, data, partial, n, shared_bytes=shared_bytes)
        data, n = partial, blocks
    return device.to_host(data)
