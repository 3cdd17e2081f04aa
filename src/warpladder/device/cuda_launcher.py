"""Kernels on a GPU: compiled once for the kinds of their arguments, checked, and launched.

A launch that was made before, with the same dimensions and arguments of the same kinds, costs two
looks into tables and the driver's own time.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from warpladder.device import cuda_memory as memory
from warpladder.device.compiler import compile_kernel, kinds_and_words
from warpladder.device.cuda_arguments import dimensions
from warpladder.device.cuda_faults import Extents, kernel_name, launch_fault, named
from warpladder.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from warpladder.device.base import Grid
    from warpladder.device.properties import DeviceProperties

__all__ = ["Launcher", "Ready"]

# Launches that are remembered, by kernel, dimensions and kinds of arguments; programs have a few.
_MOST_READY = 4096


class Loaded(NamedTuple):
    """A compiled kernel on this GPU: the driver's kernel, and the bytes of its static arrays."""

    kernel: Any
    static_bytes: int
    is_cooperative: bool
    needs_numba: bool


class Ready(NamedTuple):
    """A launch that was checked: its extents, cuda.core's record of them, the compiled kernel."""

    extents: Extents
    config: Any
    loaded: Loaded


class Launcher:
    """The kernels of one GPU.

    Parameters
    ----------
    core
        The module cuda.core.
    index
        Of the GPU.
    properties
        Of the GPU.
    ours
        Makes arrays of ours of those of other libraries.
    """

    def __init__(
        self, core: Any, index: int, properties: DeviceProperties, ours: Callable[[Any], Any]
    ) -> None:
        self._core = core
        self._ours = ours
        self._index = index
        self._properties = properties
        self._ready: dict[tuple[Any, ...], Ready] = {}
        # By kernel and the kinds of its arguments; None for what Numba itself tells apart.
        self._loaded: WeakKeyDictionary[Any, dict[Any, Loaded]] = WeakKeyDictionary()
        # By kernel of the driver, the dynamic shared memory that it was asked to allow.
        self._allowed: dict[Any, int] = {}

    def launch(
        self,
        kernel: Any,
        grid: Grid,
        block: Grid,
        args: tuple[Any, ...],
        shared_bytes: int,
        queue: Any,
        cooperative: bool,
    ) -> None:
        """Start ``kernel``, as `CudaDevice.launch` says, on a stream of cuda.core."""
        ready, args, words = self._found(kernel, grid, block, args, shared_bytes, cooperative)
        try:
            if words is None or ready.loaded.needs_numba:
                _launch_by_numba(kernel, ready.extents, args, queue)
            else:
                self._core.launch(queue, ready.config, ready.loaded.kernel, *words)
        except Exception as fault:
            _tell(fault, kernel, ready.extents)
            raise

    def ready(self, kernel: Any, grid: Grid, block: Grid, args: tuple[Any, ...]) -> Ready | None:
        """Return a launch that needs no more than the driver; None where only Numba can make it."""
        ready, _, words = self._found(kernel, grid, block, args, 0, False)
        plain = words is not None and not ready.loaded.needs_numba
        return ready if plain and not ready.loaded.is_cooperative else None

    def _found(
        self,
        kernel: Any,
        grid: Grid,
        block: Grid,
        args: tuple[Any, ...],
        shared_bytes: int,
        cooperative: bool,
    ) -> tuple[Ready, tuple[Any, ...], list[Any] | None]:
        """Return a launch, checked; its arguments, of ours; the words for them, None for Numba."""
        described = kinds_and_words(args)
        if described is None:
            args = tuple(self._ours(arg) for arg in args)
            described = kinds_and_words(args)
        kinds, words = (None, None) if described is None else described
        key = (
            kernel,
            tuple(grid) if isinstance(grid, list) else grid,
            tuple(block) if isinstance(block, list) else block,
            shared_bytes,
            cooperative,
            kinds,
        )
        return self._ready.get(key) or self._prepare(key, args), args, words

    def max_active_blocks(self, kernel: Any, block: Grid, shared_bytes: int = 0) -> int:
        """Return what `CudaDevice.max_active_blocks` does, and refuse what it does."""
        name = kernel_name(kernel)
        threads = math.prod(dimensions("block", block, self._properties.max_block_dim, name))
        self._check_block(name, threads, shared_bytes)
        variants = self._loaded.get(kernel)
        if not variants:
            raise LaunchError(
                f"{name}: how many of its blocks fit is known once it is compiled for the types of "
                "its arguments; launch it once before"
            )
        loaded = list(variants.values())[-1]
        with named(f"{name}: asking how many blocks fit"):
            self._allow_shared(name, loaded, shared_bytes)
            return _resident(loaded, threads, shared_bytes)

    def _prepare(self, key: tuple[Any, ...], args: tuple[Any, ...]) -> Ready:
        """Check a launch and compile its kernel; remember both."""
        kernel, grid, block, shared_bytes, cooperative, kinds = key
        name, properties = kernel_name(kernel), self._properties
        blocks = dimensions("grid", grid, properties.max_grid_dim, name)
        threads = dimensions("block", block, properties.max_block_dim, name)
        self._check_block(name, math.prod(threads), shared_bytes)
        extents = Extents(blocks, threads, shared_bytes)
        try:
            loaded = self._load(kernel, args, kinds)
            self._allow_shared(name, loaded, shared_bytes)
            config = self._core.LaunchConfig(
                grid=blocks,
                block=threads,
                shmem_size=shared_bytes,
                is_cooperative=cooperative or loaded.is_cooperative,
            )
            if cooperative:
                self._check_resident(name, extents, loaded)
        except Exception as fault:
            _tell(fault, kernel, extents)
            raise
        ready = Ready(extents, config, loaded)
        if kinds is not None:
            if len(self._ready) == _MOST_READY:
                self._ready.clear()
            self._ready[key] = ready
        return ready

    def _load(self, kernel: Any, args: tuple[Any, ...], kinds: Any) -> Loaded:
        """Return the kernel compiled for arguments of these kinds."""
        known = self._loaded.setdefault(kernel, {})
        if kinds is None or kinds not in known:
            compiled = compile_kernel(kernel, args)
            loaded = compiled.code.get_kernel(compiled.entry)
            static = int(loaded.attributes.shared_size_bytes)
            known[kinds] = Loaded(loaded, static, compiled.is_cooperative, compiled.needs_numba)
        return known[kinds]

    def _check_block(self, name: str, threads: int, shared_bytes: int) -> None:
        properties = self._properties
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

    def _allow_shared(self, name: str, loaded: Loaded, shared_bytes: int) -> None:
        """Ask the driver for more shared memory than a block may have by default."""
        properties, static = self._properties, loaded.static_bytes
        if static + shared_bytes <= properties.shared_bytes_per_block:
            return
        if static + shared_bytes > properties.shared_bytes_per_block_optin:
            raise LaunchError(
                f"{name}: shared_bytes={shared_bytes} and {static} bytes of static "
                f"arrays; a block on {properties.name} has at most "
                f"{properties.shared_bytes_per_block_optin}"
            )
        if shared_bytes > self._allowed.get(loaded.kernel, 0):
            _set_max_dynamic_shared(loaded.kernel, shared_bytes, self._index)
            self._allowed[loaded.kernel] = shared_bytes

    def _check_resident(self, name: str, extents: Extents, loaded: Loaded) -> None:
        """Raise `LaunchError` where not all blocks of a cooperative launch are resident."""
        block, blocks = math.prod(extents.threads), math.prod(extents.blocks)
        multiprocessors = self._properties.multiprocessors
        resident = multiprocessors * _resident(loaded, block, extents.shared_bytes)
        if blocks > resident:
            raise LaunchError(
                f"{name}: a cooperative launch of {blocks} blocks of {block} threads with "
                f"shared_bytes={extents.shared_bytes}; {self._properties.name} holds {resident} of "
                f"them at a time on its {multiprocessors} multiprocessors: give each thread more "
                "of the work"
            )


