"""One atomic addition a block: its sum and its ticket in the same word.

Idea: `tuned` leaves a block's sum, fences, takes a ticket, fences, and the last block reads all
sums again: four trips to the L2 cache, one after the other. But adding up is what an atomic
addition does. So each block adds one word of 64 bits, its sum in the lower 48 bits and a one above
them: the ticket. What the addition returns tells how many blocks came before, and what they had
added. The last one knows the result at once. There is nothing to fence, since there is only one
word; and the last block sets it back to zero, ready for the next launch.

This is for sums of integers alone. They may be added in any order, and room is needed for a number
beside them: sums modulo 2**32 leave it, also of thousands of blocks; so do sums of 64 bits that are
known to stay below 2**47.

Below: three of the four trips, more than 1 us. That is nothing for 1 GiB, and a lot for 1 MiB. And
a grid as large as fits at a time: some multiprocessors get their share from memory sooner than
others, and then wait. Here a block costs so little that there are several times as many, and
whoever is done takes the next.

Expect: one trip. At n = 16,384 four blocks take a tile each: 128 wide loads of warps, and none
besides; four atomic additions; a barrier for each of 4 * 8 warps, where in `tuned` they meet twice
and the last block once more. An array of one block needs no atomic addition at all.

A sum below zero borrows from the ticket's bits. Half of a ticket, added before they are read,
rounds that away.

Found: on an NVIDIA H200 two ways of timing agree. By cuda-bench (2026-11-26), medians of 53 runs
and more, it takes 6.59 us for 2**20 numbers and 948 us for 2**30, and `tuned` 8.03 us and 959 us.
By the benchmark of the ladder (2026-11-23), the least of three runs between events on another copy
of the numbers, it is 6.56 us and 929 us, and for `tuned` 8.00 us and 939 us. Two other runs of
that benchmark had this rung alone slower on 2**30; most did not.

Source: beyond

Question: The ticket has the upper 16 bits of a signed word of 64. How many blocks can it count, and
would 40 blocks for each of 132 multiprocessors be too many?
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, int64

from warpladder.device.grids import blocks_for
from warpladder.device.wide_loads import WIDE_BYTES
from warpladder.errors import InputTypeError
from warpladder.reduction.rungs._combining import add, block_combiner
from warpladder.reduction.rungs._launching import whole_warps
from warpladder.reduction.rungs._tasks import SUM
from warpladder.reduction.rungs.tuned import IN_FLIGHT, scanner_of
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["KERNELS", "LARGEST_SUM", "RUNG", "kernel_for", "run", "sum_with"]

SUM_BITS = 48
TICKET = 1 << SUM_BITS
HALF_TICKET = TICKET >> 1
#: What no sum of some of the elements may exceed, in magnitude.
LARGEST_SUM = HALF_TICKET - 1
#: All that the word's upper bits count, as a signed number.
MOST_BLOCKS = (1 << (63 - SUM_BITS)) - 1
THREADS = 256
#: On an H200, in us by events, of which an empty launch takes 2.7; caches cold. With 12, 24 and 40
#: such blocks a twin of this kernel, for aligned arrays alone, took 6.4, 6.3, 6.4 for 2**20
#: numbers, 249, 244, 243 for 2**28 and 960, 931, 929 for 2**30, beside CUB's 9.6, 248 and 935, and
#: 7.5, 244 and 931 where its order of additions is not fixed. ``benchmarks/gpu_sums.py`` times this
#: one.
BLOCKS_PER_MULTIPROCESSOR = 40


@cache
def kernel_for(threads: int, itemsize: int) -> Any:
    """Return the kernel that adds up integers of such a size.

    It takes the array, a word of 64 bits at zero, which it leaves at zero, a place for the result,
    and a zero of the type of the result.
    """
    scan, add_block = scanner_of(add, threads, itemsize), block_combiner(add, threads)

    @cuda.jit
    def add_in_one_word(values, word, result, zero):
        """Leave the sum of all values in ``result[0]``."""
        total = cuda.local.array(IN_FLIGHT, result.dtype)
        scan(values, total, zero)
        add_block(total, zero)
        if cuda.gridDim.x == 1:
            if cuda.threadIdx.x == 0:
                result[0] = total[0]
        elif cuda.threadIdx.x == 0:
            mine = int64(TICKET) + int64(total[0])
            before = cuda.atomic.add(word, 0, mine)
            if (before + HALF_TICKET) >> SUM_BITS == cuda.gridDim.x - 1:
                result[0] = before + mine - cuda.gridDim.x * int64(TICKET)
                word[0] = 0

    return add_in_one_word


def sum_with(
    device: Device, values: Any, dtype: np.dtype[Any], threads: int = THREADS
) -> NDArray[Any]:
    """Return the sum of integers, in an array of one.

    Parameters
    ----------
    device
        Where.
    values
        A contiguous array of integers of one dimension, on the host or on the device.
    dtype
        Of the result: int32, modulo 2**32; or int64, and then no sum of some of the elements may
        exceed `LARGEST_SUM` in magnitude.
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
    InputTypeError
        ``values`` are no integers, or the result would not be of those two types.

    Examples
    --------
    >>> from warpladder.simulator import SimulatedDevice
    >>> sum_with(SimulatedDevice(), np.full(1000, -3, np.int8), np.dtype("int64"))
    array([-3000])
    """
    threads = whole_warps(threads)
    if values.dtype.kind not in "iu":
        raise InputTypeError(
            f"values: {values.dtype} is not added in one word, only integers are; use tuned"
        )
    if dtype not in (np.int32, np.int64):
        raise InputTypeError(f"dtype={dtype}: a sum in one word is int32 or int64")
    itemsize = values.dtype.itemsize
    tiles = blocks_for(values.size, WIDE_BYTES // itemsize * IN_FLIGHT * threads)
    blocks = min(tiles, BLOCKS_PER_MULTIPROCESSOR * device.properties.multiprocessors, MOST_BLOCKS)
    if blocks == 0:
        return np.zeros(1, dtype)
    word, result = device.full(1, 0, np.int64), device.empty(1, dtype)
    kernel = kernel_for(threads, itemsize)
    device.launch(kernel, blocks, threads, device.to_device(values), word, result, dtype.type(0))
    return device.to_host(result)


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    return sum_with(device, problem.values, problem.values.dtype, threads)


KERNELS = (kernel_for(THREADS, 4),)

RUNG = Rung(
    name="one-word-finish",
    title="One atomic addition a block: sum and ticket in one word",
    source="beyond",
    run=run,
    task=SUM,
    bound=Bound("dram", "4 n bytes over the memory bandwidth"),
    kernels=KERNELS,
    predicts=(
        Prediction(
            "barriers",
            "==",
            Ratio(4 * 8, 4 * 8 * 2 + 8),
            16384,
            "once for each warp: nobody waits for the last block",
            than="tuned",
            tolerance=1e-9,
        ),
        Prediction("atomic_requests", "==", 4, 16384, "a word for each of 4 blocks"),
        Prediction(
            "global_load_sectors_per_request",
            "==",
            16,
            16384,
            "128 wide loads of warps, and nothing is read twice",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-26",
            1 << 20,
            (("one-word-finish", 0.00659), ("tuned", 0.00803)),
            "libraries",
        ),
        Found(
            "NVIDIA H200",
            "2026-11-26",
            1 << 30,
            (("one-word-finish", 0.948), ("tuned", 0.959)),
            "libraries",
        ),
        Found(
            "NVIDIA H200", "2026-11-23", 1 << 20, (("one-word-finish", 0.00656), ("tuned", 0.008))
        ),
        Found("NVIDIA H200", "2026-11-23", 1 << 30, (("one-word-finish", 0.929), ("tuned", 0.939))),
    ),
)
