"""The limits of CUDA devices by compute capability."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DeviceProperties"]


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
    warp_size: int = 32
