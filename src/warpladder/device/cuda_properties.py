"""What the driver tells of a GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from warpladder.device.properties import DeviceProperties, known_capabilities, properties_of

__all__ = ["read_properties"]

# What the driver tells, by cuda.core's names.
_ATTRIBUTES = {
    "multiprocessors": "multiprocessor_count",
    "max_threads_per_block": "max_threads_per_block",
    "max_threads_per_multiprocessor": "max_threads_per_multiprocessor",
    "max_blocks_per_multiprocessor": "max_blocks_per_multiprocessor",
    "registers_per_multiprocessor": "max_registers_per_multiprocessor",
    "registers_per_block": "max_registers_per_block",
    "shared_bytes_per_block": "max_shared_memory_per_block",
    "shared_bytes_per_block_optin": "max_shared_memory_per_block_optin",
    "shared_bytes_per_multiprocessor": "max_shared_memory_per_multiprocessor",
    "shared_bytes_reserved_per_block": "reserved_shared_memory_per_block",
    "warp_size": "warp_size",
}


def read_properties(gpu: Any, memory_bytes: int) -> DeviceProperties:
    """Return what the driver tells of a GPU of cuda.core, completed by compute capability."""
    major, minor = gpu.compute_capability
    capability = (int(major), int(minor))
    # A GPU newer than the table is completed from the newest one before it.
    nearest = max(known for known in known_capabilities() if known <= capability)
    driver = gpu.properties
    told: dict[str, Any] = {
        field: int(getattr(driver, name))
        for field, name in _ATTRIBUTES.items()
        if hasattr(driver, name)
    }
    return replace(
        properties_of(nearest),
        name=str(gpu.name),
        compute_capability=capability,
        memory_bytes=memory_bytes,
        max_block_dim=(driver.max_block_dim_x, driver.max_block_dim_y, driver.max_block_dim_z),
        max_grid_dim=(driver.max_grid_dim_x, driver.max_grid_dim_y, driver.max_grid_dim_z),
        **told,
    )
