"""The top: four wide loads on their way at a time, one launch; any associative operation.

Idea: keep memory busy. A block takes tiles of four times as many groups of 16 bytes as it has
threads. Each thread issues its four loads before it uses what the first one brings, and adds each
to a total of its own, so that no addition waits for another. The grid is as large as surely fits
any GPU at a time, four blocks of 256 threads for each multiprocessor.

It takes the operation, a device function of two numbers for which a kernel is made, and its neutral
element, in whose type it computes. And it takes arrays that begin anywhere, as slices do: single
elements up to the first multiple of 16 bytes, wide loads from there, single elements behind the
last of them. The library's call goes over memory in the same way and finishes in the same way; it
has more to carry, several operations at once, masks and axes (`reduction/gpu/walk.py`).

Below: one load on its way per thread, and the next one waited behind a test. That took twice as
many threads, and blocks, and each block costs a ticket.

Expect: of memory, what it takes at the least, every byte once. Suppose it brings 4.8 TB/s and
answers after 700 ns: then 3.4 MB are on their way, 25 KiB for each of 132 multiprocessors, and 1024
threads with 64 bytes each are 64 KiB, enough. At n = 16,384 four blocks take a tile each: 4 * 8
warps issue 4 wide loads, 128 requests of 16 sectors, and one more reads the four sums that the
blocks leave. The rung below starts 8 blocks, with twice the tickets: 8 * (8 * 2 + 1) barriers
against 8 * (4 * 2 + 1).

Each 4 loads come with 16 additions of integers, which the GPU does two at a time (IADD3), an
addition of 64 bits to the address and another to the index, a comparison and a jump: 20
instructions at most, about one for an element. The compiler may unroll this again.

Source: beyond
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, uint32

from warpladder.device.grids import blocks_for
from warpladder.device.wide_loads import WIDE_BYTES, address_of, load_16_bytes
from warpladder.reduction.rungs._combining import add, block_combiner, taker_of
from warpladder.reduction.rungs._launching import whole_warps
from warpladder.reduction.rungs._tasks import SUM
from warpladder.reduction.rungs.last_block_finish import leave_and_count
from warpladder.rung import Bound, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = [
    "IN_FLIGHT",
    "KERNELS",
    "RUNG",
    "THREADS",
    "kernel_for",
    "reduce_with",
    "run",
    "scanner_of",
]

#: Wide loads that a thread has on their way at a time.
IN_FLIGHT = 4
#: The kernel has 64 registers a thread at the most, so that 4 blocks of 256 fit any GPU. On an H200
#: 1 GiB of int32 goes at 4.26, 4.47, 4.46 and 4.36 TB/s by 2, 4, 6 and 8 such blocks, by 3 of 512
#: threads at 4.49; 16 MiB at 1.83, 1.86, 1.75 and 1.54 (Nsight Compute, caches flushed). CUB's two
#: kernels together: 4.49 and 1.73.
THREADS = 256
BLOCKS_PER_MULTIPROCESSOR = 4


@cache
def scanner_of(combine: Any, threads: int, itemsize: int) -> Any:
    """Return a device function that leaves in ``total[0]`` what a thread's share makes."""
    width = WIDE_BYTES // itemsize
    tile = width * IN_FLIGHT * threads
    take = taker_of(combine, width)

    @cuda.jit(device=True)
    def scan(values, total, neutral):
        for which in range(IN_FLIGHT):
            total[which] = neutral
        t, me, n = cuda.threadIdx.x, cuda.grid(1), values.size
        head = min(n, (-address_of(values) & (WIDE_BYTES - 1)) // itemsize)
        end_of_tiles = head + (n - head) // tile * tile
        end_of_groups = head + (n - head) // width * width

        i = head + cuda.blockIdx.x * tile + width * t
        while i < end_of_tiles:
            first = load_16_bytes(values, i)
            second = load_16_bytes(values, i + width * threads)
            third = load_16_bytes(values, i + 2 * width * threads)
            fourth = load_16_bytes(values, i + 3 * width * threads)
            take(total, 0, first)
            take(total, 1, second)
            take(total, 2, third)
            take(total, 3, fourth)
            i += cuda.gridDim.x * tile
        i = end_of_tiles + width * me
        while i < end_of_groups:
            take(total, 0, load_16_bytes(values, i))
            i += width * cuda.gridsize(1)
        if me < head:
            total[1] = combine(total[1], values[me])
        if me < n - end_of_groups:
            total[2] = combine(total[2], values[end_of_groups + me])

        for which in range(1, IN_FLIGHT):
            total[0] = combine(total[0], total[which])

    return scan


@cache
def kernel_for(combine: Any, threads: int, itemsize: int) -> Any:
    """Return the kernel that reduces arrays of such elements by ``combine``.

    It takes the array, a place for a number of each block, a counter at zero, a place for the
    result, and the neutral element. All numbers but the array's are of the type of the result.
    """
    scan = scanner_of(combine, threads, itemsize)
    combine_block = block_combiner(combine, threads)

    @cuda.jit
    def reduce_array(values, partial, tickets, result, neutral):
        """Leave in ``result[0]`` what the operation makes of all values."""
        total = cuda.local.array(IN_FLIGHT, result.dtype)
        scan(values, total, neutral)
        combine_block(total, neutral)
        t = cuda.threadIdx.x
        if leave_and_count(total[0], partial, tickets):
            total[0] = neutral
            block = uint32(t)
            while block < cuda.gridDim.x:
                total[0] = combine(total[0], partial[block])
                block = uint32(block + threads)
            combine_block(total, neutral)
            if t == 0:
                result[0] = total[0]

    return reduce_array


def reduce_with(
    device: Device, values: Any, combine: Any, neutral: np.generic, threads: int = THREADS
) -> NDArray[Any]:
    """Return what an associative operation makes of all elements, in an array of one.

    Parameters
    ----------
    device
        Where.
    values
        A contiguous array of one dimension, on the host or on the device, of numbers.
    combine
        A device function of two numbers, associative and commutative up to rounding.
    neutral
        The result for no elements; its dtype, of 4 or 8 bytes, is that of the computation.
    threads
        In a block, from 32 to 1024; rounded up to whole warps.

    Returns
    -------
    ndarray, shape (1,)
        One pass over memory; nothing is launched for no elements.

    Raises
    ------
    InputError
        ``threads`` is out of range.

    Examples
    --------
    >>> from warpladder.simulator import SimulatedDevice
    >>> numbers = np.full(1000, 2**30, np.int32)
    >>> reduce_with(SimulatedDevice(), numbers, add, np.int64(0))
    array([1073741824000])
    """
    threads = whole_warps(threads)
    dtype, itemsize = neutral.dtype, values.dtype.itemsize
    tiles = blocks_for(values.size, WIDE_BYTES // itemsize * IN_FLIGHT * threads)
    blocks = min(tiles, BLOCKS_PER_MULTIPROCESSOR * device.properties.multiprocessors)
    if blocks == 0:
        return np.array([neutral])
    partial, result = device.empty(blocks, dtype), device.empty(1, dtype)
    tickets = device.full(1, 0, np.int32)
    kernel = kernel_for(combine, threads, itemsize)
    data = device.to_device(values)
    device.launch(kernel, blocks, threads, data, partial, tickets, result, neutral)
    return device.to_host(result)


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    values = problem.values
    return reduce_with(device, values, add, values.dtype.type(0), threads)


KERNELS = (kernel_for(add, THREADS, 4),)

RUNG = Rung(
    name="tuned",
    title="Four wide loads on their way at a time, one launch",
    source="beyond",
    run=run,
    task=SUM,
    bound=Bound("dram", "4 n bytes over the memory bandwidth"),
    kernels=KERNELS,
    predicts=(
        Prediction(
            "global_load_sectors_per_request",
            "==",
            Ratio(128 * 16 + 1, 129),
            16384,
            "128 wide loads of warps, and one of four sums",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            16384,
            "every byte once: there is nothing left to save",
            than="last-block-finish",
        ),
        Prediction(
            "atomic_requests",
            "==",
            Ratio(1, 2),
            16384,
            "16 elements a thread at the least, not 8: half the blocks, half the tickets",
            than="last-block-finish",
        ),
        Prediction(
            "barriers",
            "==",
            Ratio(4 * 2 + 1, 8 * 2 + 1),
            16384,
            "two for each block, three for the last",
            than="last-block-finish",
            tolerance=1e-9,
        ),
    ),
)
