"""What this GPU can do at most: its memory, its bus, and operations on registers; all measured.

The limit of a task is the least time in which this GPU could do what the task needs at the least:
its bytes through memory, or its operations, whichever takes longer; or its bytes over the bus. The
task says which.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import cuda

from warpladder.device.wide_loads import load_16_bytes
from warpladder.lab.gpu_timing import event_times_ms

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.rung import Inner, Task, Work

__all__ = [
    "Ceiling",
    "Ceilings",
    "Limit",
    "best_read",
    "copy_bytes_per_second",
    "operations_per_second",
    "pinned_both_ways",
    "pinned_bytes_per_second",
    "read_only",
]

_MEMORY_BYTES, _BUS_BYTES = 1 << 31, 1 << 28
#: Blocks on each multiprocessor and threads of each, among which the best one is to be found.
_READ_SHAPES = ((2, 512), (4, 256), (6, 512), (8, 512), (40, 512))
_ROWS, _COLUMNS = 4, 8
_THREADS, _BLOCKS_PER_MULTIPROCESSOR, _STEPS = 256, 2, 65536


class Limit(NamedTuple):
    """The least time for a problem on this machine, and what sets it.

    ``by`` is ``"dram"``, ``"issue"`` or ``"pcie"``, as in `warpladder.rung.Bound`.
    """

    by: str
    seconds: float


class Ceiling(NamedTuple):
    """One thing that was measured, for people."""

    name: str
    rate: float
    unit: str


class Ceilings:
    """What a GPU can do at most, each measured when it is first asked for.

    Parameters
    ----------
    device
        The GPU.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._rates: dict[tuple[str, str], float] = {}

    @cached_property
    def memory(self) -> float:
        """Bytes per second: of a copy, or of reading alone, whichever is faster."""
        return max(copy_bytes_per_second(self._device), best_read(self._device))

    @cached_property
    def bus(self) -> float:
        """Bytes per second over the bus, both ways at once, from and to page-locked memory."""
        return pinned_both_ways(self._device)

    def rate(self, task: Task, dtype: str) -> float | None:
        """Return the most operations of a task per second, None where it names no inner one."""
        if isinstance(task.ceiling, str):
            return None
        kind = task.unit, dtype
        if kind not in self._rates:
            self._rates[kind] = operations_per_second(self._device, task.ceiling(dtype))
        return self._rates[kind]

    def limit(self, task: Task, work: Work) -> Limit | None:
        """Return the limit of a problem.

        None for more than an operation per byte where the task names no inner one: what memory
        allows would say nothing of it.
        """
        if task.ceiling == "pcie":
            return Limit("pcie", work.bytes / self.bus)
        rate = self.rate(task, work.dtype)
        if rate is None and work.operations > work.bytes:
            return None
        moved = Limit("dram", work.bytes / self.memory)
        if rate is None:
            return moved
        return max(moved, Limit("issue", work.operations / rate), key=lambda limit: limit.seconds)

    def measured(self) -> list[Ceiling]:
        """Return all that was measured so far."""
        known = (("memory", "memory"), ("bus", "bus, both ways"))
        moved = [Ceiling(name, vars(self)[key], "B/s") for key, name in known if key in vars(self)]
        done = [Ceiling(f"{kind} {unit}", most, "/s") for (unit, kind), most in self._rates.items()]
        return moved + done


@cuda.jit
def read_only(data: Any, out: Any) -> None:
    """Read all, four wide loads at a time, and do the least with it that keeps the loads."""
    step = 4 * cuda.blockDim.x
    seen = 0
    begin = cuda.blockIdx.x * 4 * step + 4 * cuda.threadIdx.x
    for i in range(begin, data.size - 4 * step + 1, cuda.gridDim.x * 4 * step):
        for which in range(4):
            a, b, c, d = load_16_bytes(data, i + which * step)
            seen |= a & b & c & d
    if seen == -2:
        out[0] = seen


