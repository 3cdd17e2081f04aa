"""The simulated GPU as a `Device`: host code written for it runs on a real one without a change."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warpladder.device.base import Grid
from warpladder.device.cuda_arguments import (
    as_element,
    as_shape,
    check_out,
    check_same,
    with_others,
)
from warpladder.device.occupancy import occupancy
from warpladder.device.properties import DeviceProperties, properties_of
from warpladder.errors import DeviceError
from warpladder.simulator.checks.counters import Counters
from warpladder.simulator.checks.options import Checks
from warpladder.simulator.copies import LateCopies
from warpladder.simulator.execution.arrays import SimulatedArray
from warpladder.simulator.execution.limits import extents
from warpladder.simulator.execution.schedule import Schedule
from warpladder.simulator.kernel import LaunchReport, Options, SimulatedKernel

if TYPE_CHECKING:
    from warpladder.simulator.checks.recorder import Recorder

__all__ = ["SimulatedDevice", "SimulatedEvent", "SimulatedStream"]


class SimulatedStream:
    """A stream of a device that does everything at once, but for copies to the host."""

    def __init__(self, copies: LateCopies | None = None) -> None:
        # Programs on `simulated_cuda` have all their copies done at once.
        self._copies = LateCopies() if copies is None else copies

    def synchronize(self) -> None:
        """Complete the copies to the host that were put on this stream."""
        self._copies.complete(self)

    def wait(self, event: SimulatedEvent) -> None:
        """Let the copies before ``event`` be complete when this stream is."""
        self._copies.put_behind(self, event.before)


class SimulatedEvent:
    """A mark in time; what lies between two is the time that the simulation took.

    Attributes
    ----------
    before
        Copies to the host that are complete where this mark is reached.
    """

    def __init__(self, copies: LateCopies | None = None) -> None:
        self._copies = LateCopies() if copies is None else copies
        self._at: float | None = None
        self.before: frozenset[int] = frozenset()

    def record(self, stream: Any = None) -> None:
        """Place the mark."""
        self._at = time.perf_counter()
        self.before = self._copies.on(stream)

    def synchronize(self) -> None:
        """Complete the copies to the host before this mark."""
        self._copies.complete_all_of(self.before)

    def elapsed_ms(self, later: SimulatedEvent) -> float:
        """Return the milliseconds of simulation between two marks: no measure of a GPU.

        Raises
        ------
        DeviceError
            One of them has not been recorded.
        """
        if self._at is None or later._at is None:
            raise DeviceError("elapsed_ms: both events have to be recorded first")
        return 1000 * (later._at - self._at)


class SimulatedBound:
    """A launch to be made again with other arrays; made by `SimulatedDevice.bind`."""

    def __init__(
        self,
        launch: Callable[..., None],
        args: tuple[Any, ...],
        moving: Sequence[int],
        copies: LateCopies,
    ) -> None:
        self._copies = copies
        self._launch = launch
        self._args = args
        self._moving = moving

    def __call__(
        self, arrays: tuple[SimulatedArray, ...], stream: Any = 0, waits: bool = False
    ) -> None:
        """Launch the kernel with these arrays, to its end.

        No stream here has a number: to wait for one completes all copies to the host.
        """
        del stream
        there = dict(zip(self._moving, arrays, strict=True))

        def other(number: int, own: SimulatedArray) -> SimulatedArray:
            array = there.get(number, own)
            # A GPU would go on with what is compiled for the first ones.
            if (array.dtype, array.ndim) != (own.dtype, own.ndim):
                raise DeviceError(f"a launch that is bound to {own!r} cannot be given {array!r}")
            return array

        self._launch(*with_others(self._args, SimulatedArray, other))
        if waits:
            self._copies.complete()


class SimulatedDevice:
    """A device without hardware: it runs, checks and counts.

    Everything is done when the call returns, but for a copy to the host that is put on a stream:
    it is done as late as it may be, when somebody waits for it. Who reads too early reads what was
    there before.

    Parameters
    ----------
    compute_capability
        Of the device whose limits hold.
    schedule, seed
        The order of threads; see `warpladder.simulator.simulate`.
    checks
        True (all), False (none), or the names of some.
    counters
        Whether to count.
    multiprocessors
        Their number; by default that of a representative device.
    recorder
        Keeps what single warps do; it is told where ``counters`` are counted.

    Attributes
    ----------
    properties
        Limits.
    launches
        A report of each launch, since the counters were last reset; of one that faulted, up to
        the fault.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import cuda
    >>> from warpladder.simulator import SimulatedDevice
    >>> @cuda.jit
    ... def gather(source, target, stride):
    ...     i = cuda.grid(1)
    ...     target[i] = source[i * stride]
    >>> device = SimulatedDevice(counters=True)
    >>> source = device.to_device(np.arange(1024, dtype=np.float32))
    >>> target = device.empty(32, np.float32)
    >>> device.launch(gather, 1, 32, source, target, 32)
    >>> device.counters.global_load_sectors_per_request
    32.0
    """

    def __init__(
        self,
        compute_capability: tuple[int, int] = (9, 0),
        *,
        schedule: str = "lockstep",
        seed: int = 0,
        checks: bool | Iterable[str] = True,
        counters: bool = True,
        multiprocessors: int | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.properties: DeviceProperties = properties_of(compute_capability, multiprocessors)
        self._options = Options(
            self.properties,
            Schedule.named(schedule, seed),
            Checks.named(checks),
            counters,
            recorder=recorder,
        )
        #: By the identity of each kernel given, which stays its own as long as that is kept.
        self._kernels: dict[int, tuple[Any, SimulatedKernel]] = {}
        self._copies = LateCopies()
        self.launches: list[LaunchReport] = []

    # ---- memory ------------------------------------------------------------------------------

    def to_device(
        self, host_array: Any, out: SimulatedArray | None = None, *, stream: Any = None
    ) -> SimulatedArray:
        """Return a copy of ``host_array`` on the device; one that is there already passes.

        The copy is made in ``out``, an array of the device, where that is given.

        Raises
        ------
        InputError
            ``out`` has another shape or dtype.
        InputTypeError
            It holds Python objects.
        """
        if stream is None:
            self._copies.complete()
        if isinstance(host_array, SimulatedArray) and out is None:
            return host_array
        if out is not None and not isinstance(out, SimulatedArray):
            raise DeviceError(
                f"to_device: out is of type {type(out).__name__}, no array of the simulated device"
            )
        host = np.asarray(host_array)
        if stream is not None:
            # A stream keeps its order, so that what it brought here can be sent on by it.
            self._copies.complete_into(host, stream)
        array = SimulatedArray.like(host) if out is None else out
        check_same("out", array, host)
        array.fill(host)
        return array

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> SimulatedArray:
        """Return an array that nobody has written: NaN or -1, and known to initcheck."""
        return SimulatedArray.allocate(shape, dtype)

    def full(self, shape: int | tuple[int, ...], value: Any, dtype: DTypeLike) -> SimulatedArray:
        """Return an array with ``value`` in every place."""
        array = SimulatedArray.allocate(shape, dtype)
        array.fill(np.full(array.shape, value, dtype=array.dtype))
        return array

    def pinned(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return a host array: there is nothing to overlap copies with."""
        return np.empty(as_shape(shape), as_element(dtype))

    def mapped(
        self, shape: int | tuple[int, ...], dtype: DTypeLike
    ) -> tuple[NDArray[Any], SimulatedArray]:
        """Return a host array, and the same memory as an array of the device."""
        there = SimulatedArray.allocate(shape, dtype)
        return there.values, there

    def to_host(
        self, device_array: Any, out: NDArray[Any] | None = None, *, stream: Any = None
    ) -> NDArray[Any]:
        """Return the contents of ``device_array`` on the host, in ``out`` where it is given.

        Without a stream the copy is complete on return, and so are all that were waiting; with one,
        when the stream is.

        Raises
        ------
        InputError
            ``out`` has another shape or dtype, is read-only or not contiguous in C order.
        """
        if not isinstance(device_array, SimulatedArray):
            raise DeviceError(
                f"to_host: {type(device_array).__name__} is no array of the simulated device"
            )
        if out is not None:
            check_out(out, device_array)
        if stream is None:
            self._copies.complete()
            return device_array.copy_to_host(out)
        host = np.empty(device_array.shape, device_array.dtype) if out is None else out
        self._copies.put(stream, host, device_array.copy_to_host())
        return host

    # ---- kernels -----------------------------------------------------------------------------

    def launch(
        self,
        kernel: Any,
        grid: Grid,
        block: Grid,
        *args: Any,
        shared_bytes: int = 0,
        stream: Any = None,
        cooperative: bool = False,
    ) -> None:
        """Run ``kernel`` on ``grid`` blocks of ``block`` threads, to its end.

        Raises
        ------
        LaunchError
            The device does not take this configuration.
        KernelFaultError
            A check failed.
        UnsupportedKernelError
            The kernel uses something that cannot be simulated.
        """
        del stream
        simulated = self._simulated(kernel)
        simulated.report = None
        try:
            simulated.launch(grid, block, args, shared_bytes=shared_bytes, cooperative=cooperative)
        finally:
            if simulated.report is not None:
                self.launches.append(simulated.report)

    def bind(
        self, kernel: Any, grid: Grid, block: Grid, *args: Any, moving: Sequence[int]
    ) -> SimulatedBound:
        """Return `launch` for these arguments, to be called for others in place of some arrays."""
        launch = partial(self.launch, kernel, grid, block)
        return SimulatedBound(launch, args, moving, self._copies)

    def _simulated(self, kernel: Any) -> SimulatedKernel:
        key = id(kernel)
        if key not in self._kernels:
            self._kernels[key] = kernel, SimulatedKernel(kernel, self._options)
        return self._kernels[key][1]

    def max_active_blocks(self, kernel: Any, block: Grid, shared_bytes: int = 0) -> int:
        """Return how many blocks one multiprocessor holds, registers left out of account."""
        threads = math.prod(extents("block", block, self._simulated(kernel).__name__))
        return occupancy(
            self.properties, threads, shared_bytes=shared_bytes
        ).blocks_per_multiprocessor

    def free_bytes(self) -> int:
        """Return the memory of such a device, whatever has been allocated."""
        return self.properties.memory_bytes

    def stream(self, *, urgent: bool = False) -> SimulatedStream:
        """Return a stream."""
        del urgent
        return SimulatedStream(self._copies)

    def event(self) -> SimulatedEvent:
        """Return an event."""
        return SimulatedEvent(self._copies)

    def synchronize(self) -> None:
        """Complete the copies to the host; every launch has run to its end."""
        self._copies.complete()

    # ---- counters ----------------------------------------------------------------------------

    @property
    def counters(self) -> Counters:
        """The counters of all launches together."""
        total = Counters()
        for report in self.launches:
            total.add(report.counters)
        return total

    @property
    def line_counters(self) -> dict[tuple[str, int], Counters]:
        """The counters of all launches by source line: file name and line number."""
        total: dict[tuple[str, int], Counters] = {}
        for report in self.launches:
            for line, counters in report.lines.items():
                total.setdefault(line, Counters()).add(counters)
        return total

    def reset_counters(self) -> None:
        """Forget the launches so far."""
        self.launches.clear()