def _set_max_dynamic_shared(kernel: Any, shared_bytes: int, index: int) -> None:
    from cuda.bindings import driver

    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    answer = driver.cuKernelSetAttribute(attribute, shared_bytes, kernel.handle, index)
    memory.checked(f"allowing {shared_bytes} bytes of shared memory", answer)


def _tell(fault: Exception, kernel: Any, extents: Extents) -> None:
    """Raise the error that describes a launch in place of a fault, where there is one."""
    told = launch_fault(fault, kernel, extents)
    if told is not None:
        raise told from fault


def _resident(loaded: Loaded, threads: int, shared_bytes: int) -> int:
    """Return how many blocks of a kernel one multiprocessor holds."""
    occupancy = loaded.kernel.occupancy
    return int(occupancy.max_active_blocks_per_multiprocessor(threads, shared_bytes))


def _launch_by_numba(kernel: Any, extents: Extents, args: tuple[Any, ...], queue: Any) -> None:
    """Launch what only Numba can: a kernel to be debugged, or arguments of unusual kinds."""
    from numba import cuda

    with warnings.catch_warnings():
        # Numba may put the codes of a bold font around the text.
        warnings.filterwarnings(
            "ignore", message=r".*Grid size \d+ will likely result in GPU under"
        )
        stream = cuda.external_stream(int(queue.handle))
        kernel[extents.blocks, extents.threads, stream, extents.shared_bytes](*args)
