"""A kernel with its device functions inlined, as blocks of operations in the order of execution."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
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
    threads writes ``reduce(values)`` to ``result``.
    """

    scope: str
    target: Block
    site: Site
    join: bool = False
    mask: int | None = None
    predicate: int | None = None
    reduce: Callable[[Any], Any] | None = None
    result: int | None = None


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
    may_wait
        Whether it is in a loop that ends by what is found in memory: one that may wait for others.
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
    may_wait: bool = False

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


def finish(blocks: list[Block], entry: Block) -> list[Block]:
    """Order the blocks for execution, and find out which variables pass between them."""
    ordered = _topological(blocks, entry)
    for position, block in enumerate(ordered):
        block.order = position
    readers: dict[int, set[int]] = {}
    for block in ordered:
        for variable in block.reads:
            readers.setdefault(variable, set()).add(block.order)
    for block in ordered:
        block.live_in = tuple(sorted(block.reads))
        block.live_out = tuple(
            sorted(variable for variable in block.writes if readers.get(variable))
        )
        _leave_out_idle(block)
        block.touched = tuple(sorted(block.reads | block.writes))
        block.passing = tuple(sorted(block.writes.difference(block.live_out)))
    _mark_waiting(ordered)
    return ordered


def _leave_out_idle(block: Block) -> None:
    """Take out operations whose results nobody reads."""
    wanted = set(block.live_out)
    match block.terminator:
        case Branch(condition):
            wanted.add(condition)
        case Sync(mask=mask, predicate=predicate):
            wanted.update(slot for slot in (mask, predicate) if slot is not None)
    kept: list[int] = []
    for number in reversed(range(len(block.operations))):
        reads, writes, _ = block.flows[number]
        if number in block.idle and wanted.isdisjoint(writes):
            continue
        kept.append(number)
        wanted.update(reads)
    kept.reverse()
    block.operations = [block.operations[number] for number in kept]
    block.writes = {slot for number in kept for slot in block.flows[number][1]}


def _mark_waiting(blocks: list[Block]) -> None:
    """Mark the loops with an exit whose condition depends on memory read inside the loop."""
    for loop in _strong_components(blocks, lambda block: list(block.successors())):
        inside = {id(block) for block in loop}
        if len(loop) == 1 and loop[0] not in loop[0].successors():
            continue
        found: set[int] = set()
        before = -1
        while len(found) != before:
            before = len(found)
            for block in loop:
                for reads, writes, memory in block.flows:
                    if memory or not found.isdisjoint(reads):
                        found.update(writes)
        waits = any(
            isinstance(block.terminator, Branch)
            and not block.terminator.guard
            and block.terminator.condition in found
            and any(id(after) not in inside for after in block.successors())
            for block in loop
        )
        for block in loop:
            block.may_wait = waits


def _topological(blocks: Iterable[Block], entry: Block) -> list[Block]:
    """Order blocks so that a loop's body comes before what follows the loop.

    Strongly connected components in topological order; within one, the edges back to its header
    are cut and the rest is ordered in the same way.
    """
    emitted = {id(block): position for position, block in enumerate(blocks)}
    reachable: list[Block] = []
    seen: set[int] = set()
    stack = [entry]
    while stack:
        block = stack.pop()
        if id(block) not in seen:
            seen.add(id(block))
            reachable.append(block)
            stack.extend(block.successors())

    def order(nodes: list[Block], first: Block, cut: set[tuple[int, int]]) -> list[Block]:
        inside = {id(node) for node in nodes}

        def edges(node: Block) -> list[Block]:
            return [
                after
                for after in node.successors()
                if id(after) in inside and (id(node), id(after)) not in cut
            ]

        components = _strong_components(nodes, edges)
        home = {id(node): k for k, component in enumerate(components) for node in component}
        waiting = [0] * len(components)
        for node in nodes:
            for after in edges(node):
                if home[id(after)] != home[id(node)]:
                    waiting[home[id(after)]] += 1
        ready = [
            (min(emitted[id(node)] for node in component), k)
            for k, component in enumerate(components)
            if not waiting[k]
        ]
        heapq.heapify(ready)
        result: list[Block] = []
        entered: dict[int, Block] = {home[id(first)]: first}
        while ready:
            _, k = heapq.heappop(ready)
            component = components[k]
            if len(component) == 1:
                result += component
            else:
                header = entered.get(k) or min(component, key=lambda node: emitted[id(node)])
                back = {(id(node), id(header)) for node in component if header in edges(node)}
                result += order(component, header, cut | back)
            for node in component:
                for after in edges(node):
                    target = home[id(after)]
                    if target != k:
                        entered.setdefault(target, after)
                        waiting[target] -= 1
                        if not waiting[target]:
                            low = min(emitted[id(member)] for member in components[target])
                            heapq.heappush(ready, (low, target))
        return result

    return order(reachable, entry, set())


def _strong_components(
    nodes: list[Block], edges: Callable[[Block], list[Block]]
) -> list[list[Block]]:
    """Tarjan's algorithm, without recursion."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[Block] = []
    components: list[list[Block]] = []
    for root in nodes:
        if id(root) in index:
            continue
        work = [(root, iter(edges(root)))]
        index[id(root)] = low[id(root)] = len(index)
        stack.append(root)
        on_stack.add(id(root))
        while work:
            node, rest = work[-1]
            for after in rest:
                if id(after) not in index:
                    index[id(after)] = low[id(after)] = len(index)
                    stack.append(after)
                    on_stack.add(id(after))
                    work.append((after, iter(edges(after))))
                    break
                if id(after) in on_stack:
                    low[id(node)] = min(low[id(node)], index[id(after)])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[id(parent)] = min(low[id(parent)], low[id(node)])
                if low[id(node)] == index[id(node)]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(id(member))
                        component.append(member)
                        if member is node:
                            break
                    components.append(component)
    return components
