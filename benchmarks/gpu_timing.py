"""How kernels on a GPU are timed with a cold cache."""

from __future__ import annotations

import contextlib
import platform
import statistics
import subprocess
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter

import numpy as np
from numba import cuda

from warpladder.device.cuda_device import CudaDevice
from warpladder.lab.gpu_timing import event_times_ms

__all__ = [
    "Timer",
    "described",
    "least_ms",
    "nothing",
]

_FLUSH_BYTES = 1 << 30


class Timer:
    """Times what runs on a GPU whose second-level cache holds nothing of use.

    Parameters
    ----------
    device
        A GPU that times its kernels.
    """

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._buffer = device.empty(_FLUSH_BYTES, np.uint8)

    def flush(self, times: int) -> None:
        """Write a buffer much larger than the cache; the GPU is busy for 0.25 ms each time."""
        from cuda.bindings import driver

        for value in range(times):
            driver.cuMemsetD8(self._buffer.address, value % 256, _FLUSH_BYTES)

    def event_ms(
        self,
        work: Callable[[], object],
        repetitions: int = 15,
        of: Callable[[list[float]], float] = statistics.median,
    ) -> float:
        """Return the median time of what ``work`` puts on the GPU, or what else ``of`` takes."""
        return of(event_times_ms(self._device, work, repetitions, before=lambda: self.flush(1)))

    def kernel_ms(self, work: Callable[[], object], repetitions: int = 5) -> float:
        """Return the median time of the kernels that ``work`` launches through the device."""
        work()
        taken = []
        for _ in range(repetitions):
            self._device.synchronize()
            self._device.reset_kernel_ms()
            self.flush(8)
            work()
            self._device.synchronize()
            taken.append(self._device.kernel_ms)
        return statistics.median(taken)


def least_ms(work: Callable[[], object], repetitions: int = 5) -> float:
    """Return the least time of calls, after one that does not count."""
    taken = []
    for _ in range(repetitions + 1):
        began = perf_counter()
        work()
        taken.append(1000 * (perf_counter() - began))
    return min(taken[1:])


def described() -> dict[str, str]:
    """Return the driver, the clocks as they are now, and the versions of what takes part."""
    asked = ("driver_version", "clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem")
    told = subprocess.run(  # noqa: S603 - nothing of it comes from outside
        ["nvidia-smi", f"--query-gpu={','.join(asked)}", "--format=csv,noheader"],  # noqa: S607 - where it lies differs
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    found = dict(zip(asked, told.stdout.splitlines()[0].split(", "), strict=True))
    for package in ("numba", "numba-cuda", "numpy", "cuda-cccl", "cuda-bench", "cupy-cuda13x"):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return {"python": platform.python_version(), **found}


@cuda.jit
def nothing() -> None:
    """Do nothing."""