def operations_per_second(device: Device, inner: Inner) -> float:
    """Return the rate of an inner operation on all multiprocessors, operands in registers.

    It is that of the operation with nothing around it: every operand is in a register and changes
    with every use, so that the compiler can leave nothing out.
    """
    blocks = _BLOCKS_PER_MULTIPROCESSOR * device.properties.multiprocessors
    out = device.empty(blocks * _THREADS, inner.dtype)
    launch = partial(device.launch, _repeating(inner.step), blocks, _THREADS, out, _STEPS)
    done = blocks * _THREADS * _ROWS * _COLUMNS * _STEPS * inner.at_once
    return done / min(event_times_ms(device, launch)) * 1000


def _repeating(step: Any) -> Any:
    """Return the kernel that does a step to 32 numbers of a thread, over and over."""

    @cuda.jit(max_registers=128)
    def repeat(out: Any, steps: int) -> None:
        cells = cuda.local.array((_ROWS, _COLUMNS), out.dtype)
        for r in range(_ROWS):
            for c in range(_COLUMNS):
                cells[r, c] = (cuda.threadIdx.x * 32 + 8 * r + c) & 1023
        for _ in range(0, steps, _ROWS):
            for k in range(_ROWS):
                for r in range(_ROWS):
                    for c in range(_COLUMNS):
                        cells[r, c] = step(cells[r, c], cells[r, k], cells[k, c])
        total = cuda.local.array(1, out.dtype)
        for r in range(_ROWS):
            for c in range(_COLUMNS):
                total[0] += cells[r, c]
        out[cuda.grid(1)] = total[0]

    return repeat


def copy_bytes_per_second(device: Device) -> float:
    """Return bytes read and written per second by the driver's own copy, far beyond the L2."""
    size = _memory_bytes(device)
    source, target = (device.full(size, 0, np.uint8) for _ in range(2))
    taken = event_times_ms(device, lambda: device.to_device(source, out=target))
    return float(2 * size / min(taken) * 1000)


def best_read(device: Device) -> float:
    """Return bytes per second that a kernel reads which does nothing else."""
    data, out = device.full(_memory_bytes(device) // 4, 0, np.int32), device.empty(1, np.int32)
    multiprocessors = device.properties.multiprocessors

    def launch(blocks: int, threads: int) -> None:
        device.launch(read_only, blocks * multiprocessors, threads, data, out)

    taken = (event_times_ms(device, partial(launch, *shape)) for shape in _READ_SHAPES)
    return float(4 * data.size / min(map(min, taken)) * 1000)


def pinned_bytes_per_second(device: Device) -> dict[str, float]:
    """Return bytes per second over the bus each way, from and to page-locked memory."""
    host, there = _both_ends(device)
    stream = device.stream()

    def timed(copy: Callable[[], object]) -> float:
        return host.nbytes / min(event_times_ms(device, copy, stream=stream)) * 1000

    return {
        "to_gpu": timed(lambda: device.to_device(host, out=there, stream=stream)),
        "to_host": timed(lambda: device.to_host(there, out=host, stream=stream)),
    }


def pinned_both_ways(device: Device) -> float:
    """Return bytes per second over the bus, those of both ways together, at the same time."""
    up, down = _both_ends(device), _both_ends(device)
    streams = device.stream(), device.stream()

    def copy() -> None:
        device.to_device(up[0], out=up[1], stream=streams[0])
        device.to_host(down[1], out=down[0], stream=streams[1])

    # Events on no stream: the later one waits for both.
    return (up[0].nbytes + down[0].nbytes) / min(event_times_ms(device, copy)) * 1000


def _both_ends(device: Device) -> tuple[np.ndarray[Any, Any], Any]:
    host = device.pinned(_BUS_BYTES, np.uint8)
    host[:] = 1
    return host, device.full(_BUS_BYTES, 1, np.uint8)


def _memory_bytes(device: Device) -> int:
    """Return how much is copied or read: 2 GiB, or a quarter of what is free."""
    return min(_MEMORY_BYTES, device.free_bytes() // 4) // 4096 * 4096
