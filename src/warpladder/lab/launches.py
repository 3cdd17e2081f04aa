"""What rungs launch, without running their kernels.

To run them would change nothing about the launches of most rungs, and takes seconds where this
takes none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from warpladder.errors import InputError
from warpladder.lab.program import is_program
from warpladder.lab.registry import find_rung
from warpladder.rung import Rung

__all__ = ["Launched", "Variant", "launched", "launched_variants"]


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
    """A simulated device that tells of what is launched on it, and does nothing about it."""

    def __init__(self, note: Callable[[Launched, tuple[Any, ...]], None]) -> None:
        from warpladder.simulator import SimulatedDevice

        self._device = SimulatedDevice(checks=False, counters=False)
        self._note = note

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
        """Tell of the launch."""
        del options
        self._note(Launched(kernel, _count(grid), _count(block), shared_bytes), args)


def _count(extents: Any) -> int:
    return prod(extents) if isinstance(extents, tuple) else int(extents)


def launched(path: str, n: int) -> list[Launched]:
    """Return the launches of a rung whose launches do not depend on what its kernels find.

    Parameters
    ----------
    path
        ``LADDER/RUNG``.
    n
        Problem size.

    Examples
    --------
    >>> found = launched("shortest-paths/row-blocks", 300)
    >>> len(found), found[0].blocks, found[0].threads, found[0].warps
    (300, 600, 256, 4800)
    """
    rung = find_rung(path)[1]
    found: list[Launched] = []
    rung.run(_Recorder(lambda launch, _: found.append(launch)), rung.task.make(n, 0))
    return found


@dataclass(frozen=True, slots=True)
class Variant:
    """A kernel for arguments of certain types, and how it was launched.

    Attributes
    ----------
    kernel
        The ``@cuda.jit`` function.
    arguments
        Numba types.
    threads
        In a block; the most of all launches.
    shared_bytes
        Dynamic shared memory of a block; the most of all launches.
    """

    kernel: Any
    arguments: tuple[Any, ...]
    threads: int
    shared_bytes: int

    @property
    def name(self) -> str:
        """Of the kernel."""
        return str(self.kernel.py_func.__name__)


#: After so many launches that bring nothing new, a rung is taken to have shown all it has; after
#: so many more, to wait for a result that it will never get.
_ENOUGH, _TOO_MANY = 1_000, 100_000


class _SeenEnoughError(Exception):
    """Ends a run whose launches repeat themselves."""


class _Seen:
    """The variants launched so far, and which kernels of the rung are still missing."""

    def __init__(self, kernels: tuple[Any, ...]) -> None:
        self.missing = set(map(id, kernels))
        self.variants: dict[tuple[int, tuple[Any, ...]], Variant] = {}
        self._idle = 0

    def note(self, launch: Launched, args: tuple[Any, ...]) -> None:
        """Note the types of the arguments, and the size of the block."""
        from warpladder.simulator.execution.arguments import types_of
        from warpladder.simulator.frontend.signatures import (
            as_dispatcher,
            own_signatures,
            signature_types,
        )

        kernel, _, threads, shared_bytes = launch
        found = as_dispatcher(kernel)
        kinds = signature_types(found, types_of(args), own_signatures(found))
        key = id(kernel), kinds
        if known := self.variants.get(key):
            threads = max(threads, known.threads)
            shared_bytes = max(shared_bytes, known.shared_bytes)
        self.missing.discard(id(kernel))
        self._idle = self._idle + 1 if known else 0
        self.variants[key] = Variant(found, kinds, threads, shared_bytes)
        if self._idle > (_TOO_MANY if self.missing else _ENOUGH):
            raise _SeenEnoughError


def launched_variants(rung: Rung) -> list[Variant]:
    """Return the kernels that a rung launches and the types it launches them with.

    The rung is run at the largest size at which it is verified, and at larger ones where not all
    of its kernels are launched there. The kernels themselves are not run; those of a program are.

    Raises
    ------
    InputError
        A kernel that the rung lists is launched at no size tried.

    Examples
    --------
    >>> from warpladder.lab.registry import find_rung
    >>> ladder, rung = find_rung("primer/vector-add-grid")
    >>> [(variant.name, variant.threads) for variant in launched_variants(rung)]
    [('add', 256)]
    """
    if rung.on != "device":
        return []
    if is_program(rung):
        return _variants_of_program(rung)
    limit = rung.max_n or max(rung.task.default_n, *rung.task.sizes)
    n = min(max(rung.task.sizes), limit)
    while True:
        seen = _Seen(rung.kernels)
        with suppress(_SeenEnoughError):
            rung.run(_Recorder(seen.note), rung.task.make(n, 0))
        if not seen.missing:
            return list(seen.variants.values())
        if n >= limit:
            raise InputError(
                f"{rung.name} lists a kernel that it launches at no size up to n = {n}"
            )
        n = min(2 * n, limit)


def _variants_of_program(rung: Rung) -> list[Variant]:
    """Return the variants of a program, which has no sizes and launches in its own way: run it."""
    from warpladder.simulator import SimulatedDevice

    device = SimulatedDevice(checks=False)
    rung.run(device, rung.task.make(0, 0))
    found = []
    for kernel in rung.kernels:
        own = [launch for launch in device.launches if launch.function is kernel.py_func]
        threads = max(prod(launch.block) for launch in own)
        shared_bytes = max(launch.shared_bytes for launch in own)
        found += [
            Variant(kernel.dispatcher, kinds, threads, shared_bytes - program.shared.static_bytes)
            for kinds, program in kernel.programs.items()
        ]
    return found
