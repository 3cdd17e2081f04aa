"""A GPU, driven through numba-cuda.

What this adds to numba-cuda: faults of the driver come as errors that name the kernel and its
launch; a block may have all the shared memory that the GPU can give; a cooperative launch that
cannot be resident is refused with the numbers; arrays are never bound to a stream behind the
caller's back; kernels can be timed.

The kernels' own faults (an index out of bounds, say) come to light at the next call that waits for
the GPU; `warpladder.simulator` says which line and which thread.
"""

from __future__ import annotations

import functools
import math
import warnings
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from warpladder.device.cuda import probe_cuda
from warpladder.device.cuda_arguments import as_shape, bytes_of, check_out, check_same, dimensions
from warpladder.device.cuda_faults import kernel_name, launching, named
from warpladder.device.cuda_properties import read_properties
from warpladder.device.cuda_relaunch import Relauncher, relaunch
from warpladder.device.cuda_streams import CudaEvent, CudaStream, numba_stream
from warpladder.device.properties import DeviceProperties
from warpladder.errors import DeviceError, InputError, InputTypeError, LaunchError, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import DTypeLike, NDArray

    from warpladder.device.base import Grid

__all__ = ["CudaDevice"]

_FILL_THREADS = 256
_AS_IT_IS: AbstractContextManager[None] = nullcontext()


