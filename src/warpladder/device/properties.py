"""The limits of CUDA devices by compute capability.

Figures are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute
Capability" (releases 11 for 5.0 to 7.2, 13 for 7.5 and later), and of the tuning guide of each
architecture. How registers and shared memory are handed out is stated by `cuda_occupancy.h`, the
header of CUDA 13 that is NVIDIA's occupancy calculator. Where these disagree, as the Blackwell
tuning guide does on the blocks per multiprocessor of 12.x (32, elsewhere 24), the header decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from warpladder.errors import InputError, InputTypeError

__all__ = ["DeviceProperties", "dotted", "known_capabilities", "properties_of", "representative"]


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """What a kernel author has to know about a device.

    Attributes
    ----------
    name
        Of the device; for a simulated one, of the architecture.
    compute_capability
        Major and minor version.
    multiprocessors
        Streaming multiprocessors (SMs).
    memory_bytes
        Global memory.
    max_threads_per_block, max_block_dim, max_grid_dim
        Limits of a launch; the latter two per dimension x, y, z.
    max_threads_per_multiprocessor, max_blocks_per_multiprocessor
        What one multiprocessor holds at a time.
    registers_per_multiprocessor, registers_per_block, max_registers_per_thread
        32-bit registers.
    shared_bytes_per_block
        Shared memory that a block may have without asking: all that static arrays may use.
    shared_bytes_per_block_optin
        The most that a block may have as dynamic shared memory.
    shared_bytes_per_multiprocessor
        What resident blocks share.
    shared_bytes_reserved_per_block
        Shared memory that the driver takes for itself in each block.
    shared_allocation_unit
        Bytes; a block's shared memory, the driver's part in it, is rounded up to a multiple.
    register_allocation_unit
        Registers of a warp are rounded up to a multiple.
    partitions_per_multiprocessor
        Parts of a multiprocessor, each with its own registers; a warp lives in one of them.
    warp_size
        Threads in a warp.
    """

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    memory_bytes: int
    max_threads_per_block: int
    max_block_dim: tuple[int, int, int]
    max_grid_dim: tuple[int, int, int]
    max_threads_per_multiprocessor: int
    max_blocks_per_multiprocessor: int
    registers_per_multiprocessor: int
    registers_per_block: int
    max_registers_per_thread: int
    shared_bytes_per_block: int
    shared_bytes_per_block_optin: int
    shared_bytes_per_multiprocessor: int
    shared_bytes_reserved_per_block: int
    shared_allocation_unit: int
    register_allocation_unit: int
    partitions_per_multiprocessor: int
    warp_size: int = 32


class _Row(NamedTuple):
    """What differs between compute capabilities, and one device of that capability."""

    device: str
    multiprocessors: int
    memory_gib: int
    threads: int
    blocks: int
    registers_per_block_kib: int
    shared_kib: int
    shared_kib_per_block: int
    partitions: int = 4


# Device, its multiprocessors and its memory (as advertised, a GB taken for a GiB); per
# multiprocessor: threads and blocks; per block: thousands (1024) of registers; KiB of shared
# memory per multiprocessor, and of it per block with the opt-in.
_TABLE = {
    (5, 0): _Row("GTX 750 Ti", 5, 2, 2048, 32, 64, 64, 48),
    (5, 2): _Row("GTX 980", 16, 4, 2048, 32, 64, 96, 48),
    (5, 3): _Row("Jetson TX1", 2, 4, 2048, 32, 32, 64, 48),
    (6, 0): _Row("P100", 56, 16, 2048, 32, 64, 64, 48, partitions=2),
    (6, 1): _Row("GTX 1080 Ti", 28, 11, 2048, 32, 64, 96, 48),
    (6, 2): _Row("Jetson TX2", 2, 8, 2048, 32, 32, 64, 48),
    (7, 0): _Row("V100", 80, 16, 2048, 32, 64, 96, 96),
    (7, 2): _Row("Jetson AGX Xavier", 8, 32, 2048, 32, 64, 96, 96),
    (7, 5): _Row("T4", 40, 16, 1024, 16, 64, 64, 64),
    (8, 0): _Row("A100", 108, 40, 2048, 32, 64, 164, 163),
    (8, 6): _Row("RTX 3090", 82, 24, 1536, 16, 64, 100, 99),
    (8, 7): _Row("Jetson AGX Orin", 16, 64, 1536, 16, 64, 164, 163),
    (8, 9): _Row("RTX 4090", 128, 24, 1536, 24, 64, 100, 99),
    (9, 0): _Row("H200", 132, 141, 2048, 32, 64, 228, 227),
    (10, 0): _Row("B200", 148, 180, 2048, 32, 64, 228, 227),
    # All that a Blackwell Ultra has; products have some of it switched off.
    (10, 3): _Row("full GB300", 160, 288, 2048, 32, 64, 228, 227),
    (11, 0): _Row("Jetson Thor", 20, 128, 1536, 24, 64, 228, 227),
    (12, 0): _Row("RTX 5090", 170, 32, 1536, 24, 64, 100, 99),
    (12, 1): _Row("GB10", 48, 128, 1536, 24, 64, 100, 99),
}


def dotted(compute_capability: tuple[int, int]) -> str:
    """Return a compute capability as people write it.

    Examples
    --------
    >>> dotted((9, 0))
    '9.0'
    """
    return ".".join(map(str, compute_capability))


def properties_of(
    compute_capability: tuple[int, int],
    multiprocessors: int | None = None,
    name: str | None = None,
) -> DeviceProperties:
    """Return the properties of a typical device of this compute capability.

    Parameters
    ----------
    compute_capability
        Major and minor version.
    multiprocessors
        How many multiprocessors; by default those of the device that stands for the capability.
    name
        What to call it; by default it is named by the capability and its size.

    Raises
    ------
    InputError
        The capability is not known, or there is no multiprocessor.

    Examples
    --------
    >>> hopper = properties_of((9, 0))
    >>> hopper.name, hopper.multiprocessors
    ('simulated sm_90 (H200-sized)', 132)
    >>> hopper.shared_bytes_per_block_optin
    232448
    >>> properties_of((9, 0), multiprocessors=4).name
    'simulated sm_90 (4 multiprocessors)'
    """
    if not isinstance(compute_capability, tuple):
        raise InputError(
            f"compute_capability={compute_capability!r} is no pair of major and minor version: "
            "write (9, 0) for 9.0"
        )
    if compute_capability not in _TABLE:
        known = ", ".join(map(dotted, _TABLE))
        raise InputError(
            f"compute_capability={dotted(compute_capability)} is not known; use one of {known}"
        )
    if not isinstance(multiprocessors, int | None):
        raise InputTypeError(f"multiprocessors={multiprocessors!r} is no whole number")
    if multiprocessors is not None and multiprocessors < 1:
        raise InputError(f"multiprocessors={multiprocessors}: a device has at least one")
    row = _TABLE[compute_capability]
    major, minor = compute_capability
    size = f"{multiprocessors} multiprocessors" if multiprocessors else f"{row.device}-sized"
    ampere_or_later = major >= 8
    return DeviceProperties(
        name=name or f"simulated sm_{major}{minor} ({size})",
        compute_capability=compute_capability,
        multiprocessors=multiprocessors or row.multiprocessors,
        memory_bytes=row.memory_gib << 30,
        max_threads_per_block=1024,
        max_block_dim=(1024, 1024, 64),
        max_grid_dim=(2**31 - 1, 65535, 65535),
        max_threads_per_multiprocessor=row.threads,
        max_blocks_per_multiprocessor=row.blocks,
        registers_per_multiprocessor=64 << 10,
        registers_per_block=row.registers_per_block_kib << 10,
        max_registers_per_thread=255,
        shared_bytes_per_block=48 << 10,
        shared_bytes_per_block_optin=row.shared_kib_per_block << 10,
        shared_bytes_per_multiprocessor=row.shared_kib << 10,
        shared_bytes_reserved_per_block=1024 if ampere_or_later else 0,
        shared_allocation_unit=128 if ampere_or_later else 256,
        register_allocation_unit=256,
        partitions_per_multiprocessor=row.partitions,
    )


def representative(compute_capability: tuple[int, int]) -> str:
    """Return the name of the device that stands for a known compute capability.

    Examples
    --------
    >>> representative((9, 0))
    'H200'
    """
    return _TABLE[compute_capability].device


def known_capabilities() -> tuple[tuple[int, int], ...]:
    """Return the compute capabilities that `properties_of` knows, the oldest first.

    Examples
    --------
    >>> known_capabilities()[0]
    (5, 0)
    """
    return tuple(_TABLE)
