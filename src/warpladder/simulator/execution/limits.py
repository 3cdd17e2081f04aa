"""What a launch may ask for: extents in whole numbers, within what device and kernel allow."""

from __future__ import annotations

import operator
from typing import Any

from warpladder.device.occupancy import occupancy
from warpladder.device.properties import DeviceProperties
from warpladder.errors import LaunchError
from warpladder.simulator.machine.lanes import Geometry
from warpladder.simulator.machine.program import Program

__all__ = ["check_limits", "extents", "resident_blocks"]


def extents(what: str, given: Any, kernel: str) -> tuple[int, int, int]:
    """Return the three extents of a grid or block as it is given to a launch."""
    parts = tuple(given) if isinstance(given, tuple | list) else (given,)
    if not 1 <= len(parts) <= 3:
        raise LaunchError(f"{kernel}: the {what} has 1 to 3 dimensions; {given!r} has {len(parts)}")
    numbers = []
    for part in parts:
        try:
            number = operator.index(part)
        except TypeError:
            raise LaunchError(
                f"{kernel}: the {what} {given!r} is not made of whole numbers"
            ) from None
        if number < 1:
            raise LaunchError(
                f"{kernel}: the {what} {given!r} is empty: each dimension must be at least 1"
            )
        numbers.append(number)
    return (*numbers, *(1,) * (3 - len(numbers)))  # type: ignore[return-value]


def resident_blocks(properties: DeviceProperties, threads: int, shared_bytes: int) -> int:
    """Return how many blocks the device holds at a time, registers left out of account."""
    fits = occupancy(properties, threads, shared_bytes=shared_bytes)
    return fits.blocks_per_multiprocessor * properties.multiprocessors


def check_limits(
    program: Program,
    geometry: Geometry,
    properties: DeviceProperties,
    shared_dynamic: int,
    cooperative: bool,
    threads_bound: int | None,
    *,
    as_numba: bool,
) -> None:
    """Refuse a launch that the device, or the kernel's own bound, does not allow."""
    where = f"{program.name} on {properties.name}"
    for axis, name in enumerate("xyz"):
        for what, given, most in (
            ("blockDim", geometry.block[axis], properties.max_block_dim[axis]),
            ("gridDim", geometry.grid[axis], properties.max_grid_dim[axis]),
        ):
            if given > most:
                raise LaunchError(f"{where}: {what}.{name} = {given} is more than {most}")
    if geometry.threads_per_block > properties.max_threads_per_block:
        raise LaunchError(
            f"{where}: {geometry.threads_per_block} threads per block are more than "
            f"{properties.max_threads_per_block}"
        )
    if threads_bound is not None and geometry.threads_per_block > threads_bound:
        raise LaunchError(
            f"{where}: {geometry.threads_per_block} threads per block are more than the kernel's "
            f"own launch_bounds of {threads_bound}"
        )
    if shared_dynamic < 0:
        raise LaunchError(f"{where}: shared_bytes={shared_dynamic} is negative")
    static = program.shared.static_bytes
    if static > properties.shared_bytes_per_block:
        raise LaunchError(
            f"{where}: static shared arrays of {static} bytes are more than "
            f"{properties.shared_bytes_per_block}; take dynamic shared memory instead "
            "(shape 0, and the bytes in `launch` of a Device: Numba's launch has the same limit)"
        )
    shared = static + shared_dynamic
    if shared > properties.shared_bytes_per_block_optin:
        raise LaunchError(
            f"{where}: {shared} bytes of shared memory per block are more than "
            f"{properties.shared_bytes_per_block_optin}"
        )
    if as_numba and shared > properties.shared_bytes_per_block:
        raise LaunchError(
            f"{where}: {shared} bytes of shared memory per block are more than the "
            f"{properties.shared_bytes_per_block} for which Numba's launch asks the driver; a GPU "
            f"has up to {properties.shared_bytes_per_block_optin} for `launch` of a Device"
        )
    if cooperative or program.cooperative:
        most = resident_blocks(properties, geometry.threads_per_block, static + shared_dynamic)
        if geometry.blocks > most:
            raise LaunchError(
                f"{where}: a cooperative launch of {geometry.blocks} blocks; at most {most} blocks "
                f"of {geometry.threads_per_block} threads are resident at a time"
            )