class CudaDevice:
    """A GPU as a `warpladder.device.base.Device`.

    Work put on no stream goes to the default stream, which waits for all others and for which all
    others wait.

    Parameters
    ----------
    index
        Which GPU, in the order of the driver.
    time_kernels
        Whether to add up the time of all kernels in `kernel_ms`.

    Attributes
    ----------
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
        self._cuda = _numba_cuda()
        count = len(self._cuda.gpus)
        if not 0 <= index < count:
            raise InputError(f"index={index}: the GPUs of this machine are 0 to {count - 1}")
        self._index = index
        self._time_kernels = time_kernels
        self._timed: list[tuple[CudaEvent, CudaEvent]] = []
        self._relauncher = Relauncher()
        # By compiled kernel, the dynamic shared memory that the driver was asked to allow it.
        self._allowed: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        with self._current(), named(f"opening GPU {index}"):
            context = self._cuda.current_context()
            self.properties = read_properties(
                self._cuda.gpus[index], int(context.get_memory_info().total)
            )
        self.kernel_ms = 0.0 if time_kernels else math.nan

    def to_device(self, host_array: NDArray[Any], out: Any = None, *, stream: Any = None) -> Any:
        """Return a copy of ``host_array`` on the device, in C order.

        An array that is on the GPU already passes: Numba's as it is, that of another library
        (CuPy, PyTorch, whatever has ``__cuda_array_interface__``) as a view of the same memory.
        The copy is made in ``out``, a contiguous array of the GPU, where that is given.
        With a stream, a page-locked ``host_array`` must live and keep its values until the copy is
        done.
        """
        import numpy as np

        if hasattr(host_array, "__cuda_array_interface__"):
            return self._as_numba(host_array)
        host = np.asarray(host_array, order="C")
        device_array = self.empty(host.shape, host.dtype) if out is None else self._as_numba(out)
        check_same("out", device_array, host)
        with self._current(), named(f"copying {host.nbytes} bytes to the GPU"):
            device_array.copy_to_device(host, stream=numba_stream(stream))
        return device_array

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
        """Return an array on the device whose contents are undefined.

        Raises
        ------
        TooLargeError
            The GPU has not that much memory left.
        """
        needed = bytes_of(shape, dtype)
        with self._current():
            try:
                with named(f"allocating {needed} bytes on the GPU"):
                    return self._cuda.device_array(as_shape(shape), dtype)
            except DeviceError as fault:
                if "CUDA_ERROR_OUT_OF_MEMORY" not in str(fault):
                    raise
                free = self.free_bytes()
                raise TooLargeError(
                    f"an array of {needed} bytes does not fit: {self.properties.name} has {free} "
                    f"of its {self.properties.memory_bytes} bytes free"
                ) from fault

    def full(self, shape: int | tuple[int, ...], value: Any, dtype: DTypeLike) -> Any:
        """Return an array on the device with ``value`` in every place."""
        import numpy as np

        pattern = np.full(1, value, dtype)
        device_array = self.empty(shape, dtype)
        if device_array.size == 0:
            return device_array
        different_bytes = set(pattern.tobytes())
        with self._current(), named(f"filling {device_array.nbytes} bytes on the GPU"):
            if len(different_bytes) == 1:
                from numba.cuda.cudadrv.driver import device_memset

                device_memset(device_array, different_bytes.pop(), device_array.nbytes)
            else:
                most_blocks = 32 * self.properties.multiprocessors
                blocks = min(-(-device_array.size // _FILL_THREADS), most_blocks)
                configured = _configured(_fill_kernel(), blocks, _FILL_THREADS, 0, 0)
                configured(device_array.reshape(device_array.size), pattern[0])
        return device_array

    def pinned(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return a page-locked host array: copies to and from it overlap with kernels."""
        import numpy as np

        needed = bytes_of(shape, dtype)
        if needed == 0:  # the driver has no page-locked memory of no bytes
            return np.empty(shape, dtype)
        with self._current(), named(f"allocating {needed} bytes of page-locked host memory"):
            pinned: NDArray[Any] = self._cuda.pinned_array(as_shape(shape), dtype)
        return pinned

    def to_host(
        self, device_array: Any, out: NDArray[Any] | None = None, *, stream: Any = None
    ) -> NDArray[Any]:
        """Return the contents of ``device_array`` on the host, in ``out`` where it is given.

        Without a stream the copy is complete on return; with one, when the stream is.
        """
        import numpy as np
        from numba.cuda.cudadrv.driver import device_to_host

        source = self._as_numba(device_array)
        if out is not None:
            check_out(out, source)
        queue = numba_stream(stream)
        with self._current(), named(f"copying {source.nbytes} bytes from the GPU"):
            # An array may be bound to the stream of another library.
            queue = queue or source.stream
            if source.flags["C_CONTIGUOUS"]:
                host = np.empty(source.shape, source.dtype) if out is None else out
                if source.size:
                    device_to_host(host, source, source.nbytes, stream=queue)
                if stream is None and queue:
                    queue.synchronize()
                return host
            gathered: NDArray[Any] = source.copy_to_host(stream=queue)
            if queue and (stream is None or out is not None):
                queue.synchronize()
            if out is None:
                return gathered
            # Numba copies into `out` only where the strides are the same.
            out[...] = gathered
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
        name = kernel_name(kernel)
        blocks = dimensions("grid", grid, self.properties.max_grid_dim, name)
        threads = dimensions("block", block, self.properties.max_block_dim, name)
        self._check_block(name, math.prod(threads), shared_bytes)
        queue = numba_stream(stream)
        described = None if shared_bytes or cooperative else self._relauncher.described(args)
        with self._current(), launching(kernel, blocks, threads, shared_bytes):
            if described is not None:
                compiled = self._relauncher.find(kernel, described[0])
                if compiled is not None:
                    configured = _configured(kernel, blocks, threads, queue, 0)
                    with self._timing(stream):
                        relaunch(compiled, configured.stream, blocks, threads, described[1])
                    return
            compiled = None
            if shared_bytes or cooperative or self._time_kernels:
                compiled = kernel.compile(tuple(kernel.typeof_pyval(arg) for arg in args))
                self._allow_shared(name, compiled, shared_bytes)
            configured = _configured(kernel, blocks, threads, queue, shared_bytes)
            with self._timing(stream):
                if cooperative:
                    self._check_resident(name, compiled, blocks, threads, shared_bytes)
                    with _launched_together(compiled):
                        configured(*args)
                else:
                    configured(*args)
            if described is not None:
                self._relauncher.keep(kernel, described[0], args)

    def max_active_blocks(self, kernel: Any, block: Grid, shared_bytes: int = 0) -> int:
        """Return how many blocks of ``kernel`` one multiprocessor holds at a time.

        That depends on the registers of the compiled kernel, and so on the types of its arguments:
        the variant compiled last counts.

        Raises
        ------
        LaunchError
            The kernel was not compiled yet, or the device cannot launch such blocks at all.
        """
        name = kernel_name(kernel)
        threads = math.prod(dimensions("block", block, self.properties.max_block_dim, name))
        self._check_block(name, threads, shared_bytes)
        if not kernel.overloads:
            raise LaunchError(
                f"{name}: how many of its blocks fit is known once it is compiled for the types of "
                "its arguments; launch it once before"
            )
        compiled = list(kernel.overloads.values())[-1]
        with self._current(), named(f"{name}: asking how many blocks fit"):
            self._allow_shared(name, compiled, shared_bytes)
            resident = compiled.max_cooperative_grid_blocks(threads, shared_bytes)
        return int(resident) // self.properties.multiprocessors

    def free_bytes(self) -> int:
        """Return how many bytes of the GPU's memory are free."""
        with self._current(), named("asking for the free memory"):
            context = self._cuda.current_context()
            # Numba keeps what died for a while before it gives it back.
            context.deallocations.clear()
            return int(context.get_memory_info().free)

    def stream(self, *, urgent: bool = False) -> CudaStream:
        """Return a new stream; blocks of an ``urgent`` one go before those of others."""
        return CudaStream(self, urgent=urgent)

    def event(self) -> CudaEvent:
        """Return a new event."""
        return CudaEvent(self)

    def synchronize(self) -> None:
        """Wait until everything on the device is done."""
        with self._current(), named("waiting for the GPU"):
            self._cuda.synchronize()
        self.kernel_ms += sum(start.elapsed_ms(end) for start, end in self._timed)
        self._timed.clear()

    def reset_kernel_ms(self) -> None:
        """Forget the time of the kernels launched so far."""
        self._timed.clear()
        self.kernel_ms = 0.0 if self._time_kernels else math.nan

    def _current(self) -> AbstractContextManager[None]:
        """Make this the GPU on which Numba works."""
        current = self._cuda.gpus.current
        # Making it current once more costs 20 us, about as much as a launch.
        if current is not None and current.id == self._index:
            return _AS_IT_IS
        # Numba gives memory back whenever an array dies, and needs some context for that; so the
        # first one on a thread is left there.
        if current is None:
            self._cuda.current_context(self._index)
        gpu: AbstractContextManager[None] = self._cuda.gpus[self._index]
        return gpu

    def _as_numba(self, array: Any) -> Any:
        """Return an array of the GPU as Numba's own, which shares its memory."""
        if not hasattr(array, "__cuda_array_interface__"):
            raise InputTypeError(
                f"device_array is a {type(array).__name__}; an array on the GPU is needed"
            )
        if getattr(array, "__cuda_ndarray__", False):
            return array
        with self._current(), named("taking an array of another library"):
            return self._cuda.as_cuda_array(array)

    def _check_block(self, name: str, threads: int, shared_bytes: int) -> None:
        properties = self.properties
        if threads > properties.max_threads_per_block:
            raise LaunchError(
                f"{name}: a block of {threads} threads; {properties.name} takes at most "
                f"{properties.max_threads_per_block}"
            )
        if not 0 <= shared_bytes <= properties.shared_bytes_per_block_optin:
            raise LaunchError(
                f"{name}: shared_bytes={shared_bytes}; a block on {properties.name} has 0 to "
                f"{properties.shared_bytes_per_block_optin}"
            )

    def _allow_shared(self, name: str, compiled: Any, shared_bytes: int) -> None:
        """Ask the driver for more shared memory than a block may have by default."""
        properties = self.properties
        static = int(compiled.shared_mem_per_block)
        if static + shared_bytes <= properties.shared_bytes_per_block:
            return
        if static + shared_bytes > properties.shared_bytes_per_block_optin:
            raise LaunchError(
                f"{name}: shared_bytes={shared_bytes} and {static} bytes of static arrays; a block "
                f"on {properties.name} has at most {properties.shared_bytes_per_block_optin}"
            )
        if shared_bytes > self._allowed.get(compiled, 0):
            _set_max_dynamic_shared(compiled.library.get_cufunc(), shared_bytes, self._index)
            self._allowed[compiled] = shared_bytes

    def _check_resident(
        self,
        name: str,
        compiled: Any,
        blocks: tuple[int, ...],
        threads: tuple[int, ...],
        shared_bytes: int,
    ) -> None:
        """Raise `LaunchError` where not all blocks of a cooperative launch are resident."""
        block = math.prod(threads)
        resident = int(compiled.max_cooperative_grid_blocks(block, shared_bytes))
        if math.prod(blocks) > resident:
            raise LaunchError(
                f"{name}: a cooperative launch of {math.prod(blocks)} blocks of {block} threads "
                f"with shared_bytes={shared_bytes}; {self.properties.name} holds {resident} of "
                f"them at a time on its {self.properties.multiprocessors} multiprocessors: "
                "give each thread more of the work"
            )

    @contextmanager
    def _timing(self, stream: Any) -> Iterator[None]:
        if not self._time_kernels:
            yield
            return
        start, end = self.event(), self.event()
        start.record(stream)
        yield
        end.record(stream)
        self._timed.append((start, end))


