"""The occupancy calculator against published examples, and others worked out by hand.

While it was written, it gave the blocks and the limiter of `cuda_occupancy.h` (CUDA 13.5) in all of
175,712 cases spread over every compute capability.
"""

from __future__ import annotations

import pytest

from warpladder.device.occupancy import Limiter, Occupancy, occupancy
from warpladder.device.properties import properties_of
from warpladder.errors import LaunchError

KIB = 1024


@pytest.mark.parametrize(
    ("capability", "threads", "registers", "shared", "blocks", "fraction"),
    [
        # CUDA C++ Best Practices Guide, "Calculating Occupancy".
        ((7, 0), 128, 37, 0, 12, 0.75),
        ((7, 0), 320, 37, 0, 4, 0.625),
        # CUDA C++ Programming Guide, "Multiprocessor Level": 2 x 512 x 64 registers match exactly,
        # and one register more per thread leaves a single block.
        ((6, 1), 512, 64, 0, 2, 0.5),
        ((6, 1), 512, 65, 0, 1, 0.25),
        # CUDA Programming Guide 13, "Writing CUDA SIMT Kernels", on occupancy.
        ((10, 0), 768, 0, 0, 2, 0.75),
        ((10, 0), 32, 0, 0, 32, 0.5),
        ((10, 0), 128, 0, 100 * KIB, 2, 0.125),
    ],
)
def test_published_examples(
    capability: tuple[int, int],
    threads: int,
    registers: int,
    shared: int,
    blocks: int,
    fraction: float,
) -> None:
    found = occupancy(
        properties_of(capability), threads, registers_per_thread=registers, shared_bytes=shared
    )
    assert (found.blocks_per_multiprocessor, found.fraction) == (blocks, fraction)


@pytest.mark.parametrize(
    ("capability", "threads", "registers", "shared", "expected"),
    [
        # 8 warps of 32 x 32 = 1024 registers; 64 places for warps, so 8 blocks.
        ((9, 0), 256, 32, 0, Occupancy(8, 64, 1.0, "warps")),
        # 33 registers: 1056 become 1280 per warp; a partition of 16384 holds 12 warps, four
        # partitions 48, which is 6 blocks of 8.
        ((9, 0), 256, 33, 0, Occupancy(6, 48, 0.75, "registers")),
        # 96 registers: 3072 per warp; 5 warps in each partition, 20 together, 2 blocks of 7. The
        # 65536 registers in one piece would hold 21 warps, and so 3 blocks.
        ((9, 0), 224, 96, 0, Occupancy(2, 14, 14 / 64, "registers")),
        # 200 registers: 6400 per warp; two partitions of 32768 hold 5 each on 6.0, four of 16384
        # hold 2 each on 6.1.
        ((6, 0), 32, 200, 0, Occupancy(10, 10, 10 / 64, "registers")),
        ((6, 1), 32, 200, 0, Occupancy(8, 8, 8 / 64, "registers")),
        # One thread takes a whole warp.
        ((9, 0), 1, 0, 0, Occupancy(32, 32, 0.5, "blocks")),
        ((8, 9), 32, 0, 0, Occupancy(24, 24, 0.5, "blocks")),
        # 33 threads take two warps: 64 // 2 = 32 blocks of two.
        ((9, 0), 33, 0, 0, Occupancy(32, 64, 1.0, "warps")),
        # 16 KiB and the driver's 1 KiB: 228 // 17 = 13.
        ((9, 0), 128, 0, 16 * KIB, Occupancy(13, 52, 52 / 64, "shared memory")),
        # No KiB for the driver before 8.0: 96 // 16 = 6.
        ((7, 0), 128, 0, 16 * KIB, Occupancy(6, 24, 0.375, "shared memory")),
        # 20065 + 1024 = 21089 becomes 21120 in units of 128: 11 of them are 232320 of 233472.
        ((9, 0), 32, 0, 20065, Occupancy(11, 11, 11 / 64, "shared memory")),
        # 20200 + 1024 = 21224, of which 11 would be 233464, becomes 21248, of which 10 fit.
        ((9, 0), 32, 0, 20200, Occupancy(10, 10, 10 / 64, "shared memory")),
        # In units of 256: 8129 becomes 8192, 8 of which fill 64 KiB; 8193 becomes 8448.
        ((7, 5), 32, 0, 8129, Occupancy(8, 8, 0.25, "shared memory")),
        ((7, 5), 32, 0, 8193, Occupancy(7, 7, 7 / 32, "shared memory")),
        # The most that a block may have leaves room for no other.
        ((9, 0), 1024, 64, 227 * KIB, Occupancy(1, 32, 0.5, "registers")),
        ((9, 0), 1024, 32, 227 * KIB, Occupancy(1, 32, 0.5, "shared memory")),
    ],
)
def test_by_hand(
    capability: tuple[int, int], threads: int, registers: int, shared: int, expected: Occupancy
) -> None:
    found = occupancy(
        properties_of(capability), threads, registers_per_thread=registers, shared_bytes=shared
    )
    assert found == expected


def test_ties_name_the_first() -> None:
    # Eight blocks by warps, by registers and, with 27 KiB + 1 KiB, by shared memory.
    found = occupancy(properties_of((9, 0)), 256, registers_per_thread=32, shared_bytes=27 * KIB)
    expected: Limiter = "warps"
    assert (found.blocks_per_multiprocessor, found.limiter) == (8, expected)


@pytest.mark.parametrize(
    ("capability", "threads", "registers", "shared", "message"),
    [
        ((9, 0), 1025, 0, 0, "threads_per_block=1025.*1 to 1024"),
        ((9, 0), 0, 0, 0, "threads_per_block=0"),
        ((9, 0), 32, 256, 0, "registers_per_thread=256.*at most 255"),
        ((9, 0), 32, 0, 227 * KIB + 1, "shared_bytes=232449.*at most 232448"),
        ((6, 1), 32, 0, 48 * KIB + 1, "shared_bytes=49153.*at most 49152"),
        # 65 registers: 2304 per warp, 32 warps: 73728.
        ((9, 0), 1024, 65, 0, "takes 73728 registers.*at most 65536"),
        # The hardware reckons 10 warps of 200 registers as 12: 12 x 6400 = 76800, though ten warps
        # take 64000; so on the P100 too, whose partitions would hold them.
        ((9, 0), 320, 200, 0, "takes 76800 registers"),
        ((6, 0), 320, 200, 0, "takes 76800 registers"),
        # 16 warps of 2304 are 36864; half a multiprocessor's registers are for one block on 5.3.
        ((5, 3), 512, 65, 0, "takes 36864 registers.*at most 32768"),
        ((9, 0), 32, -1, 0, "neither can be negative"),
        ((9, 0), 32, 0, -1, "neither can be negative"),
    ],
)
def test_impossible(
    capability: tuple[int, int], threads: int, registers: int, shared: int, message: str
) -> None:
    with pytest.raises(LaunchError, match=message):
        occupancy(
            properties_of(capability), threads, registers_per_thread=registers, shared_bytes=shared
        )
