"""A GPU, driven through NVIDIA's cuda.core; kernels are compiled by Numba (`compiler`).

What this adds to cuda.core: faults of the driver come as errors that name the kernel and its
launch; a block may have all the shared memory that the GPU can give; a cooperative launch that
cannot be resident is refused with the numbers; arrays are never bound to a stream behind the
caller's back; kernels can be timed.

The kernels' own faults (an index out of bounds, say) come to light at the next call that waits for
the GPU; `warpladder.simulator` says which line and which thread.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from warpladder.device import cuda_memory as memory
from warpladder.device.cuda import probe_cuda
from warpladder.device.cuda_arguments import as_shape, bytes_of, check_out, check_same
from warpladder.device.cuda_array import CudaArray
from warpladder.device.cuda_bound import CudaBound, Rebound
from warpladder.device.cuda_current import CurrentGpu, Held
from warpladder.device.cuda_faults import kernel_name, named
from warpladder.device.cuda_launcher import Launcher
from warpladder.device.cuda_properties import read_properties
from warpladder.device.cuda_streams import CudaEvent, CudaStream, core_stream
from warpladder.device.grids import blocks_for
from warpladder.errors import DeviceError, InputError, InputTypeError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from warpladder.device.base import Grid
    from warpladder.device.properties import DeviceProperties

__all__ = ["CudaDevice"]

_FILL_THREADS = 256
# What a pool of memory keeps when nothing uses it, as a part of all there is: the next call then
# need not ask the driver, which took 2 to 3 ms for 2 GiB on an H200.
_KEPT_PART = 16


class CudaDevice:
    """A GPU as a `warpladder.device.base.Device`.

    Work put on no stream goes to the default stream, which waits for all others and for which all
    others wait. Where there are several GPUs, that which was current before a call stays so.

    Parameters
    ----------
    index
        Which GPU, in the order of the driver.
    time_kernels
        Whether to add up the time of all kernels in `kernel_ms`.

    Attributes
    ----------
    index
        As given.
    current
        Makes this the GPU that the driver works on, in this thread and for a ``with`` statement.
    properties
        As the driver tells; by compute capability what it does not tell.
    kernel_ms
        Milliseconds of all kernels launched before the last `synchronize`, since the device was
        made or since `reset_kernel_ms`; NaN without ``time_kernels``. Taken by events around each
        launch, so where the GPU has nothing else to do the time that the host needs to launch
        (tens of microseconds) is in it.

    Raises
    ------
    DeviceError
        There is no GPU; the message says why.
    InputError
        There are GPUs, but none with this index.
    """

    properties: DeviceProperties

    def __init__(self, index: int = 0, *, time_kernels: bool = False) -> None:
        core = _cuda_core()
        gpus = core.Device.get_all_devices()
        if not 0 <= index < len(gpus):
            raise InputError(f"index={index}: the GPUs of this machine are 0 to {len(gpus) - 1}")
        self.index = index
        self._core = core
        self._gpu = gpus[index]
        self.current = CurrentGpu(self._gpu, index, is_alone=len(gpus) == 1)
        self._default = core_stream(None)
        self._time_kernels = time_kernels
        self._timed: list[tuple[CudaEvent, CudaEvent]] = []
        with self.current, named(f"opening GPU {index}"):
            self._pool = core.DeviceMemoryResource(index, core.DeviceMemoryResourceOptions())
            self.properties = read_properties(self._gpu, self._memory_info()[1])
            memory.keep(self._pool, self.properties.memory_bytes // _KEPT_PART)
        self._launcher = Launcher(core, index, self.properties, self._ours_if_any)
        self.kernel_ms = 0.0 if time_kernels else math.nan

    def to_device(self, host_array: NDArray[Any], out: Any = None, *, stream: Any = None) -> Any:
        """Return a copy of ``host_array`` on the device, in C order.

        An array that is on the GPU already passes: ours as it is, that of another library (CuPy,
        PyTorch, Numba, whatever has ``__cuda_array_interface__``) as a view of the same memory.
        The copy is made in ``out``, a contiguous array of the GPU, where that is given.
        With a stream, a page-locked ``host_array`` must live and keep its values until the copy is
        done.
        """
        import numpy as np

        queue = None if stream is None else core_stream(stream)
        if hasattr(host_array, "__cuda_array_interface__"):
            there = self._as_ours(host_array)
            return there if out is None else self._copy_there(there, self._as_ours(out), queue)
        host = np.asarray(host_array, order="C")
        device_array = self.empty(host.shape, host.dtype) if out is None else self._as_ours(out)
        check_same("out", device_array, host)
        if not device_array.flags.c_contiguous:
            raise InputError("out must be contiguous in C order")
        with self.current:
            memory.copy(
                f"copying {host.nbytes} bytes to the GPU", "HtoD", device_array.address,
                host.ctypes.data, host.nbytes, queue,
            )  # fmt: skip
        return device_array

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
        """Return an array on the device whose contents are undefined.

        Raises
        ------
        TooLargeError
            The GPU has not that much memory left.
        """
        needed = bytes_of(shape, dtype)
        if needed == 0:
            return CudaArray.at(self, None, 0, as_shape(shape), dtype)
        try:
            with self.current, named(f"allocating {needed} bytes on the GPU"):
                buffer = self._pool.allocate(needed, stream=core_stream(None))
        except DeviceError as fault:
            if "OUT_OF_MEMORY" not in str(fault):
                raise
            free = self.free_bytes()
            raise TooLargeError(
                f"an array of {needed} bytes does not fit: {self.properties.name} has {free} "
                f"of its {self.properties.memory_bytes} bytes free"
            ) from fault
        owner = buffer if self.current.is_alone else Held(buffer, self.current)
        return CudaArray.at(self, owner, int(buffer.handle), as_shape(shape), dtype)

    def full(self, shape: int | tuple[int, ...], value: Any, dtype: DTypeLike) -> Any:
        """Return an array on the device with ``value`` in every place."""
        import numpy as np

        pattern = np.full(1, value, dtype)
        device_array = self.empty(shape, dtype)
        if device_array.size == 0:
            return device_array
        raw = pattern.tobytes()
        unit = 1 if len(set(raw)) == 1 else len(raw)
        if unit in {1, 2, 4}:
            with self.current, named(f"filling {device_array.nbytes} bytes on the GPU"):
                device_array._owner.fill(raw[:unit], stream=core_stream(None))
        else:
            most = 32 * self.properties.multiprocessors
            blocks = min(blocks_for(device_array.size, _FILL_THREADS), most)
            flat = device_array.reshape(device_array.size)
            self.launch(_fill_kernel(), blocks, _FILL_THREADS, flat, pattern[0])
        return device_array

    def pinned(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return a page-locked host array: copies to and from it overlap with kernels."""
        import numpy as np

        needed = bytes_of(shape, dtype)
        if needed == 0:  # the driver has no page-locked memory of no bytes
            return np.empty(shape, dtype)
        with self.current, named(f"allocating {needed} bytes of page-locked host memory"):
            raw = memory.page_locked(needed)
        return raw.view(dtype).reshape(as_shape(shape))

    def mapped(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> tuple[NDArray[Any], Any]:
        """Return a page-locked host array, and the same memory as an array of the device."""
        host = self.pinned(shape, dtype)
        return host, CudaArray.at(self, host, host.ctypes.data, host.shape, host.dtype)

    def to_host(
        self, device_array: Any, out: NDArray[Any] | None = None, *, stream: Any = None
    ) -> NDArray[Any]:
        """Return the contents of ``device_array`` on the host, in ``out`` where it is given.

        Without a stream the copy is complete on return; with one, when the stream is.
        """
        import numpy as np

        source = self._as_ours(device_array)
        if out is not None:
            check_out(out, source)
        queue = None if stream is None else core_stream(stream)
        if source.flags.c_contiguous or not source.size:
            host = np.empty(source.shape, source.dtype) if out is None else out
            with self.current:
                memory.copy(
                    f"copying {source.nbytes} bytes from the GPU", "DtoH", host.ctypes.data,
                    source.address, source.nbytes, queue,
                )  # fmt: skip
            return host
        with self.current:
            found = memory.gathered(source, queue)
        if out is None:
            return found
        out[...] = found
        return out

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
        """Start ``kernel`` on ``grid`` blocks of ``block`` threads.

        ``shared_bytes`` is the dynamic shared memory of a block. A ``cooperative`` launch promises
        that all blocks are resident together, and is refused where they cannot be.

        Raises
        ------
        LaunchError
            The device or the driver refuses this launch.
        DeviceError
            The driver reports another fault, of this launch or of a kernel before it.
        UnsupportedKernelError
            Numba cannot compile the kernel.
        """
        queue = self._default if stream is None else core_stream(stream)
        asked = kernel, grid, block, args, shared_bytes, queue, cooperative
        if not self._time_kernels:
            with self.current:
                self._launcher.launch(*asked)
            return
        start, end = self.event(), self.event()
        with self.current:
            start.record(stream)
            self._launcher.launch(*asked)
            end.record(stream)
        self._timed.append((start, end))

    def bind(
        self, kernel: Any, grid: Grid, block: Grid, *args: Any, moving: Sequence[int]
    ) -> CudaBound | Rebound:
        """Return `launch` for these arguments, to be called for others in place of some arrays.

        Those are the ``moving`` ones, at least one, by their numbers among the arrays in ``args``;
        the call is given the addresses of arrays that look the same, and a stream's handle. Arrays
        have to be ours, other arguments int or float.
        """
        ready = None
        if not self._time_kernels:
            with self.current:
                ready = self._launcher.ready(kernel, grid, block, args)
        if ready is None:
            return Rebound(self.launch, (kernel, grid, block, *args), moving, self.current)
        return CudaBound(kernel_name(kernel), ready, args, moving, self.current)

    def max_active_blocks(self, kernel: Any, block: Grid, shared_bytes: int = 0) -> int:
        """Return how many blocks of ``kernel`` one multiprocessor holds at a time.

        That depends on the registers of the compiled kernel, and so on the types of its arguments:
        the variant compiled last counts.

        Raises
        ------
        LaunchError
            The kernel was not compiled yet, or the device cannot launch such blocks at all.
        """
        with self.current:
            return int(self._launcher.max_active_blocks(kernel, block, shared_bytes))

    def free_bytes(self) -> int:
        """Return how many bytes of the GPU's memory are free."""
        with self.current, named("asking for the free memory"):
            kept = self._pool.attributes
            idle = kept.reserved_mem_current - kept.used_mem_current
            return self._memory_info()[0] + int(idle)

    def stream(self, *, urgent: bool = False) -> CudaStream:
        """Return a new stream; blocks of an ``urgent`` one go before those of others."""
        with self.current, named("making a stream"):
            priority = _highest_priority() if urgent else 0
            options = self._core.StreamOptions(nonblocking=False, priority=priority)
            return CudaStream(self._gpu.create_stream(options=options), self.current)

    def event(self) -> CudaEvent:
        """Return a new event."""
        with self.current, named("making an event"):
            options = self._core.EventOptions(timing_enabled=True)
            return CudaEvent(self._gpu.create_event(options), self.current)

    def synchronize(self) -> None:
        """Wait until everything on the device is done."""
        with self.current, named("waiting for the GPU"):
            self._gpu.sync()
        self.kernel_ms += sum(start.elapsed_ms(end) for start, end in self._timed)
        self._timed.clear()

    def reset_kernel_ms(self) -> None:
        """Forget the time of the kernels launched so far."""
        self._timed.clear()
        self.kernel_ms = 0.0 if self._time_kernels else math.nan

    def _memory_info(self) -> tuple[int, int]:
        """Return how many bytes of the GPU's memory are free, and how many there are."""
        from cuda.bindings import driver

        code, free, total = driver.cuMemGetInfo()
        memory.checked("asking for the free memory", (code,))
        return int(free), int(total)

    def _as_ours(self, array: Any) -> CudaArray:
        """Return an array of the GPU as one of ours, which shares its memory."""
        if isinstance(array, CudaArray):
            return array
        if not hasattr(array, "__cuda_array_interface__"):
            raise InputTypeError(
                f"device_array is a {type(array).__name__}; an array on the GPU is needed"
            )
        with self.current, named("taking an array of another library"):
            return memory.adopted(self, array)

    def _copy_there(self, source: CudaArray, out: CudaArray, queue: Any) -> CudaArray:
        check_same("out", out, source)
        if not (out.flags.c_contiguous and source.flags.c_contiguous):
            raise InputError("an array is copied on the GPU where both are contiguous in C order")
        with self.current:
            memory.copy(
                f"copying {out.nbytes} bytes on the GPU", "DtoD", out.address, source.address,
                out.nbytes, core_stream(None) if queue is None else queue,
            )  # fmt: skip
        return out

    def _ours_if_any(self, arg: Any) -> Any:
        return self._as_ours(arg) if hasattr(arg, "__cuda_array_interface__") else arg


def _cuda_core() -> Any:
    """Return cuda.core; raise `DeviceError` with the reason why there is no GPU."""
    report = probe_cuda()
    if not report.gpus:
        raise DeviceError(
            f"there is no CUDA GPU to use: {report.why_not.rstrip('.')}; the simulator and the CPU "
            "need none"
        )
    import cuda.core

    return cuda.core


def _highest_priority() -> int:
    from cuda.bindings import driver

    code, _lowest, highest = driver.cuCtxGetStreamPriorityRange()
    memory.checked("asking for the priorities of streams", (code,))
    return int(highest)


@functools.cache
def _fill_kernel() -> Any:
    from numba import cuda

    @cuda.jit
    def fill(out: Any, value: Any) -> None:
        for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            out[i] = value

    return fill