def _numba_cuda() -> Any:
    """Return numba-cuda's `numba.cuda`; raise `DeviceError` with the reason why it has no GPU."""
    from warpladder.device.numba_target import FRONT_END

    if not FRONT_END.obstacle():
        from numba import cuda

        if cuda.is_available():
            return cuda
    raise DeviceError(
        f"there is no CUDA GPU to use: {probe_cuda().why_not.rstrip('.')}; the simulator and "
        "the CPU need none"
    )


def _set_max_dynamic_shared(function: Any, shared_bytes: int, index: int) -> None:
    from numba.cuda.cudadrv.driver import binding, driver

    attribute = binding.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    # Newer releases of numba-cuda hold a CUkernel, older ones a CUfunction.
    if type(function.handle).__name__ == "CUkernel":
        driver.cuKernelSetAttribute(attribute, shared_bytes, function.handle, index)
    else:
        driver.cuFuncSetAttribute(function.handle, attribute, shared_bytes)


@functools.cache
def _fill_kernel() -> Any:
    from numba import cuda

    @cuda.jit
    def fill(out: Any, value: Any) -> None:
        for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            out[i] = value

    return fill


@functools.lru_cache(maxsize=256)
def _configured(kernel: Any, grid: Grid, block: Grid, stream: Any, shared_bytes: int) -> Any:
    """Return ``kernel`` ready to be called, without the warning that its grid is small."""
    with warnings.catch_warnings():
        # Numba may put the codes of a bold font around the text.
        warnings.filterwarnings(
            "ignore", message=r".*Grid size \d+ will likely result in GPU under"
        )
        return kernel[grid, block, stream, shared_bytes]


@contextmanager
def _launched_together(compiled: Any) -> Iterator[None]:
    """Let Numba launch cooperatively even a kernel without a grid barrier of its own."""
    usual = compiled.cooperative
    compiled.cooperative = True
    try:
        yield
    finally:
        compiled.cooperative = usual
