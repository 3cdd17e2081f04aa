"""`simulate`: a kernel that runs on the simulated GPU, with numba-cuda's launch syntax."""

from __future__ import annotations

import inspect
import math
import operator
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from warpladder.device.compile_errors import compile_error, defined_at
from warpladder.device.properties import DeviceProperties, properties_of
from warpladder.errors import InputError, InputTypeError, LaunchError
from warpladder.simulator.checks.counters import Counters
from warpladder.simulator.checks.options import Checks
from warpladder.simulator.execution.arguments import Arguments, types_of
from warpladder.simulator.execution.launch import Launch
from warpladder.simulator.execution.limits import check_limits, extents
from warpladder.simulator.execution.schedule import Schedule
from warpladder.simulator.execution.scheduler import run
from warpladder.simulator.frontend.inference import typed_function
from warpladder.simulator.frontend.signatures import (
    as_dispatcher,
    normalize_signature,
    own_signatures,
    signature_types,
)
from warpladder.simulator.machine.lanes import Geometry
from warpladder.simulator.machine.program import Program
from warpladder.simulator.translation.translator import translate
from warpladder.simulator.watch import note, overruled

if TYPE_CHECKING:
    from warpladder.simulator.checks.recorder import Recorder

__all__ = ["LaunchReport", "SimulatedKernel", "simulate"]


