"""What most tests of the simulator begin with: a kernel and a launch."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from numba import cuda
from numba.core.errors import TypingError

from warpladder.device.numba_target import FRONT_END
from warpladder.simulator import LaunchReport, simulate

#: Numba and numba-cuda have one each.
TYPING_ERRORS = (TypingError,)
if FRONT_END.package == "numba-cuda":
    TYPING_ERRORS += (import_module("numba.cuda.core.errors").TypingError,)

SCHEDULES = ("lockstep", "warps", "warps-reverse", "warps-random")


def run(
    kernel: Any,
    grid: Any,
    block: Any,
    *arguments: Any,
    shared: int = 0,
    cooperative: bool = False,
    checks: Any = True,
    **options: Any,
) -> LaunchReport:
    """Simulate one launch, with all checks unless told otherwise, and return its report."""
    simulated = simulate(kernel, checks=checks, **options)
    simulated.launch(grid, block, arguments, shared_bytes=shared, cooperative=cooperative)
    assert simulated.report is not None
    return simulated.report


def counted(kernel: Any, grid: Any, block: Any, *arguments: Any, **options: Any) -> Any:
    """Return the counters of one launch."""
    return run(kernel, grid, block, *arguments, counters=True, **options).counters


def line_of(kernel: Any, text: str) -> int:
    """Return the number of the one source line of ``kernel`` that contains ``text``."""
    lines, first = inspect.getsourcelines(getattr(kernel, "py_func", kernel))
    (found,) = [first + k for k, line in enumerate(lines) if text in line]
    return found


def elementwise(function: Any) -> Any:
    """Return a kernel that applies ``function`` to every element, one thread for each."""
    device_function = cuda.jit(device=True)(function)

    @cuda.jit
    def kernel(source, target):
        i = cuda.grid(1)
        if i < source.size:
            target[i] = device_function(source[i])

    return kernel


@cuda.jit(debug=True, opt=False)
def asserts_positive(values: Any) -> None:
    """Assert in a kernel: here, since pytest rewrites what the tests assert."""
    assert values[cuda.grid(1)] > 0
