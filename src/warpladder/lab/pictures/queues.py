"""What a rung's host code asks of a device, in order: copies, launches, and who waits for whom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from warpladder.errors import KernelFaultError
from warpladder.lab.verify import pose

if TYPE_CHECKING:
    from warpladder.lab.pictures.scene import Scene
    from warpladder.simulator import Counters, LaunchReport

__all__ = ["Operation", "Placed", "Queues", "placed"]

Engine = Literal["up", "kernel", "down"]


class Operation(NamedTuple):
    """Something put on a stream.

    Attributes
    ----------
    engine
        What carries it out: copies to the device, the multiprocessors, or copies back.
    stream
        Streams numbered from 1 in the order in which they came into being; 0 where none was named.
    size
        Bytes copied, or that the launch's arrays have.
    waits
        How many of the operations before it the host had waited for when it was put there.
    """

    engine: Engine
    stream: int
    size: int
    waits: int


class Placed(NamedTuple):
    """An operation, and from when to when it is carried out, in bytes."""

    operation: Operation
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Queues:
    """A run of a rung as its host code asked for it.

    Attributes
    ----------
    operations
        In the order in which they were put on streams.
    launches, counters
        As the simulator reports and counts them.
    """

    operations: list[Operation]
    launches: list[LaunchReport]
    counters: Counters

    @classmethod
    def of(cls, scene: Scene) -> Queues:
        """Return what the rung of a scene asks for.

        Raises
        ------
        InputError
            It launches no kernel.
        """
        device = _Listening()
        with suppress(KernelFaultError):
            scene.rung.run(device, pose(scene.rung.task, scene.n, 0))
        if not device.simulated.launches:
            raise scene.nothing_launched(scene.n)
        return cls(device.operations, device.simulated.launches, device.simulated.counters)

    def bytes_of(self, engine: Engine) -> int:
        """Return how many bytes an engine is to copy."""
        return sum(one.size for one in self.operations if one.engine == engine)


def placed(operations: list[Operation]) -> list[Placed]:
    """Return when each operation is carried out, if each takes as long as it has bytes.

    An operation begins once those before it on its stream are done, those that the host waited for
    before it was asked for, and those that its engine was given before; the default stream, 0, and
    all others wait for each other. That is the order CUDA promises, but for events on which streams
    wait; the lengths are no times.

    Examples
    --------
    >>> both = [Operation("up", 1, 8, 0), Operation("up", 2, 8, 0), Operation("kernel", 1, 8, 0)]
    >>> [(one.begin, one.end) for one in placed(both)]
    [(0, 8), (8, 16), (8, 16)]
    >>> both[1] = Operation("up", 0, 8, 0)
    >>> [(one.begin, one.end) for one in placed(both)]
    [(0, 8), (8, 16), (16, 24)]
    """
    streams: dict[int, int] = {}
    engines: dict[str, int] = {}
    done: list[Placed] = []
    for operation in operations:
        waited = max((one.end for one in done[: operation.waits]), default=0)
        own = operation.stream
        before = [end for stream, end in streams.items() if 0 in {own, stream} or stream == own]
        begin = max(engines.get(operation.engine, 0), waited, *before)
        end = begin + operation.size
        streams[operation.stream] = engines[operation.engine] = end
        done.append(Placed(operation, begin, end))
    return done


class _Listening:
    """A simulated device that notes what is asked of it."""

    def __init__(self) -> None:
        from warpladder.simulator import SimulatedDevice

        self.simulated = SimulatedDevice(checks=False)
        self.operations: list[Operation] = []
        self._streams: list[Any] = []
        self._waited = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.simulated, name)

    def to_device(self, host_array: Any, out: Any = None, *, stream: Any = None) -> Any:
        array = self.simulated.to_device(host_array, out, stream=stream)
        if array is not host_array:
            self._note("up", stream, array.nbytes)
        return array

    def to_host(self, device_array: Any, out: Any = None, *, stream: Any = None) -> Any:
        array = self.simulated.to_host(device_array, out, stream=stream)
        self._note("down", stream, array.nbytes)
        if stream is None:
            self._waited = len(self.operations)
        return array

    def launch(
        self, kernel: Any, grid: Any, block: Any, *args: Any, stream: Any = None, **options: Any
    ) -> None:
        self.simulated.launch(kernel, grid, block, *args, stream=stream, **options)
        size = sum(one.nbytes for one in _arrays(args))
        self._note("kernel", stream, size)

    def stream(self, *, urgent: bool = False) -> Any:
        made = self.simulated.stream(urgent=urgent)
        self._streams.append(made)
        synchronize = made.synchronize

        def wait() -> None:
            self._waited = len(self.operations)
            synchronize()

        made.synchronize = wait  # type: ignore[method-assign]  # of this one stream
        return made

    def synchronize(self) -> None:
        self._waited = len(self.operations)
        self.simulated.synchronize()

    def _note(self, engine: Engine, stream: Any, size: int) -> None:
        number = next((at for at, one in enumerate(self._streams, 1) if one is stream), 0)
        self.operations.append(Operation(engine, number, size, self._waited))


def _arrays(arguments: Any) -> Iterator[Any]:
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from _arrays(argument)
        elif hasattr(argument, "nbytes") and not isinstance(argument, np.generic):
            yield argument
