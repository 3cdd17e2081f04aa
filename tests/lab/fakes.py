"""Devices that run plain Python functions on NumPy arrays, with counters set by hand.

They stand for the simulator and for a GPU where the laboratory itself is tested: what a kernel
counts, and which check stops it, is then known without asking what is under test.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from warpladder.device.cuda_arguments import with_others
from warpladder.errors import KernelFaultError
from warpladder.lab.compare import poison
from warpladder.lab.gpu_timing import overwrite
from warpladder.simulator.checks.counters import Counters


class FakeKernel:
    """A function with what each of its lines counts, by line from that of its ``def`` on."""

    def __init__(self, function, lines=None, fault=None, wrong_under=()):
        self.py_func = function
        self.lines = lines or {}
        self.fault = fault
        self.wrong_under = wrong_under


class FakeEvent:
    def __init__(self, device):
        self.device, self.at = device, None

    def record(self, _stream=None):
        self.at = self.device.now_ms

    def synchronize(self):
        pass

    def elapsed_ms(self, later):
        return later.at - self.at


class FakeGpu:
    """A device as a GPU is one: no counters, memory that holds anything.

    On its clock a kernel takes 2 ms, a copy 5 ms, and to empty the cache 0.25 ms.
    """

    def __init__(self):
        self.properties = SimpleNamespace(
            name="fake GPU", compute_capability=(9, 0), multiprocessors=2
        )
        self.kernel_ms = 0.0
        self.now_ms = 0.0
        self.flushed_at = []

    def to_device(self, host_array, **_options):
        self.now_ms += 5
        return host_array.copy()

    def empty(self, shape, dtype):
        return np.zeros(shape, dtype)

    def full(self, shape, value, dtype):
        return np.full(shape, value, dtype)

    def pinned(self, shape, dtype):
        return np.zeros(shape, dtype)

    def mapped(self, shape, dtype):
        host = np.zeros(shape, dtype)
        return host, host

    def bind(self, kernel, grid, block, *args, moving):
        def launch(arrays, _stream=0):
            there = dict(zip(moving, arrays, strict=True))
            self.launch(kernel, grid, block, *with_others(args, np.ndarray, there.get))

        return launch

    def to_host(self, device_array, out=None, **_options):
        self.now_ms += 5
        if out is None:
            return device_array.copy()
        out[...] = device_array
        return out

    def launch(self, kernel, _grid, _block, *args, **_options):
        if kernel is overwrite:
            self.flushed_at.append(self.now_ms)
            self.now_ms += 0.25
            return
        kernel.py_func(*args)
        self.kernel_ms += 2.0
        self.now_ms += 2.0

    def max_active_blocks(self, *_what):
        return 1

    def free_bytes(self):
        return 1 << 30

    def stream(self, **_options):
        return None

    def event(self):
        return FakeEvent(self)

    def synchronize(self):
        pass


@dataclass
class FakeLaunch:
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    counters: Counters


class FakeSimulator(FakeGpu):
    """A device as the simulator is one: it counts, poisons memory itself, and checks."""

    made = 0

    def __init__(self, compute_capability=(9, 0), schedule="lockstep", checks=True, **_options):
        super().__init__()
        del self.kernel_ms
        type(self).made += 1
        self.properties = SimpleNamespace(
            name="simulated", compute_capability=compute_capability, multiprocessors=2
        )
        self.schedule, self.checks = schedule, checks
        self.reset_counters()

    def reset_counters(self):
        self.counters, self.line_counters, self.launches = Counters(), {}, []

    def empty(self, shape, dtype):
        return poison(shape, dtype)

    def launch(self, kernel, grid, block, *args, shared_bytes=0, **_options):
        code = kernel.py_func.__code__
        if kernel.fault and self.checks:
            raise KernelFaultError(kernel.fault, f"{code.co_name} does what it must not")
        if self.schedule not in kernel.wrong_under:
            kernel.py_func(*args)
        own = Counters(launches=1)
        for offset, counted in kernel.lines.items():
            key = (code.co_filename, code.co_firstlineno + offset)
            self.line_counters.setdefault(key, Counters()).add(counted)
            own.add(counted)
        self.counters.add(own)
        self.launches.append(
            FakeLaunch(code.co_name, (grid, 1, 1), (block, 1, 1), shared_bytes, own)
        )
