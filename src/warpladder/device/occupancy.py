"""How many blocks one multiprocessor holds at a time, and what keeps it from holding more.

The rules are those of NVIDIA's occupancy calculator (`cuda_occupancy.h` of CUDA 13):

* a block takes whole warps;
* each warp takes its registers in units of 256, from one of the partitions of the multiprocessor;
  what is left over in a partition too small for a warp stays idle;
* each block takes its shared memory, and since 8.0 another 1 KiB for the driver, in units of
  256 bytes, since 8.0 of 128;
* and there are places for a certain number of warps and of blocks.

The split between L1 cache and shared memory is taken to be the one with the most shared memory.
Named barriers, clusters and the partitioned caching of Maxwell are left out: no kernel here uses
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from warpladder.device.grids import round_up
from warpladder.errors import LaunchError

if TYPE_CHECKING:
    from warpladder.device.properties import DeviceProperties

__all__ = ["Limiter", "Occupancy", "occupancy"]

#: What is used up first.
Limiter = Literal["warps", "blocks", "registers", "shared memory"]

# Before a block starts, the hardware reckons its registers as if its warps filled all of four
# partitions; `cuda_occupancy.h` holds the P100, which has two, to the same.
_RECKONED_PARTITIONS = 4


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How full one multiprocessor gets.

    Attributes
    ----------
    blocks_per_multiprocessor, warps_per_multiprocessor
        Resident at a time.
    fraction
        Resident warps of those that the multiprocessor has places for.
    limiter
        What is used up first: places for ``"warps"``, places for ``"blocks"``, ``"registers"`` or
        ``"shared memory"``; the first of these where several end together.
    """

    blocks_per_multiprocessor: int
    warps_per_multiprocessor: int
    fraction: float
    limiter: Limiter


def occupancy(
    properties: DeviceProperties,
    threads_per_block: int,
    *,
    registers_per_thread: int = 0,
    shared_bytes: int = 0,
) -> Occupancy:
    """Return how many blocks of a kernel one multiprocessor holds at a time.

    Parameters
    ----------
    properties
        Of the device.
    threads_per_block
        In all dimensions together.
    registers_per_thread
        As the compiler allotted them; 0 leaves registers out of account.
    shared_bytes
        Shared memory of a block, static and dynamic together.

    Raises
    ------
    LaunchError
        Not even one block fits.

    Examples
    --------
    The example of the CUDA C++ Best Practices Guide: blocks of 128 threads with 37 registers each.

    >>> from warpladder.device.properties import properties_of
    >>> occupancy(properties_of((7, 0)), 128, registers_per_thread=37)
    Occupancy(blocks_per_multiprocessor=12, warps_per_multiprocessor=48, fraction=0.75,
    limiter='registers')
    """
    _check(properties, threads_per_block, registers_per_thread, shared_bytes)
    warps = -(-threads_per_block // properties.warp_size)
    places = properties.max_threads_per_multiprocessor // properties.warp_size
    blocks_by: dict[Limiter, int] = {
        "warps": places // warps,
        "blocks": properties.max_blocks_per_multiprocessor,
    }
    registers = _registers_per_warp(properties, registers_per_thread)
    if registers:
        partitions = properties.partitions_per_multiprocessor
        per_partition = properties.registers_per_multiprocessor // partitions // registers
        blocks_by["registers"] = per_partition * partitions // warps
    taken = shared_bytes + properties.shared_bytes_reserved_per_block
    shared = round_up(taken, properties.shared_allocation_unit)
    if shared:
        blocks_by["shared memory"] = properties.shared_bytes_per_multiprocessor // shared
    limiter = min(blocks_by, key=blocks_by.__getitem__)
    blocks = blocks_by[limiter]
    return Occupancy(blocks, blocks * warps, blocks * warps / places, limiter)


def _check(
    properties: DeviceProperties, threads: int, registers_per_thread: int, shared_bytes: int
) -> None:
    """Raise `LaunchError` where not even one block fits."""
    most_threads = properties.max_threads_per_block
    if not 1 <= threads <= most_threads:
        raise LaunchError(
            f"threads_per_block={threads}: {properties.name} takes 1 to {most_threads}"
        )
    if shared_bytes < 0 or registers_per_thread < 0:
        raise LaunchError(
            f"registers_per_thread={registers_per_thread}, shared_bytes={shared_bytes}: "
            "neither can be negative"
        )
    most_shared = properties.shared_bytes_per_block_optin
    if shared_bytes > most_shared:
        raise LaunchError(
            f"shared_bytes={shared_bytes}: a block on {properties.name} has at most {most_shared}; "
            "use smaller tiles"
        )
    most_registers = properties.max_registers_per_thread
    if registers_per_thread > most_registers:
        raise LaunchError(
            f"registers_per_thread={registers_per_thread}: a thread on {properties.name} has at "
            f"most {most_registers}"
        )
    warps = round_up(-(-threads // properties.warp_size), _RECKONED_PARTITIONS)
    needed = warps * _registers_per_warp(properties, registers_per_thread)
    if needed > properties.registers_per_block:
        raise LaunchError(
            f"threads_per_block={threads} with registers_per_thread={registers_per_thread} takes "
            f"{needed} registers; a block on {properties.name} has at most "
            f"{properties.registers_per_block}: use smaller blocks, or cuda.jit(max_registers=...)"
        )


def _registers_per_warp(properties: DeviceProperties, registers_per_thread: int) -> int:
    registers = registers_per_thread * properties.warp_size
    return round_up(registers, properties.register_allocation_unit)
