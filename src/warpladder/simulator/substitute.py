"""`simulated_cuda`: existing numba-cuda programs, unchanged, on the simulated GPU.

Within the context ``numba.cuda`` has simulated counterparts of ``jit`` and of the host functions
for arrays, streams, events and devices, and kernels that were made before are launched on the
simulated GPU, too. What a program has already imported by name (``from numba.cuda import
to_device``) is out of reach: import it inside the context.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from numba import cuda

from warpladder.device.numba_target import CUDADispatcher
from warpladder.device.properties import properties_of
from warpladder.errors import DeviceError
from warpladder.simulator.checks.options import Checks
from warpladder.simulator.device import SimulatedEvent, SimulatedStream
from warpladder.simulator.execution.arguments import types_of
from warpladder.simulator.execution.arrays import SimulatedArray
from warpladder.simulator.execution.limits import resident_blocks
from warpladder.simulator.execution.schedule import Schedule
from warpladder.simulator.frontend.inference import declare_signatures
from warpladder.simulator.frontend.signatures import is_signature, normalize_signature
from warpladder.simulator.kernel import LaunchReport, Options, SimulatedKernel
from warpladder.simulator.program_arrays import (
    broadcasting,
    device_array,
    device_array_like,
    host_array,
    host_array_like,
    require_contiguous,
    to_device,
)
from warpladder.simulator.program_options import target_options

__all__ = ["simulated_cuda"]


@contextlib.contextmanager
def simulated_cuda(
    *,
    compute_capability: tuple[int, int] = (9, 0),
    schedule: str = "lockstep",
    seed: int = 0,
    checks: bool | Iterable[str] = False,
    counters: bool = False,
) -> Iterator[None]:
    """Let ``numba.cuda`` name the simulated GPU while the context lasts.

    Parameters
    ----------
    compute_capability, schedule, seed, checks, counters
        As `warpladder.simulator.simulate` takes them.

    Examples
    --------
    >>> from numba import cuda
    >>> from warpladder.simulator import simulated_cuda
    >>> with simulated_cuda():
    ...     @cuda.jit
    ...     def count(numbers):
    ...         numbers[cuda.grid(1)] = cuda.grid(1)
    ...     numbers = cuda.device_array(4, dtype="int32")
    ...     count[1, 4](numbers)
    ...     numbers.copy_to_host()
    array([0, 1, 2, 3], dtype=int32)
    """
    options = Options(
        properties_of(compute_capability),
        Schedule.named(schedule, seed),
        Checks.named(checks),
        counters,
    )
    substitutes = _Substitutes(options).by_name()
    saved = {name: getattr(cuda, name) for name in substitutes if hasattr(cuda, name)}
    for name, value in substitutes.items():
        setattr(cuda, name, value)
    try:
        with _launches_simulated(options), broadcasting():
            yield
    finally:
        for name in substitutes:
            if name in saved:
                setattr(cuda, name, saved[name])
            else:
                delattr(cuda, name)


@contextlib.contextmanager
def _launches_simulated(options: Options) -> Iterator[None]:
    """Have kernels that were made outside of the context launched on the simulated GPU."""
    configured, forall = CUDADispatcher.__getitem__, CUDADispatcher.forall

    def is_device_function(kernel: Any) -> bool:
        return bool(kernel.targetoptions.get("device"))

    def configure(kernel: Any, configuration: Any) -> Any:
        if is_device_function(kernel):
            return configured(kernel, configuration)
        return _Kernel(kernel, options)[configuration]

    def for_all(kernel: Any, *arguments: Any, **named: Any) -> Any:
        if is_device_function(kernel):
            return forall(kernel, *arguments, **named)
        return _Kernel(kernel, options).forall(*arguments, **named)

    CUDADispatcher.__getitem__, CUDADispatcher.forall = configure, for_all
    try:
        yield
    finally:
        CUDADispatcher.__getitem__, CUDADispatcher.forall = configured, forall


class _Kernel(SimulatedKernel):
    """A simulated kernel that also answers what programs ask of a compiled one."""

    @property
    def _numba_type_(self) -> Any:
        """What Numba sees where another kernel calls this one: the device function."""
        return self.dispatcher._numba_type_

    @property
    def overloads(self) -> Any:
        """By signature: an object that knows how many blocks fit for a cooperative launch."""
        return _Overloads(self)

    @property
    def signatures(self) -> tuple[tuple[Any, ...], ...]:
        """The signatures that the kernel was given, or else those that it was launched for."""
        return self._signatures or tuple(self.programs)

    def launch(
        self, grid: Any, block: Any, arguments: tuple[Any, ...], **options: Any
    ) -> LaunchReport:
        """Run the kernel; arrays of the host are refused where a GPU would not be sent them."""
        for argument in arguments:
            require_contiguous(f"{self.__name__}: an array of the host", argument)
        return super().launch(grid, block, arguments, **options)

    def _infer_types(self, kinds: tuple[Any, ...]) -> None:
        """Leave Numba's own errors as they are: programs may expect them."""

    def __getattr__(self, name: str) -> Any:
        """Tell why it lacks what a compiled kernel has."""
        if not name.startswith("_") and hasattr(CUDADispatcher, name):
            raise AttributeError(
                f"{name}: a simulated kernel is not compiled; `warpladder sass` compiles those of "
                "a program and tells registers and code"
            )
        raise AttributeError(f"a simulated kernel has no attribute {name!r}")

    def configure(
        self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0
    ) -> Callable[..., None]:
        """Return the kernel with a launch configuration."""
        return self[griddim, blockdim, stream, sharedmem]

    def specialize(self, *arguments: Any) -> SimulatedKernel:
        """Return the kernel for the types of these arguments."""
        return _Kernel(self.dispatcher, self.options, (types_of(arguments),))


