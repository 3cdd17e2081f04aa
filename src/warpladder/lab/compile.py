"""Kernels compiled for GPUs that are not there: registers, spills, and the code itself.

Numba makes PTX of a kernel by NVVM, ptxas makes machine code (SASS) of it, nvdisasm prints that.
All three come as packages (``pip install 'warpladder[compile]'``), and none of them needs a GPU.

On a GPU with nvJitLink, Numba takes another way through the same back end, by NVVM's intermediate
code. Of thirteen kernels of seven rungs compiled both ways with CUDA 13.5 for 9.0, all had the same
registers, and all but one hot loops of the same length (485 and 487 instructions in `grid-sync`).

Numba asks the GPU of the process what to compile device functions for. `_without_gpu` is all that
is done about it, and undoes it; `tests/lab/test_compiles.py` says so when numba-cuda moves.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from warpladder.device.numba_target import FRONT_END
from warpladder.device.properties import dotted, known_capabilities
from warpladder.errors import DeviceError, InputError, MissingExtraError

__all__ = [
    "Compiled",
    "compilable_capabilities",
    "compile_kernel",
    "missing_tool",
]

_EXTRA = "compile"
_PURPOSE = "compiling kernels without a GPU"
#: CUDA 13 compiles for nothing older.
_OLDEST = (7, 5)
#: Library functions, as the barrier of a grid, `reshape` and arithmetic of float16 call them:
#: without them the code is not complete. That of `print` is the driver's.
_LINKED_LATER = re.compile(r"^\.extern \.func\s+(?:\(.*\)\s+)?(?!vprintf)\w", re.MULTILINE)
#: A compiler that takes longer than this many seconds hangs.
_PATIENCE = 300


@dataclass(frozen=True)
class Compiled:
    """What became of a kernel.

    Attributes
    ----------
    name
        Of the kernel in Python.
    compute_capability
        What it was compiled for.
    ptx
        What NVVM made: code for a machine with any number of registers.
    cubin
        What ptxas made of that: an ELF file with the code of the real machine.
    registers
        Of a thread.
    spill_bytes
        Stored and loaded by a thread, once through the code, because registers did not suffice.
    stack_bytes
        Local memory of a thread: arrays that did not become registers, and spilled registers.
    shared_bytes
        Static shared memory of a block.
    """

    name: str
    compute_capability: tuple[int, int]
    ptx: str
    cubin: bytes
    registers: int
    spill_bytes: int
    stack_bytes: int
    shared_bytes: int

    @cached_property
    def sass(self) -> str:
        """The machine code as nvdisasm prints it.

        Raises
        ------
        MissingExtraError
            nvdisasm is not installed.
        """
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "kernel.cubin")
            file.write_bytes(self.cubin)
            return _run(_tool("nvdisasm"), "-c", str(file)).stdout


# ---- what is installed -----------------------------------------------------------------------


def missing_tool() -> str | None:
    """Return which tool is not installed and what brings it, or None where all are."""
    try:
        _libdevice()
        for name in ("ptxas", "nvdisasm"):
            _tool(name)
    except (DeviceError, MissingExtraError) as missing:
        return str(missing)
    return None


def compilable_capabilities() -> tuple[tuple[int, int], ...]:
    """Return the compute capabilities that CUDA 13 compiles for, the oldest first.

    Examples
    --------
    >>> compilable_capabilities()[0]
    (7, 5)
    """
    return tuple(version for version in known_capabilities() if version >= _OLDEST)


@cache
def _libdevice() -> bytes:
    """Return NVVM's library of mathematics, having made sure that NVVM itself can be loaded."""
    if missing := FRONT_END.obstacle(_EXTRA):
        raise DeviceError(f"{_PURPOSE} needs {missing}")
    from cuda.pathfinder import (
        BitcodeLibNotFoundError,
        DynamicLibNotFoundError,
        find_bitcode_lib,
        load_nvidia_dynamic_lib,
    )

    try:
        load_nvidia_dynamic_lib("nvvm")
        return Path(find_bitcode_lib("device")).read_bytes()
    except (DynamicLibNotFoundError, BitcodeLibNotFoundError) as fault:
        raise MissingExtraError(_PURPOSE, "NVVM", _EXTRA) from fault


def _tool(name: str) -> str:
    try:
        from cuda.pathfinder import find_nvidia_binary_utility
    except ImportError as fault:
        raise MissingExtraError(_PURPOSE, name, _EXTRA) from fault
    found = find_nvidia_binary_utility(name)
    if found is None:
        raise MissingExtraError(_PURPOSE, name, _EXTRA)
    return str(found)


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(  # noqa: S603 - a tool of CUDA, on files that were written here
        command, capture_output=True, text=True, timeout=_PATIENCE, check=False
    )
    if done.returncode:
        raise DeviceError(f"{Path(command[0]).name} failed: {(done.stderr or done.stdout).strip()}")
    return done


