"""The loops of a program: which of them memory may end, and what steers the others."""

from __future__ import annotations

from collections.abc import Callable

from warpladder.simulator.machine.program import Block, Branch, Sync

__all__ = ["mark_loops", "strong_components"]

#: Blocks of a loop up to which the ways through it are told apart, each beside each; of a larger
#: one all branches count as if they decided.
_MOST_BLOCKS = 48


def mark_loops(blocks: list[Block]) -> None:
    """Mark the blocks of each loop as `Block.may_wait` and `Block.steering` say."""
    for loop in _loops(blocks, lambda block: list(block.successors())):
        waits, steering = _may_wait(loop), _steering(loop)
        for block in loop:
            block.may_wait, block.steering = waits, steering


def _loops(blocks: list[Block], edges: Callable[[Block], list[Block]]) -> list[list[Block]]:
    """Return the outermost loops."""
    components = strong_components(blocks, edges)
    return [loop for loop in components if len(loop) > 1 or loop[0] in edges(loop[0])]


def _nest(loop: list[Block]) -> list[list[Block]]:
    """Return a loop and all loops inside it."""
    found, left = [], [loop]
    while left:
        outer = left.pop()
        found.append(outer)
        inside, head = set(map(id, outer)), min(outer, key=lambda block: block.order)

        def edges(block: Block, inside: set[int] = inside, head: Block = head) -> list[Block]:
            return [after for after in block.successors() if id(after) in inside - {id(head)}]

        left += _loops(outer, edges)
    return found


def _exits(loop: list[Block]) -> list[Block]:
    """Return the blocks from which threads may leave a loop, by an exception or not."""
    inside = set(map(id, loop))
    return [
        block
        for block in loop
        if isinstance(block.terminator, Branch)
        and any(id(after) not in inside for after in block.successors())
    ]


def _condition(block: Block) -> int:
    assert isinstance(block.terminator, Branch)  # noqa: S101 - of what ends so alone it is asked
    return block.terminator.condition


def _may_wait(loop: list[Block]) -> bool:
    """Tell whether a loop has an exit whose condition depends on memory read inside the loop."""
    found: set[int] = set()
    before = -1
    while len(found) != before:
        before = len(found)
        for block in loop:
            for reads, writes, memory in block.flows:
                if memory or not found.isdisjoint(reads):
                    found.update(writes)
    return any(
        isinstance(block.terminator, Branch)
        and not block.terminator.guard
        and block.terminator.condition in found
        for block in _exits(loop)
    )


def _steering(loop: list[Block]) -> tuple[int, ...] | None:
    """Return what decides how long threads stay in a loop, None where memory has a say.

    That is what the exit conditions of it, and of loops inside, are made of, and, where an exit
    lies, or a part of that is assigned, on some of the ways only, what decides between these ways.
    While all of it is the same at a place of the loop, threads come to that place again.
    """
    exits = [block for one in _nest(loop) for block in _exits(one)]
    wanted = set(map(_condition, exits))
    branches = [block for block in loop if isinstance(block.terminator, Branch)]
    if len(loop) > _MOST_BLOCKS:
        wanted.update(map(_condition, branches))
    changed_in = {id(block): _changed_in(block) for block in loop}
    before = -1
    while len(wanted) != before:
        before = len(wanted)
        for block in loop:
            ending = block.terminator
            if isinstance(ending, Sync) and ending.result in wanted:
                wanted.update(slot for slot in (ending.predicate,) if slot is not None)
            for reads, writes, memory in reversed(block.flows):
                if wanted.isdisjoint(writes):
                    continue
                if memory:
                    return None
                wanted.update(reads)
        telling = [block for block in loop if not wanted.isdisjoint(changed_in[id(block)])]
        for branch in branches:
            if _condition(branch) not in wanted and _decides(branch, telling + exits, loop):
                wanted.add(_condition(branch))
    passed_on = {slot for block in loop for slot in block.live_in}
    return tuple(sorted(wanted & passed_on & set().union(*changed_in.values())))


def _changed_in(block: Block) -> set[int]:
    """Return the variables that have another value behind a block, for others to read."""
    ending = block.terminator
    result = {ending.result} if isinstance(ending, Sync) else set()
    return {*block.live_out, *(slot for slot in result if slot is not None)}


def _decides(branch: Block, telling: list[Block], loop: list[Block]) -> bool:
    """Tell whether threads may come by one of some blocks behind a branch, and may not."""
    reached = _reached(branch, loop, without=None)
    return any(
        id(block) in reached and id(branch) in _reached(branch, loop, without=block)
        for block in telling
        if block is not branch
    )


def _reached(start: Block, loop: list[Block], without: Block | None) -> set[int]:
    """Return which blocks of a loop threads may come to behind one, not by way of another."""
    inside, seen, stack = set(map(id, loop)), set[int](), list(start.successors())
    while stack:
        block = stack.pop()
        if id(block) in inside and id(block) not in seen and block is not without:
            seen.add(id(block))
            stack.extend(block.successors())
    return seen


def strong_components(
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
