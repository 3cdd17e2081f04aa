"""Whether the tables of limits, and how many blocks fit, are what the driver says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

from micro_kernels import Case, arithmetic_cases, control_cases, launch_case, memory_cases
from validation.common import Entry, Request, Steps, describe, nearest_capability, open_gpu
from warpladder.device.cuda_device import CudaDevice
from warpladder.device.occupancy import occupancy
from warpladder.device.properties import properties_of
from warpladder.errors import LaunchError

__all__ = ["occupancy_steps"]

#: Kernels of few and many registers, with and without shared memory, and held to fewer registers.
_KERNELS: tuple[tuple[str, dict[str, int]], ...] = (
    ("global/float32 load stride 1 offset 1, store stride 1 offset 8", {}),
    ("shared/float32 columns of rows of 33", {}),
    ("shared/float64 stride 1", {}),
    ("control/float64 sum over a block", {}),
    ("warp/votes and matches", {}),
    ("warp/votes and matches", {"max_registers": 24}),
    ("arithmetic/float64 functions", {}),
    ("arithmetic/float64 functions", {"max_registers": 32}),
    ("arithmetic/float32 functions", {}),
    ("arithmetic/float64 powers", {}),
    ("arithmetic/int64 basics", {}),
    ("arithmetic/int64 basics", {"max_registers": 64}),
)

_THREADS = (32, 64, 96, 128, 192, 256, 384, 512, 640, 768, 1024)
_SHARED_BYTES = (0, 1000, 16 << 10, 48 << 10, 100 << 10)


def occupancy_steps(request: Request) -> Steps:
    """Compare the limits, then the blocks that fit of several kernels."""
    gpu = open_gpu(request)
    yield "limits", partial(_compare_limits, gpu)
    cases = {case.name: case for case in (*memory_cases(), *control_cases(), *arithmetic_cases())}
    for name, options in _KERNELS:
        label = f"{name} {options}" if options else name
        yield label, partial(_compare_occupancy, cases[name], options, gpu)


def _compare_limits(gpu: Any) -> Entry:
    told = gpu.properties
    ours = properties_of(nearest_capability(told.compute_capability))
    # A table cannot know how much memory a board has; the name is another one on purpose.
    names = [field.name for field in fields(told) if field.name not in {"name", "memory_bytes"}]
    pairs = {name: (getattr(ours, name), getattr(told, name)) for name in names}
    differences = [
        {"limit": name, "table": table, "driver": driver}
        for name, (table, driver) in pairs.items()
        if table != driver
    ]
    return {"asked": len(pairs), "differences": differences}


def _compare_occupancy(case: Case, options: dict[str, int], gpu: Any) -> Entry:
    from numba import cuda

    kernel = cuda.jit(**options)(case.kernel.py_func)
    launch_case(gpu, Case(case.name, kernel, case.grid, case.block, case.arguments))
    registers, static = 0, 0
    if isinstance(gpu, CudaDevice):
        compiled = list(kernel.overloads.values())[-1]
        registers, static = int(compiled.regs_per_thread), int(compiled.shared_mem_per_block)
    most = gpu.properties.shared_bytes_per_block_optin - static
    questions = [
        (threads, dynamic)
        for threads in _THREADS
        for dynamic in (*_SHARED_BYTES, most)
        if dynamic <= most
    ]
    differences = []
    for threads, dynamic in questions:
        ours, theirs = (
            _resident(partial(ask, threads, dynamic))
            for ask in (
                partial(_computed, gpu.properties, registers, static),
                partial(gpu.max_active_blocks, kernel),
            )
        )
        if ours != theirs:
            differences.append(
                {"threads": threads, "dynamic": dynamic, "computed": ours, "driver": theirs}
            )
    return {
        "registers": registers,
        "static_shared_bytes": static,
        "asked": len(questions),
        "differences": differences,
    }


def _computed(properties: Any, registers: int, static: int, threads: int, dynamic: int) -> int:
    return occupancy(
        properties, threads, registers_per_thread=registers, shared_bytes=static + dynamic
    ).blocks_per_multiprocessor


def _resident(ask: Callable[[], int]) -> int | str:
    """Return the blocks that fit, 0 where the launch would be refused."""
    try:
        return ask()
    except LaunchError:
        return 0
    except Exception as fault:  # noqa: BLE001 - one question of many; the others are still asked
        return describe(fault)