@dataclass(slots=True)
class LaunchReport:
    """What one launch did.

    Attributes
    ----------
    kernel, grid, block, shared_bytes
        What was launched; static and dynamic shared memory of a block.
    counters
        Summed over the kernel; empty where counting was not asked for.
    lines
        Per source line, by file name and line number.
    function
        The kernel itself; of two that one function makes, ``kernel`` and lines are the same.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    counters: Counters
    lines: dict[tuple[str, int], Counters] = field(default_factory=dict)
    function: Callable[..., Any] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Options:
    """How a kernel is simulated; see `simulate`."""

    properties: DeviceProperties
    schedule: Schedule
    checks: Checks
    counters: bool
    say: Callable[[str], None] | None = None
    recorder: Recorder | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.counters, bool):
            raise InputTypeError(f"counters={self.counters!r} must be True or False")


_programs: weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], Program]]
_programs = weakref.WeakKeyDictionary()


class SimulatedKernel:
    """A kernel on the simulated GPU: ``kernel[grid, block, stream, shared_bytes](*arguments)``.

    Attributes
    ----------
    py_func
        The Python function.
    report
        Of the last launch, of one that faulted up to the fault; None before the first.
    """

    def __init__(
        self, kernel: Any, options: Options, signatures: tuple[tuple[Any, ...], ...] = ()
    ) -> None:
        # Of what Python calls, only what has its code can be typed: not a ufunc, nor a class.
        if not (hasattr(kernel, "py_func") or hasattr(kernel, "__code__")):
            raise InputTypeError(
                f"kernel is of type {type(kernel).__name__}; pass a @cuda.jit kernel or a function"
            )
        if isinstance(kernel, SimulatedKernel):
            # As all kernels are that were made within `simulated_cuda`.
            signatures = signatures or kernel._signatures
            kernel = kernel.dispatcher
        self.dispatcher: Any = as_dispatcher(kernel)
        self.options = options
        self.py_func = self.dispatcher.py_func
        self.report: LaunchReport | None = None
        self._signatures: tuple[tuple[Any, ...], ...]
        self._signatures = signatures or own_signatures(self.dispatcher)
        self.__doc__ = self.py_func.__doc__
        self.__name__ = self.py_func.__name__

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        """Return the kernel with a launch configuration: call it with the kernel's arguments."""
        parts = configuration if isinstance(configuration, tuple) else (configuration,)
        if not 2 <= len(parts) <= 4:
            raise LaunchError(
                f"{self.__name__}[...]: a launch takes the grid and the block, and may have a "
                f"stream and the bytes of dynamic shared memory; {len(parts)} values were given"
            )
        grid, block, *rest = parts
        if rest and not (
            rest[0] is None or isinstance(rest[0], int) or hasattr(rest[0], "synchronize")
        ):
            raise InputTypeError(
                f"{self.__name__}[grid, block, stream]: {rest[0]!r} is no stream; give one of "
                "cuda.stream(), or 0"
            )
        place = f"{self.__name__}[grid, block, stream, shared_bytes]"
        shared = _bytes(place, rest[1]) if len(rest) > 1 else 0
        return self._configured(grid, block, shared)

    def _configured(self, grid: Any, block: Any, shared: int) -> Callable[..., None]:
        def start(*arguments: Any, **named: Any) -> None:
            if named:
                raise InputTypeError(
                    f"{self.__name__}[grid, block](...): kernels take arguments by position only; "
                    f"{', '.join(named)} was given by name"
                )
            self.launch(grid, block, arguments, shared_bytes=shared, as_numba=True)

        return start

    def __call__(self, *arguments: Any) -> None:
        """Refuse a call without a launch configuration, as Numba does."""
        del arguments
        raise LaunchError(
            f"{self.__name__}: launch configuration was not specified; a kernel is launched as "
            f"{self.__name__}[grid, block](...)"
        )

    def forall(
        self, ntasks: int, tpb: int = 0, stream: Any = None, sharedmem: int = 0
    ) -> Callable[..., None]:
        """Return the kernel configured for ``ntasks`` threads in one dimension."""
        del stream
        width = tpb or 128
        if ntasks < 0:
            raise LaunchError(f"{self.__name__}.forall: ntasks={ntasks} is negative")
        if ntasks == 0:
            return lambda *_: None
        return self._configured(-(-ntasks // width), width, sharedmem)

    def launch(
        self,
        grid: Any,
        block: Any,
        arguments: tuple[Any, ...],
        *,
        shared_bytes: int = 0,
        cooperative: bool = False,
        as_numba: bool = False,
    ) -> LaunchReport:
        """Run the kernel; return what it did when it is done.

        ``as_numba`` refuses dynamic shared memory for which Numba does not ask the driver.

        Raises
        ------
        LaunchError
            The device does not take this configuration.
        KernelFaultError
            A check failed.
        UnsupportedKernelError
            Numba cannot compile the kernel, or it uses something that cannot be simulated. The
            message has the place; Numba's own error is the ``__cause__``.
        """
        shared_bytes = _bytes(f"{self.__name__}: shared_bytes", shared_bytes)
        if not isinstance(cooperative, bool):
            raise InputTypeError(f"cooperative={cooperative!r} must be True or False")
        geometry = Geometry(
            extents("grid", grid, self.__name__), extents("block", block, self.__name__)
        )
        parameters = inspect.signature(self.py_func).parameters
        names = tuple(parameters)
        if len(arguments) != len(names):
            are_plain = all(
                one.default is one.empty and one.kind is not one.VAR_POSITIONAL
                for one in parameters.values()
            )
            raise InputTypeError(
                f"{defined_at(self.py_func)} takes {len(names)} arguments ({', '.join(names)}), "
                f"{len(arguments)} were given"
                f"{'' if are_plain else '; of a kernel all are given, defaults and *arguments too'}"
            )
        program = self.program_for(types_of(arguments))
        options: Options = overruled(self.options)
        bounds = self.dispatcher.targetoptions.get("launch_bounds")
        check_limits(
            program,
            geometry,
            options.properties,
            shared_bytes,
            cooperative,
            bounds[0] if isinstance(bounds, tuple) else bounds,
            as_numba=as_numba,
        )
        prepared = Arguments(names, program.argument_types, arguments)
        monitor = None
        if options.counters or options.checks.any or options.recorder is not None:
            from warpladder.simulator.checks.monitor import Monitor

            recorder = options.recorder
            make = Monitor if recorder is None else recorder.monitor
            monitor = make(program, geometry, options.checks, options.counters)
            for reached, dtype in program.device_arrays:
                prepared.watch(reached, dtype)
            for buffer, sizes in prepared.buffers.values():
                monitor.adopt(buffer, _common(sizes | program.viewed_itemsizes))
        launch = Launch(
            program,
            geometry,
            prepared.values,
            properties=options.properties,
            shared_dynamic=shared_bytes,
            schedule=options.schedule,
            checks=options.checks,
            monitor=monitor,
            say=options.say,
        )
        try:
            run(launch)
            prepared.copy_back()
        finally:
            # After a fault, too: what was counted up to it is worth knowing.
            counters = Counters()
            lines: dict[tuple[str, int], Counters] = {}
            if monitor is not None and options.counters:
                counters, lines = monitor.result()
            self.report = LaunchReport(
                self.py_func.__qualname__, geometry.grid, geometry.block, launch.shared_bytes,
                counters, lines, self.py_func,
            )  # fmt: skip
            note(self, self.report)
        return self.report

    def program_for(self, kinds: tuple[Any, ...]) -> Program:
        """Return the kernel's program for arguments of these Numba types, translated once."""
        wanted = signature_types(self.dispatcher, kinds, self._signatures)
        known = _programs.setdefault(self.dispatcher, {})
        if wanted not in known:
            self._infer_types(wanted)
            known[wanted] = translate(self.dispatcher, wanted)
        return known[wanted]

    def _infer_types(self, kinds: tuple[Any, ...]) -> None:
        try:
            typed_function(self.dispatcher, kinds)
        except Exception as fault:
            refusal = compile_error(self.py_func, fault)
            if refusal is None:
                raise
            raise refusal from fault

    @property
    def programs(self) -> dict[tuple[Any, ...], Program]:
        """The programs translated so far, by argument types."""
        return _programs.setdefault(self.dispatcher, {})


def _bytes(what: str, given: Any) -> int:
    try:
        return operator.index(given)
    except TypeError:
        raise InputTypeError(f"{what}: {given!r} is no number of bytes; give a whole one") from None


def _common(sizes: set[int]) -> int:
    return math.gcd(*sizes) if sizes else 1


def simulate(
    kernel: Any,
    *,
    signature: Any = None,
    compute_capability: tuple[int, int] = (9, 0),
    schedule: str = "lockstep",
    seed: int = 0,
    checks: bool | Iterable[str] = False,
    counters: bool = False,
) -> SimulatedKernel:
    """Return a CUDA kernel that runs on this machine without a GPU.

    Parameters
    ----------
    kernel
        A ``@cuda.jit`` kernel, or a plain function written as one.
    signature
        Numba signature, or a list of them, to which arguments are converted as a kernel compiled
        ahead converts them; by default the kernel's own, or the types of the arguments.
    compute_capability
        Of the device whose limits hold.
    schedule
        ``"lockstep"``: all threads of a batch of blocks together (fast). ``"warps"``,
        ``"warps-reverse"``, ``"warps-random"``: one warp at a time to its next barrier, in that
        order; a barrier that is missing then gives wrong results.
    seed
        Of the random order.
    checks
        True for memcheck, racecheck, initcheck and synccheck, or the names of some; an index out
        of bounds is a fault in any case, and so is a loop whose threads wait for what nobody will
        write. One that writes and never ends is not noticed: Ctrl-C ends it.
    counters
        Count what a GPU would do; see ``.report`` after a launch.

    Returns
    -------
    SimulatedKernel
        Launched as ``simulated[grid, block](...)``, with NumPy arrays that are changed in place.

    Raises
    ------
    InputError
        An option is not known.
    InputTypeError
        The kernel has no Python code, or an option is of a kind that is not taken.

    Notes
    -----
    Runs Numba's own typed IR over NumPy arrays, so arithmetic has Numba's types. Cost: some
    microseconds per instruction and batch of 32,768 threads, plus 1 to 10 ns per thread.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import cuda
    >>> from warpladder.simulator import simulate
    >>> @cuda.jit
    ... def double(values):
    ...     i = cuda.grid(1)
    ...     if i < values.size:
    ...         values[i] *= 2
    >>> numbers = np.arange(5)
    >>> simulate(double)[1, 32](numbers)
    >>> numbers
    array([0, 2, 4, 6, 8])
    """
    options = Options(
        properties_of(compute_capability),
        Schedule.named(schedule, seed),
        Checks.named(checks),
        counters,
    )
    given = () if signature is None else _normal_signatures(signature)
    return SimulatedKernel(kernel, options, given)


def _normal_signatures(signature: Any) -> tuple[tuple[Any, ...], ...]:
    several = signature if isinstance(signature, list) else [signature]
    try:
        return tuple(normalize_signature(one) for one in several)
    except Exception as fault:
        raise InputError(f"signature={signature!r} is not a Numba signature: {fault}") from fault