class _Overloads(Mapping[Any, Any]):
    def __init__(self, kernel: _Kernel) -> None:
        self._kernel = kernel

    def __getitem__(self, signature: Any) -> Any:
        kernel = self._kernel
        program = kernel.program_for(normalize_signature(signature))
        properties = kernel.options.properties

        def most(blockdim: Any, dynsmemsize: int = 0) -> int:
            threads = math.prod(blockdim) if isinstance(blockdim, tuple | list) else blockdim
            return resident_blocks(properties, threads, program.shared.static_bytes + dynsmemsize)

        return SimpleNamespace(
            max_cooperative_grid_blocks=most,
            shared_mem_per_block=program.shared.static_bytes,
            max_threads_per_block=properties.max_threads_per_block,
        )

    def __iter__(self) -> Iterator[Any]:
        return iter(self._kernel.signatures)

    def __len__(self) -> int:
        return len(self._kernel.signatures)


class _MemoryInfo(NamedTuple):
    free: int
    total: int


class _Device(SimpleNamespace):
    """A device as numba-cuda has it; there is one, which a ``with`` makes the current one."""

    def __enter__(self) -> None:
        """Make it the current device."""

    def __exit__(self, *_: object) -> None:
        """Leave it so."""


class _Devices(list[_Device]):
    """All devices, as numba-cuda has them."""

    @property
    def lst(self) -> list[_Device]:
        """They, in a list."""
        return self

    @property
    def current(self) -> _Device:
        """The one that is current."""
        return self[0]


