"""A kernel with its device functions inlined, as blocks of operations in the order of execution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from warpladder.simulator.machine.memory import Buffer

__all__ = ["BLOCK", "GRID", "WARP", "Block", "Branch", "Exit", "Jump", "Program", "Site", "Sync"]

Operation = Callable[[Any], None]


class Site(NamedTuple):
    """A place in the source of a kernel."""

    filename: str
    line: int


@dataclass(frozen=True, slots=True)
class Jump:
    """Go on with another block."""

    target: Block
    site: Site


@dataclass(frozen=True, slots=True)
class Branch:
    """Go on with one of two blocks, each thread by its own condition.

    A ``guard`` is not in the source: it ends threads that Numba's code ends with an exception.
    """

    condition: int
    taken: Block
    other: Block
    site: Site
    guard: bool = False


@dataclass(frozen=True, slots=True)
class Exit:
    """The thread is done; ``raises`` has the exception that its author asked for, if any."""

    site: Site
    raises: Any = None


#: What a `Sync` waits for.
BLOCK, WARP, GRID = "block", "warp", "grid"


@dataclass(frozen=True, slots=True)
class Sync:
    """Wait for other threads, then go on.

    ``scope`` says for which. ``mask`` is the variable with the lanes of a warp barrier; one with
    ``join`` stands before a shuffle, vote or match: it brings the lanes together, but is no
    instruction and orders no memory. A block barrier that also reduces a ``predicate`` over its
    threads writes ``reduce(values)`` to ``result``. ``calls`` are the lines that called the
    function that it stands in, the kernel's first.
    """

    scope: str
    target: Block
    site: Site
    join: bool = False
    mask: int | None = None
    predicate: int | None = None
    reduce: Callable[[Any], Any] | None = None
    result: int | None = None
    calls: tuple[Site, ...] = ()


Terminator = Jump | Branch | Exit | Sync


@dataclass(slots=True, eq=False)
class Block:
    """Operations without a branch between them.

    Attributes
    ----------
    operations
        Run one after the other for all active threads.
    terminator
        Where each of them goes then.
    live_in, live_out
        Variables read from outside, and assigned here for others to read.
    touched
        All variables that are read or get a value here.
    passing
        Those that get a value here for nobody else.
    instructions
        How many instructions each source line contributes.
    order
        Position in the program: of all blocks that threads could go on with, the first is run.
    flows
        Of each operation: what it reads and writes, and whether it reads memory.
    idle
        Operations that are of no use but for what they write.
    waits_by
        Of a loop that ends by what is found in memory, and so may wait for others, the variables
        that change in it and decide when that is. None of others, and outside of loops.
    steering
        Of a loop, the variables that change in it and decide how long threads stay there: while
        they are the same, so is the way. None where memory has a say, and outside of loops.
    """

    operations: list[Operation] = field(default_factory=list)
    terminator: Terminator | None = None
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    live_in: tuple[int, ...] = ()
    live_out: tuple[int, ...] = ()
    touched: tuple[int, ...] = ()
    passing: tuple[int, ...] = ()
    instructions: dict[Site, int] = field(default_factory=dict)
    order: int = -1
    flows: list[tuple[tuple[int, ...], tuple[int, ...], bool]] = field(default_factory=list)
    idle: set[int] = field(default_factory=set)
    waits_by: tuple[int, ...] | None = None
    steering: tuple[int, ...] | None = None

    @property
    def sites(self) -> list[Site]:
        """The source lines of its instructions; where it has none, that of the jump it ends with.

        From Python 3.12 on, the way back to the head of a loop can be a block of its own.
        """
        if not self.instructions and isinstance(self.terminator, Jump):
            return [self.terminator.site]
        return list(self.instructions)

    def successors(self) -> tuple[Block, ...]:
        """Return the blocks that can follow this one."""
        match self.terminator:
            case Jump(target) | Sync(target=target):
                return (target,)
            case Branch(taken=taken, other=other):
                return (taken, other)
            case _:
                return ()


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """Static shared memory of a block, and the item sizes with which shared memory is used."""

    static_bytes: int
    itemsizes: frozenset[int]
    dynamic: bool


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel ready to run.

    Attributes
    ----------
    name, filename
        Of the kernel.
    blocks
        In the order of execution.
    template
        What each variable holds at the start of every block, before live-in values: constants.
    arguments
        Variables of the arguments.
    shared
        Its use of shared memory.
    local_bytes
        Of the local arrays of a thread.
    argument_types
        Numba types that it was translated for.
    cooperative
        Whether it synchronises the whole grid.
    debug
        Whether exceptions in it are raised on the host.
    viewed_itemsizes
        Item sizes with which views of arrays reinterpret them.
    device_arrays
        Memory of the device that it has from outside, not as arguments, and the dtypes there.
    """

    name: str
    filename: str
    blocks: list[Block]
    template: list[Any]
    arguments: tuple[int, ...]
    argument_types: tuple[Any, ...]
    shared: SharedLayout
    local_bytes: int
    cooperative: bool
    debug: bool
    viewed_itemsizes: frozenset[int]
    device_arrays: tuple[tuple[Buffer, np.dtype[Any]], ...]