# ---- compiling -------------------------------------------------------------------------------


def compile_kernel(
    kernel: Any, arguments: tuple[Any, ...], compute_capability: tuple[int, int] = (9, 0)
) -> Compiled:
    """Compile a kernel; no GPU is needed.

    Parameters
    ----------
    kernel
        A ``@cuda.jit`` function; ``max_registers``, ``launch_bounds``, ``fastmath`` and ``opt`` of
        its decorator hold.
    arguments
        Numba types of its arguments, as `launches.launched_variants` finds them.
    compute_capability
        Of the GPU to compile for.

    Raises
    ------
    MissingExtraError
        NVVM or ptxas is not installed.
    InputError
        CUDA 13 does not compile for this capability.
    DeviceError
        ptxas refuses the kernel, for instance because a block has too much shared memory; or
        numba-cuda, which makes the PTX, is missing.
    """
    known = compilable_capabilities()
    if compute_capability not in known:
        raise InputError(
            f"compute_capability={dotted(compute_capability)}: kernels can be compiled for "
            f"{', '.join(map(dotted, known))}"
        )
    options = kernel.targetoptions
    ptx = _ptx(kernel, arguments, compute_capability)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        command = [_tool("ptxas"), "-arch=sm_{}{}".format(*compute_capability), "-v"]
        command.append("-O3" if options.get("opt", True) else "-O0")
        if limit := options.get("max_registers"):
            command += ["-maxrregcount", str(limit)]
        if _LINKED_LATER.search(ptx):
            command.append("-c")
        told = _run(*command, str(source), "-o", str(target)).stderr
        cubin = target.read_bytes()
    return Compiled(
        kernel.py_func.__name__,
        compute_capability,
        ptx,
        cubin,
        registers=max(_numbers(r"Used (\d+) registers", told)),
        spill_bytes=sum(_numbers(r"(\d+) bytes spill", told)),
        stack_bytes=max(_numbers(r"(\d+) bytes stack frame", told)),
        shared_bytes=max(_numbers(r"(\d+) bytes smem", told), default=0),
    )


def _numbers(pattern: str, text: str) -> list[int]:
    return [int(number) for number in re.findall(pattern, text)]


def _ptx(kernel: Any, arguments: tuple[Any, ...], compute_capability: tuple[int, int]) -> str:
    from numba import cuda

    options = kernel.targetoptions
    with _without_gpu(compute_capability):
        ptx, _ = cuda.compile_ptx(
            kernel.py_func,
            arguments,
            cc=compute_capability,
            debug=options.get("debug"),
            lineinfo=bool(options.get("lineinfo")),
            fastmath=bool(options.get("fastmath")),
            opt=options.get("opt"),
            launch_bounds=options.get("launch_bounds"),
        )
    return str(ptx)


_lock = threading.RLock()
#: Device functions compiled for each capability: Numba has one place for them, whatever the GPU.
_functions: dict[tuple[int, int], weakref.WeakKeyDictionary[Any, Any]] = {}


@contextmanager
def _without_gpu(compute_capability: tuple[int, int]) -> Iterator[None]:
    """Have Numba compile for this capability, and undo all that afterwards.

    Numba asks four questions that need a GPU or the whole of CUDA, answered here: what it is on,
    what it can compile for (NVRTC knows), where NVVM's mathematics is (found together with
    libraries that are not needed), and which device functions it has compiled already.
    """
    libdevice = _libdevice()
    from numba.cuda import dispatcher
    from numba.cuda.core import config
    from numba.cuda.cudadrv import nvvm

    device = SimpleNamespace(compute_capability=compute_capability)
    kind = dispatcher.CUDADispatcher
    compile_device = kind.compile_device
    replaced: dict[Any, Any] = {}

    def compile_apart(self: Any, arguments: Any, return_type: Any = None) -> Any:
        if self not in replaced:
            replaced[self] = self.overloads
            self.overloads = apart.setdefault(self, type(self.overloads)())
        return compile_device(self, arguments, return_type)

    with _lock, ExitStack() as stack:
        apart = _functions.setdefault(compute_capability, weakref.WeakKeyDictionary())
        for where, name, value in (
            (dispatcher, "get_current_device", lambda: device),
            (config, "FORCE_CUDA_CC", compute_capability),
            (nvvm, "get_libdevice", lambda: "libdevice"),
            (nvvm, "open_libdevice", lambda: libdevice),
            (kind, "compile_device", compile_apart),
        ):
            stack.enter_context(patch.object(where, name, value))
        try:
            yield
        finally:
            for function, overloads in replaced.items():
                function.overloads = overloads
