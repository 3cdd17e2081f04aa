"""The loops of a program: which of them memory may end, and what steers the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from warpladder.simulator.machine.program import Block, Branch, Sync

__all__ = ["mark_loops", "strong_components"]

#: Blocks of a loop up to which the ways through it are told apart, each beside each; of a larger
#: one all branches count as if they decided.
_MOST_BLOCKS = 48


def mark_loops(blocks: list[Block]) -> None:
    """Mark the blocks of each loop as `Block.waits_by` and `Block.steering` say."""
    for loop in _loops(blocks, lambda block: list(block.successors())):
        waits_by, steering = _waits_by(loop), _steering(loop)
        for block in loop:
            block.waits_by, block.steering = waits_by, steering


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


def _waits_by(loop: list[Block]) -> tuple[int, ...] | None:
    """Return what decides when threads leave a loop, None where memory has no say in that.

    It has one where what is read inside the loop is part of the condition of an exit, or of a
    branch that decides whether they come to one, as in ``if flag[0] > 0 and n == 64: break``.
    Returned are the variables that change in the loop and that such conditions are made of: threads
    that have others each time do not only wait. Loops inside have no say: most of them end by
    numbers that were read, as those over the rows of a sparse matrix, and are no waits.
    """
    exits = [block for block in _exits(loop) if not cast(Branch, block.terminator).guard]
    deciding = exits if len(loop) > _MOST_BLOCKS else _with_those_that_decide(exits, loop)
    if _read_from_memory(loop).isdisjoint(map(_condition, deciding)):
        return None
    wanted = set(map(_condition, deciding))
    flows = [flow for block in loop for flow in block.flows]
    before = -1
    while len(wanted) != before:
        before = len(wanted)
        for reads, writes, _ in reversed(flows):
            if not wanted.isdisjoint(writes):
                wanted.update(reads)
    return tuple(sorted(wanted & _passed_on(loop)))


def _read_from_memory(loop: list[Block]) -> set[int]:
    """Return the variables that are made of what is read from memory inside a loop."""
    found: set[int] = set()
    before = -1
    while len(found) != before:
        before = len(found)
        for block in loop:
            for reads, writes, memory in block.flows:
                if memory or not found.isdisjoint(reads):
                    found.update(writes)
    return found


def _passed_on(loop: list[Block]) -> set[int]:
    """Return the variables that change in a loop and that one block leaves to others."""
    taken = {slot for block in loop for slot in block.live_in}
    return taken & set().union(*map(_changed_in, loop))


def _with_those_that_decide(blocks: list[Block], loop: list[Block]) -> list[Block]:
    """Return blocks of a loop and all branches that decide whether threads come to one of them.

    But those that decide how long threads stay in a loop inside. To come to it is certain one way
    and not the other: behind a branch that only decides what is done in between, it is as certain,
    or as uncertain, on both.
    """
    inside = {id(block) for inner in _nest(loop)[1:] for block in _exits(inner)}
    branches = [
        block for block in loop if isinstance(block.terminator, Branch) and id(block) not in inside
    ]
    deciding, left = list(blocks), list(blocks)
    while left:
        passing_by = _may_pass_by(left.pop(), loop)
        for branch in branches:
            ways = [id(after) in passing_by for after in branch.successors()]
            if branch not in deciding and any(ways) and not all(ways):
                deciding.append(branch)
                left.append(branch)
    return deciding


def _may_pass_by(aim: Block, loop: list[Block]) -> set[int]:
    """Return the blocks from which threads may leave a loop, or stay, and never come to one."""
    left = {id(block): block for block in loop if block is not aim}
    outside = {id(after) for block in loop for after in block.successors()} - set(map(id, loop))
    before = -1
    while len(left) != before:
        before = len(left)
        for key, block in list(left.items()):
            if not any(id(after) in left or id(after) in outside for after in block.successors()):
                del left[key]
    return set(left) | outside


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
    return tuple(sorted(wanted & _passed_on(loop)))


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
