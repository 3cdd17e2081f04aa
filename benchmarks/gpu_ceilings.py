"""What this GPU can do at most: relaxations from registers, memory, and the bus; all measured.

The relaxation rate is that of the engine's inner statement with nothing around it: every operand is
in a register and changes with every use, so that the compiler can leave nothing out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import cuda, int32

from gpu_timing import event_times_ms
from warpladder.device.cuda_device import CudaDevice
from warpladder.device.instructions import relax_pairs
from warpladder.shortest_paths.rungs.register_tiles import lesser

__all__ = ["copy_bytes_per_second", "pinned_bytes_per_second", "relaxation_rates"]

ROWS = 4
CELLS = (ROWS, 8)
CELLS_EACH = ROWS * 8
THREADS, BLOCKS_PER_MULTIPROCESSOR, STEPS = 256, 2, 65536


@cuda.jit(max_registers=128)
def relax_singles(out: Any, steps: int) -> None:
    """Relax 32 cells of a thread through its own columns and rows, one after another."""
    best = cuda.local.array(CELLS, out.dtype)
    through = cuda.local.array(1, out.dtype)
    for r in range(ROWS):
        for c in range(8):
            best[r, c] = (cuda.threadIdx.x * 32 + 8 * r + c) & 1023
    for _ in range(0, steps, ROWS):
        for k in range(ROWS):
            for r in range(ROWS):
                for c in range(8):
                    through[0] = best[r, k] + best[k, c]
                    best[r, c] = lesser(best[r, c], through[0])
    total = cuda.local.array(1, out.dtype)
    for r in range(ROWS):
        for c in range(8):
            total[0] += best[r, c]
    out[cuda.grid(1)] = total[0]


@cuda.jit(max_registers=128)
def relax_words(out: Any, steps: int) -> None:
    """Relax 32 pairs of a thread in the same way."""
    best = cuda.local.array(CELLS, int32)
    for r in range(ROWS):
        for c in range(8):
            best[r, c] = (cuda.threadIdx.x * 32 + 8 * r + c) & 1023
    for _ in range(0, steps, ROWS):
        for k in range(ROWS):
            for r in range(ROWS):
                for c in range(8):
                    best[r, c] = relax_pairs(best[r, c], best[r, k], best[k, c])
    total = int32(0)
    for r in range(ROWS):
        for c in range(8):
            total ^= best[r, c]
    out[cuda.grid(1)] = total


def relaxation_rates(device: CudaDevice) -> dict[str, float]:
    """Return relaxations per second from registers, by dtype; the best of some runs."""
    blocks = BLOCKS_PER_MULTIPROCESSOR * device.properties.multiprocessors
    rates = {}
    for kind, kernel, each in (
        ("int32", relax_singles, 1),
        ("float32", relax_singles, 1),
        ("float64", relax_singles, 1),
        ("int64", relax_singles, 1),
        ("int16", relax_words, 2),
    ):
        out = device.empty(blocks * THREADS, np.int32 if kernel is relax_words else kind)
        taken = event_times_ms(
            device,
            partial(device.launch, kernel, blocks, THREADS, out, STEPS),
        )
        rates[kind] = blocks * THREADS * CELLS_EACH * STEPS * each / min(taken) * 1000
    return rates


def copy_bytes_per_second(device: CudaDevice) -> float:
    """Return bytes read and written per second by the driver's own copy, far beyond the L2."""
    from numba.cuda.cudadrv.driver import device_to_device

    source, target = (device.full(1 << 31, 0, np.uint8) for _ in range(2))
    taken = event_times_ms(device, lambda: device_to_device(target, source, source.nbytes))
    return float(2 * source.nbytes / min(taken) * 1000)


def pinned_bytes_per_second(device: CudaDevice) -> dict[str, float]:
    """Return bytes per second over the bus, from and to page-locked memory."""
    host = device.pinned(1 << 28, np.uint8)
    host[:] = 1
    there = device.empty(host.shape, np.uint8)
    stream = device.stream()

    def timed(copy: Callable[[], object]) -> float:
        return host.nbytes / min(event_times_ms(device, copy, stream=stream)) * 1000

    return {
        "to_gpu": timed(lambda: device.to_device(host, out=there, stream=stream)),
        "to_host": timed(lambda: device.to_host(there, out=host, stream=stream)),
    }
