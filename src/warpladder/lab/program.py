"""A program that launches kernels itself, run as it is on the simulated GPU.

It needs to know nothing of this package: within the run ``numba.cuda`` is the simulated GPU. To be
explained it is made a rung of its own, whose host function is the whole program.
"""

from __future__ import annotations

import ast
import contextlib
import io
import runpy
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from warpladder.errors import InputError, KernelFaultError
from warpladder.lab import own
from warpladder.rung import Bound, Ladder, Rung, Task, Work

if TYPE_CHECKING:
    from warpladder.lab.devices import Simulated

__all__ = ["is_program", "nothing_launched", "program_rung", "run_program"]


def run_program(path: Path, compute_capability: tuple[int, int] = (9, 0)) -> None:
    """Run a Python file as a program, with a simulated GPU; what it prints is dropped.

    Raises
    ------
    InputError
        Python cannot run it, or it ends itself as one that failed.
    UnsupportedKernelError
        Numba cannot type one of its kernels.
    KernelFaultError
        A check found a fault in a kernel.
    """
    from warpladder.device.compile_errors import compile_error
    from warpladder.simulator import simulated_cuda

    own.read_source(path)
    own.adopt(path)
    arguments, sys.argv = sys.argv, [str(path)]
    folders = list(sys.path)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with (
            # Back from where the program goes: it is run again, by the same path.
            contextlib.chdir("."),
            simulated_cuda(compute_capability=compute_capability),
            # With bytes below, as those have who write to its buffer.
            contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")),
        ):
            runpy.run_path(str(path), run_name="__main__")
    except KernelFaultError:
        raise
    except SystemExit as ended:
        if ended.code:
            raise InputError(f"{path} ends itself, with status {ended.code}") from ended
    except Exception as fault:
        kernel = _kernel_in(fault)
        if kernel and (refusal := compile_error(kernel, fault)):
            raise refusal from fault
        raise InputError(own.mistake_in(fault) or f"{path}: {fault}") from fault
    finally:
        sys.argv = arguments
        sys.path[:] = folders


def _kernel_in(fault: BaseException) -> Callable[..., Any] | None:
    """Return the kernel whose launch raised an error; Numba's are passed on as they are."""
    from warpladder.simulator.kernel import SimulatedKernel

    for frame, _ in traceback.walk_tb(fault.__traceback__):
        owner = frame.f_locals.get("self")
        if isinstance(owner, SimulatedKernel):
            kernel: Callable[..., Any] = owner.py_func
            return kernel
    return None


def nothing_launched(path: Path) -> InputError:
    """Return the error for a program that launches no kernel."""
    return InputError(
        f"{path} ends without having launched a kernel. Launch it at the end of the file, "
        "kernel[grid, block](...), or describe it as a rung (`warpladder new` shows how)"
    )


def program_rung(path: Path) -> tuple[Ladder, Rung]:
    """Return a program as a rung with its kernels, in a ladder of one.

    Its sizes are its own, so the size 0 stands for them.

    Raises
    ------
    InputError
        Python cannot run it, or it launches no kernel.
    """
    from warpladder.simulator.watch import watched

    with watched(checks=False) as seen:
        run_program(path)
    if not seen.kernels:
        raise nothing_launched(path)

    def run(device: Simulated, _problem: object) -> None:
        with watched(checks=False, counters=True) as counted:
            run_program(path, device.properties.compute_capability)
        # Every run of a program makes its kernels anew, in the same order.
        first = {
            id(again.py_func): kernel.py_func
            for again, kernel in zip(counted.kernels, seen.kernels, strict=False)
        }
        device.launches.extend(
            replace(launch, function=first.get(id(launch.function))) for launch in counted.launches
        )

    # Where the text of a rung is looked up.
    module = ModuleType(f"program_{path.stem}", ast.get_docstring(own.read_source(path)[1]))
    module.__file__ = str(path.resolve())
    sys.modules[module.__name__] = module
    run.__module__ = module.__name__
    bound = Bound("latency", "not stated")
    title = "a program with kernels of its own"
    rung = Rung(path.stem, title, "", run, _TASK, bound, kernels=tuple(seen.kernels))
    return Ladder(path.name, title, (rung,)), rung


def _nothing(*_: Any) -> tuple[()]:
    return ()


def _no_work(_problem: object) -> Work:
    return Work(0, 0)


_TASK = Task("what the program computes", _nothing, _nothing, _no_work, "programs", 0, (0,))


def is_program(rung: Rung) -> bool:
    """Tell a program that was made a rung from other rungs."""
    return rung.task is _TASK
