"""The blocks of a program in the order of execution, and what passes between them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from warpladder.simulator.machine.loops import mark_loops, strong_components
from warpladder.simulator.machine.program import Block, Branch, Sync

__all__ = ["finish"]


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
    mark_loops(ordered)
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

        components = strong_components(nodes, edges)
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
