"""What the driver tells of a GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from warpladder.device.properties import DeviceProperties, known_capabilities, properties_of

__all__ = ["read_properties"]

# What the driver tells, by the names that different releases of numba-cuda know it under.
_ATTRIBUTES = {
    "multiprocessors": ("MULTIPROCESSOR_COUNT",),
    "max_threads_per_block": ("MAX_THREADS_PER_BLOCK",),
    "max_threads_per_multiprocessor": (
        "MAX_THREADS_PER_MULTIPROCESSOR",
        "MAX_THREADS_PER_MULTI_PROCESSOR",
    ),
    "max_blocks_per_multiprocessor": ("MAX_BLOCKS_PER_MULTIPROCESSOR",),
    "registers_per_multiprocessor": ("MAX_REGISTERS_PER_MULTIPROCESSOR",),
    "registers_per_block": ("MAX_REGISTERS_PER_BLOCK",),
    "shared_bytes_per_block": ("MAX_SHARED_MEMORY_PER_BLOCK",),
    "shared_bytes_per_block_optin": ("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",),
    "shared_bytes_per_multiprocessor": ("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",),
    "shared_bytes_reserved_per_block": ("RESERVED_SHARED_MEMORY_PER_BLOCK",),
    "warp_size": ("WARP_SIZE",),
}


def read_properties(gpu: Any, memory_bytes: int) -> DeviceProperties:
    """Return what the driver tells of a GPU, completed by compute capability."""
    major, minor = gpu.compute_capability
    capability = (int(major), int(minor))
    # A GPU newer than the table is completed from the newest one before it.
    nearest = max(known for known in known_capabilities() if known <= capability)
    told: dict[str, Any] = {
        field: int(getattr(gpu, name))
        for field, names in _ATTRIBUTES.items()
        for name in names
        if hasattr(gpu, name)
    }
    return replace(
        properties_of(nearest),
        name=gpu.name.decode() if isinstance(gpu.name, bytes) else str(gpu.name),
        compute_capability=capability,
        memory_bytes=memory_bytes,
        max_block_dim=(
            int(gpu.MAX_BLOCK_DIM_X),
            int(gpu.MAX_BLOCK_DIM_Y),
            int(gpu.MAX_BLOCK_DIM_Z),
        ),
        max_grid_dim=(int(gpu.MAX_GRID_DIM_X), int(gpu.MAX_GRID_DIM_Y), int(gpu.MAX_GRID_DIM_Z)),
        **told,
    )
