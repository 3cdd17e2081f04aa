"""The driver's faults as errors that say what was being done, and with which launch."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from warpladder.device.compile_errors import compile_error
from warpladder.device.cuda import FORKED
from warpladder.errors import DeviceError, InputTypeError, LaunchError, WarpladderError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Extents",
    "is_of_driver",
    "kernel_name",
    "launch_fault",
    "meaning_of",
    "named",
    "reason_of",
]

# Codes by which the driver refuses a launch; the GPU works on.
_REFUSALS = (
    "CUDA_ERROR_INVALID_VALUE",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
)

# Codes of a kernel that went wrong; every later call gives the same.
_FATAL = (
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_ASSERT",
)


class Extents(NamedTuple):
    """Of a launch: the grid's blocks, the threads and the dynamic shared memory of each."""

    blocks: tuple[int, ...]
    threads: tuple[int, ...]
    shared_bytes: int

    def __str__(self) -> str:
        return f"grid={self.blocks}, block={self.threads}, shared_bytes={self.shared_bytes}"


@contextmanager
def named(doing: str) -> Iterator[None]:
    """Turn a fault of the driver into a `DeviceError` that says what was being done."""
    try:
        yield
    except Exception as fault:
        if not is_of_driver(fault):
            raise
        raise DeviceError(f"{doing}: {reason_of(fault)}") from fault


def launch_fault(fault: Exception, kernel: Any, extents: Extents) -> Exception | None:
    """Return the error that describes a launch, for a fault of the driver or of the compiler.

    None for any other fault, which is to pass as it is.
    """
    # cuda.core itself refuses a cooperative launch that is too large, with a ValueError.
    too_large = isinstance(fault, ValueError) and "exceeds the limit" in str(fault)
    if isinstance(fault, WarpladderError):
        return None
    if not (too_large or is_of_driver(fault)):
        return compile_error(kernel.py_func, fault)
    launch = f"{kernel_name(kernel)}: {extents}"
    reason = reason_of(fault)
    if not (too_large or any(code in reason for code in _REFUSALS)):
        return DeviceError(f"{launch}: {reason}")
    if kernel.overloads:
        compiled = list(kernel.overloads.values())[-1]
        reason += (
            f"; the compiled kernel takes {compiled.regs_per_thread} registers per thread and "
            f"at most {compiled.max_threads_per_block} threads per block"
        )
    return LaunchError(f"{launch}: {reason}")


def is_of_driver(fault: Exception) -> bool:
    """Whether an exception comes from the driver or its bindings."""
    from numba.cuda.cudadrv.error import CudaDriverError

    # cuda.core, through which newer releases launch, has moved its error class about.
    return isinstance(fault, CudaDriverError) or type(fault).__module__.startswith("cuda.")


def reason_of(fault: Exception) -> str:
    """Return the fault in one line, with what it means for this process."""
    reason = " ".join(str(fault).split())
    return reason + meaning_of(reason)


def meaning_of(reason: str) -> str:
    """Return what the code of the driver in a reason means for this process, or nothing.

    Examples
    --------
    >>> meaning_of("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered")
    '; a kernel before this call went wrong, and this process has lost the GPU'
    """
    if any(code in reason for code in _FATAL):
        return "; a kernel before this call went wrong, and this process has lost the GPU"
    # As the driver calls it, or CUDA's runtime.
    if "CUDA_ERROR_NOT_INITIALIZED" in reason or "cudaErrorInitializationError" in reason:
        return f"; {FORKED}"
    return ""


def kernel_name(kernel: Any) -> str:
    """Return the name of a kernel's Python function."""
    function = getattr(kernel, "py_func", None)
    if function is None:
        raise InputTypeError(
            f"kernel is a {type(kernel).__name__}; a function decorated with numba.cuda.jit is "
            "needed"
        )
    return str(function.__name__)