class _Substitutes:
    """What stands in for the functions of ``numba.cuda``."""

    def __init__(self, options: Options) -> None:
        self.options = options
        properties = options.properties
        self.device = _Device(
            name=properties.name,
            compute_capability=properties.compute_capability,
            id=0,
            MULTIPROCESSOR_COUNT=properties.multiprocessors,
            MAX_THREADS_PER_BLOCK=properties.max_threads_per_block,
            MAX_BLOCK_DIM_X=properties.max_block_dim[0],
            MAX_BLOCK_DIM_Y=properties.max_block_dim[1],
            MAX_BLOCK_DIM_Z=properties.max_block_dim[2],
            MAX_GRID_DIM_X=properties.max_grid_dim[0],
            MAX_GRID_DIM_Y=properties.max_grid_dim[1],
            MAX_GRID_DIM_Z=properties.max_grid_dim[2],
            MAX_SHARED_MEMORY_PER_BLOCK=properties.shared_bytes_per_block,
            MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=properties.shared_bytes_per_block_optin,
            MAX_SHARED_MEMORY_PER_MULTIPROCESSOR=properties.shared_bytes_per_multiprocessor,
            MAX_THREADS_PER_MULTIPROCESSOR=properties.max_threads_per_multiprocessor,
            MAX_BLOCKS_PER_MULTIPROCESSOR=properties.max_blocks_per_multiprocessor,
            MAX_REGISTERS_PER_BLOCK=properties.registers_per_block,
            MAX_REGISTERS_PER_MULTIPROCESSOR=properties.registers_per_multiprocessor,
            COMPUTE_CAPABILITY_MAJOR=properties.compute_capability[0],
            COMPUTE_CAPABILITY_MINOR=properties.compute_capability[1],
            WARP_SIZE=properties.warp_size,
            supports_float16=True,
            supports_bfloat16=properties.compute_capability >= (8, 0),
        )

    def by_name(self) -> dict[str, Any]:
        """Return the substitutes by their name in ``numba.cuda``."""
        context = SimpleNamespace(
            device=self.device, synchronize=_nothing, get_memory_info=self._memory_info,
            reset=_nothing,
        )  # fmt: skip
        return {
            "jit": self.jit,
            "is_available": lambda: True,
            "get_current_device": lambda: self.device,
            "current_context": lambda _devnum=None: context,
            "gpus": _Devices([self.device]),
            "list_devices": lambda: [self.device],
            "detect": self._detect,
            "select_device": self._select,
            "close": _nothing,
            "synchronize": _nothing,
            "profile_start": _nothing,
            "profile_stop": _nothing,
            "profiling": _context,
            "to_device": to_device,
            "device_array": device_array,
            "device_array_like": device_array_like,
            "pinned_array": host_array,
            "mapped_array": host_array,
            "managed_array": host_array,
            "pinned_array_like": host_array_like,
            "mapped_array_like": host_array_like,
            "pinned": _context,
            "mapped": _mapped,
            "defer_cleanup": _context,
            "require_context": lambda function: function,
            "is_supported_version": lambda: True,
            "is_bfloat16_supported": lambda: self.device.supports_bfloat16,
            "stream": _Stream,
            "external_stream": lambda ptr: _Stream(),  # noqa: ARG005 - as Numba has it
            "default_stream": _Stream,
            "legacy_default_stream": _Stream,
            "per_thread_default_stream": _Stream,
            "event": lambda timing=True: _Event(),  # noqa: ARG005 - as Numba has it
            "event_elapsed_time": lambda start, end: start.elapsed_time(end),
            "is_cuda_array": lambda value: isinstance(value, SimulatedArray),
            "as_cuda_array": lambda value, **_: value,
        }

    def _detect(self) -> bool:
        print(f"Found 1 CUDA devices\nid 0    {self.device.name}")  # noqa: T201 - as Numba does
        return True

    def _select(self, device_id: int = 0) -> _Device:
        if device_id != 0:
            raise DeviceError(f"select_device({device_id!r}): there is one simulated device, 0")
        return self.device

    def _memory_info(self) -> _MemoryInfo:
        total = self.options.properties.memory_bytes
        return _MemoryInfo(total, total)

    def jit(self, function: Any = None, device: bool = False, **options: Any) -> Any:
        """Stand in for ``cuda.jit``: kernels are simulated, device functions typed when called."""
        if function is None:
            return lambda written: self.jit(written, device=device, **options)
        if is_signature(function):
            several = function if isinstance(function, list) else [function]
            return lambda written: self._compiled_ahead(written, several, device, options)
        if isinstance(function, CUDADispatcher | SimulatedKernel):
            return function
        dispatcher = CUDADispatcher(function, target_options(options, device))
        return dispatcher if device else _Kernel(dispatcher, self.options, ())

    def _compiled_ahead(
        self, function: Callable[..., Any], signatures: list[Any], device: bool, options: Any
    ) -> Any:
        dispatcher = CUDADispatcher(function, target_options(options, device))
        if device:
            declare_signatures(dispatcher, signatures)
            return dispatcher
        taken = tuple(normalize_signature(signature) for signature in signatures)
        kernel = _Kernel(dispatcher, self.options, taken)
        for signature in taken:
            kernel.program_for(signature)
        return kernel


class _Stream(SimulatedStream):
    """A stream as numba-cuda has it."""

    def auto_synchronize(self) -> Any:
        """Return a context that ends with everything done."""
        return contextlib.nullcontext(self)

    def add_callback(self, callback: Callable[..., Any], arg: Any = None) -> None:
        """Call ``callback`` when what is on the stream is done: now."""
        callback(self, 0, arg)

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        return 0


class _Event(SimulatedEvent):
    """An event as numba-cuda has it."""

    def wait(self, stream: Any = None) -> None:
        """Return at once: everything before the event is done."""
        del stream

    def query(self) -> bool:
        """Return True: the event has been reached."""
        return True

    def elapsed_time(self, later: SimulatedEvent) -> float:
        """Return the milliseconds between two events."""
        return self.elapsed_ms(later)


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing: the simulated device is never busy."""


def _context(*_: Any, **__: Any) -> Any:
    return contextlib.nullcontext()


@contextlib.contextmanager
def _mapped(*arrays: Any, **_: Any) -> Iterator[Any]:
    yield arrays[0] if len(arrays) == 1 else arrays
