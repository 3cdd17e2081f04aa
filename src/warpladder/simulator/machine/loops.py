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
    for loop in strong_components(blocks, lambda block: list(block.successors())):
        if len(loop) == 1 and loop[0] not in loop[0].successors():
            continue
        waits, steering = _may_wait(loop), _steering(loop)
        for block in loop:
            block.may_wait, block.steering = waits, steering


def _exit_conditions(loop: list[Block]) -> set[int]:
    """Return the conditions by which threads leave a loop; an exception is none."""
    inside = set(map(id, loop))
    return {
        _condition(block)
        for block in filter(_parts, loop)
        if any(id(after) not in inside for after in block.successors())
    }


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
    return not found.isdisjoint(_exit_conditions(loop))


def _steering(loop: list[Block]) -> tuple[int, ...] | None:
    """Return what decides how long threads stay in a loop, None where memory has a say.

    That is what its exit conditions are made of, and, where a part of that is assigned on some of
    the ways through the loop only, what decides between these ways.
    """
    wanted = _exit_conditions(loop)
    changed_in = {id(block): _changed_in(block) for block in loop}
    if len(loop) > _MOST_BLOCKS:
        wanted.update(map(_condition, filter(_parts, loop)))
    left = loop
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
        if len(loop) <= _MOST_BLOCKS:
            found = [block for block in left if not wanted.isdisjoint(changed_in[id(block)])]
            left = [block for block in left if block not in found]
            for block in found:
                wanted.update(_deciding_whether(block, loop))
    passed_on = {slot for block in loop for slot in block.live_in}
    return tuple(sorted(wanted & passed_on & set().union(*changed_in.values())))


def _changed_in(block: Block) -> set[int]:
    """Return the variables that have another value behind a block, for others to read."""
    ending = block.terminator
    result = {ending.result} if isinstance(ending, Sync) else set()
    return {*block.live_out, *(slot for slot in result if slot is not None)}


def _parts(block: Block) -> bool:
    """Tell whether threads go two ways from a block, none of which is an exception."""
    return isinstance(block.terminator, Branch) and not block.terminator.guard


def _condition(block: Block) -> int:
    assert isinstance(block.terminator, Branch)  # noqa: S101 - see `_parts`
    return block.terminator.condition


def _deciding_whether(block: Block, loop: list[Block]) -> set[int]:
    """Return the conditions that decide whether threads come by a block on a turn of a loop."""
    return {
        _condition(other)
        for other in filter(_parts, loop)
        if len({_comes_back(way, other, block, loop) for way in other.successors()}) > 1
    }


def _comes_back(start: Block, end: Block, without: Block, loop: list[Block]) -> bool:
    """Tell whether a way inside a loop leads from one block to another, not through a third."""
    inside, seen, stack = set(map(id, loop)), set[int](), [start]
    while stack:
        block = stack.pop()
        if id(block) not in inside or id(block) in seen or block is without:
            continue
        if block is end:
            return True
        seen.add(id(block))
        stack.extend(block.successors())
    return False


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
