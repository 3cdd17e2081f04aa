"""What a rung launches at any size, without running its kernels."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from warpladder.lab.registry import find_rung

__all__ = ["Launched", "launched"]


class Launched(NamedTuple):
    """One launch: the kernel, its blocks, the threads and the dynamic shared bytes of a block."""

    kernel: Any
    blocks: int
    threads: int
    shared_bytes: int

    @property
    def warps(self) -> int:
        """Warps of all blocks; a block takes whole ones."""
        return self.blocks * -(-self.threads // 32)


class _Recorder:
    """A simulated device that notes what is launched on it, and does nothing about it."""

    def __init__(self) -> None:
        from warpladder.simulator import SimulatedDevice

        self._device = SimulatedDevice(checks=False, counters=False)
        self.launches: list[Launched] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def launch(
        self,
        kernel: Any,
        grid: Any,
        block: Any,
        *args: Any,
        shared_bytes: int = 0,
        **options: Any,
    ) -> None:
        """Note the launch."""
        del args, options
        self.launches.append(Launched(kernel, _count(grid), _count(block), shared_bytes))


def _count(extents: Any) -> int:
    return prod(extents) if isinstance(extents, tuple) else int(extents)


def launched(name: str, n: int) -> list[Launched]:
    """Return the launches of a rung whose launches do not depend on what its kernels find.

    Parameters
    ----------
    name
        Of the rung in the shortest-paths ladder.
    n
        Problem size.

    Examples
    --------
    >>> found = launched("row-blocks", 300)
    >>> len(found), found[0].blocks, found[0].threads, found[0].warps
    (300, 600, 256, 4800)
    """
    rung = find_rung(f"shortest-paths/{name}")[1]
    recorder: Any = _Recorder()
    rung.run(recorder, rung.task.make(n, 0))
    found: list[Launched] = recorder.launches
    return found
