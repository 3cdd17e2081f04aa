"""What CUDA finds on this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from warpladder.errors import DeviceError

__all__ = ["FORKED", "CudaReport", "Gpu", "has_driver", "probe_cuda"]

FORKED = (
    "this process was forked from one that uses the GPU and cannot use it: let multiprocessing "
    'start processes by "spawn"'
)
"""Why a GPU cannot be used that is there, and what to do."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One CUDA device and the limits a kernel author asks for first.

    Attributes
    ----------
    name
        As the driver gives it.
    compute_capability
        Major and minor version.
    multiprocessors
        Number of streaming multiprocessors (SMs).
    memory_bytes
        Global memory.
    threads_per_block, shared_bytes_per_block
        Most that one block may have; shared memory with the opt-in above the default.
    registers_per_multiprocessor, threads_per_multiprocessor
        What resident blocks share.
    """

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    memory_bytes: int
    threads_per_block: int
    shared_bytes_per_block: int
    registers_per_multiprocessor: int
    threads_per_multiprocessor: int


@dataclass(frozen=True, slots=True)
class CudaReport:
    """The CUDA driver (None where there is none), its GPUs, and why none can be used.

    A driver without GPUs is one that nothing can use, for want of numba-cuda.
    """

    driver: str | None
    gpus: tuple[Gpu, ...]
    why_not: str


def has_driver() -> bool:
    """Tell whether there may be a GPU: whether there is a driver.

    To import what finds GPUs takes half a second and 60 MB, which most machines without one are
    spared so.
    """
    # Numba takes a driver from elsewhere where that is set.
    return "NUMBA_CUDA_DRIVER" in os.environ or _driver_version() is not None


def probe_cuda() -> CudaReport:
    """Return the driver and the GPUs, or the reason why none can be used; never raises.

    Examples
    --------
    >>> report = probe_cuda()
    >>> bool(report.gpus) != bool(report.why_not)
    True
    """
    try:
        from warpladder.device.numba_target import FRONT_END
    except DeviceError as fault:
        return CudaReport(_driver_version(), (), str(fault))
    except Exception as fault:  # noqa: BLE001 - a broken installation is a finding
        return CudaReport(None, (), f"no CUDA target can be imported: {fault}")
    if missing := FRONT_END.obstacle():
        driver = _driver_version()
        found = f"CUDA driver {driver} is there" if driver else "no CUDA driver is found"
        return CudaReport(driver, (), f"{found}, and a GPU is driven through {missing}")
    from numba import cuda

    try:
        if not cuda.is_available():
            return CudaReport(None, (), _why_not_available(cuda))
        major, minor = cuda.cudadrv.driver.driver.get_version()
        gpus = tuple(_describe(device) for device in cuda.list_devices())
    except Exception as fault:  # noqa: BLE001 - likewise a broken driver
        return CudaReport(None, (), f"CUDA cannot be used: {fault}")
    return CudaReport(f"{major}.{minor}", gpus, "")


def _driver_version() -> str | None:
    """Ask the driver itself for the version of CUDA that it knows; None where there is none."""
    import ctypes
    import sys

    try:
        library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        version = ctypes.c_int()
        library.cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return None
    return f"{version.value // 1000}.{version.value % 1000 // 10}" if version.value else None


def _why_not_available(cuda: Any) -> str:
    fault = cuda.cuda_error()
    lines = str(fault or "no CUDA device is visible").split()
    return " ".join(lines)


def _describe(device: Any) -> Gpu:
    from cuda.bindings import driver

    # Numba would make a context, which takes half a gigabyte of each GPU for those that use others.
    code, memory = driver.cuDeviceTotalMem(device.id)
    if code:
        raise DeviceError(f"GPU {device.id}: {code.name}")
    return Gpu(
        name=device.name.decode() if isinstance(device.name, bytes) else device.name,
        compute_capability=tuple(device.compute_capability),
        multiprocessors=device.MULTIPROCESSOR_COUNT,
        memory_bytes=int(memory),
        threads_per_block=device.MAX_THREADS_PER_BLOCK,
        shared_bytes_per_block=device.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        registers_per_multiprocessor=device.MAX_REGISTERS_PER_MULTIPROCESSOR,
        threads_per_multiprocessor=_threads_per_multiprocessor(device),
    )


def _threads_per_multiprocessor(device: Any) -> int:
    """Read an attribute whose name depends on the version of numba-cuda."""
    for name in ("MAX_THREADS_PER_MULTIPROCESSOR", "MAX_THREADS_PER_MULTI_PROCESSOR"):
        value = getattr(device, name, None)
        if value is not None:
            return int(value)
    return 0
